"""Rich text: words, headings, lists, tables and notes as a word processor shows them."""

from __future__ import annotations

import struct
import time

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import media_type_of
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.office.rtf import page
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of
from tests.readers.ole_files import message, text_property

READER = OfficeReader(sandbox=HERE)
_HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset204 Arial;}{\f2\fcharset2 Symbol;}}"
    r"{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1\outlinelevel0\b heading 1;}{\s7 toc 1;}}"
    r"{\info{\title Pump rules}{\author J. Roe}{\creatim\yr2020}}{\header Page head\par}"
)


def rtf(body: str) -> bytes:
    return f"{_HEAD}{body}}}".encode("cp1252")


def read(body: str) -> Document:
    item = item_of(rtf(body), "rules.rtf")
    READER.check(item)
    return READER.read(item)


def blocks(body: str) -> list[tuple[str, str]]:
    document = read(body)
    return [(each.kind.value, each.span.of(document.text)) for each in document.blocks]


def refusal(data: bytes) -> UnreadableReason:
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.read(item_of(data, "rules.rtf"))
    return caught.value.reason


def test_headings_have_their_level_and_the_number_that_is_printed() -> None:
    document = read(
        r"\pard\plain\s1\outlinelevel0 {\listtext\pard 1\tab}\b Scope\par\pard\plain All pumps.\par"
        r"\pard\plain\outlinelevel1 {\listtext 1.1\tab}Seals\par\pard All seals.\par"
        r"\pard\plain\s1 {\listtext 2\tab}Ends\par"
    )
    assert [(each.level, each.number, each.title) for each in document.sections] == [
        (1, "1", "Scope"),
        (2, "1.1", "Seals"),
        (1, "2", "Ends"),
    ]
    assert (document.title, dict(document.metadata)["author"]) == ("Pump rules", "J. Roe")


def test_letters_are_those_of_their_font_their_code_page_and_unicode() -> None:
    words = r"\f0 d\'e9bit \f1\'ce\'ed \f2\'6d\f0  {\uc2\u8364??} \u-10179?\u-8704? 5\~\'b5m\emdash a\_b\-c"
    words += r" \lquote x\rquote"
    assert blocks(rf"\pard {words}\par") == [("paragraph", "débit Он μ € 😀 5 µm—a-bc ‘x’")]


def test_what_is_no_text_is_left_out_and_counted() -> None:
    document = read(
        r"\pard\plain\s7 Scope\tab 3\par\pard\plain Seen{\v hid}{\strike old}{\*\unknown secret}{\pict 00ff}"
        r"{\field{\*\fldinst HYPERLINK x}{\fldrslt  there}}{\deleted gone}{\revised  new}"
        r"{\*\annotation\pard a remark}\par"
    )
    assert document.text == "Seen there new"
    assert dict(document.hidden) == {"not displayed": 3, "struck out": 3}
    assert document.warnings[:3] == (
        "Tracked changes are not accepted yet (1 insertion, 1 deletion): the text was read as if they were.",
        "1 comment was omitted.",
        "Text in images is not read.",
    )


def test_items_have_their_labels_and_levels_and_clauses_their_numbers() -> None:
    assert blocks(
        r"\pard\ilvl0{\listtext a)\tab}first\par\pard\ilvl1{\listtext\f2\'b7\tab}inner\par"
        r"\pard{\pntext\f2\'b7\tab}old\par\pard{\listtext 4.2\tab}The pump shall run.\par"
    ) == [
        ("list_item", "a) first"),
        ("list_item", "• inner"),
        ("list_item", "• old"),
        ("paragraph", "4.2 The pump shall run."),
    ]


_ROW = r"\trowd{}\cellx1000\cellx2000\cellx3000\pard\intbl {}\cell {}\cell {}\cell\row"


def test_tables_are_whole_with_cells_that_reach_over_others() -> None:
    header = _ROW.format(r"\trhdr", "Part", "Load", "Unit")
    wide = r"\trowd\cellx1010\cellx3000\pard\intbl Seal\par of rubber\cell none at all\cell\row"
    tall = r"\trowd\clvmgf\cellx1000\cellx2000\cellx3000\pard\intbl Shaft\cell 5\cell N\cell\row"
    below = r"\trowd\clvmrg\cellx1000\cellx2000\cellx3000\pard\intbl \cell 6\cell N\cell\row"
    joined = r"\trowd\clmgf\cellx1000\clmrg\cellx2000\cellx3000\pard\intbl both\cell\cell N\cell\row"
    assert blocks(rf"{header}{wide}{tall}{below}{joined}\pard After.\par") == [
        (
            "table",
            "| Part | Load | Unit |\n| --- | --- | --- |\n| Seal of rubber | none at all | |\n| Shaft | 5 | N |\n"
            "| Shaft | 6 | N |\n| both | | N |",
        ),
        ("paragraph", "After."),
    ]


