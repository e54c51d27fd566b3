"""The reading job in the sandbox's child process: turns a PDF's bytes into messages of plain JSON values.

`read` yields these messages in this order: `progress` while pages are parsed, `hidden` if there is hidden text, `facts`
once, then `items` (headings and blocks, a few hundred at a time) and finally `pages`. If text recognition is enabled
and pages need it, `scans` names them and is the last message; the next call receives what was recognised.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.language.titles import LONGEST_TITLE, is_part_number
from knowledge_mcp.readers.pdf import engine
from knowledge_mcp.readers.pdf.annotations import PageComment, comment_warnings
from knowledge_mcp.readers.pdf.columns.glossaries import take_columns
from knowledge_mcp.readers.pdf.columns.symbols import explain_symbols
from knowledge_mcp.readers.pdf.continued import join_tables
from knowledge_mcp.readers.pdf.flow.bilingual import in_languages
from knowledge_mcp.readers.pdf.flow.commented import in_columns, in_flows, take_heads
from knowledge_mcp.readers.pdf.flow.struck import crowded_warning
from knowledge_mcp.readers.pdf.headings.candidates import Body, body_of, settle_code
from knowledge_mcp.readers.pdf.headings.clauses import (
    coded_titles,
    noted_sections,
    number_titles,
    put_in_annexes,
    untitled_clauses,
)
from knowledge_mcp.readers.pdf.headings.contents import Contents, take_contents
from knowledge_mcp.readers.pdf.headings.entries import TermsPages, terms_pages
from knowledge_mcp.readers.pdf.headings.numbered import Heading, detect_headings, in_order
from knowledge_mcp.readers.pdf.headings.outline import (
    listed_headings,
    merge_headings,
    outline_headings,
    tagged_headings,
)
from knowledge_mcp.readers.pdf.paragraphs.blocks import blocks_of
from knowledge_mcp.readers.pdf.running.furniture import remove_furniture, running_lines
from knowledge_mcp.readers.pdf.running.labels import printed_labels
from knowledge_mcp.readers.pdf.scans import COVERED, marks_of, pages_to_recognise, take_recognised, without_copies
from knowledge_mcp.readers.shared.hidden import COMMENTS, noted
from knowledge_mcp.readers.shared.layout import UNREAD, Line, PageLayout, Table, letters_of, unread_pictures
from knowledge_mcp.support.sandbox_worker import Refusal

_PER_MESSAGE = 400


def check(path: str) -> Iterator[dict[str, Any]]:
    """Open the file and yield its number of pages.

    Raises:
        Refusal: as `engine.inspect`.
    """
    yield {"pages": engine.inspect(path, thorough=False).pages}


def survey(path: str) -> Iterator[dict[str, Any]]:
    """Yield for each page, in order: `page`, `image_ratio`, `images`, `paths`, `slanted`, `characters`.

    Raises:
        Refusal: as `engine.inspect`, or the pages cannot be parsed.
    """
    count = engine.inspect(path, thorough=False).pages
    characters = engine.characters(path, count)
    for marks in marks_of(path, range(1, count + 1)):
        yield {
            "page": marks.number,
            "image_ratio": round(marks.image_ratio, 4),
            "images": marks.images,
            "paths": marks.paths,
            "slanted": marks.slanted,
            "characters": characters[marks.number - 1],
        }


def read(
    path: str, *, use_outline: bool = True, scans: str = "", recognised: str = "", unread: Sequence[int] = ()
) -> Iterator[dict[str, Any]]:
    """Read the file and yield messages.

    Args:
        path: absolute path of the file.
        use_outline: False ignores bookmarks and tags, to measure what typography alone finds.
        scans: `find` names the pages that need text recognition, `all` names every page, empty names none.
        recognised: path of the file with the recognised words.
        unread: pages that needed recognition and were not recognised.

    Raises:
        Refusal: the file cannot be opened or parsed, or has no text at all.
    """
    facts = engine.inspect(path)
    pages: list[PageLayout] = []
    tagged: list[engine.TaggedHeading] = []
    hidden: Counter[str] = Counter()
    comments: list[PageComment] = []
    beyond: Counter[int] = Counter()
    crowded: list[int] = []
    yield {"progress": [0, facts.pages]}
    for batch in engine.pages(path, count=facts.pages):
        pages.extend(batch.pages)
        tagged.extend(batch.tagged)
        hidden += batch.hidden
        comments += batch.comments
        beyond.update(batch.beyond)
        crowded += batch.crowded
        yield {"progress": [len(pages), facts.pages]}
    if scans and (needed := pages_to_recognise(path, pages, force=scans == "all")):
        yield {"scans": [[number, reason] for number, reason in needed.items()]}
        return
    if hidden:
        yield {"hidden": dict(hidden)}
    for warning in (*crowded_warning(crowded), *comment_warnings(comments, beyond)):
        yield {"warning": warning}
    taken = take_recognised(pages, recognised) if recognised else set[int]()
    outline, marked = (facts.outline, tagged) if use_outline else ([], [])
    described = {"facts": facts.metadata | noted(COMMENTS, [*map(str, comments)]), "labels": facts.labels}
    yield from compose(path, pages, described, outline=outline, tagged=marked, taken=taken, unread=unread)


def compose(
    path: str,
    pages: Sequence[PageLayout],
    described: Mapping[str, Any],
    *,
    outline: Sequence[engine.Bookmark] = (),
    tagged: Sequence[engine.TaggedHeading] = (),
    taken: Collection[int] = (),
    unread: Collection[int] = (),
    furniture: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield `facts`, `items` and `pages` of laid-out pages; `described` has `facts` and `labels`.

    The message with the facts also has `headlines` and `running`, candidates for the title, and `left_out`: the lines
    that were removed as headers and footers. Without `furniture` none are removed: the pages are not sheets of paper.

    Raises:
        Refusal: there is no text on any page.
    """
    textless = [page.number for page in pages if not page.elements]
    running = _running_line(pages)
    own = without_copies(pages, taken) if taken else pages
    bare, removed = remove_furniture(own, described["labels"]) if furniture else ({}, [])
    pictured = _pictured(path, {*textless, *bare}.difference(taken, unread))
    _restore(pages, bare, pictured)
    heads = take_heads(pages)
    removed += heads
    text = {id(line) for page in pages for line in page.lines}
    blank = _blank(pages)
    settle_code(pages)
    join_tables(pages)
    flows = in_languages(pages)
    contents = [take_contents(some) for some in flows]
    body = body_of(list(itertools.chain.from_iterable(flows)))
    named = outline_headings(_to_text(outline, heads, contents), pages) or tagged_headings(tagged, pages)
    parts = [
        _structured(some, body, named, listed_headings(listed.entries, some))
        for some, listed in zip(flows, contents, strict=True)
    ]
    if signs := sum(line.text.count(UNREAD) for page in pages for line in page.all_lines):
        yield {"warning": unread_pictures(signs)}
    yield {
        "facts": described["facts"],
        "headlines": _headlines(pages),
        "running": running,
        "left_out": running_lines([line for line in removed if id(line) not in text]),
        "commented": any(page.strip for page in pages),
    }
    items = itertools.chain.from_iterable(blocks_of(some, found.headings, body, found.begins) for some, found in parts)
    while some := list(itertools.islice(items, _PER_MESSAGE)):
        yield {"items": some}
    yield {
        "pages": [page.number for page in pages],
        "labels": printed_labels(removed, described["labels"]),
        "blank": blank,
        "scanned": sorted(pictured.intersection(blank) | set(unread)),
        "recognised": sorted(taken),
        "contents": sorted({number for each in contents for number in each.pages}),
        "doubtful": [[page.number, page.doubt] for page in pages if page.doubt and page.number not in taken],
    }


