"""Plain text: headings, pages, tables and drawings as typewriters set them, every word with its lines."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.plain import job
from knowledge_mcp.readers.plain.reader import PlainTextReader
from knowledge_mcp.readers.shared.assembly import normalise_text
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.support.sandbox_worker import Refusal
from tests.machine import examples
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

READER = PlainTextReader(sandbox=InProcessSandbox())


def read(text: str, encoding: str = "utf-8") -> Document:
    return READER.read(item_of(text.encode(encoding), "notes.txt"))


RFC = """



Example Task Force                                             J. Miller
Request for Comments: 9999                                  Example Corp
Category: Standards Track                                       May 2024
ISSN: 2070-1721


                     The Example Transfer Protocol
                       for Small Weather Stations

Abstract

   This document defines a protocol that carries readings of small
   weather stations to a collector, and says what both ends do.

Table of Contents

   1.  Introduction  . . . . . . . . . . . . . . . . . . . . . . . .   2
     1.1.  Terminology . . . . . . . . . . . . . . . . . . . . . . .   2
   2.  Operation . . . . . . . . . . . . . . . . . . . . . . . . . .   2
     2.1.  Timeouts  . . . . . . . . . . . . . . . . . . . . . . . .   2
   Appendix A.  Registry . . . . . . . . . . . . . . . . . . . . . .   3





Miller                       Standards Track                    [Page 1]
\f
RFC 9999                Example Transfer Protocol               May 2024


1.  Introduction

   The protocol carries readings between hosts that have means for non-
   blocking transfer on both ends.

1.1.  Terminology

   Frame:  a unit of transfer that has a header and a body.

2.  Operation

   A sender MUST limit frames to 1024 octets.  A receiver that gets a
   longer frame MUST close the connection with error 7, and it SHOULD
   tell its operator

   +-------+-------------+
   | Octet | Meaning     |
   +-------+-------------+
   | 0     | kind        |
   | 1     | length      |
   +-------+-------------+



Miller                       Standards Track                    [Page 2]
\f
RFC 9999                Example Transfer Protocol               May 2024


2.1.  Timeouts

   Endpoints SHOULD close idle connections after 30 seconds.  They use

      struct {
          uint8 kind;
          uint16 length;
      } Frame;

   to tell which of them is idle.

Appendix A.  Registry

   None.




Miller                       Standards Track                    [Page 3]
"""
PLAIN_SECTIONS = [
    ("1", "Introduction"),
    ("1.1", "Terminology"),
    ("2", "Operation"),
    ("2.1", "Timeouts"),
    ("A", "Registry"),
]


def blocks_of(document: Document) -> list[tuple[str, str, tuple[int, int] | None]]:
    return [(block.kind.value, block.span.of(document.text), block.lines) for block in document.blocks]


@pytest.mark.parametrize("text", [RFC, RFC.replace("\f\n", "\n")], ids=["form feeds", "feet alone"])
def test_a_standard_in_plain_text_has_its_title_sections_and_pages(text: str) -> None:
    document = read(text)
    assert document.title == "The Example Transfer Protocol for Small Weather Stations"
    assert [(each.number, each.title) for each in document.sections if each.number] == PLAIN_SECTIONS
    assert "Abstract" in [each.title for each in document.sections]
    assert [page.number for page in document.pages] == [1, 2, 3]
    timeouts = next(each for each in document.sections if each.number == "2.1")
    assert next(each for each in document.blocks if each.span == timeouts.heading).pages == (3,)
    assert "carries readings of small weather stations" in document.text, "an abstract above the contents stays"
    for running in ("[Page 2]", "RFC 9999"):
        assert running not in document.text


FLAT = """
Table of Contents

   1.  Introduction
     1.1.  Frames
   2.  Example
   3.  Servers
     3.1.  Front
     3.2.  The Rules of Frames That Are Sent Between Servers by Way of a
           Third Server
   4.  Security

1.  Introduction

   The protocol carries readings between hosts that have the means for
   transfer on both ends, and it is of no use to others.

1.1.  Frames

   A frame is a unit of transfer that has a header and a body, and that
   both ends know:

                Figure 1: A Frame

     a1                b2

            c3                    d4