def test_a_table_that_is_not_closed_loses_no_word() -> None:
    assert blocks(r"\trowd\cellx1000\pard\intbl one\cell two") == [("paragraph", "one"), ("paragraph", "two")]


def test_notes_and_text_boxes_follow_their_paragraph_and_powers_are_powers() -> None:
    assert blocks(
        r"\pard The pump{\super\chftn}{\footnote\pard{\super\chftn} Of type 2.} weighs 10{\super 3} kg.\par"
        r"\pard See{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt\pard In a box.\par}}{\shprslt\par}} it.\par"
    ) == [
        ("paragraph", "The pump[^1] weighs 10³ kg."),
        ("footnote", "[^1] Of type 2."),
        ("paragraph", "See it."),
        ("paragraph", "In a box."),
    ]


def test_a_formula_leaves_a_trace_and_binary_data_none() -> None:
    document = read(r"\pard So {\mmath{\*\moMath{\mr x}}} is \bin4 {}{}it.\par")
    assert document.text == "So \ufffc is it."
    assert document.warnings[0].startswith("Formulas are not read")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", UnreadableReason.EMPTY),
        (rb"{\rtf1\ansi\par}", UnreadableReason.EMPTY),
        (b"%PDF-1.4", UnreadableReason.MISLABELLED),
        (b"\x01\x02words", UnreadableReason.CORRUPTED),
        (rtf(r"\pard words{\b more\par")[:-3], UnreadableReason.CORRUPTED),
        (rb"{\rtf1 " + b"{" * 20_000, UnreadableReason.UNSUPPORTED),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: UnreadableReason) -> None:
    assert refusal(data) is reason


def test_more_paragraphs_than_a_document_may_have_are_refused_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_BLOCKS", 400)
    assert refusal(rtf(r"a\par " * 801)) is UnreadableReason.TOO_LARGE
    assert refusal(rtf(r"a\par " * 801)[:-1]) is UnreadableReason.TOO_LARGE, "before its end is seen to be missing"
    assert len(blocks(r"a\par " * 300)) == 300


def test_endless_words_and_numbers_of_control_words_are_read_in_time() -> None:
    assert read(rf"\pard \{'a' * 100_000} \b{'9' * 100_000} \u{'1' * 50} \bin-5 {{\*\x y}}end\par").text.endswith("end")


@pytest.mark.slow
def test_the_time_for_changes_in_one_paragraph_grows_with_their_number() -> None:
    seconds: list[float] = []
    for count in (3_000, 24_000):
        started = time.process_time()
        text = read(r"\pard " + r"{\deleted old }{\revised new }" * count + r"\par").text
        seconds.append(time.process_time() - started)
        assert text.count("new") == count
    assert seconds[1] < 20 * seconds[0]  # eight times is linear, 64 times is the square


def test_rich_text_has_its_extension() -> None:
    assert media_type_of("a.RTF") == "application/rtf"


def _literal(data: bytes) -> bytes:
    """Compress without references: a byte of zeros before each eight bytes."""
    return b"".join(b"\0" + data[at : at + 8] for at in range(0, len(data), 8))


def _mail(kind: bytes, data: bytes, size: int = 0) -> Document:
    header = struct.pack("<II4sI", len(data) + 12, size, kind, 0)
    return READER.read(
        item_of(message(text_property("0037", "Seals"), ("__substg1.0_10090102", header + data)), "a.msg")
    )


def test_the_rich_text_of_a_mail_is_read_where_there_is_nothing_else() -> None:
    words = rb"{\rtf1\ansi {\*\htmltag64 <p>}The pump {\b leaks}.\par}"
    assert _mail(b"MELA", words, len(words)).text == "Seals\n\nThe pump leaks."
    assert _mail(b"LZFu", _literal(words)).text == "Seals\n\nThe pump leaks."


def test_rich_text_of_a_mail_may_repeat_what_it_begins_with_and_what_it_said() -> None:
    # eleven letters of the dictionary at 0, then " ab" and five letters from where that was written, which overlap
    start = 207 + 11
    parts = (0, 11 - 2), (start, 5 - 2), (start + 8 + 6, 0)
    first, second, end = (struct.pack(">H", place << 4 | length) for place, length in parts)
    data = bytes([0b00010001]) + first + b" ab" + second + b"\\pa" + bytes([0b00001000]) + b"r }" + end
    assert _mail(b"LZFu", data).text == "Seals\n\nab ab a"


def test_damaged_rich_text_of_a_mail_is_reported() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        _mail(b"LZFu", _literal(rb"{\rtf1 words"))
    assert caught.value.reason is UnreadableReason.CORRUPTED
