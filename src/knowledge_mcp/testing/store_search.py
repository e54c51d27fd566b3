"""The store contract for searching: both legs, filters, limits, order and scores."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import ChunkType, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentStructure, WholeDocument
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.query import And, Equals, Filter, In, LegHit, NotIn, Prefix
from knowledge_mcp.ports import Analyser, Collection, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, record, unit_vector

E = TypeVar("E", bound=Exception)

MANY = (
    SamplePassage("alpha shall be", id="1", chunk_type=ChunkType.REQUIREMENT, normative=True, clause_number="5.3"),
    SamplePassage("alpha should be", id="2", chunk_type=ChunkType.RECOMMENDATION, clause_number="5.3.1"),
    SamplePassage("alpha may be", id="3", document_type="guide", clause_number="5.30"),
    SamplePassage("alpha is", id="4", document_type="guide", chunk_type=ChunkType.ANNEX, clause_number="A.1"),
    SamplePassage("alpha was", id="5", chunk_type=ChunkType.REQUIREMENT, normative=True),
)
FILTERS: tuple[tuple[Filter, str], ...] = (
    (Equals("document_id", "d"), "12345"),
    (Equals("document_id", "e"), "6"),
    (In("document_id", ("e", "unknown")), "6"),
    (Equals("document_type", "guide"), "34"),
    (In("document_type", ("guide", "standard")), "123456"),
    (Equals("chunk_type", "requirement"), "15"),
    (In("chunk_type", ("annex", "recommendation")), "24"),
    (Equals("normative", True), "15"),
    (Equals("normative", False), "2346"),
    (Equals("clause_number", "5.3"), "1"),
    (Prefix("clause_number", "5.3"), "12"),
    (Prefix("clause_number", "5.3."), "12"),
    (Prefix("clause_number", "5"), "123"),
    (Prefix("clause_number", "A"), "4"),
    (In("clause_number", ("A.1", "5.30")), "34"),
    (In("document_id", ()), ""),
    (In("chunk_id", ("6", "unknown", "2", "6")), "26"),
    (In("chunk_id", ()), ""),
    (And((Equals("chunk_id", "3"), Equals("document_type", "guide"))), "3"),
    (And((In("chunk_id", ("1", "3")), Equals("document_type", "guide"))), "3"),
    (And((In("chunk_id", ("1", "3")), In("chunk_id", ("3", "4")))), "3"),
    (NotIn("document_id", ("d", "unknown")), "6"),
    (NotIn("document_id", ()), "123456"),
    (And((NotIn("document_id", ("e",)), Equals("normative", True))), "15"),
    (And(()), "123456"),
    (And((Equals("normative", True), Prefix("clause_number", "5"))), "1"),
    (And((Equals("document_type", "guide"), And((Equals("document_id", "d"), Equals("chunk_type", "annex"))))), "4"),
    (And((Equals("document_id", "d"), Equals("document_id", "e"))), ""),
)


def expect(error: type[E], call: Callable[[], object]) -> E:
    """Make the call, and return the error that it must raise."""
    try:
        call()
    except error as exc:
        return exc
    raise AssertionError(f"{error.__name__} was not raised")


def make_document(
    document_id: str,
    passages: Sequence[SamplePassage | str],
    *,
    text: str = "",
    sha256: str = "0" * 64,
    structure: DocumentStructure = NO_STRUCTURE,
) -> WholeDocument:
    """Create a document with its chunks and their vectors."""
    chunks = embedded(document_id, passages)
    return WholeDocument(record(document_id, chunks, sha256=sha256), text, chunks, structure)


def put(
    store: Store,
    document_id: str,
    passages: Sequence[SamplePassage | str],
    *,
    collection: str = "c",
    text: str = "",
    sha256: str = "0" * 64,
    structure: DocumentStructure = NO_STRUCTURE,
) -> list[EmbeddedChunk]:
    """Publish a document with some passages, and return its chunks."""
    made = make_document(document_id, passages, text=text, sha256=sha256, structure=structure)
    store.open(collection).publish([made], lambda _: None)
    return list(made.chunks)


def cosines(collection: Collection, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
    """Return the cosines of some chunks, by id."""
    condition = In("chunk_id", tuple(chunk_ids))
    legs = collection.search(vector=vector, text=None, filter=condition, limit=len(chunk_ids))
    assert legs.dense is not None, legs.dense_error
    return {hit.chunk_id: hit.score for hit in legs.dense}


def text_of(collection: Collection, document_id: str) -> str | None:
    """Return a document's canonical text; None if the document does not exist or its text is damaged."""
    parts = collection.parts(document_id)
    return None if parts is None else parts.text


