"""`knowledge migrate`, `reembed` and `collections`: real files, other stores by name, questions, exit codes, JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp import registry
from knowledge_mcp.engine.jobs.store_journal import JOBS_COLLECTION
from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.ports import Store
from knowledge_mcp.testing.store_values import SPACE, embedded
from tests.cli.conftest import Command
from tests.cli.running import ROOT, environment
from tests.engine.moving import SERVER, chunks_of, embedder, fill, place, put_document, sqlite

NAME = "se_knowledge_base"


@pytest.fixture
def kb(home: Path) -> Generator[Store]:
    """Fill the default store's default collection with eight documents."""
    store = sqlite(home / ".local" / "share" / "knowledge-mcp" / "knowledge.sqlite")
    fill(store, collection=NAME)
    yield store
    store.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Store]:
    """Let a store in memory stand for a Qdrant server, known by its name in the registry alone."""
    monkeypatch.setitem(registry.STORES, "qdrant", "tests.engine.moving:server")
    monkeypatch.setenv("VECTOR_STORE", "sqlite")
    monkeypatch.setenv("QDRANT_URL", "http://localhost:6333")
    yield SERVER
    for info in SERVER.collections():
        SERVER.drop_collection(info.name)


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a hashing embedder stand for the local one; its name and dimensions are the settings'."""
    monkeypatch.setitem(registry.EMBEDDERS, "local", "tests.engine.moving:embedder")


def loaded(text: str) -> Any:
    """Parse what a command wrote."""
    return json.loads(text)


# ---- migrate


def test_migrate_copies_into_another_folder_and_shows_that_both_are_equal(
    kb: Store, home: Path, knowledge: Command
) -> None:
    done = knowledge("migrate", "--from", "sqlite", "--to", "sqlite", "--to-path", str(home / "backup"))
    assert done.code == 0
    assert "Source and target have the same contents." in done.out
    assert content_hash(place(kb, NAME)).sha256 in done.out
    assert "best hits in common: by meaning 100.0%, by words 100.0%" in done.out
    assert "Stored doc-00 (1/8)" in done.err
    copy = sqlite(home / "backup" / "knowledge.sqlite")
    assert content_hash(place(copy, NAME)).sha256 == content_hash(place(kb, NAME)).sha256
    copy.close()


def test_migrate_finds_a_store_by_its_name_alone_and_brings_everything_back(
    kb: Store, home: Path, server: Store, knowledge: Command
) -> None:
    there = loaded(knowledge("migrate", "--from", "sqlite", "--to", "qdrant", "--json").out)
    assert there["exit_code"] == 0
    assert there["to"]["backend"] == "memory"
    one = there["collections"][0]
    assert (one["documents_copied"], one["chunks_copied"], one["failed"]) == (8, 31, [])
    assert one["comparison"]["equal"]
    assert one["comparison"]["source"] == one["comparison"]["target"]
    back = knowledge(
        "migrate", "--from", "qdrant", "--to", "sqlite", "--collection", NAME, "--to-collection", "again", "--json"
    )
    assert loaded(back.out)["collections"][0]["comparison"]["target"]["sha256"] == one["comparison"]["source"]["sha256"]
    assert content_hash(place(kb, "again")).sha256 == content_hash(place(kb, NAME)).sha256


def test_migrate_copies_every_collection_when_asked(kb: Store, server: Store, knowledge: Command) -> None:
    fill(kb, documents=1, collection="second")
    done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant", "--all")
    assert done.code == 0
    assert [each.name for each in server.collections()] == [NAME, "second"]


def test_a_dry_run_tells_what_would_be_copied_and_makes_nothing(kb: Store, home: Path, knowledge: Command) -> None:
    arguments = ("migrate", "--from", "sqlite", "--to", "sqlite", "--to-path", str(home / "backup"), "--dry-run")
    done = knowledge(*arguments)
    assert done.code == 0
    assert "nothing was written" in done.out
    assert loaded(knowledge(*arguments, "--json").out)["collections"][0]["chunks"] == 31
    assert not (home / "backup").exists()


