"""Whatever the file: every chunk is the span and the lines that it claims, and no text is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.readers.code.reader import CodeReader
from tests.fakes.documents import PieceMeasure
from tests.machine import examples
from tests.readers.source_files import read_text

NAMES = ["a.py", "a.js", "a.go", "a.c", "a.rs", "a.md", "a.txt", "a.toml", "a.yaml", "a.rb", "a.sql", "a.html"]
LINE = st.one_of(
    st.sampled_from(
        ["def f(x):", "    return x", "class A:", "    def m(self):", "", "", "}", "{", "func g() {", "# comment",
         "/* d", "*/", "import x", "é = 'ü😀'", "\tx := 1", "end", "@dec", '"""', "# Head", "====", "```", "[table]",
         "key: 1"]
    ),
    st.integers(1, 60).map(lambda count: "call(" + "argument, " * count + ")"),
    st.integers(1, 400).map(lambda count: "x" * count),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff"), max_size=30).map(
        lambda text: text.replace("\n", " ")
    ),
)  # fmt: skip
FILES = st.lists(st.tuples(LINE, st.integers(1, 6)), min_size=1, max_size=30).map(
    lambda rows: "\n".join(line for line, times in rows for _ in range(times))
)
MEASURES = st.builds(PieceMeasure, max_tokens=st.sampled_from([16, 40, 256, 8192]), piece=st.integers(3, 7))
CHUNKERS = st.builds(CodeChunker, st.integers(50, 120), st.integers(0, 49), max_chunks=st.just(100_000))
SETTINGS = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.fixture(scope="session")
def code_reader() -> Generator[CodeReader]:
    made = CodeReader()
    yield made
    made.close()


@pytest.mark.requirement("C-6.6-positions")
@pytest.mark.requirement("C-6.6-tokens")
@SETTINGS
@given(content=FILES, name=st.sampled_from(NAMES), chunker=CHUNKERS, measure=MEASURES)
def test_every_chunk_is_its_span_and_its_lines_and_no_text_is_lost(
    code_reader: CodeReader, content: str, name: str, chunker: CodeChunker, measure: PieceMeasure
) -> None:
    if not content.strip():
        return
    document = read_text(code_reader, name, content)
    text = document.text
    covered = bytearray(len(text))
    lines = text.split("\n")
    made = chunker.chunk(document, DocumentType.CUSTOM.value, measure)
    before = -1
    for index, chunk in enumerate(made):
        assert chunk.index == index
        assert chunk.content == chunk.span.of(text)
        assert chunk.content.strip() != ""
        assert chunk.content_hash == hashlib.sha256(chunk.content.encode()).hexdigest()
        assert chunk.token_count == measure.count_tokens(chunk.content)
        assert chunk.span.start > before
        before = chunk.span.start
        assert chunk.lines is not None
        first, last = chunk.lines
        assert first == text.count("\n", 0, chunk.span.start) + 1
        assert last == text.count("\n", 0, chunk.span.end) + 1
        whole = "\n".join(lines[first - 1 : last])
        assert chunk.content == whole.rstrip() or first == last or chunk.content in whole
        covered[chunk.span.start : chunk.span.end] = b"\x01" * len(chunk.span)
    assert [i for i, letter in enumerate(text) if not letter.isspace() and not covered[i]] == []


@pytest.mark.requirement("C-6.6-tokens")
@SETTINGS
@given(content=FILES, name=st.sampled_from(NAMES), chunker=CHUNKERS, measure=MEASURES)
def test_no_chunk_is_longer_than_the_maximum_or_than_the_model_reads(
    code_reader: CodeReader, content: str, name: str, chunker: CodeChunker, measure: PieceMeasure
) -> None:
    if not content.strip():
        return
    document = read_text(code_reader, name, content)
    most = int(chunker.version.split("max=")[1].split()[0])
    made = chunker.chunk(document, DocumentType.CUSTOM.value, measure)
    for chunk in made:
        assert chunk.token_count <= most
        assert measure.count_tokens(chunk.embedding_text) <= measure.max_tokens
        assert len(chunk.section_hierarchy) <= 6
    assert len({chunk.id for chunk in made}) == len(made)
    assert made == chunker.chunk(document, DocumentType.CUSTOM.value, measure)
    ids = [chunk.id for chunk in made]
    for chunk in made:
        assert chunk.parent_chunk_id is None or ids.index(chunk.parent_chunk_id) < chunk.index
    defined = [one.span for chunk in made for one in chunk.definitions]
    assert len(defined) == len(document.sections)
