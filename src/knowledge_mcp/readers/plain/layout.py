"""Lays out plain text as typewritten pages, with every row at its place, so that the rules for PDF pages apply.

A row stands out if its author set it apart: underlined, outdented, centred above the text, or after more blank rows
than there are between paragraphs. Drawings, boxes and program text are code; boxes with columns are tables.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.readers.pdf.headings.candidates import is_drawn
from knowledge_mcp.readers.pdf.headings.sequences import FIRST_NUMBERS
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table
from knowledge_mcp.readers.shared.numbering import roman_value

COLUMN, PITCH, SIZE = 6.0, 12.0, 10.0
"""Width of a column and height of a row in points, and the font size: a ten-point typewriter on ordinary paper."""
_TITLE, _UNDERLINED = 14.0, {"=": 13.0, "-": 12.0}
_LESSER = 11.5
"""Font sizes that represent a title, and headings by the character that underlines them."""
_PAPER = 72
"""Minimum number of columns of a page."""
_MOST_HEADING = 0.85
"""Maximum width of a heading as a share of the text's width; running text is broken at its full width."""
_NAME = 5
"""Number of capitals from which a row is a heading next to running text; fewer may be an abbreviation."""
_TITLE_ROWS, _OFF_CENTRE = 3, 5
"""Maximum number of rows of a title, and of columns by which a row that is centred by hand is off."""
_FEET, _CLAUSES = 3, 3
"""Number of lines like "[Page 7]" that divide a text without form feeds into pages, and of titles that make a series
of clauses."""
_TITLE_WORDS = 12
"""Maximum number of words of a clause's title; more words are a sentence."""

_FOOT = re.compile(r".*\[Page (?P<number>\d{1,4})\]\s*")
_UNDERLINE = re.compile(r"\s*(?P<sign>[=\-~^*#+_\"])(?P=sign){2,}\s*")
_WIDE_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_BORDER = re.compile(r"\s*\+(?:[-=]+\+)+\s*")
_LEADER = re.compile(r"\.(?: ?\.){2,80} {0,60}(?:\d{1,4}|[ivxlc]{1,6})\Z")
_PROGRAM = re.compile(r"[;{}]\s*(?:/\*.{0,80}\*/\s*)?|.{0,60}[{};]\s*")
_OPEN_END = (".", ",", ";", ":", "-")


@dataclass(slots=True)
class TextRow:
    """One row that is not blank: its line number in the file, its place on the page from 0, its text as in the file."""

    number: int
    place: int
    text: str
    size: float = SIZE
    bold: bool = False
    code: bool = False
    group: int = 0
    """Number of the run of rows without blank ones, so that no paragraph continues over a blank row."""

    @property
    def indent(self) -> int:
        """Count the spaces before the text."""
        return len(self.text) - len(self.text.lstrip())


@dataclass(slots=True)
class TextPage:
    """One page: its number, its height in rows, its rows, and the tables drawn on it."""

    number: int
    height: int
    rows: list[TextRow]
    tables: dict[int, Table] = field(default_factory=dict[int, Table])
    """By the place of the table's first row; all its rows are in `within`."""
    within: set[int] = field(default_factory=set[int])


def text_pages(text: str) -> list[TextPage]:
    """Split a text into pages: at form feeds, else after lines that end in "[Page 7]"; otherwise it is one page."""
    pages: list[list[tuple[int, str]]] = [[]]
    lines = text.rstrip().split("\n")
    feet = 0 if "\f" in text.strip() else sum(_FOOT.fullmatch(line) is not None for line in lines)
    for number, line in enumerate(lines, 1):
        for position, part in enumerate(line.split("\f")):
            if position:
                pages.append([])
            pages[-1].append((number, part.expandtabs(8).replace("\xa0", " ").rstrip()))
        if feet >= _FEET and _FOOT.fullmatch(line):
            pages.append([])
    if feet >= _FEET and not any(words.strip() for _, words in pages[-1]):
        pages.pop()
    return [TextPage(number, len(rows), list(_filled(rows))) for number, rows in enumerate(pages, 1)]


def _filled(rows: Sequence[tuple[int, str]]) -> Iterator[TextRow]:
    for place, (number, words) in enumerate(rows):
        if words.strip("\ufeff\u200b "):
            yield TextRow(number, place, words)


def lay_out(sheets: Sequence[TextPage]) -> list[PageLayout]:
    """Lay out pages, with rows that stand out in larger or bolder print; underlines and borders are not text."""
    groups = [(sheet, group) for sheet in sheets for group in runs_of(sheet)]
    width = max((len(row.text) for sheet in sheets for row in sheet.rows), default=_PAPER)
    for position, (sheet, group) in enumerate(groups):
        for row in group:
            row.group = position
        _take_tables(sheet, group)
        _mark_code(group)
    _mark_contents([group for _, group in groups])
    _mark_underlined(sheets)
    _mark_outstanding(groups)
    _mark_series(groups)
    _mark_named([group for _, group in groups], max(width, _PAPER))
    _mark_title(groups)
    return [_page(sheet, max(width, _PAPER)) for sheet in sheets]


