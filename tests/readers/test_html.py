"""Web pages: uploaded ones whole, crawled ones by their main content; what a reader of the page sees is in the text."""

from __future__ import annotations

import builtins
import unicodedata
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from knowledge_mcp.model.document import BlockKind, Document, HiddenReason, ReferenceKind
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.shared import pieces
from knowledge_mcp.readers.shared.assembly import normalise_text
from knowledge_mcp.readers.shared.richtext import RichText
from tests.machine import examples
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of
from tests.readers.shown import kinds

READER = HtmlReader(sandbox=InProcessSandbox())


def read(page: str | bytes, name: str = "page.html", *, uri: str = "") -> Document:
    item = item_of(page.encode() if isinstance(page, str) else page, name, uri=uri)
    READER.check(item)
    return READER.read(item)


def refusal(page: bytes) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.read(item_of(page, "page.html"))
    return caught.value


# ---- words that their print changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "struck", ["<del>80</del>", "<s>80</s>", '<span style="text-decoration: line-through">80</span>']
)
def test_what_is_struck_out_is_left_out_and_counted(struck: str) -> None:
    document = read(f"<p>Use port {struck} 81.</p>")
    assert document.text == "Use port 81."
    assert document.hidden == ((HiddenReason.STRUCK.value, 2),)


def test_a_word_that_only_looks_struck_by_its_tag_stays() -> None:
    assert read('<p>Use port <s style="text-decoration: none">80</s>.</p>').text == "Use port 80."


def test_raised_and_lowered_digits_and_marks_of_notes_read_as_such() -> None:
    page = (
        "<p>10<sup>-3</sup> m<sup><i>2</i></sup> of H<sub>2</sub>O, FX-200B<sup>1</sup>, the 2<sup>nd</sup>"
        ' lasts 10 years<a role="doc-noteref" href="#n">1</a></p>'
    )
    assert read(page).text == "10⁻³ m² of H₂O, FX-200B¹, the 2nd lasts 10 years¹"


def test_items_of_lists_have_the_numbers_that_the_page_shows() -> None:
    page = (
        '<ol type="a"><li>x</li><li>y<ol type="I"><li>z</li></ol></li></ol><ol start="4"><li>x</li><li value="7">y</li>'
        '<li>z</li></ol><ol reversed><li>x</li><li>y</li></ol><ol start="x" type="?"><li value="">x</li></ol>'
    )
    document = read(page)
    markers = [block.marker for block in document.blocks if block.kind is BlockKind.LIST_ITEM]
    assert markers == ["a.", "b.", "I.", "4.", "7.", "8.", "2.", "1.", "1."]


def test_the_labels_of_buttons_are_words_of_their_own() -> None:
    assert read("<div><button>DIN rail</button><button>Wall</button></div><p>x</p>").text == "DIN rail Wall\n\nx"


# ---- the whole page -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.4")
def test_an_uploaded_page_is_read_whole() -> None:
    document = read(
        "<html lang=en><head><title>The Page</title><meta name=author content='A. Writer'><script>var x</script></head>"
        "<body><nav>Home</nav><h1>1 Start</h1><p>Some <b>bold</b>er text<br>and more</p><style>p{}</style>"
        "<h2>1.1 Part</h2><blockquote>quoted</blockquote><pre>if a:\n    b</pre><img alt='a picture'>tail</body></html>"
    )
    assert document.title == "The Page"
    assert dict(document.metadata) == {"author": "A. Writer", "language": "en"}
    assert [(section.level, section.label) for section in document.sections] == [(1, "1 Start"), (2, "1.1 Part")]
    assert kinds(document) == [
        ("paragraph", "Home"),
        ("heading", "1 Start"),
        ("paragraph", "Some bolder text\nand more"),
        ("heading", "1.1 Part"),
        ("quote", "quoted"),
        ("code", "if a:\n    b"),
        ("paragraph", "a picture tail"),
    ]
    assert {block.lines for block in document.blocks} == {(1, 1), (1, 2), (2, 2)}


