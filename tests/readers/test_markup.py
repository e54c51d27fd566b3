"""reStructuredText and AsciiDoc: what specifications use of them is read, nothing else is opened, no word is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import BlockKind, Document, HiddenReason, ReferenceKind
from knowledge_mcp.model.errors import ConfigError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.markup.reader import MarkupReader
from tests.machine import examples
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of
from tests.readers.shown import kinds

READER = MarkupReader(sandbox=InProcessSandbox())

RST = """\
============
Crane Rules
============
:Version: 1.2

.. _scope:

1 Scope
=======

A crane shall be greased, see `2 Terms`_, :ref:`scope` and :doc:`other <other>`. Also :rfc:`2119`.

.. note:: Keep it dry.

.. req:: A crane shall stop
   :id: REQ-7
   :status: open

   Within *three* seconds.

2 Terms
=======

hook
   thing that holds

.. list-table:: Limits
   :header-rows: 1

   * - Id
     - Limit
   * - A
     - 12 t

.. include:: /etc/passwd

.. raw:: html

   <script>x</script>
"""

ADOC = """\
= Crane Rules
A. Writer <a@example.org>
v1.2, 2024-05-01
:sectnums:
:thing: crane

[[scope]]
== Scope

A {thing} *shall* be greased, see <<terms>>, <<req-7,the stop>> and https://example.org/a[the site].
A snake_case_name stays.

NOTE: Keep it dry.

.Limits
[cols="1,2",options="header"]
|===
| Id | Limit

.2+| A | 12 t
| 13 t
2+| Both
|===

