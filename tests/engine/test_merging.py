"""Answers of several collections made one: scores that mean the same, each collection's order kept, nothing lost."""

from __future__ import annotations

from knowledge_mcp.engine.search.blending import words_in_full
from knowledge_mcp.engine.search.several import Answered, merged
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import Hit, LegScore, SearchAnswer, SearchMode, SearchQuery
from tests.fakes.library import document_of

QUERY = SearchQuery("valve", 10)
IN_FULL = words_in_full(3, 1000)


def hit(text: str, score: float, cosine: float | None, words: float | None) -> Hit:
    """Make a hit of one passage."""
    chunk = document_of(Deposit("x", f"{text}.md", text), f"{text} is said here.").chunks[0]
    return Hit(
        chunk,
        score,
        text,
        None if cosine is None else LegScore(1, cosine),
        None if words is None else LegScore(1, words),
    )


def answer(*hits: Hit, mode: SearchMode = SearchMode.HYBRID, **more: object) -> SearchAnswer:
    """Make an answer of one document."""
    return SearchAnswer(tuple(hits), mode, 1, **more)  # pyright: ignore[reportArgumentType]


def names(found: SearchAnswer) -> list[str]:
    """List what was found, in order."""
    return [each.citation for each in found.hits]


def test_a_small_collection_does_not_come_first_for_being_small() -> None:
    large = answer(hit("near", 0.60, 0.7, 8.0))
    small = answer(hit("far", 0.68, 0.3, 6.0))
    found = merged([Answered("large", large, IN_FULL), Answered("small", small, IN_FULL)], QUERY)
    assert [(each.citation, each.collection) for each in found.hits] == [("near", "large"), ("far", "small")]
    assert found.hits[0].score > found.hits[1].score
    as_they_come = merged([Answered("large", large), Answered("small", small)], QUERY)
    assert names(as_they_come) == ["far", "near"]


def test_a_collections_own_order_stays_and_what_bears_an_identifier_is_first() -> None:
    one = answer(hit("verbatim", 0.7, 0.5, 5.0), hit("second", 0.6, 0.9, 5.0), hit("by words", 0.5, None, 3.0))
    other = answer(hit("REQ-12", 0.98, None, 3.0), hit("third", 0.5, 0.1, None))
    found = merged([Answered("one", one, IN_FULL), Answered("other", other, IN_FULL)], QUERY)
    assert names(found) == ["REQ-12", "verbatim", "second", "by words", "third"]
    assert all(0.0 <= each.score <= 1.0 for each in found.hits)


def test_what_follows_a_hit_does_not_move_it() -> None:
    hits = [hit("a", 0.7, 0.5, 5.0), hit("b", 0.6, None, 4.0), hit("c", 0.5, 0.9, 9.0)]
    whole = merged([Answered("one", answer(*hits), IN_FULL)], QUERY)
    for count in range(len(hits)):
        part = merged([Answered("one", answer(*hits[:count]), IN_FULL)], QUERY)
        assert part.hits == whole.hits[:count]


def test_one_leg_alone_keeps_its_scores() -> None:
    mode = SearchMode.KEYWORD
    one, other = answer(hit("a", 0.4, None, 6.0), mode=mode), answer(hit("b", 0.5, None, 9.0), mode=mode)
    found = merged([Answered("one", one), Answered("other", other)], SearchQuery("valve", 1, mode))
    assert [(each.citation, each.score, found.more) for each in found.hits] == [("b", 0.5, True)]
    assert found.mode is mode


def test_what_failed_and_what_is_likely_is_reported_for_all() -> None:
    one = answer(hit("a", 0.4, 0.4, 1.0), answerability=0.3, degraded=("slow",), notes=("apart",), editions=("of a",))
    other = answer(hit("b", 0.5, 0.5, 1.0), answerability=0.7, degraded=("slow", "late"), notes=("apart",))
    answers = [Answered("one", one), Answered("other", other)]
    found = merged(answers, QUERY, degraded=("x could not be searched",))
    assert found.degraded == ("slow", "late", "x could not be searched")
    assert (found.answerability, found.note, found.searched_documents) == (0.7, "apart", 2)
    assert found.editions == ("of a",)
    assert merged([], QUERY) == SearchAnswer((), SearchMode.HYBRID, 0)


def test_where_one_collection_says_quoted_words_together_the_others_do_not_fill_up() -> None:
    apart = answer(hit("valve", 0.9, 0.9, 9.0), notes=("No passage says it.",))
    answers = [Answered("a", apart), Answered("b", answer(hit("gate valve", 0.3, 0.3, 1.0)))]
    found = merged(answers, SearchQuery('"gate valve"', 10))
    assert (names(found), found.note) == (["gate valve"], "")
