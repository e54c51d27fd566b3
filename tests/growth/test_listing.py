"""Asking what there is, or for one standard, reads the records once for each state of the store, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.core import base
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import RequirementQuery
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.surfaces.standards.resources import COMPLETERS
from tests.engine.world import PUMPS, World
from tests.growth.counting import Counting, counted

TOOLS = {tool.name: tool for tool in SURFACE.tools}


def filled(folder: Path, others: int) -> tuple[Counting, World]:
    """Make a knowledge base of one standard, and so many other documents."""
    folder.mkdir()
    world = World(folder, store=(store := Counting(MemoryStore(EnglishAnalyser()))).store)
    world.write("pumps.md", PUMPS)
    for number in range(others):
        world.write(f"p{number}.md", f"# Part {number}\n\nThe grass is cut {number} times.\n")
    world.ingest()
    return store, world


def called(world: World, name: str, **arguments: Any) -> object:
    tool = TOOLS[name]
    return tool.run(world.knowledge, parse(tool.request, arguments))


def test_counts_lists_and_look_ups_by_standard_cost_the_same_for_four_times_as_many_documents(tmp_path: Path) -> None:
    costs: list[list[tuple[dict[str, int], int]]] = []
    for others in (10, 40):
        store, world = filled(tmp_path / str(others), others)
        called(world, "knowledge_stats")
        asks: list[Callable[[], object]] = [
            lambda world=world: called(world, "knowledge_stats"),
            lambda world=world: called(world, "knowledge_requirements", topic="battery power", standard="pumps"),
            lambda world=world: called(world, "knowledge_requirements", topic="battery power", standard="none"),
            lambda world=world: COMPLETERS["standard"](world.knowledge, "pum"),
            world.knowledge.documents,
        ]
        costs.append([counted(store, ask) for ask in asks])
    assert costs[0] == costs[1]
    assert costs[0][0][0].get("documents", 0) == 0


def test_a_change_by_another_process_is_in_the_next_answer(tmp_path: Path) -> None:
    one, other = (SqliteStore(tmp_path / "kb.sqlite", EnglishAnalyser()) for _ in range(2))
    writer, reader = World(tmp_path / "docs", store=one), World(tmp_path / "docs", store=other)
    writer.write("pumps.md", PUMPS)
    writer.ingest()
    query = RequirementQuery("battery", standard="grass")
    for _ in range(2):
        assert [each.id for each in reader.knowledge.stats().documents] == ["pumps"]
        assert reader.knowledge.requirements(query).documents == ()
    writer.write("grass.md", "# Grass\n\nThe battery shall be charged.\n")
    writer.ingest()
    assert [each.id for each in reader.knowledge.documents()] == ["grass", "pumps"]
    assert reader.knowledge.requirements(query).documents == ("grass",)
    writer.knowledge.remove("pumps")
    assert [each.id for each in reader.knowledge.stats().documents] == ["grass"]
    World(tmp_path / "next", store=one, collection="kb.next").holding({"next.md": "# Next\n\nAnother collection.\n"})
    one.rename_collections({"kb": "kb.old", "kb.next": "kb"})
    assert [each.id for each in reader.knowledge.documents()] == ["next"]
    one.close()
    other.close()


def test_more_records_than_are_kept_are_read_each_time(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(base, "_MOST_RECORDS", 3)
    store, world = filled(tmp_path / "many", 5)
    for _ in range(2):
        calls, _given = counted(store, world.knowledge.documents)
        assert calls["documents"] == 1
    store, world = filled(tmp_path / "few", 2)
    assert len(world.knowledge.documents()) == 3
    assert "documents" not in counted(store, world.knowledge.documents)[0]
