"""Codes with a commentary next to their clauses: code on the left, comments on the right, page after page.

Each column continues in the same column of the next page. The numbers identify the form: on the right "R26.4.1" or
"C5.2.1", on the left the clauses with these numbers. The columns are read separately, each comment after its clause.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import is_rotated, rows_of
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of, lines_of
from knowledge_mcp.readers.shared.numbering import NumberKey, clause_commented, number_key

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_BEGINNING = re.compile(r"(?P<letter>[CR])?(?P<number>\d{1,3}(?:\.\d{1,3})+)(?![\d%])")
"""The beginning of a clause or its comment."""
_HEAD = re.compile(r"commentary|comments?", re.IGNORECASE)
"""A title above the comments."""
_COLUMNS, _ROW = 2, 8.0
"""Number of columns, and maximum difference in points between the heights of their titles."""
_NAMED = re.compile(r"commentar(?:y|ies)\b", re.IGNORECASE)
_FEWEST_PAGES = 2
"""Minimum number of pages with comments: the columns of a single page are read in order anyway."""
_NEAR_PAGES = 2
"""Maximum number of pages between a comment and its clause: one runs ahead if the other is longer."""
_STRAY = 0.1
"""Maximum share of beginnings that can be by chance on the other side of the strip: a line may begin with a number."""
_GAP = 9.0
"""Minimum free space in points before the beginning of a clause or comment, as for the strip next to an aside."""
_ASIDE = 0.15
"""Minimum distance between the left edges of clauses and comments as a share of the page's width."""
_SAME = 6.0
"""Maximum distance in points between the left edges of comment numbers in one column."""
_INDENT = 36
"""Distance in points before a comment's number in which the free strip is searched: its first line may be indented."""
_CROSSING = 0.5
"""Maximum share of rows across both columns: tables and pages with one column have such rows."""
_BETWEEN = 4
"""Maximum number of consecutive pages without a comment number: one long comment, or no comments."""


@dataclass(frozen=True, slots=True)
class _Start:
    """The beginning of a clause or comment on a page."""

    page: int
    x: float
    number: str
    is_comment: bool


@dataclass(slots=True)
class CommentStrips:
    """Find the strip between clauses and comments on pages that are parsed in batches."""

    _known: list[float] = field(default_factory=list[float])
    _commented: set[int] = field(default_factory=set[int])
    _named: bool = False  # the document uses the word; otherwise numbers of requirements may look like comments

    def of(self, pages: Sequence[ParsedPage]) -> dict[int, float]:
        """Return the middle of the strip, by page number, for pages with clauses to the left of their comments."""
        self._named = self._named or any(_NAMED.search(item.text) for page in pages for item in page.text_items)
        if not self._named or not (self._known or any(map(_may_begin, pages))):
            return {}
        starts = {page.page_num: list(_starts(page)) for page in pages}
        matched = _matched(list(itertools.chain.from_iterable(starts.values())), pages)
        if len({each.page for each in matched}) < _FEWEST_PAGES and not self._known:
            return {}
        rows = {page.page_num: _rows(page) for page in pages}
        strips = _strips(matched, rows) or self._known
        places = {number: min(strips, key=lambda x: _crossing(rows[number], x)) for number in rows}
        everything = [each for some in starts.values() for each in some]
        if _stray(everything, {each.page for each in matched}, places):
            return {}
        self._known = strips
        clauses = {each.number for each in everything if not each.is_comment}
        self._commented |= {each.page for each in everything if each.is_comment and each.number in clauses}
        commented = self._commented
        found: dict[int, float] = {}
        for page in pages:
            number = page.page_num
            x = places[number]
            if _crossing(rows[number], x) > _CROSSING * len(rows[number]):
                continue
            own = [each for each in starts[number] if not each.is_comment]
            if number in commented or (
                not any(each.x > x for each in own)
                and (_has_head(page, x) or _lies_between(number, commented) or (number - 1 in commented and own))
            ):
                found[number] = x
        return found