def test_blocks_have_the_lines_of_the_page_and_headings_those_of_their_elements() -> None:
    page = (
        "<!DOCTYPE html>\n<html><body>\n<!-- one\ntwo -->\n<h1>Doors</h1>\n<p>Some words\nhere <b>and</b>\nthere."
        "</p>\n<h2>\n  1 Scope\n</h2>\n<div>\n<p>A door\n<a href='#x'>shuts</a>.</p></div>\n<table>\n"
        "<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\n<dl><dt>gap</dt>\n<dd>a space</dd>"
        "</dl>\n<script>\n\n</script><p>last</p></body></html>"
    )
    assert [(block.kind.value, block.lines) for block in read(page).blocks] == [
        ("heading", (5, 5)),
        ("paragraph", (6, 8)),
        ("heading", (9, 10)),
        ("paragraph", (13, 14)),
        ("table", (16, 17)),
        ("paragraph", (19, 20)),
        ("paragraph", (23, 23)),
    ]
    xhtml = "\n<?xml version='1.0'\n?>\n<html xmlns='http://www.w3.org/1999/xhtml'><body>\n<p>x</p></body></html>"
    assert [block.lines for block in read(xhtml).blocks] == [(5, 5)]


def test_lines_that_the_parser_does_not_count_are_not_reported() -> None:
    page = "<p>first</p>" + "\n" * 70_000 + "<p>far</p>\n<p>below</p>"
    assert [block.lines for block in read(page).blocks] == [(1, 1), None, None]


def test_lists_keep_their_nesting_and_their_numbers() -> None:
    page = "<ul><li>one<ul><li>two</ul><li><p>three</p><p>more</p></ul><ol start=3><li>x<li>y</ol>"
    document = read(page)
    assert [(block.span.of(document.text), block.depth) for block in document.blocks] == [
        ("• one", 0),
        ("• two", 1),
        ("• three", 0),
        ("more", 0),
        ("3. x", 0),
        ("4. y", 0),
    ]


def test_terms_stand_before_what_defines_them() -> None:
    page = "<dl><dt>cat</dt><dd>an animal</dd><dt>dog:</dt><dd>another</dd><dt>alone</dt></dl>"
    assert [text for _, text in kinds(read(page))] == ["cat: an animal", "dog: another", "alone"]


@pytest.mark.parametrize("end", ["</dt>", ""], ids=["end tags", "no end tags"])
def test_terms_that_share_a_meaning_stand_together_before_it(end: str) -> None:
    page = f"<p>Before.</p><dl><dt>head{end}<dt>lift</dt><dd>a height</dd><dt></dt><dd>none</dd></dl>"
    assert [text for _, text in kinds(read(page))] == ["Before.", "head; lift: a height", "none"]


def test_a_table_of_data_stays_a_table_with_its_spans() -> None:
    page = (
        "<table><caption>Sizes</caption><tr><th colspan=2>Both</th><th>C</th></tr>"
        "<tr><td rowspan=2>a|b</td><td><p>c</p><p>d</p></td><td>e</td></tr><tr><td>f</td><td>g</td></tr></table>"
    )
    assert kinds(read(page)) == [
        ("caption", "Sizes"),
        ("table", "| Both | | C |\n| --- | --- | --- |\n| a\\|b | c d | e |\n| a\\|b | f | g |"),
    ]


def test_a_table_that_only_sets_marks_beside_words_is_a_list() -> None:
    inner = "<table><tr><td>(i)</td><td><p>of wood,</p></td></tr><tr><td>(ii)</td><td>of straw,</td></tr></table>"
    rows = f"<tr><td>(a)</td><td>the hive:{inner}</td></tr><tr><td>(B)</td><td>the lid.</td></tr>"
    assert kinds(read(f"<p>Keep</p><table><col><tbody>{rows}</tbody></table>"))[1:] == [
        ("list_item", "(a) the hive:"),
        ("list_item", "(i) of wood,"),
        ("list_item", "(ii) of straw,"),
        ("list_item", "(B) the lid."),
    ]


