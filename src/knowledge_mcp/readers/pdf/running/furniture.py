"""Removes what pages repeat: headers, footers, page numbers, tables drawn as frames.

Repetition over the whole document decides, so nothing is dropped that does not occur elsewhere too.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from knowledge_mcp.language.glossary.terms import entry_number
from knowledge_mcp.readers.pdf.headings.candidates import body_of
from knowledge_mcp.readers.pdf.running.evidence import RunningLines
from knowledge_mcp.readers.pdf.running.page_numbers import lone_page_numbers
from knowledge_mcp.readers.pdf.running.rows import ROW, Rows
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of
from knowledge_mcp.support.wording import how_many

_ZONE = 0.13
_WIDE_ZONE = 0.2
"""Share of a page's height in which its first and last row are examined: books have headers at an eighth."""
_STANDS_OUT = 1.4
_COUNTED = 3
_MOST = 0.6
"""Minimum share of pages with a page number: some have none."""
_NEARLY_ALL = 0.8
"""Minimum share of pages with a running line that a line in its place is one too."""
_MOSTLY = 0.5
"""Minimum share of repeated lines among the lines at one height outside the text, and of the pages with a line that has
only signs: more than half."""
_LONG, _OFF, _LINE_OFF = 24, 4, 15
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,4}")
_NUMBER_ALONE = re.compile(r"\d{1,4}|[ivxlc]{1,7}", re.IGNORECASE)
_CLAUSE = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+\.?\s+\S")


def remove_furniture(
    pages: Sequence[PageLayout], labels: Sequence[str] = ()
) -> tuple[dict[int, list[Line | Table]], list[Line]]:
    """Remove headers, footers and page numbers from all pages, in place; `labels` are the printed page numbers.

    Returns:
        The original elements of pages on which nothing is left, by page number, such as a stamp on a scan or a page of
        one line; and the removed lines.
    """
    _open_repeated_tables(pages)
    _open_outer_rows(pages)
    body = body_of(pages)
    large = body.size + _STANDS_OUT
    zones = _zones_of(pages)
    places = _places(pages, zones, large)
    copied = _copied(pages)
    count = len(pages) - len(copied)
    enough = 2 if 2 <= count <= 4 else max(3, round(0.02 * count))
    repeated: list[tuple[str, list[Line]]] = []
    for (zone, shape), lines in places.items():
        stamped = zone == "side" and lines[0].size >= large  # a watermark is elsewhere on a wider sheet
        band = lines if stamped else _at_one_height(lines)
        needed = enough if shape else max(enough, _MOSTLY * count)  # a rule of signs, not a brace
        if len({line.page for line in band} - copied) >= needed and not _are_titles(band):
            repeated.append((zone, band))
    outermost = _outermost(pages, zones)
    counted = list(_counting_lines(pages, zones, outermost))
    counting = [*_numbered_heads(pages, zones, large), *counted]
    repeated += counting
    sure = outermost & {id(line) for _, band in counted if len(band) >= _MOST * len(pages) for line in band}
    gone: set[int] = set()
    bands: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for zone, band in _in_margins(repeated, places, sure):
        gone.update(id(line) for line in band)
        bands[zone].update(round(line.y0) for line in band)
    gone.update(_in_their_place(pages, zones, gone, body.size - _STANDS_OUT))
    gone.update(_changing_heads(pages, places, bands))
    gone.update(_beside_numbers(pages, zones, gone & {id(line) for _, band in counting for line in band}))
    candidates = {id(line) for _, band in repeated for line in band}
    gone.update(_section_heads(pages, zones, candidates, gone))
    rows = Rows(pages, body, gone)
    running = RunningLines(pages, zones, _shape, {id(line) for _, band in counting for line in band}, large, body)
    running.text_among(gone, rows)
    gone.update(list(running.changing(gone, rows)))
    gone.update(list(lone_page_numbers(pages, zones, rows, labels, body)))
    return _without(pages, gone, zones)


