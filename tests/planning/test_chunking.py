"""The recursive chunker: the named library's chunks, every chunk its span, no text lost, pages and tokens right."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.recursive import SEPARATORS, RecursiveChunker, Splitting, split
from knowledge_mcp.model.document import Block, BlockKind, Document, Page, Span
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.planning.world import report

PIECES = [
    "word",
    "a",
    "planning",
    " ",
    " ",
    " ",
    ". ",
    "! ",
    "? ",
    "; ",
    ", ",
    "\n",
    "\n\n",
    "\n\n\n",
    ".",
    "É日本",
    "\t",
]
TEXTS = st.lists(st.sampled_from([*PIECES, "x" * 30]), max_size=120).map("".join)


def langchain(text: str, size: int, overlap: int, keep: Literal["start", "end"]) -> list[str]:
    """Split as the specification's own library does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        separators=list(SEPARATORS), chunk_size=size, chunk_overlap=overlap, keep_separator=keep
    )
    return splitter.split_text(text)


def made(pages: Sequence[str], *, table: bool = False) -> Document:
    """Make a document of pages, each one block."""
    text = "\n\n".join(pages)
    spans: list[Span] = []
    place = 0
    for page in pages:
        spans.append(Span(place, place + len(page)))
        place += len(page) + 2
    kind = BlockKind.TABLE if table else BlockKind.PARAGRAPH
    return Document(
        id="25_01178_REM_a1b2c3",
        title="T",
        document_type=None,
        text=text,
        sections=(),
        blocks=tuple(Block(kind, span, pages=(n,)) for n, span in enumerate(spans, 1)),
        pages=tuple(Page(n, str(n), span) for n, span in enumerate(spans, 1)),
        source_uri="planning:x:/t.pdf",
        sha256="0" * 64,
        media_type="application/pdf",
    )


@pytest.mark.requirement("document-store-api:FR-006")
@pytest.mark.parametrize("keep", ["start", "end"])
@given(text=TEXTS, size=st.integers(5, 80), share=st.floats(0, 0.6))
def test_chunks_are_those_of_the_library_that_is_named(
    keep: Literal["start", "end"], text: str, size: int, share: float
) -> None:
    overlap = int(size * share)
    spans = split(text, Span(0, len(text)), Splitting(size, overlap, keep=keep))
    assert [span.of(text) for span in spans] == langchain(text, size, overlap, keep)


@pytest.mark.requirement("document-store-api:FR-006")
def test_a_long_report_is_split_as_the_library_does_with_the_specified_sizes() -> None:
    dice = random.Random(7)
    words = [
        sentence + dice.choice([" ", "\n", "\n\n", "; "]) for page in report(6, 40) for sentence in page.split(" ")
    ]
    text = "".join(words)
    document = made([text])
    chunks = RecursiveChunker().chunk(document, "other", HashingEmbedder(max_tokens=10_000))
    assert [chunk.content for chunk in chunks] == langchain(text, 800, 200, "end")
    assert max(len(chunk.content) for chunk in chunks) <= 800


@pytest.mark.requirement("document-store-api:FR-006")
@given(pages=st.lists(TEXTS, min_size=1, max_size=4), tokens=st.integers(3, 40))
def test_every_chunk_is_its_span_no_text_is_lost_and_the_model_reads_it_all(pages: list[str], tokens: int) -> None:
    document = made(pages)
    measure = HashingEmbedder(max_tokens=tokens)
    chunks = RecursiveChunker(size=120, overlap=30).chunk(document, "other", measure)
    covered: set[int] = set()
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.content == chunk.span.of(document.text)
        assert chunk.content == chunk.content.strip() != ""
        assert chunk.token_count == measure.count_tokens(chunk.content) <= tokens
        covered.update(range(chunk.span.start, chunk.span.end))
    assert all(place in covered for place, sign in enumerate(document.text) if not sign.isspace())
    starts = [chunk.span.start for chunk in chunks]
    assert starts == sorted(starts)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@pytest.mark.requirement("document-store-api:FR-006", "document-store-api:FR-008")
def test_chunks_name_the_pages_that_they_span_and_their_ids_the_first_of_them() -> None:
    document = made(report(5, 4))
    chunks = RecursiveChunker().chunk(document, "other", HashingEmbedder(max_tokens=1000))
    for chunk in chunks:
        on = tuple(page.number for page in document.pages if page.span.overlaps(chunk.span))
        assert chunk.page_numbers == on
        assert chunk.id == f"25_01178_REM_a1b2c3_{on[0]:03d}_{chunk.index:03d}"
    assert {len(chunk.page_numbers) for chunk in chunks} >= {1, 2}


def test_neighbouring_chunks_share_at_most_the_overlap() -> None:
    chunks = RecursiveChunker().chunk(made(report(2, 30)), "other", HashingEmbedder(max_tokens=1000))
    shared = [before.span.end - after.span.start for before, after in itertools.pairwise(chunks)]
    assert max(shared) > 50
    assert max(shared) <= 200


def test_a_chunk_within_a_table_is_called_a_table() -> None:
    rows = "\n".join(f"| plot {number} | {number} bedrooms |" for number in range(80))
    chunks = RecursiveChunker().chunk(made([rows], table=True), "other", HashingEmbedder(max_tokens=1000))
    assert {chunk.chunk_type.value for chunk in chunks} == {"table"}


def test_sizes_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError):
        RecursiveChunker(size=100, overlap=100)
    assert RecursiveChunker().version != RecursiveChunker(size=400).version


def test_many_characters_without_a_separator_are_split_too() -> None:
    text = "x" * 60_000
    spans = split(text, Span(0, len(text)), Splitting())
    assert {len(span) for span in spans} <= {800} | {len(spans[-1])}
    assert spans[-1].end == len(text)
