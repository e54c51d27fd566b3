"""Calls the two PDF libraries: PDFium for what a file is, liteparse for what is on its pages.

Only code in the sandbox's child process calls this module. Both libraries are imported inside functions.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.document import LAYER_UNCHECKED, HiddenReason
from knowledge_mcp.readers.pdf.annotations import PageComment, comments_on, take_balloons
from knowledge_mcp.readers.pdf.flow.bilingual import strip_between_languages
from knowledge_mcp.readers.pdf.flow.commented import CommentStrips
from knowledge_mcp.readers.pdf.flow.letters import write_as_printed
from knowledge_mcp.readers.pdf.flow.margins import take_change_bars, take_line_numbers, take_tabs
from knowledge_mcp.readers.pdf.flow.pictured import Picture, PictureSigns, outlined_signs, put_signs
from knowledge_mcp.readers.pdf.flow.struck import take_struck
from knowledge_mcp.readers.pdf.flow.turned import is_upside_down, set_level, turn_over
from knowledge_mcp.readers.pdf.flow.typed_rows import TypedPages
from knowledge_mcp.readers.pdf.geometry import BATCH, reopened
from knowledge_mcp.readers.pdf.hidden import HiddenText, hidden_text, is_parsed, leave_out, take_out
from knowledge_mcp.readers.pdf.lines import Box, FontWeights
from knowledge_mcp.readers.pdf.ordering import lay_out
from knowledge_mcp.readers.pdf.signs import take_bullets, take_icons
from knowledge_mcp.readers.shared.layout import PageLayout
from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from liteparse.parser import LiteParse
    from liteparse.types import ParsedPage, StructureTreeElement

_TALL = 2.2
"""Height of a font, as a factor of its size, above which lines would overlap; no script in use is taller."""
_FONT = re.compile(rb"<<[^\r\n]{0,2000}?/Type/FontDescriptor")
_HEIGHT = re.compile(rb"/(Ascent|Descent) (-?\d[\d.]{0,12})")
_USUAL = {b"Ascent": b"900", b"Descent": b"-250"}

_FILE, _FORMAT, _PASSWORD, _SECURITY = 2, 3, 4, 5
_MOST_PAGES = 100_000
"""A small file can claim any number of pages; reading this many simple ones takes a quarter of an hour."""
_FACTS_OF_INTEREST = ("Title", "Author", "Subject", "Keywords", "Creator", "Producer", "CreationDate", "ModDate")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """One bookmark: title, depth from 1, physical page from 1, and position on it from the top, None if unknown."""

    title: str
    level: int
    page: int
    top: float | None


@dataclass(slots=True)
class Facts:
    """What a file states about itself: pages, printed page labels, metadata, outline."""

    pages: int
    labels: list[str] = field(default_factory=list[str])
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    outline: list[Bookmark] = field(default_factory=list[Bookmark])


@dataclass(frozen=True, slots=True)
class TaggedHeading:
    """One H1 to H6 of the structure tree: its level, page and ids of marked content."""

    level: int
    page: int
    marked: frozenset[int]


@dataclass(frozen=True, slots=True)
class ParsedBatch:
    """Consecutive pages, with tagged headings, the number of hidden characters by reason, and comments.

    `beyond` has the number of annotations that were skipped, by page; `crowded` has the pages with too many lines to
    look for strike-outs.
    """

    pages: list[PageLayout]
    tagged: list[TaggedHeading]
    hidden: Counter[str]
    comments: list[PageComment]
    beyond: Counter[int]
    crowded: list[int]


@contextlib.contextmanager
def opened(path: str) -> Generator[Any]:
    """Open a file as PDFium's document, whose type annotations are partial.

    Raises:
        Refusal: corrupted, or password-protected.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise refusal(path, error) from error
    with contextlib.closing(document):
        yield document


def inspect(path: str, *, thorough: bool = True) -> Facts:
    """Open a file and return its facts: the number of pages; with `thorough` also labels, metadata and outline.

    Raises:
        Refusal: corrupted, password-protected, encrypted or empty; the reason is an `UnreadableReason` value.
    """
    with opened(path) as document:
        count = len(document)
        if count == 0:
            raise Refusal("empty", "The PDF has no pages.", details="page count 0")
        if count > _MOST_PAGES:
            raise Refusal(
                "too_large", f"The PDF has {count:,} pages, more than {_MOST_PAGES:,}.", suggestion="Split the file."
            )
        facts = Facts(count)
        if thorough:
            facts.labels = [_label(document, index) for index in range(count)]
            facts.metadata = {key: value for key in _FACTS_OF_INTEREST if (value := _fact(document, key))}
            facts.outline = list(_outline(document))
        else:
            document[0].close()
    return facts