def _places(pages: Sequence[PageLayout], zones: Mapping[int, str], large: float) -> dict[tuple[str, str], list[Line]]:
    """Group the lines in the margins by what their repetitions have in common.

    "5.1 General" and "6.1 General" are two clauses, and large print is a title. Such lines are running lines only if
    they are repeated exactly. The same holds for an entry number at the beginning of a page.
    """
    places: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    paged = _paged_by_chapter(pages, zones)
    for page in pages:
        for line in page.lines:
            if zone := zones.get(id(line)):
                entry = entry_number(line.text) is not None and zone not in paged
                literal = line.size >= large or entry or _CLAUSE.match(line.text)
                places[zone, line.text if literal else _shape(line.text)].append(line)
    return places


def _without(
    pages: Sequence[PageLayout], gone: Collection[int], zones: Mapping[int, str]
) -> tuple[dict[int, list[Line | Table]], list[Line]]:
    """Remove lines from the pages; return values as in `remove_furniture`."""
    taken: list[Line] = []
    bare: dict[int, list[Line | Table]] = {}
    for page in pages:
        found = [line for line in page.lines if id(line) in gone]
        page.heads = tuple(line.y0 for line in found if zones.get(id(line)) == "top")
        taken += found
        left = [element for element in page.elements if id(element) not in gone]
        if page.elements and not left:
            bare[page.number] = page.elements
        page.elements = left
    return bare, taken


_MOST_LISTED, _LONGEST_LISTED = 20, 120
"""Maximum number of kinds of running lines listed one by one, and characters of each: a document has three or four."""


def running_lines(lines: Sequence[Line]) -> str:
    """Describe the removed running lines: each with the number of its pages, numbers as on the first page."""
    alike: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        alike[_shape(line.text) or line.text].append(line)
    ordered = sorted(alike.values(), key=lambda same: (-len(same), same[0].page, same[0].y0))
    listed = [
        f"{textwrap.shorten(same[0].text, _LONGEST_LISTED, placeholder=' …')}"
        f" ({how_many(len({line.page for line in same}), 'page')})"
        for same in ordered[:_MOST_LISTED]
    ]
    if rest := len(ordered) - len(listed):
        listed.append(f"and {rest} others")
    return "; ".join(listed)


_SAME, _FEWEST_SAME = 0.9, 8
"""Minimum share of a page's lines, and number of lines, that are on one earlier page if it is a copy of that page."""


def _copied(pages: Sequence[PageLayout]) -> set[int]:
    """Return the pages that copy earlier ones: their headers are not running lines only because they occur twice."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    copied: set[int] = set()
    for page in pages:
        texts = {line.text for line in page.lines if len(line.text) >= _LONG}
        shared = Counter(number for text in texts for number in holders[text])
        if max(shared.values(), default=0) >= max(_FEWEST_SAME, _SAME * len(texts)):
            copied.add(page.number)
            continue
        for text in texts:
            if len(holders[text]) < _FEWEST_SAME:
                holders[text].append(page.number)
    return copied


def _paged_by_chapter(pages: Sequence[PageLayout], zones: Mapping[int, str]) -> set[str]:
    """Return the margins in which most pages have only a number like "5.12": pages counted chapter by chapter."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for page in pages:
        for line in page.lines:
            if entry_number(line.text) is not None:
                found[zones.get(id(line), "")].add(page.number)
    return {zone for zone, numbers in found.items() if len(numbers) > _MOST * len(pages)}


