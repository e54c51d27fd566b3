"""Tokens of OpenAI's models: counted offline, and placed in code points whatever bytes a character has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.embedders.services.embedder import RemoteTokenizer
from knowledge_mcp.model.document import BlockKind, DocumentType
from tests.fakes.documents import Part, build_document
from tests.machine import examples

TOKENS = RemoteTokenizer()


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("hello world", [(0, 5), (5, 11)]),
        ("", []),
        ("京", [(0, 1)]),
        ("東 x", [(0, 1), (0, 1), (1, 3)]),
        (" 🎉!", [(0, 2), (1, 2), (1, 2), (2, 3)]),
    ],
)
def test_spans_are_those_of_the_encoding_in_code_points(text: str, spans: Sequence[tuple[int, int]]) -> None:
    assert TOKENS.spans(text) == spans
    assert TOKENS.count(text) == len(spans)


def test_words_that_look_like_control_tokens_are_ordinary_text() -> None:
    text = "before <|endoftext|> after <|fim_prefix|>"
    assert TOKENS.count(text) == len(TOKENS.spans(text)) > 8


@given(st.text(st.characters(), max_size=200))
@example("\ud800\udc00 half")
@example("a\u0000b\r\n\r\n  \t")
@example("👩‍👩‍👧‍👦 e\u0301 ﷽")
def test_every_token_has_a_span_and_every_character_a_token(text: str) -> None:
    spans = TOKENS.spans(text)
    assert TOKENS.count(text) == len(spans)
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert {place for start, end in spans for place in range(start, end)} == set(range(len(text)))
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end - 1 <= start <= end, "tokens meet between two characters, or in one that they share"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=120), st.integers(1, 40))
@example("東京都" * 20, 7)
@example("🎉" * 20, 5)
@example("a" * 120, 3)
def test_the_head_of_a_text_is_a_beginning_that_fits(text: str, most: int) -> None:
    head = TOKENS.head(text, most)
    assert text.startswith(head)
    assert TOKENS.count(head) <= most
    assert head == text or TOKENS.count(text) > most


def test_a_long_text_without_blanks_is_measured_in_no_time_worth_naming() -> None:
    text = "A" * 300_000 + "東" * 100_000
    spans = TOKENS.spans(text)
    assert len(spans) == TOKENS.count(text)
    assert spans[-1][1] == len(text)


class _Narrow:
    """The tokens of the service with a small window, so that short texts are cut."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    def count_tokens(self, text: str) -> int:
        return TOKENS.count(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return TOKENS.spans(text)


@settings(max_examples=examples(30))
@given(
    st.lists(st.text(st.sampled_from("東京都の🎉👩‍é .a"), min_size=1, max_size=400), min_size=1, max_size=4),
    st.sampled_from([16, 40, 8191]),
)
def test_documents_are_cut_between_characters_whatever_tokens_they_share(texts: list[str], window: int) -> None:
    document = build_document([Part(BlockKind.PARAGRAPH, text) for text in [*texts, "the end"]])
    covered: set[int] = set()
    for chunk in ClauseChunker(50, 200, 20).chunk(document, DocumentType.STANDARD, _Narrow(window)):
        assert chunk.content == chunk.span.of(document.text)
        assert chunk.token_count == TOKENS.count(chunk.content) <= max(window, 3)
        covered.update(range(chunk.span.start, chunk.span.end))
    assert [letter for place, letter in enumerate(document.text) if place not in covered and not letter.isspace()] == []
