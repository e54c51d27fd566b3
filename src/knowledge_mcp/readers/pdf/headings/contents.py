"""Finds contents pages, and what their entries say about the headings further on.

The engine drops dot leaders and separates number, title and page number, so a page is read row by row here. A page is a
contents page if most of its rows recur further on as lines of their own. Its entries are removed from the text and kept
as the document's own statement of its headings.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from knowledge_mcp.language.clauses import names_contents
from knowledge_mcp.language.openings import ANNEX_WORDS, NUMBERED_WORDS, opening_of, split_clause_number
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of, lines_of

_TRAIL = re.compile(r"[\s.…·_-]*(?:\b[ivxlc]+|[A-Z]?-?\d{1,4})?\s*$")
_PAGE_NUMBER = re.compile(r"\D\s(?:[ivxlc]+|\d{1,4})$")
_SPLIT = re.compile(
    r"(?P<text>.*?[^\s.…·_])(?:[\s.…·_]*\s|\s[.…·_]+|[.…·_]{2,}\s?)(?P<page>[ivxlc]+|(?:[A-Z\d]{1,3}[-–])?\d{1,4})",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"(?:\d{{1,3}}|[A-Z])(?:\.\d{{1,3}})*\.?\s+\S|(?:annex|appendix|chapter|part|section)\s+\S+"
    rf"|(?:{NUMBERED_WORDS})\s+(?:\d{{1,4}}|[IVXLC]{{1,6}})(?!\w)",
    re.IGNORECASE,
)
_LETTER_ALONE = re.compile(rf"(?:{ANNEX_WORDS})\s+[A-Z]", re.IGNORECASE)
"""The number of an annex on a line of its own: "Appendix C" does not name page 100."""
_RUN_IN = re.compile(r"(?P<heading>(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?\s+[A-Z].{2,80}?)(?:\.| [-–—])\s")
_ENTRY = re.compile(r"^(?:\d{1,3}|[A-Z])\.\d|\D\s(?:[ivxlc]+|\d{1,4})$")
_CONTENTS = re.compile(
    r"(?:table of )?contents page|contents ?[-–—] ?continued|contents \(?continued\)?|page|"
    r"(?:section|paragraph|chapter|appendix|annex|title|clause)s? page|appendix(?:es)?",
    re.IGNORECASE,
)
_OTHER_LISTS = re.compile(
    r"(?:list of )?(?:tables|figures|illustrations|plates|exhibits|listings|equations)(?: (?:and|&) \w+)?(?: page)?",
    re.IGNORECASE,
)
_NEAR = 4.0
_OVER, _DEEPEST = 2, 6
_MAX_PENDING = 200
_FEWEST_ENTRIES, _MOST_NAMED = 5, 0.6
"""Minimum number of entries of contents, and minimum share of the rows of contents at the end that recur: some wrap."""
_FEWEST_LEFT = 3
"""Minimum number of entries without pages left for the next page: one or two may be the headings of what follows."""
_ON_THEIR_PAGES = 0.5
"""Minimum share of entries whose printed page has the usual distance from the page where they are found: names with a
figure, as in a price list, rarely have it."""
_MOST_CELLS, _MATRIX = 4, 0.25
"""Maximum number of cells of an entry (number, title, edition, page), and share of the rows with more from which a
table is a matrix: many of its clauses have few marks."""
_INDENT = 36.0
"""Maximum indent in points of entries in one column."""
_KEY, _TAIL = 60, 16
_PUNCTUATION = " .…·_-"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the heading it names, its depth from 1, the physical page from 1 if known."""

    title: str
    level: int
    page: int | None


@dataclass(slots=True)
class Contents:
    """The contents of a document: their pages, and their entries in order."""

    pages: list[int]
    entries: list[Entry]


@dataclass(slots=True)
class _Row:
    """The lines at one height, from the left."""

    lines: list[Line]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def left(self) -> float:
        return self.lines[0].x0


@dataclass(slots=True)
class _Listed:
    """One entry as printed: its words, left edge and printed page."""

    title: str
    left: float
    printed: str
    sheet: int = 0