def _zones_of(pages: Sequence[PageLayout]) -> dict[int, str]:
    """Return the margin of each line that is in one, by the line's id.

    The first and the last row of a page also count as margins if they are farther in, provided that pages have their
    numbers in such a row, or that other pages have the same words in their margins.
    """
    zones = {id(line): zone for page in pages for line in page.lines if (zone := _zone(line, page.height))}
    shapes = Counter(_shape(line.text) for page in pages for line in page.lines if id(line) in zones)
    rows: list[tuple[str, list[Line]]] = []
    for page in pages:
        lines = [line for line in page.lines if not line.rotated]
        if not lines:
            continue
        first, last = min(line.y0 for line in lines), max(line.y0 for line in lines)
        if first < _WIDE_ZONE * page.height:
            rows.append(("top", [line for line in lines if line.y0 <= first + ROW]))
        if last > (1 - _WIDE_ZONE) * page.height:
            rows.append(("bottom", [line for line in lines if line.y0 >= last - ROW]))
    numbers: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for zone, row in rows:
        numbers[zone][round(row[0].y0)] += _has_number(row)
    for zone, row in rows:
        numbered = _near(numbers[zone], row[0]) >= max(_COUNTED, 0.3 * len(pages))
        for line in row:
            if numbered or _NUMBER_ALONE.fullmatch(line.text) or shapes[_shape(line.text)] >= _COUNTED:
                zones.setdefault(id(line), zone)
    return zones


def _has_number(row: Sequence[Line]) -> bool:
    return any(_NUMBER_ALONE.fullmatch(line.text) for line in row)


def _zone(line: Line, height: float) -> str:
    if line.rotated:
        return "side"
    if line.y1 < _ZONE * height:
        return "top"
    return "bottom" if line.y0 > (1 - _ZONE) * height else ""


@functools.lru_cache(maxsize=8192)
def _shape(text: str) -> str:
    """Reduce a line to its letters, replacing every number and roman numeral by one sign."""
    return re.sub(r"[^\w#]", "", _NUMBERS.sub("#", text.lower()))


def _at_one_height(lines: list[Line]) -> list[Line]:
    """Keep lines at the most frequent height: within a few points, long or identical ones within a line."""
    heights = Counter(round(line.y0) for line in lines)
    best = max(heights, key=lambda y: sum(heights[y + shift] for shift in range(-3, 4)))
    usual = {line.text for line in lines if abs(line.y0 - best) <= _OFF}
    return [
        line
        for line in lines
        if abs(line.y0 - best) <= (_LINE_OFF if len(line.text) >= _LONG or line.text in usual else _OFF)
    ]


def _in_margins(
    repeated: Sequence[tuple[str, list[Line]]], places: Mapping[tuple[str, str], Sequence[Line]], sure: Collection[int]
) -> Iterator[tuple[str, list[Line]]]:
    """Omit repeated lines at heights where most pages have other words: these are text.

    The first line of the text is repeated too, by chance: "Year ended December 31,", "EXAMPLE", a closing brace. Lines
    that are `sure` to be running lines, as they count the pages, may be anywhere: so is the footer of a short first
    page, or of one without a header.
    """
    there: defaultdict[str, Counter[int]] = defaultdict(Counter)
    alike: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for (zone, _), lines in places.items():
        there[zone].update(round(line.y0) for line in lines)
    for zone, line in {id(line): (zone, line) for zone, band in repeated for line in band}.values():
        alike[zone][round(line.y0)] += 1
    for zone, band in repeated:
        found = [
            line
            for line in band
            if zone == "side" or id(line) in sure or _near(alike[zone], line) >= _MOSTLY * _near(there[zone], line)
        ]
        yield zone, found


def _in_their_place(
    pages: Sequence[PageLayout], zones: Mapping[int, str], gone: Collection[int], small: float
) -> Iterator[int]:
    """Yield lines in small print where nearly all pages have the same running line, in its style: another file name."""
    lines = [line for page in pages for line in page.lines if id(line) in zones and line.size < small]
    places = {id(line): (zones[id(line)], round(line.y0), line.style) for line in lines}
    taken = Counter(places[id(line)] for line in lines if id(line) in gone)
    yield from (key for key, place in places.items() if taken[place] >= _NEARLY_ALL * len(pages))


