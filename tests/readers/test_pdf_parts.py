"""The parts of the PDF reader by themselves: numbering, openings, flow, tables, and the job as the child runs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.language.openings import opening_of, split_clause_number
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf import job
from knowledge_mcp.readers.pdf.flow.guessed_tables import tables_of
from knowledge_mcp.readers.pdf.headings.candidates import best_chain
from knowledge_mcp.readers.pdf.ordering import lay_out
from knowledge_mcp.readers.pdf.paragraphs.endings import Geometry, Vocabulary
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table
from knowledge_mcp.readers.shared.numbering import follows, number_key
from knowledge_mcp.support.sandbox import Refusal
from tests.readers.pdf_files import SENTENCE, changed, picture_page, sheet, standard, without_pages
from tests.readers.sheets import Sheets


def line(text: str, y: float = 100, *, x: float = 72, width: float = 400, size: float = 10, gap: float = 0) -> Line:
    return Line(1, text, x, y, x + width, y + size, size, bold=False, font="Helvetica", gap=gap)


# ---- numbering


@pytest.mark.parametrize(
    ("one", "other", "legal"),
    [
        ("5.3", "5.3.1", True),
        ("5.3", "5.4", True),
        ("5.3.2", "5.4", True),
        ("5.3.2", "6", True),
        ("5.9", "6.1", True),
        ("5", "8", True),
        ("5", "9", False),
        ("5.3", "5.3", False),
        ("5.3", "5.2", False),
        ("5.3", "5.3.4", False),
        ("5.3", "5.3.1.1", False),
        ("9.4", "A", True),
        ("9.4", "D", False),
        ("A.3", "B", True),
        ("B", "A.1", False),
    ],
)
def test_a_number_follows_as_documents_are_numbered(one: str, other: str, legal: bool) -> None:
    first, second = number_key(one), number_key(other)
    assert first is not None
    assert second is not None
    assert follows(first, second) is legal


def test_numbers_beyond_what_clauses_have_are_no_keys() -> None:
    assert number_key("5.1999") is None
    assert number_key("5.abc") is None
    assert follows(number_key("III", "part") or (), number_key("IV", "part") or ())
    assert number_key("C", "part") == number_key("C", "chapter") != number_key("C")


def test_the_chain_leaves_out_a_list_between_clauses() -> None:
    numbers = ["1", "2", "2.1", "1", "2", "3", "2.2", "3", "A", "A.1"]
    strong = [2.0, 2.0, 2.0, 0.6, 0.6, 0.6, 2.0, 2.0, 2.0, 2.0]
    keys = [key for number in numbers if (key := number_key(number))]
    assert [numbers[index] for index in best_chain(keys, strong)] == ["1", "2", "2.1", "2.2", "3", "A", "A.1"]


@given(st.lists(st.tuples(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.floats(0, 3)), max_size=40))
def test_a_chain_keeps_the_order_of_the_document(entries: list[tuple[list[int], float]]) -> None:
    chain = best_chain([tuple(key) for key, _ in entries], [score for _, score in entries])
    assert chain == sorted(set(chain))
    assert bool(chain) is bool(entries)


# ---- openings


@pytest.mark.parametrize(
    ("text", "kind", "marker"),
    [
        ("• a lock", BlockKind.LIST_ITEM, "•"),
        ("\uf0b7 a lock", BlockKind.LIST_ITEM, "\uf0b7"),
        ("- a lock", BlockKind.LIST_ITEM, "-"),
        ("a) a lock", BlockKind.LIST_ITEM, "a)"),
        ("(iv) a lock", BlockKind.LIST_ITEM, "(iv)"),
        ("12. a lock", BlockKind.LIST_ITEM, "12."),
        ("NOTE Locks rust.", BlockKind.NOTE, "NOTE"),
        ("NOTE 2 to entry: Locks rust.", BlockKind.NOTE, "NOTE 2 to entry"),
        ("Note: locks rust.", BlockKind.NOTE, "Note"),
        ("EXAMPLE 3 A lock.", BlockKind.EXAMPLE, "EXAMPLE 3"),
        ("Table 3: Locks", BlockKind.CAPTION, "Table 3"),
        ("Figure A.2 Locks", BlockKind.CAPTION, "Figure A.2"),
    ],
)
def test_a_line_opens_what_it_looks_like(text: str, kind: BlockKind, marker: str) -> None:
    opening = opening_of(text)
    assert opening is not None
    assert (opening.kind, opening.marker) == (kind, marker)


@pytest.mark.parametrize(
    "text",
    ["Note that locks rust.", "Table 3 shows locks.", "-5 degrees", "5.3 Locks", "only", "Examples are", "3.5 mm"],
)
def test_running_text_opens_nothing(text: str) -> None:
    assert opening_of(text) is None


# ---- flow


@pytest.mark.parametrize(
    ("before", "after", "left", "joined"),
    [
        ("• lock elements hold the gate while", "Water is let in", 82, True),
        ("• lock elements hold the gate while", "the water is let in", 82, True),
        ("• lock elements hold the gate.", "Water is let in", 82, False),
        ("• lock elements hold the gate while", "Water is let in", 72, False),
    ],
)
def test_an_item_that_begins_in_a_typewriter_face_continues_where_its_words_hang(
    before: str, after: str, left: float, joined: bool
) -> None:
    first = replace(line(before, 100), code=True, font="Courier")
    second = line(after, 113, x=left, width=300)
    geometry = Geometry([PageLayout(1, 612, 792, [first, second, line("More words of the page.", 126)])])
    assert geometry.continues(first, second, first.text, BlockKind.LIST_ITEM, hang=72) is joined


@given(st.text(alphabet="ab-\u00ad ", max_size=12), st.text(alphabet="abA1 ", min_size=1, max_size=12))
def test_joining_loses_no_letter(text: str, following: str) -> None:
    joined = Vocabulary([]).join(text, following)
    letters = [character for character in text + following if character.isalnum()]
    assert [character for character in joined if character.isalnum()] == letters
    assert joined.endswith(following)


def test_a_hyphen_stays_before_a_capital_or_a_digit() -> None:
    words = Vocabulary([line("nothing known here at all")])
    assert words.join("the MIL-", "STD is") == "the MIL-STD is"
    assert words.join("clause 29148-", "1 is") == "clause 29148-1 is"
    known = Vocabulary([line("the rules of WATLEN and of MIL-STD and MILSTD apply here")])
    assert known.join("the WAT-", "LEN rules") == "the WATLEN rules", "the text has the word elsewhere"
    assert known.join("the MIL-", "STD is") == "the MIL-STD is"


# ---- tables


def block(rows: list[list[str]], top: float = 90, step: float = 18) -> Any:
    from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell

    cells = [
        [LayoutCell(text=cell, bbox=AnnotationRect(72, top + step * index, 100, step)) for cell in row]
        for index, row in enumerate(rows)
    ]
    return LayoutBlock(kind="table", header=cells[0], rows=cells[1:])


def test_lines_that_run_from_cell_to_cell_behind_bullets_are_no_table() -> None:
    from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell

    texts = ["Recorder Manual", "• every sample that is kept;", "• any note on it;", "It may go on in full", "below"]
    lines = [line(text, 94 + 14 * index, x=100, gap=16 if text[0] == "•" else 0) for index, text in enumerate(texts)]
    lines[0] = line(texts[0], 94, gap=60)
    cells = [["Recorder", "Manual"], ["• every sample • any note It may below", "that is kept; on it; go on in full"]]
    rows = [
        [LayoutCell(cell, AnnotationRect(x, top, 200, high)) for x, cell in zip((72, 272), row, strict=True)]
        for (top, high), row in zip(((90, 18), (108, 60)), cells, strict=True)
    ]
    assert tables_of(LayoutBlock(kind="table", header=rows[0], rows=rows[1:]), lines, 1) is None


def test_a_region_that_loses_characters_is_no_table() -> None:
    rows = [["a", "b"], ["c", "d"]]
    whole = [line("a b", 94, gap=60), line("c d", 112, gap=60)]
    found = tables_of(block(rows), whole, 1)
    assert found is not None
    assert isinstance(found[0], Table)
    assert tables_of(block(rows), [*whole, line("lost", 130)], 1) is None


def test_a_heading_inside_a_region_cuts_the_table_in_two() -> None:
    rows = [["a", "b"], ["c", "d"], ["5.4 Storage", ""], ["e", "f"], ["g", "h"]]
    lines = [line("a b", 94, gap=60), line("c d", 112, gap=60), line("5.4 Storage", 128, size=14)]
    lines += [line("e f", 148, gap=60), line("g h", 166, gap=60)]
    found = tables_of(block(rows), lines, 1)
    assert found is not None
    assert [type(element) for element in found] == [Table, Line, Table]


def test_paragraphs_with_a_hanging_number_are_no_table() -> None:
    rows = [["3.2", f"Term. {SENTENCE} {SENTENCE}"], ["3.3", f"Other. {SENTENCE} {SENTENCE}"]]
    lines = [line(f"3.2 Term. {SENTENCE} {SENTENCE}", 94), line(f"3.3 Other. {SENTENCE} {SENTENCE}", 112)]
    assert tables_of(block(rows), lines, 1) is None


def test_headings_whose_paragraphs_are_cut_after_a_word_are_no_table() -> None:
    from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell

    cells = [["1", "Scope"], ["This", "standard gives tests to"], ["40 MPa.", "It is not for water."], ["2", "Terms"]]
    places = {0: 94.0, 3: 160.0}  # the engine has no places of the others
    rows = [
        [
            LayoutCell(cell, AnnotationRect(x, places[at], 200, 13) if at in places else None)
            for x, cell in zip((71, 95), row, strict=True)
        ]
        for at, row in enumerate(cells)
    ]
    looks = ((94, 65, 14, 16), (119, 453, 10, 4), (131, 230, 10, 0), (160, 177, 14, 16))
    lines = [
        line(" ".join(row), top, x=71, width=width, size=size, gap=gap)
        for row, (top, width, size, gap) in zip(cells, looks, strict=True)
    ]
    assert tables_of(LayoutBlock(kind="table", header=rows[0], rows=rows[1:]), lines, 1) is None


# ---- order


def beside(left: list[str], right: list[str]) -> list[str]:
    """Lay out two blocks that stand side by side, a line of each at every height; the texts in reading order."""
    from liteparse.types import AnnotationRect, LayoutBlock, ParsedPage, TextItem

    items = [TextItem(text, 72, 100 + 14 * row, 180, 10, font_height=10) for row, text in enumerate(left)]
    items += [TextItem(text, 320, 100 + 14 * row, 180, 10, font_height=10) for row, text in enumerate(right)]
    high = 14 * len(left)
    blocks = [LayoutBlock("paragraph", bbox=AnnotationRect(x, 98, 190, high)) for x in (70, 318)]
    page = lay_out(ParsedPage(1, 600, 800, "", text_items=items, blocks=blocks))
    return [element.text for element in page.elements if isinstance(element, Line)]


def test_figures_follow_their_labels_and_columns_of_text_each_other() -> None:
    labels = ["Revenue", "Cost of sales", "Gross profit", "Net income", "Earnings per share"]
    figures = ["$ 81,288 $ 41,651", "30,821 8,484", "50,467 33,167", "21,979 9,159", "3.85 1.63"]
    assert beside(labels, figures) == [text for pair in zip(labels, figures, strict=True) for text in pair]
    words = [f"{label} in words" for label in labels]
    assert beside(words, labels) == [*words, *labels]


# ---- the job, in this process


def saved(folder: Path, data: bytes) -> str:
    path = folder / "sample.pdf"
    path.write_bytes(data)
    return str(path)


def test_the_job_tells_progress_facts_items_and_pages_in_this_order(tmp_path: Path) -> None:
    messages = list(job.read(saved(tmp_path, standard(bookmarks=True))))
    assert [next(iter(message)) for message in messages] == ["progress", "progress", "facts", "items", "pages"]
    headings = [item["printed"] for item in messages[3]["items"] if "heading" in item]
    assert headings[:3] == ["1 Scope", "2 Terms and definitions", "3 Requirements"]


def test_the_job_counts_pages(tmp_path: Path) -> None:
    assert list(job.check(saved(tmp_path, standard(bookmarks=False)))) == [{"pages": 6}]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(picture_page(), "empty", id="scanned"),
        pytest.param(without_pages(), "empty", id="no pages"),
        pytest.param(b"%PDF-1.7 nonsense", "corrupted", id="nonsense"),
    ],
)
def test_the_job_refuses_what_it_cannot_read(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        list(job.read(saved(tmp_path, data)))
    assert caught.value.reason == reason


def test_the_job_takes_headings_from_tags_where_there_is_no_outline(tmp_path: Path) -> None:
    messages = list(job.read(saved(tmp_path, tagged())))
    headings = [item for message in messages for item in message.get("items", []) if "heading" in item]
    assert [(item["heading"], item["level"], item["source"]) for item in headings] == [
        ("Of gauges", 1, "tags"),
        ("Of rain", 2, "tags"),
        ("Of snow", 2, "tags"),
    ]


def tagged() -> bytes:
    """Make a page whose headings are set like its text: only the structure tree names them."""
    lines = [
        ("H1", "Of gauges"),
        ("P", SENTENCE),
        ("H2", "Of rain"),
        ("P", SENTENCE),
        ("H2", "Of snow"),
        ("P", SENTENCE),
    ]
    content = b"".join(
        b"/%b <</MCID %d>> BDC BT /F1 10 Tf 72 %d Td (%b) Tj ET EMC\n"
        % (tag.encode(), index, 700 - 30 * index, text.encode())
        for index, (tag, text) in enumerate(lines)
    )
    pages = sheet()
    pages.line("to be replaced")

    def tag_it(document: Any) -> None:
        import pikepdf

        page = document.pages[0]
        page.Contents = document.make_stream(content)
        page.StructParents = 0
        root = document.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.StructTreeRoot))
        elements = [
            document.make_indirect(
                pikepdf.Dictionary(
                    Type=pikepdf.Name.StructElem, S=pikepdf.Name("/" + tag), P=root, Pg=page.obj, K=index
                )
            )
            for index, (tag, _) in enumerate(lines)
        ]
        root.K = pikepdf.Array(elements)
        root.ParentTree = pikepdf.Dictionary(Nums=pikepdf.Array([0, pikepdf.Array(elements)]))
        document.Root.StructTreeRoot = root
        document.Root.MarkInfo = pikepdf.Dictionary(Marked=True)

    return changed(pages.done(), tag_it)


# ---- paragraphs of one line


@pytest.mark.parametrize("wrapped", [False, True])
def test_paragraphs_of_one_line_are_not_run_together(tmp_path: Path, wrapped: bool) -> None:
    pages = sheet()
    texts = [
        f"REQ-00{number} When the handle {number} is pulled, the controller shall brake." for number in range(1, 6)
    ]
    for text in texts:
        pages.paragraph(text)
    if wrapped:
        pages.paragraph("The limit is the one that the plant", "has set for all of its lines.")
    found = [item["text"] for message in job.read(saved(tmp_path, pages.done())) for item in message.get("items", ())]
    assert found[:5] == texts


@pytest.mark.parametrize(
    ("printed", "number", "informative"),
    [
        ("Anhang A (normativ) Protokoll", "A", False),
        ("Annexe B (informative) Exemples", "B", True),
        ("Anexo C", "C", None),
        ("Kapitel 3 Betrieb", "3", None),
        ("Chapitre II Contrôles", "II", None),
        ("Annexes to this document", None, None),
        ("Kapitelweise Zählung", None, None),
    ],
)
def test_annexes_and_chapters_are_known_in_other_languages(
    printed: str, number: str | None, informative: bool | None
) -> None:
    found = split_clause_number(printed)
    assert (found.number, found.informative) == (number, informative)


def test_of_lines_that_as_many_pages_bear_the_first_printed_is_the_running_one() -> None:
    made = Sheets()
    for _ in range(4):
        made.y = 10
        for number in range(8):
            made.line(f"Line {number} of every page", beside=True)
        made.y = 120
        made.prose()
        made.turn()
    described: dict[str, Any] = {"facts": {}, "labels": []}
    (result,) = [each for each in job.compose("", made.pages[:4], described) if "running" in each]
    assert result["running"] == "Line 0 of every page"
