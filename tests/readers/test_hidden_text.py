"""Text that no reader of a file sees is no part of the document, and is counted; what is seen stays."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.document import HiddenReason, hidden_sentence
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.plain.reader import PlainTextReader
from knowledge_mcp.readers.shared.assembly import normalise_text
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of

PAGES = HtmlReader(sandbox=InProcessSandbox())
SECRET = "obey"
TAGGED = "".join(chr(0xE0000 + ord(sign)) for sign in SECRET)

CARRIERS = {
    "<p style='display:none'>obey</p>": HiddenReason.NOT_DISPLAYED,
    "<p style='DISPLAY: none !important'>obey</p>": HiddenReason.NOT_DISPLAYED,
    "<p style='visibility:hidden'>obey</p>": HiddenReason.NOT_DISPLAYED,
    "<p style='visibility:collapse'><b>obey</b></p>": HiddenReason.NOT_DISPLAYED,
    "<p hidden>obey</p>": HiddenReason.MARKED,
    "<span aria-hidden=true>obey</span>": HiddenReason.MARKED,
    "<p style='opacity:0'>obey</p>": HiddenReason.TRANSPARENT,
    "<p style='color:transparent'>obey</p>": HiddenReason.TRANSPARENT,
    "<p style='color:rgba(0,0,0,0)'>obey</p>": HiddenReason.TRANSPARENT,
    "<p style='font-size:0'>obey</p>": HiddenReason.TOO_SMALL,
    "<p style='font-size:1px'>obey</p>": HiddenReason.TOO_SMALL,
    "<p style='font:0/0 serif'>obey</p>": HiddenReason.TOO_SMALL,
    "<p style='color:#fff'>obey</p>": HiddenReason.COLOUR,
    "<p><font color=white>obey</font></p>": HiddenReason.COLOUR,
    "<div style='background:#123456'><p style='color:rgb(18, 52, 86)'>obey</p></div>": HiddenReason.COLOUR,
    "<p style='position:absolute;left:-9999px'>obey</p>": HiddenReason.OFF_PAGE,
    "<p style='text-indent:-100em'>obey</p>": HiddenReason.OFF_PAGE,
    "<p style='position:absolute;clip:rect(0,0,0,0)'>obey</p>": HiddenReason.CLIPPED,
    "<p style='clip-path: inset(50%)'>obey</p>": HiddenReason.CLIPPED,
    "<p style='width:1px;height:1px;overflow:hidden'>obey</p>": HiddenReason.CLIPPED,
    "<style>.x{display:none}</style><p class='y x'>obey</p>": HiddenReason.NOT_DISPLAYED,
    "<style>/* */ #x, aside {display:none}</style><p id=x>obey</p>": HiddenReason.NOT_DISPLAYED,
    "<style>p.x{color:white}</style><p class=x>obey</p>": HiddenReason.COLOUR,
    f"<p>{TAGGED}</p>": HiddenReason.TAGS,
}
SEEN = [
    "<details><summary>More</summary>obey</details>",
    "<style>@media print{.x{display:none}}</style><p class=x>obey</p>",
    "<style>@media (max-width: 3em){.x{display:none}}</style><p class=x>obey</p>",
    "<style>.x{display:none} .open .x{display:block}</style><p class=x>obey</p>",
    "<style>.x p{display:none}</style><div class=x><p>obey</p></div>",
    "<style media=print>p{display:none}</style><p>obey</p>",
    "<div style='background:#000'><p style='color:#fff'>obey</p></div>",
    "<div style='background:url(x.png)'><p style='color:#fff'>obey</p></div>",
    "<link rel=stylesheet href=x.css><div class=hero><p style='color:#fff'>obey</p></div>",
    "<p style='visibility:hidden'><span style='visibility:visible'>obey</span></p>",
    "<p style='font-size:0'><span style='font-size:16px'>obey</span></p>",
    "<p style='opacity:0.5;position:absolute;left:10px;font-size:12px'>obey</p>",
    "<table bgcolor=navy><tr><td><font color=white>obey</font></td></tr></table>",
]


def page(part: str) -> str:
    return f"<html><body><p>Before.</p>{part}<p>After.</p></body></html>"


@pytest.mark.parametrize("part", CARRIERS)
def test_what_a_page_does_not_show_is_left_out_and_counted(part: str) -> None:
    document = PAGES.read(item_of(page(part).encode(), "page.html"))
    assert document.text == "Before.\n\nAfter."
    assert document.hidden == ((CARRIERS[part].value, len(SECRET)),)
    assert hidden_sentence(document.hidden) in document.warnings


@pytest.mark.parametrize("part", SEEN)
def test_what_a_page_shows_is_never_left_out(part: str) -> None:
    document = PAGES.read(item_of(page(part).encode(), "page.html"))
    assert SECRET in document.text
    assert document.hidden == ()


def test_what_stands_beside_hidden_text_keeps_its_place() -> None:
    document = PAGES.read(item_of(page("<p>one <b style='display:none'>obey</b>two</p>").encode(), "page.html"))
    assert document.text == "Before.\n\none two\n\nAfter."


def test_a_crawled_page_hides_nothing_in_its_main_content() -> None:
    words = " ".join(f"word{number}" for number in range(120))
    text = page(f"<main><h1>Pumps</h1><p>{words}</p><p style='display:none'>obey {words[::-1]}</p></main>")
    document = PAGES.read(item_of(text.encode(), "page.html", uri="https://example.org/page"))
    assert SECRET not in document.text
    assert "word119" in document.text
    assert dict(document.hidden)[HiddenReason.NOT_DISPLAYED.value] > 4


@pytest.mark.parametrize(
    ("text", "shown", "reason", "count"),
    [
        (f"ab{TAGGED}c", "abc", HiddenReason.TAGS, 4),
        ("a\u200bb\u2060c\ufeffd\u200d\u200ce", "abcde", HiddenReason.ZERO_WIDTH, 5),
        ("a\u202eb\u202c\u2066c\u2069", "abc", HiddenReason.DIRECTION, 4),
        ("a\U000e0101\U000e0150b\ufe01", "ab", HiddenReason.VARIATION, 3),
        ("❤\ufe0f\ufe00\ufe01", "❤\ufe0f", HiddenReason.VARIATION, 2),
        (f"\U0001f3f4{TAGGED}\U000e007f", "\U0001f3f4", HiddenReason.TAGS, 5),
    ],
)
@pytest.mark.parametrize("reader", [PlainTextReader(sandbox=InProcessSandbox()), MarkdownReader(sandbox=HERE)])
def test_invisible_characters_are_left_out_of_every_text_and_counted(
    reader: PlainTextReader | MarkdownReader, text: str, shown: str, reason: HiddenReason, count: int
) -> None:
    name = "a.txt" if isinstance(reader, PlainTextReader) else "a.md"
    document = reader.read(item_of(f"First.\n\n{text}\n\n`{text}`\n".encode(), name))
    assert document.text.replace("`", "") == f"First.\n\n{shown}\n\n{shown}"
    assert document.hidden == ((reason.value, 2 * count),)
    if name == "a.txt":
        assert [block.lines for block in document.blocks] == [(1, 1), (3, 3), (5, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "क्\u200dष क्\u200cष",
        "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "葛\U000e0100城",
        "مرحبا بالعالم",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert normalise_text(text) == text


def test_soft_hyphens_go_uncounted_as_ever() -> None:
    document = PlainTextReader(sandbox=InProcessSandbox()).read(item_of("Donau\xaddampf".encode(), "a.txt"))
    assert (document.text, document.hidden) == ("Donaudampf", ())


@given(st.text(alphabet=string.printable + "äöüßéñ東京كتاب\u200b\u200c\u200d\u202e\ufe0f\U000e0041\U0001f3f4❤क्"))
def test_leaving_out_is_done_in_one_go(text: str) -> None:
    once = normalise_text(text)
    assert normalise_text(once) == once


@given(st.text(alphabet=string.ascii_letters + "äöüßéñ東京كتابहिन्दी😀 \n"))
def test_text_without_such_characters_loses_nothing(text: str) -> None:
    assert "".join(normalise_text(text).split()) == "".join(normalise_text("".join(text.split())).split())


@pytest.mark.parametrize(
    "text",
    [
        "Seen.\n\n<div style='display:none'>obey</div>\n\nToo.",
        "Seen.\n\n<div hidden>\n\nobey\n\n</div>\n\nToo.",
        "Seen.<span style='font-size:0'>obey</span>\n\nToo.",
        "Seen.<span aria-hidden='true'>**obey**</span>\n\nToo.",
    ],
)
def test_html_within_markdown_hides_as_in_a_page(text: str) -> None:
    document = MarkdownReader(sandbox=HERE).read(item_of(text.encode(), "a.md"))
    assert document.text == "Seen.\n\nToo."
    assert sum(count for _, count in document.hidden) == len(SECRET)


def test_html_within_markdown_that_is_seen_stays() -> None:
    text = "<div style='color:red'>One</div>\n\n<p hidden>no<p>Two\n\nA <b style='font-size:9px'>three</b> &amp; four"
    assert MarkdownReader(sandbox=HERE).read(item_of(text.encode(), "a.md")).text == "One\n\nTwo\n\nA three & four"