def test_a_table_that_lays_out_a_page_is_no_table() -> None:
    page = "<table><tr><td><h2>Head</h2><p>left</p></td><td>right</td></tr><tr><td>a</td><td>b</td></tr></table>"
    document = read(page)
    assert not [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert document.text.split() == ["Head", "left", "right", "a", "b"]


def test_links_become_references_and_scripts_do_not() -> None:
    page = (
        "<h2 id=rules>4.2 Rules</h2><p>See <a href='#rules'>the rules</a>, "
        "<a href='https://example.org/a b'>there</a>, <a href='javascript:x()'>nothing</a> and "
        "<a href='sub/page.html'>below</a>.</p>"
    )
    document = read(page)
    found = {reference.text: (reference.kind, reference.target) for reference in document.references}
    assert found == {
        "the rules": (ReferenceKind.CLAUSE, "4.2"),
        "there": (ReferenceKind.LINK, "https://example.org/a b"),
        "below": (ReferenceKind.LINK, "sub/page.html"),
    }
    assert all(reference.span.of(document.text) == reference.text for reference in document.references)


def test_xhtml_elements_that_end_themselves_swallow_nothing() -> None:
    page = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><script src="x"/><title>X</title></head>'
        '<body><div/><p>a&nbsp;b<a id="q"/>c</p></body></html>'
    )
    document = read(page, "page.xhtml")
    assert (document.title, document.text) == ("X", "a bc")


def test_broken_xhtml_is_read_as_html() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>one<p>two & three</body></html>'
    assert read(page, "page.xhtml").text == "one\n\ntwo & three"


def test_a_page_s_own_encoding_is_obeyed() -> None:
    page = "<html><head><meta charset='iso-8859-2'></head><p>Łódź</p>"
    assert read(page.encode("iso-8859-2")).text == "Łódź"


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=10)
TAGS = "p div span b h1 h3 ul ol li table tr td th blockquote pre dl dt dd a code section figure caption".split()


def _element(tag: str, parts: list[str]) -> str:
    return f"<{tag}>{''.join(parts)}</{tag}>"


TREES: st.SearchStrategy[str] = st.recursive(
    WORDS.map(lambda words: f" {words} "),
    lambda inner: st.builds(_element, st.sampled_from(TAGS), st.lists(inner, max_size=4)),
    max_leaves=25,
)


@settings(max_examples=examples(60), deadline=None)
@given(TREES)
def test_no_word_of_a_page_is_lost_however_its_elements_are_nested(page: str) -> None:
    root: Any = etree.fromstring(f"<body>start {page}</body>".encode(), etree.HTMLParser(encoding="utf-8"))
    said = sorted(normalise_text(unicodedata.normalize("NFC", "".join(root.itertext()))).split())
    text = read(f"start {page}").text
    shown = [word for word in text.replace("|", " ").split() if word not in {"---", "•"}]
    # a list's own numbers, the colon behind a term and the semicolon between two are ours
    left = [word.rstrip(":;") if word not in said else word for word in shown]
    for word in said:
        assert word in left, (word, text)
        left.remove(word)


# ---- hostile pages --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D-REQ-1.3")
def test_pages_that_cannot_be_read_say_why() -> None:
    assert refusal(b"").reason is UnreadableReason.EMPTY
    made = refusal(b"<html><script>x</script><noscript>Enable it.</noscript></html>")
    assert (made.reason, "before its scripts run" in made.message) == (UnreadableReason.EMPTY, True)
    assert refusal(b"%PDF-1.7").reason is UnreadableReason.MISLABELLED
    assert refusal(bytes(range(256)) * 40).reason is UnreadableReason.CORRUPTED


