"""What is particular to the SQLite store: its file, its versions, its views, what it does in larger collections."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import apsw
import numpy as np
import pytest

from knowledge_mcp.lexical import analyser
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import EmbeddingSpace, WholeDocument
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, InternalError, KnowledgeError, TimedOutError
from knowledge_mcp.model.query import Equals
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.shared import ranking
from knowledge_mcp.stores.sqlite import postings, search, tables, verify, writing
from knowledge_mcp.stores.sqlite.backup import check_copy, put_in_place
from knowledge_mcp.stores.sqlite.connection import as_knowledge_error
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.stores.sqlite.view import SqliteView
from knowledge_mcp.testing.store_search import put, same_ranking
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, record, unit_vector

ANALYSER = EnglishAnalyser()


class OpenStore(SqliteStore):
    """Let the tests look inside."""

    @property
    def view(self) -> SqliteView:
        (view,) = self._views.values()
        return view

    @property
    def holds_floats(self) -> bool:
        return self.view.floats is not None

    @property
    def has_workers(self) -> bool:
        return self._workers is not None


def open_store(path: Path) -> OpenStore:
    store = OpenStore(path, ANALYSER)
    store.create_collection("c", SPACE)
    return store


def lexical(store: SqliteStore, text: str) -> list[str]:
    legs = store.open("c").search(vector=None, text=text, filter=None, limit=50)
    assert legs.lexical is not None
    return [hit.chunk_id for hit in legs.lexical]


def raw(path: Path, statement: str) -> list[tuple[Any, ...]]:
    connection: Any = apsw.Connection(str(path))
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def loaded_by(path: Path, use: str) -> str:
    """Name what of NumPy and the stemmer a process has loaded that used the store of a file."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom knowledge_mcp.lexical.analyser import EnglishAnalyser\n"
        "from knowledge_mcp.stores.sqlite.store import SqliteStore\n"
        f"store = SqliteStore(Path({str(path)!r}), EnglishAnalyser())\n{use}\n"
        "print(*[name for name in ('numpy', 'Stemmer') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout.strip()


def test_opening_makes_the_folder_and_imports_no_numpy(tmp_path: Path) -> None:
    assert loaded_by(tmp_path / "deep" / "er" / "knowledge.db", "store.collections()") == ""


def test_records_texts_and_passages_are_read_without_numpy(tmp_path: Path) -> None:
    store = open_store(tmp_path / "knowledge.db")
    put(store, "d", ["alpha words"])
    store.close()
    use = "kept = store.open('c')\nassert kept.documents() and kept.parts('d') and kept.chunks('document', ['d'])"
    assert loaded_by(tmp_path / "knowledge.db", use) == ""
    assert loaded_by(tmp_path / "knowledge.db", f"{use}\nkept.search(vector=None, text='a', filter=None, limit=1)")


def test_everything_is_in_one_file_once_the_store_is_closed(tmp_path: Path) -> None:
    store = open_store(tmp_path / "knowledge.db")
    put(store, "d", ["alpha words"])
    store.close()
    assert [each.name for each in tmp_path.iterdir()] == ["knowledge.db"]
    again = open_store(tmp_path / "knowledge.db")
    assert len(lexical(again, "alpha")) == 1
    again.close()


def test_a_file_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    open_store(path).close()
    raw(path, "UPDATE schema_version SET version = 99")
    with pytest.raises(ConfigError, match="newer version"):
        SqliteStore(path, ANALYSER)
    assert raw(path, "SELECT version FROM schema_version") == [(99,)]