def test_migrate_asks_before_it_replaces_or_removes(kb: Store, server: Store, knowledge: Command) -> None:
    fill(server, documents=1, collection=NAME)
    put_document(server, "doc-00", chunks_of("doc-00", 2, turn=4), collection=NAME, turn=4)
    put_document(server, "stranger", chunks_of("stranger", 2), collection=NAME)
    before = content_hash(place(server, NAME)).sha256
    arguments = ("migrate", "--from", "sqlite", "--to", "qdrant", "--prune")
    refused = knowledge(*arguments)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "Replace 1 and remove 1 document" in refused.err
    assert content_hash(place(server, NAME)).sha256 == before
    done = knowledge(*arguments, "--yes", "--json")
    assert done.code == 0
    assert loaded(done.out)["collections"][0]["documents_removed"] == ["stranger"]
    assert content_hash(place(server, NAME)).sha256 == content_hash(place(kb, NAME)).sha256


def test_migrate_leaves_what_only_the_target_has_and_says_so(kb: Store, server: Store, knowledge: Command) -> None:
    server.create_collection(NAME, SPACE)
    put_document(server, "stranger", chunks_of("stranger", 2), collection=NAME)
    done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant", "--json")
    assert done.code == 0
    assert loaded(done.out)["collections"][0]["only_at_target"] == ["stranger"]
    assert server.open(NAME).documents(["stranger"])


def test_migrate_ends_with_1_where_a_document_could_not_be_copied(kb: Store, server: Store, knowledge: Command) -> None:
    spoilt = [replace(each, embedding_key="0" * 64) for each in chunks_of("spoilt", 3)]
    put_document(kb, "spoilt", spoilt, collection=NAME)
    done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant")
    assert done.code == 1
    assert "spoilt: Document 'spoilt' has 3 chunks without a vector." in done.out
    assert "do NOT have the same contents" in done.out
    assert server.open(NAME).documents(["spoilt"]) == []
    assert len(server.open(NAME).documents()) == 8


def test_migrate_into_another_embedding_space_ends_with_3_and_copies_nothing(
    kb: Store, server: Store, knowledge: Command
) -> None:
    server.create_collection(NAME, replace(SPACE, model="another"))
    done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant", "--json")
    assert done.code == 3
    assert loaded(done.out)["error"]["code"] == "config_error"
    assert "Nothing was copied" in done.err
    assert server.open(NAME).documents() == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--from", "sqlite", "--to", "sqlite"), 1, "are the same"),
        (("--from", "sqlite", "--to", "sqlite", "--collection", "typo", "--to-collection", "x"), 1, NAME),
        (("--from", "sqlite", "--to", "sqlite", "--all", "--collection", "x"), 1, "cannot be used together"),
        (("--from", "sqlite", "--to", "qdrant", "--to-path", "folder"), 1, "is a server"),
        (("--from", "sqlite", "--from-path", "nowhere", "--to", "qdrant"), 1, "There is no store"),
        (("--from", "sqlite", "--to", "weaviate"), 2, "weaviate"),
        (("--from", "sqlite"), 2, "--to"),
    ],
)
def test_a_migration_that_makes_no_sense_is_refused(
    kb: Store, server: Store, knowledge: Command, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = knowledge("migrate", *arguments)
    assert done.code == code
    assert words in done.err
    assert server.collections() == []


def test_a_store_that_is_not_configured_or_not_built_in_ends_with_3(
    kb: Store, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(registry.STORES, "chromadb", raising=False)
    done = knowledge("migrate", "--from", "sqlite", "--to", "chromadb")
    assert done.code == 3
    assert "chromadb" in done.err
    monkeypatch.setitem(registry.STORES, "qdrant", "tests.engine.moving:server")
    done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant")
    assert done.code == 3
    assert "QDRANT_URL" in done.err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (ConnectionFailedError("It is gone."), 3)])
