"""Read real requirement files of other tools, compare them with what is known of them, write them and read them back.

Usage: `python -m benchmarks.round_trips [--data FOLDER]`

Projects below `$KNOWLEDGE_EVAL_DATA/import` (else `../shared/data/import`, told loudly where there are none). `items`
and `links` are those read of those known. Each project is then written as ReqIF and as `needs.json`, what is linked to
as one side and all else as the other, and read back: `back` is how many items came back with the same text and
attributes, and `links back` how many links between them, of ReqIF with their kinds. `kept`: into a ReqIF file an item
and a relation are put, and all that it held is still there, word for word and in its order. `store`: the files are
ingested and read back from the store: items with the same text, level, attributes and links. `bytes`: a ReqIF file
comes back as it was.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_mcp import registry
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.cli.knowledge.inspect import file_item
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.engine.tracing.items import declared_item
from knowledge_mcp.engine.tracing.links import Evidence, Trace, TraceItem, TraceLink, Verdict
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.document import RequirementItem
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.readers.requirements.reader import RequirementReader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.support.workers import MadeOnce
from knowledge_mcp.surfaces.interchange import as_needs, as_reqif
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.wiring import build_readers

_NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Project:
    """Hold one project: its files, the ids that it is known to have, and how many links."""

    name: str
    files: tuple[Path, ...]
    ids: frozenset[str]
    links: int


def projects(folder: Path) -> Iterator[Project]:
    """List the projects with what is known of them."""
    reqif = _known(folder / "reqif")
    for name, known in reqif.items():
        ids = frozenset(each["id"] for each in known["objects"])
        yield Project(f"reqif/{name}", (folder / "reqif" / name,), ids, len(known["relations"]))
    strictdoc = _known(folder / "strictdoc")
    if strictdoc:
        requirements = [each for known in strictdoc.values() for each in known["requirements"]]
        files = tuple(folder / "strictdoc" / name for name in strictdoc)
        links = sum(len(each["relations"]) for each in requirements)
        yield Project("strictdoc", files, frozenset(each["uid"] for each in requirements), links)
    for name, known in _known(folder / "doorstop").items():
        files = tuple(sorted((folder / "doorstop" / known["folder"]).glob("[!.]*.yml")))
        ids = frozenset(each["uid"] for each in known["items"])
        yield Project(f"doorstop/{name}", files, ids, known["counts"]["links"])
    needs = _known(folder / "sphinx-needs")
    if needs:
        files = tuple(sorted((folder / "sphinx-needs").rglob("*.rst")))
        ids = frozenset(each["id"] for each in needs["needs"])
        yield Project("sphinx-needs/coffee-machine", files, ids, needs["counts"]["links"])


def _known(folder: Path) -> dict[str, Any]:
    path = folder / "expected.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read(reader: RequirementReader, files: Sequence[Path]) -> list[RequirementItem]:
    """Read all items of some files."""
    return [each for path in files for each in reader.read(file_item(path)).items]


def traced(items: Sequence[RequirementItem]) -> tuple[list[TraceItem], list[TraceItem], Trace]:
    """Turn items into what a trace writes: what is linked to is one side, links to it from the other are declared."""
    aims = {link.target for each in items for link in each.links}
    every = [declared_item(each, "") for each in items]
    sources, targets = ([each for each in every if (each.id in aims) == is_aim] for is_aim in (False, True))
    by_id = {each.id: each for each in targets}
    links = [
        TraceLink(each, by_id[target], Verdict.DECLARED, 1.0, Evidence("", "", ()))
        for each in sources
        for target in dict.fromkeys(each.links)
        if target in by_id
    ]
    return sources, targets, Trace(tuple(links), (), (), 1.0)


def back(reader: RequirementReader, written: Sequence[TraceItem], content: bytes, name: str) -> list[str]:
    """Read what was written; count items with the same text and attributes, and links between items that there are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        found = {each.id: each for each in reader.read(file_item(path)).items}
    is_reqif = name.endswith(".reqif")  # a needs.json has one kind of link
    same = sum(each.id in found and _is_same(each, found[each.id]) for each in written)
    links = {(each.id, link.target, is_reqif and link.kind) for each in found.values() for link in each.links}
    ids = {each.id for each in written}
    linked = {
        (each.id, target, is_reqif and (kind or "Trace link"))
        for each in written
        for target, kind in zip(each.links, each.link_kinds, strict=True)
        if target in ids
    }
    return [f"{same} of {len(written)}", f"{len(linked & links)} of {len(linked)}"]