2.  Example

   kind=4, \\

      length=7, \\

            Figure 2: Fields

3.  Servers

   A server is in two parts.

3.1.  Front

   The front of a server MUST close the connection when it receives a
   frame that is longer than it says.

3.2.  The Rules of Frames That Are Sent Between Servers by Way of a
      Third Server

   A third server sends on what it receives, and nothing else, between
   two others.

4.  Security

   None.
"""


def test_a_flat_standard_has_each_of_its_clauses_once_with_its_whole_title() -> None:
    """Its contents name no pages, its figures have scattered words, and a title has two rows."""
    assert [(each.number, each.title, each.level) for each in read(FLAT).sections if each.number] == [
        ("1", "Introduction", 1),
        ("1.1", "Frames", 2),
        ("2", "Example", 1),
        ("3", "Servers", 1),
        ("3.1", "Front", 2),
        ("3.2", "The Rules of Frames That Are Sent Between Servers by Way of a Third Server", 2),
        ("4", "Security", 1),
    ]


def test_the_words_of_a_standard_are_those_of_the_file_with_their_lines() -> None:
    found = blocks_of(read(RFC))
    lines = RFC.split("\n")
    sentence = next(each for each in found if each[1].startswith("A sender"))
    assert sentence[1].startswith("A sender MUST limit frames to 1024 octets. A receiver that gets a longer frame")
    assert sentence[2] is not None
    assert lines[sentence[2][0] - 1].strip().startswith("A sender MUST")
    assert any("for non-blocking transfer on both ends" in text for _, text, _ in found)


def test_drawn_boxes_are_tables_and_program_text_is_code() -> None:
    found = blocks_of(read(RFC))
    table = next(text for kind, text, _ in found if kind == "table")
    assert table.split("\n") == ["| Octet | Meaning |", "| --- | --- |", "| 0 | kind |", "| 1 | length |"]
    code = next(text for kind, text, _ in found if kind == "code")
    assert code == "struct {\n    uint8 kind;\n    uint16 length;\n} Frame;"


def test_a_drawing_is_code_and_its_rows_stay_where_they_are() -> None:
    drawing = "   +---+     +---+\n   | A |---->| B |\n   +---+     +---+"
    found = blocks_of(read(f"The two hosts are joined by one wire, and by nothing else:\n\n{drawing}\n"))
    assert ("code", "+---+     +---+\n| A |---->| B |\n+---+     +---+", (3, 5)) in found


def test_underlined_and_outdented_lines_are_headings_of_a_text_without_numbers() -> None:
    document = read(
        "INSTALLATION GUIDE\n==================\n\nFirst steps\n-----------\n\n"
        "The pump shall be fixed to the wall before it is\nconnected to the supply.\n\nSafety\n------\n\n"
        "The valve shall be closed.\n"
    )
    assert document.title == "INSTALLATION GUIDE"
    assert [(each.title, each.level) for each in document.sections] == [
        ("INSTALLATION GUIDE", 1),
        ("First steps", 2),
        ("Safety", 2),
    ]
    assert "---" not in document.text


@pytest.mark.parametrize(
    "text",
    [
        "Dear Sir,\n\nthank you for the letter of 3 May.\nWe will come on Friday.\n\nYours,\nA. Smith\n",
        "2024-01-01 10:00 INFO start\n2024-01-01 10:01 INFO next thing happens\n2024-01-01 10:02 WARN end\n",
        "# not a heading *here*\n  indented <b>\n\n \nend\n",
        "We met at noon and decided to buy three things:\n1. Bread\n2. Butter\n3. Milk, if there is any left\n",
    ],
    ids=["a letter", "a log", "signs", "a list"],
)
def test_a_text_without_headings_has_no_sections_and_is_called_by_its_file(text: str) -> None:
    document = read(text)
    assert document.sections == ()
    assert document.title == "notes"


def test_the_first_clause_gives_the_text_no_name() -> None:
    words = "The pumps of a station are inspected each year by a person\nwho knows them, and what is found is kept.\n"
    assert read(f"1. Scope\n\n{words}\n2. Terms\n\n{words}").title == "notes"


def test_clauses_without_others_below_are_headings_from_the_first_line_on() -> None:
    titles = ["General", "Housing", "Filling of the tank", "Pressure", "Drain"]
    words = "The valves of a tank are opened each year by a person\nwho knows them, and what is found is kept.\n"
    text = "\n".join(f"{number} {title}\n\n{words}" for number, title in enumerate(titles, 1))
    found = [(section.number, section.title) for section in read(text).sections]
    assert found == [(str(number), title) for number, title in enumerate(titles, 1)]

    below = text.replace("Filling of the tank\n", "Filling of the tank\n\n\n3.1 Funnel\n", 1)  # one stands apart
    numbers = [section.number for section in read(f"ABC 100 Tanks\n\n{below}").sections]
    assert numbers == ["1", "2", "3", "3.1", "4", "5"]


def test_the_foot_of_a_first_page_without_a_head_is_no_text() -> None:
    dice = random.Random(7)

    def sheet(number: int, first: int) -> str:
        rows = ["".join(dice.choices("abcdefghijk", k=60)) for _ in range(first, 45)]
        return "\n".join([*rows, "", f"ABC 100:2024 Tanks{number:>40}"])

    head = "\fABC 100:2024 Tanks\n\n"
    written = sheet(1, 1) + head + sheet(2, 0) + head + sheet(3, 0) + head + sheet(4, 0)
    text = read(written).text
    assert "ABC 100" not in text
    assert sorted(re.findall("[a-k]{60}", text)) == sorted(re.findall("[a-k]{60}", written))


def test_lines_that_are_ended_on_purpose_stay_lines() -> None:
    text = "2024-01-01 10:00 INFO start\n2024-01-01 10:01 INFO next thing happens\n2024-01-01 10:02 WARN end"
    assert blocks_of(read(text)) == [("paragraph", text, (1, 3))]


def test_form_feeds_end_pages() -> None:
    document = read("one.\n\ntwo.\x0cthree\nfour\n\x0c\n\x0c\n")
    assert [page.number for page in document.pages] == [1, 2]
    assert [(block.span.of(document.text), block.pages) for block in document.blocks] == [
        ("one.", (1,)),
        ("two.", (1,)),
        ("three four", (2,)),
    ]
    assert READER.check(item_of(b"a\x0cb", "a.txt")).pages == 2
    assert READER.check(item_of(b"a", "a.txt")).pages is None


def test_a_text_of_more_rows_than_pages_are_made_of_is_paragraphs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(job, "_MOST_ROWS", 3)
    (tmp_path / "a.txt").write_text("1 Scope\n\none\ntwo\n\nthree\n")
    items = [each for message in job.read(str(tmp_path / "a.txt")) for each in message.get("items", ())]
    assert [(each["kind"], each["text"], each["lines"]) for each in items] == [
        ("paragraph", "1 Scope", [1, 1]),
        ("paragraph", "one\ntwo", [3, 4]),
        ("paragraph", "three", [6, 6]),
    ]


@pytest.mark.parametrize("words", ["The döor shall close.", "café", "Größe;Fläche", "Señor Núñez: 5 €"])
def test_a_few_letters_with_accents_are_no_chinese(words: str) -> None:
    assert read(words, "cp1252").text == words


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding_is_read(encoding: str) -> None:
    document = read("Größe und Grüße über Brücken\n", encoding)
    assert document.text == "Größe und Grüße über Brücken"
    assert bool(document.warnings) is (encoding == "cp1252")


@settings(max_examples=examples(60), deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")) | st.sampled_from("\n\n\t ")))
@example("o documento")
def test_no_letter_of_a_text_is_lost(text: str) -> None:
    expected = letters_of(normalise_text(text))
    if expected:
        document = READER.read(item_of(b"\xef\xbb\xbf" + text.encode(), "a.txt"))
        assert letters_of(document.text) == expected


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", UnreadableReason.EMPTY),
        (b"\n \x0c\n", UnreadableReason.EMPTY),
        (b"%PDF-1.7", UnreadableReason.MISLABELLED),
        (b"PK\x03\x04...", UnreadableReason.MISLABELLED),
        (bytes(range(256)) * 4, UnreadableReason.CORRUPTED),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: UnreadableReason) -> None:
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


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(job, "MOST_TEXT", 2000)
    (tmp_path / "a.txt").write_text("x" * 2001)
    for attempt in (job.check, job.read):
        with pytest.raises(Refusal) as caught:
            list(attempt(str(tmp_path / "a.txt")))
        assert caught.value.reason == "too_large"


def clauses(titles: list[str], form: str, below: str = "\n\n") -> str:
    words = "The valves of a tank are opened each year by a person\nwho knows them, and what is found is kept.\n"
    romans = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
    lines = [form.format(n=number, r=romans[number - 1], t=title) for number, title in enumerate(titles, 1)]
    return "\n".join(line + below + words for line in lines)


TITLES = ["General", "Housing", "Filling", "Pressure", "Drain", "Guards", "Marking", "Paint", "Records", "Spare parts"]


@pytest.mark.parametrize(
    ("form", "below", "number"),
    [
        ("{n}. {t}.", "\n\n", "{n}"),
        ("  {n}. {t}.", "\n\n", "{n}"),
        ("Article {n} {t}.", "\n\n", "{n}"),
        ("{n} {t}", "\n", "{n}"),
        ("{n}.0 {t}", "\n\n", "{n}.0"),
        ("{r}. {t}", "\n\n", "{r}"),
        ("{n}.  {t}\n==========", "\n\n", "{n}"),
    ],
    ids=["full stops", "indented", "articles", "text right below", "with a zero", "Roman numerals", "two blanks"],
)
def test_clauses_that_count_up_are_headings_in_every_form(form: str, below: str, number: str) -> None:
    titles = [title[:6].strip() for title in TITLES] if "=" in form else TITLES
    expected = re.findall(r"(?m)^(\S+) ~ (.*)$", clauses(titles, f"{number} ~ {{t}}"))
    document = read(clauses(titles, form, below))
    assert [(each.number, each.title.rstrip(".")) for each in document.sections] == expected
    assert {each.level for each in document.sections} == {1}


def test_a_chapter_that_says_what_it_is_needs_no_other_beside_it() -> None:
    words = "The valves of a tank are opened each year by a person\nwho knows them, and what is found is kept.\n"
    said = "Section 4 Wear of this text has rules for hoses and for belts.\n"
    text = f"CHAPTER 9—\nSTORAGE OF LIQUIDS\n\n9.1 Tanks\n\n{words}\n{said}\nSubpart F Pressure\n\n{words}"
    found = [(section.number, section.title) for section in read(text).sections]
    assert found == [("9", "STORAGE OF LIQUIDS"), ("9.1", "Tanks"), ("F", "Pressure")]


def test_a_list_between_clauses_has_no_clauses() -> None:
    steps = "1. Open the valve.\n\n2. Close the drain.\n\n3. Read the gauge.\n\n4. Write it down.\n"
    close = steps.replace("\n\n", "\n")
    text = clauses(TITLES, "{n}. {t}.").replace("2. Housing", f"{steps}\n2. Housing")
    text = text.replace("4. Pressure", f"{close}\n4. Pressure")
    document = read(text)
    assert [(each.number, each.title) for each in document.sections] == [
        (str(number), f"{title}.") for number, title in enumerate(TITLES, 1)
    ]
    for step in re.findall(r"\d\. (.*)\n", steps):
        assert document.text.count(step) == 2


def test_a_letter_that_a_name_begins_with_is_no_number() -> None:
    text = "X Pumps Extension Protocol\n\nA. Smith\n\n" + clauses(TITLES, "{n}. {t}").replace("who", "    who")
    found = read(text).sections
    assert (None, "X Pumps Extension Protocol") in [(each.number, each.title) for each in found]


def test_the_time_for_pages_grows_with_their_number() -> None:
    seconds: list[float] = []
    for count in (500, 2_000):
        started = time.process_time()
        read("x\f" * count)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 9 * seconds[0]  # four times is linear, sixteen times is the square
