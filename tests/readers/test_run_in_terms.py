"""Terms that run into their definition: a number and a term set apart are a clause; a full stop may follow the term."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from tests.fakes.documents import Part, build_document
from tests.readers.docx_files import p, read_docx, run, style
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of

_MEANING = "a machine that moves liquids by action"
_STYLES = style("H1", "heading 1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
_WORDS = ("pump", "valve", "pipe")


def _word(lead: str, rest: str) -> Document:
    entries = (
        p(run(lead.format(at, term), "<w:b/><w:i/>") + run(rest.format(at, term))) for at, term in enumerate(_WORDS, 1)
    )
    return read_docx(
        p("3 Terms and definitions", "H1") + "".join(entries) + p("4 Tests", "H1") + p("It ends."), styles=_STYLES
    )


def _page(lead: str, rest: str) -> Document:
    entries = (f"<p><em>{lead.format(at, term)}</em>{rest.format(at, term)}</p>" for at, term in enumerate(_WORDS, 1))
    text = f"<h1>3 Terms and definitions</h1>{''.join(entries)}<h1>4 Tests</h1><p>It ends.</p>"
    return HtmlReader(sandbox=HERE).read(item_of(text.encode(), "a.html"))


@pytest.mark.parametrize("made", [_word, _page])
@pytest.mark.parametrize(
    ("lead", "rest"),
    [
        ("3.{0} {1}:", f" {_MEANING}"),
        ("3.{0} {1}", f" — {_MEANING}"),
        ("3.{0} {1}.", f" {_MEANING}"),
    ],
)
def test_a_number_and_a_term_set_apart_are_a_clause_with_the_definition(
    made: Callable[[str, str], Document], lead: str, rest: str
) -> None:
    document = made(lead, rest)
    assert [(each.number, each.title) for each in document.sections][1:4] == [
        (f"3.{at}", term) for at, term in enumerate(_WORDS, 1)
    ]
    found = find_definitions(document)
    assert [(each.term, each.clause_number) for each in found] == [
        (term, f"3.{at}") for at, term in enumerate(_WORDS, 1)
    ]
    assert all(each.text.strip(" —") == _MEANING for each in found)


@pytest.mark.parametrize("made", [_word, _page])
@pytest.mark.parametrize(
    ("lead", "rest"),
    [("{1}", f" — {_MEANING}"), ("", f"3.{{0}} {{1}}: {_MEANING}"), ("9.{0} {1}:", f" {_MEANING}")],
    ids=["no number", "nothing set apart", "numbers of another clause"],
)
def test_other_terms_stay_paragraphs_of_their_clause(
    made: Callable[[str, str], Document], lead: str, rest: str
) -> None:
    assert [each.number for each in made(lead, rest).sections] == ["3", "4"]


def _terms(*paragraphs: str) -> list[tuple[str, str]]:
    parts = [Part(BlockKind.HEADING, "Definitions", level=1, number="202")]
    document = build_document([*parts, *(Part(BlockKind.PARAGRAPH, words) for words in paragraphs)])
    return [(each.term, each.text) for each in find_definitions(document)]


_STOPPED = [
    "PUMP. A machine that moves liquids.",
    "PIPE FITTING. Any part between pipes.",
    "Valve. A device that closes.",
]


def test_terms_before_a_full_stop_are_defined_where_a_section_prints_them_so() -> None:
    assert _terms(*_STOPPED) == [
        ("PUMP", "A machine that moves liquids."),
        ("PIPE FITTING", "Any part between pipes."),
        ("Valve", "A device that closes."),
    ]


@pytest.mark.parametrize(
    "paragraphs",
    [
        _STOPPED[:2],
        [
            *_STOPPED,
            "The terms apply to pumps. They are used below.",
            "Other terms are in the index. See it.",
            "It holds.",
        ],
        [
            "The pump runs. It is loud at night.",
            "The pipe leaks. It is repaired soon.",
            "The valve closes. It is tested.",
        ],
    ],
    ids=["too few", "most are text", "sentences"],
)
def test_sentences_of_a_terms_clause_are_no_terms(paragraphs: list[str]) -> None:
    assert _terms(*paragraphs) == []
