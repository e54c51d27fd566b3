"""Finds headings without a number: lines set as the document sets its headings, and nothing else.

Each style is judged by the document as a whole: if most lines of a style are separate and read like titles, all of them
are accepted; if a style is also used for tables and running text, only lines that stand out are accepted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.openings import caption_label
from knowledge_mcp.readers.pdf.headings.candidates import Body, HeadingCandidate, is_bare_annex
from knowledge_mcp.readers.pdf.headings.contents import is_title_of_list
from knowledge_mcp.readers.shared.layout import Line, family_of, is_figures, letters_of

_Style = tuple[float, bool, str]

_CAPTION = re.compile(
    r"(?:table|figure|fig\.|example|note|listing|equation|caution|warning|tableau)\b[\s\d.:-]"
    r"|commentary on (?:clause )?(?:[A-Z]\.)?\d",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:(?:european |national )?foreword|preface|introduction|abstract|executive (?:summary|overview)|"
    r"acknowledge?ments?|scope|normative references|"
    r"informative references|non-normative references|references|bibliography|index|glossary|terms|definitions|"
    r"abbreviations|acronyms|notices?|conventions|conformance|revision history|"
    r"(?:change|amendment|version|document) (?:history|log|record|control)|copyright notice|"
    r"appendix|annex|appendices|annexes|about)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"(?:WARNING|CAUTION|DANGER|IMPORTANT|NOTE|ATTENTION|WARNUNG|ACHTUNG|VORSICHT|GEFAHR)[!:]?")
"""The label of a box or note."""
_LEGAL = re.compile(r"copyright protected document|all rights reserved", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
_BULLET = re.compile("[•‣◦▪■□●○◆➢✓∗\uf000-\uf0ff]|[-–—*] ")
_DATE = re.compile(
    r"(?:\d{1,2}(?:st|nd|rd|th)?\s+)?(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\b[\s\d,.]*+(?:(?:st|nd|rd|th)[\s\d,.]*+)?",
    re.IGNORECASE,
)
_PURE, _MIXED = 0.7, 0.4
_MANY, _REPEATED = 4, 4
_PROSE = 4
_ROWS = 3
_COVERED = 0.7
_FRONT, _FRONT_PAGES, _REACHED = 0.25, 10, 0.6
"""Where a numbering of the whole document begins, as a share of the pages and in pages, and how far it extends."""


@dataclass(slots=True)
class Numbered:
    """What the known headings say about the document: numbered ones, and those named by the contents.

    Attributes:
        body: style of the running text.
        listed_from: page of the first heading that the contents name, 0 if there are none.
        depths: number of uses of each style for each depth.
        listed: number of headings named by the contents, by style.
        fonts: number of headings, by font.
        small: styles in which a heading begins with a lower-case letter.
        first_page: page of the first heading of the top depth.
        most: pages of the first and the last of these, without the outermost tenth of them.
        front: last page of a cover and what may follow it.
        top_size: their usual size.
        is_numbered: whether the document numbers its clauses.
        throughout: whether it does so from beginning to end, or only in a part.
    """

    body: Body
    listed_from: int = 0
    depths: dict[_Style, Counter[int]] = field(default_factory=lambda: defaultdict[_Style, Counter[int]](Counter))
    listed: Counter[_Style] = field(default_factory=Counter[_Style])
    fonts: Counter[str] = field(default_factory=Counter[str])
    small: set[_Style] = field(default_factory=set[_Style])
    first_page: int = 0
    most: tuple[int, int] = (0, 0)
    front: int = _FRONT_PAGES
    top_size: float = 99.0
    is_numbered: bool = False
    throughout: bool = True
    _sizes: list[float] = field(default_factory=list[float])
    _pages: list[int] = field(default_factory=list[int])
    _count: int = 0

    def add(self, line: Line, title: str, depth: int, page: int, *, numbered: bool, listed: bool = False) -> None:
        """Take one heading into account."""
        style = line.led or line.style
        self.depths[style][depth] += 1
        if title[:1].islower():
            self.small.add(style)
        self.fonts[style[2]] += 1
        self.listed[style] += listed
        self._count += numbered
        if numbered and depth == 1:
            self._sizes.append(line.size)
            self._pages.append(page)

    def settle(self, pages: int) -> None:
        """Draw conclusions after all headings have been added."""
        self.front = max(_FRONT_PAGES, int(_FRONT * pages))
        if self._sizes:
            ordered = sorted(self._pages)
            tenth = len(ordered) // 10
            self.first_page, self.most = ordered[0], (ordered[tenth], ordered[-1 - tenth])
            self.throughout = self.most[0] <= self.front and self.most[1] >= _REACHED * pages
            self.top_size = sorted(self._sizes)[len(self._sizes) // 2]
        self.is_numbered = self._count >= 12 and self._count >= 0.12 * pages

    @property
    def begins(self) -> int:
        """Return the page of the first heading that the contents name, else of the first with a number; 0 for none."""
        return self.listed_from or self.first_page

    def numbers(self, page: int) -> bool:
        """Return whether clauses are numbered around a page, so that lines without a number are seldom headings."""
        return self.is_numbered and (self.throughout or self.most[0] <= page <= self.most[1])

    def depth_of(self, line: Line) -> int | None:
        """Return the most frequent depth of known headings in the line's style."""
        counts = self.depths.get(line.style)
        return counts.most_common(1)[0][0] if counts else None

    def alike(self, line: Line) -> int:
        """Count the known headings in the line's style."""
        return self.depths[line.style].total() if line.style in self.depths else 0

    def is_heading_face(self, line: Line) -> bool:
        """Return whether headings use the line's font, and running text uses another font family."""
        return self.fonts[line.font] >= 3 and family_of(line.font) != family_of(self.body.font)