def _are_titles(lines: Sequence[Line]) -> bool:
    """Return whether lines differ by numbers that neither recur nor count the pages: "Exhibit 21.1", "Exhibit 32.2"."""
    texts = {line.text for line in lines}
    if len(texts) < max(2, _MOSTLY * len(lines)):
        return False
    offsets: Counter[tuple[int, int]] = Counter()
    for line in lines:
        numbers = _NUMBER.findall(line.text)
        if not numbers:  # Roman ones
            return False
        offsets.update((place, int(number) - line.page) for place, number in enumerate(numbers))
    return max(offsets.values()) < min(_COUNTED, len(lines))


def _outermost(pages: Sequence[PageLayout], zones: Mapping[int, str]) -> set[int]:
    """Find the lines in the margins that are the outermost of their page."""
    found: set[int] = set()
    for page in pages:
        heights = [line.y0 for line in page.lines if not line.rotated]
        for zone, edge in (("top", min(heights, default=0.0)), ("bottom", max(heights, default=0.0))):
            found |= {id(line) for line in page.lines if zones.get(id(line)) == zone and abs(line.y0 - edge) <= ROW}
    return found


def _near(heights: Counter[int], line: Line) -> int:
    return sum(heights[round(line.y0) + shift] for shift in (-1, 0, 1))


def _changing_heads(
    pages: Sequence[PageLayout],
    places: Mapping[tuple[str, str], Sequence[Line]],
    bands: Mapping[str, Counter[int]],
) -> Iterator[int]:
    """Find lines at the height of running lines that are on at least two pages: headers that name the chapter."""
    for (zone, _), lines in places.items():
        if zone == "side" or len({line.page for line in lines}) < 2:
            continue
        for line in lines:
            if _near(bands[zone], line) >= max(4, 0.3 * len(pages)):
                yield id(line)


def _beside_numbers(pages: Sequence[PageLayout], zones: Mapping[int, str], counting: set[int]) -> Iterator[int]:
    """Find what is in the first or last row of a page together with its number: the header of one section."""
    for page in pages:
        for zone, outermost in (("top", min), ("bottom", max)):
            lines = [line for line in page.lines if zones.get(id(line)) == zone]
            edge = outermost((line.y0 for line in lines), default=0.0)
            row = [line for line in lines if abs(line.y0 - edge) <= ROW]
            if any(id(line) in counting for line in row):
                yield from map(id, row)


def _numbered_heads(
    pages: Sequence[PageLayout], zones: Mapping[int, str], large: float
) -> Iterator[tuple[str, list[Line]]]:
    """Find outermost lines that begin or end with the page number, whatever number the document starts at."""
    found: defaultdict[tuple[str, int], list[Line]] = defaultdict(list)
    for page in pages:
        lines = [line for line in page.lines if not line.rotated]
        for zone, outermost in (("top", min), ("bottom", max)):
            line = outermost(lines, key=lambda line: line.y0, default=None)
            if line is None or line.size >= large or zones.get(id(line)) != zone:
                continue
            for number in {*re.findall(r"^(\d{1,4})\b", line.text), *re.findall(r"\b(\d{1,4})$", line.text)}:
                found[zone, int(number) - page.number].append(line)
    for (zone, _), lines in found.items():
        if len(lines) >= max(4, 0.2 * len(pages)):
            yield zone, lines


def _section_heads(
    pages: Sequence[PageLayout], zones: Mapping[int, str], candidates: set[int], gone: set[int]
) -> Iterator[int]:
    """Find outermost lines with the same words on consecutive pages of one section, or above a table that continues.

    Other pages may have text at that height, so the first of these lines stays: it may be the section's title.

    Args:
        pages: of the document, in order.
        zones: margins of lines, by id.
        candidates: lines that are repeated at one height.
        gone: lines that are known to be running lines.
    """
    for zone in ("top", "bottom"):
        waiting = [
            sorted(
                (line for line in page.lines if id(line) not in gone and zones.get(id(line)) == zone),
                key=lambda line: line.y0,
                reverse=zone == "bottom",
            )
            for page in pages
        ]
        while runs := list(_runs(lines[0] for lines in waiting if lines and id(lines[0]) in candidates)):
            known = {id(line) for run in runs for line in run}
            waiting = [lines[1:] if lines and id(lines[0]) in known else lines for lines in waiting]
            yield from (id(line) for run in runs for line in run[1:])