def _to_text(
    outline: Sequence[engine.Bookmark], heads: Sequence[Line], contents: Sequence[Contents]
) -> list[engine.Bookmark]:
    """Leave out bookmarks of the titles of columns, which every page has, and of entries of contents.

    One on a page of contents is that of an entry if a later one has the same words.
    """
    titles = {(line.page, letters_of(line.text)) for line in heads}
    listing = {number for each in contents for number in each.pages}
    kept: list[engine.Bookmark] = []
    later: set[str] = set()
    for each in reversed(outline):
        words = letters_of(each.title)
        if (each.page, words) not in titles and (each.page not in listing or words not in later):
            kept.append(each)
        later.add(words)
    return kept[::-1]


def _blank(pages: Sequence[PageLayout]) -> list[int]:
    """List the pages without text.

    Raises:
        Refusal: no page has text.
    """
    blank = [page.number for page in pages if not page.elements]
    if len(blank) == len(pages):
        raise Refusal(
            "empty",
            "The file has no text: its pages are images or blank.",
            details=f"{len(pages)} pages without text of their own",
            suggestion="Run OCR on it, then use the result.",
        )
    return blank


def _structured(
    pages: Sequence[PageLayout], body: Body, named: Sequence[Heading], listed: Sequence[Heading]
) -> tuple[Sequence[PageLayout], TermsPages]:
    """Find the structure of a document, or of its text in one language; also return its pages in reading order.

    Clauses without a title, or with a title in the margin, are added. Comments next to clauses are placed after them.
    """
    lines = {id(line) for page in pages for line in page.lines}
    named = [each for each in named if id(each.lines[0]) in lines]
    found = terms_pages(pages, _headings(pages, body, named, listed))
    commented = any(page.strip for page in pages)
    found.headings += noted_sections(pages, found.headings)
    number_titles(pages, found.headings)
    found.headings = in_order([*found.headings, *coded_titles(pages, found.headings, body)], pages)
    found.headings += untitled_clauses(in_columns(pages), found.headings, commented=commented)
    if commented:
        numbers = {id(heading.lines[0]): heading.number for heading in found.headings if heading.number}
        pages, begins = in_flows(pages, numbers)
        found.begins.update(begins)
        join_tables(pages)
    found.headings = in_order(found.headings, pages)
    found.begins.update(explain_symbols(pages))
    found.begins.update(take_columns(pages, found.headings))
    return pages, found