def unnumbered(
    rest: Sequence[HeadingCandidate], findings: Numbered, found: Sequence[HeadingCandidate]
) -> list[HeadingCandidate]:
    """Return the candidates in `rest` that are headings; `found` are all candidates of the document."""
    labels = labels_of(found) | _listed_in_bold(found)
    texts = Counter((letters_of(candidate.text), candidate.line.style) for candidate in found)
    styles = Counter(line.style for candidate in found for line in candidate.lines)
    total = max(styles.total(), 1)
    purity = _purity(found)
    covered = {
        style for style, count in findings.listed.items() if count >= 2 and count >= _COVERED * _alone(found, style)
    }
    return [
        candidate
        for candidate in rest
        if (id(candidate) not in labels or _is_known(candidate))
        and _reads_like_a_title(candidate, findings, purity[candidate.line.style])
        and texts[letters_of(candidate.text), candidate.line.style] < _REPEATED
        and (styles[candidate.line.style] <= max(0.12 * total, 8) or _is_known(candidate))
        and _stands_like_a_title(candidate, findings, purity[candidate.line.style])
        and (candidate.line.style not in covered or candidate.page < findings.listed_from)
    ]


_STRAY_WORDS, _STRAYS, _AROUND = 5, 3, 5
"""Maximum number of words of a label of a map or chart; minimum number of left edges of other labels near it, and the
number of lines that count as near."""
_BESIDE = 12.0
"""Minimum distance in points between left edges of labels: titles and items are aligned or centred."""


def labels_of(found: Sequence[HeadingCandidate]) -> set[int]:
    """Find the labels of maps, charts and drawings: short lines scattered over the page, among others of their kind.

    The others must be near in the text and not figures, so that a table elsewhere on the page makes no labels. A line
    with the same left edge as sentences near it is a title, and so is a numbered one at the left edge of its page.
    """
    labels: set[int] = set()
    for _, members in itertools.groupby(found, key=lambda each: each.page):
        every = list(members)
        left = min(each.lines[0].x0 for each in every)
        is_short = [each.text.count(" ") < _STRAY_WORDS for each in every]
        is_stray = [
            short and not is_figures(each.text) and not _is_centred(each)
            for short, each in zip(is_short, every, strict=True)
        ]
        for place, each in enumerate(every):
            if not is_short[place] or (each.key and each.lines[0].x0 <= left):
                continue
            near = range(max(0, place - _AROUND), min(len(every), place + _AROUND + 1))
            beside = [other for other in near if abs(every[other].lines[0].x0 - each.lines[0].x0) > _BESIDE]
            strays = {round(every[other].lines[0].x0 / _BESIDE) for other in beside if is_stray[other]}
            below = any(not is_short[other] for other in set(near).difference(beside))
            if len(strays) >= _STRAYS and not below:
                labels.add(id(each))
    return labels


_CLOSE = 0.5
"""Maximum distance between lines of one text as a factor of the font size; titles have more space around them."""
_FEWEST_LINES = 4
"""Minimum number of lines in one style, close and aligned below each other, that are a list of at least two items below
a title; titles are set apart."""


def _listed_in_bold(found: Sequence[HeadingCandidate]) -> set[int]:
    """Find the lines of lists that are set like titles: items below each other, and continuations of a bullet.

    A line in capitals above items that are not is the title of the list.
    """
    listed: set[int] = set()
    run: list[HeadingCandidate] = []
    item: HeadingCandidate | None = None
    for each in found:
        last = run[-1] if run else item
        close = last is not None and each.page == last.page and each.line.style == last.line.style
        close = close and each.gap < _CLOSE * each.line.size
        if item is not None and close and each.lines[0].x0 > item.lines[0].x0 + 1:
            listed.add(id(each))
            continue
        item = each if _BULLET.match(each.text) else None
        flush = close and bool(run) and abs(each.lines[0].x0 - run[0].lines[0].x0) < 1
        if not flush or each.key or item is not None:
            listed |= _items(run)
            run = []
        if not each.key and item is None:
            run.append(each)
    return listed | _items(run)


