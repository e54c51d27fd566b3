"""Numbers that begin with letters or words ("CS 25.21", "Regel 4.2", "附录A") and marks of inserted items."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.core.documents import read_document
from knowledge_mcp.engine.evidence.outline import find_sections
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.numbering import number_key
from tests.engine.world import World
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import LEFT, item_of, sheet

_CODE = """# Aeroplanes

### CS 25.21 Proof of compliance

Each requirement of this part must be met.

### CS 25.23 Load distribution limits

Ranges must be established.

### CS 25J901 Installation

It must be installed so.

## AMC1 25.23(b) Load distribution limits

Where it applies.

## CAT.GEN.MPA.100 Crew responsibilities

The crew member shall be responsible.
"""


def _read(text: str) -> Document:
    return MarkdownReader(sandbox=HERE).read(content_item(text.encode(), "a.md", "text/markdown"))


def _numbers(document: Document) -> list[str | None]:
    return [section.number for section in document.sections]


@pytest.mark.parametrize(
    ("line", "number", "title"),
    [
        ("CAT.GEN.MPA.100(a)(1) Crew responsibilities", "CAT.GEN.MPA.100(a)(1)", "Crew responsibilities"),
        ("AMC1 CAT.GEN.100 Definitions", "AMC1 CAT.GEN.100", "Definitions"),
        ("21.A.3A Reporting system", "21.A.3A", "Reporting system"),
        ("FCL.010 Definitions", "FCL.010", "Definitions"),
        ("Regel 4.2 Abstand", "4.2", "Abstand"),
        ("Regulation 6 Structure", "6", "Structure"),
        ("Art. 5 Begriffe", "5", "Begriffe"),
        ("Sec. 25.21 Proof", "25.21", "Proof"),
        ("Art. 12 bis Titre", "12 bis", "Titre"),
        ("5.1bis Scope", "5.1bis", "Scope"),
        ("5 bis 7 Tage", "5", "bis 7 Tage"),
        ("附录A试验方法", "A", "试验方法"),
        ("附属書 JA 対応国際規格", "JA", "対応国際規格"),
        ("U.S.A. Supply", None, "U.S.A. Supply"),
        ("FIG.101 Shaft", None, "FIG.101 Shaft"),
        ("Regulation (EU) 2016/679", None, "Regulation (EU) 2016/679"),
        ("Party A (normative)", None, "Party A"),
    ],
)
def test_numbers_after_letters_and_words_are_read(line: str, number: str | None, title: str) -> None:
    parts = split_clause_number(line)
    assert (parts.number, parts.title) == (number, title)


@pytest.mark.parametrize(
    ("line", "informative"),
    [
        ("附录A（规范性附录）试验方法", False),
        ("附录 B（资料性）示例", True),
        ("附属書A（規定）試験方法", False),
        ("附属書B（参考）例", True),
        ("부속서 A (규정) 시험", False),
        ("Приложение А (обязательное) Методы", False),
        ("Приложение Б (справочное) Примеры", True),
        ("Anhang A (normativ) Prüfung", False),
        ("Annexe B (informative) Exemples", True),
        ("Bijlage A (normatief) Proef", False),
        ("Załącznik B (informacyjny) Przykłady", True),
        ("Liite A (velvoittava) Koe", False),
        ("Vedlegg B (informativt) Eksempler", True),
    ],
)
def test_annexes_say_in_every_language_whether_they_are_normative(line: str, informative: bool) -> None:
    parts = split_clause_number(line)
    assert (parts.number, parts.informative) == (re.split("（| \\(", line)[0][-1], informative)


def test_the_letters_of_a_code_are_part_of_the_number_if_its_paragraphs_count_up() -> None:
    document = _read(_CODE)
    assert _numbers(document)[1:] == ["CS 25.21", "CS 25.23", "CS 25J901", "AMC1 25.23(b)", "CAT.GEN.MPA.100"]
    assert document.sections[1].title == "Proof of compliance"


def test_versions_and_designations_in_titles_are_no_numbers() -> None:
    titles = ["TLS 1.1", "TLS 1.2", "TLS 1.3", "IEEE 802.11", "IEEE 802.15", "IEEE 802.16", "CS 25.21", "CS 25.23"]
    assert set(_numbers(_read("".join(f"## {each} Support\n\nText.\n\n" for each in titles)))) == {None}


def test_a_paragraph_of_a_code_is_found_with_and_without_its_letters(tmp_path: Path) -> None:
    made = World(tmp_path)
    made.write("code.md", _CODE)
    made.write("law.md", "# Law\n\n## Art. 12 bis Scope\n\nIt shall apply.\n")
    made.ingest()
    code, law = read_document(made.base, "code"), read_document(made.base, "law")
    for name in ("CS 25.21", "25.21", "CS 25.21(a)", "cs 25.21 proof of compliance"):
        assert [entry.number for entry in find_sections(code, name)] == ["CS 25.21"]
    assert [entry.number for entry in find_sections(code, "25.23")] == ["CS 25.23"]
    assert [entry.number for entry in find_sections(law, "Art. 12bis")] == ["12 bis"]


def test_inserted_numbers_come_after_all_below_their_number() -> None:
    written = ["5", "5.9", "5bis", "5 ter", "6"]
    assert sorted(written, key=lambda each: number_key(each) or ()) == written


def test_annexes_in_chinese_with_status_and_title_on_lines_of_their_own_are_sections() -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    metrics: Any = pdfmetrics  # its types are partly unknown
    metrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pages = sheet()

    def line(text: str, size: float = 10.5) -> None:
        width = metrics.stringWidth(text, "STSong-Light", size)
        pages.line(text, size=size, font="STSong-Light", x=LEFT if size < 12 else (595 - width) / 2, step=size * 1.5)

    for number, title in enumerate(("范围", "要求", "标志"), 1):
        pages.line(f"{number} {title}", size=14, font="STSong-Light", step=24)
        line(f"试验装置应能在规定的温度范围内连续工作，并应记录第{number}个测量值，直到操作者读取为止。")
    for letter, status, title in (("A", "（规范性附录）", "试验方法"), ("B", "（资料性附录）", "示例")):
        pages.next_page()
        for text in (f"附　录　{letter}", status, title):
            line(text, 12)
        line(f"附加装置应能在规定的压力范围内连续工作，并应记录{letter}号测量值，直到操作者读取为止。")

    found = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done())).sections
    annexes = [(each.number, each.title, each.informative) for each in found[-2:]]
    assert annexes == [("A", "试验方法", False), ("B", "示例", True)]


def test_marks_of_inserted_items_are_marks() -> None:
    items = ["9m1) one;", "9m2) two;", "a1) one;", "a2) two;", "(iv-a) one;", "(iv-b) two;", "2bis. one;", "2ter. two;"]
    pairs = zip(items[::2], items[1::2], strict=True)
    document = _read("# Marks\n\n" + "".join(f"These apply:\n\n{one}\n\n\n{two}\n\n" for one, two in pairs))
    marked = [block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.LIST_ITEM]
    assert marked == items