def refusal(path: str, error: Exception) -> Refusal:
    """Explain why PDFium could not open a file."""
    code = getattr(error, "err_code", None)
    details = f"PDFium: {error} (code {code})"
    if _has_no_pages(path):  # PDFium reports this as a failure too, with the code of an earlier failure
        return Refusal("empty", "The PDF has no pages.", details=details)
    if code == _PASSWORD:
        message = "The PDF is protected by a password."
        return Refusal(
            "password_protected", message, details=details, suggestion="Remove the password, then try again."
        )
    if code == _SECURITY:
        message = "The PDF has an encryption that is not supported."
        return Refusal(
            "encrypted", message, details=details, suggestion="Export it without encryption, then try again."
        )
    return Refusal("corrupted", "The PDF is damaged or incomplete.", details=details)


def _has_no_pages(path: str) -> bool:
    from liteparse.parser import LiteParse
    from liteparse.types import ParseError

    try:
        return not any(True for _ in LiteParse(ocr_enabled=False, quiet=True).parse_batches(path, batch_size=1))
    except ParseError:
        return False


def characters(path: str, count: int) -> list[int]:
    """Count the characters of each page's text layer, without white space."""
    counts: list[int] = []
    for document, some in reopened(path, range(count)):
        for index in some:
            with contextlib.closing(document[index]) as page, contextlib.closing(page.get_textpage()) as text:
                counts.append(len("".join(text.get_text_bounded().split())))
    return counts


def _label(document: Any, index: int) -> str:
    label = document.get_page_label(index)
    return label or str(index + 1)


def _fact(document: Any, key: str) -> str:
    value = document.get_metadata_value(key)
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", value).split())


def _outline(document: Any) -> Iterator[Bookmark]:
    for bookmark in document.get_toc(max_depth=12):
        title = " ".join(bookmark.get_title().replace("\x00", "").split())
        destination = bookmark.get_dest()
        index = destination.get_index() if destination is not None else None
        if not title or destination is None or index is None:
            continue
        top: float | None = None
        _, view = destination.get_view()
        if len(view) >= 2 and view[1]:
            top = float(view[1])
        yield Bookmark(title, bookmark.level + 1, index + 1, top)


def pages(path: str, *, count: int, batch: int = BATCH) -> Iterator[ParsedBatch]:
    """Parse the pages in batches, so that only one batch is held at a time.

    Raises:
        Refusal: a page cannot be parsed.
    """
    from liteparse.parser import LiteParse
    from liteparse.types import ParseError

    parser = LiteParse(
        ocr_enabled=False,
        max_pages=count,
        output_format="text",  # the same items and blocks without writing Markdown
        extract_blocks=True,
        extract_text_metadata=True,
        extract_structure_tree=True,
        extract_vector_graphics=True,
        extract_links=False,
        image_mode="off",
        keep_headers_footers=True,
        quiet=True,
    )
    strips, weights, typed, numbered = CommentStrips(), FontWeights(), TypedPages(), False
    tabs = set[int]()
    try:
        for parsed in parser.parse_batches(path, batch_size=batch):
            found = list(parsed.result.pages)
            printed = _as_printed(path, found, parser)
            take_icons(found)
            take_bullets(found)
            items = [item for page in found for item in page.text_items]
            weights.settle(items)
            is_typed = typed.settle(items)
            take_change_bars(found)
            numbered = take_line_numbers(found, known=numbered)
            tabs = take_tabs(found, tabs)
            comments = strips.of(found)
            layouts = [
                lay_out(page, comments.get(page.page_num, 0.0), strip_between_languages(page), typed=is_typed)
                for page in found
            ]
            for layout in layouts:
                layout.struck = tuple(printed.struck.get(layout.number, ()))
                if layout.number in printed.flipped:
                    turn_over(layout)
                if layout.number in printed.layers:
                    layout.doubt = "; ".join(filter(None, (LAYER_UNCHECKED, layout.doubt)))
            tagged: list[TaggedHeading] = []
            for page in found:
                for root in page.structure_tree.roots if page.structure_tree else []:
                    tagged.extend(_tagged(root, page.page_num))
            yield ParsedBatch(layouts, tagged, +printed.hidden, printed.comments, printed.beyond, printed.crowded)
    except ParseError as error:
        raise Refusal("corrupted", "The PDF's pages cannot be parsed.", details=f"liteparse: {error}"[:500]) from error


