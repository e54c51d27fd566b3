"""Names that a file gives to places in it stand where a browser or an editor would jump to."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Document, ReferenceKind
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.readers.docx_files import bookmark, content_item, docx_bytes, heading, p, run, style
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of


def markdown(text: str) -> Document:
    return MarkdownReader(sandbox=HERE).read(item_of(text.encode(), "page.md"))


def html(text: str) -> Document:
    return HtmlReader(sandbox=InProcessSandbox()).read(item_of(text.encode(), "page.html"))


def named(document: Document) -> dict[str, str]:
    """Give the line that stands where each name leads."""
    return {each.name: document.text[each.place :].partition("\n")[0] for each in document.anchors}


def test_markdown_headings_are_named_by_their_words_and_by_what_is_written_into_them() -> None:
    document = markdown(
        "# Guide\n\n## 5.3 Duty *pumps* {#duty}\n\n<a name='old'></a>\n\n## Notes\n\nOne.\n\n## Notes\n\nTwo.\n\n"
        '<h2 id="raw">Raw</h2>\n'
    )
    assert named(document) == {
        "guide": "Guide",
        "53-duty-pumps": "5.3 Duty pumps",
        "duty": "5.3 Duty pumps",
        "notes": "Notes",
        "old": "Notes",
        "notes-1": "Notes",
        "raw": "Raw",
    }
    places = {each.name: each.place for each in document.anchors}
    assert places["notes-1"] > places["notes"] == places["old"]


def test_markdown_names_stand_at_the_block_that_they_precede_or_stand_in() -> None:
    document = markdown(
        "# Guide\n\n<a id='before'></a>\n\nA paragraph.\n\nAnother <span id='inside'>one</span>.\n\n"
        "| a | b |\n|---|---|\n| <a id='cell'></a>1 | 2 |\n\n<div id='box'><p id='par'>In a box.</p></div>\n\n"
        "<p>Words.</p><a id='behind'></a>\n\nLast.\n"
    )
    assert {name: line for name, line in named(document).items() if name != "guide"} == {
        "before": "A paragraph.",
        "inside": "Another one.",
        "cell": "| a | b |",
        "box": "In a box.",
        "par": "In a box.",
        "behind": "Last.",
    }


def test_a_markdown_link_to_a_named_table_is_one_to_the_table() -> None:
    document = markdown(
        "# A\n\nSee [it](#loads).\n\n<a id='loads'></a>\n\nTable 2 - Loads\n\n| a | b |\n|-|-|\n| 1 | 2 |\n"
    )
    assert [(each.kind, each.target) for each in document.references] == [(ReferenceKind.TABLE, "Table 2")]
    assert named(document)["loads"] == "Table 2 - Loads"


def test_elements_of_a_page_are_named_where_they_begin() -> None:
    document = html(
        "<div id=whole>Lead-in words <h2 id=rules>4.2 Rules</h2><p>One<a name=here> two</a>.</p>"
        "<section id=sec><p>In the section.</p></section><ul><li id=item>An item</ul>"
        "<dl><dt id=pump>pump<dd>moves water<dt id=valve>valve<dd id=shuts>shuts</dl>"
        "<dl><dt id=lone>alone<dt id=last>last</dl><h3>End</h3>"
        "<figure id=fig><figcaption>Figure 3: A pump</figcaption></figure>"
        "<table id=tab><tr><td id=cell>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table></div>"
    )
    assert named(document) == {
        "whole": "Lead-in words",
        "rules": "4.2 Rules",
        "here": "One two.",
        "sec": "In the section.",
        "item": "• An item",
        "pump": "pump: moves water",
        "valve": "valve: shuts",
        "shuts": "valve: shuts",
        "lone": "alone",
        "last": "last",
        "fig": "Figure 3: A pump",
        "tab": "| a | b |",
        "cell": "| a | b |",
    }


def test_names_of_elements_without_words_go_to_what_comes_next() -> None:
    document = html("<p><a id=a></a></p><div id=b></div><p>First.</p><p id=c></p><h2>Second</h2>")
    assert named(document) == {"a": "First.", "b": "First.", "c": "Second"}


def test_a_link_of_a_page_to_a_named_figure_is_one_to_the_figure() -> None:
    document = html("<p>See <a href=#f>this</a>.</p><figure id=f><figcaption>Figure 3: A pump</figcaption></figure>")
    assert [(each.kind, each.target) for each in document.references] == [(ReferenceKind.FIGURE, "Figure 3")]


def test_of_one_name_for_two_places_the_first_counts() -> None:
    assert named(html("<p id=x>First.</p><p id=x>Second.</p>")) == {"x": "First."}


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_a_word_link_to_a_bookmark_without_a_number_leads_to_where_it_stands() -> None:
    link = f'<w:hyperlink w:anchor="_care">{run("care")}</w:hyperlink>'
    lost = f'<w:hyperlink w:anchor="_gone">{run("gone")}</w:hyperlink>'
    body = p(run("See ") + link + run(", ") + lost + run("."))
    body += p("x = 1", "C") + p(bookmark("_care", run("Take care of the valves.")))
    body += p(bookmark("kept", "")) + heading(1, "Notes") + p(bookmark("_own", run("Unused.")))
    document = DocxReader(sandbox=HERE).read(content_item(docx_bytes(body, styles=style("C", "Code"))))
    assert [(each.kind, each.target, each.text) for each in document.references] == [
        (ReferenceKind.LINK, "#_care", "care")
    ]
    assert named(document) == {"_care": "Take care of the valves.", "kept": "1 Notes"}