def test_an_older_file_is_migrated_step_by_step_in_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "knowledge.db"
    open_store(path).close()
    raw(path, "UPDATE schema_version SET version = -1")
    with pytest.raises(ConfigError, match="cannot be upgraded"):
        SqliteStore(path, ANALYSER)
    steps: dict[int, tables.Migration] = {
        -1: lambda session: session.run("CREATE TABLE step_one (a)"),
        0: lambda session: session.run("CREATE TABLE step_two (a)"),
        1: lambda session: session.run("CREATE TABLE step_three (a)"),
    }
    monkeypatch.setattr(tables, "MIGRATIONS", MappingProxyType(steps))
    open_store(path).close()
    assert raw(path, "SELECT version FROM schema_version") == [(tables.SCHEMA_VERSION,)]
    assert raw(path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'step_%'") == [(3,)]


def test_a_migration_that_fails_leaves_the_old_version_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "knowledge.db"
    open_store(path).close()
    raw(path, "UPDATE schema_version SET version = 0")
    steps: dict[int, tables.Migration] = {0: lambda session: session.run("DROP TABLE texts; SELECT * FROM nothing")}
    monkeypatch.setattr(tables, "MIGRATIONS", MappingProxyType(steps))
    with pytest.raises(InternalError):
        SqliteStore(path, ANALYSER)
    assert raw(path, "SELECT version FROM schema_version") == [(0,)]
    assert raw(path, "SELECT count(*) FROM texts") == [(0,)]


def test_the_sqlite_file_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    raw(path, "CREATE TABLE mine (a)")
    with pytest.raises(ConfigError, match="another program"):
        SqliteStore(path, ANALYSER)
    assert raw(path, "SELECT name FROM sqlite_schema") == [("mine",)]


def test_a_file_that_is_no_database_is_an_internal_error_with_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    path.write_bytes(b"not a database at all, but long enough to look at" * 200)
    with pytest.raises(InternalError) as caught:
        SqliteStore(path, ANALYSER)
    assert caught.value.suggestion
    assert path.read_bytes().startswith(b"not a database")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE schema_version SET version = 'two'",
        "UPDATE collections SET space = '0'",
        "UPDATE collections SET chunks = 'many'",
    ],
)
def test_a_row_about_a_collection_that_is_not_what_was_written_is_reported_as_damage(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "knowledge.db"
    open_store(path).close()
    raw(path, change)
    with pytest.raises(InternalError, match="damaged"):
        SqliteStore(path, ANALYSER).open("c").info(counted=True)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER thief AFTER INSERT ON chunks BEGIN DELETE FROM documents; END",
        "ALTER TABLE documents RENAME TO others; CREATE VIEW documents AS WITH RECURSIVE n(x) AS"
        " (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS generation, '{}' AS record FROM n",
    ],
)
def test_a_file_with_triggers_or_views_is_refused_before_they_act_and_can_be_replaced(
    tmp_path: Path, change: str
) -> None:
    path, copy = tmp_path / "knowledge.db", tmp_path / "copy.db"
    open_store(path).close()
    shutil.copy(path, copy)
    raw(path, change)
    with pytest.raises(InternalError, match="damaged") as caught:
        SqliteStore(path, ANALYSER)
    assert "trigger" in caught.value.details or "view" in caught.value.details
    with pytest.raises(InternalError, match="damaged"):
        check_copy(path)
    put_in_place(copy, path)
    assert SqliteStore(path, ANALYSER).collections()


def test_a_path_that_cannot_be_opened_is_a_connection_error(tmp_path: Path) -> None:
    (tmp_path / "knowledge.db").mkdir()
    with pytest.raises(ConnectionFailedError):
        SqliteStore(tmp_path / "knowledge.db", ANALYSER)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConnectionFailedError, match="folder"):
        SqliteStore(tmp_path / "file" / "knowledge.db", ANALYSER)


