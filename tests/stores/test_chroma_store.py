"""ChromaDB's own matters: the guard of its folder, its index, writes cut short anywhere, what a plain client sees."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, InternalError
from knowledge_mcp.model.query import Equals, Filter, In, Prefix
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma import view
from knowledge_mcp.stores.chroma.client import Address, ChromaTable
from knowledge_mcp.stores.chroma.store import ChromaStore, from_options
from knowledge_mcp.stores.chroma.view import ViewLimits
from knowledge_mcp.testing.store_search import FILTERS, MANY, cosines, make_document, put, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, full_chunk, record, structure, unit_vector
from tests.stores.plain_chroma import plain

ROOT = Path(__file__).resolve().parents[2]
OPENING = """
import sys
from pathlib import Path
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.stores.chroma.store import ChromaStore, from_options
from knowledge_mcp.stores.chroma.client import Address
store = ChromaStore(Address(Path(sys.argv[1])), EnglishAnalyser())
try:
    store.collections()
except ConnectionFailedError as exc:
    print(exc.message, exc.suggestion)
else:
    print("open", flush=True)
    sys.stdin.readline()
"""


class OtherAnalyser(EnglishAnalyser):
    @property
    def version(self) -> str:
        return "english-3-other"

    def document_terms(self, text: str) -> list[str]:
        return [f"other{each}" for each in super().document_terms(text)]

    def query_terms(self, text: str) -> list[str]:
        return [f"other{each}" for each in super().query_terms(text)]


def opened(folder: Path, *, limits: ViewLimits | None = None, analyser: Analyser | None = None) -> ChromaStore:
    return ChromaStore(Address(folder), analyser or EnglishAnalyser(), limits=limits)


def found(store: ChromaStore, text: str, filter: Filter | None = None) -> list[str]:
    legs = store.open("c").search(vector=None, text=text, filter=filter, limit=100)
    return sorted(hit.chunk_id for hit in legs.lexical or ())


@pytest.mark.slow
def test_a_second_process_is_refused_by_name_and_let_in_once_the_first_is_gone(folder: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        store = opened(folder)
        with pytest.raises(ConnectionFailedError) as caught:
            store.collections()
        assert f"process {holder.pid}" in caught.value.message
        assert f"chroma run --path {folder}" in caught.value.suggestion
        assert "CHROMADB_HOST" in caught.value.suggestion
        holder.kill()
        holder.wait()
        store.collections()  # what the killed one left is no lock
        refused = subprocess.run(command, input="", capture_output=True, text=True, check=True, cwd=ROOT)
        assert "in use by process" in refused.stdout
        store.close()
    let_in = subprocess.run(command, input="", capture_output=True, text=True, check=True, cwd=ROOT)
    assert let_in.stdout == "open\n"


def test_nothing_is_opened_before_the_first_call(folder: Path) -> None:
    class Options:
        chromadb_path = folder / "new"
        chromadb_host: str | None = None
        chromadb_port = 8000
        chromadb_ssl = False
        chromadb_token = None

    store = from_options(Options(), EnglishAnalyser())
    assert store.identity.backend == "chromadb"
    assert not (folder / "new").exists()
    store.collections()
    assert (folder / "new").exists()
    store.close()
    code = "import sys, knowledge_mcp.stores.chroma.store; print('chromadb' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "False\n"


def test_collections_of_others_are_refused_and_left_as_they_are(folder: Path) -> None:
    client = plain(folder)
    theirs = client.create_collection("manuals", metadata={"mine": "yes"}, embedding_function=None)
    theirs.add(ids=["1"], embeddings=[[1.0, 0.0]], documents=["kept"])
    store = opened(folder)
    for call in (
        lambda: store.create_collection("manuals", SPACE),
        lambda: store.open("manuals").info(),
        lambda: store.drop_collection("manuals"),
        lambda: store.open("manuals").documents(),
    ):
        with pytest.raises(ConfigError, match="manuals"):
            call()
    store.create_collection("c", SPACE)
    with pytest.raises(ConfigError):
        store.rename_collections({"c": "manuals"})
    assert [each.name for each in store.collections()] == ["c"]
    assert theirs.get()["documents"] == ["kept"]
    store.close()
    client.close()


def test_a_plain_client_reads_every_field_of_a_chunk(folder: Path) -> None:
    store = opened(folder)
    store.create_collection("standards", SPACE)
    each = full_chunk("d")
    store.open("standards").publish([WholeDocument(record("d", [each]), "text", [each])], lambda _: None)
    client = plain(folder)
    entry = client.get_collection("standards", embedding_function=None).get(include=["documents", "metadatas"])
    assert entry["documents"] == [each.chunk.content]
    (metadata,) = entry["metadatas"]
    for name in ("document_id", "document_title", "document_type", "normative", "clause_number", "section_title"):
        assert metadata[name] == getattr(each.chunk, name)
    assert metadata["page_numbers"] == [4, 5]
    assert metadata["clause_prefixes"] == ["5", "5.3"]
    assert metadata["section_hierarchy"] == ["5 Requirements", "5.3 Verification"]
    assert (metadata["chunk_type"], metadata["first_line"], metadata["last_line"]) == ("requirement", 12, 14)
    store.close()
    client.close()


def test_the_example_of_the_documentation_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = opened(folder)
    store.create_collection("standards", SPACE)
    passage = SamplePassage("The pump shall stop", normative=True, clause_number="5.3.1")
    put(store, "d", [passage], collection="standards")
    store.close()
    page = (ROOT / "docs" / "chromadb.md").read_text("utf-8")
    code, _ = re.findall(r"```python notest\n(.*?)```", page, re.DOTALL)
    exec(compile(code.replace("./collections/chromadb", str(folder)), "docs/chromadb.md", "exec"), {})
    assert "5.3.1 The pump shall stop" in capsys.readouterr().out


@pytest.mark.parametrize("limits", [ViewLimits(), ViewLimits(vectors=0)], ids=["held here", "read from the store"])
def test_passages_are_compared_whether_their_vectors_are_held_or_not(folder: Path, limits: ViewLimits) -> None:
    store = opened(folder, limits=limits)
    store.create_collection("c", SPACE)
    put(
        store, "d", [SamplePassage(f"alpha {number}", id=f"{number}", direction=f"way {number}") for number in range(8)]
    )
    again = [SamplePassage(f"beta {number}", id=f"{number}", direction=f"way {number}") for number in range(5)]
    put(store, "d", again)
    compared = cosines(store.open("c"), unit_vector("way 3"), ["3", "4", "7", "unknown"])
    assert compared.keys() == {"3", "4"}
    assert compared["3"] == pytest.approx(1.0, abs=1e-5)
    legs = store.open("c").search(vector=unit_vector("way 3"), text=None, filter=None, limit=9)
    assert {hit.chunk_id: hit.score for hit in legs.dense or ()}["4"] == pytest.approx(compared["4"], abs=1e-6)
    store.close()


@pytest.mark.parametrize("limits", [ViewLimits(), ViewLimits(vectors=0)], ids=["held here", "asked of the index"])
def test_both_ways_of_the_dense_leg_filter_before_ranking(folder: Path, limits: ViewLimits) -> None:
    store = opened(folder, limits=limits)
    store.create_collection("c", SPACE)
    put(store, "d", MANY)
    put(store, "e", [SamplePassage("alpha alone", id="6")])
    odd: list[tuple[Filter, str]] = [
        (In("normative", ("true", "false")), "123456"),
        (In("normative", ("true", "maybe")), "15"),
        (Equals("normative", "maybe"), ""),
        (Prefix("clause_number", ""), ""),
    ]
    for kept, expected in (*FILTERS, *odd):
        legs = store.open("c").search(vector=unit_vector("alpha"), text=None, filter=kept, limit=100)
        assert "".join(sorted(hit.chunk_id for hit in legs.dense or ())) == expected, kept
    for limit in (0, 1, 3, 6, 7):
        legs = store.open("c").search(vector=unit_vector("alpha"), text=None, filter=None, limit=limit)
        assert len(legs.dense or ()) == min(limit, 6)
    store.close()


def test_without_room_for_postings_hybrid_is_dense_with_a_warning_and_keyword_alone_an_error(folder: Path) -> None:
    store = opened(folder, limits=ViewLimits(postings=10))
    store.create_collection("c", SPACE)
    put(store, "d", [SamplePassage("alpha words", terms=(("alpha",),))])
    legs = store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=3)
    assert legs.lexical is None
    assert "too much memory" in legs.lexical_error
    assert len(legs.dense or ()) == 1
    with pytest.raises(ConfigError, match="Keyword search"):
        store.open("c").search(vector=None, text="alpha", filter=None, limit=3)
    assert len(store.open("c").chunks("term", [EnglishAnalyser().term_key("alpha")])) == 1
    store.close()


def test_another_analyser_indexes_again_and_a_damaged_index_is_made_again(folder: Path) -> None:
    store = opened(folder)
    store.create_collection("c", SPACE)
    put(store, "d", [SamplePassage("alpha words", id="1")])
    assert found(store, "alpha") == ["1"]
    other = opened(folder, analyser=OtherAnalyser())
    assert found(other, "alpha") == ["1"]
    other.close()
    client = plain(folder)
    (name,) = [each.name for each in client.list_collections() if ".documents-" in each.name]
    documents = client.get_collection(name, embedding_function=None)
    (entry,) = [each for each in documents.get()["ids"] if each.startswith("index ")]
    documents.update(ids=[entry], metadatas=[{"packed": "AAAA"}])
    messages = [each.message for each in store.open("c").verify()]
    assert messages == ["The search index is damaged."]
    older = opened(folder)
    assert found(older, "alpha") == ["1"]
    assert [each.message for each in store.open("c").verify()] == messages, (
        "an older version wrote over a newer one's index"
    )
    fresh = opened(folder, analyser=OtherAnalyser())
    assert found(fresh, "alpha") == ["1"]
    assert store.open("c").verify() == []
    documents.delete(ids=[entry])
    assert [each.repaired for each in store.open("c").verify(repair=True)] == [True]
    assert store.open("c").verify() == []
    for each in (store, fresh):
        each.close()
    client.close()


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let the n-th writing call to ChromaDB and all later ones never happen; tells how many there were."""
    calls = 0

    def counted(name: str) -> None:
        plainly: Callable[..., Any] = getattr(ChromaTable, name)

        def call(self: ChromaTable, *args: Any, **named: Any) -> Any:
            nonlocal calls
            if name == "remove" and not args[0]:
                return None
            calls += 1
            if calls >= step:
                raise Killed
            return plainly(self, *args, **named)

        monkeypatch.setattr(ChromaTable, name, call)

    counted("put")
    counted("remove")
    return lambda: calls