def test_a_page_nested_too_deep_is_refused_and_not_cut() -> None:
    assert refusal(b"<div>" * 50_000 + b"lost").reason is UnreadableReason.UNSUPPORTED
    assert read(b"<div>" * 1000 + b"kept" + b"</div>" * 1000 + b"<p>after").text == "kept\n\nafter"


def test_a_page_of_more_blocks_than_a_document_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_BLOCKS", 100)
    assert read(b"<p>x" * 100).text
    assert refusal(b"<p>x" * 101).reason is UnreadableReason.TOO_LARGE


@pytest.mark.parametrize(
    ("said", "codec", "words"),
    [
        ("iso-8859-1", "cp1252", "It’s “quoted” – 5 €"),
        ("us-ascii", "cp1252", "It’s"),
        ("Shift_JIS", "cp932", "①扉は閉じる"),
        ("gb2312", "gb18030", "门镕應当"),
        ("iso-8859-2", "iso-8859-2", "Dveře se zavřou"),
    ],
)
def test_an_encoding_that_a_page_names_is_read_as_browsers_read_it(said: str, codec: str, words: str) -> None:
    document = read(f"<meta charset='{said}'><p>{words}</p>".encode(codec))
    assert (document.text, document.warnings) == (words, ())


def test_links_that_only_copy_their_own_place_are_no_words() -> None:
    page = (
        "<section id=s><h2>1 Scope<a href=#s title=Link>¶</a></h2><p id=p>It holds.<a href=#p>#</a></p>"
        "<p>See <a href=#n>*</a> and <a href=#s>§</a>.</p></section><p id=n>* A note.</p>"
    )
    assert read(page).text.split("\n\n") == ["1 Scope", "It holds.", "See * and §.".replace("§", ""), "* A note."]


def test_a_clause_number_that_a_stylesheet_sets_apart_runs_into_no_word() -> None:
    page = (
        "<p><span>1</span><span>(1)</span><span>In this Act it shall hold.</span></p><p><b>(a)</b><i>doors</i></p>"
        "<p><b>2</b>nd, <i>H</i><i>2</i> and <span>M</span><span>any</span></p><pre><b>(a)</b><i>x</i></pre>"
    )
    found = [words for _, words in kinds(read(page))]
    assert found == ["1 (1) In this Act it shall hold.", "(a) doors", "2nd, H2 and Many", "(a)x"]


def test_below_heads_of_columns_cells_may_hold_code_and_tables() -> None:
    inner = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"
    page = f"<table><tr><th>Key</th><th>Use</th></tr><tr><td>k<pre>x = 1</pre></td><td>{inner}</td></tr></table>"
    assert kinds(read(page)) == [("table", "| Key | Use |\n| --- | --- |\n| k x = 1 | a b c d |")]


def test_a_paragraph_of_very_many_links_is_not_joined_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Mock(side_effect=cast("property", RichText.text).fget)
    monkeypatch.setattr(RichText, "text", property(text))
    document = read("<p>" + "<b>x</b> <a href=y>link</a> word " * 2_000)
    assert 1 <= text.call_count < 10
    assert len(document.references) == 2_000
    assert document.references[-1].span.of(document.text) == "link"


# ---- crawled pages --------------------------------------------------------------------------------------------------

_URI = "https://example.org/blog/post"
_STORY = "".join(
    f"<p>Paragraph {number} of the story tells at some length what happened on that day, and why it did.</p>"
    for number in range(12)
)
_MENU = "".join(f"<li><a href='/m{number}'>Menu entry {number}</a></li>" for number in range(30))
_CRAWLED = (
    f"<html><head><title>A Story | Site</title></head><body><header><nav><ul>{_MENU}</ul></nav></header>"
    f"<main><article><h1>A Story</h1>{_STORY}<h2>The <a href='/end'>end</a></h2>{_STORY}</article></main>"
    "<footer>Imprint and cookies</footer></body></html>"
)