def _items(run: Sequence[HeadingCandidate]) -> set[int]:
    if len(run) < _FEWEST_LINES - 1 or sum(len(each.lines) for each in run) < _FEWEST_LINES:
        return set()
    is_titled = run[0].text.isupper() and not run[1].text.isupper()
    return set(map(id, run[is_titled:]))


def _is_centred(candidate: HeadingCandidate) -> bool:
    line = candidate.lines[0]
    return abs(line.x0 + line.x1 - candidate.page_width) < 2 * _BESIDE


_LETTERED = re.compile(r"(?P<letter>[a-z])[.)]\s+(?P<title>[A-Z][^.]{2,100}\.)(?=\s|\Z)")


def lettered_run_ins(rest: Sequence[HeadingCandidate], body: Body) -> list[HeadingCandidate]:
    """Return run-in titles with letters from a. on, at least two: each stands out and ends with a full stop.

    The parser may give a whole line the style of its first words: a bold line in plain text has a bold beginning.
    """
    found: list[HeadingCandidate] = []
    series: list[HeadingCandidate] = []
    for candidate in rest:
        match = _LETTERED.match(candidate.text)
        if match is None or not _is_led(candidate, match.end(), body):
            continue
        if match["letter"] != chr(ord("a") + len(series)):
            found += series if len(series) > 1 else []
            series = []
        if match["letter"] == chr(ord("a") + len(series)):
            candidate.cut = match.end()
            series.append(candidate)
    return [*found, *(series if len(series) > 1 else [])]


def _is_led(candidate: HeadingCandidate, end: int, body: Body) -> bool:
    """Return whether a title up to `end` stands out at the beginning of a longer line."""
    if candidate.cut is not None:
        return abs(candidate.cut - end) <= 1
    return candidate.line.bold and not body.bold and len(candidate.text) > end + 1


_TITLE_WORDS = 8
_SAME_PLACE = 3.0
"""Maximum number of words of a title in the margin, and distance in points between left edges of the texts next to
them."""


def margin_titles(found: Sequence[HeadingCandidate], body: Body) -> list[HeadingCandidate]:
    """Return bold titles in the left margin with text next to them: at least two on one page, with aligned texts."""
    titles: list[HeadingCandidate] = []
    for _, members in itertools.groupby(found, key=lambda each: each.page):
        places: defaultdict[tuple[int, int], list[HeadingCandidate]] = defaultdict(list)
        for each, other in itertools.pairwise(members):
            line, text = each.line, other.lines[0]
            beside = line.is_beside(text) and text.x0 > line.x1 + line.size
            if beside and len(each.lines) == 1 and _is_in_margin(line, text, body):
                places[round(line.x0 / _SAME_PLACE), round(text.x0 / _SAME_PLACE)].append(each)
        titles += [each for some in places.values() if len(some) > 1 for each in some]
    return titles


def _is_in_margin(line: Line, text: Line, body: Body) -> bool:
    """Return whether a bold line is a title, not a cell of a row: next to it is a sentence in plain print."""
    title, words = line.text, text.text.split()
    bold = line.bold and not (body.bold or text.bold or line.is_italic or line.code)
    named = title[:1].isupper() and title[-1] not in ".,;" and len(title.split()) <= _TITLE_WORDS
    return bold and named and len(words) > _TITLE_WORDS // 2 and not is_figures(text.text)


def _purity(found: Sequence[HeadingCandidate]) -> dict[_Style, float]:
    """Return for each style the share of its lines that are separate; a style with few lines says little."""
    alone: Counter[_Style] = Counter()
    every: Counter[_Style] = Counter()
    for candidate in found:
        style = candidate.line.style
        every[style] += 1
        words = len(candidate.text.split())
        alone[style] += not (candidate.beside or candidate.flows or candidate.lines[-1].lead or words > 24)
    return {style: alone[style] / count for style, count in every.items()}


def _reads_like_a_title(candidate: HeadingCandidate, findings: Numbered, purity: float) -> bool:
    text = candidate.text
    words = len(text.split())
    pure = purity >= _PURE and len(candidate.lines) <= 3
    if not 3 <= len(text) <= (160 if pure else 110) or words > (24 if pure else 14):
        return False
    if not re.search(r"[^\W\d_]{3}", text) or is_figures(text) or candidate.line.code:
        return False
    if _CAPTION.match(text) or caption_label(text) or _LEGAL.match(text) or _WARNING.fullmatch(text):
        return False
    if _DATE.fullmatch(text) or _BULLET.match(text) or _ASIDE.fullmatch(text) or is_title_of_list(text):
        return False
    if (
        text[-1] in ",;"
        or (text[-1] == "." and words > (12 if pure else 5))
        or (text[-1] == ":" and words > 12)
        or (". " in text[12:-1] and text[-1] == ".")
    ):
        return False
    if candidate.beside or candidate.cut is not None or candidate.breaks:
        return False
    if (candidate.numbered.title or text)[0].islower():
        return candidate.line.style in findings.small
    return re.match(r'["“(]?[A-Z0-9À-Þ]', text) is not None or findings.depth_of(candidate.line) is not None