def _pictured(path: str, numbers: Collection[int]) -> set[int]:
    """Return the pages that are mostly covered by pictures, as scanned pages are; empty without a file."""
    if not path:
        return set()
    return {marks.number for marks in marks_of(path, sorted(numbers)) if marks.image_ratio > COVERED}


def _headings(
    pages: Sequence[PageLayout], body: Body, named: Sequence[Heading], listed: Sequence[Heading]
) -> list[Heading]:
    """Take the headings that the file names, and add those found by contents pages, numbering and typography."""
    detected = detect_headings(pages, body, listed, numbered_only=bool(named))
    put_in_annexes(detected, listed)
    return merge_headings(named, detected, pages)


def _restore(pages: Sequence[PageLayout], bare: Mapping[int, list[Line | Table]], pictured: Collection[int]) -> None:
    """Restore removed lines if many pages have nothing else: they are text, unless a picture covers the page."""
    textual = {number: elements for number, elements in bare.items() if number not in pictured}
    if len(textual) > max(3, 0.3 * len(pages)):
        for page in pages:
            page.elements = textual.get(page.number, page.elements)


_PRINTS, _TITLE_LINES = 4, 6
"""Number of font sizes examined on a cover, and maximum number of lines in one size: a title, not running text."""
_LEAST_PAGES = 4
_EDGE = 0.1
"""Number of pages from which running lines are looked for, and share of a page's height for header and footer each."""


def _headlines(pages: Sequence[PageLayout]) -> list[str]:
    """Return the texts of each font size on the first page with text, largest size first: one of them is the title.

    Each consists of all lines in one size, up to six. Empty if all lines have the same size.
    """
    for page in pages:
        lines = [line for line in page.lines if not line.rotated and _may_be_title(line.text)]
        if not lines:
            continue
        clauses = (at for at, line in enumerate(lines) if line.bold and _is_clause(line))
        first = next(clauses, 0) or len(lines)
        found: list[str] = []
        for size in sorted({round(line.size) for line in lines}, reverse=True)[:_PRINTS]:
            alike = [line for line in lines if round(line.size) == size]
            if len(alike) == len(lines) > 1 or len(alike) > _TITLE_LINES:
                break  # the running text
            if sum(split_clause_number(line.text).number is not None for line in alike) > 1:
                continue  # headings
            if len({line.text for line in alike}) < len(alike):
                continue  # a heading that each clause has: "Commentary"
            above = [line for line in lines[:first] if round(line.size) == size]
            alike = [line for line in _without_asides(above) if role_of_title(line.text) is not SectionRole.OVERVIEW]
            text = " ".join(line.text for line in alike)
            if 0 < len(text) <= LONGEST_TITLE:
                found.append(text)
        return found
    return []


def _may_be_title(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 2 or is_part_number(text)


def _without_asides(lines: Sequence[Line]) -> list[Line]:
    """Leave out lines in brackets that are in another font than the rest: "(Text with EEA relevance)" below an act."""
    plain = [line for line in lines if not (line.text.startswith("(") and line.text.find(")") == len(line.text) - 1)]
    fonts = {line.font for line in plain}
    return [line for line in lines if line in plain or not fonts or line.font in fonts]


def _is_clause(line: Line) -> bool:
    """Return whether a line is the heading of a clause, which the title is above: "1 Scope", not "Part 1: Rice"."""
    numbered = split_clause_number(line.text)
    return numbered.number is not None and not numbered.keyword


def _running_line(pages: Sequence[PageLayout]) -> str:
    """Return the line that more than half of the pages have in header or footer; empty if there is none."""
    if len(pages) < _LEAST_PAGES:
        return ""
    counted: Counter[str] = Counter()
    for page in pages:
        edge = _EDGE * page.height
        lines = (line.text.strip() for line in page.lines if line.y1 < edge or line.y0 > page.height - edge)
        counted.update(list(dict.fromkeys(lines)))  # in printed order: of equally frequent lines the first is returned
    text, count = next(iter(counted.most_common(1)), ("", 0))
    return text if 2 * count > len(pages) and sum(map(str.isalpha, text)) > 2 else ""