def runs_of(sheet: TextPage) -> Iterator[list[TextRow]]:
    """Yield runs of rows without blank rows between them."""
    group: list[TextRow] = []
    for row in sheet.rows:
        if group and row.place != group[-1].place + 1:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


# ---- tables and code ------------------------------------------------------------------------------------------------


def _take_tables(sheet: TextPage, group: Sequence[TextRow]) -> None:
    """Make tables of boxes if all rows have bars at the positions of the border's crosses."""
    start = next((at for at, row in enumerate(group) if _BORDER.fullmatch(row.text)), None)
    if start is None:
        return
    border = group[start].text
    crosses = [at for at, sign in enumerate(border) if sign == "+"]
    end = start
    while end < len(group) and _fits(group[end].text, border, crosses):
        end += 1
    taken = group[start:end]
    borders = sum(row.text == border or _BORDER.fullmatch(row.text) is not None for row in taken)
    if len(crosses) < 3 or borders < 2 or borders == len(taken):
        return
    # with a border below each row, a cell may have several rows; otherwise each row is a row of the table
    ruled = borders > 3
    rows: list[list[str]] = []
    fresh = True
    for row in taken:
        if _BORDER.fullmatch(row.text):
            fresh = True
            continue
        cells = [row.text[left + 1 : right].strip() for left, right in itertools.pairwise(crosses)]
        if fresh or not ruled:
            rows.append(cells)
        else:
            rows[-1] = ["\n".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
        fresh = False
    if len(rows) < 2 or not any(sum(map(str.isalpha, cell)) > 1 for row in rows for cell in row):
        return
    lines = [_line(sheet.number, row) for row in taken]
    sheet.tables[taken[0].place] = Table(page=sheet.number, rows=rows, lines=lines)
    sheet.within.update(row.place for row in taken)


def _fits(text: str, border: str, crosses: Sequence[int]) -> bool:
    if _BORDER.fullmatch(text):
        return len(text) == len(border)
    return len(text) == len(border) and all(text[at] in "|+" for at in crosses)


def _mark_code(group: Sequence[TextRow]) -> None:
    """Mark a group of rows that is a drawing, a table of contents with leaders, or program text."""
    drawn = sum(is_drawn(row.text.strip()) for row in group)
    bars = sum(len(row.text.strip()) > 1 and row.text.strip()[0] == row.text[-1] == "|" for row in group)
    if len(group) > 1 and drawn + bars and 2 * (drawn + bars) >= len(group):
        _set_code(group)
        return
    leaders = sum(_LEADER.search(row.text) is not None for row in group)
    program = sum(_PROGRAM.fullmatch(row.text.strip()) is not None and len(row.text.split()) < 6 for row in group)
    if len(group) > 2 and max(leaders, program) > 0.5 * len(group):
        _set_code(group)


def _mark_contents(groups: Sequence[Sequence[TextRow]]) -> None:
    """Mark a list of contents without page numbers: most of its rows are again the first row of another group."""
    firsts = {" ".join(group[0].text.split()) for group in groups}
    for group in groups:
        rows = [" ".join(row.text.split()) for row in group[1:]]
        again = sum(words in firsts and split_clause_number(words).number is not None for words in rows)
        if again >= _CLAUSES and 2 * again > len(rows):
            _set_code(group)


def _set_code(group: Sequence[TextRow]) -> None:
    for row in group:
        row.code = True


# ---- rows that stand out --------------------------------------------------------------------------------------------


def _mark_underlined(sheets: Sequence[TextPage]) -> None:
    """Enlarge rows with an underline of characters of their own length, and remove the underlines."""
    for sheet in sheets:
        gone: set[int] = set()
        for above, row in zip(sheet.rows, sheet.rows[1:], strict=False):
            found = _UNDERLINE.fullmatch(row.text)
            if found is None or row.place != above.place + 1 or above.place in gone or row.place in sheet.within:
                continue
            if _UNDERLINE.fullmatch(above.text) or abs(len(row.text.strip()) - len(above.text.strip())) > 2:
                continue
            words = split_clause_number(above.text).title  # a number may be followed by two spaces
            if any(map(str.isalpha, above.text)) and not _WIDE_GAP.search(above.text[above.text.find(words[:1]) :]):
                above.size, above.bold, above.code = _UNDERLINED.get(found["sign"], _LESSER), True, False
                gone.add(row.place)
        overlines = {
            above.place
            for above, row in zip(sheet.rows, sheet.rows[1:], strict=False)
            if row.bold and row.place == above.place + 1 and _UNDERLINE.fullmatch(above.text)
        }
        sheet.rows = [row for row in sheet.rows if row.place not in gone | overlines]


def _mark_outstanding(groups: Sequence[tuple[TextPage, list[TextRow]]]) -> None:
    """Make rows bold that are set apart: outdented, in capitals, or after more blank rows than running text has."""
    texts = [group for _, group in groups if len(group) > 1 and not group[0].code]
    indents = Counter(row.indent for group in texts for row in group)
    if not indents:
        return
    body = indents.most_common(1)[0][0]
    width = max(len(row.text) for group in texts for row in group)
    gaps = Counter(
        other[0].place - one[-1].place - 1
        for (sheet, one), (other_sheet, other) in itertools.pairwise(groups)
        if sheet is other_sheet and len(other) > 1
    )
    usual = gaps.most_common(1)[0][0] if gaps else 1
    for at, (sheet, group) in enumerate(groups):
        row, words = group[0], group[0].text.strip()
        if not row.code and row.indent < body and _hangs(group):
            for each in group:
                each.bold = True
        if row.code or len(words) > _MOST_HEADING * width or words.endswith(_OPEN_END):
            continue
        letters = [sign for sign in words if sign.isalpha()]
        capitals = len(letters) > 2 and all(map(str.isupper, letters))
        if len(group) > 1:
            row.bold = row.bold or (capitals and row.indent < min(other.indent for other in group[1:]))
            continue
        before = groups[at - 1] if at and groups[at - 1][0] is sheet else None
        gap = row.place - before[1][-1].place - 1 if before else 0
        named = capitals and len(letters) >= _NAME and words[0].isalnum()
        apart = row.indent < body or (row.indent == body and (named or gap > usual))
        row.bold = row.bold or (apart and any(map(str.isalpha, words)))


def _hangs(group: Sequence[TextRow]) -> bool:
    """Return whether a group is a numbered title of several rows, with the later ones below its first word."""
    numbered = split_clause_number(group[0].text)
    start = len(group[0].text) - len(numbered.title)
    return (
        numbered.number is not None
        and 1 < len(group) <= _TITLE_ROWS
        and all(row.indent == start for row in group[1:])
        and not group[-1].text.endswith(_OPEN_END)
    )


def _mark_series(groups: Sequence[tuple[TextPage, list[TextRow]]]) -> None:
    """Make rows bold that count up from 0 or 1 in one form, each with text below: "1. Scope." on a typewriter.

    The items of a list follow each other. A row that counts up and has text below is a clause, with or without a full
    stop after its title, and with or without a blank row below it.
    """
    width = max((len(row.text) for _, group in groups for row in group if len(group) > 1), default=_PAPER)
    runs: defaultdict[tuple[int, str, str], list[tuple[int, TextRow]]] = defaultdict(list)
    for at, (_, group) in enumerate(groups):
        following = groups[at + 1][1][0] if at + 1 < len(groups) else None
        if _heads_text(group, following, width):
            for sign, count in _counts_of(group[0]):
                runs[group[0].indent, *sign].append((count, group[0]))
    for members in runs.values():
        for row in _counting_up(members):
            row.bold = True


def _heads_text(group: Sequence[TextRow], following: TextRow | None, width: int) -> bool:
    """Return whether a group is a numbered title with text below: in its own group, or below a title row with room."""
    row = group[0]
    numbered = split_clause_number(row.text)
    title = numbered.title
    if row.code or numbered.number is None or title[-1] in ",;:-" or not title[0].isupper():
        return False
    if len(title.split()) > _TITLE_WORDS or len(row.text) > _MOST_HEADING * width:
        return False
    below = group[1] if len(group) > 1 else following
    if below is None or (below.code and len(group) > 1):
        return False
    if len(group) == 1:
        other = split_clause_number(below.text)
        first = numbered.number.partition(".")[0]
        return other.number is None or other.number.startswith(f"{first}.")
    words = below.text.split()
    room = len(row.text) + 1 + len(words[0]) <= _MOST_HEADING * max(len(each.text) for each in group)
    apart = below.indent <= row.indent + _OFF_CENTRE and words[0][:1].isupper() and title[-1] != "."
    return room and apart and len(words) > _NAME and split_clause_number(below.text).number is None


def _mark_named(groups: Sequence[Sequence[TextRow]], width: int) -> None:
    """Make rows bold that name what they begin: "Subpart F Loads", and "CHAPTER 9" with or without its title below."""
    for group in groups:
        row, words = group[0], group[0].text.strip()
        numbered = split_clause_number(words)
        if row.code or not numbered.keyword or numbered.number is None or words[0].islower():
            continue
        is_alone = numbered.title == words
        titles = [each.text.strip() for each in group[1:]] if is_alone else [numbered.title]
        if len(group) <= 1 + is_alone and all(_is_title(each, width) for each in titles):
            for each in group:
                each.bold = True


def _is_title(words: str, width: int) -> bool:
    return words[0].isupper() and not words.endswith(_OPEN_END) and len(words) <= _MOST_HEADING * width


def _counts_of(row: TextRow) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield what a row's number counts, with its form: a letter may be a Roman numeral."""
    numbered = split_clause_number(row.text)
    first, _, rest = (numbered.number or "").partition(".")
    if rest.strip("0"):
        return
    form = row.text.strip().removesuffix(numbered.title).replace(numbered.number or " ", f"#{rest}", 1).strip()
    if first.isdigit():
        yield (form, "1"), int(first)
    elif len(first) == 1:
        yield (form, "A"), ord(first) - ord("A") + 1
    if value := roman_value(first):
        yield (form, "I"), value


def _counting_up(members: Sequence[tuple[int, TextRow]]) -> list[TextRow]:
    """Find the longest run that counts up from 0 or 1, with at most one number missing in a row; none below three."""
    best: list[tuple[int, int]] = []  # length of the longest run that ends here, and the member before it
    longest: dict[int, tuple[int, int]] = {}  # by count: length of the longest run that ends with it, minus its index
    for at, (count, _) in enumerate(members):
        length, place = max((longest[each] for each in (count - 1, count - 2) if each in longest), default=(0, 1))
        best.append((length + 1 if length or count <= 1 else 0, -place))
        if best[at][0]:
            longest[count] = max(longest.get(count, (0, 0)), (best[at][0], -at))
    at = max(range(len(best)), key=lambda place: best[place][0])
    if best[at][0] < _CLAUSES:
        return []
    rows: list[TextRow] = []
    while at >= 0:
        rows.append(members[at][1])
        at = best[at][1]
    return rows


def _mark_title(groups: Sequence[tuple[TextPage, list[TextRow]]]) -> None:
    """Enlarge the rows that are centred above the text of the first page, else the row that it begins with."""
    texts = [group for _, group in groups if len(group) > 1 and not group[0].code]
    right = round(median([max(len(row.text) for row in group) for group in texts] or [_PAPER]))
    left = min((row.indent for group in texts for row in group), default=0)
    body = Counter(row.indent for group in texts for row in group).most_common(1) or [(0, 0)]
    for position, (sheet, group) in enumerate(groups):
        if sheet.number > 1 or (len(group) > _TITLE_ROWS and position > 1):
            return
        if len(group) > _TITLE_ROWS or group[0].code or group[-1].text.endswith(_OPEN_END):
            continue
        centred = group[0].indent > left and not any(_WIDE_GAP.search(row.text.strip()) for row in group)
        centres = [row.indent + len(row.text) for row in group]
        if len(group) > 1:
            centred = centred and max(centres) - min(centres) <= _OFF_CENTRE and group[0].indent != group[1].indent
        else:
            centred = centred and abs(centres[0] - left - right) <= _OFF_CENTRE and group[0].indent != body[0][0]
        first = position == 0 and len(group) == 1 and split_clause_number(group[0].text).number not in FIRST_NUMBERS
        if first or centred:
            for row in group:
                row.size, row.bold = _TITLE, True
            return


# ---- the page -------------------------------------------------------------------------------------------------------


def _page(sheet: TextPage, width: int) -> PageLayout:
    elements: list[Line | Table] = []
    for row in sheet.rows:
        if row.place in sheet.tables:
            elements.append(sheet.tables[row.place])
        elif row.place not in sheet.within:
            elements.append(_line(sheet.number, row))
    return PageLayout(sheet.number, width * COLUMN, sheet.height * PITCH, elements)


def _line(page: int, row: TextRow) -> Line:
    gap, split = 0.0, None
    for found in _WIDE_GAP.finditer(row.text):
        free = (found.end() - found.start()) * COLUMN
        if free > gap:
            gap, split = free, (len(" ".join(row.text[: found.start()].split())), found.end() * COLUMN)
    return Line(
        page=page,
        text=row.text.strip() if row.code else " ".join(row.text.split()),
        x0=row.indent * COLUMN,
        y0=row.place * PITCH,
        x1=len(row.text) * COLUMN,
        y1=row.place * PITCH + SIZE,
        size=row.size,
        bold=row.bold,
        font="Courier" if row.code else "Text",
        code=row.code,
        gap=gap,
        split=split,
        block=float(row.group),
    )
