"""No answer is a flood: what is cut, how it is said, and that nothing else changes."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from knowledge_mcp.surfaces.answers import compact, fits, fitting_count, shorten, size_of

LIMIT = 3000
results = st.lists(st.fixed_dictionaries({"id": st.text(max_size=20), "content": st.text(max_size=1500)}), max_size=30)


@given(results)
def test_a_shortened_answer_fits_and_keeps_the_best_results_as_they_were(found: list[dict[str, str]]) -> None:
    payload: dict[str, Any] = {"results": found, "total": len(found), "query": "q"}
    answer = shorten(payload, "results", LIMIT)
    assert size_of(answer) <= LIMIT
    if fits(payload, LIMIT):
        assert answer == payload
        return
    kept: list[dict[str, str]] = answer["results"]
    assert kept
    assert answer["total"] == len(kept)
    assert answer["truncated"]["omitted"] == len(found) - len(kept)
    if len(kept) > 1:
        assert kept == found[: len(kept)]


@given(st.text(alphabet='"\\é\n字', min_size=1, max_size=20))
def test_one_result_that_is_too_long_alone_is_cut_with_an_ellipsis(piece: str) -> None:
    text = (piece * LIMIT)[: LIMIT + 1000]
    answer = shorten({"results": [{"id": "1", "content": text}], "total": 1}, "results", LIMIT)
    assert size_of(answer) <= LIMIT
    content = answer["results"][0]["content"]
    assert content.endswith("…")
    assert text.startswith(content[:-1])


@given(st.lists(st.text(max_size=60), max_size=40), st.integers(0, 3000))
@example(["A\x80\x80\x80\U00010000"], 29)
def test_results_that_are_said_to_fit_fit(found: list[str], room: int) -> None:
    count = fitting_count(found, room)
    assert size_of(found[:count]) <= room + 2 or count == 0
    assert count == len(found) or not fits(found, room)


def test_one_result_with_lists_is_cut_in_its_largest_parts_and_keeps_the_small_ones() -> None:
    text = "字" * 900
    alone: dict[str, Any] = {
        "text": text,
        "quoted": "字" * 800,
        "differences": [{"quoted": "字" * 90}] * 20,
        "citation": "Book, 5",
    }
    (cut,) = shorten({"places": [alone]}, "places", LIMIT)["places"]
    assert size_of(cut) <= LIMIT
    assert cut["citation"] == "Book, 5"
    assert text.startswith(cut["text"].removesuffix("…"))
    assert len(cut["differences"]) < 20


def test_an_answer_without_a_list_is_left_alone() -> None:
    payload = {"status": "x" * 5000}
    assert shorten(payload, "", LIMIT) is payload


def test_compact_json_has_no_blanks_and_no_escapes() -> None:
    assert compact({"a": ["é", 1]}) == '{"a":["é",1]}'