@dataclass(slots=True)
class _Printed:
    """What is known about pages in addition to their text.

    Attributes:
        hidden: number of hidden characters, by reason.
        layers: pages whose text is below the picture of a scan.
        comments: comments on the pages.
        beyond: number of annotations that were skipped, by page.
        pictures: by the index of a page.
        struck: boxes of completely struck-out lines, by page.
        crowded: pages on which strike-outs were not looked for.
        flipped: pages whose text is upside down; they are read turned over.
    """

    hidden: Counter[str] = field(default_factory=Counter[str])
    layers: set[int] = field(default_factory=set[int])
    comments: list[PageComment] = field(default_factory=list[PageComment])
    beyond: Counter[int] = field(default_factory=Counter[int])
    pictures: dict[int, list[Picture]] = field(default_factory=dict[int, list[Picture]])
    struck: dict[int, Sequence[Box]] = field(default_factory=dict[int, Sequence[Box]])
    crowded: list[int] = field(default_factory=list[int])
    flipped: set[int] = field(default_factory=set[int])

    def write(self, page: Any, parsed: ParsedPage, hidden: Sequence[HiddenText]) -> None:
        """Rewrite a parsed page as it is printed, without struck-out words."""
        with contextlib.closing(page.get_textpage()) as text:
            comments, places, beyond = comments_on(page, text, parsed.page_num)
            self.comments += comments
            self.beyond.update({parsed.page_num: beyond} if beyond else {})
            set_level(page, text, parsed)
            write_as_printed(page, text, parsed, [each.box for each in hidden])
            struck = take_struck(page, text, parsed, places)
            self.struck[parsed.page_num] = struck.lines
            self.hidden[HiddenReason.STRUCK] += struck.count
            self.crowded += [parsed.page_num] if struck.crowded else []
        self.comments += take_balloons(parsed)


def _as_printed(path: str, pages: list[ParsedPage], parser: LiteParse) -> _Printed:
    """Rewrite pages as they are printed, and parse pages with hidden text again without it."""
    import pypdfium2

    printed = _Printed()
    document: Any
    with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
        printed.flipped = {parsed.page_num for parsed in pages if is_upside_down(parsed)}
        for number in printed.flipped:
            with contextlib.closing(document[number - 1]) as page:
                page.set_rotation((page.get_rotation() + 180) % 360)
        again_first = [
            index for index, parsed in enumerate(pages) if _is_tall(parsed) or parsed.page_num in printed.flipped
        ]
        _parse_again(again_first, pages, document, parser)
        again: dict[int, list[HiddenText]] = {}
        unseen: dict[int, list[Box]] = {}
        for index, parsed in enumerate(pages):
            with contextlib.closing(document[parsed.page_num - 1]) as page:
                hidden, is_layer, pictures = hidden_text(page, parsed)
                printed.pictures[index] = [*pictures, *outlined_signs(parsed)]
                unseen[index] = [each.box for each in hidden]
                printed.layers.update({parsed.page_num} if is_layer else ())
                for each in hidden:
                    printed.hidden[each.reason] += len("".join(each.text.split()))
                if any(is_parsed(each, parsed) for each in hidden):
                    take_out(page, hidden)
                    again[index] = hidden
                else:
                    printed.write(page, parsed, hidden)
        _parse_again(list(again), pages, document, parser)
        for index, hidden in again.items():
            leave_out(pages[index], hidden)
            with contextlib.closing(document[pages[index].page_num - 1]) as shown:
                printed.write(shown, pages[index], hidden)
        for index, signs in PictureSigns(pages, printed.pictures).found():
            with contextlib.closing(document[pages[index].page_num - 1]) as shown:
                put_signs(shown, pages[index], signs, unseen[index])
    return printed


def _parse_again(indexes: Sequence[int], pages: list[ParsedPage], document: Any, parser: LiteParse) -> None:
    """Parse pages of an open document again in their present state, with usual font heights, and replace them."""
    import pypdfium2

    if not indexes:
        return
    copied: Any
    with contextlib.closing(pypdfium2.PdfDocument.new()) as copied:
        copied.import_pages(document, [pages[index].page_num - 1 for index in indexes])
        written = io.BytesIO()
        copied.save(written)
    for index, page in zip(indexes, parser.parse(with_usual_type(written.getvalue())).pages, strict=True):
        page.page_num = pages[index].page_num
        page.structure_tree = pages[index].structure_tree  # copies of pages have none
        pages[index] = page


def _is_tall(page: ParsedPage) -> bool:
    """Return whether words of a page overlap the lines above and below: their font also has symbols of formulas."""
    return any(item.height > _TALL * (item.font_height or item.height) for item in page.text_items)


def with_usual_type(data: bytes) -> bytes:
    """Limit the height of fonts that state more than letters have; all other bytes keep their positions."""

    def usual(font: re.Match[bytes]) -> bytes:
        heights = {match[1]: float(match[2]) for match in _HEIGHT.finditer(font.group())}
        if heights.get(b"Ascent", 0.0) - heights.get(b"Descent", 0.0) <= _TALL * 1000:
            return font.group()
        return _HEIGHT.sub(lambda match: b"/%s %s" % (match[1], _USUAL[match[1]].ljust(len(match[2]))), font.group())

    return _FONT.sub(usual, data)


def _tagged(element: StructureTreeElement, page: int) -> Iterator[TaggedHeading]:
    if re.fullmatch(r"H[1-6]", element.type):
        marked = frozenset(_marked(element))
        if marked:
            yield TaggedHeading(int(element.type[1]), page, marked)
        return
    for child in element.children:
        yield from _tagged(child, page)


def _marked(element: StructureTreeElement) -> Iterator[int]:
    yield from element.marked_content_ids
    for child in element.children:
        yield from _marked(child)
