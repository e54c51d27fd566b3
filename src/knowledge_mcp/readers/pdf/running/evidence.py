"""Finds lines that look like headers or footers but are text.

A running line is apart from the text. A line at the line pitch of the text, or one that belongs to a heading below, is
text, unless it counts the pages, or most pages of a longer document have it in its own style.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from knowledge_mcp.language.force import Convention, detect_convention, force_of
from knowledge_mcp.language.openings import caption_label, example_label, note_label
from knowledge_mcp.readers.pdf.headings.candidates import Body, is_strong
from knowledge_mcp.readers.pdf.running.page_numbers import PageNumber, is_in_outermost_margin, page_number
from knowledge_mcp.readers.pdf.running.rows import NEAR, ROW, Rows
from knowledge_mcp.readers.shared.layout import Line, PageLayout, letters_of

_OFTEN_NEAR, _MOSTLY_NEAR = 0.25, 0.5
"""Shares of pages with lines near the text from which the lines at one height are text: near text of the same style,
and near any text. Headers that are apart are near text of their style on at most one page in ten."""
_COUNTED = 3
"""Minimum number of pages with a running line; on two pages a line may repeat by chance."""
_RULE = 3
"""Minimum number of characters of a drawn rule; fewer are braces and bullets."""
_FEW, _MANY, _SURELY = 4, 5, 8
"""Numbers of pages with a line: up to the first its repetition says little, from the second it says much, and from the
third even bold print directly above the text is not a heading."""
_MOST, _NEARLY_ALL = 0.6, 0.8
"""Shares of pages that have a line near the text from which it is a running line: in another style, in the same
style."""
_TITLED, _ENDED, _FAR = 2.5, 3.0, 4.0
"""Distances in line pitches: maximum between a heading and its text, between the last sentence of a page and the other
lines, and between a note or a caption and the text."""
_ALIKE_TITLES = 0.3
"""Share of pages with the same large line at the top from which it is a running line: odd pages of a third of them."""
_SAMPLE = 1000
"""Number of lines of a document, about twenty pages, that show how it marks requirements."""
_IN_BRACKETS = re.compile(r"\(\d{1,3}[a-z]?\)|\([A-Z]\.?\d{1,3}\)")
"""The number of a formula."""
_CONTINUED = re.compile(
    r"\b(?:continued|cont(?:['’]?d)?|fortsetzung|forts|suite|continuaci[óo]n|segue"
    r"|continue[sd] (?:on|from) (?:the )?(?:next|previous|following) page)\W{0,4}\Z",
    re.IGNORECASE,
)
"""Words that say that a line is also on an earlier page."""
_STOP_WITHIN = re.compile(r"[^\W\d_]{3}[.:;] \w")
"""A sentence that continues after the title of a clause."""
_OPEN_ENDS = (",", ";", ":", "-", "–")
_STOPS = (".", "!", "?")


class RunningLines:
    """Finds text among the lines that are taken as running lines.

    Args:
        pages, zones: the document, and the margin of each line by its id.
        shape: reduces a line to what its repetitions have in common.
        counting: ids of the lines that count the pages.
        large, body: font size from which a line is a title, and style of the text.
    """

    def __init__(
        self,
        pages: Sequence[PageLayout],
        zones: Mapping[int, str],
        shape: Callable[[str], str],
        counting: Collection[int],
        large: float,
        body: Body,
    ) -> None:
        self._pages = {page.number: page for page in pages}
        self._zones = zones
        self._shape = shape
        self._counting = counting
        self._large = large
        self._body = body
        self._letters = Counter(letters_of(line.text) for page in pages for line in page.all_lines)
        self._convention: Convention | None = None
        margins = [line for page in pages for line in page.lines if id(line) in zones]
        self._texts = Counter(line.text for line in margins)
        self._heads = Counter(shape(line.text) for line in margins)

    def text_among(self, gone: set[int], rows: Rows) -> None:
        """Remove lines that are text from `gone`, from the text outwards until nothing changes."""
        lines = [line for page in self._pages.values() for line in page.lines if id(line) in gone and not line.rotated]
        gone -= {id(line) for line in [*self._titles(lines), *self._beside_formulas(lines, gone, rows)]}
        while True:
            left = [line for line in lines if id(line) in gone]
            found = {id(line) for band in self._bands(left) for line in self._text_in(band, rows)}
            if not found:
                return
            gone -= found

    def changing(self, gone: Collection[int], rows: Rows) -> Iterator[int]:
        """Find headers that name the chapter: most pages have one at this height, apart from the text and small.

        A line is only removed if its words also occur on another page at this height, or as a line of the text.
        """
        lines = [
            line
            for page in self._pages.values()
            for line in page.lines
            if id(line) not in gone
            and self._zones.get(id(line)) in {"top", "bottom"}
            and not is_strong(line, self._body)
        ]
        for band in self._bands(lines) if lines else ():
            zone = self._zones.get(id(band[0]), "")
            style = Counter(line.style for line in band).most_common(1)[0][0]
            alike = [line for line in band if line.style == style and self._is_alone(line, rows, zone)]
            if len({line.page for line in alike}) < max(_COUNTED, _MOST * len(self._pages)):
                continue
            distances = [rows.distance(self._pages[line.page], line, zone) for line in alike]
            if sum(distance is not None and distance <= NEAR for distance in distances) > _OFTEN_NEAR * len(alike):
                continue
            for line in alike:
                is_name = any(map(str.isalpha, line.text)) and not (_is_labelled(line.text) or self._is_sentence(line))
                if is_name and self._letters[letters_of(line.text)] > 1:
                    yield id(line)

    def _is_alone(self, line: Line, rows: Rows, zone: str) -> bool:
        """Return whether a line is the only remaining text in the outermost row of its page."""
        row = rows.outermost(self._pages[line.page], zone)
        return len(row) == 1 and row[0] is line

    def _titles(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Find large lines that few pages share: titles of slides, sheets and chapters, words of drawings."""
        alike = Counter(line.text for line in lines)
        enough = max(_COUNTED, _ALIKE_TITLES * len(self._pages))
        for line in lines:
            is_counted = self._zones.get(id(line)) == "bottom" and id(line) in self._counting
            is_title = line.size >= self._large and any(map(str.isalnum, line.text))
            is_title = is_title and not _CONTINUED.search(line.text)
            if is_title and not is_counted and alike[line.text] < enough and page_number(line.text) is None:
                yield line

    def _beside_formulas(self, lines: Sequence[Line], gone: Collection[int], rows: Rows) -> Iterator[Line]:
        """Find formulas: numbers in brackets in one row with text that only one page has, and that text."""
        for line in lines:
            if _IN_BRACKETS.fullmatch(line.text) is None:
                continue
            row = rows.of(self._pages[line.page], line)
            if any(id(each) not in gone or not self._recurs(each) for each in row if each is not line):
                yield from row

    def _bands(self, lines: Sequence[Line]) -> Iterator[list[Line]]:
        """Yield groups of lines at the same distance from the edge of their page."""
        by_zone: defaultdict[str, list[tuple[float, Line]]] = defaultdict(list)
        for line in lines:
            zone = self._zones.get(id(line), "")
            height = line.y0 if zone == "top" else self._pages[line.page].height - line.y0
            by_zone[zone].append((height, line))
        for placed in by_zone.values():
            placed.sort(key=lambda pair: pair[0])
            band = [placed[0]]
            for each in placed[1:]:
                if each[0] - band[-1][0] > ROW or each[0] - band[0][0] > 2 * ROW:
                    yield [line for _, line in band]
                    band = []
                band.append(each)
            yield [line for _, line in band]

    def _text_in(self, band: Sequence[Line], rows: Rows) -> Iterator[Line]:
        """Yield the lines at one height that are text."""
        zone = self._zones.get(id(band[0]), "")
        distances = {
            id(line): distance
            for line in band
            if (distance := rows.distance(self._pages[line.page], line, zone)) is not None
        }
        near = [line for line in band if distances.get(id(line), NEAR + 1) <= NEAR]
        measured = {line.page for line in band if id(line) in distances}
        at_edge = all(is_in_outermost_margin(line, self._pages[line.page]) for line in band)
        alike_near = [line for line in near if not at_edge and self._is_in_print_of(line, rows, zone)]
        is_near = any(
            len({line.page for line in some}) >= max(1.0, share * len(measured))
            for some, share in ((near, _MOSTLY_NEAR), (alike_near, _OFTEN_NEAR))
        )
        alike: defaultdict[str, list[Line]] = defaultdict(list)
        for line in band:
            alike[self._shape(line.text)].append(line)
        running: list[list[Line]] = []
        text: list[list[Line]] = []
        own = self._own_prints(band, rows, zone) if is_near else set[object]()
        for same in alike.values():
            if self._stand_beside_numbers(same, rows):
                is_text = False
            elif is_near:
                names_part = same[0].style in own and self._stands_elsewhere(same)
                is_text = not (names_part or self._stands_near(same, rows, zone))
            else:
                is_text = not at_edge and self._belongs_to_text(same, distances, rows, zone)
            (text if is_text else running).append(same)
        styles = {line.style for same in running for line in same if any(map(str.isalpha, line.text))}
        for same in text:
            # the date next to a designation is on fewer pages than the designation
            if not (len(same) > 1 and all(line.style in styles for line in same)):
                yield from same

    def _stand_beside_numbers(self, same: Sequence[Line], rows: Rows) -> bool:
        """Return whether most pages have this line next to their number, in its own style: the name of a gazette."""
        pages = {line.page for line in same}
        return (
            len(pages) >= max(_COUNTED, _NEARLY_ALL * len(self._pages))
            and len({line.text for line in same}) == 1
            and not self._is_plain(same[0])
            and all(any(id(each) in self._counting for each in rows.of(self._pages[line.page], line)) for line in same)
        )

    def _own_prints(self, band: Sequence[Line], rows: Rows, zone: str) -> set[object]:
        """Find small styles that most pages use at this height, and that the text next to it never has."""
        pages: defaultdict[object, set[int]] = defaultdict(set)
        for line in band:
            if not is_strong(line, self._body) and not self._is_in_print_of(line, rows, zone):
                pages[line.style].add(line.page)
        return {style for style, found in pages.items() if len(found) >= max(_FEW, _MOST * len(self._pages))}

    def _stands_elsewhere(self, same: Sequence[Line]) -> bool:
        """Return whether other pages or the text have a line too, such as the name of a part in its header."""
        return not _is_labelled(same[0].text) and (len(same) > 1 or self._letters[letters_of(same[0].text)] > 1)

    def _is_in_print_of(self, line: Line, rows: Rows, zone: str) -> bool:
        """Return whether the text next to a line has the same style."""
        return any(each.style == line.style for each in rows.neighbour(self._pages[line.page], line, zone))

    def _stands_near(self, same: Sequence[Line], rows: Rows, zone: str) -> bool:
        """Return whether lines near the text are running lines: page numbers, stated so, or on most pages."""
        text = same[0].text
        if not any(map(str.isalnum, text)):
            return len(text) >= _RULE
        numbers = [page_number(line.text) or self._stated_number(line) for line in same]
        counts = sum(
            id(line) in self._counting or (number is not None and number.value == line.page)
            for line, number in zip(same, numbers, strict=True)
        )
        if all(number is not None for number in numbers) and counts >= _MOST * len(same):
            return all(number is not None and number.has_word for number in numbers) or self._stand_alone(same, rows)
        if _CONTINUED.search(text) or self._names_columns(same):
            return True
        if _is_labelled(text) or len({line.text for line in same}) > 1 + _MOST * len(same):
            return False
        return self._is_on_most(same, rows, zone)

    def _stated_number(self, line: Line) -> PageNumber | None:
        """Read the number of the page that a header of most pages states at one of its ends: "Guide    Page 5"."""
        pieces = line.pieces
        if len(pieces) == 1 or self._heads[self._shape(line.text)] < max(_FEW, _MOST * len(self._pages)):
            return None
        ends = (page_number(words) for _, _, words in (pieces[0], pieces[-1]))
        return next((number for number in ends if number is not None and number.has_word), None)

    def _names_columns(self, same: Sequence[Line]) -> bool:
        """Return whether lines are headers of the columns of clauses and comments: pages have them in both."""
        stripped = [page for page in self._pages.values() if page.strip]
        return len(stripped) >= 2 and len({line.page for line in same}) >= _MOST * len(stripped)

    def _is_on_most(self, same: Sequence[Line], rows: Rows, zone: str) -> bool:
        """Return whether most pages have a line, in its own style or without anything that makes it a sentence."""
        text = same[0].text
        pages = max(len({line.page for line in same}), self._texts[text])  # sheets of other sizes have it elsewhere
        share = pages / len(self._pages)
        beside = [rows.neighbour(self._pages[line.page], line, zone) for line in same]
        apart = [bool(row) and line.style != row[0].style for line, row in zip(same, beside, strict=True)]
        if sum(apart) >= _MOST * len(same):
            if is_strong(same[0], self._body):
                is_surely = pages >= (_MANY if same[0].size >= self._large else _SURELY) and share >= _NEARLY_ALL
                return is_surely and not (_STOP_WITHIN.search(text) or self._has_outer(same, rows, zone))
            return pages >= _FEW and share >= _MOST
        if len({line.text for line in same}) > 1 or text.endswith((*_OPEN_ENDS, *_STOPS)) or self._has_force(text):
            return False
        if 2 * sum(self._reads_on(line, row, rows) for line, row in zip(same, beside, strict=True)) >= len(same):
            return False
        varied = len({row[0].text for row in beside if row})
        return pages >= _MANY and share >= _NEARLY_ALL and varied >= _NEARLY_ALL * pages

    def _has_force(self, text: str) -> bool:
        """Return whether a line has normative force in the document's language."""
        if self._convention is None:
            lines = itertools.chain.from_iterable(page.lines for page in self._pages.values())
            self._convention = detect_convention("\n".join(line.text for line in itertools.islice(lines, _SAMPLE)))
        return force_of(text, self._convention) is not None

    def _reads_on(self, line: Line, row: Sequence[Line], rows: Rows) -> bool:
        """Return whether the text below continues this line, and does not continue a sentence of the previous page."""
        if not row or not row[0].text[:1].islower():
            return False
        before = self._pages.get(line.page - 1)
        last = rows.outermost(before, "bottom") if before is not None else []
        return not last or last[-1].text.endswith(_STOPS)

    def _stand_alone(self, same: Sequence[Line], rows: Rows) -> bool:
        """Return whether these numbers have no text of their page in their row, as the number of a formula has."""
        beside = (each for line in same for each in rows.of(self._pages[line.page], line) if each is not line)
        return all(self._recurs(each) and not rows.is_text(each) for each in beside)

    def _recurs(self, line: Line) -> bool:
        """Return whether a line counts the pages, or is in the margins of three pages."""
        return id(line) in self._counting or self._texts[line.text] >= min(_COUNTED, len(self._pages))

    def _has_outer(self, same: Sequence[Line], rows: Rows, zone: str) -> bool:
        """Return whether most of these lines have a running line farther out that is not of the same header."""
        outer = [(line, each) for line in same for each in rows.outer(self._pages[line.page], line, zone)[:1]]
        apart = sum(line.style != each.style or self._texts[each.text] < len(same) for line, each in outer)
        return 2 * apart > len(same)

    def _belongs_to_text(self, same: Sequence[Line], distances: Mapping[int, float], rows: Rows, zone: str) -> bool:
        """Return whether lines apart from the text are text: headings, or closer to it than to a running line."""
        text = same[0].text
        if _CONTINUED.search(text) or self._has_inner(same, rows, zone):
            return False
        pages = len({line.page for line in same})
        is_title = zone == "top" and is_strong(same[0], self._body) and same[0].size >= self._body.size
        off = sorted(distances[id(line)] for line in same if id(line) in distances)
        typical = off[len(off) // 2] if off else _FAR + 1
        outer = [rows.outer_distance(self._pages[line.page], line, zone) for line in same]
        closer = sum(
            other is not None and distances.get(id(line), 0.0) < other for line, other in zip(same, outer, strict=True)
        )
        is_closer = 2 * closer > len(same)
        number = page_number(text)
        if number is not None:
            return is_title and is_closer and typical <= _TITLED and not number.has_word
        if typical <= _FAR and _is_labelled(text):
            return True
        if typical <= _TITLED and is_title:
            return is_closer or pages < _MANY or len({line.text for line in same}) > _MOST * len(same)
        if any(id(line) in self._counting for line in same):
            return False
        if pages < _MANY and typical <= _ENDED and self._is_sentence(same[0]):
            return True
        return typical <= _TITLED and is_closer and not (pages >= _MANY and pages >= _MOST * len(self._pages))

    def _has_inner(self, same: Sequence[Line], rows: Rows, zone: str) -> bool:
        """Return whether most of these lines have a running line between them and the text."""
        return 2 * sum(rows.has_inner(self._pages[line.page], line, zone) for line in same) > len(same)

    def _is_sentence(self, line: Line) -> bool:
        """Return whether a line is a sentence in the style of the text."""
        return self._is_plain(line) and line.text.endswith(_STOPS) and line.text.count(" ") >= _COUNTED

    def _is_plain(self, line: Line) -> bool:
        return (line.size, line.font, line.bold) == (self._body.size, self._body.font, self._body.bold)


def _is_labelled(text: str) -> bool:
    """Return whether a line is a note, an example or a caption: running lines have no such labels."""
    whole = f"{text}: ..."  # a label alone has its text on the next line
    return bool(note_label(whole) or example_label(whole) or caption_label(text, is_sure=True))
