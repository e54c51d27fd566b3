"""Plain text: paragraphs as they stand, with their lines; nothing is guessed, nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.data import plain
from knowledge_mcp.readers.data.plain import PlainTextReader
from knowledge_mcp.readers.shared.assembly import normalise_text
from tests.readers.office_files import item_of

READER = PlainTextReader()


def read(text: str, encoding: str = "utf-8") -> Document:
    return READER.read(item_of(text.encode(encoding), "notes.txt"))


def test_paragraphs_stand_as_they_are_with_their_lines() -> None:
    document = read("1 Scope\n\n# not a heading *here*\n  indented <b>\n\n \nend\n")
    assert document.sections == ()
    assert document.title == "notes"
    found = [(block.span.of(document.text), block.lines) for block in document.blocks]
    assert found == [("1 Scope", (1, 1)), ("# not a heading *here*\n  indented <b>", (3, 4)), ("end", (7, 7))]


def test_form_feeds_end_pages() -> None:
    document = read("one\n\ntwo\x0cthree\nfour\n\x0c\n\x0c\n")
    assert [page.number for page in document.pages] == [1, 2]
    assert [(block.span.of(document.text), block.pages) for block in document.blocks] == [
        ("one", (1,)),
        ("two", (1,)),
        ("three\nfour", (2,)),
    ]
    assert READER.check(item_of(b"a\x0cb", "a.txt")).pages == 2
    assert READER.check(item_of(b"a", "a.txt")).pages is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding_is_read(encoding: str) -> None:
    document = read("Größe und Grüße über Brücken\n", encoding)
    assert document.text == "Größe und Grüße über Brücken"
    assert bool(document.warnings) is (encoding == "cp1252")


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")) | st.sampled_from("\n\t\x0c")))
def test_no_word_of_a_text_is_lost(text: str) -> None:
    wanted = normalise_text(text).split()
    if wanted and text.strip("\u200b\ufeff\ufffd \t\n\x0c"):
        document = READER.read(item_of(b"\xef\xbb\xbf" + text.encode(), "a.txt"))
        assert document.text.split() == wanted


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", UnreadableReason.EMPTY),
        (b"\n \x0c\n", UnreadableReason.EMPTY),
        (b"%PDF-1.7", UnreadableReason.MISLABELLED),
        (b"PK\x03\x04...", UnreadableReason.MISLABELLED),
        (bytes(range(256)) * 4, UnreadableReason.CORRUPTED),
        (b"x" * 2001, UnreadableReason.TOO_LARGE),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: UnreadableReason, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MOST_TEXT", 2000)
    for attempt in (READER.check, READER.read):
        with pytest.raises(UnreadableDocumentError) as caught:
            attempt(item_of(data, "a.txt"))
        assert caught.value.reason is reason


def test_a_file_that_is_gone_is_inaccessible() -> None:
    item = item_of(b"x", "a.txt")

    def gone() -> None:
        raise FileNotFoundError(2, "no such file")

    object.__setattr__(item, "open", gone)
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.check(item)
    assert caught.value.reason is UnreadableReason.INACCESSIBLE