def _runs(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Find the same words at one height on at least three consecutive pages, or on every second page."""
    open_runs: dict[str, list[Line]] = {}
    for line in lines:
        run = open_runs.get(line.text, [])
        continues = run and line.page - run[-1].page <= 2 and abs(line.y0 - run[-1].y0) <= _OFF
        if not continues and len(run) >= _COUNTED:
            yield run
        if any(map(str.isalpha, line.text)):
            open_runs[line.text] = [*run, line] if continues else [line]
    yield from (run for run in open_runs.values() if len(run) >= _COUNTED)


def _counting_lines(
    pages: Sequence[PageLayout], zones: Mapping[int, str], outermost: Collection[int]
) -> Iterator[tuple[str, list[Line]]]:
    """Find lines in the margins, of any style, that are the same on three pages except for a number that counts them.

    A line with several numbers must be the outermost of its page, and not a clause: rows of tables have several too.
    """
    found: defaultdict[tuple[str, str, int, int], list[Line]] = defaultdict(list)
    for page in pages:
        for line in page.lines:
            zone = zones.get(id(line), "")
            numbers = _NUMBER.findall(line.text) if zone else []
            if len(numbers) > 1 and (id(line) not in outermost or _CLAUSE.match(line.text)):
                continue
            for place, number in enumerate(numbers):
                found[zone, _shape(line.text), place, int(number) - page.number].append(line)
    for (zone, *_), lines in found.items():
        if len({line.page for line in lines}) >= _COUNTED:
            yield zone, lines


def _open_repeated_tables(pages: Sequence[PageLayout]) -> None:
    """Turn tables in the margins of many pages (frames around headers and footers) back into lines."""
    framed = {
        id(element): _table_shape(element)
        for page in pages
        for element in page.elements
        if isinstance(element, Table) and all(_zone(line, page.height) for line in element.lines)
    }
    shapes = Counter(framed.values())
    for page in pages:
        opened: list[Line | Table] = []
        for element in page.elements:
            if isinstance(element, Table) and shapes[framed.get(id(element), "")] >= _COUNTED:
                opened.extend(element.lines)
            else:
                opened.append(element)
        page.elements = opened


def _open_outer_rows(pages: Sequence[PageLayout]) -> None:
    """Turn first and last rows of tables that most pages have as lines in the same margin back into lines."""
    shapes: dict[str, Counter[str]] = {"top": Counter(), "bottom": Counter()}
    for page in pages:
        for line in page.lines:
            if (zone := _zone(line, page.height)) in shapes:
                shapes[zone][_shape(line.text)] += 1
    enough = max(_COUNTED, _MOSTLY * len(pages))
    for page in pages:
        for table in [each for each in page.elements if isinstance(each, Table)]:
            for at, zone, outermost in ((0, "top", min), (-1, "bottom", max)):
                edge = outermost(line.y0 for line in table.lines)
                row = [line for line in table.lines if abs(line.y0 - edge) <= ROW and _zone(line, page.height) == zone]
                words = "".join(line.text for line in row)
                is_row = any(map(str.isalpha, words)) and letters_of("".join(table.rows[at])) == letters_of(words)
                if is_row and len(table.rows) > 1 and shapes[zone][_shape(words)] >= enough:
                    del table.rows[at]
                    table.lines = [line for line in table.lines if line not in row]
                    place = page.elements.index(table) + (at != 0)
                    page.elements[place:place] = row


def _table_shape(table: Table) -> str:
    return "|".join(_shape(cell) for row in table.rows for cell in row)