@pytest.mark.requirement("D-REQ-2.2")
def test_of_a_crawled_page_the_main_content_is_kept() -> None:
    document = read(_CRAWLED, "post.html", uri=_URI)
    assert "Menu entry 3" not in document.text
    assert "Imprint" not in document.text
    assert "Paragraph 11 of the story" in document.text
    assert document.sections[0].title == "A Story"
    assert document.warnings == ("93 words around the page's text were omitted: menus, headers, footers.",)


def test_notes_examples_and_footnotes_in_the_main_content_are_part_of_it() -> None:
    beside = (
        "<aside class=note>A note holds.</aside><aside class=sidebar><p>A sidebar holds.</p></aside>"
        "<aside role=doc-footnote>A footnote holds.</aside><form><p>A form holds.</p></form>"
        "<section><h2>Part</h2><p>Its text.</p><footer>A foot of a part holds.</footer></section>"
        "<nav>Previous page</nav><ul class=breadcrumbs><li><a href=/>Home</a></ul>"
    )
    document = read(_CRAWLED.replace("<h2>", f"{beside}<h2>", 1), uri=_URI)
    for words in ("A note", "A sidebar", "A footnote", "A form", "A foot of a part"):
        assert f"{words} holds." in document.text
    assert not {"Previous", "Home"} & set(document.text.split())
    unmarked = read(_CRAWLED.replace("<h2>", f"{beside}<h2>", 1).replace("main>", "div>"), uri=_URI)
    for words in ("A note", "A sidebar", "A footnote", "A foot of a part"):
        assert f"{words} holds." in unmarked.text


def test_a_short_page_within_large_menus_is_read_and_the_menus_are_not() -> None:
    page = f"<nav><ul>{_MENU}</ul></nav><main><h1>Bolts</h1><p>Bolts shall be tightened to 25 N·m.</p></main>"
    assert read(page, uri=_URI).text == "Bolts\n\nBolts shall be tightened to 25 N·m."
    reader = HtmlReader(main_text=True, sandbox=InProcessSandbox())
    assert reader.read(item_of(page.encode(), "page.html")).text == read(page, uri=_URI).text
    assert "25 N·m" in read(page.replace("main>", "div>"), uri=_URI).text


def test_what_stands_beside_most_of_the_main_content_is_kept() -> None:
    lead = "<div><h1>A Story</h1><p>In short: the crane shall be tested once a year by its owner.</p></div>"
    page = f"<body><ul>{_MENU}</ul><main>{lead}<div><div>{_STORY}{_STORY}</div></div></main><footer>Imprint</footer>"
    assert "the crane shall be tested" in read(page, uri=_URI).text
    unmarked = page.replace("<main>", "<div id=content>").replace("main>", "div>")
    assert "the crane shall be tested" in read(unmarked, uri=_URI).text


def test_a_page_too_large_to_guess_about_keeps_all_but_what_is_marked() -> None:
    parts = "".join(f"<h2>Part {number}</h2><p>Its pump shall be greased.</p>" for number in range(6_000))
    document = read(f"<body><div class=menu>{_MENU}</div><nav>Home</nav><div>{parts}</div>", uri=_URI)
    assert (document.sections[0].title, len(document.sections)) == ("Part 0", 6_000)
    assert "Menu entry" not in document.text
    assert document.warnings == ("91 words around the page's text were omitted: menus, headers, footers.",)


def test_a_site_s_name_above_the_main_content_is_no_heading_of_it() -> None:
    page = f"<header><h1>ACME</h1></header><main><h1>Cranes</h1>{_STORY}</main>"
    assert [section.title for section in read(page, uri=_URI).sections] == ["Cranes"]
    outside = page.replace("<h1>Cranes</h1>", "")
    assert [section.title for section in read(outside, uri=_URI).sections] == ["ACME"]


