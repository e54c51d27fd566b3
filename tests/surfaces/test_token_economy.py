"""A search answer within a budget: whole passages first, then snippets, then the rest behind a cursor."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge_mcp.model.query import Hit, SearchAnswer, SearchQuery
from knowledge_mcp.surfaces.answers import compact, shorten, tokens_about
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards.shapes import KeywordSearchRequest, StandardsSearchRequest
from knowledge_mcp.surfaces.standards.tools import keyword_search, search
from knowledge_mcp.testing.store_values import embedded
from tests.fakes.knowledge import FakeKnowledge

FILLER = "The site is described in the plan and in the schedule of the works. "
TEXTS = [
    f"{number} {FILLER * 6}The crane on mast {number} lifts no more than {number + 2} t. {FILLER * 6}"
    for number in range(30)
]


class Long(FakeKnowledge):
    """Find the same long passages whatever is asked."""

    def __init__(self, texts: list[str] = TEXTS) -> None:
        super().__init__()
        self.asked: list[SearchQuery] = []
        self.hits = [
            Hit(chunk=each.chunk, score=1 - place / 100, citation=f"place {place}", also_in=("twin",) * (place == 0))
            for place, each in enumerate(embedded("d", texts))
        ]

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return a page of them."""
        self.asked.append(query)
        end = query.offset + query.limit
        return SearchAnswer(tuple(self.hits[query.offset : end]), query.mode, 1, more=len(self.hits) > end)


def sent(knowledge: Long, **arguments: Any) -> dict[str, Any]:
    """Search, and return what would be sent."""
    request = parse(StandardsSearchRequest, {"query": "what does the crane lift", **arguments})
    return search(knowledge, request).model_dump(mode="json", exclude_unset=True)


def test_without_a_budget_every_passage_is_whole_and_the_cursor_leads_to_the_next() -> None:
    knowledge = Long()
    first = sent(knowledge, n_results=10)
    assert [each["content"] for each in first["results"]] == TEXTS[:10]
    assert "snippet" not in first["results"][0]
    assert first["results"][0]["also_in"] == ["twin"]
    second = sent(knowledge, n_results=25, cursor=first["next_cursor"])
    assert [each["content"] for each in second["results"]] == TEXTS[10:]
    assert "next_cursor" not in second
    assert knowledge.asked[0].fold


@pytest.mark.parametrize("detail", ["text", "brief", "full"])
@pytest.mark.parametrize("tokens", [50, 300, 1000, 2000])
def test_with_a_budget_passages_are_whole_and_the_last_is_a_snippet_about_the_question(
    tokens: int, detail: str
) -> None:
    answer = sent(Long(), n_results=10, max_tokens=tokens, detail=detail)
    contents = [each["content"] for each in answer["results"]]
    assert tokens_about(compact(answer)) <= max(tokens, 200), "all that is sent counts"
    assert contents[:-1] == TEXTS[: len(contents) - 1]
    assert contents[-1] in TEXTS[len(contents) - 1]
    last = answer["results"][-1]
    if last.get("snippet"):
        assert "lifts no more than" in last["content"]
    assert answer["next_cursor"] == answer["total"] == len(contents)
    end = sent(Long(TEXTS[:10]), n_results=10, max_tokens=50)
    assert end["next_cursor"] == end["total"] < 10, "what was dropped can be asked for, at the end too"


def test_a_budget_that_the_first_result_would_exceed_is_spent_on_text_and_citation() -> None:
    large, small = (sent(Long(), max_tokens=tokens, detail="full")["results"][0] for tokens in (2000, 300))
    assert large["locator"]["content_hash"]
    assert "metadata" in large
    assert small.keys() == {"id", "content", "score", "source", "also_in", "snippet"}
    assert small["source"] == {"citation": "place 0"}


def test_detail_text_leaves_what_is_quoted_and_cited() -> None:
    answer = sent(Long(), detail="text")
    assert [each["content"] for each in answer["results"]] == TEXTS[:10]
    assert all(each["source"] == {"citation": f"place {at}"} for at, each in enumerate(answer["results"]))
    assert all(each.keys() <= {"id", "content", "score", "source", "also_in"} for each in answer["results"])


def test_an_answer_that_a_host_would_cut_ends_earlier_and_says_where_to_go_on() -> None:
    texts = [f"{number} {FILLER * 100}" for number in range(40)]
    knowledge = Long(texts)
    seen: list[str] = []
    cursor, rounds = 0, 0
    while True:
        answer = sent(knowledge, n_results=40, cursor=cursor)
        assert shorten(answer, "results") == answer, "nothing is cut afterwards"
        assert len(compact(answer)) <= 96_000
        seen.extend(each["content"] for each in answer["results"])
        rounds += 1
        if "next_cursor" not in answer:
            break
        cursor = answer["next_cursor"]
    assert seen == texts
    assert rounds > 2


def test_a_cursor_that_would_be_refused_is_not_offered_and_the_answer_says_why() -> None:
    knowledge = Long([f"crane {number}" for number in range(1100)])
    assert sent(knowledge, n_results=25, cursor=975)["next_cursor"] == 1000
    last = sent(knowledge, n_results=25, cursor=1000)
    assert "next_cursor" not in last
    assert last["message"] == "There are more results than can be paged through: narrow the question."


def test_the_keyword_search_has_the_same_bounds() -> None:
    knowledge = Long()
    request = parse(KeywordSearchRequest, {"query": "crane", "max_tokens": 100, "max_per_document": 3, "cursor": 4})
    answer = keyword_search(knowledge, request).model_dump(mode="json", exclude_unset=True)
    assert knowledge.asked[0].per_document == 3
    assert knowledge.asked[0].offset == 4
    assert answer["results"][0]["snippet"]
    assert "crane" in answer["results"][0]["content"]


@pytest.mark.parametrize("wrong", [{"max_tokens": 10}, {"cursor": -1}, {"max_per_document": 0}])
def test_bounds_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=next(iter(wrong))):
        sent(Long(), **wrong)