def test_a_damaged_file_is_reported_by_verify_or_by_the_error(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = open_store(path)
    put(store, "d", [f"alpha words {number}" for number in range(400)])
    store.close()
    data = bytearray(path.read_bytes())
    for place in range(8192 * 3, len(data), 8192):
        data[place : place + 400] = b"\xff" * 400
    path.write_bytes(bytes(data))
    messages: list[str] = []
    try:
        messages = [each.message for each in open_store(path).open("c").verify() if each.suggestion]
    except InternalError as exc:
        messages = [exc.message]
    assert messages
    assert "damaged" in messages[0]


def test_a_full_disk_is_reported_and_the_old_state_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = open_store(path)
    put(store, "d", ["alpha words"])
    database = store.database
    with database.reading() as session:
        pages = session.rows("PRAGMA page_count")[0][0]
        session.rows(
            f"PRAGMA max_page_count = {pages + 3}"
        )  # holds for this connection, which the pool gives out again
    with pytest.raises(ConnectionFailedError, match="no space left"):
        put(store, "d", [f"beta words {number}" for number in range(300)])
    assert len(lexical(store, "alpha")) == 1
    assert lexical(store, "beta") == []
    with database.reading() as session:
        session.rows("PRAGMA max_page_count = 1000000")
    assert store.open("c").verify() == []
    put(store, "d", [f"beta words {number}" for number in range(30)])
    assert len(lexical(store, "beta")) == 30
    store.close()


def test_every_error_class_of_sqlite_is_mapped_with_its_text_in_the_details() -> None:
    classes = [each for each in vars(apsw).values() if isinstance(each, type) and issubclass(each, apsw.Error)]
    assert len(classes) > 25
    for each in [*classes, MemoryError]:
        mapped = as_knowledge_error(each("what sqlite says"), Path("knowledge.db"))
        assert isinstance(mapped, KnowledgeError)
        assert type(mapped) is not KnowledgeError
        assert "what sqlite says" in mapped.details
        assert mapped.suggestion


def test_a_writer_that_never_ends_is_reported_as_a_timeout(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = open_store(path)
    store.close()
    holder: Any = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    waiting = OpenStore(path, ANALYSER, patience=0.0)
    with waiting.database.reading() as session:
        session.wait_for_locks(1)
    with pytest.raises(TimedOutError, match="writing"):
        put(waiting, "d", ["words"])
    assert waiting.open("c").documents() == [], "readers never wait"
    holder.execute("ROLLBACK")
    put(waiting, "d", ["words"])
    waiting.close()
    holder.close()


def test_half_a_surrogate_pair_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path / "knowledge.db")
    with pytest.raises(KnowledgeError, match="surrogate"):
        put(store, "d", ["good words", SamplePassage("x", id="bad \ud800")])
    assert store.open("c").verify() == store.open("c").documents() == []
    with pytest.raises(KnowledgeError, match="surrogate"):
        store.open("c").documents(["asked for \ud800"])
    store.close()


def test_another_analyser_indexes_the_collection_again_at_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "SLOTS_PER_SEGMENT", 1)
    path = tmp_path / "knowledge.db"
    store = open_store(path)
    put(store, "d", [SamplePassage("verified systems", id="1", terms=(("Systems",),)), SamplePassage("other", id="2")])
    put(store, "d", [SamplePassage("verified systems", id="1", terms=(("Systems",),)), SamplePassage("other", id="2")])
    assert lexical(store, "verify") == ["1"]
    store.close()
    monkeypatch.setattr(analyser, "_VERSION", "english-3")
    plain = SqliteStore(path, EnglishAnalyser(stemming=False))
    assert lexical(plain, "verify") == []
    assert lexical(plain, "verified") == ["1"]
    assert len(plain.open("c").chunks("term", ["system"])) == 1
    assert plain.open("c").verify() == []
    put(plain, "e", [SamplePassage("verified again", id="3")])
    plain.close()
    monkeypatch.setattr(analyser, "_VERSION", "english-4")
    third = SqliteStore(path, EnglishAnalyser())
    assert sorted(lexical(third, "verify")) == ["1", "3"]
    assert third.open("c").verify() == []
    third.close()


def test_segments_are_merged_and_slots_taken_back_without_a_change_in_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SPARSE_SLACK", 20)
    monkeypatch.setattr(postings, "BATCH_POSTINGS", 10)
    path = tmp_path / "knowledge.db"
    store, oracle = open_store(path), MemoryStore(ANALYSER)
    oracle.create_collection("c", SPACE)
    words = ("alpha", "beta", "gamma", "delta")
    for turn in range(90):
        passages = [
            f"{words[(turn + place) % 4]} {words[place % 3]} {turn % 7}" for place in range(12 if turn > 30 else 3)
        ]
        for each in (store, oracle):
            put(each, f"d{turn % 23}", passages)
        if turn % 10 == 9:
            for each in (store, oracle):
                each.open("c").delete(f"d{turn % 23}")
            for text in words:
                mine, theirs = (
                    each.open("c").search(vector=unit_vector(text), text=text, filter=None, limit=40)
                    for each in (store, oracle)
                )
                assert mine == theirs
    assert raw(path, "SELECT epoch FROM collections")[0][0] > 0, "the slots were never taken back"
    assert raw(path, "SELECT max(level) FROM segments")[0][0] > 0, "nothing was merged"
    assert raw(path, "SELECT max(n) FROM (SELECT count(*) AS n FROM segments GROUP BY level)")[0][0] < 8
    assert store.open("c").verify() == []
    store.close()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_posting_lists_of_a_segment_come_back(tmp_path: Path, count: int) -> None:
    store = open_store(tmp_path / "knowledge.db")
    with store.database.writing() as session:
        for first in range(count):
            segment = postings.Segment()
            segment.add(0, {"a": 1, "b": 255})
            segment.add(7, {"a": 3})
            postings.add_segment(session, 1, segment.lists(100 * first))
        many = [f"x{number}" for number in range(40)]
        found = postings.posting_lists(session, 1, ["b", "c", *many, "a"])
        assert found.keys() == {"a", "b"}
        (slots_of_b, counts_of_b), (slots, counts) = found["b"], found["a"]
        assert sorted(slots.tolist()) == [place for first in range(count) for place in (100 * first, 100 * first + 7)]
        assert counts.tolist() == [1, 3] * count
        assert sorted(slots_of_b.tolist()) == [100 * first for first in range(count)]
        assert counts_of_b.tolist() == [255] * count
        assert postings.posting_lists(session, 1, ["c"]) == {}
    store.close()


