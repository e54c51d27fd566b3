"""Folding: what repeats a better hit goes into it; what differs in a number never does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.engine.search.folding import folded, indexes_last, per_document
from knowledge_mcp.model.query import Hit
from knowledge_mcp.testing.store_values import embedded

TEXT = (
    "The supplier shall verify each anchor bolt of the mast before the first load is lifted, and shall keep a record "
    "of the torque that was applied for at least 12 months after the mast was delivered to the operator of the site."
)


def hits_of(*texts: str, documents: tuple[str, ...] = ()) -> list[Hit]:
    """Make hits, best first, each of a document of its own unless documents are named."""
    made: list[Hit] = []
    for place, text in enumerate(texts):
        document = documents[place] if documents else f"d{place}"
        (one,) = embedded(document, [text])
        made.append(Hit(chunk=one.chunk, score=1 - place / 100, citation=f"place {place}"))
    return made


def test_a_repetition_is_folded_into_the_better_hit_which_names_its_place() -> None:
    again = TEXT.replace("The supplier", "the  Supplier").replace(",", ";")
    first, other = folded(hits_of(TEXT, again, "Something else about cranes.", TEXT))
    assert first.also_in == ("place 1", "place 3")
    assert (other.citation, other.also_in) == ("place 2", ())


def test_a_repetition_in_another_collection_names_that_collection() -> None:
    one, other = (replace(hit, collection=name) for hit, name in zip(hits_of(TEXT, TEXT), "ab", strict=True))
    assert [hit.also_in for hit in folded([one, other])] == [("place 1 in collection 'b'",)]


def test_entries_of_an_index_come_behind_what_they_point_to() -> None:
    entries, prose = (
        "anchor bolts 3.1, 4.2, 9; masts 4.1 to 4.7; loads 5, 7.3",
        "An index of a list is a number from 0.",
    )
    entry, text, other = hits_of(entries, TEXT, prose)
    below = [replace(each, chunk=replace(each.chunk, section_hierarchy=("9 Index",))) for each in (entry, other)]
    found = indexes_last([below[0], text, below[1]])
    assert [each.citation for each in found] == ["place 1", "place 2", "place 0"]
    assert found[-1].score == found[-2].score
    assert indexes_last([entry, text]) == [entry, text]
    assert indexes_last([below[0]]) == [below[0]]


def test_another_number_is_another_requirement() -> None:
    assert len(folded(hits_of(TEXT, TEXT.replace("12", "24")))) == 2
    assert len(folded(hits_of("Keep 1.5 m away.", "Keep 15 m away."))) == 2


@pytest.mark.parametrize(("word", "other"), [("shall keep", "should keep"), ("is lifted", "is not lifted")])
def test_another_force_or_a_negation_in_a_long_passage_is_another_passage(word: str, other: str) -> None:
    long = TEXT + " It names the tool, the person, the weather and the temperature of the bolt." * 5
    assert len(folded(hits_of(long, long.replace(word, other)))) == 2
    assert len(folded(hits_of(long, long.replace("weather", "wind", 1)))) == 1


def test_a_sentence_more_is_another_passage() -> None:
    assert len(folded(hits_of(TEXT, f"{TEXT} The record shall name the person who applied it, and the tool."))) == 2


def test_short_passages_are_compared_too() -> None:
    assert [hit.also_in for hit in folded(hits_of("See Table 4.", "see table 4", "See Annex B."))] == [("place 1",), ()]


def test_the_same_words_below_a_heading_of_another_number_are_a_repetition() -> None:
    rule = "The operator shall change the password every 90 days."

    def placed(title: str, *above: str) -> Hit:
        path = (*above, f"2.1 {title}")
        (hit,) = hits_of("\n\n".join((*path, rule)))
        return replace(hit, citation=path[0], chunk=replace(hit.chunk, section_title=title, section_hierarchy=path))

    first, other = folded([placed("Passwords"), placed("Passwords", "2 Requirements"), placed("Visitors")])
    assert (first.also_in, other.citation) == (("2 Requirements",), "2.1 Visitors")


def test_no_document_gives_more_hits_than_are_wanted() -> None:
    hits = hits_of("a", "b", "c", "d", "e", documents=("x", "x", "y", "x", "y"))
    assert [hit.citation for hit in per_document(hits, 1)] == ["place 0", "place 2"]
    assert [hit.citation for hit in per_document(hits, 2)] == ["place 0", "place 1", "place 2", "place 4"]


@given(st.lists(st.text(alphabet="ab 1.", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=8))
def test_folding_loses_no_hit_and_keeps_the_order(texts: list[str]) -> None:
    given_hits = hits_of(*texts)
    kept = folded(given_hits)
    assert sum(1 + len(hit.also_in) for hit in kept) == len(given_hits)
    places = [hit.citation for hit in kept]
    assert places == sorted(places, key=[hit.citation for hit in given_hits].index)
    assert folded(kept) == kept


@given(
    st.lists(st.text(alphabet="ab 1.", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=12),
    st.integers(1, 6),
)
def test_the_first_hits_are_the_same_where_only_so_many_are_wanted(texts: list[str], count: int) -> None:
    hits = hits_of(*texts)
    every, some = folded(hits), folded(hits, count)
    assert some[:count] == every[:count]
    assert (len(some) > count) == (len(every) > count)


@pytest.mark.parametrize(("word", "other"), [("do", "don't"), ("can", "can't"), ("can", "cannot")])
def test_a_short_negation_is_one_too(word: str, other: str) -> None:
    around = " ".join(f"word{chr(97 + place % 26)}{chr(97 + place // 26)}" for place in range(120))
    assert len(folded(hits_of(f"{around} they {word} keep {around}", f"{around} they {other} keep {around}"))) == 2
    assert len(folded(hits_of(f"{around} they {word} keep {around}", f"{around} they {word} hold {around}"))) == 1
