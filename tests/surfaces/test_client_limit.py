"""No tool's answer is above the 25,000 tokens of a usual client, whatever documents hold; what goes on is not lost.

Tokens are those of cl100k_base, which makes more of Chinese and of figures than newer tokenizers do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from knowledge_mcp.embedders.services.embedder import RemoteTokenizer
from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.collection import DocumentStructure, PageCoverage
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import Difference, Excerpt, Locator, QuoteAnswer, QuotePlace, QuoteQuery, QuoteVerdict
from knowledge_mcp.model.query import Hit, SearchAnswer, SearchQuery
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.answers import compact, shorten, tokens_about, tokens_at_most
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import FakeDocument, FakePassage

CLIENT_LIMIT = 25_000
TOOLS = {tool.name: tool for tool in SURFACE.tools}

CHINESE = "泵 站 应 在 一 分 钟 内 向 操 作 员 报 告 每 次 停 机 。 "
FIGURES = "| 1,204 | 3.5 | (17) | 88.2 % | 0x1F | "
LETTERS: dict[str, str] = {
    "chinese": CHINESE,
    "figures": FIGURES,
    "hindi": "पंपिंग स्टेशन आठ घंटे तक बैटरी पर चलेगा। ",
    "russian": "Насосная станция должна работать от батареи восемь часов. ",
    "formulas": "∑ α_i ≤ β² · ∂f/∂x → ∞ ; ",
    "english": "The station shall run on battery for eight hours after the grid has failed. ",
    "emoji": "🚀 😀 ",
}


@pytest.fixture(scope="module")
def tokens() -> Callable[[str], int]:
    """Count as a client would."""
    return RemoteTokenizer().count


def sent(name: str, knowledge: Knowledge, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a transport does."""
    tool = TOOLS[name]
    response = tool.run(knowledge, parse(tool.request, arguments))
    return shorten(response.model_dump(mode="json", exclude_unset=True), tool.items)


def long_book(piece: str, *, sections: int = 60, characters: int = 2_000) -> FakeKnowledge:
    """Hold a document of long sections, each of them a requirement that says "pump"."""
    text = f"The pump shall stop. {piece * (characters // len(piece))}".strip()
    title = (piece * 12)[:180].strip()
    parts = tuple(
        FakePassage(f"{number // 10 + 1}.{number % 10 + 1}", f"{title} {number}", f"{number} {text}",
                    ChunkType.DEFINITION if number % 2 else ChunkType.REQUIREMENT, "pump" if number % 2 else "")
        for number in range(sections)
    )  # fmt: skip
    return FakeKnowledge([FakeDocument("book", "Book", parts)])


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("knowledge_search", {"query": "pump stop", "n_results": 100}),
    ("knowledge_keyword_search", {"query": "pump stop", "n_results": 100}),
    ("knowledge_lookup", {"term": "pump"}),
    ("knowledge_requirements", {"topic": "pump stop", "n_results": 50}),
    ("knowledge_read", {"document_id": "book", "max_tokens": 20_000}),
    ("knowledge_outline", {"document_id": "book", "limit": 200}),
    ("knowledge_outline", {"document_id": "book", "limit": 200, "coverage": True}),
    ("knowledge_references", {"document_id": "book", "limit": 50}),
    ("knowledge_stats", {}),
    ("knowledge_health", {}),
)


@pytest.mark.parametrize("kind", ["chinese", "hindi", "figures", "formulas", "english"])
def test_a_huge_document_in_any_script_fills_no_answer_above_the_clients_limit(
    kind: str, tokens: Callable[[str], int]
) -> None:
    knowledge = long_book(LETTERS[kind])
    sizes = {f"{name} {number}": tokens(compact(sent(name, knowledge, **arguments)))
             for number, (name, arguments) in enumerate(CALLS)}  # fmt: skip
    assert {name: size for name, size in sizes.items() if size > CLIENT_LIMIT} == {}
    assert max(sizes.values()) > CLIENT_LIMIT / 2, "the documents are not long enough to show it"


@pytest.mark.parametrize("kind", ["chinese", "figures"])
def test_what_an_answer_could_not_hold_is_found_behind_its_cursor(kind: str, tokens: Callable[[str], int]) -> None:
    base = long_book(LETTERS[kind])
    chunks = base.document_chunks("book")

    class Paged(FakeKnowledge):
        def search(self, query: SearchQuery) -> SearchAnswer:
            end = query.offset + query.limit
            hits = tuple(Hit(chunk, 0.5, "Book") for chunk in chunks[query.offset : end])
            return SearchAnswer(hits, query.mode, 1, more=len(chunks) > end)

    found: list[str] = []
    cursor: int | None = 0
    while cursor is not None:
        answer = sent("knowledge_search", Paged([]), query="泵" * 2_000, n_results=100, cursor=cursor)
        assert tokens(compact(answer)) <= CLIENT_LIMIT
        found += [each["id"] for each in answer["results"]]
        cursor = answer.get("next_cursor")
    assert found == [chunk.id for chunk in chunks]

    headings: list[str] = []
    cursor = 0
    while cursor is not None:
        answer = sent("knowledge_outline", base, document_id="book", limit=200, cursor=cursor)
        assert tokens(compact(answer)) <= CLIENT_LIMIT
        headings += [each["number"] for each in answer["sections"]]
        cursor = answer.get("next_cursor")
    assert headings == [chunk.clause_number for chunk in chunks]