def test_a_migration_that_is_stopped_says_how_to_go_on(
    kb: Store, server: Store, knowledge: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    handle = type(server.open(NAME))
    publish = handle.publish
    left = [3]

    def stops(*arguments: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise error
        publish(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(handle, "publish", stops)
        done = knowledge("migrate", "--from", "sqlite", "--to", "qdrant")
    assert done.code == code
    assert "Documents completed in this run: 3. Run the same command again" in done.err
    assert knowledge("migrate", "--from", "sqlite", "--to", "qdrant").code == 0
    assert content_hash(place(server, NAME)).sha256 == content_hash(place(kb, NAME)).sha256


def terminal_says(terminal: int) -> bytes:
    """Read what a program has written to its terminal; nothing once it has closed it."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.mark.slow
def test_a_migration_shows_a_bar_on_a_terminal_and_can_be_interrupted(kb: Store, home: Path) -> None:
    fill(kb, documents=60, chunks=300, collection=NAME)
    own, theirs = pty.openpty()
    line = [sys.executable, "-m", "knowledge_mcp.cli.knowledge.main", "migrate", "--from", "sqlite", "--to", "sqlite"]
    with subprocess.Popen(
        [*line, "--to-path", str(home / "backup")], cwd=home,
        env=environment(home, {"PYTHONPATH": str(ROOT)}),
        stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        seen = b""
        while not re.search(rb"chunk \d+/300|\d+/60", seen) and (data := terminal_says(own)):
            seen += data
        process.send_signal(signal.SIGINT)
        while data := terminal_says(own):
            seen += data
        process.communicate(timeout=60)
    os.close(own)
    assert process.returncode in {130, -signal.SIGINT}  # interrupted in an import: a shell calls both 130
    assert b"Interrupted." in seen
    assert b"Run the same command again to continue" in seen


# ---- reembed


@pytest.mark.usefixtures("hashing")
def test_reembed_swaps_the_collection_and_keeps_the_old_one(kb: Store, knowledge: Command) -> None:
    done = knowledge("reembed", "--model", "newer", "--yes")
    assert done.code == 0
    assert f"'{NAME}' now uses local/newer" in done.out
    info = kb.open(NAME).info()
    assert info is not None
    assert (info.space.model, info.space.dimensions) == ("newer", 384)
    old = [each.name for each in kb.collections() if each.name != NAME]
    assert len(old) == 1
    assert old[0].startswith(f"{NAME}.old-20")
    assert "From now on it needs EMBEDDING_MODEL=newer." in done.out
    again = knowledge("reembed", "--model", "newer")
    assert again.code == 0
    assert "already" in again.out


@pytest.mark.usefixtures("hashing")
def test_reembed_takes_the_new_space_from_the_settings_and_reports_as_json(
    kb: Store, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "newest")
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "256")
    output = loaded(knowledge("reembed", "--dry-run", "--json").out)
    assert (output["chunks"], output["needed"], len(output["documents_to_embed"])) == (31, True, 8)
    assert [each.name for each in kb.collections()] == [NAME]
    assert "Dry run" in knowledge("reembed", "--dry-run").out
    done = loaded(knowledge("reembed", "--drop-old", "--yes", "--json").out)
    assert (done["swapped"], done["chunks_embedded"] + done["vectors_reused"], done["old_collection"]) == (
        True,
        31,
        None,
    )
    assert [each.name for each in kb.collections()] == [NAME]


@pytest.mark.usefixtures("hashing")
def test_reembed_wants_yes_where_nobody_can_be_asked(kb: Store, knowledge: Command) -> None:
    done = knowledge("reembed", "--model", "newer")
    assert done.code == 2
    assert "--yes" in done.err
    assert "31 chunks" in done.err
    assert [each.name for each in kb.collections()] == [NAME]


@pytest.mark.usefixtures("hashing")
def test_reembed_names_documents_that_do_not_fit_and_changes_nothing(kb: Store, knowledge: Command) -> None:
    put_document(kb, "long", embedded("long", ["word " * 60]), collection=NAME)
    assert embedder(_Options()).max_tokens == 40
    done = knowledge("reembed", "--model", "newer", "--yes")
    assert done.code == 1
    assert "long: 1 of 1 chunk with more than the 40 tokens" in done.out
    assert f"knowledge-ingest --collection {NAME}.next-" in done.out
    assert knowledge("reembed", "--model", "newer", "--dry-run").code == 1
    done = knowledge("reembed", "--model", "newer", "--yes", "--leave-out", "--json")
    assert done.code == 1
    assert loaded(done.out)["swapped"]
    assert kb.open(NAME).documents(["long"]) == []


class _Options:
    embedding_model = None
    embedding_dimensions = None


def test_options_that_contradict_each_other_end_with_3(kb: Store, knowledge: Command) -> None:
    done = knowledge("reembed", "--provider", "local", "--model", "text-embedding-3-small")
    assert done.code == 3
    assert "EMBEDDING_MODEL" in done.err


@pytest.mark.usefixtures("hashing")
def test_reembed_of_a_collection_that_is_not_there_says_so(kb: Store, knowledge: Command) -> None:
    done = knowledge("reembed", "--collection", "typo", "--yes")
    assert done.code == 1
    assert "There is no collection 'typo'" in done.err


# ---- collections


def test_collections_of_jobs_are_marked_in_the_list(kb: Store, knowledge: Command) -> None:
    kb.create_collection(JOBS_COLLECTION, SPACE)
    done = knowledge("collections", "list")
    assert f"{JOBS_COLLECTION} (internal)" in done.out
    assert f"{NAME} (in use)" in done.out


def test_collections_are_listed_and_shown(kb: Store, knowledge: Command) -> None:
    fill(kb, documents=1, collection="second")
    done = knowledge("collections", "list")
    assert done.code == 0
    assert f"{NAME} (in use)" in done.out
    assert SPACE.label in done.out
    listed = loaded(knowledge("collections", "list", "--json").out)
    assert [(each["name"], each["documents"], each["chunks"]) for each in listed["collections"]] == [
        (NAME, 8, 31),
        ("second", 3, 6),
    ]
    shown = knowledge("collections", "show", "second")
    assert SPACE.fingerprint in shown.out
    assert "sound" in shown.out
    assert loaded(knowledge("collections", "show", "second", "--json").out)["space"]["model"] == SPACE.model


def test_a_store_without_collections_says_how_to_make_one(home: Path, knowledge: Command) -> None:
    assert "knowledge-ingest" in knowledge("collections", "list").out


def test_a_collection_is_renamed_and_a_taken_name_is_refused(kb: Store, knowledge: Command) -> None:
    fill(kb, documents=1, collection="second")
    assert knowledge("collections", "rename", "second", "third").out == "Renamed 'second' to 'third'.\n"
    assert [each.name for each in kb.collections()] == [NAME, "third"]
    done = knowledge("collections", "rename", "third", NAME, "--json")
    assert done.code == 1
    assert loaded(done.out)["error"]["code"] == "invalid_input"
    assert len(kb.open("third").documents()) == 3
    assert "Next: set QDRANT_COLLECTION=fourth" in knowledge("collections", "rename", NAME, "fourth").out


@pytest.mark.parametrize("new", ["a b/../c", "", "-x", "x" * 64, "a\nb"])
def test_a_new_name_follows_the_rule_that_other_surfaces_have(kb: Store, knowledge: Command, new: str) -> None:
    for arguments in (
        ("collections", "rename", "--", NAME, new),
        ("migrate", "--from", "sqlite", "--to", "sqlite", "--to-path", "copy", "--yes", f"--to-collection={new}"),
    ):
        done = knowledge(*arguments)
        assert done.code != 0
        assert "beginning with a letter or digit" in done.err
    assert [each.name for each in kb.collections()] == [NAME]


def test_drop_asks_unless_told_not_to(kb: Store, knowledge: Command) -> None:
    done = knowledge("collections", "drop", NAME)
    assert done.code == 1
    assert "--yes" in done.err
    assert kb.open(NAME).info() is not None
    assert f"Dropped '{NAME}': 8 documents, 31 chunks." in knowledge("collections", "drop", NAME, "--yes").out
    assert kb.collections() == []


def test_a_collection_that_is_not_there_names_those_that_are(kb: Store, knowledge: Command) -> None:
    for command in ("show", "drop"):
        done = knowledge("collections", command, "typo")
        assert done.code == 1
        assert NAME in done.err


@pytest.mark.parametrize(
    "command",
    [("migrate",), ("reembed",), *(("collections", each) for each in ("list", "show", "rename", "drop"))],
)
def test_help_of_each_command_has_an_example(knowledge: Command, command: tuple[str, ...]) -> None:
    done = knowledge(*command, "--help")
    assert done.code == 0
    assert f"knowledge {' '.join(command)}" in done.out.partition("xample")[2]