def test_a_main_element_beside_most_of_the_text_is_none() -> None:
    page = f"<body><main><h1>Welcome</h1></main><div><h2>A Story</h2>{_STORY}</div>"
    assert "Paragraph 11 of the story" in read(page, uri=_URI).text


def test_the_main_content_keeps_its_code_lists_and_tables_as_they_are() -> None:
    parts = (
        "<pre><code><span>if a:</span>\n    <span>b</span></code></pre><ul><li>one</li><li>two</li></ul>"
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a|b</td><td>c</td></tr></table>"
        "<p>More in <a href='../b'>that part</a> of the story.</p>"
        "<nav>Related: <a href='/r'>another story that is told elsewhere on this site</a></nav>"
    )
    document = read(_CRAWLED.replace("<h2>", f"{parts}<h2>", 1), uri=_URI)
    found = kinds(document)
    assert ("code", "if a:\n    b") in found
    assert ("list_item", "• two") in found
    assert ("table", "| k | v |\n| --- | --- |\n| a\\|b | c |") in found
    assert "Related" not in document.text
    assert [reference.target for reference in document.references] == ["https://example.org/b"]


def test_the_same_page_uploaded_is_kept_whole() -> None:
    assert "Menu entry 3" in read(_CRAWLED).text


def test_a_crawled_page_with_little_content_is_kept_whole_and_reported() -> None:
    table = "<table><tr><td>tea</td><td>2</td></tr><tr><td>milk</td><td>3</td></tr></table>"
    document = read(f"<body><nav>Home</nav><h1>Prices</h1>{table}", uri=_URI)
    assert "| tea | 2 |" in document.text
    assert "Prices" in document.text
    assert any("whole page was kept" in warning for warning in document.warnings)


def test_relative_links_of_a_crawled_page_are_resolved() -> None:
    document = read("<p>See <a href='../about'>about us</a>.</p>", uri=_URI)
    assert [reference.target for reference in document.references] == ["https://example.org/about"]


