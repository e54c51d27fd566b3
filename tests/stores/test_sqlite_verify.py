"""The SQLite store finds what is wrong in itself, repairs what is derived, and says what to do about the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.shared.payload import chunk_from_json, chunk_to_json
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "knowledge.db", EnglishAnalyser())
    made.create_collection("c", SPACE)
    put(made, "d", [SamplePassage("alpha words", id="1", terms=(("alpha",),)), SamplePassage("beta words", id="2")])
    put(made, "e", [SamplePassage("gamma words", id="3")], text="text")
    assert made.open("c").verify() == []
    yield made
    made.close()


def break_it(store: SqliteStore, *statements: str) -> None:
    connection: Any = apsw.Connection(store.identity.location)
    for statement in statements:
        connection.execute(statement)
    connection.close()


DERIVED = [
    ("DELETE FROM blocks WHERE document_id = 'e'", "'e' is not in the search index"),
    ("UPDATE blocks SET first_slot = 1 WHERE document_id = 'e'", "'e' shares slots"),
    ("UPDATE blocks SET bits = zeroblob(length(bits)) WHERE document_id = 'd'", "'d' is indexed with other vectors"),
    ("UPDATE blocks SET keys = zeroblob(length(keys)) WHERE document_id = 'd'", "'d' is indexed with other chunks"),
    ("UPDATE blocks SET lengths = zeroblob(length(lengths)) WHERE document_id = 'd'", "inverted index"),
    ("DELETE FROM postings WHERE term = 'alpha'", "inverted index lacks terms of 1 chunk,"),
    ("UPDATE postings SET data = x'e703000001' WHERE term = 'gamma'", "slots that do not exist"),
    ("UPDATE collections SET chunks = 7", "counters"),
]


@pytest.mark.parametrize(("damage", "message"), DERIVED, ids=[message for _, message in DERIVED])
def test_what_is_derived_is_found_wrong_and_made_again(store: SqliteStore, damage: str, message: str) -> None:
    break_it(store, damage)
    findings = store.open("c").verify()
    assert any(message in each.message for each in findings), findings
    assert all(each.suggestion and not each.repaired for each in findings)
    repaired = store.open("c").verify(repair=True)
    assert repaired
    assert all(each.repaired for each in repaired)
    assert store.open("c").verify() == []
    legs = store.open("c").search(vector=unit_vector("gamma words"), text="gamma", filter=None, limit=5)
    assert legs.dense is not None
    assert legs.dense[0].chunk_id == "3"
    assert [hit.chunk_id for hit in legs.lexical or ()] == ["3"]
    assert counts_of(store.open("c")).chunks == 3
    assert [each.id for each in store.open("c").chunks("term", ["alpha"])] == ["1"]


def test_terms_that_were_changed_in_the_text_alone_are_found_by_the_sample(store: SqliteStore) -> None:
    connection: Any = apsw.Connection(store.identity.location)
    ((payload,),) = connection.execute("SELECT payload FROM chunks WHERE chunk_id = '1'").fetchall()
    changed = chunk_to_json(replace(chunk_from_json(payload), context="alpha words and more of them"))
    connection.execute("UPDATE chunks SET payload = ? WHERE chunk_id = '1'", (changed,)).fetchall()
    connection.close()
    assert any("other terms" in each.message for each in store.open("c").verify())
    store.open("c").verify(repair=True)
    assert store.open("c").verify() == []


LOST = [
    ("DELETE FROM chunks WHERE chunk_id = '1'", "states 2 chunks, the store contains 1"),
    ("DELETE FROM vectors WHERE key = (SELECT key FROM chunks WHERE chunk_id = '1')", "1 chunk has no vector"),
    ("DELETE FROM texts", "text is missing"),
    ("DELETE FROM documents WHERE document_id = 'd'", "without a record"),
    ("UPDATE documents SET tokens = 99 WHERE document_id = 'd'", "states"),
]


@pytest.mark.parametrize(("damage", "message"), LOST, ids=[message for _, message in LOST])
def test_what_is_lost_is_reported_with_the_document_to_ingest_again(
    store: SqliteStore, damage: str, message: str
) -> None:
    break_it(store, damage)
    for repair in (False, True, False):
        findings = [each for each in store.open("c").verify(repair=repair) if message in each.message]
        assert findings, store.open("c").verify()
        assert findings[0].document_id in {"d", "e"}
        assert not findings[0].repaired
        assert "ngest" in findings[0].suggestion
    put(store, "d", [SamplePassage("alpha words", id="1", terms=(("alpha",),)), SamplePassage("beta words", id="2")])
    put(store, "e", [SamplePassage("gamma words", id="3")], text="text")
    store.open("c").verify(repair=True)
    assert store.open("c").verify() == []


def test_a_chunk_without_its_vector_is_left_out_after_a_repair_and_the_rest_is_searched(store: SqliteStore) -> None:
    break_it(store, "DELETE FROM vectors WHERE key = (SELECT key FROM chunks WHERE chunk_id = '1')")
    store.open("c").verify(repair=True)
    legs = store.open("c").search(vector=unit_vector("x"), text="words", filter=None, limit=5)
    assert {hit.chunk_id for hit in legs.dense or ()} == {hit.chunk_id for hit in legs.lexical or ()} == {"2", "3"}


def test_orphans_are_counted_and_swept(store: SqliteStore) -> None:
    break_it(
        store,
        "INSERT INTO vectors VALUES (9001, x'00')",
        "INSERT INTO chunks VALUES (9002, 9003, 0, 'x', 'x', 'x', '{}')",
        "INSERT INTO texts VALUES (9004, 'x')",
        "INSERT INTO postings VALUES (9005, 'x', x'0000000001')",
    )
    assert len(store.open("c").verify()) == 4
    assert all(each.repaired for each in store.open("c").verify(repair=True))
    assert store.open("c").verify() == []