def test_a_term_said_a_thousand_times_scores_as_in_the_memory_store(tmp_path: Path) -> None:
    store, oracle = open_store(tmp_path / "knowledge.db"), MemoryStore(ANALYSER)
    oracle.create_collection("c", SPACE)
    for each in (store, oracle):
        put(each, "d", ["alpha " * 1000 + "beta", "alpha beta", "gamma"])
    mine, theirs = (
        each.open("c").search(vector=None, text="alpha beta", filter=None, limit=5) for each in (store, oracle)
    )
    assert mine == theirs
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("held", [False, True])
def test_a_larger_collection_is_searched_by_sign_bits_with_hardly_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, held: bool
) -> None:
    monkeypatch.setattr(search, "STRIDE", 4)
    monkeypatch.setattr(ranking, "STRIDE", 4)
    monkeypatch.setattr(search, "COMPARE_ALL_HELD_UP_TO", 4_000)
    if not held:
        monkeypatch.setattr("knowledge_mcp.stores.sqlite.view.FLOATS_UP_TO", 4_000)
    dimensions, count = 384, 5_000
    noise = np.random.default_rng(5)
    centres = noise.normal(size=(50, dimensions))
    matrix = centres[noise.integers(0, 50, count)] + noise.normal(0.0, 0.7, (count, dimensions))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype("<f4")
    store = OpenStore(tmp_path / "knowledge.db", ANALYSER)
    store.create_collection("c", EmbeddingSpace("local", "wide", dimensions))
    for number in range(10):
        chunks = [
            type(each)(each.chunk, matrix[number * 500 + place].tobytes(), each.embedding_key)
            for place, each in enumerate(
                embedded(
                    f"d{number}", [SamplePassage("alpha", id=f"{number * 500 + place:05}") for place in range(500)]
                )
            )
        ]
        store.open("c").publish([WholeDocument(record(f"d{number}", chunks), "", chunks)], lambda _: None)
    hits = 0
    for _ in range(40):
        probe = centres[noise.integers(0, 50)] + noise.normal(0.0, 0.7, dimensions)
        probe = (probe / np.linalg.norm(probe)).astype("<f4")
        exact = {f"{place:05}" for place in np.argsort(-(matrix @ probe))[:10].tolist()}
        legs = store.open("c").search(vector=probe.tobytes(), text="alpha", filter=None, limit=10)
        hits += len(exact & {hit.chunk_id for hit in legs.dense or ()})
    assert hits >= 0.99 * 400
    assert store.holds_floats == held
    everything = search.dense_candidates(store.view, None, matrix[0].tobytes(), 10)
    assert len(everything) < count, "the collection is too small to show anything"
    kept = Equals("document_id", "d3")
    legs = store.open("c").search(vector=matrix[1600].tobytes(), text=None, filter=kept, limit=5)
    assert legs.dense is not None
    assert legs.dense[0].chunk_id == "01600"
    store.open("c").delete("d3")
    legs = store.open("c").search(vector=matrix[1600].tobytes(), text="alpha", filter=None, limit=5)
    assert "01600" not in {hit.chunk_id for hit in (*(legs.dense or ()), *(legs.lexical or ()))}
    assert store.open("c").verify() == []
    store.close()


def test_a_leg_that_fails_is_reported_while_the_other_one_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.stores.sqlite.view.FLOATS_UP_TO", 0)  # what is held cannot fail
    path = tmp_path / "knowledge.db"
    store = open_store(path)
    put(store, "d", [SamplePassage("alpha words", id="1")])
    raw(path, "ALTER TABLE postings RENAME TO gone")
    legs = store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=5)
    assert [hit.chunk_id for hit in legs.dense or ()] == ["1"]
    assert legs.lexical is None
    assert "postings" in legs.lexical_error
    with pytest.raises(InternalError):
        store.open("c").search(vector=None, text="alpha", filter=None, limit=5)
    store.close()
    store = open_store(path)  # which has no name at hand
    raw(path, "ALTER TABLE chunks RENAME TO gone_too")
    with pytest.raises(InternalError):
        store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=5)
    store.close()


def test_two_threads_share_the_legs_of_a_larger_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "THREAD_FROM_SLOTS", 0)
    monkeypatch.setattr("knowledge_mcp.stores.sqlite.view.FLOATS_UP_TO", 0)
    monkeypatch.setattr(search, "COMPARE_ALL_UP_TO", 0)
    store, oracle = open_store(tmp_path / "knowledge.db"), MemoryStore(ANALYSER)
    oracle.create_collection("c", SPACE)
    for each in (store, oracle):
        put(each, "d", [f"alpha {number}" for number in range(300)])
    mine, theirs = (
        each.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=9) for each in (store, oracle)
    )
    assert mine == theirs
    assert store.has_workers
    assert same_ranking(mine.dense or (), theirs.dense or (), 0.0)
    store.close()