def take_contents(pages: Sequence[PageLayout]) -> Contents:
    """Remove the entries of contents pages from the pages, in place, and return them.

    An entry is a row that recurs, without its page number, as a line of a later page. Contents pages are looked for
    only in the first third of a document and its first 60 pages; if there are none, in as many pages at its end, below
    their title.
    """
    later = _Later(pages)
    found: list[int] = []
    listed: list[_Listed] = []
    captions = False
    most = max(6, min(60, len(pages) // 3 + 1))
    for page in pages[:most]:
        if any(isinstance(element, Table) and _is_matrix(element) for element in page.elements):
            continue
        continued = bool(found) and found[-1] == page.number - 1
        for whole in _readings(page):
            start = 0 if continued else _label_at(whole)
            rows = whole[start:]
            entries = [index for index, row in enumerate(rows) if later.has(row.text, page.number)]
            if not _is_contents(rows, entries, continued=continued) and not _is_list(rows, continued=continued):
                continue
            if not later.are_pages([rows[index].text for index in entries], page.number):
                continue
            first, last = _extent(rows, entries)
            captions = _in_captions(rows[:first], before=captions and continued)
            listed.extend(_read(rows[first : last + 1], page.number, captions=captions))
            captions = _in_captions(rows[first:], before=captions)
            page.elements = [*(line for row in whole[:start] for line in row.lines), *_entry_lines(rows, first, last)]
            found.append(page.number)
            break
        else:
            if continued and (rows := _last_rows(page, later, listed)):
                listed.extend(_read(rows, page.number, captions=captions))
                _leave_out(page, rows)
    for page in pages[max(most, len(pages) - most) :] if not found else ():
        if rows := _rows_at_end(page, later):
            listed.extend(_read(rows, 0, captions=False))
            _leave_out(page, rows)
            found.append(page.number)
    return Contents(found, _entries(listed, later) if found else [])


def _is_matrix(table: Table) -> bool:
    """Return whether a table says which clause belongs to what: its rows have more cells than entries of contents."""
    wide = sum(sum(bool(cell.strip()) for cell in row) > _MOST_CELLS for row in table.rows)
    return wide >= _MATRIX * len(table.rows)


def _readings(page: PageLayout) -> Iterator[list[_Row]]:
    """Yield the possible readings of a page's rows: by columns, across the whole width, and each line separately."""
    whole = _rows(page)
    edge = _second_column(whole)
    if edge is not None:
        lines = page.all_lines
        left, right = [line for line in lines if line.x0 < edge], [line for line in lines if line.x0 >= edge]
        yield [*_rows_of(left), *_rows_of(right)]
    yield whole
    yield [_Row([line]) for line in page.all_lines]


def _second_column(rows: Sequence[_Row]) -> float | None:
    """Find the left edge of the second column of contents: right of page numbers, in at least five rows."""
    starts: Counter[int] = Counter()
    for row in rows:
        for place, (one, other) in enumerate(itertools.pairwise(row.lines), 1):
            before = " ".join(line.text for line in row.lines[:place])
            if other.x0 - one.x1 > one.size and _SPLIT.fullmatch(before) and any(map(str.isalpha, other.text)):
                starts[round(other.x0 / _INDENT)] += 1
    best = max(starts, key=lambda start: (starts[start] + starts[start + 1], start), default=0)
    return (best - 1) * _INDENT if starts[best] + starts[best + 1] >= _FEWEST_ENTRIES else None


def _are_paged(listed: Sequence[_Listed]) -> bool:
    """Return whether most entries have the number of a page."""
    return sum(bool(item.printed) for item in listed) * 2 > len(listed)


def _last_rows(page: PageLayout, later: _Later, listed: Sequence[_Listed]) -> list[_Row]:
    """Find the last entries of contents that end at the top of a page, above the text.

    Without page numbers, the text begins where the first entry recurs; until there, the words of numbered ones may
    differ.
    """
    rows = _rows(page)
    named = [later.has(row.text, page.number) for row in rows]
    if _are_paged(listed):
        return _leading(
            rows, [own and _SPLIT.fullmatch(row.text) is not None for row, own in zip(rows, named, strict=True)]
        )
    first = _key(listed[0].title) if listed else ""
    end = next((place for place, row in enumerate(rows) if _key(row.text) == first), 0)
    if end and all(own or split_clause_number(row.text).number for row, own in zip(rows[:end], named, strict=False)):
        return rows[:end]
    found = _leading(rows, named)
    return found if len(found) >= _FEWEST_LEFT else []


def _leading(rows: Sequence[_Row], are_entries: Sequence[bool]) -> list[_Row]:
    """Return the entries above the first other row."""
    return [row for row, _ in itertools.takewhile(lambda pair: pair[1], zip(rows, are_entries, strict=True))]


def _rows_at_end(page: PageLayout, later: _Later) -> list[_Row]:
    """Find the entries of contents after the text: they have a title, and recur on earlier pages."""
    for whole in _readings(page):
        titles = [index for index, row in enumerate(whole) if names_contents(split_clause_number(row.text).title)]
        rows = whole[titles[0] + 1 :] if titles else []
        named = [_SPLIT.fullmatch(row.text) is not None and later.had(row.text, page.number) for row in rows]
        if sum(named) >= _FEWEST_ENTRIES:
            last = len(named) - named[::-1].index(True)
            if sum(named) >= _MOST_NAMED * last:
                return rows[:last]
    return []


def _leave_out(page: PageLayout, rows: Sequence[_Row]) -> None:
    """Remove the lines of some rows from a page."""
    gone = {id(line) for row in rows for line in row.lines}
    elements: list[Line | Table] = []
    for element in page.elements:
        lines = lines_of(element)
        if isinstance(element, Table) and not any(id(line) in gone for line in lines):
            elements.append(element)
        else:
            elements += [line for line in lines if id(line) not in gone]
    page.elements = elements


def _label_at(rows: Sequence[_Row]) -> int:
    """Find the title of the contents, as a cover or an abstract may be above it on the same page; 0 without one."""
    return next((index for index, row in enumerate(rows) if _is_label(row.text)), 0)


def _is_contents(rows: Sequence[_Row], entries: Sequence[int], *, continued: bool) -> bool:
    """Return whether rows are contents: at least five entries recur, and are most of the page or below the title.

    Entries of one name count once: cells that say "Class 1" and "Class 2" name no headings. More than half of the
    entries must have a number or a page. After contents half is enough, as "Annex A" and its title with the page are a
    line each.
    """
    texts = [rows[index].text for index in entries]
    named = list({_key(text): text for text in reversed(texts)}.values())
    if len(named) < _FEWEST_ENTRIES or len(entries) < 0.4 * len(rows):
        return False
    distinctive = all(
        2 * sum(_ENTRY.search(text) is not None for text in some) > len(some) - continued for some in (texts, named)
    )
    return distinctive or any(_is_label(row.text) for row in rows)


def _is_list(rows: Sequence[_Row], *, continued: bool) -> bool:
    """Return whether rows have the form of a list: page numbers throughout, below a title or on the page after one."""
    paged = sum(_SPLIT.fullmatch(row.text) is not None for row in rows)
    titled = any(_is_label(row.text) for row in rows[:4])
    return paged >= (2 if continued else 5) and paged >= (0.5 if titled else 0.7) * len(rows) and (titled or continued)


def _in_captions(rows: Sequence[_Row], *, before: bool) -> bool:
    """Return whether a list of figures or tables continues after these rows; "Contents" begins a list of headings."""
    labels = [row.text.strip() for row in rows if _is_label(row.text)]
    return _OTHER_LISTS.fullmatch(labels[-1]) is not None if labels else before


def _extent(rows: Sequence[_Row], entries: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last entry, including those that recur in other words."""
    paged = [index for index, row in enumerate(rows) if _SPLIT.fullmatch(row.text)]
    known = [*entries, *paged] if len(paged) * 2 > len(rows) else list(entries)
    return min(known), max(known)


def is_title_of_list(text: str) -> bool:
    """Return whether this is the title of contents or of a list of figures, which names a part without text."""
    return names_contents(text) or _OTHER_LISTS.fullmatch(text.strip()) is not None


def _is_label(text: str) -> bool:
    return is_title_of_list(text) or _CONTENTS.fullmatch(text.strip()) is not None


def _entry_lines(rows: Sequence[_Row], first: int, last: int) -> Iterator[Line]:
    """Yield what is before and after the entries, and the titles; column headers and leftover entries are dropped."""
    for index, row in enumerate(rows):
        listed = first <= index <= last or (index > last and _PAGE_NUMBER.search(row.text))
        if is_title_of_list(row.text) or not (listed or _is_label(row.text)):
            yield from row.lines


def _rows(page: PageLayout) -> list[_Row]:
    return _rows_of(page.all_lines)


def _rows_of(lines: Sequence[Line]) -> list[_Row]:
    """Group lines at one height into rows, from top to bottom."""
    rows: list[_Row] = []
    for line in sorted(lines, key=lambda line: line.y0 + line.y1):
        if rows and not line.rotated and line.is_beside(rows[-1].lines[-1]):
            rows[-1].lines.append(line)
        else:
            rows.append(_Row([line]))
    for row in rows:
        row.lines.sort(key=lambda line: line.x0)
    return rows


class _Later:
    """The pages on which a text is a line, or begins one as a run-in heading."""

    def __init__(self, pages: Sequence[PageLayout]) -> None:
        self._pages: defaultdict[str, list[int]] = defaultdict(list)
        for page in pages:
            lines = page.all_lines
            before: Line | None = None
            letters = ""
            for line in lines:
                key = _key(line.text)
                self._add(key, page.number)
                if before is not None and len(letters) < 110 and before.size == line.size:
                    self._add(f"{letters}{key}"[:_KEY], page.number)
                if match := _RUN_IN.match(line.text):
                    self._add(_key(match.group("heading")), page.number)
                before, letters = line, letters_of(line.text)

    def _add(self, key: str, page: int) -> None:
        if not self._pages[key] or self._pages[key][-1] != page:
            self._pages[key].append(page)

    def has(self, text: str, page: int) -> bool:
        """Return whether a later page has it."""
        key = _key(text)
        return len(key) > 3 and key in self._pages and self._pages[key][-1] > page

    def had(self, text: str, page: int) -> bool:
        """Return whether an earlier page has it."""
        key = _key(text)
        return len(key) > 3 and key in self._pages and self._pages[key][0] < page

    def are_pages(self, entries: Sequence[str], page: int) -> bool:
        """Return whether the figures after entries are the pages where they are found, counted from any number."""
        shifts: list[set[int]] = []
        for text in entries:
            match = _SPLIT.fullmatch(text)
            if match is not None and match["page"].isdigit():
                shifts.append({found - int(match["page"]) for found in self._pages[_key(text)] if found > page})
        counted = Counter(shift for each in shifts for shift in each)
        usual = max(counted, key=counted.__getitem__, default=0)
        near = sum(any(abs(shift - usual) <= 1 for shift in each) for each in shifts)
        return len(shifts) < _FEWEST_ENTRIES or near >= _ON_THEIR_PAGES * len(shifts)

    def pages_of(self, title: str) -> list[int]:
        """List the pages that have it, with or without its number."""
        whole, bare = _key(title), _key(split_clause_number(title).title)
        return self._pages.get(whole) or (self._pages.get(bare, []) if len(bare) > 3 else [])


def _key(text: str) -> str:
    """Reduce a row to its letters, without the page number at its end."""
    last = text.rstrip(_PUNCTUATION)[-1:]
    if last.isalpha() and last not in "ivxlc":
        return letters_of(text)[:_KEY]  # no page number ends like this
    return letters_of(text[:-_TAIL] + _TRAIL.sub("", text[-_TAIL:]))[:_KEY]


# ---- entries --------------------------------------------------------------------------------------------------------


def _read(rows: Sequence[_Row], sheet: int, *, captions: bool) -> Iterator[_Listed]:
    """Read rows as entries: a row without a page number continues in the next one if the others have page numbers.

    Without page numbers, a row that begins with a bracket or a small letter continues the one before it.

    Entries of lists of figures and tables are omitted: a caption is not a heading.
    """
    paged = sum(_SPLIT.fullmatch(row.text) is not None for row in rows) * 2 >= len(rows)
    start, before = None, ""
    for row in rows if paged else _joined(rows):
        text = row.text.strip()
        if _is_label(text):
            captions = _OTHER_LISTS.fullmatch(text) is not None
            start, before = None, ""
            continue
        match = None if _LETTER_ALONE.fullmatch(text) else _SPLIT.fullmatch(text)
        if _NUMBERED.match(text) or len(before) > _MAX_PENDING:
            if start is not None and _NUMBERED.match(before):
                yield _Listed(
                    before, start, "", sheet
                )  # an entry that lost its page number; otherwise it was a running line
            start, before = None, ""
        if paged and match is None:
            start, before = start if before else row.left, f"{before} {text}".strip()
            continue
        words = f"{before} {match['text'] if match else text}".strip()
        left = row.left if start is None else start
        start, before = None, ""
        opening = opening_of(words)
        if not captions and not (opening is not None and opening.kind.value == "caption") and letters_of(words):
            yield _Listed(words.rstrip(" .…·_"), left, match["page"] if match else "", sheet)


def _joined(rows: Sequence[_Row]) -> list[_Row]:
    """Join the rows of entries that wrap; no title begins like these."""
    entries: list[_Row] = []
    for row in rows:
        first = row.text[:1]
        if entries and (first == "(" or first.islower()) and not _NUMBERED.match(row.text):
            entries[-1] = _Row([*entries[-1].lines, *row.lines])
        else:
            entries.append(row)
    return entries


def _entries(listed: Sequence[_Listed], later: _Later) -> list[Entry]:
    """Give each entry its depth and its page."""
    shift = _shift(listed, later)
    levels = _levels(listed)
    entries: list[Entry] = []
    at = 0
    for item, level in zip(listed, levels, strict=True):
        page = int(item.printed) + shift if shift is not None and item.printed.isdigit() else None
        if page is None:
            page = next((number for number in later.pages_of(item.title) if number >= at and number > item.sheet), None)
        at = max(at, page or 0)
        entries.append(Entry(item.title, level, page))
    return entries


def _shift(listed: Sequence[_Listed], later: _Later) -> int | None:
    """Find the difference between physical and printed page numbers; None if too few entries agree."""
    votes: Counter[int] = Counter()
    numbered = [item for item in listed if item.printed.isdigit()]
    for item in numbered:
        votes.update({page - int(item.printed) for page in later.pages_of(item.title)})
    if not votes:
        return None
    best, count = max(votes.items(), key=lambda vote: (vote[1], -abs(vote[0])))
    return best if count >= max(3, 0.3 * len(numbered)) else None


def _levels(listed: Sequence[_Listed]) -> list[int]:
    """Return the depths of entries by their numbers, those of the others by their indent."""
    depths = _depths(listed)
    lefts = _aligned(listed, depths)
    edges = {
        depth: median(left for left, other in zip(lefts, depths, strict=True) if other == depth)
        for depth in sorted(set(depths) - {0})
    }
    if not edges:
        return _ranks(lefts)
    first = edges[min(edges)]
    # "Method" above "1. Scope", "2. Summary": clauses below headings without a number
    over = sum(left < first - _NEAR for left, depth in zip(lefts, depths, strict=True) if not depth)
    shift = int(over >= _OVER)
    return [depth + shift if depth else _beside(left, edges, shift) for left, depth in zip(lefts, depths, strict=True)]


def _depths(listed: Sequence[_Listed]) -> list[int]:
    """Count the parts of each number, 0 without one; "A Acronyms" is numbered if there is an "A.1" too."""
    numbers = [split_clause_number(item.title).number for item in listed]
    parents = {number.partition(".")[0] for number in numbers if number and "." in number}
    return [
        number.count(".") + 1 if number else int(item.title.partition(" ")[0] in parents)
        for item, number in zip(listed, numbers, strict=True)
    ]


def _beside(left: float, edges: dict[int, float], shift: int) -> int:
    """Give an entry without a number the depth of the numbered ones with the same left edge."""
    if shift and left < edges[min(edges)] - _NEAR:
        return 1
    return shift + max((depth for depth, edge in edges.items() if edge <= left + _NEAR), default=1)


def _ranks(lefts: Sequence[float]) -> list[int]:
    """Rank left edges; all get the first depth if there are too many different ones."""
    ranks: dict[float, int] = {}
    rank, before = 0, -99.0
    for edge in sorted(set(lefts)):
        rank += edge - before > _NEAR
        ranks[edge], before = rank, edge
    return [ranks[left] if rank <= _DEEPEST else 1 for left in lefts]


def _aligned(listed: Sequence[_Listed], depths: Sequence[int]) -> list[float]:
    """Return the left edges as if all entries were on one page: left and right pages have different margins."""
    usual: dict[int, float] = {}
    lefts: list[float] = []
    for _, group in itertools.groupby(zip(listed, depths, strict=True), key=lambda pair: pair[0].sheet):
        pairs = list(group)
        own = {depth: median(item.left for item, other in pairs if other == depth) for _, depth in pairs if depth}
        shift = median([usual[depth] - left for depth, left in own.items() if depth in usual] or [0.0])
        lefts.extend(item.left + shift for item, _ in pairs)
        for depth, left in own.items():
            usual.setdefault(depth, left + shift)
    return lefts
