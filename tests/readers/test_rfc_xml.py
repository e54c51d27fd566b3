"""The XML of the IETF is read as its readers see it: numbered sections, lists, tables, references."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.data.reader import DataReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

READER = DataReader(sandbox=InProcessSandbox())

OLD_FORM = """<?xml version="1.0"?>
<rfc docName="draft-crane-01" ipr="trust200902">
 <front>
  <title abbrev="Cranes">The Crane Protocol</title>
  <author fullname="Ada Hook"/><date month="May" year="2021"/>
  <abstract><t>How cranes talk.</t></abstract>
 </front>
 <middle>
  <section title="Introduction" anchor="intro">
   <t>See <xref target="lift"/>, <xref target="RFC2119">the key words</xref> and <xref target="ISO1"/>.</t>
  </section>
  <section title="Messages">
   <section title="Lift" anchor="lift">
    <t>A crane MUST answer:
     <list style="numbers"><t>in 5 s,</t><t>once.</t></list>
     Nothing else.</t>
    <figure><artwork>LIFT 5
  DONE</artwork></figure>
    <texttable><ttcol>Name</ttcol><ttcol>Load</ttcol><c>A</c><c>12</c></texttable>
   </section>
  </section>
 </middle>
 <back>
  <references title="Normative References">
   <reference anchor="ISO1"><front><title>Hooks</title></front><seriesInfo name="ISO" value="1"/></reference>
  </references>
  <section title="History"><t>None.</t></section>
 </back>
</rfc>
"""
NEW_FORM = """<rfc number="9999" version="3">
 <front><title>The Crane Protocol</title><abstract><t>How cranes talk.</t></abstract></front>
 <middle>
  <section anchor="intro"><name>Introduction</name>
   <t>A crane <bcp14>MUST</bcp14> answer <em>once</em>, see <xref target="X" section="4.2"/>, up to 10<sup>3</sup>.</t>
   <ul><li>red</li><li><t>dry</t></li></ul>
   <dl><dt>hook</dt><dd>thing that holds</dd></dl>
   <table><thead><tr><th>Name</th><th>Load</th></tr></thead><tbody><tr><td>A</td><td>12</td></tr></tbody></table>
  </section>
  <section numbered="false"><name>Thanks</name><t>To all.</t></section>
  <section><name>Security</name><sourcecode>if (a &lt; b)
  stop();</sourcecode></section>
 </middle>
</rfc>
"""


_SECTIONS = ("A History", "Thanks")


def read(text: str) -> Document:
    return READER.read(item_of(text.encode(), "crane.xml"))


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (
            OLD_FORM,
            [
                "The Crane Protocol",
                "Abstract",
                "1 Introduction",
                "2 Messages",
                "2.1 Lift",
                "Normative References",
                "A History",
            ],
        ),
        (NEW_FORM, ["The Crane Protocol", "Abstract", "1 Introduction", "Thanks", "2 Security"]),
    ],
)
def test_sections_have_the_numbers_that_readers_see_and_their_lines(text: str, headings: list[str]) -> None:
    document = read(text)
    assert [section.label for section in document.sections] == headings
    lines = text.split("\n")
    starts = [lines[block.lines[0] - 1] for block in document.blocks if block.kind is BlockKind.HEADING and block.lines]
    assert ["<section" in line for line in starts] == [title[0].isdigit() or title in _SECTIONS for title in headings]


def test_words_lists_code_and_tables_of_the_older_form_are_read() -> None:
    document = read(OLD_FORM)
    said = [(block.kind, block.span.of(document.text)) for block in document.blocks]
    assert (BlockKind.PARAGRAPH, "See Section 2.1, the key words and [ISO1].") in said
    assert (BlockKind.PARAGRAPH, "A crane MUST answer:") in said
    assert [text for kind, text in said if kind is BlockKind.LIST_ITEM] == ["1. in 5 s,", "2. once."]
    assert (BlockKind.CODE, "LIFT 5\n  DONE") in said
    assert (BlockKind.TABLE, "| Name | Load |\n| --- | --- |\n| A | 12 |") in said
    assert (BlockKind.PARAGRAPH, "[ISO1] Hooks, ISO 1") in said
    assert dict(document.metadata)["designation"] == "draft-crane-01"


def test_words_lists_code_and_tables_of_the_newer_form_are_read() -> None:
    document = read(NEW_FORM)
    said = [block.span.of(document.text) for block in document.blocks if block.kind is not BlockKind.HEADING]
    assert said == [
        "How cranes talk.",
        "A crane MUST answer once, see Section 4.2 of [X], up to 10³.",
        "• red",
        "• dry",
        "hook: thing that holds",
        "| Name | Load |\n| --- | --- |\n| A | 12 |",
        "To all.",
        "if (a < b)\n  stop();",
    ]


def test_captions_spans_and_what_a_printer_writes_are_read() -> None:
    document = read(
        """<!DOCTYPE rfc [<!ENTITY nbsp "&#160;"><!ENTITY nbhy "&#8209;">]>
<rfc docName="draft-crane-02"><front><title>Cranes</title></front><middle>
 <section anchor="load"><name>Loads</name>
  <t>A hook
   MUST&nbsp;NOT be a SET&nbhy;HOOK.</t>
  <ul><li><t>red</t></li></ul>
  <figure title="A hook"><artwork>J</artwork></figure>
  <texttable title="Loads"><ttcol>Name</ttcol><ttcol>See</ttcol><c>A</c><c><xref target="load"/></c></texttable>
  <table><name>Masts</name><thead><tr><th colspan="2">Mast</th></tr></thead>
   <tbody><tr><td>1</td><td>2</td></tr></tbody></table>
 </section></middle>
 <back><references><referencegroup anchor="BCP14"><reference anchor="RFC2119"><front><title>Key words</title></front>
 </reference></referencegroup></references></back></rfc>"""
    )
    said = [block.span.of(document.text) for block in document.blocks if block.kind is not BlockKind.HEADING]
    assert said == [
        "A hook MUST NOT be a SET\u2011HOOK.",
        "• red",
        "A hook",
        "J",
        "Loads",
        "| Name | See |\n| --- | --- |\n| A | Section 1 |",
        "Masts",
        "| Mast | |\n| --- | --- |\n| 1 | 2 |",
        "[RFC2119] Key words",
    ]
    assert next(block.lines for block in document.blocks if block.kind is BlockKind.PARAGRAPH) == (4, 5)


def test_another_file_with_such_a_name_is_data() -> None:
    document = read("<rfc><size>5</size><front>left</front></rfc>")
    assert "size: 5" in document.text