def structure_of(collection: Collection, document_id: str) -> DocumentStructure | None:
    """Return a document's structure; None if the document does not exist or its structure is damaged."""
    parts = collection.parts(document_id)
    return None if parts is None else parts.structure


def same_ranking(found: Sequence[LegHit], expected: Sequence[LegHit], tolerance: float) -> bool:
    """Return whether two rankings agree: scores are within the tolerance, and chunks differ only among such ties."""
    if len(found) != len(expected):
        return False
    if any(abs(one.score - other.score) > tolerance for one, other in zip(found, expected, strict=True)):
        return False
    if not expected:
        return True
    cut = expected[-1].score
    scores = {hit.chunk_id: hit.score for hit in expected}
    return all(abs(scores.get(hit.chunk_id, cut) - hit.score) <= tolerance for hit in found)


class SearchContract:
    """Tests that a store's search does what `ports.Store` promises.

    Attributes:
        dense_tolerance, lexical_tolerance: allowed difference of scores from the memory store's.
    """

    dense_tolerance: ClassVar[float] = 1e-6
    lexical_tolerance: ClassVar[float] = 1e-6
    analyser: ClassVar[Analyser] = EnglishAnalyser()

    def make_store(self, analyser: Analyser) -> Store:
        """Return a store without collections; the suite closes it."""
        raise TypeError(f"{type(self).__name__} does not say how its store is made")

    def open_again(self, store: Store) -> Store | None:
        """Return a second handle on the same store, as another process would have, or None if that is not possible."""
        del store
        return None

    @contextlib.contextmanager
    def open_store(self) -> Generator[Store]:
        """Open an empty store, and close it at the end."""
        store = self.make_store(self.analyser)
        try:
            yield store
        finally:
            store.close()

    @contextlib.contextmanager
    def open_filled(self) -> Generator[Store]:
        """Open a store with the empty collection `c`."""
        with self.open_store() as store:
            store.create_collection("c", SPACE)
            yield store

    def found(self, store: Store, text: str, filter: Filter | None = None, limit: int = 100) -> list[str]:
        """Return what the lexical leg finds."""
        legs = store.open("c").search(vector=None, text=text, filter=filter, limit=limit)
        assert legs.dense is None, "a leg that was not asked for must be None"
        assert legs.lexical is not None, legs.lexical_error
        return [hit.chunk_id for hit in legs.lexical]

    def nearest(self, store: Store, direction: str, filter: Filter | None = None, limit: int = 100) -> list[str]:
        """Return what the dense leg finds."""
        legs = store.open("c").search(vector=unit_vector(direction), text=None, filter=filter, limit=limit)
        assert legs.lexical is None, "a leg that was not asked for must be None"
        assert legs.dense is not None, legs.dense_error
        return [hit.chunk_id for hit in legs.dense]

    def test_an_empty_collection_gives_empty_legs(self) -> None:
        with self.open_filled() as store:
            assert self.found(store, "words") == []
            assert self.nearest(store, "words") == []

    def test_each_leg_is_there_exactly_where_it_was_asked_for(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["alpha words"])
            both = store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=5)
            assert both.dense is not None
            assert both.lexical is not None
            assert len(both.dense) == len(both.lexical) == 1
            assert (both.dense_error, both.lexical_error) == ("", "")
            neither = store.open("c").search(vector=None, text=None, filter=None, limit=5)
            assert (neither.dense, neither.lexical) == (None, None)

    def test_a_chunk_without_any_word_of_the_query_is_no_lexical_hit(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage("alpha beta", id="1"), SamplePassage("gamma delta", id="2")])
            assert self.found(store, "alpha omega") == ["1"]
            assert self.found(store, "omega") == []
            assert self.found(store, "?!") == []
            assert self.found(store, "") == []

    def test_a_word_counts_as_often_as_the_query_has_it(self) -> None:
        with self.open_filled() as store:
            put(
                store,
                "d",
                [
                    SamplePassage("alpha beta", id="1"),
                    SamplePassage("gamma delta", id="2"),
                    SamplePassage("gamma epsilon", id="3"),
                ],
            )
            assert self.found(store, "alpha gamma")[0] == "1"
            assert self.found(store, "alpha gamma, and gamma: gamma")[-1] == "1"

    def test_the_context_of_a_chunk_is_searched_too(self) -> None:
        with self.open_filled() as store:
            put(
                store,
                "d",
                [SamplePassage("alpha beta", id="1", context="5 Verification"), SamplePassage("gamma", id="2")],
            )
            assert self.found(store, "verification") == ["1"]

    def test_identifiers_and_other_scripts_are_found(self) -> None:
        with self.open_filled() as store:
            put(
                store,
                "d",
                [
                    SamplePassage("The item REQ-12 applies", id="1"),
                    SamplePassage("The item REQ-13 applies", id="2"),
                    SamplePassage("see snake_case and CamelCase", id="3"),
                    SamplePassage("Größe der 東京都 naïve", id="4"),
                    SamplePassage("per 5.3.1.2 below", id="5"),
                ],
            )
            assert self.found(store, "REQ-12")[0] == "1"
            assert self.found(store, "req-13")[0] == "2"
            assert self.found(store, "snake_case") == ["3"]
            assert self.found(store, "camelcase") == ["3"]
            assert self.found(store, "GROSSE") == self.found(store, "東京") == self.found(store, "naive") == ["4"]
            assert self.found(store, "5.3.1.2") == ["5"]

    def test_any_text_at_all_may_be_asked(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage("alpha beta", id="1")])
            for text in (
                'alpha"',
                "alpha AND",
                "NOT alpha",
                "alpha*",
                "col:alpha",
                "(alpha",
                "alpha' --",
                "NEAR(alpha)",
            ):
                assert self.found(store, text) == ["1"], text

    def test_filters_apply_before_ranking_in_both_legs(self) -> None:
        with self.open_filled() as store:
            put(store, "d", MANY)
            put(store, "e", [SamplePassage("alpha alone", id="6")])
            for condition, expected in FILTERS:
                assert "".join(sorted(self.found(store, "alpha", condition))) == expected, condition
                assert "".join(sorted(self.nearest(store, "alpha", condition))) == expected, condition
                assert (
                    len(self.found(store, "alpha", condition, 1))
                    == len(self.nearest(store, "x", condition, 1))
                    == min(1, len(expected))
                )

    def test_words_are_weighed_as_if_absent_documents_were_not_stored(self) -> None:
        absent = NotIn("document_id", frozenset({"e", "unknown"}), absent=True)
        with self.open_filled() as store:
            put(store, "d", MANY)
            put(store, "e", [SamplePassage("alpha shall shall be very much longer than others", id="6")])
            queries = ("alpha shall", "be", "longer")
            with_it = [store.open("c").search(vector=None, text=text, filter=absent, limit=9) for text in queries]
            store.open("c").delete("e")
            for text, found in zip(queries, with_it, strict=True):
                without = store.open("c").search(vector=None, text=text, filter=None, limit=9).lexical
                assert found.lexical is not None
                assert without is not None
                assert same_ranking(found.lexical, without, self.lexical_tolerance), (text, found, without)

    def test_a_filter_that_keeps_little_still_fills_the_limit(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage(f"alpha {number}", direction="near") for number in range(120)])
            rare = put(store, "e", [SamplePassage("omega alpha", direction=f"far {number}") for number in range(3)])
            expected = {each.chunk.id for each in rare}
            assert set(self.nearest(store, "near", Equals("document_id", "e"), 3)) == expected
            assert set(self.found(store, "alpha", Equals("document_id", "e"), 3)) == expected

    def test_an_unknown_filter_field_is_refused(self) -> None:
        with self.open_filled() as store:
            unknown: Any = "colour"
            for condition in (Equals(unknown, "red"), In(unknown, ("red",)), And((Equals(unknown, "red"),))):
                refused = ""
                try:
                    store.open("c").search(vector=None, text="x", filter=condition, limit=1)
                except InvalidInputError as error:
                    refused = error.message
                assert "colour" in refused, "an unknown field was passed over"

    def test_no_leg_gives_more_than_the_limit(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [f"alpha {number}" for number in range(30)])
            for limit in (0, 1, 7, 29, 30, 31):
                assert len(self.found(store, "alpha", None, limit)) == min(limit, 30)
                assert len(self.nearest(store, "x", None, limit)) == min(limit, 30)

    def test_equal_scores_are_ordered_by_chunk_id_at_the_cut_too(self) -> None:
        with self.open_filled() as store:
            ids = ["07", "03", "11", "01", "09", "05"]
            put(store, "d", [SamplePassage("alpha beta", id=each, direction="one") for each in ids])
            put(store, "e", [SamplePassage("alpha beta", id="02", direction="one")])
            expected = sorted([*ids, "02"])
            for limit in (1, 3, 7):
                assert self.found(store, "alpha", None, limit) == expected[:limit]
                assert self.nearest(store, "two", None, limit) == expected[:limit]

    def test_scores_and_order_are_those_of_the_memory_store(self) -> None:
        words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
        passages = [
            " ".join(words[(number * factor) % (1 + number % len(words))] for factor in range(1, 3 + number % 17))
            for number in range(90)
        ]
        with self.open_filled() as store:
            oracle = MemoryStore(self.analyser)
            oracle.create_collection("c", SPACE)
            for target in (store, oracle):
                put(target, "d", passages[:60])
                put(target, "e", passages[60:])
                put(target, "d", passages[10:50])
            for text in ("alpha", "beta gamma", "zeta eta theta nothing", "delta delta alpha"):
                for condition in (None, Equals("document_id", "d"), NotIn("document_id", frozenset("e"), absent=True)):
                    actual, expected = (
                        each.open("c").search(vector=unit_vector(text), text=text, filter=condition, limit=12)
                        for each in (store, oracle)
                    )
                    assert actual.dense is not None
                    assert expected.dense is not None
                    assert same_ranking(actual.dense, expected.dense, self.dense_tolerance), (
                        text,
                        actual.dense,
                        expected.dense,
                    )
                    assert actual.lexical is not None
                    assert expected.lexical is not None
                    assert same_ranking(actual.lexical, expected.lexical, self.lexical_tolerance), (
                        text,
                        actual,
                        expected,
                    )

    def test_the_best_match_comes_first_with_its_cosine(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage(f"passage {number}", id=f"{number:02}") for number in range(20)])
            legs = store.open("c").search(vector=unit_vector("passage 7"), text=None, filter=None, limit=20)
            assert legs.dense is not None
            assert legs.dense[0].chunk_id == "07"
            assert abs(legs.dense[0].score - 1.0) < 1e-5
            assert all(-1.0 - 1e-6 <= hit.score <= 1.0 + 1e-6 for hit in legs.dense)
            scores = [hit.score for hit in legs.dense]
            assert scores == sorted(scores, reverse=True)

    def test_some_chunks_are_compared_as_the_dense_leg_compares_them(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage(f"passage {number}", id=f"{number:03}") for number in range(230)])
            put(store, "e", [SamplePassage("old", id="old"), SamplePassage("kept", id="kept")])
            put(store, "e", [SamplePassage("kept", id="kept"), SamplePassage("new", id="new")])
            query = unit_vector("passage 7")
            legs = store.open("c").search(vector=query, text=None, filter=None, limit=300)
            assert legs.dense is not None
            expected = {hit.chunk_id: hit.score for hit in legs.dense}
            assert len(expected) == 232
            found = cosines(store.open("c"), query, [*expected, "old", "unknown", "007"])
            assert found.keys() == expected.keys()
            assert all(abs(found[each] - score) <= self.dense_tolerance for each, score in expected.items())
            assert cosines(store.open("c"), query, ["new", "kept"]).keys() == {"new", "kept"}
            assert cosines(store.open("c"), query, []) == cosines(store.open("c"), query, ["old"]) == {}
            expect(InvalidInputError, lambda: cosines(store.open("c"), query + query, ["007"]))
            expect(NotFoundError, lambda: cosines(store.open("none"), query, ["007"]))

    def test_searches_beside_a_writer_see_one_generation_or_the_other(self) -> None:
        with self.open_filled() as store:
            generations = [
                [SamplePassage(f"alpha {turn}", id=f"{turn}-{number}") for number in range(5)] for turn in range(8)
            ]
            put(store, "d", generations[0])
            mixed: list[list[str]] = []
            done = threading.Event()
            failures: list[BaseException] = []

            def look() -> None:
                try:
                    while not done.is_set():
                        answers = (self.found(store, "alpha"), self.nearest(store, "alpha"))
                        mixed.extend(
                            ids for ids in answers if len(ids) != 5 or len({each.split("-")[0] for each in ids}) != 1
                        )
                except BaseException as exc:  # noqa: BLE001 - passed to the test's own thread
                    failures.append(exc)

            watchers = [threading.Thread(target=look) for _ in range(2)]
            for watcher in watchers:
                watcher.start()
            try:
                for passages in generations[1:]:
                    put(store, "d", passages)
            finally:
                done.set()
                for watcher in watchers:
                    watcher.join()
            assert failures == []
            assert mixed == []

    def test_a_record_may_change_while_its_chunks_stay(self) -> None:
        with self.open_filled() as store:
            chunks = put(store, "d", [SamplePassage("alpha", id="1")])
            changed = replace(record("d", chunks), title="Another title")
            store.open("c").publish([WholeDocument(changed, "", chunks)], lambda _: None)
            assert store.open("c").documents(["d"]) == [changed]
            assert self.found(store, "alpha") == ["1"]