def _may_begin(page: ParsedPage) -> bool:
    """Check quickly whether a comment may begin on a page."""
    return any(item.text[:1] in "CR" and item.text[1:2].isdigit() for item in page.text_items)


def _rows(page: ParsedPage) -> list[list[TextItem]]:
    return rows_of([item for item in page.text_items if item.text.strip() and not is_rotated(item)])


def _starts(page: ParsedPage) -> Iterator[_Start]:
    for row in _rows(page):
        for before, item in zip([None, *row], row, strict=False):
            match = _BEGINNING.match(item.text.lstrip())
            if match and (before is None or item.x - before.x - before.width >= _GAP):
                yield _Start(page.page_num, item.x, match["number"], match["letter"] is not None)


def _matched(starts: Sequence[_Start], pages: Sequence[ParsedPage]) -> list[_Start]:
    """Return the comments to the right of the beginning of their clauses, on the same page or nearby."""
    widths = {page.page_num: page.width for page in pages}
    clauses: defaultdict[str, list[_Start]] = defaultdict(list)
    for each in starts:
        if not each.is_comment:
            clauses[each.number].append(each)
    return [
        each
        for each in starts
        if each.is_comment
        and any(
            abs(clause.page - each.page) <= _NEAR_PAGES and clause.x < each.x - _ASIDE * widths[each.page]
            for clause in clauses[each.number]
        )
    ]