def test_without_trafilatura_the_whole_page_is_kept_and_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "trafilatura":
            raise ImportError(name)
        return original(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    document = read(_CRAWLED.replace("main>", "div>").replace("nav>", "div>"), uri=_URI)
    assert "Menu entry 3" in document.text
    assert any('pip install "clausewise[office]"' in warning for warning in document.warnings)


# ---- pages of a folder of documents ---------------------------------------------------------------------------------


def test_a_page_of_a_folder_is_read_without_menus_heads_and_feet() -> None:
    reader = HtmlReader(main_text=True, sandbox=InProcessSandbox())
    page = (
        "<header>Site name</header><nav>Home About</nav><div class='sidebar left'>Other pages</div>"
        "<main><h1>Pumps</h1><article><header>By A. Writer</header><p>A pump shall be greased each day, "
        "and its seals are to be looked at by whoever greases it.</p></article></main><footer>Imprint</footer>"
    )
    document = reader.read(item_of(page.encode(), "page.html"))
    assert [words for _, words in kinds(document)][:2] == ["Pumps", "By A. Writer"]
    assert not {"Site", "Home", "Other", "Imprint"} & set(document.text.split())
    assert document.warnings == ("7 words around the page's text were omitted: menus, headers, footers.",)
    assert "Imprint" in read(page).text


def test_a_page_that_is_mostly_a_menu_is_read_whole() -> None:
    reader = HtmlReader(main_text=True, sandbox=InProcessSandbox())
    document = reader.read(item_of(b"<nav>One two three four five</nav><p>Six</p>", "page.html"))
    assert "three" in document.text
    assert document.warnings == ()


def test_one_word_around_a_page_of_a_folder_is_reported_as_one() -> None:
    page = "<html><body><nav>Home</nav><main><h1>Pumps</h1><p>They are grey.</p></main></body></html>"
    item = item_of(page.encode(), "page.html")
    document = HtmlReader(sandbox=InProcessSandbox(), main_text=True).read(item)
    assert document.warnings == ("1 word around the page's text was omitted: menus, headers, footers.",)


def test_a_page_is_called_by_its_heading_where_its_title_adds_the_site() -> None:
    assert read("<title>Crane safety | ACME</title><h1>Crane <b>safety</b></h1><p>Text.</p>").title == "Crane safety"
    assert read("<title>Crane safety | ACME</title><h1>Brakes</h1><p>Text.</p>").title == "Crane safety | ACME"


def test_a_clause_beside_others_gives_the_document_no_name_and_a_chapter_alone_does() -> None:
    assert read("<h1>1. Scope.</h1><p>Cranes.</p><h1>2. Terms.</h1><p>None.</p>", "cranes.html").title == "cranes"
    assert read("<h1>5 Brakes</h1><p>Cranes.</p><h2>5.1 Terms</h2><p>None.</p>").title == "5 Brakes"


def test_a_letter_without_a_title_is_called_by_its_subject() -> None:
    letter = "<p>To: J. Miller</p><p>From: A. Warden</p><p>Subject: Tests of crane No. 7</p><p>The crane is old.</p>"
    assert read(letter).title == "Tests of crane No. 7"


# ---- panels that a reader opens -------------------------------------------------------------------------------------


def test_closed_tabs_and_accordions_are_text_below_their_labels() -> None:
    page = (
        "<h1>Pump</h1><div role=tablist><button role=tab aria-controls=e>Electric</button><button role=tab "
        "aria-controls=d>Diesel</button></div><div id=e role=tabpanel><p>It takes 4 kW.</p></div>"
        "<div id=d role=tabpanel hidden><p>It takes 6 kW.</p></div>"
        "<h2><button aria-expanded=false aria-controls=s>Storage</button></h2>"
        '<div id=s style="display:none"><p>Store it dry.</p></div><p hidden=until-found>Drain it.</p>'
    )
    document = read(page)
    assert document.text.split("\n\n") == [
        "Pump", "Electric Diesel", "Electric", "It takes 4 kW.", "Diesel", "It takes 6 kW.", "Storage", "Store it dry.",
        "Drain it.",
    ]  # fmt: skip
    assert document.hidden == ()


def test_panels_that_no_tab_names_are_text_where_there_are_as_many_tabs() -> None:
    page = (
        "<div><ul role=tablist><li role=tab>npm</li><li role=tab>Yarn</li></ul><div>"
        "<div role=tabpanel><pre>npm install x</pre></div><div role=tabpanel hidden><pre>add x</pre></div></div></div>"
    )
    assert read(page).text.split("\n\n")[-2:] == ["Yarn", "add x"]
    hidden = read(page.replace("<li role=tab>Yarn</li>", ""))
    assert "add x" not in hidden.text


def test_a_closed_dialog_and_words_for_programs_that_cannot_play_are_hidden() -> None:
    document = read("<p>Before.</p><dialog>obey</dialog><dialog open>Read me.</dialog><video>No video here.</video>")
    assert document.text == "Before.\n\nRead me."
    assert dict(document.hidden) == {HiddenReason.NOT_DISPLAYED.value: 16}


@pytest.mark.parametrize(
    "part",
    [
        "<p id=x hidden>obey</p>",
        "<button aria-expanded=false aria-controls=main-menu>Menu</button><ul id=main-menu hidden><li>obey</ul>",
        "<button aria-expanded=false aria-controls=x>OK</button><div id=x role=dialog hidden>obey</div>",
        "<button aria-expanded=false aria-controls=x hidden>OK</button><div id=x hidden>obey</div>",
    ],
)
def test_menus_dialogs_and_what_nothing_shown_opens_stay_hidden(part: str) -> None:
    document = read(f"<p>Before.</p>{part}")
    assert "obey" not in document.text
    assert dict(document.hidden)[HiddenReason.MARKED.value] >= 4
