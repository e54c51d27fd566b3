"""What filing papers costs does not grow with the papers that are there, nor does finding those of one application."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.cli.planning.planning import FolderChoices, FolderRun
from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.engine.planning.values import PlanningIngestRequest, PlanningIngestResult
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.call import Call, ignore_progress
from knowledge_mcp.stores.memory import MemoryStore
from tests.growth.counting import Counting, counted
from tests.planning.world import REF, World, report

OTHER = "24/00001/FUL"


def filled(folder: Path, others: int) -> tuple[Counting, World]:
    """Make a planning store that holds two papers of an application, and so many of another."""
    folder.mkdir()
    store = Counting(MemoryStore(EnglishAnalyser()))
    world = World(folder, store=store.store)
    for number in range(2):
        world.ingest(world.paper(f"own/{number}.pdf", *report(topic=f"Own {number}. ")))
    for number in range(others):
        world.ingest(world.paper(f"other/{number}.pdf", f"Paper {number} of others."), OTHER)
    return store, world


def filed(service: PlanningService, path: str) -> PlanningIngestResult:
    return service.ingest_file(PlanningIngestRequest(file_path=path, application_ref=REF), Call(ignore_progress, bool))


def costs_of_a_folder(folder: Path, others: int, files: int) -> tuple[dict[str, int], int]:
    store, world = filled(folder, others)
    for number in range(files):
        world.paper(f"new/{number}.pdf", f"The new paper {number} is about trees.")
    run = FolderRun(world.service, FolderChoices(world.papers / "new", REF))
    costs = counted(store, run.run)
    assert len(world.service.documents_of(REF)) == 2 + files
    return costs


def test_each_further_file_of_a_folder_costs_the_same_whatever_is_there(tmp_path: Path) -> None:
    further: list[tuple[dict[str, int], int]] = []
    for others in (5, 20):
        few, few_given = costs_of_a_folder(tmp_path / f"few {others}", others, 3)
        many, many_given = costs_of_a_folder(tmp_path / f"many {others}", others, 6)
        further.append(({name: many[name] - few[name] for name in many}, many_given - few_given))
        assert few.get("state") == many.get("state"), "all records are looked at twice, however many files there are"
    assert further[0] == further[1]
    calls, given = further[0]
    assert calls["documents"] <= 2 * 3
    assert given <= 6 * 3, "by file: its record, its passage, and its record once more in the look at the end"


def test_a_folder_that_is_known_already_is_read_once_whatever_it_holds(tmp_path: Path) -> None:
    costs: list[tuple[dict[str, int], int]] = []
    for others in (5, 20):
        store, world = filled(tmp_path / str(others), others)
        world.service.documents_of(REF)
        costs.append(counted(store, FolderRun(world.service, FolderChoices(world.papers / "own", REF)).run))
    assert costs[0] == costs[1]


def test_a_single_new_paper_reads_the_records_once_and_a_known_one_only_its_own(tmp_path: Path) -> None:
    costs: list[tuple[dict[str, int], int]] = []
    known: list[tuple[dict[str, int], int]] = []
    for others in (5, 20):
        store, world = filled(tmp_path / str(others), others)
        new = world.paper("new.pdf", "The new paper is about trees.")
        calls, given = counted(store, lambda world=world, new=new: filed(world.service, new))
        costs.append((calls, given - others))
        filed(world.service, new)
        known.append(counted(store, lambda world=world, new=new: filed(world.service, new)))
    assert costs[0] == costs[1]
    assert known[0] == known[1]


def test_the_papers_of_one_application_are_found_and_listed_without_reading_those_of_others(tmp_path: Path) -> None:
    costs: list[list[tuple[dict[str, int], int]]] = []
    for others in (5, 20):
        store, world = filled(tmp_path / str(others), others)
        world.call("list_ingested_documents", application_ref=REF)
        asks: list[Callable[[], object]] = [
            lambda world=world: world.call("list_ingested_documents", application_ref=REF),
            lambda world=world: world.call("list_ingested_documents", application_ref="none"),
            lambda world=world: world.call("search_application_docs", query="cycle parking", application_ref=REF),
            lambda world=world: world.call("search_application_docs", query="cycle parking", application_ref="none"),
        ]
        costs.append([counted(store, ask) for ask in asks])
    assert costs[0] == costs[1]


def test_a_paper_that_another_process_files_amid_a_batch_is_replaced_by_the_batch(tmp_path: Path) -> None:
    store, world = filled(tmp_path / "one", 1)
    other = PlanningService(world.base, world.pipeline, folder=world.data, roots=None)
    first, second = (world.paper(f"own/{number}.pdf", f"Edition 2 of {number}.") for number in range(2))
    request = PlanningIngestRequest(file_path=second, application_ref=REF)
    with world.service.batch(REF) as batch:
        world.service.ingest_file(
            PlanningIngestRequest(file_path=first, application_ref=REF), Call(ignore_progress, bool), batch
        )
        theirs = filed(other, second).document_id
        world.paper("own/1.pdf", "Edition 3 of 1.")
        mine = world.service.ingest_file(request, Call(ignore_progress, bool), batch).document_id
    assert {each.id for each in world.service.documents_of(REF) if each.label("source_file") == "1.pdf"} == {mine}
    assert store.store.open("application_docs").documents([str(theirs)]) == []


@pytest.mark.parametrize("batched", [True, False])
def test_a_changed_paper_takes_the_place_of_its_earlier_version(tmp_path: Path, batched: bool) -> None:
    _, world = filled(tmp_path / "one", 1)
    (before,) = (each for each in world.service.documents_of(REF) if each.label("source_file") == "1.pdf")
    path = world.paper("own/1.pdf", *report(topic="Own 1. "), "One page more.")
    request = PlanningIngestRequest(file_path=path, application_ref=REF)
    if batched:
        with world.service.batch(REF) as batch:
            done = world.service.ingest_file(request, Call(ignore_progress, bool), batch)
            again = world.service.ingest_file(request, Call(ignore_progress, bool), batch)
    else:
        done, again = filed(world.service, path), filed(world.service, path)
    assert done.replaced == (before.id,)
    assert (again.status, again.document_id, again.replaced) == ("already_ingested", done.document_id, ())
    assert {each.id for each in world.service.documents_of(REF)} & {before.id, done.document_id} == {done.document_id}
