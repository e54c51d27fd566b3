"""A watched planning folder: what is new, changed, gone, or could not be taken yet is ingested once it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.cli.planning import folder
from knowledge_mcp.cli.planning.folder import FolderWatch
from knowledge_mcp.cli.planning.planning import FolderChoices, FolderRun
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError, TimedOutError
from tests.planning.world import REF, World, paper, report


def taking(steps: Sequence[Callable[[], object]]) -> Callable[[], bool]:
    """Make a pause of a watch: each takes one step, and the last one ends it."""
    left = iter(steps)

    def pause() -> bool:
        step = next(left, None)
        if step is not None:
            step()
        return step is not None

    return pause


def test_a_watched_folder_names_what_is_gone_but_not_what_is_only_renamed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.paper("a.pdf", "Access from the north.")
    world.paper("b.pdf", "Access from the south.")
    pause = taking(
        [
            lambda: (world.papers / "a.pdf").rename(world.papers / "c.pdf"),
            (world.papers / "b.pdf").unlink,
            lambda: (world.papers / "new.zip").write_bytes(b"x"),
            lambda: None,
        ]
    )

    choices = FolderChoices(world.papers, REF, watch=True, prune=True)
    assert FolderRun(world.service, choices, pause=pause).run() == ExitCode.SUCCESS
    said = capsys.readouterr()
    assert "a.pdf: The file was deleted" not in said.err
    assert said.err.count("b.pdf: The file was deleted from the folder; its document was removed.") == 1
    assert "Skipped files of unsupported types: new.zip" in said.err
    assert [each.label("source_file") for each in world.service.documents_of(REF)] == ["c.pdf"]
    assert len(world.reader.readings) == 2


def test_a_watched_folder_that_goes_away_is_named_and_its_documents_stay(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.paper("a.pdf", "Access from the north.")
    away = world.papers.with_name("away")
    pause = taking([lambda: world.papers.rename(away), lambda: None, lambda: None])
    choices = FolderChoices(world.papers, REF, watch=True, prune=True)
    assert FolderRun(world.service, choices, pause=pause).run() == ExitCode.FAILURE
    assert capsys.readouterr().err.count(f"Skipped folders that cannot be read: {world.papers}") == 1
    assert [each.label("source_file") for each in world.service.documents_of(REF)] == ["a.pdf"]


def test_a_watched_folder_s_new_and_changed_documents_are_filed_once_they_stop_growing(world: World) -> None:
    world.paper("a.pdf", *report(topic="First. "))
    pause = taking(
        [
            lambda: world.paper("b.pdf", *report(topic="Second. ", pages=1)),
            lambda: world.paper("b.pdf", *report(topic="Second. ", pages=2)),  # still growing
            lambda: None,
            lambda: world.paper("a.pdf", *report(topic="Changed. ", pages=4)),
            lambda: None,
            (world.papers / "a.pdf").unlink,
            lambda: None,
        ]
    )

    assert FolderRun(world.service, FolderChoices(world.papers, REF, watch=True), pause=pause).run() == ExitCode.SUCCESS
    listed = world.call("list_ingested_documents", application_ref=REF)["documents"]
    assert sorted(Path(each["file_path"]).name for each in listed) == ["a.pdf", "b.pdf"]
    texts = [world.service.document_text(each["document_id"]) for each in listed]
    assert sorted(text[:7] for text in texts) == ["Changed", "Second."]
    assert len(world.reader.readings) == 3  # a, b once it was whole, a once more


@pytest.mark.parametrize("failure", [TimedOutError("The store is busy."), ConnectionFailedError("The store is away.")])
def test_a_watched_folder_s_document_is_tried_again_where_only_the_store_failed(
    world: World, failure: KnowledgeError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folder, "AGAIN", 0.0)
    ingest, failures = world.service.ingest_file, [failure]

    def fail_once(*arguments: Any) -> object:
        if failures:
            raise failures.pop()
        return ingest(*arguments)

    monkeypatch.setattr(world.service, "ingest_file", fail_once)
    pause = taking([lambda: world.paper("a.pdf", *report()), lambda: None, lambda: None])
    assert FolderRun(world.service, FolderChoices(world.papers, REF, watch=True), pause=pause).run() == ExitCode.SUCCESS
    assert failure.message in capsys.readouterr().err
    assert len(world.service.documents_of(REF)) == 1


def test_a_file_that_failed_for_a_passing_reason_is_due_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, watch = paper(tmp_path / "a.pdf", "x"), FolderWatch(tmp_path)
    assert watch.due(settled=False) == [made]
    watch.try_again([made])
    assert not watch.is_settled
    assert watch.due() == []
    monkeypatch.setattr(folder, "AGAIN", 0.0)
    watch.try_again([made])
    assert watch.due() == [made]
    assert watch.is_settled
    assert watch.due() == []


def test_a_file_is_due_once_for_each_of_its_versions(tmp_path: Path) -> None:
    watch = FolderWatch(tmp_path)
    assert watch.due() == []
    made = paper(tmp_path / "a.pdf", "x")
    assert watch.due() == []
    assert watch.due() == [made]
    assert watch.due() == []
    paper(tmp_path / "a.pdf", "x, and more")
    assert watch.due() == []
    assert watch.due() == [made]
    made.chmod(0o600)  # what could not be read may be readable now
    assert watch.due() == []
    assert watch.due() == [made]
    made.unlink()
    assert watch.due() == []
    assert FolderWatch(tmp_path / "gone").due() == []