[#terms]
== Terms

[[req-7]]hook:: thing that holds

* one
** two
+
----
code here
----

include::/etc/passwd[]

[appendix]
== Forms

=== Inner

Last words.
"""


def read(text: str, name: str) -> Document:
    item = item_of(text.encode(), name)
    READER.check(item)
    return READER.read(item)


def led(document: Document) -> dict[str, tuple[ReferenceKind, str]]:
    return {each.text: (each.kind, each.target) for each in document.references}


def test_restructured_text_gives_sections_notes_terms_tables_and_references() -> None:
    document = read(RST, "rules.rst")
    assert document.title == "Crane Rules"
    assert dict(document.metadata) == {"version": "1.2"}
    assert [(each.number, each.title) for each in document.sections] == [
        (None, "Crane Rules"),
        ("1", "Scope"),
        ("2", "Terms"),
    ]
    found = kinds(document)
    assert ("note", "Note: Keep it dry.") in found
    assert ("paragraph", "hook: thing that holds") in found
    assert ("caption", "Limits") in found
    assert ("table", "| Id | Limit |\n| --- | --- |\n| A | 12 t |") in found
    assert led(document)["2 Terms"] == (ReferenceKind.CLAUSE, "2")
    assert led(document)["1 Scope"] == (ReferenceKind.CLAUSE, "1")


def test_lists_that_are_indented_below_their_words_stay_lists() -> None:
    document = read(
        "Head\n====\n\nThere are levels:\n\n   * System\n   * Part\n\n     - Bolt\n\n   Said so.\n", "a.rst"
    )
    assert kinds(document)[2:] == [
        ("list_item", "• System"),
        ("list_item", "• Part"),
        ("list_item", "• Bolt"),
        ("quote", "Said so."),
    ]


def test_a_directive_that_nobody_knows_keeps_its_words_and_its_identifier() -> None:
    document = read(RST, "rules.rst")
    text = [words for _, words in kinds(document)]
    at = text.index("REQ-7: A crane shall stop")
    assert text[at + 1 : at + 3] == ["status: open", "Within three seconds."]
    assert "req-7" in {each.name for each in document.anchors}


def test_names_that_the_file_does_not_define_stay_as_written_and_are_reported_but_not_in_the_text() -> None:
    document = read("Cranes\n======\n\nA |hook| and an `unknown`_ place.\n\nRopes\n-----\n\nRed.\n", "cranes.rst")
    assert "System Message" not in document.text
    assert document.text.endswith("Red.")
    assert "|hook|" in document.text
    assert any("hook" in warning and "line 4" in warning for warning in document.warnings)


def test_docutils_gets_a_very_long_paragraph_in_parts_and_all_its_words_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from docutils.parsers.rst import states

    parts: list[int] = []
    parse: Any = states.Inliner.parse

    def measured(inliner: Any, text: str, *rest: Any) -> Any:
        parts.append(len(text))
        return parse(inliner, text, *rest)

    monkeypatch.setattr(states.Inliner, "parse", measured)
    sentences = [f"Valve {number} has a *red* mark and an ``open one." for number in range(400)]
    document = read("Valves\n======\n\n" + " ".join(sentences) + "\n", "a.rst")

    assert max(parts) <= 4000 < sum(parts)
    assert document.text.partition("\n\n")[2] == " ".join(sentences).replace("*red*", "red")
    assert any("line 4" in warning and "without end-string" in warning for warning in document.warnings)


def test_substitutions_that_double_are_refused_before_they_grow() -> None:
    nested = "".join(f".. |a{number}| replace:: |A{number + 1}| |a{number + 1}|\n" for number in range(40))
    with pytest.raises(UnreadableDocumentError) as caught:
        read(f"A\n=\n\n{nested}.. |a40| replace:: lol\n\n|a0|\n", "a.rst")
    assert caught.value.reason is UnreadableReason.TOO_LARGE
    assert read(".. |a| replace:: |b|!\n.. |b| replace:: pump\n\nThe |A|.\n", "a.rst").text == "The pump!."


def test_restructured_text_opens_no_other_file_and_says_so() -> None:
    document = read(RST, "rules.rst")
    assert "root:" not in document.text
    assert ".. include:: /etc/passwd" in document.text
    assert any('"include" directive disabled' in warning for warning in document.warnings)
    assert any('"raw" directive disabled' in warning for warning in document.warnings)
    table = read("T\n=\n\n.. csv-table:: x\n   :file: /etc/passwd\n", "t.rst")
    assert "root:" not in table.text


def test_restructured_text_keeps_a_lone_section_below_the_title() -> None:
    document = read("Title\n=====\n\nPart\n----\n\nWords.\n", "a.rst")
    assert [(each.level, each.title) for each in document.sections] == [(1, "Title"), (2, "Part")]


def test_without_docutils_the_install_line_is_named() -> None:
    reader = MarkupReader(sandbox=InProcessSandbox(), installed=lambda _: False)
    with pytest.raises(ConfigError) as caught:
        reader.check(item_of(b"x", "a.rst"))
    assert "[office]" in (caught.value.suggestion or "")


def test_asciidoc_gives_numbered_sections_notes_terms_tables_and_references() -> None:
    document = read(ADOC, "rules.adoc")
    assert document.title == "Crane Rules"
    assert dict(document.metadata) == {"author": "A. Writer", "version": "1.2", "date": "2024-05-01"}
    assert [(each.number, each.title) for each in document.sections] == [
        (None, "Crane Rules"),
        ("1", "Scope"),
        ("2", "Terms"),
        ("A", "Forms"),
        ("A.1", "Inner"),
    ]
    found = kinds(document)
    assert found[2] == (
        "paragraph",
        "A crane shall be greased, see Terms, the stop and the site. A snake_case_name stays.",
    )
    assert ("note", "Note: Keep it dry.") in found
    assert ("table", "| Id | Limit |\n| --- | --- |\n| A | 12 t |\n| A | 13 t |\n| Both | |") in found
    assert ("paragraph", "hook: thing that holds") in found
    assert [words for kind, words in found if kind in {"list_item", "code"}] == ["• one", "• two", "code here"]
    assert led(document) == {
        "Terms": (ReferenceKind.CLAUSE, "2"),
        "the stop": (ReferenceKind.LINK, "#req-7"),
        "the site": (ReferenceKind.LINK, "https://example.org/a"),
    }
    assert "root:" not in document.text
    assert any("/etc/passwd" in warning for warning in document.warnings)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (RST, "rules.rst", ["Crane Rules", "1 Scope", "Keep it dry.", "2 Terms", "thing that holds", "12 t"]),
        (
            ADOC,
            "rules.adoc",
            ["Crane Rules", "Scope", "Keep it dry.", "Forms", "thing that holds", "12 t", "code here"],
        ),
    ],
)
def test_blocks_have_the_lines_on_which_their_words_stand(text: str, name: str, expected: list[str]) -> None:
    document, lines = read(text, name), text.splitlines()
    assert all(block.lines for block in document.blocks if block.kind is BlockKind.HEADING)
    for words in expected:
        block = next(each for each in document.blocks if words in each.span.of(document.text))
        assert block.lines is not None
        first, last = block.lines
        assert any(words in line for line in lines[first - 1 : last])
        assert last - first < 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Title\n=====\n\nPart\n----\n\nOld form.\n", ["Title", "Part", "Old form."]),
        ("[NOTE]\n====\nFirst.\n\nSecond.\n====\n", ["Note: First.", "Second."]),
        ("[quote]\n____\nSaid so.\n____\n", ["Said so."]),
        ("[source,c]\n----\nint *x; // <<a>>\n----\n", ["int *x; // <<a>>"]),
        ("////\nhidden\n////\nShown.\n", ["Shown."]),
        (",===\na,b\nc,d\n,===\n", ["| a | b |\n| --- | --- |\n| c | d |"]),
        (". first\n. second\n", ["1. first", "2. second"]),
        ("term::\n+\n--\nBody.\n--\n", ["term", "Body."]),
        ("At most 2^20^ of H~2~O, n&#8800;0, R&amp;D, x^n^.\n", ["At most 2²⁰ of H₂O, n≠0, R&D, x^n."]),
        (
            "== T {counter:t}\n\n{counter:r:4} of {r}, {counter:r}, {counter2:t}{t}\\{counter:t} {r:1}"
            "\n\n== T {counter:t}\n",
            ["T 1", "4 of 4, 5, 2{counter:t} {r:1}", "T 3"],
        ),
        (":appendix-caption: Annex\n\n[appendix]\n== Tests\n", ["Annex A Tests"]),
        ("Use `*a*` and *b* and _c_ and \\*d*.\n", ["Use *a* and b and c and *d*."]),
        (
            "The reg:mode[] register has bit:::[k], reg::[run] and x[3:0].\n",
            ["The mode register has bit:::[k], run and x[3:0]."],
        ),
    ],
)
def test_asciidoc_blocks_and_marks(text: str, words: list[str]) -> None:
    assert [found for _, found in kinds(read(text, "a.adoc"))] == words


@pytest.mark.parametrize(
    ("text", "name", "markers"),
    [
        ("T\n=\n\na. one\n#. two\n\n   i. x\n   #. y\n\nA. else\n", "a.rst", "a. b. i. ii. A."),
        (". one\n.. x\n... y\n. two\n", "a.adoc", "1. a. i. 2."),
        (". one\n[upperroman]\n.. x\n.. y\n. two\n", "a.adoc", "1. I. II. 2."),
        (". one\n\n[start=4]\n. four\n. five\n", "a.adoc", "1. 4. 5."),
        ("[loweralpha]\n. one\n. two\n\n* bullet\n.. in it\n", "a.adoc", "a. b. • a."),
    ],
)
def test_items_have_the_numbers_that_are_printed(text: str, name: str, markers: str) -> None:
    assert " ".join(b.marker for b in read(text, name).blocks if b.kind is BlockKind.LIST_ITEM) == markers


def outcome(text: str, name: str) -> str:
    try:
        return read(text, name).text
    except UnreadableDocumentError as error:
        return error.reason


@settings(max_examples=examples(150), deadline=None)
@given(st.text(st.sampled_from("=-*.|+_`~:#[]<>{}(),;/!^ \nabAB1x"), max_size=200))
def test_whatever_asciidoc_holds_it_ends_in_a_document_or_is_empty(text: str) -> None:
    assert outcome(f"A{text}", "a.adoc")


@settings(max_examples=examples(60), deadline=None)
@given(st.text(st.sampled_from("=-*.|+_`~:#[]<>{}()\n abAB1x"), max_size=200))
def test_whatever_restructured_text_holds_it_ends_in_a_document_or_is_empty(text: str) -> None:
    assert outcome(f"A{text}", "a.rst") != UnreadableReason.CORRUPTED


def test_a_picture_of_asciidoc_has_its_title_and_the_words_for_it_and_no_attributes() -> None:
    text = """== Model

image::model.png[align="center", title="Model ... one host, and one device."]

image::state.svg[States of a device,width=50%]

|===
|Key |Picture
|a
a|image::a.png[A circle,20]
|===
"""
    document = read(text, "a.adoc")
    said = [(block.kind, block.span.of(document.text)) for block in document.blocks[1:]]
    assert said == [
        (BlockKind.CAPTION, "Figure 1. Model ... one host, and one device."),
        (BlockKind.PARAGRAPH, "States of a device"),
        (BlockKind.TABLE, "| Key | Picture |\n| --- | --- |\n| a | A circle |"),
    ]


def test_tables_in_the_cells_of_a_table_of_asciidoc_are_tables() -> None:
    text = """.A test
[cols="1a,1a",frame=none]
|===
|
[cols="2*",options=header]
!===
!Hart 0 !Hart 1
!li t1 !li t4
!===
|
!===
a!image::a.png[]
!===
|===

|===
|
[cols=1]
!===
!Alone
!===
|Beside it
|===
"""
    document = read(text, "a.adoc")
    said = [block.span.of(document.text) for block in document.blocks]
    assert said[:2] == ["Table 1. A test", "| Hart 0 | Hart 1 |\n| --- | --- |\n| li t1 | li t4 |"]
    assert "Beside it" in said[2]
    assert "Alone" in said[3]
    assert "!" not in document.text


def test_a_table_in_a_cell_of_asciidoc_has_the_columns_of_its_first_row() -> None:
    document = read('[cols="1a"]\n|===\n|\n!===\n!Key !Value\n!a !b\n!===\n|===\n', "a.adoc")
    assert "| Key | Value |\n| --- | --- |\n| a | b |" in document.text


def test_comments_line_breaks_and_blocks_in_cells_of_asciidoc_read_as_words() -> None:
    cells = "|Part |v1: 1 +\nv3: 3\n// --- Contact ---\n|Range\n|Both:\n\n* -2^N-1^\n* 2^N^\n"
    note = "\n[NOTE]\n====\nMind it.\n====\n"
    document = read(f'[cols="1,2a"]\n|===\n|Name |Values\n\n{cells}{note}|===\n', "a.adoc")
    assert document.text.split("\n")[2:] == [
        "| Part | v1: 1 v3: 3 |",
        "| Range | Both: • -2^(N-1) • 2^N Note: Mind it. |",
    ]


def test_what_is_marked_in_asciidoc_goes_over_lines_and_may_hold_links() -> None:
    text = """== Rules

[#norm:misa_op]#The extension is enabled by setting
bit 7 in `misa`, see <<rules>>.# It is [underline]#never#
an *optional, _very
dense_ encoding*, and 2 * 3 is 6 * 1.
"""
    document = read(text, "a.adoc")
    assert (
        document.text.split("\n\n", 1)[1].split()
        == (
            "The extension is enabled by setting bit 7 in misa, see rules. It is never an optional, very dense"
            " encoding, and 2 * 3 is 6 * 1."
        ).split()
    )
    assert [reference.text for reference in document.references] == ["rules"]
    place = next(anchor.place for anchor in document.anchors if anchor.name == "norm:misa_op")
    assert document.text[place:].startswith("The extension")


@pytest.mark.parametrize("struck", ["[.line-through]#24 V#", "[.red.line-through]##24 V##", "[line-through]#24 V#"])
def test_words_with_the_role_that_strikes_them_out_are_no_text(struck: str) -> None:
    document = read(f"= Drive\n\nIt is {struck} 28 V; write `[.line-through]#so#` for that.\n", "a.adoc")
    assert document.text.endswith("It is 28 V; write #so# for that.")
    assert document.hidden == ((HiddenReason.STRUCK.value, 3),)


@pytest.mark.parametrize(
    ("name", "role"), [("gone", ".. role:: gone\n   :class: strike\n\n"), ("del", ".. role:: del\n\n"), ("strike", "")]
)
def test_words_of_a_role_that_strikes_out_are_no_text(name: str, role: str) -> None:
    document = read(f"Drive\n=====\n\n{role}It is :{name}:`24 V` 28 V.\n", "a.rst")
    assert document.text.endswith("It is 28 V.")
    assert document.hidden == ((HiddenReason.STRUCK.value, 3),)


PROPOSAL = """\
Proposal: 12
Title: Signals of Cranes
Author: A. Writer <writer@example.org>,
        B. Writer <other@example.org>
Status: `Final <https://example.org/1>`__, `again <https://example.org/2>`__

Abstract
========

A crane signals as :rfc:`its rules <9110#section-2>`, :pep:`8` and :pep:`554#names` say. See :rfc:`the list`.
"""


def test_a_header_as_of_an_email_gives_the_properties_and_the_title() -> None:
    document = read(PROPOSAL, "proposal-0012.rst")
    facts = dict(document.metadata)
    assert (document.title, facts["proposal"], facts["status"]) == ("Signals of Cranes", "12", "Final, again")
    assert facts["author"] == "A. Writer <writer@example.org>, B. Writer <other@example.org>"
    assert document.text.startswith("Abstract")
    assert document.warnings == ()
    for other in (PROPOSAL.replace("Title: ", "Note: "), f"{PROPOSAL.partition('Abstract')[0]}.. rejected::\n"):
        assert "Author: A. Writer" in read(other, "proposal-0012.rst").text


def test_roles_of_a_number_keep_their_words_and_lead_to_the_document() -> None:
    document = read(PROPOSAL, "proposal-0012.rst")
    assert "A crane signals as its rules, PEP 8 and PEP 554 say. See the list." in document.text
    assert any("9110" in reference.target for reference in document.references)