def _stands_like_a_title(candidate: HeadingCandidate, findings: Numbered, purity: float) -> bool:
    line, body = candidate.line, findings.body
    known = _is_known(candidate)
    alike = findings.alike(line)
    gap = candidate.gap / line.size
    if candidate.page < findings.begins <= findings.front and candidate.prose < _PROSE and not known:
        return False  # a cover is set in large print too: only pages with running text have headings
    if findings.numbers(candidate.page) and not known:
        return _stands_among_numbered(candidate, findings, purity)
    among_rows = candidate.figures >= _ROWS or candidate.below_years
    if among_rows and candidate.prose < _PROSE and line.size < body.size + 1.4:
        return False  # it is a row of a financial statement
    if alike >= 2 and (line.bold or (line.size > body.size + 0.4 and (gap > 0.25 or line.size >= body.size + 1.4))):
        return True
    if (
        known
        and candidate.text.isupper()
        and not candidate.flows
        and gap > 0.5
        and candidate.next_gap > 0.5 * line.size
        and len(candidate.text) < 40
    ):
        return True
    if purity < _MIXED and line.size < body.size + 1.4:
        return False
    apart = gap > (0.25 if purity >= _PURE else 0.55) and candidate.next_gap > 0.0 and not candidate.flows
    if line.size >= body.size + 1.4 and gap > 0.3:
        return True
    heavier = line.bold and not body.bold and line.size >= body.size - (1.1 if line.font != body.font else 0.1)
    placed = candidate.flush or line.x0 < 0.45 * candidate.page_width or candidate.numbered.keyword
    return heavier and apart and bool(placed)


def _is_known(candidate: HeadingCandidate) -> bool:
    named = len(candidate.text) < 60 and _KNOWN.match(candidate.text) is not None
    return named or is_bare_annex(candidate.text)


def _alone(found: Sequence[HeadingCandidate], style: _Style) -> int:
    """Count the lines of a style that could be titles: if contents name most of them, the others are none."""
    return sum(candidate.line.style == style and not (candidate.beside or candidate.flows) for candidate in found)


def _stands_among_numbered(candidate: HeadingCandidate, findings: Numbered, purity: float) -> bool:
    line, body, alike = candidate.line, findings.body, findings.alike(candidate.line)
    if candidate.page < findings.first_page:
        return line.size > body.size + 2 and findings.is_heading_face(line) and candidate.prose >= _PROSE
    large = line.size > body.size + 0.9 and (line.size >= findings.top_size - 0.1 or alike >= 3)
    capitals = line.bold and alike >= 3 and candidate.text.isupper()
    face = findings.is_heading_face(line) and line.size >= body.size - 0.1 and purity >= _PURE
    apart = candidate.gap > 0.3 * line.size and candidate.next_gap > 0.0 and not candidate.flows
    return large or capitals or (face and apart and (line.bold or line.size > body.size + 0.4))


# ---- depths ---------------------------------------------------------------------------------------------------------


def levels_of(accepted: Sequence[HeadingCandidate], findings: Numbered) -> list[tuple[HeadingCandidate, int]]:
    """Give each the depth of known headings in its style, else of the next smaller ones, else its rank by weight."""
    by_size: defaultdict[float, Counter[int]] = defaultdict(Counter)
    for style, counts in findings.depths.items():
        by_size[style[0]].update(counts)
    deepest = max((counts.most_common(1)[0][0] for counts in by_size.values()), default=0)
    unknown = [candidate for candidate in accepted if findings.depth_of(candidate.line) is None]
    weights = sorted({_weight(candidate) for candidate in unknown}, reverse=True)
    levels: list[tuple[HeadingCandidate, int]] = []
    for candidate in accepted:
        level = findings.depth_of(candidate.line)
        if level is None:
            smaller = [size for size in by_size if size <= candidate.line.size + 0.01]
            if smaller:
                level = by_size[max(smaller)].most_common(1)[0][0]
            else:
                level = deepest + 1 if by_size else 1 + weights.index(_weight(candidate))
        levels.append((candidate, level))
    return levels


def _weight(candidate: HeadingCandidate) -> tuple[float, bool, bool, bool]:
    line = candidate.line
    return (round(line.size * 2) / 2, line.bold, candidate.text.isupper(), not line.is_italic)