def test_a_notice_that_stands_in_every_document_is_named_a_few_times_and_counted() -> None:
    chunk = long_book("x ").document_chunks("book")[0]

    class Same(FakeKnowledge):
        def search(self, query: SearchQuery) -> SearchAnswer:
            twins = tuple(f"Standard {number} of a long name, 1.2 Notice, p. 2" for number in range(2_000))
            return SearchAnswer((Hit(chunk, 0.5, "Book", also_in=twins),), query.mode, 1)

    (result,) = sent("knowledge_search", Same(), query="pump")["results"]
    assert result["also_in"][0] == "Standard 0 of a long name, 1.2 Notice, p. 2"
    assert len(result["also_in"]) + result["also_in_more"] == 2_000
    assert "snippet" not in result
    assert result["content"] == chunk.content


def test_an_altered_quote_of_greatest_length_is_answered_within_the_limit(tokens: Callable[[str], int]) -> None:
    said, printed = "泵" * 10_000, "站" * 10_000
    place = Locator("book", Span(0, 10_000), hashlib.sha256(printed.encode()).hexdigest())
    differences = tuple(Difference("泵" * 10, "站" * 10) for _ in range(1_000))

    class Altered(FakeKnowledge):
        def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
            found = QuotePlace(said[:9_000], Excerpt(printed, place, "Book, 1"), 0.6, differences)
            return QuoteAnswer(QuoteVerdict.ALTERED, (found,) * 5, 1)

    answer = sent("knowledge_verify_quote", Altered(), quote=said)
    assert tokens(compact(answer)) <= CLIENT_LIMIT
    assert answer["places"][0]["citation"] == "Book, 1"
    assert answer["places"][0]["differences"], "some of them are reported"
    assert answer["truncated"]["omitted"] == 4


def test_a_base_of_thousands_of_documents_is_described_within_the_limit(tokens: Callable[[str], int]) -> None:
    knowledge = FakeKnowledge([FakeDocument(f"文件-{number:05d}", "泵站标准 " * 6, ()) for number in range(3_000)])
    answer = sent("knowledge_stats", knowledge)
    assert tokens(compact(answer)) <= CLIENT_LIMIT
    assert answer["knowledge_base"]["total_documents"] == 3_000
    assert answer["truncated"]["omitted"] == 3_000 - len(answer["documents"])


def test_pages_with_long_notes_come_in_parts_that_join(tokens: Callable[[str], int]) -> None:
    pages = tuple(PageCoverage(number, str(number), Span(0, 0), "none", 0, note="泵" * 300) for number in range(1, 151))

    class Noted(FakeKnowledge):
        def document_structure(self, document_id: str) -> DocumentStructure:
            return replace(super().document_structure(document_id), pages=pages)

    seen: list[int] = []
    cursor: int | None = 0
    while cursor is not None:
        answer = sent(
            "knowledge_outline", Noted(), document_id="example-standard", coverage=True, limit=200, cursor=cursor
        )
        assert tokens(compact(answer)) <= CLIENT_LIMIT
        seen += [each["page"] for each in answer["coverage"]]
        cursor = answer.get("next_cursor")
    assert seen == list(range(1, 151))


@pytest.mark.parametrize("kind", LETTERS)
def test_the_estimate_of_tokens_is_near_and_rather_too_high(kind: str, tokens: Callable[[str], int]) -> None:
    text = (LETTERS[kind] * 400)[:8_000]
    assert 0.96 * tokens(text) <= tokens_about(text) <= 2.2 * tokens(text)
    assert tokens(text) <= tokens_at_most(text)


def test_the_estimate_holds_for_answers_as_they_are(tokens: Callable[[str], int]) -> None:
    for name, arguments in CALLS:
        text = compact(sent(name, long_book(LETTERS["english"], sections=40), **arguments))
        assert 0.96 * tokens(text) <= tokens_about(text) <= 1.5 * tokens(text), name
    keys = " ".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(200))
    assert 0.9 * tokens(keys) <= tokens_about(keys) <= 1.5 * tokens(keys)
