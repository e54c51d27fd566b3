"""PostgreSQL with pgvector, a real server: the whole contract of stores, and what is particular to this one."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import TimedOutError
from knowledge_mcp.model.query import And, Equals, Filter, In, LegHit, LegResults, NotIn, Prefix
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.postgres import search, store, writing
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.postgres.tables import PostgresSession, Row
from knowledge_mcp.testing.store_search import expect, make_document, put, same_ranking
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from knowledge_mcp.testing.stores import StoreContract

ANALYSER = EnglishAnalyser()
Make = Callable[[], str]


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, database: Make) -> None:
        self.database = database

    def make_store(self, analyser: Analyser) -> Store:
        self.url = self.database()
        return PostgresStore(self.url, analyser)

    def open_again(self, store: Store) -> Store | None:
        return PostgresStore(self.url, self.analyser)


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def passages(count: int) -> list[SamplePassage]:
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
    return [
        SamplePassage(
            " ".join(words[(number * factor) % len(words)] for factor in range(1, 2 + number % 7)),
            direction=f"{number % 211}",
            document_type="guide" if number % 50 == 0 else "standard",
            clause_number=f"{number % 9}.{number % 4}",
        )
        for number in range(count)
    ]


KEPT: tuple[Filter | None, ...] = (
    None,
    Equals("document_type", "guide"),
    Equals("document_id", "d1"),
    And((Prefix("clause_number", "3"), Equals("document_type", "standard"))),
    In("document_type", ("guide", "none")),
    Equals("document_type", "none"),
)


@pytest.mark.parametrize("iterates", [True, False])
def test_a_large_collection_is_searched_by_its_index_and_ranks_as_the_memory_store(
    database: Make, monkeypatch: pytest.MonkeyPatch, iterates: bool
) -> None:
    monkeypatch.setattr(writing, "INDEX_FROM_CHUNKS", 400)
    monkeypatch.setattr(search, "INDEX_FROM_CHUNKS", 400)
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as made, closing(MemoryStore(ANALYSER)) as oracle:
        for each in (made, oracle):
            each.create_collection("c", SPACE)
            for number in range(3):
                put(each, f"d{number}", passages(300))
        made_for = "SELECT split_part(indexname, '_', 1) FROM pg_indexes WHERE indexname ~ '_[0-9]+$' ORDER BY 1"
        assert rows(url, made_for) == [("filters",), ("vectors",)]
        if not iterates:
            older = replace(made.database.extension, version=(0, 7, 4))
            monkeypatch.setattr(made.database, "_extension", older)
        for kept in KEPT:
            for text in ("alpha", "beta gamma", "zeta eta theta nothing"):
                mine, theirs = (
                    each.open("c").search(vector=unit_vector(text), text=text, filter=kept, limit=12)
                    for each in (made, oracle)
                )
                for found, expected in ((mine.dense, theirs.dense), (mine.lexical, theirs.lexical)):
                    assert found is not None
                    assert expected is not None
                    assert same_ranking(found, expected, 1e-6), (kept, text)
        assert made.open("c").verify() == []
        made.drop_collection("c")
        made.create_collection("c", SPACE)
        put(made, "e", passages(500))
        assert rows(url, made_for) == [("filters",), ("vectors",)]


@pytest.mark.slow
def test_words_read_in_part_give_the_scores_of_all_words(database: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "INDEX_FROM_CHUNKS", 400)
    monkeypatch.setattr(search, "_READ_FIRST", 30)
    draw = random.Random(4)
    words = [f"word{number}" for number in range(60)]
    chances = [1 / (1 + number) for number in range(60)]
    read: list[int] = []
    reading = search.postings

    def counted(*asked: Any) -> search.Postings:
        found = reading(*asked)
        read.append(sum(len(keys) for keys, _ in found.values()))
        return found

    monkeypatch.setattr(search, "postings", counted)

    def found(text: str, kept: Filter | None, limit: int, least: int) -> Sequence[LegHit]:
        monkeypatch.setattr(search, "INDEX_FROM_CHUNKS", least)
        read.clear()
        return made.open("c").search(vector=None, text=text, filter=kept, limit=limit).lexical or ()

    with closing(PostgresStore(database(), ANALYSER)) as made:
        made.create_collection("c", SPACE)
        for number in range(30):
            said = [" ".join(draw.choices(words, chances, k=draw.randint(3, 12))) for _ in range(18)]
            put(
                made,
                f"d{number}",
                [SamplePassage(each, document_type=f"kind{number % 9}") for each in [*said, said[0]]],
            )
        fewer = 0
        hidden = NotIn("document_id", ("d3", "d4"), absent=True)
        for turn in range(40):
            text = " ".join({*draw.choices(words, chances, k=3), *draw.sample(words, 2)})
            for kept in (
                None,
                Equals("document_type", "kind3"),
                hidden,
                And((hidden, Equals("document_type", "kind5"))),
            ):
                limit = draw.choice((1, 3, 10, 40))
                everything, size = found(text, kept, limit, 10**6), sum(read)
                assert found(text, kept, limit, 400) == everything, (text, kept, limit)
                assert found(text, kept, limit, 400) == everything  # how many chunks hold a word is known by now
                fewer += kept is None and sum(read) < size
            if turn % 10 == 0:
                put(made, f"d{turn}", [text, "word0 word1 word59"])
        assert fewer > 20


def test_an_index_that_cannot_be_made_now_fails_no_publish(
    database: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writing, "INDEX_FROM_CHUNKS", 3)
    monkeypatch.setattr(search, "INDEX_FROM_CHUNKS", 3)

    def fail(*_: object) -> None:
        raise TimedOutError("busy")

    with closing(PostgresStore(database(), ANALYSER)) as made:
        made.create_collection("c", SPACE)
        with monkeypatch.context() as patched:
            patched.setattr(writing, "index_chunks", fail)
            put(made, "d", ["alpha", "beta", "gamma"])
        assert "index_not_made" in caplog.text
        legs = made.open("c").search(vector=unit_vector("beta"), text=None, filter=None, limit=2)
        assert len(legs.dense or ()) == 2
        put(made, "e", ["delta"])
        large = replace(SPACE, dimensions=4_100)
        made.create_collection("large", large)
        given = make_document("d", passages(5))
        chunks = [replace(each, vector=unit_vector(f"{number}", 4_100)) for number, each in enumerate(given.chunks)]
        made.open("large").publish([replace(given, chunks=chunks)], lambda _: None)
        found = made.open("large").search(vector=unit_vector("2", 4_100), text=None, filter=None, limit=1)
        assert [hit.chunk_id for hit in found.dense or ()] == [chunks[2].chunk.id]


def test_a_filter_that_keeps_little_finds_words_beyond_the_best(
    database: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_FEWEST_NAMES", 5)
    monkeypatch.setattr(search, "_NAMES_PER_HIT", 1)
    with closing(PostgresStore(database(), ANALYSER)) as made, closing(MemoryStore(ANALYSER)) as oracle:
        for each in (made, oracle):
            each.create_collection("c", SPACE)
            put(each, "d0", passages(300))
        for kept in KEPT:
            mine, theirs = (
                each.open("c").search(vector=None, text="alpha beta", filter=kept, limit=4) for each in (made, oracle)
            )
            assert mine.lexical is not None
            assert theirs.lexical is not None
            assert same_ranking(mine.lexical, theirs.lexical, 1e-9)


def test_documents_of_one_block_go_one_by_one_and_leave_nothing(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as made:
        made.create_collection("c", SPACE)
        ids = [f"d{number}" for number in range(5)]
        made.open("c").publish([make_document(each, [f"alpha {each}", "beta"]) for each in ids], lambda _: None)
        assert rows(url, "SELECT count(DISTINCT block) FROM knowledge_mcp.postings") == [(1,)]
        for number, each in enumerate(ids):
            assert made.open("c").delete(each) == 2
            legs = made.open("c").search(vector=None, text="alpha", filter=None, limit=9)
            assert len(legs.lexical or ()) == 4 - number
            assert made.open("c").verify() == []
        for table in ("documents", "chunks", "payloads", "postings", "definitions"):
            assert rows(url, f"SELECT count(*) FROM knowledge_mcp.{table}") == [(0,)], table


def test_many_documents_are_published_in_groups_and_reported_once_visible(
    database: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_DOCUMENTS_AT_ONCE", 3)
    monkeypatch.setattr(store, "_CHUNKS_AT_ONCE", 4)
    with closing(PostgresStore(database(), ANALYSER)) as made:
        made.create_collection("c", SPACE)
        messages: list[str] = []

        def tell(document_id: str) -> None:
            assert made.open("c").documents([document_id]) != []
            messages.append(document_id)

        many = [make_document(f"d{number}", ["alpha"] if number % 2 else []) for number in range(10)]
        large = make_document("large", [f"alpha {number}" for number in range(9)])
        made.open("c").publish([*many, large, make_document("d0", ["again"])], tell)
        assert messages == [*(each.record.id for each in many), "large", "d0"]
        assert made.open("c").verify() == []


def test_a_document_given_twice_in_one_call_stands_as_it_was_given_last(database: Make) -> None:
    with closing(PostgresStore(database(), ANALYSER)) as made:
        made.create_collection("c", SPACE)
        messages: list[str] = []
        made.open("c").publish(
            [make_document("a", ["old"]), make_document("b", ["b"]), make_document("a", ["new"])], messages.append
        )
        assert messages == ["a", "b", "a"]
        assert [each.content for each in made.open("c").chunks("document", ["a"])] == ["new"]
        assert made.open("c").verify() == []


def test_what_a_person_has_damaged_in_what_is_derived_is_reported_and_mended(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as made:
        made.create_collection("c", SPACE)
        put(made, "d", [SamplePassage("alpha beta", terms=(("alpha",),)), "gamma"])
        put(made, "e", ["delta"])
        for harm in (
            "DELETE FROM knowledge_mcp.postings WHERE term = 'gamma'",
            "UPDATE knowledge_mcp.postings SET entries = substr(entries, 2) WHERE term = 'gamma'",
            "DELETE FROM knowledge_mcp.definitions",
            "UPDATE knowledge_mcp.collections SET chunks = 7",
            "INSERT INTO knowledge_mcp.payloads VALUES (99999, '')",
            "INSERT INTO knowledge_mcp.postings VALUES (1, 'zeta', 99999, '')",
        ):
            rows(url, harm)
            assert made.open("c").verify() != [], harm
            assert all(each.repaired for each in made.open("c").verify(repair=True)), harm
            assert made.open("c").verify() == [], harm
            legs = made.open("c").search(vector=None, text="gamma", filter=None, limit=9)
            assert len(legs.lexical or ()) == 1


def test_damage_to_what_was_ingested_is_reported_and_never_mended(database: Make) -> None:
    for harm in (
        "UPDATE knowledge_mcp.chunks SET vector = array_fill(0.5, ARRAY[16])::vector WHERE position = 0",
        "UPDATE knowledge_mcp.chunks SET vector = '[1,0]' WHERE position = 0",
        "UPDATE knowledge_mcp.documents SET text = 'other'",
        "DELETE FROM knowledge_mcp.payloads WHERE key = (SELECT min(key) FROM knowledge_mcp.payloads)",
        "DELETE FROM knowledge_mcp.chunks WHERE position = 0",
    ):
        url = database()
        with closing(PostgresStore(url, ANALYSER)) as made:
            made.create_collection("c", SPACE)
            put(made, "d", ["alpha beta", "gamma"], text="text")
            rows(url, harm)
            result = made.open("c").verify(repair=True)
            assert any(each.document_id == "d" and not each.repaired for each in result), harm
            put(made, "d", ["alpha beta", "gamma"], text="text")
            made.open("c").verify(repair=True)
            assert made.open("c").verify() == [], harm


def test_nothing_is_left_in_a_session_so_that_a_pooler_may_share_it(database: Make) -> None:
    with closing(PostgresStore(database(), ANALYSER)) as made:
        made.create_collection("c", SPACE)
        for number in range(8):
            put(made, f"d{number}", ["alpha", "beta"])
            made.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=3)

        def look(session: PostgresSession) -> list[Row]:
            return session.rows(
                "SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_locks"
                " WHERE locktype = 'advisory'), current_setting('lock_timeout'),"
                " current_setting('default_transaction_isolation')"
            )

        assert made.database.read(look) == [(0, 0, "0", "read committed")]


def test_a_secret_is_in_no_location_no_message_and_no_log(database: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = database().replace("postgres@", "nobody:s3cret%20word@")
    with closing(PostgresStore(url, ANALYSER)) as made:
        error = expect(Exception, made.collections)
        records = f"{made.identity.location} {error!r} {vars(error)} {error.__cause__!r} {caplog.text}"
        assert "s3cret" not in records
        assert "nobody" not in made.identity.location


def test_tables_of_the_version_before_open_and_answer_the_same(database: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "INDEX_FROM_CHUNKS", 400)
    monkeypatch.setattr(search, "INDEX_FROM_CHUNKS", 400)
    url = database()

    def found(made: Store) -> list[LegResults]:
        vector = unit_vector("alpha")
        return [
            made.open("c").search(vector=vector, text=text, filter=None, limit=900) for text in ("alpha", "eta zeta")
        ]

    with closing(PostgresStore(url, ANALYSER)) as made:
        made.create_collection("c", SPACE)
        for document_id, size in (("d1", 900), ("d2", 100)):
            put(made, document_id, passages(size))
        before = found(made)
        assert all(len(each.lexical or ()) > 370 for each in before), (
            "postings of a term are longer than an index holds"
        )
    rows(
        url,
        "DROP INDEX knowledge_mcp.postings_by_term; CREATE TEMP TABLE kept AS SELECT collection,"
        " term, block, string_agg(entries, ''::bytea) AS entries"
        " FROM knowledge_mcp.postings GROUP BY collection, term, block; TRUNCATE knowledge_mcp.postings;"
        " INSERT INTO knowledge_mcp.postings SELECT * FROM kept;"
        " ALTER TABLE knowledge_mcp.postings RENAME entries TO data;"
        " ALTER TABLE knowledge_mcp.postings ADD PRIMARY KEY (collection, term, block);"
        " CREATE INDEX terms_1 ON knowledge_mcp.postings (term, block) INCLUDE (data)"
        " WHERE octet_length(data) <= 2000 AND collection = 1;"
        " CREATE INDEX longs_1 ON knowledge_mcp.postings (term) WHERE octet_length(data) > 2000;"
        " UPDATE knowledge_mcp.meta SET version = 1",
    )
    with closing(PostgresStore(url, ANALYSER)) as made:
        assert found(made) == before
        assert made.open("c").verify() == []
        assert made.open("c").delete("d1") == 900
        assert made.open("c").verify() == []
    assert rows(url, "SELECT indexname FROM pg_indexes WHERE tablename = 'postings' ORDER BY 1") == [
        ("postings_by_block",),
        ("postings_by_term",),
    ]