def ended_process() -> int:
    """Give the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def contents(store: ChromaStore) -> tuple[Sequence[object], ...]:
    return (
        store.open("c").documents(),
        [text_of(store.open("c"), each.id) for each in store.open("c").documents()],
        [store.open("c").chunks("document", [each.id]) for each in store.open("c").documents()],
        [structure_of(store.open("c"), each.id) for each in store.open("c").documents()],
        found(store, "words"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("work", ["publish", "publish with another one", "publish in two steps", "delete"])
@pytest.mark.requirement("CLARIFY-006")
def test_a_kill_between_any_two_steps_leaves_one_version_whole_and_the_next_run_mends_it(
    folder: Path, work: str
) -> None:
    old = [SamplePassage("old words", id="1"), SamplePassage("same words", id="2")]
    new = [SamplePassage("same words", id="2"), SamplePassage("new words", id="3"), SamplePassage("more words", id="4")]

    def run(store: ChromaStore) -> None:
        if work == "delete":
            store.open("c").delete("d")
            return
        large = work.endswith("two steps")
        made = [make_document("d", new, text="new" * (400_000 if large else 1), structure=structure(3))]
        others = [make_document("e", ["other words"])] if work.endswith("another one") else []
        store.open("c").publish([*made, *others], lambda _: None)

    gone = ended_process()
    undisturbed: tuple[Sequence[object], ...] = ()
    before: tuple[Sequence[object], ...] = ()
    step = total = 0
    while step <= total:
        store = opened(folder / str(step))
        store.create_collection("c", SPACE)
        put(store, "d", old, text="old", structure=structure(2))
        before = before or contents(store)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "getpid", lambda: gone)
            calls = killed_at(step or 10_000, patch)
            with contextlib.suppress(Killed):
                run(store)
            total = total or calls()
        other = opened(folder / str(step))
        if step == 0:
            undisturbed = contents(other)
        assert contents(other) in (before, undisturbed), f"a mix after a kill at step {step} of {total}"
        run(other)
        assert contents(other) == undisturbed, step
        other.open("c").verify(repair=True)
        assert other.open("c").verify(repair=True) == [], step
        assert contents(store) == undisturbed, "the one that was cut short sees it too"
        for each in (store, other):
            each.close()
        step += 1
    assert step > 2


def test_verify_tells_missing_chunks_and_sweeps_what_belongs_to_nobody(folder: Path) -> None:
    store = opened(folder)
    store.create_collection("kb1", SPACE)
    put(store, "d", ["one", "two"], collection="kb1")
    client = plain(folder)
    chunks = client.get_collection("kb1", embedding_function=None)
    first, second = chunks.get()["ids"]
    chunks.delete(ids=[first])
    assert "states 2 chunks, the store contains 1" in store.open("kb1").verify()[0].message
    with pytest.raises(InternalError, match="missing"):
        store.open("kb1").chunks("document", ["d"])
    entry = chunks.get(ids=[second], include=["metadatas", "embeddings"])
    lost = {**entry["metadatas"][0], "generation": "lost"}
    chunks.add(ids=["lost x"], embeddings=[[1.0] + [0.0] * 15], metadatas=[lost], documents=["x"])
    assert any("belongs to no document" in each.message for each in store.open("kb1").verify())
    assert any(each.repaired for each in store.open("kb1").verify(repair=True))
    assert not any("belongs to no document" in each.message for each in store.open("kb1").verify())
    store.close()
    client.close()


def test_documents_are_counted_once_for_each_state_of_a_collection(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(folder)
    store.create_collection("c", SPACE)
    put(store, "d", MANY)
    honest, read = view.visible_generations, list[int]()

    def counted(documents: ChromaTable) -> dict[str, str]:
        read.append(1)
        return honest(documents)

    monkeypatch.setattr(view, "visible_generations", counted)
    first = counts_of(store.open("c"))
    assert [counts_of(store.open("c")) for _ in range(3)] == [first] * 3
    assert len(read) == 1
    put(store, "e", ["alpha"])
    assert counts_of(store.open("c")).documents == first.documents + 1
    assert len(read) == 2
