"""Chunks of code: symbols with their place, small ones together, large ones cut at their statements."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Generator
from itertools import pairwise

import pytest

from knowledge_mcp.chunking.code.chunker import CodeChunker, lines_left_out
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.support.events import EVENT_FIELDS
from tests.fakes.documents import PieceMeasure
from tests.readers.source_files import read_text

WIDE = PieceMeasure(max_tokens=8192)


@pytest.fixture(scope="module")
def reader() -> Generator[CodeReader]:
    made = CodeReader()
    yield made
    made.close()


def chunks_of(
    reader: CodeReader, name: str, content: str, chunker: CodeChunker | None = None, measure: PieceMeasure = WIDE
) -> list[Chunk]:
    made = (chunker or CodeChunker()).chunk(read_text(reader, name, content), DocumentType.CUSTOM.value, measure)
    lines = content.split("\n")
    for chunk in made:
        first, last = chunk.lines or (0, 0)
        assert chunk.content in "\n".join(lines[first - 1 : last])
    return made


def body(name: str, lines: int, indent: str = "    ") -> str:
    return "".join(f"{indent}{name}_{number} = compute({number}, other)\n" for number in range(lines))


@pytest.mark.requirement("C-6.6-small")
@pytest.mark.requirement("C-6.6-hash")
@pytest.mark.requirement("C-6.6-positions")
def test_a_small_file_is_one_chunk(reader: CodeReader) -> None:
    content = "import os\n\n\ndef f(a):\n    return a\n\n\nclass C:\n    pass\n"
    (chunk,) = chunks_of(reader, "src/a.py", content)
    assert chunk.content == content.rstrip("\n")
    assert chunk.lines == (1, 9)
    assert chunk.content_hash == hashlib.sha256(chunk.content.encode()).hexdigest()
    assert (chunk.context, chunk.section_title, chunk.section_hierarchy) == ("src/a.py", "f, C", ())
    assert [(one.term, one.domain, one.text) for one in chunk.definitions] == [
        ("f", "function", "def f(a)"),
        ("C", "class", "class C"),
    ]
    assert (chunk.index, chunk.document_id, chunk.source_path) == (0, "src/a.py", "repo:src/a.py")
    assert uuid.UUID(chunk.id).version == 5


def test_pieces_of_a_file_with_too_many_chunks_are_named_by_the_symbols_they_hold(reader: CodeReader) -> None:
    content = "\n".join(f"def f{number}(a):\n{body('value', 9)}\n" for number in range(30))
    made = chunks_of(reader, "a.py", content, CodeChunker(max_tokens=60, max_chunks=40))
    lines = content.split("\n")
    for chunk in made:
        first, last = chunk.lines or (0, 0)
        within = [lines[row].split("(")[0][4:] for row in range(first) if lines[row].startswith("def ")][-1]
        begun = [lines[row].split("(")[0][4:] for row in range(first, last) if lines[row].startswith("def ")]
        assert chunk.section_title == ", ".join(dict.fromkeys([within, *begun]))


def test_what_a_symbol_is_generic_over_or_implements_is_not_part_of_how_it_is_called(reader: CodeReader) -> None:
    content = "impl<T> Stack<Vec<T>> {\n  fn push() {\n  }\n}\nimpl<T> Display for Stack<T> {\n  fn fmt() {\n  }\n}\n"
    (chunk,) = chunks_of(reader, "a.rs", content)
    assert [(one.term, one.aliases) for one in chunk.definitions] == [
        ("Stack<Vec<T>>", ("Stack",)),
        ("push", ("Stack.push",)),
        ("Display for Stack<T>", ("Stack",)),
        ("fmt", ("Stack.fmt",)),
    ]
    (other,) = chunks_of(reader, "a.cpp", "template <class T>\nT Stack<T>::pop() {\n  return 1;\n}\n")
    assert [one.aliases for one in other.definitions] == [("pop", "Stack::pop")]
    (prose,) = chunks_of(reader, "a.md", "# Settings for production\n\ntext\n")
    assert [one.aliases for one in prose.definitions] == [()]


@pytest.mark.requirement("C-6.6-structure")
@pytest.mark.requirement("C-5.3-file_chunk")
def test_symbols_that_fit_are_chunks_of_their_own_and_small_ones_go_together(reader: CodeReader) -> None:
    content = (
        "import os\nimport sys\n\n"
        + "".join(f"def big{number}(a):\n{body('value', 7)}\n" for number in range(3))
        + "def small_one():\n    return 1\n\ndef small_two():\n    return 2\n"
    )
    made = chunks_of(reader, "a.py", content, CodeChunker(max_tokens=130))
    assert [(chunk.section_title, chunk.lines) for chunk in made] == [
        ("", (1, 2)),
        ("big0", (4, 11)),
        ("big1", (13, 20)),
        ("big2", (22, 29)),
        ("small_one, small_two", (31, 35)),
    ]
    assert made[1].section_hierarchy == ("big0",)
    assert made[4].section_hierarchy == ()


def test_a_large_class_is_cut_into_its_methods_with_the_class_as_context(reader: CodeReader) -> None:
    content = (
        "class Engine(Base):\n    '''Runs things. And more.'''\n\n    size = 1\n\n"
        f"    def start(self):\n        '''Start it.'''\n{body('x', 8, ' ' * 8)}\n"
        f"    def stop(self):\n{body('y', 8, ' ' * 8)}"
    )
    head, start, stop = chunks_of(reader, "pkg/engine.py", content, CodeChunker(max_tokens=130))
    assert head.content.startswith("class Engine(Base):")
    assert head.context == "pkg/engine.py"
    assert start.context == "pkg/engine.py > class Engine(Base)"
    assert start.section_hierarchy == ("Engine", "start")
    assert start.content.startswith("    def start(self):")
    assert start.parent_chunk_id == stop.parent_chunk_id == head.id
    assert head.parent_chunk_id is None
    (method,) = start.definitions
    assert (method.term, method.aliases, method.domain) == ("start", ("Engine.start",), "method")
    assert start.embedding_text == f"{start.context}\n\n{start.content}"


def test_later_parts_of_a_long_function_carry_its_signature_and_what_it_is_for(reader: CodeReader) -> None:
    content = f"def long_one(a, b):\n    '''Count all the things. Slowly.'''\n{body('x', 40)}"
    made = chunks_of(reader, "a.py", content, CodeChunker(max_tokens=150))
    assert len(made) > 2
    assert made[0].context == "a.py"
    assert {chunk.context for chunk in made[1:]} == {"a.py > def long_one(a, b)\nCount all the things."}
    assert {chunk.section_title for chunk in made} == {"long_one"}
    assert [len(chunk.definitions) for chunk in made] == [1] + [0] * (len(made) - 1)
    assert {chunk.parent_chunk_id for chunk in made[1:]} == {made[0].id}
    sizes = [chunk.token_count for chunk in made]
    assert max(sizes) < 2 * min(sizes)


def test_a_long_function_is_cut_between_its_outermost_statements(reader: CodeReader) -> None:
    loops = "".join(f"    for item_{number} in range({number}):\n" + body("y", 5, " " * 8) for number in range(6))
    content = f"def f():\n{loops}    return 1\n"
    made = chunks_of(reader, "a.py", content, CodeChunker(max_tokens=120))
    assert len(made) > 2
    assert all(chunk.content.startswith("    for item_") for chunk in made[1:])


def test_a_comment_stays_with_the_statement_below_it(reader: CodeReader) -> None:
    content = "def f():\n" + "".join(f"    # step {number}\n    a_{number} = call({number})\n" for number in range(40))
    for chunk in chunks_of(reader, "a.py", content, CodeChunker(max_tokens=100))[1:]:
        assert chunk.content.lstrip().startswith("# step")


def test_doc_comments_and_attributes_stay_with_their_symbol_in_every_language(reader: CodeReader) -> None:
    content = "use a;\n\n" + "".join(
        f"/// About {number}.\n#[inline]\npub fn f{number}(a: u8) -> u8 {{\n{body('let x', 6)}}}\n\n"
        for number in range(4)
    )
    made = chunks_of(reader, "a.rs", content, CodeChunker(max_tokens=100))
    functions = [chunk for chunk in made if chunk.section_title.startswith("f")]
    assert len(functions) == 4
    assert all(chunk.content.startswith("/// About") and chunk.content.endswith("}") for chunk in functions)
    assert functions[0].definitions[0].text == "pub fn f0(a: u8) -> u8"


@pytest.mark.requirement("C-6.6-lines")
@pytest.mark.requirement("C-6.6-tokens")
def test_a_text_without_structure_is_cut_between_lines_with_an_overlap(reader: CodeReader) -> None:
    content = "".join(f"word{number} and some more words on this line\n" for number in range(300))
    made = chunks_of(reader, "a.txt", content)
    assert len(made) > 3
    for chunk, following in pairwise(made):
        assert chunk.token_count <= 500
        assert chunk.lines is not None
        assert following.lines is not None
        shared = content.split("\n")[following.lines[0] - 1 : chunk.lines[1]]
        assert 0 < WIDE.count_tokens("\n".join(shared)) <= 50
    assert made[-1].lines == (made[-1].lines[0] if made[-1].lines else 0, 300)
    apart = chunks_of(reader, "a.txt", content, CodeChunker(overlap_tokens=0))
    assert sum(chunk.token_count for chunk in apart) == WIDE.count_tokens(content)


def test_what_the_model_reads_caps_the_chunks(reader: CodeReader) -> None:
    content = f"class A:\n    def f(self):\n{body('x', 60, ' ' * 8)}"
    measure = PieceMeasure(max_tokens=100)
    made = chunks_of(reader, "deep/path/to/a.py", content, measure=measure)
    assert len(made) > 5
    assert all(measure.count_tokens(chunk.embedding_text) <= 100 for chunk in made)


@pytest.mark.requirement("C-11.4-maxChunksPerFile")
def test_a_file_has_at_most_100_chunks_and_what_is_left_out_is_reported(
    reader: CodeReader, caplog: pytest.LogCaptureFixture
) -> None:
    content = "".join(f"def f{number}():\n{body('x', 30)}\n" for number in range(200))
    document = read_text(reader, "a.py", content)
    caplog.set_level(logging.WARNING)
    made = CodeChunker().chunk(document, DocumentType.CUSTOM.value, WIDE)
    assert len(made) == 100
    left_out = lines_left_out(document, made)
    assert made[-1].lines is not None
    assert left_out is not None
    assert made[-1].lines[1] < left_out[0] <= made[-1].lines[1] + 2
    assert left_out[1] == 200 * 32 - 1
    (record,) = [record for record in caplog.records if record.message == "chunk_limit_reached"]
    assert getattr(record, EVENT_FIELDS)["first_line_left_out"] == left_out[0]


def test_a_file_of_many_small_symbols_is_packed_tighter_before_anything_is_left_out(reader: CodeReader) -> None:
    content = "".join(f"def f{number}():\n{body('x', 32)}\n" for number in range(120))
    document = read_text(reader, "a.py", content)
    loose = CodeChunker(max_chunks=1000).chunk(document, DocumentType.CUSTOM.value, WIDE)
    tight = CodeChunker().chunk(document, DocumentType.CUSTOM.value, WIDE)
    assert len(loose) > 100 >= len(tight)
    assert lines_left_out(document, tight) is None


def test_one_endless_line_is_cut_inside_and_keeps_its_number(reader: CodeReader) -> None:
    content = "a = 1\nb = [" + ", ".join(str(number) for number in range(2000)) + "]\nc = 3\n"
    made = chunks_of(reader, "a.py", content)
    inside = [chunk for chunk in made if chunk.lines == (2, 2)]
    assert len(inside) > 3
    assert "".join(chunk.content for chunk in made).replace(" ", "").replace("\n", "") == (
        content.replace(" ", "").replace("\n", "")
    )


def test_markup_and_configuration_are_cut_by_their_own_structure(reader: CodeReader) -> None:
    words = "word " * 60
    markdown = f"# Top\n\n{words}\n\n## One\n\n{words}\n\n```sh\nmake\n```\n\n## Two\n\n{words}\n"
    made = chunks_of(reader, "a.md", markdown, CodeChunker(max_tokens=90))
    assert [chunk.section_hierarchy for chunk in made] == [("Top",), ("Top", "One"), ("Top", "Two")]
    assert [chunk.context for chunk in made] == ["a.md", "a.md > # Top", "a.md > # Top"]
    toml = "".join(f"[tool.t{number}]\n{body('k', 8, '')}\n" for number in range(4))
    titles = [chunk.section_title for chunk in chunks_of(reader, "a.toml", toml, CodeChunker(max_tokens=100))]
    assert titles == ["tool.t0", "tool.t1", "tool.t2", "tool.t3"]


def test_an_edit_in_one_symbol_moves_no_other(reader: CodeReader) -> None:
    parts = [f"def f{number}():\n{body('x', 8)}\n" for number in range(6)]
    before = chunks_of(reader, "a.py", "".join(parts), CodeChunker(max_tokens=110))
    parts[2] = parts[2].replace("compute(3", "compute_more(3")
    after = chunks_of(reader, "a.py", "# new first line\n\n" + "".join(parts), CodeChunker(max_tokens=110))
    same = {chunk.id for chunk in before} & {chunk.id for chunk in after}
    assert len(same) == 5
    keys = {chunk.id: chunk.embedding_text for chunk in before}
    assert all(keys[chunk.id] == chunk.embedding_text for chunk in after if chunk.id in same)


@pytest.mark.requirement("C-8.1-CHUNK_MAX_TOKENS")
@pytest.mark.requirement("C-8.1-CHUNK_OVERLAP_TOKENS")
@pytest.mark.parametrize("sizes", [(49, 10), (8001, 10), (500, -1), (100, 100), (60, 4001)])
def test_sizes_that_do_not_fit_are_a_matter_of_configuration(sizes: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="CHUNK_"):
        CodeChunker(*sizes)


def test_the_version_names_the_sizes() -> None:
    assert CodeChunker().version == "code/2 max=500 overlap=50 chunks=100"
    assert CodeChunker(400).version != CodeChunker().version
