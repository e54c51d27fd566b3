"""A hit is right where it fits a place in all that the place says; what is wrong is folded as finely as places are."""

from __future__ import annotations

import pytest

from knowledge_mcp.evals.judging import fits, judge, normalize
from knowledge_mcp.evals.sets import AnswerPlace, Question
from tests.evals.making import hit, passage

KEYS = {"/documents/d1.pdf": "Doc/One", "/documents/d2.pdf": "two"}


@pytest.mark.parametrize(
    ("place", "right"),
    [
        (AnswerPlace("VALVES"), True),
        (AnswerPlace("valves.pdf"), True),
        (AnswerPlace("pumps"), False),
        (AnswerPlace(clause="5.3"), True),
        (AnswerPlace(clause="5.3.1"), True),
        (AnswerPlace(clause="Clause 5"), True),
        (AnswerPlace(clause="5.3.10"), False),
        (AnswerPlace(clause="5.30"), False),
        (AnswerPlace(page=8), True),
        (AnswerPlace(page=9), False),
        (AnswerPlace(quote="turn EACH valve"), True),
        (AnswerPlace(quote="turn each pump"), False),
        (AnswerPlace("valves", "5.3", 8, "each valve"), True),
        (AnswerPlace("valves", "5.3", 9, "each valve"), False),
    ],
)
def test_a_passage_fits_where_everything_that_a_place_says_is_true(place: AnswerPlace, right: bool) -> None:
    chunk = passage("valves", "Turn each\n valve.", clause="5.3.1", pages=(7, 8))
    assert fits(place, chunk, {}) is right


def test_a_passage_without_a_clause_is_in_no_clause() -> None:
    assert not fits(AnswerPlace(clause="5"), passage("valves"), {})


def test_keys_of_a_set_are_taken_to_the_letter() -> None:
    assert fits(AnswerPlace("Doc/One"), passage("d1"), KEYS)
    assert not fits(AnswerPlace("doc/one"), passage("d1"), KEYS)
    assert not fits(AnswerPlace("d1"), passage("d1"), KEYS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("“Shall  not”", '"shall not"'),
        ("co-\nordinate", "coordinate"),
        ("of\ufb01ce – now", "office - now"),
        ("don’t", "don't"),
    ],
)
def test_quotes_are_compared_without_regard_to_print(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


def test_a_document_ranks_by_its_best_passage() -> None:
    question = Question("q", "?", (AnswerPlace("two", grade=3),))
    hits = [hit(passage("d1", index=0)), hit(passage("d1", index=1)), hit(passage("d2", index=0)), hit(passage("d2"))]
    judged = judge(question, hits, KEYS)
    assert judged.units == ("-Doc/One", "+0")
    assert judged.grades == {"+0": 3}
    assert judged.first == 3


def test_wrong_pages_are_distinguished_where_places_are_pages() -> None:
    question = Question("q", "?", (AnswerPlace("a", page=4),))
    hits = [
        hit(passage("a", pages=(1,), index=0)),
        hit(passage("a", pages=(2, 3), index=1)),
        hit(passage("a", pages=(2,), index=2)),
        hit(passage("a", pages=(3, 4), index=3)),
    ]
    judged = judge(question, hits, {})
    assert judged.units == ("-a#1", "-a#2", "+0")
    assert judged.first == 4


def test_one_passage_may_be_the_answer_of_two_places() -> None:
    question = Question("q", "?", (AnswerPlace("a", page=1), AnswerPlace("a", page=2)))
    assert judge(question, [hit(passage("a", pages=(1, 2)))], {}).units == ("+0", "+1")


def test_wrong_passages_stay_apart_where_a_place_is_a_quote() -> None:
    question = Question("q", "?", (AnswerPlace("a", quote="not there"),))
    hits = [hit(passage("a", index=0)), hit(passage("a", index=1))]
    judged = judge(question, hits, {})
    assert len(judged.units) == 2
    assert judged.first is None
