"""Damaged data in a store is never evidence: it is left out, named, reported as unhealthy, and gone after an ingest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.engine.core.health import verify
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import DamagedError, InternalError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict, ReadQuery
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.query import RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_values import without_check_sums
from tests.engine.world import PUMPS, VALVES, World

QUOTE = "The station shall run on battery for eight hours."
FORGED = "The station could run on battery for eight hours."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "docs").mkdir()
    made = World(tmp_path / "docs", SqliteStore(tmp_path / "knowledge.db", EnglishAnalyser())).holding(
        {"pumps.md": PUMPS, "valves.md": VALVES}
    )
    yield made
    made.knowledge.close()


def change(world: World, *statements: str) -> None:
    connection: Any = apsw.Connection(world.store.identity.location)
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


IN_THE_TEXT = "UPDATE texts SET text = replace(text, 'shall run', 'could run')"
IN_THE_PASSAGE = "UPDATE chunks SET payload = replace(payload, 'shall run', 'could run')"


@pytest.mark.parametrize("where", [[IN_THE_TEXT], [IN_THE_PASSAGE], [IN_THE_TEXT, IN_THE_PASSAGE]])
def test_an_altered_word_is_never_called_exact(world: World, where: list[str]) -> None:
    change(world, *where)
    for quote in (FORGED, QUOTE):
        for document_id in (None, "pumps"):
            with pytest.raises(DamagedError, match="pumps"):
                world.knowledge.verify_quote(QuoteQuery(quote, document_id))
    with pytest.raises(DamagedError):
        world.knowledge.read(ReadQuery(document_id="pumps", clause="3.1"))
    other = world.knowledge.verify_quote(QuoteQuery("Each valve shall be turned once a year."))
    assert other.verdict is QuoteVerdict.EXACT


def test_a_store_written_before_there_were_check_sums_compares_passages_with_the_text(world: World) -> None:
    connection: Any = apsw.Connection(world.store.identity.location)
    for table, column, key in (("documents", "record", "generation"), ("chunks", "payload", "key")):
        for row, text in connection.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (without_check_sums(text), row))
    connection.close()
    assert world.knowledge.verify_quote(QuoteQuery(QUOTE)).verdict is QuoteVerdict.EXACT
    assert verify(world.base) == []
    change(world, IN_THE_TEXT)
    with pytest.raises(DamagedError):
        world.knowledge.verify_quote(QuoteQuery(FORGED))
    assert any("from the canonical text at that location" in each.message for each in verify(world.base))
    change(world, IN_THE_PASSAGE)
    with pytest.raises(DamagedError):
        world.knowledge.verify_quote(QuoteQuery(FORGED))


def test_a_damaged_passage_is_left_out_and_named_until_it_is_ingested_again(world: World) -> None:
    change(world, IN_THE_PASSAGE)
    answer = world.knowledge.search(SearchQuery("How long does the battery run?", limit=20))
    assert answer.hits
    assert all("could run" not in hit.chunk.content for hit in answer.hits)
    assert ["Omitted" in each and "pumps" in each and "--force" in each for each in answer.degraded] == [True]
    health = world.knowledge.health()
    assert health.status == "degraded"
    assert "damaged" in health.vector_store.message
    assert [each.document_id for each in verify(world.base)] == ["pumps"]
    requirements = world.knowledge.requirements(RequirementQuery("battery", limit=20))
    assert all("could" not in hit.statement.text for hit in requirements.hits)
    assert requirements.degraded
    world.ingest(IngestOptions(force=True))
    assert world.knowledge.search(SearchQuery("How long does the battery run?")).degraded == ()
    assert verify(world.base) == []
    assert world.knowledge.health().status == "healthy"


def test_an_answer_of_nothing_but_damage_is_an_error(world: World) -> None:
    change(world, "UPDATE chunks SET payload = replace(payload, 'shall', 'could')")
    with pytest.raises(DamagedError):
        world.knowledge.search(SearchQuery("battery", mode=SearchMode.KEYWORD))
    change(world, "UPDATE chunks SET payload = '{}'")
    with pytest.raises(DamagedError):
        world.knowledge.lookup("outage")


def test_a_damaged_record_is_named_and_an_ingest_without_force_makes_it_good(world: World) -> None:
    change(world, "UPDATE documents SET record = replace(record, 'pumps', 'pumpz') WHERE document_id = 'pumps'")
    answer = world.knowledge.search(SearchQuery("battery", limit=20))
    assert {hit.chunk.document_id for hit in answer.hits} <= {"valves"}
    assert any("record" in each for each in answer.degraded)
    assert "record" in " ".join(world.knowledge.stats().notes)
    with pytest.raises(DamagedError, match="record"):
        world.knowledge.document("pumps")
    world.ingest()
    assert verify(world.base) == []
    assert world.knowledge.document("pumps").id == "pumps"


def test_a_document_whose_record_is_damaged_can_be_removed(world: World) -> None:
    change(world, "UPDATE documents SET record = '' WHERE document_id = 'pumps'")
    assert world.knowledge.remove("pumps") > 0
    assert [each.id for each in world.knowledge.documents()] == ["valves"]


KINDS = {
    "an emptied text": "UPDATE texts SET text = ''",
    "a lost text": "DELETE FROM texts",
    "a text of other letters": "UPDATE texts SET text = CAST(x'ff00fe' AS TEXT)",
    "a passage that is no JSON": "UPDATE chunks SET payload = 'no json'",
    "a passage of another kind": "UPDATE chunks SET payload = 7",
    "a passage of other letters": "UPDATE chunks SET payload = CAST(x'7bff7d' AS TEXT)",
    "a passage that is a list": "UPDATE chunks SET payload = '[1]'",
    "a record that is no JSON": "UPDATE documents SET record = 'x'",
    "a record that lacks fields": "UPDATE documents SET record = '{}'",
    "a changed record": "UPDATE documents SET record = replace(record, 'markdown', 'markdawn')",
    "a short vector": "UPDATE vectors SET vector = x'00000000'",
    "an odd vector": "UPDATE vectors SET vector = x'000000'",
    "a vector of no numbers": "UPDATE vectors SET vector = CAST(replace(hex(vector), hex(vector), '') AS BLOB)",
    "an infinite vector": "UPDATE vectors SET vector = CAST(x'0000807f' || substr(vector, 5) AS BLOB)",
    "a NaN": "UPDATE vectors SET vector = CAST(x'0000c07f' || substr(vector, 5) AS BLOB)",
    "a structure that is no JSON": "UPDATE structures SET structure = 'x'",
    "a lost structure": "DELETE FROM structures",
    "a block that is no JSON": "UPDATE blocks SET fields = 'x'",
    "a block cut short": "UPDATE blocks SET keys = substr(keys, 1, 5), bits = x'01', lengths = x'02'",
    "postings cut short": "UPDATE postings SET data = substr(data, 1, 3)",
    "postings of noise": "UPDATE postings SET data = x'ffffffffffffffffffff'",
}


def named_as_damaged(ask: Callable[[], object]) -> bool:
    """Tell whether a question is answered, or refused in words that name the damage."""
    try:
        return bool(ask())
    except InternalError as exc:
        return "damaged" in exc.message and bool(exc.suggestion)


@pytest.mark.parametrize("damage", KINDS.values(), ids=KINDS)
def test_no_damage_crashes_the_doctor_or_an_answer(world: World, damage: str) -> None:
    change(world, damage)
    found = verify(world.base)
    assert found
    assert all(each.message and each.suggestion for each in found)
    for ask in (
        lambda: world.knowledge.search(SearchQuery("battery hours")).hits,
        lambda: world.knowledge.search(SearchQuery("battery hours", mode=SearchMode.SEMANTIC)).hits,
        lambda: world.knowledge.lookup("outage").definitions,
        lambda: world.knowledge.requirements(RequirementQuery("battery")).hits,
        lambda: world.knowledge.verify_quote(QuoteQuery(QUOTE)).verdict is QuoteVerdict.EXACT,
        lambda: world.knowledge.read(ReadQuery(document_id="pumps")).passages,
    ):
        assert named_as_damaged(ask)
    verify(world.base, repair=True)
    world.ingest(IngestOptions(force=True))
    verify(world.base, repair=True)
    assert verify(world.base) == []
    assert world.knowledge.search(SearchQuery("battery hours")).hits


def test_one_damaged_vector_is_named_and_the_others_are_compared(world: World) -> None:
    change(
        world,
        "UPDATE vectors SET vector = x'00' WHERE key = (SELECT min(key) FROM vectors)",
    )
    answer = world.knowledge.search(SearchQuery("valve", mode=SearchMode.SEMANTIC, limit=50))
    assert len(answer.hits) == world.knowledge.stats().statistics.chunks - 1
    assert any("vector" in each for each in answer.degraded)
    assert world.knowledge.health().status == "degraded"
