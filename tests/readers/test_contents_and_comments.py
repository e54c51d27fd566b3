"""What word processors add to the pages that they export: lists of contents with page numbers, and comments."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Document
from tests.readers.docx_files import p, read_docx, run, style
from tests.readers.shown import outline
from tests.readers.test_html import read as read_html
from tests.readers.test_markdown_structure import read as read_markdown

_TITLES = ("Scope", "Terms", "Rules", "Tests", "Marking", "Delivery")
_TEXT = "The machine shall stop."


def _page(contents: str, links: range = range(1, 7)) -> str:
    numbered = list(enumerate(_TITLES, 1))
    made = "".join(contents.format(at, title, 4 * at) for at, title in numbered if at in links)
    clauses = "".join(f'<h2 id="c{at}">{at} {title}</h2><p>{_TEXT}</p>' for at, title in numbered)
    return f"<h1>Machines</h1>{made}{clauses}"


def test_contents_of_a_page_may_be_paragraphs_with_page_numbers() -> None:
    document = read_html(_page('<p><a href="#c{0}">{0} {1}&nbsp;{2}</a></p>'))
    assert document.text.count("Marking") == 1
    assert "20" not in document.text


def test_a_list_below_a_title_that_names_it_may_leave_out_many_headings() -> None:
    items = _page('<li><a href="#c{0}">{0} {1}</a></li>', range(1, 5))
    items = items.replace("<li>", "<h2>Table of Contents</h2><ul><li>", 1).replace("</li><h2", "</li></ul><h2", 1)
    many = "".join(f"<h2>{at} More</h2><p>{_TEXT}</p>" for at in range(7, 15))
    assert read_html(items + many).text.count("Rules") == 1
    assert read_html(items.replace("Table of Contents", "Most used") + many).text.count("Rules") == 2


@pytest.mark.parametrize(
    ("contents", "heading"),
    [
        ("[{0} {1}\t{2}](#{0}-{1})\n\n", "# **{0} {1}** {{#{0}-{1}}}"),
        ("- [{1}](#{1})\n", "# {0}. {1} <a id='{1}'></a>"),
    ],
)
def test_contents_in_markdown_may_have_page_numbers_and_headings_anchors(contents: str, heading: str) -> None:
    numbered = list(enumerate(_TITLES, 1))
    made = "".join(contents.format(at, title, 4 * at) for at, title in numbered)
    clauses = "\n\n".join(f"{heading.format(at, title)}\n\n{_TEXT}" for at, title in numbered)
    document = read_markdown(f"# Machines\n\n**Table of Contents**\n\n{made}\n\n{clauses}\n")
    assert document.text.count("Marking") == 1
    assert "20" not in document.text


def test_paragraphs_of_links_that_name_no_headings_are_text() -> None:
    links = "\n\n".join(f"[The {title} page](#{title})" for title in _TITLES)
    document = read_markdown(f"# Machines\n\n{links}\n\n" + "\n\n".join(f"# {title}\n\n{_TEXT}" for title in _TITLES))
    assert "The Marking page" in document.text


def _commented() -> Document:
    mark, note = (
        '<sup><a href="#cmnt{0}" id="cmnt_ref{0}">[{1}]</a></sup>',
        '<a href="#cmnt_ref{0}" id="cmnt{0}">[{1}]</a>',
    )
    notes = "".join(
        f"<div><p>{note.format(at, letter)}<span>{words}</span></p></div>"
        for at, letter, words in ((1, "a", "MUST or SHOULD?"), (2, "b", "It shall be longer."))
    )
    text = f"<p>The machine{mark.format(1, 'a')} shall stop{mark.format(2, 'b')} at once.</p>"
    return read_html(f"<h1>1 Rules</h1>{text}{notes}")


def test_comments_of_a_page_are_metadata_and_leave_no_marks() -> None:
    document = _commented()
    assert document.text.split("\n")[-1] == "The machine shall stop at once."
    assert "shall be longer" not in document.text
    assert dict(document.metadata)["comments"] == "comment: MUST or SHOULD? | comment: It shall be longer."
    assert document.warnings == ("2 comments were omitted.",)


def test_a_note_that_only_looks_like_a_comment_is_text() -> None:
    document = read_html('<h1>1 Rules</h1><p>It stops.</p><p><a href="#cmnt_ref1" id="cmnt1">[a]</a> See below.</p>')
    assert "See below." in document.text


def test_a_number_and_a_term_alone_in_bold_are_a_clause_of_a_terms_clause() -> None:
    styles = style("H1", "heading 1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
    entries = "".join(
        p(run(f"2.{at} {term}", "<w:b/>")) + p(f"{term.lower()} that moves") for at, term in ((1, "Pump"), (2, "Valve"))
    )
    document = read_docx(p("2 Terms and definitions", "H1") + entries + p("3 Use", "H1") + p(_TEXT), styles=styles)
    assert outline(document)[1:3] == [(2, "2.1", "Pump"), (2, "2.2", "Valve")]