def _is_same(item: TraceItem, found: RequirementItem) -> bool:
    attributes = {" ".join(value.split()) for value in found.attributes.values()}
    kept = all(
        " ".join(value.split()) in attributes
        for name, value in item.attributes.items()
        if name != "links" and value.strip()
    )
    return kept and _words(found) == " ".join(item.text.split())


def _words(item: RequirementItem) -> str:
    return " ".join((item.text or item.title or item.id).split())


def kept(path: Path, sources: Sequence[TraceItem]) -> bool:
    """Tell whether all of a ReqIF file is still there where an item and a relation are put into it."""
    base = path.read_bytes()
    added = TraceItem("ADDED-1", "", "The test shall pass.", "")
    link = TraceLink(sources[0], added, Verdict.DECLARED, 1.0, Evidence("", "", ()))
    more = as_reqif(((path.name, sources), ("added", [added])), Trace((link,), (), (), 1.0), (0, base), _NOW)
    return all(_in_order(_parts(old), _parts(new)) for old, new in zip(_texts(base), _texts(more), strict=True))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(">")]


def _texts(content: bytes) -> list[str]:
    if not content.startswith(b"PK"):
        return [content.decode("utf-8")]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [archive.read(name).decode("utf-8", "replace") for name in sorted(archive.namelist())]


def _in_order(old: Sequence[str], new: Sequence[str]) -> bool:
    rest = iter(new)
    return all(any(line == other for other in rest) for line in old)


def stored(project: Project, items: Sequence[RequirementItem]) -> list[str]:
    """Ingest a project's files; count the items that come back whole, and tell whether a ReqIF file is as it was."""
    pipeline = Pipeline(build_readers(None, registry.READERS), ClauseChunker(), DocumentClassifier())
    analyser = EnglishAnalyser()
    base = Base(
        store=MemoryStore(analyser), collection="kb", embedder=HashingEmbedder(), analyser=analyser,
        fuse=fuse, hybrid=True, slice=64,
    )  # fmt: skip
    knowledge = LocalKnowledge(base, MadeOnce(lambda: pipeline))
    try:
        with tempfile.TemporaryDirectory() as folder:
            for path in project.files:
                shutil.copy(path, folder)
            if project.name.startswith("doorstop"):
                (Path(folder) / ".doorstop.yml").write_text("settings: {}\n", encoding="utf-8")
            knowledge.ingest(FileSource(folder), IngestOptions())
            held = [knowledge.document_structure(each.id) for each in knowledge.documents()]
    finally:
        knowledge.close()
    found = {item.id: _told(item) for structure in held for item in structure.items}
    same = sum(found.get(each.id) == _told(each) for each in items)
    whole = held[0].original_bytes == project.files[0].read_bytes() if held and held[0].original else None
    return [f"{same} of {len(items)}", "" if whole is None else "yes" if whole else "no"]


def _told(item: RequirementItem) -> tuple[Any, ...]:
    return item.title, item.text, item.level, item.kind, dict(item.attributes), item.links


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    folder = options.parse_args().data / "import"
    if not folder.is_dir():
        print(f"SKIPPED: there is no {folder}.")
        return
    print(
        "| project | items | links | ReqIF: back | links back | needs.json: back | links back | kept | store | bytes |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    reader = RequirementReader()
    for each in projects(folder):
        items = read(reader, each.files)
        sources, targets, found = traced(items)
        links = sum(len(item.links) for item in items)
        cells = [f"{len(each.ids & {item.id for item in items})} of {len(each.ids)}", f"{links} of {each.links}"]
        whole = as_reqif(((each.name, sources), ("linked to", targets)), found, None, _NOW)
        for name, content in (("out.reqif", whole), ("needs.json", as_needs(sources, targets, found).encode())):
            cells += back(reader, [*sources, *targets], content, name)
        is_reqif = each.files[0].suffix.startswith(".reqif")
        end = ("yes" if kept(each.files[0], [*sources, *targets]) else "no") if is_reqif else ""
        print(f"| {each.name} | {' | '.join([*cells, end, *stored(each, items)])} |", flush=True)
    reader.close()


if __name__ == "__main__":
    main()
