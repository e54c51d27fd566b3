"""A key that may not read the planning documents is answered as by a store that holds none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from knowledge_mcp.engine.core.documents import relabel
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.rights import ALLOWED, Rights
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.planning.shapes import render_error
from tests.planning.world import REF, TOOLS, World

NOBODY = Rights(read=("docs",))


def answer(world: World, rights: Rights, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool as somebody with these rights; returns what would be sent, an error too."""
    request = parse(TOOLS[name].request, arguments)
    try:
        return TOOLS[name].run(world.service.seen_by(rights), request).sent()
    except KnowledgeError as exc:
        return render_error(exc)


def test_no_tool_tells_of_documents_that_may_not_be_read(world: World, tmp_path: Path) -> None:
    world.ingest(world.paper("a.pdf"))
    accepted = world.ingest(world.paper("b.pdf"), wait=False)
    state = world.call("ingest_status", job_id=accepted["job_id"])
    while state["state"] in {"queued", "running"}:
        state = world.call("ingest_status", job_id=accepted["job_id"])
    (tmp_path / "empty").mkdir()
    empty = World(tmp_path / "empty")
    ident = world.call("list_ingested_documents", application_ref=REF)["documents"][0]["document_id"]
    asks: dict[str, dict[str, Any]] = {
        "search_application_docs": {"query": "cycle parking", "application_ref": REF},
        "get_document_text": {"document_id": ident},
        "list_ingested_documents": {"application_ref": REF},
        "list_applications": {},
        "ingest_status": {"job_id": accepted["job_id"]},
    }
    assert set(asks) == {name for name, tool in TOOLS.items() if not tool.writes}
    for name, arguments in asks.items():
        seen = answer(world, NOBODY, name, arguments)
        assert seen == answer(empty, NOBODY, name, arguments), name
        assert seen == answer(empty, Rights(), name, arguments), name
        assert seen != answer(world, Rights(), name, arguments), name
    empty.service.close()


def test_the_job_of_a_document_for_some_groups_is_not_there_for_others(world: World) -> None:
    accepted = world.ingest(world.paper("a.pdf"), wait=False)
    ask = {"job_id": accepted["job_id"]}
    while (job := answer(world, Rights(), "ingest_status", ask))["state"] in {"queued", "running"}:
        pass
    relabel(world.base, job["result"]["document_id"], {ALLOWED: "legal"})
    assert answer(world, Rights(groups=("legal",)), "ingest_status", ask)["state"] == "done"
    assert "job_not_found" in str(answer(world, Rights(groups=("eng",)), "ingest_status", ask))