def _strips(matched: Sequence[_Start], rows: dict[int, list[list[TextItem]]]) -> list[float]:
    """Find the strips before the comments: left and right pages may have different margins."""
    strips: list[float] = []
    waiting = sorted(matched, key=lambda each: each.x)
    while waiting:
        column = [each for each in waiting if each.x <= waiting[0].x + _SAME]
        waiting = waiting[len(column) :]
        if len(column) > _STRAY * len(matched):
            some = [row for number in {each.page for each in column} for row in rows[number]]
            left = int(column[0].x)
            counted = {float(x): _crossing(some, x) for x in range(left - _INDENT, left)}
            least = min(counted.values())
            free = [x for x, count in counted.items() if count == least]
            strips.append(free[len(free) // 2])
    return strips


def _stray(starts: Sequence[_Start], pages: Collection[int], places: Mapping[int, float]) -> bool:
    """Return whether clauses also begin right of the strips, or comments left of them: the text is in plain columns.

    Numbers further to the right do not begin a column: they are values.
    """
    here = [(each, each.x - places[each.page]) for each in starts if each.page in pages]
    left = {each.number for each, beyond in here if not each.is_comment and beyond <= 0}
    right = {each.number for each, beyond in here if not each.is_comment and 0 < beyond <= _INDENT}
    comments = [beyond > 0 for each, beyond in here if each.is_comment]
    expected = len(left) + comments.count(True)
    return len(right - left) > _STRAY * expected or comments.count(False) > _STRAY * len(comments)


def _crossing(rows: Sequence[Sequence[TextItem]], x: float) -> int:
    return sum(any(item.x < x < item.x + item.width for item in row) for row in rows)


def _has_head(page: ParsedPage, x: float) -> bool:
    return any(item.x > x and _HEAD.fullmatch(item.text.strip()) for item in page.text_items)


def _lies_between(number: int, commented: Collection[int]) -> bool:
    before = any(number - step in commented for step in range(1, _BETWEEN + 1))
    return before and any(number + step in commented for step in range(1, _BETWEEN + 1))


# ---- the titles of the columns --------------------------------------------------------------------------------------


def take_heads(pages: Sequence[PageLayout]) -> list[Line]:
    """Remove the titles of both columns at the top of pages ("CODE", "COMMENTARY"); return them.

    Pages with the same titles and no strip, as above a wide table, are included.
    """
    rows: dict[int, list[Line]] = {}
    for page in pages:
        first = min((line.y0 for line in page.lines), default=0.0)
        row = [line for line in page.lines if line.y0 - first < _ROW]
        if len(row) <= _COLUMNS and len(page.lines) > len(row):
            rows[page.number] = row
    heads = [
        letters_of("".join(line.text for line in rows[page.number]))
        for page in pages
        if page.strip
        and any(_is_comment(line, page.strip) and _HEAD.fullmatch(line.text) for line in rows.get(page.number, ()))
    ]
    known = set(heads) if len(heads) >= _FEWEST_PAGES else set[str]()
    found = [line for row in rows.values() if letters_of("".join(line.text for line in row)) in known for line in row]
    gone = {id(line) for line in found}
    for page in pages:
        page.elements = [each for each in page.elements if id(each) not in gone]
    return found


# ---- the order ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Unit:
    """A clause or comment with everything below it in its column."""

    key: NumberKey
    page: int
    elements: list[Line | Table]


def in_columns(pages: Sequence[PageLayout]) -> list[PageLayout]:
    """Split pages that have a strip: the clauses of all pages, then all comments. Other pages count as clauses."""
    columns = [
        replace(page, elements=[each for each in page.elements if _is_comment(each, page.strip) == is_right])
        for is_right in (False, True)
        for page in pages
    ]
    return [page for page in columns if page.elements]


def in_flows(pages: Sequence[PageLayout], numbers: Mapping[int, str]) -> tuple[list[PageLayout], dict[int, bool]]:
    """Move comments after their clauses if pages have a strip between them.

    Args:
        pages: in order; pages without a strip belong completely to the clauses' column.
        numbers: numbers of clauses and comments, by id of their first line.

    Returns:
        Parts of pages in reading order, and which lines begin a paragraph, by id.
    """
    keys = {line: number_key(number) or () for line, number in numbers.items()}
    known = {key for key in keys.values() if key}
    code: list[_Unit] = [_Unit((), 0, [])]
    comments: list[_Unit] = []
    loose: dict[int, list[Line | Table]] = {}
    for page in in_columns(pages):
        for element in page.elements:
            key = keys.get(id(element), ())
            clause = clause_commented(key, known)
            if not _is_comment(element, page.strip):
                if key and clause is None:
                    code.append(_Unit(key, page.number, []))
                code[-1].elements.append(element)
                continue
            if clause is not None:
                comments.append(_Unit(clause, page.number, []))
            if comments:
                comments[-1].elements.append(element)
            else:
                loose.setdefault(page.number, []).append(element)
    for number, elements in loose.items():
        _put_before(code, number, elements)
    order = [element for unit in _paired(code, comments) for element in unit.elements]
    begins = {id(elements[0]): True for elements in loose.values()}
    return _parts(order, {page.number: page for page in pages}), begins


def _is_comment(element: Line | Table, strip: float) -> bool:
    """Return whether an element is to the right of a strip."""
    lines = lines_of(element)
    return strip > 0 and not lines[0].rotated and min(line.x0 for line in lines) > strip


def _put_before(code: list[_Unit], page: int, elements: Sequence[Line | Table]) -> None:
    """Insert elements from the comments' column that precede the first comment before the first clause of their page.

    They are the rest of a comment whose beginning is not in the file.
    """
    place = next((place for place, unit in enumerate(code) if unit.page >= page), len(code))
    code[place - 1].elements.extend(elements)


def _paired(code: Sequence[_Unit], comments: Sequence[_Unit]) -> Iterator[_Unit]:
    """Yield each clause, followed by its comments."""
    places: defaultdict[NumberKey, list[int]] = defaultdict(list)
    for place, unit in enumerate(code):
        places[unit.key].append(place)
    behind: defaultdict[int, list[_Unit]] = defaultdict(list)
    for comment in comments:
        near = min(places[comment.key], key=lambda place: abs(code[place].page - comment.page))
        behind[near].append(comment)
    for place, unit in enumerate(code):
        yield unit
        yield from behind[place]


def _parts(elements: Sequence[Line | Table], pages: dict[int, PageLayout]) -> list[PageLayout]:
    return [
        replace(pages[number], elements=list(some))
        for number, some in itertools.groupby(elements, key=lambda element: element.page)
    ]
