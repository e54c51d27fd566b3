"""No answer is a flood: what is cut, how it is said, and that nothing else changes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.surfaces.shortening import compact, shorten

LIMIT = 3000
results = st.lists(st.fixed_dictionaries({"id": st.text(max_size=20), "content": st.text(max_size=1500)}), max_size=30)


@given(results)
def test_a_shortened_answer_fits_and_keeps_the_best_results_as_they_were(found: list[dict[str, str]]) -> None:
    payload: dict[str, Any] = {"results": found, "total": len(found), "query": "q"}
    answer = shorten(payload, "results", LIMIT)
    assert len(compact(answer)) <= LIMIT
    if len(compact(payload)) <= LIMIT:
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
    assert len(compact(answer)) <= LIMIT
    content = answer["results"][0]["content"]
    assert content.endswith("…")
    assert text.startswith(content[:-1])


def test_an_answer_without_a_list_is_left_alone() -> None:
    payload = {"status": "x" * 5000}
    assert shorten(payload, "", LIMIT) is payload


def test_compact_json_has_no_blanks_and_no_escapes() -> None:
    assert compact({"a": ["é", 1]}) == '{"a":["é",1]}'
