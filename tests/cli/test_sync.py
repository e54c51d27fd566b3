"""Registered folders are kept in sync: added, synced, followed, removed; and their state is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.cli.knowledge.sources.syncing import FolderChanges, Synced, Syncing, follow, is_due
from knowledge_mcp.model.ingest import SourceKind, SourceSpec, SourceState, SourceStatus
from knowledge_mcp.settings import load_settings
from tests.cli.conftest import Command, held
from tests.cli.running import Finished, environment

WITH_HASHING = """
import sys
from knowledge_mcp import registry
from knowledge_mcp.cli.knowledge.main import main
registry.EMBEDDERS["local"] = "tests.cli.conftest:hashing"
sys.argv = ["knowledge", *sys.argv[1:]]
main()
"""
TEXTS = {
    "doors.md": "# Doors\n\nEach door shall close within four seconds of being let go by a person.\n",
    "ropes.md": "# Ropes\n\nA rope shall be greased with oil that is free of acid once every year.\n",
    "pits.md": "# Pits\n\nThe pit shall be dry and lit whenever somebody works beneath the car.\n",
}


def put(folder: Path, texts: dict[str, str] | None = None) -> Path:
    """Write files into a folder."""
    for name, text in (TEXTS if texts is None else texts).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def of(done: Finished, name: str = "docs") -> dict[str, Any]:
    """Read what `sync --json` says of one source."""
    return next(each for each in json.loads(done.out)["sources"] if each["name"] == name)


@pytest.fixture
def docs(home: Path, real_ingest: Command, knowledge: Command) -> Path:
    """Register a folder of three files, and sync it."""
    folder = put(home / "docs")
    assert knowledge("sources", "add", str(folder), "--every", "6h").code == 0
    assert of(knowledge("sync", "--json"))["stored"] == ["doors", "pits", "ropes"]
    return folder


def test_a_synced_folder_is_the_truth_of_its_documents(docs: Path, knowledge: Command) -> None:
    (docs / "pits.md").unlink()
    (docs / "doors.md").rename(docs / "gates.md")
    put(docs, {"ropes.md": TEXTS["ropes.md"].replace("year", "month"), "below/masts.md": "# Masts\n\nStand upright.\n"})
    done = of(knowledge("sync", "--json"))
    assert held(knowledge) == {"doors": "gates.md", "ropes": "ropes.md", "masts": "masts.md"}
    assert [each["document_id"] for each in done["removed"]] == ["pits"]
    assert done["passages_embedded"] == 2, "a file that moved is not embedded again"
    again = of(knowledge("sync", "docs", "--json"))
    assert (again["stored"], again["unchanged"], again["removed"]) == ([], 3, [])


def test_a_folder_whose_path_goes_up_is_the_same_folder(home: Path, real_ingest: Command, knowledge: Command) -> None:
    folder = put(home / "docs")
    (home / "other").mkdir()
    assert knowledge("sources", "add", str(home / "other" / ".." / "docs")).code == 0
    assert "already registered" in knowledge("sources", "add", str(folder), "--name", "again").err
    knowledge("sync")
    (folder / "pits.md").unlink()
    (folder / "doors.md").rename(folder / "gates.md")
    knowledge("sync")
    assert held(knowledge) == {"doors": "gates.md", "ropes": "ropes.md"}


def test_what_changed_after_a_move_keeps_its_document(docs: Path, knowledge: Command) -> None:
    (docs / "doors.md").rename(docs / "gates.md")
    knowledge("sync")
    put(docs, {"gates.md": "# Gates\n\nEach gate shall close within five seconds.\n"})
    knowledge("sync")
    assert held(knowledge)["doors"] == "gates.md"


def test_copies_of_one_file_that_all_move_keep_their_documents(docs: Path, knowledge: Command) -> None:
    put(docs, {"copy.md": TEXTS["doors.md"]})
    knowledge("sync")
    before = set(held(knowledge))
    (docs / "doors.md").rename(docs / "gates.md")
    (docs / "copy.md").rename(docs / "hatches.md")
    assert of(knowledge("sync", "--json"))["removed"] == []
    assert set(held(knowledge)) == before


def test_a_copy_of_an_earlier_version_does_not_take_its_document(docs: Path, knowledge: Command) -> None:
    put(docs, {"a/doors.md": TEXTS["doors.md"], "doors.md": "# Doors\n\nDoors shall be red.\n"})
    knowledge("sync")
    there = held(knowledge)
    assert there["doors"] == "doors.md"
    assert sorted(there.values()) == ["doors.md", "doors.md", "pits.md", "ropes.md"]


def test_a_folder_that_is_suddenly_empty_or_gone_removes_nothing(docs: Path, knowledge: Command) -> None:
    away = docs.rename(docs.with_name("away"))
    gone = knowledge("sync", "--json")
    assert gone.code == 1
    assert "There is no folder" in of(gone)["last_error"]
    docs.mkdir()
    empty = knowledge("sync")
    assert empty.code == 1
    assert "suddenly empty" in empty.err
    assert "--allow-empty" in empty.err
    assert len(held(knowledge)) == 3
    assert "suddenly empty" in json.loads(knowledge("stats", "--json").out)["sources"][0]["last_error"]
    assert knowledge("sync", "--allow-empty").code == 0
    assert held(knowledge) == {}
    docs.rmdir()
    away.rename(docs)
    knowledge("sync")
    assert len(held(knowledge)) == 3


def test_what_cannot_be_read_is_named_and_keeps_its_earlier_version(docs: Path, knowledge: Command) -> None:
    (docs / "doors.md").write_bytes(b"")
    done = knowledge("sync")
    assert done.code == 1
    assert "The file is empty" in done.err
    assert done.err.count("doors.md") == 1
    assert "doors" in held(knowledge)


def test_how_sources_stand_is_reported_everywhere(docs: Path, knowledge: Command) -> None:
    listed = json.loads(knowledge("sources", "list", "--json").out)["sources"][0]
    assert (listed["documents"], listed["stale"], listed["every_seconds"]) == (3, False, 21_600)
    output = json.loads(knowledge("stats", "--json").out)["sources"]
    assert [(each["name"], each["stale"], each["documents"]) for each in output] == [("docs", False, 3)]
    assert "Source docs" in knowledge("stats").out
    checks = json.loads(knowledge("doctor", "--json").out)["checks"]
    assert [each["status"] for each in checks if each["check"] == "source docs"] == ["ok"]
    file = next((docs.parent / ".local").rglob("docs.json"))
    file.write_text(file.read_text().replace('"last_synced": "2', '"last_synced": "1'))
    assert json.loads(knowledge("stats", "--json").out)["sources"][0]["stale"] is True
    file.write_text("{")
    assert "damaged" in " ".join(json.loads(knowledge("stats", "--json").out)["notes"])


def test_a_name_and_a_place_are_registered_once(docs: Path, knowledge: Command, home: Path) -> None:
    other = put(home / "other", {"masts.md": "# Masts\n\nStand upright.\n"})
    twice = knowledge("sources", "add", str(docs), "--name", "twice").err
    assert "is already registered as 'docs'" in twice
    assert "--name" not in twice, "another name does not help"
    assert "already registered" in knowledge("sources", "add", str(other), "--name", "docs").err
    for wrong in ("..", "a/b", ".hidden", "x.lock"):
        assert "is not a source name" in knowledge("sources", "add", str(other), "--name", wrong).err
    assert "not an interval" in knowledge("sources", "add", str(other), "--every", "soon").err
    assert "no folder" in knowledge("sources", "add", str(home / "nowhere")).err
    assert "No location" in knowledge("sources", "add", " ").err, "the folder of the moment is not meant"
    file = knowledge("sources", "add", str(other / "masts.md")).err
    assert "is a file" in file
    assert "--pattern 'masts.md'" in file
    assert "--kind git" in knowledge("sources", "add", str(other), "--branch", "main").err
    assert "There is no source 'nobody'" in knowledge("sync", "nobody").err


def test_what_the_program_keeps_below_a_source_is_none_of_its_documents(
    docs: Path, real_ingest: Command, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_PATH", str(docs / "data"))
    knowledge("sources", "add", str(docs))
    for _ in range(2):
        done = of(knowledge("sync", "--json"))
        assert {"what": "data of this program", "count": 1} in done["left_out"]
    assert real_ingest(str(docs)).code == 0
    assert set(held(knowledge).values()) == set(TEXTS)


def test_removing_a_source_keeps_its_documents_unless_told(docs: Path, knowledge: Command, home: Path) -> None:
    knowledge("sources", "remove", "docs")
    assert len(held(knowledge)) == 3
    knowledge("sources", "add", str(docs))
    knowledge(
        "sources", "add", str(put(docs / "below", {"masts.md": "# Masts\n\nStand upright.\n"})), "--name", "inner"
    )
    knowledge("sync")
    assert json.loads(knowledge("sources", "remove", "docs", "--documents", "--yes", "--json").out)[
        "documents_removed"
    ] == ["doors", "pits", "ropes"], "what another source holds too is left to it"
    assert set(held(knowledge)) == {"masts"}


def test_what_comes_from_a_source_for_a_group_is_for_that_group(
    real_ingest: Command, knowledge: Command, home: Path
) -> None:
    knowledge("sources", "add", str(put(home / "docs")), "--allow", "legal", "--allow", "board")
    knowledge("sync")
    put(home / "docs", {"doors.md": "# Doors\n\nDoors shall be red.\n", "masts.md": "# Masts\n\nStand upright.\n"})
    knowledge("sync")
    documents = json.loads(knowledge("documents", "list", "--json").out)["documents"]
    assert [each["metadata"]["allowed_groups"] for each in documents] == ["board, legal"] * 4
    assert "not a group name" in knowledge("sources", "add", str(home), "--allow", "a,b").err


def test_two_sources_with_the_same_file_do_not_take_it_from_each_other(
    docs: Path, knowledge: Command, home: Path
) -> None:
    put(home / "other", {"doors.md": TEXTS["doors.md"]})
    knowledge("sources", "add", str(home / "other"))
    for _ in range(2):
        knowledge("sync")
    assert sorted(held(knowledge).values()) == ["doors.md", "doors.md", "pits.md", "ropes.md"]
    again = [each["stored"] for each in json.loads(knowledge("sync", "--json").out)["sources"]]
    assert again == [[], []]


def test_one_source_is_synced_by_one_process(docs: Path, knowledge: Command) -> None:
    from knowledge_mcp import wiring
    from knowledge_mcp.settings import load_settings

    with wiring.list_sources(load_settings(None)).working("docs"):
        done = knowledge("sync")
    assert done.code == 1
    assert "Another process is syncing 'docs'" in done.err


def test_no_secret_stands_in_an_address_or_in_the_list(real_ingest: Command, knowledge: Command) -> None:
    for address in ("https://me:pass@example.org/x", "https://tok@github.com/a/b", "davs://me:p@example.org/x"):
        done = knowledge("sources", "add", address)
        assert done.code != 0
        assert "pass" not in done.err.replace("password", "")


def test_a_sync_that_is_interrupted_says_what_became_of_it(
    docs: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    put(docs, {"masts.md": "# Masts\n\nStand upright.\n"})
    with monkeypatch.context() as patch:
        patch.setattr("knowledge_mcp.engine.ingest.syncing.sync", interrupted)
        done = knowledge("sync")
    assert (done.code, "docs: the sync did not finish. Stored documents are kept" in done.err) == (130, True)
    assert of(knowledge("sync", "--json"))["stored"] == ["masts"]


@pytest.mark.slow
def test_a_followed_folder_is_synced_as_it_changes(home: Path) -> None:
    folder = put(home / "docs")
    line = [sys.executable, "-c", WITH_HASHING]
    environ = environment(home, {"DATA_PATH": str(home / "data")})
    subprocess.run([*line, "sources", "add", str(folder)], env=environ, check=True, capture_output=True, timeout=60)
    with subprocess.Popen(
        [*line, "sync", "--watch"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert "3 stored" in process.stdout.readline()
            (folder / "pits.md").unlink()
            assert "1 removed" in process.stdout.readline()
        finally:
            os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) in {130, -signal.SIGINT}


@pytest.mark.slow
def test_a_folder_that_another_took_the_place_of_is_followed(tmp_path: Path) -> None:
    folder, other = put(tmp_path / "docs"), put(tmp_path / "other")
    watch = FolderChanges(tmp_path / "data")

    def sees_edits() -> bool:
        while watch.changed({folder}):
            pass
        (folder / "doors.md").write_text("# Doors\n\nChanged.\n")
        return any(watch.changed({folder}) == {folder} for _ in range(10))

    assert watch.changed({folder}) == {folder}
    assert sees_edits()
    folder.rename(tmp_path / "away")
    other.rename(folder)
    assert any(watch.changed({folder}) for _ in range(3))
    assert sees_edits()
    folder.rename(other)
    folder.symlink_to(tmp_path / "away")
    assert any(watch.changed({folder}) for _ in range(3))
    assert sees_edits()
    folder.unlink()
    assert watch.changed({folder}) == set()


def test_folders_that_cannot_be_watched_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> Iterator[set[tuple[object, str]]]:
        raise OSError("OS file watch limit reached.")
        yield set()

    monkeypatch.setattr("watchfiles.watch", refuse)
    watch = FolderChanges(tmp_path / "data")
    folders = {put(tmp_path / "docs")}
    assert [watch.changed(folders), watch.changed(folders)] == [set(), set()]
    assert capsys.readouterr().err.count("file watch limit") == 1


@pytest.mark.slow
def test_a_source_that_is_removed_while_all_are_followed_ends_nothing(
    docs: Path, home: Path, knowledge: Command
) -> None:
    assert knowledge("sources", "add", str(put(home / "more")), "--name", "more").code == 0
    built = wiring.build_knowledge(load_settings())
    done: list[str] = []

    def on_sync(synced: Synced) -> None:
        done.append(synced.status.spec.name)
        if len(done) > 1:
            raise KeyboardInterrupt
        knowledge("sources", "remove", "more")
        (docs / "ropes.md").unlink()

    run = Syncing(load_settings(), built, allow_empty=False, verbose=False)
    try:
        with pytest.raises(KeyboardInterrupt):
            follow(run, load_settings(), (), on_sync)
    finally:
        built.close()
    assert done == ["docs", "docs"]


class SlowServers:
    """Stands in for `Syncing`: sources of slow.example end when everything else has been synced, or are stopped."""

    def __init__(self, *specs: SourceSpec) -> None:
        self.listed = self
        self._there = {each.name: SourceStatus(each, SourceState()) for each in specs}
        self.others_done = threading.Event()
        self.at_once: Counter[str] = Counter()
        self.most_at_once = 0
        self.stopped: list[str] = []

    def all(self) -> list[SourceStatus]:
        return list(self._there.values())

    def run(self, name: str, cancelled: Callable[[], bool] | None = None) -> Synced:
        status = self._there[name]
        if "slow.example" in status.spec.location:
            self.at_once["slow"] += 1
            self.most_at_once = max(self.most_at_once, self.at_once["slow"])
            while not self.others_done.wait(0.01):
                if cancelled is not None and cancelled():
                    self.stopped.append(name)
                    break
            self.at_once["slow"] -= 1
        now = datetime.now(UTC).isoformat()
        self._there[name] = replace(status, state=SourceState(now, now))
        return Synced(self._there[name])


def followed(tmp_path: Path, servers: SlowServers, until: Callable[[list[str]], bool]) -> list[str]:
    """Follow until something holds; return the names in the order in which their syncs ended."""
    done: list[str] = []

    def on_sync(synced: Synced) -> None:
        done.append(synced.status.spec.name)
        if until(done):
            raise KeyboardInterrupt
        if {"docs", "page"} <= set(done):
            servers.others_done.set()

    settings = SimpleNamespace(data_folder=tmp_path / "data")
    with pytest.raises(KeyboardInterrupt):
        follow(cast("Any", servers), cast("Any", settings), (), on_sync)
    return done


def slow_and_others(tmp_path: Path) -> tuple[SourceSpec, ...]:
    return (
        SourceSpec("slow", SourceKind.SITEMAP, "https://slow.example/sitemap.xml", 3600),
        SourceSpec("slow-too", SourceKind.PAGE, "https://slow.example/page", 3600),
        SourceSpec("page", SourceKind.PAGE, "https://quick.example/page", 3600),
        SourceSpec("docs", SourceKind.FOLDER, str(put(tmp_path / "docs")), 3600),
    )


def test_a_server_that_answers_slowly_holds_up_only_its_own_sources(tmp_path: Path) -> None:
    servers = SlowServers(*slow_and_others(tmp_path))
    done = followed(tmp_path, servers, lambda done: {"slow", "slow-too"} <= set(done))
    assert set(done[:2]) == {"docs", "page"}
    assert servers.most_at_once == 1, "a server is asked for one source at a time"


def test_following_that_is_ended_stops_the_syncs_that_wait_for_a_server(tmp_path: Path) -> None:
    servers = SlowServers(*slow_and_others(tmp_path))
    assert followed(tmp_path, servers, lambda done: "docs" in done)[-1] == "docs"
    assert servers.stopped == ["slow"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
def test_a_file_whose_name_is_no_utf_8_keeps_its_document(docs: Path, knowledge: Command) -> None:
    named = Path(os.fsdecode(os.fsencode(docs) + b"/caf\xe9.md"))
    named.write_text("# Coffee\n\nCoffee shall be hot.\n")
    knowledge("sync")
    before = set(held(knowledge))
    again = of(knowledge("sync", "--json"))
    assert (again["unchanged"], again["removed"]) == (4, [])
    named.rename(named.with_name("tea.md"))
    knowledge("sync")
    assert set(held(knowledge)) == before
    (docs / "tea.md").unlink()
    assert len(of(knowledge("sync", "--json"))["removed"]) == 1


def test_a_folder_that_was_renamed_and_left_a_link_has_its_documents_once(docs: Path, knowledge: Command) -> None:
    put(docs, {"one/masts.md": "# Masts\n\nA mast shall stand upright.\n", "one/kept.md": "# Kept\n\nIt is kept.\n"})
    knowledge("sync")
    (docs / "one").rename(docs / "a")
    (docs / "one").symlink_to("a")
    put(docs, {"a/masts.md": "# Masts\n\nA mast shall stand firmly.\n"})
    knowledge("sync")
    there = held(knowledge)
    assert sorted(there.values()) == ["doors.md", "kept.md", "masts.md", "pits.md", "ropes.md"]
    assert there["kept"] == "kept.md"


def test_a_file_that_two_nested_sources_held_is_removed(docs: Path, knowledge: Command) -> None:
    put(docs, {"below/masts.md": "# Masts\n\nStand upright.\n"})
    knowledge("sources", "add", str(docs / "below"))
    knowledge("sync")
    put(docs, {"below/poles.md": "# Poles\n\nPoles shall be painted.\n"})
    (docs / "below" / "masts.md").unlink()
    knowledge("sync")
    assert "masts.md" not in held(knowledge).values()


def test_a_source_with_a_place_that_could_not_be_read_is_stale(docs: Path, knowledge: Command) -> None:
    (docs / "away.md").symlink_to("nowhere.md")
    done = of(knowledge("sync", "--json"))
    assert done["stale"] is True
    assert "1 place could not be read: away.md" in done["last_error"]
    checks = json.loads(knowledge("doctor", "--json").out)["checks"]
    assert [each["status"] for each in checks if each["check"] == "source docs"] == ["warn"]


def test_a_source_that_fails_again_and_again_is_tried_less_often() -> None:
    def waits(failed: int, every: float) -> int:
        tried = datetime.now(UTC)
        state = SourceState(last_tried=tried.isoformat(), last_error="it failed")
        status = SourceStatus(SourceSpec("docs", SourceKind.FOLDER, "/docs", every), state)
        return next(m for m in range(10_000) if is_due(status, failed, tried + timedelta(minutes=m)))

    assert [waits(failed, 3_600.0) for failed in (0, 1, 2, 3, 30, 3_000)] == [1, 1, 2, 4, 60, 60]


def test_a_source_that_was_synced_in_the_future_is_due_and_stale() -> None:
    now = datetime.now(UTC)
    ahead = (now + timedelta(days=3_650)).isoformat()  # by a clock that was wrong
    status = SourceStatus(SourceSpec("docs", SourceKind.FOLDER, "/docs", 3_600.0), SourceState(ahead, ahead))
    assert is_due(status, 0, now)
    assert status.is_stale(now)


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is not limited there")
def test_what_ended_a_sync_is_reported_where_it_cannot_be_written_down(docs: Path, knowledge: Command) -> None:
    import resource

    docs.rename(docs.with_name("away"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        done = knowledge("sync")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.code == 1
    assert "There is no folder" in done.err
