"""CSV, JSON and XML files: no value is lost, each stands under its path, and hostile ones end in a clear word."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.data.csv import delimiter_of
from knowledge_mcp.readers.data.reader import DataReader
from knowledge_mcp.support.sandbox import Limits
from tests.machine import examples
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

READER = DataReader(sandbox=InProcessSandbox())


def read(data: bytes | str, name: str) -> Document:
    item = item_of(data.encode() if isinstance(data, str) else data, name)
    READER.check(item)
    return READER.read(item)


def refusal(data: bytes, name: str) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.read(item_of(data, name))
    assert name in caught.value.message
    return caught.value


def squeezed(text: str) -> str:
    return " ".join(text.split())


WORDS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12)


# ---- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.4")
def test_a_title_above_a_csv_table_is_text_and_the_table_keeps_its_header() -> None:
    document = read("Doors\nMade 2024\n\nid,text\nR1,shall\nR2,should\n", "a.csv")
    assert document.text == "Doors\n\nMade 2024\n\n| id | text |\n| --- | --- |\n| R1 | shall |\n| R2 | should |"
    assert [block.lines for block in document.blocks] == [(1, 1), (2, 2), (4, 6)]
    assert document.warnings == ()


def test_a_csv_file_of_one_column_keeps_its_commas() -> None:
    document = read("Text\nEach door shall close, quickly.\nNone.\nA third, too.\n", "a.csv")
    assert document.text.endswith("| Each door shall close, quickly. |\n| None. |\n| A third, too. |")
    assert document.warnings == ()


def test_a_csv_file_is_one_table() -> None:
    document = read('name,note\n"a, b","x|y\nz"\nc,\n', "list.csv")
    assert document.text == "| name | note |\n| --- | --- |\n| a, b | x\\|y z |\n| c |"
    assert [block.kind for block in document.blocks] == [BlockKind.TABLE]
    assert document.blocks[0].lines == (1, 3)
    assert document.title == "list"
    assert dict(document.metadata) == {"rows": "3", "columns": "2"}


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("a\tb, c\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("only\nwords here, and there\n", "\x1f"),
    ],
)
def test_the_delimiter_is_found(text: str, delimiter: str) -> None:
    assert delimiter_of(text) == delimiter


def test_a_line_that_names_the_separator_is_obeyed_and_left_out() -> None:
    assert read("sep=;\na;b,c\n", "a.csv").text == "| a | b,c |\n| --- | --- |"


def test_western_letters_without_unicode_are_read_and_doubted() -> None:
    document = read("name;größe\nJürgen;5\n".encode("cp1252"), "a.csv")
    assert "Jürgen" in document.text
    assert "größe" in document.text
    assert any("cp1252" in warning for warning in document.warnings)
    assert "Jürgen" in read("name;größe\nJürgen;5\n".encode("utf-16"), "a.csv").text


def test_rows_of_unequal_length_and_open_quotation_marks_are_reported() -> None:
    assert any("1 of 3 rows" in warning for warning in read("a,b\n1,2\n3\n", "a.csv").warnings)
    document = read('a,b\n"1,2\n3,4\n', "a.csv")
    assert any("quotation marks" in warning for warning in document.warnings)
    assert "3,4" in document.text


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(WORDS, min_size=2, max_size=5), min_size=1, max_size=8), st.sampled_from(",;\t"))
def test_no_cell_of_a_csv_file_is_lost(rows: list[list[str]], delimiter: str) -> None:
    target = io.StringIO()
    csv.writer(target, delimiter=delimiter).writerows([[f"c{k}" for k in range(5)], *([*row, "end"] for row in rows)])
    text = read(f"sep={delimiter}\n{target.getvalue()}", "a.csv").text.replace("\\|", "|")
    place = 0
    for cell in (cell for row in rows for cell in row):
        place = text.index(squeezed(cell), place)


def test_one_endless_row_is_refused_before_it_is_taken_apart() -> None:
    error = refusal(b"x," * 200_000, "a.csv")
    assert error.reason is UnreadableReason.TOO_LARGE
    assert "16384" in error.message


# ---- JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.4")
def test_json_keeps_every_path() -> None:
    many = {f"k{number}": number for number in range(20)}
    data = {
        "title": "Settings",
        "server": {"ports": [80, 443], "tls": {"on": True, "ca": None}, "empty": {}, "none": []},
        "limits": many,
        "nodes": [{"id": number, "many": many} for number in range(2)],
    }
    document = read(json.dumps(data), "a.json")
    lines = [block.span.of(document.text) for block in document.blocks]
    assert document.title == "Settings"
    for line in ("ports: [80, 443]", "tls.on: true", "tls.ca: null", "empty: {}", "none: []"):
        assert f"• server.{line}" in lines
    labels = [[section.title for section in document.ancestors(section.index)] for section in document.sections]
    assert ["limits"] in labels
    assert ["nodes", "nodes[1] – 1", "many"] in labels


def test_numbers_stay_as_they_are_written_and_a_name_may_come_twice() -> None:
    document = read('{"a": 1.10, "b": 1e400, "c": %s, "a": 2}' % ("9" * 5000), "a.json")
    for line in ("a: 1.10", "b: 1e400", f"c: {'9' * 5000}", "a: 2"):
        assert line in document.text


def test_like_records_are_a_table() -> None:
    document = read('[{"id": 1, "name": "a|b"}, {"id": 2}, {"id": 3, "name": "c\\nd"}]', "a.json")
    assert document.text == "| id | name |\n| --- | --- |\n| 1 | a\\|b |\n| 2 |\n| 3 | c d |"


def test_lines_of_json_are_read_as_a_list() -> None:
    assert read('{"a": 1}\n{"a": 2}\n', "a.json").text == "| a |\n| --- |\n| 1 |\n| 2 |"


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"
JSON: st.SearchStrategy[Json] = st.recursive(
    WORDS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=40,
)


def _said(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _said(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


@settings(max_examples=examples(60), deadline=None)
@given(JSON)
def test_no_name_and_no_value_of_a_json_file_is_lost(value: Json) -> None:
    text = squeezed(read(json.dumps({"root": value}), "a.json").text).replace("\\|", "|")
    for words in _said(value):
        assert squeezed(words).replace("\\|", "|") in text


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("data", [b'{"a": 1', b"<html>", b"words", b'{"a": 1}, {"b": 2}'])
def test_broken_json_says_where(data: bytes) -> None:
    error = refusal(data, "a.json")
    assert error.reason is UnreadableReason.CORRUPTED
    assert "line 1, column" in error.message


@pytest.mark.parametrize("data", [b"[" * 100_000, b"[" * 300 + b"1" + b"]" * 300, b'{"a":' * 300 + b"1" + b"}" * 300])
def test_json_nested_without_end_is_refused(data: bytes) -> None:
    assert refusal(data, "a.json").reason in {UnreadableReason.UNSUPPORTED, UnreadableReason.CORRUPTED}


# ---- XML ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.4")
def test_xml_keeps_elements_attributes_and_running_text() -> None:
    data = """<?xml version="1.0"?><!-- remark --><book xmlns="urn:b" id="7"><title>Rules</title>
    <para>Text with <em>weight</em> in it.</para><entry key="a"><n>1</n></entry><entry key="b"><n>2|3</n></entry>
    <empty/><leaf unit="m">5</leaf></book>"""
    document = read(data, "a.xml")
    assert document.title == "Rules"
    assert [block.span.of(document.text) for block in document.blocks] == [
        "• @id: 7",
        "• title: Rules",
        "• para: Text with weight in it.",
        "entry:",
        "| @key | n |\n| --- | --- |\n| a | 1 |\n| b | 2\\|3 |",
        "• empty:",
        "• leaf.@unit: m",
        "• leaf.text: 5",
    ]


def test_sections_and_values_of_xml_have_the_lines_of_their_elements() -> None:
    paragraphs = "".join(f"\n<p>no {number}</p>" for number in range(13))
    document = read(f"<a>\n<title>Rules\nof cranes</title>\n<part>{paragraphs}</part>\n</a>", "a.xml")
    found = [(block.span.of(document.text), block.lines) for block in document.blocks]
    assert found[:4] == [
        ("• title: Rules of cranes", (2, 3)),
        ("part", (4, 4)),
        ("• p: no 0", (5, 5)),
        ("• p: no 1", (6, 6)),
    ]


def test_entities_are_never_expanded_and_reported() -> None:
    data = (
        '<!DOCTYPE a [<!ENTITY co "Company"><!ENTITY file SYSTEM "file:///etc/hostname">]>'
        "<a><b>At &co; and &file;.</b></a>"
    )
    document = read(data, "a.xml")
    assert document.text == "• b: At &co; and &file;."
    assert any("&co;" in warning and "&file;" in warning for warning in document.warnings)


def test_an_entity_bomb_is_refused_at_once() -> None:
    steps = "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(10))
    error = refusal(f'<!DOCTYPE l [<!ENTITY a "ha">{steps}]><l>x&k;</l>'.encode(), "a.xml")
    assert error.reason is UnreadableReason.TOO_LARGE


def test_attributes_lost_in_running_text_are_reported() -> None:
    document = read('<a><p>see <x ref="r1">there</x> now</p><q>z</q></a>', "a.xml")
    assert "see there now" in document.text
    assert any(warning.startswith("1 attribute ") for warning in document.warnings)


def test_xml_of_an_encoding_it_does_not_name_is_read() -> None:
    assert "Grüße" in read("<?xml version='1.0'?><a><b>Grüße</b></a>".encode("cp1252"), "a.xml").text
    named = "<?xml version='1.0' encoding='iso-8859-1'?><a><b>Grüße</b></a>".encode("latin-1")
    assert "Grüße" in read(named, "a.xml").text


def test_xhtml_under_the_name_of_xml_is_read_as_a_web_page() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Head</h1><p>words</p></body></html>'
    document = read(page, "a.xml")
    assert [section.title for section in document.sections] == ["Head"]


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("data", [b"<a><b>x</a>", b"<a>", b"words", b'{"a": 1}'])
def test_broken_xml_is_corrupted(data: bytes) -> None:
    assert refusal(data, "a.xml").reason is UnreadableReason.CORRUPTED


def test_an_element_of_very_many_attributes_is_refused_at_once() -> None:
    """Half a megabyte of them took a minute of a processor."""
    many = " ".join(f'a{number}="x"' for number in range(5_000))
    for encoding in ("utf-8", "utf-16", "utf-32"):
        data = f'<?xml version="1.0" encoding="{encoding}"?><r><s t=">"/><s {many} b = "y"/></r>'.encode(encoding)
        error = refusal(data, "a.xml")
        assert error.reason is UnreadableReason.UNSUPPORTED
        assert "5,000 attributes" in error.message
    beside = "".join(f'<s {many[: 6 * 100]}z="1"/>' for _ in range(60))
    assert len(read(f"<r>{beside}</r>", "a.xml").blocks) > 0


@pytest.mark.parametrize("depth", [150, 300, 100_000])
def test_xml_nested_without_end_is_refused(depth: int) -> None:
    error = refusal(b"<a>" * depth + b"x" + b"</a>" * depth, "a.xml")
    assert error.reason is UnreadableReason.UNSUPPORTED


# ---- all ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.xml"])
def test_what_is_no_such_file_is_reported(name: str) -> None:
    assert refusal(b"", name).reason is UnreadableReason.EMPTY
    assert refusal(b" \r\n\0\0", name).reason is UnreadableReason.EMPTY
    assert refusal(b"%PDF-1.7", name).reason is UnreadableReason.MISLABELLED
    assert refusal(b"PK\x03\x04" + b"x" * 100, name).reason is UnreadableReason.MISLABELLED
    assert refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 100, name).reason is UnreadableReason.MISLABELLED
    assert refusal(bytes(range(256)) * 40, name).reason is UnreadableReason.CORRUPTED


def test_values_that_fill_the_memory_are_refused_by_the_child() -> None:
    reader = DataReader(limits=Limits(memory=96 * 1024 * 1024))
    try:
        with pytest.raises(UnreadableDocumentError) as caught:
            reader.read(item_of(b"[" + b"[]," * 400_000 + b"[]]", "a.json"))
    finally:
        reader.close()
    assert caught.value.reason is UnreadableReason.TOO_LARGE
