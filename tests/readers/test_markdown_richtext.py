"""Text put together from pieces keeps its marks where they belong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.document import BlockKind, HiddenReason, ReferenceKind
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.readers.shared.richtext import RichText, lay, table_text
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE

WORDS = st.text(alphabet=st.sampled_from("ab |\\\n\té–ﬁ"), max_size=8)


def marked(pieces: list[tuple[str, bool]]) -> tuple[RichText, list[str]]:
    rich = RichText()
    expected: list[str] = []
    for text, is_link in pieces:
        start = len(rich)
        rich.add(text)
        if is_link:
            before = len(rich.marks)
            rich.mark(start, ReferenceKind.LINK, "target")
            expected.extend(rich.text[mark.start : mark.end] for mark in rich.marks[before:])
    return rich, expected


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=8))
def test_marks_survive_being_laid_down_as_a_list_item(pieces: list[tuple[str, bool]]) -> None:
    rich, expected = marked(pieces)
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "before")
    lay(builder, BlockKind.LIST_ITEM, rich, marker="a)", depth=1)
    document = builder.build(content_item(b"x"))
    assert [r.span.of(document.text) for r in document.references] == expected


@given(st.lists(st.lists(st.tuples(WORDS, st.booleans()), max_size=4), min_size=2, max_size=6))
def test_marks_survive_the_escaping_of_a_table(cells: list[list[tuple[str, bool]]]) -> None:
    built = [marked(cell) for cell in cells]
    rows = [[rich for rich, _ in built], [RichText("x")]]
    builder = DocumentBuilder()
    lay(builder, BlockKind.TABLE, table_text(rows))
    document = builder.build(content_item(b"x"))
    shown = [r.span.of(document.text).replace("\\|", "|") for r in document.references]
    assert shown == [words.replace("\n", " ") for _, expected in built for words in expected]


@given(st.lists(st.text(max_size=10), max_size=6))
def test_blanks_between_pieces_collapse_however_the_text_is_cut(pieces: list[str]) -> None:
    plain = [piece.encode("ascii", "ignore").decode() for piece in pieces]
    rich = RichText()
    for piece in plain:
        rich.add(piece)
    whole = RichText("".join(plain).replace("\r", "\n"))
    assert " ".join(rich.text.split()) == " ".join(whole.text.split())
    assert "  " not in rich.text


def test_what_is_struck_out_is_left_out_and_raised_digits_read_as_such() -> None:
    source = "Use ~~port 80~~ <del>82</del> 81, 10<sup>-3</sup> m<sup>2</sup>.\n\n<p>Or x<sub>2</sub> <s>9</s> 8.</p>\n"
    document = MarkdownReader(sandbox=HERE).read(content_item(source.encode(), "page.md"))
    assert document.text == "Use 81, 10⁻³ m².\n\nOr x₂ 8."
    assert document.hidden == ((HiddenReason.STRUCK.value, 9),)


def test_changes_that_critic_markup_writes_are_read_as_accepted() -> None:
    source = (
        "The voltage shall be {~~24 V~>28 V~~} and it {--should--}{++shall++} be {==steady==}{>>how?<<}.\n\n"
        "Write `{++28 V++}` for it.\n"
    )
    document = MarkdownReader(sandbox=HERE).read(content_item(source.encode(), "page.md"))
    assert document.text == "The voltage shall be 28 V and it shall be steady.\n\nWrite {++28 V++} for it."
    assert document.hidden == ((HiddenReason.STRUCK.value, 9),)
