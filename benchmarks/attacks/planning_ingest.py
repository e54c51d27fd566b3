"""Attacks on the store of planning documents: one file more must not read all that was ever filed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.product import environment
from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.engine.planning.values import PlanningIngestRequest
from knowledge_mcp.model.call import Call, ignore_progress
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.ports import Store
from knowledge_mcp.settings import load_settings
from knowledge_mcp.stores.sqlite import reading
from knowledge_mcp.surfaces.planning import SURFACE
from knowledge_mcp.testing.store_values import record
from knowledge_mcp.wiring import build_base, build_knowledge

_OTHERS = 2000
_FILES = 12
_REF = "25/01178/REM"
_TOOLS = {tool.name: tool for tool in SURFACE.tools}


def _fill(store: Store, collection: str) -> None:
    """Put records of other applications into the store."""
    for number in range(_OTHERS):
        each = replace(
            record(f"24_{number:05}_FUL_000000", []),
            source_path=f"planning:24/{number:05}/FUL:/papers/{number}.pdf",
            metadata=(("application_ref", f"24/{number:05}/FUL"),),
        )
        store.open(collection).publish([WholeDocument(each, "", ())], lambda _: None)


def _papers(folder: Path) -> list[Path]:
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir()
    paths = [folder / f"paper {number:02}.pdf" for number in range(_FILES)]
    for number, path in enumerate(paths):
        canvas = Canvas(str(path))
        for line in range(20):
            canvas.drawString(
                72, 760 - 20 * line, f"Paper {number}, line {line}: cycle parking stands at the entrance."
            )
        canvas.save()
    return paths


def _read(ask: Callable[[], object]) -> int:
    """Count the records that are read from the file meanwhile."""
    read = 0
    honest = reading.record_from_json

    def counting(*given: Any) -> Any:
        nonlocal read
        read += 1
        return honest(*given)

    reading.record_from_json = counting
    try:
        ask()
    finally:
        reading.record_from_json = honest
    return read


def _growth(folder: Path) -> Outcome:
    """File a folder, and ask for its application, beside the documents of very many others; count records read."""
    settings = load_settings(environ=environment(folder / "data"))
    base = build_base(settings, surface="planning")
    base.store.create_collection(base.collection, base.embedder.space)
    _fill(base.store, base.collection)
    base.close()
    paths = _papers(folder / "papers")
    service = build_knowledge(settings, surface="planning", roots=(folder / "papers",))
    assert isinstance(service, PlanningService)

    def file_all() -> None:
        with service.batch(_REF) as batch:
            for path in paths:
                service.ingest_file(
                    PlanningIngestRequest(file_path=str(path), application_ref=_REF), Call(ignore_progress, bool), batch
                )

    def call(name: str, **arguments: object) -> Callable[[], object]:
        tool = _TOOLS[name]
        return lambda: tool.run(service, tool.request.model_validate(arguments))

    search = {"query": "cycle parking", "application_ref": _REF}
    own, few = len(paths), 3 * len(paths)
    asked: list[tuple[str, Callable[[], object], int]] = [
        ("a folder is filed", file_all, 2 * _OTHERS + 6 * own),
        ("the same folder again", file_all, _OTHERS + 6 * own),
        ("the application is listed", call("list_ingested_documents", application_ref=_REF), few),
        ("the application is searched", call("search_application_docs", **search), few),
        ("what is there is counted", service.stats, few),
    ]
    found = [(name, _read(ask), most) for name, ask, most in asked]
    filed = len(service.documents_of(_REF))
    service.close()
    through = [f"{name}: {count} records read, {most} at most" for name, count, most in found if count > most]
    if filed != len(paths):
        through.append(f"{filed} of {len(paths)} papers were filed")
    counts = ", ".join(str(count) for _, count, _ in found)
    return Outcome(len(found), tuple(through), note=f"records read beside {_OTHERS} others: {counts}")


ATTACKS: tuple[Attack, ...] = (
    Attack("filing", "papers filed, listed and searched beside those of thousands of applications", _growth),
)
