"""Lines that could be headings: titles joined from their lines, with the evidence for each."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.openings import (
    ANNEX_WORDS,
    DEEP_NUMBER,
    EASTERN_ANNEX,
    FORCE_IN_BRACKETS,
    NUMBERED_WORDS,
    STATUS_WORDS,
    NumberedTitle,
    is_annex,
    opening_of,
    split_clause_number,
)
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, is_figures
from knowledge_mcp.readers.shared.numbering import LETTERED, NumberKey, follows, number_key

_STANDS_OUT = 0.9
"""Minimum difference in points between the size of outstanding print and other print."""
_FIRST_KEYS = ((0,), (1,))
_WINDOW = 300
_BREAK = 3.5
_LATE_START = 3.0


def best_chain(keys: Sequence[NumberKey], scores: Sequence[float], annexes: Collection[int] = ()) -> list[int]:
    """Return the positions of the chain with the highest sum of scores; breaks and late starts reduce it.

    At the positions `annexes`, annexes with plain numbers begin, whose clauses may begin with 1 again.
    """
    if not keys:
        return []
    best = [0.0] * len(keys)
    before = [-1] * len(keys)
    for index, key in enumerate(keys):
        score = scores[index]
        best[index] = score if len(key) == 1 or index < 30 else score - _LATE_START
        for earlier in range(index - 1, max(0, index - _WINDOW) - 1, -1):
            gain = best[earlier] + score
            if gain <= best[index]:
                continue
            previous = keys[earlier]
            again = index in annexes or (earlier in annexes and key in _FIRST_KEYS)
            if not (again or follows(previous, key)):
                if key <= previous and not previous[0] >= LETTERED > key[0]:
                    continue
                gain -= _BREAK
            if gain > best[index]:
                best[index], before[index] = gain, earlier
    at = max(range(len(keys)), key=best.__getitem__)
    chain: list[int] = []
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]


_AT_HEAD = 0.6
"""Maximum height difference between a line and a header next to it, as a factor of the font size."""
_PROSE = 0.25
_PLAIN_WORD = re.compile(r"(?<!\S)[(\"'“‘]?[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\"'”’.,;:]{0,3}(?!\S)")
_FEW_WORDS = 4
_PLAIN = 0.85
_DRAWN = re.compile(r"[|+].*[|+]|[^\w\s](?:[^\w\s]|\s|\w[\w\s]{0,2}+(?=[^\w\s]))*+")
_ALONE = re.compile(rf"(?:(?:{NUMBERED_WORDS})\s+)?[A-Z0-9][\w.]{{0,12}}[.:–—-]?", re.IGNORECASE)
_LONGEST_ALONE = 23
"""Maximum number of characters of a keyword, a space and a number."""
_KEYWORD_ALONE = re.compile(
    rf"(?:{STATUS_WORDS})?(?:{NUMBERED_WORDS})\s+(?:[A-Z0-9]{{1,4}}|[А-Я])[.:–—-]?(?:\s*\((?:informativ[aeo]?|normativ[aeo]?)\):?)?"
    rf"|{EASTERN_ANNEX}",
    re.IGNORECASE,
)
STOP_WITHIN = re.compile(r"[^\W\d_]{3}\. [A-Z]\w* [a-z]")
_BARE_LETTER = re.compile(r"(?P<number>[A-Z])\s+(?P<title>[A-Z0-9].*)")
_ENABLING = re.compile(r"(?:Regulations?|Sections?|Articles?|Rules?|Paragraphs?) \d[\w(), .]{0,40}")
"""The provision that a schedule belongs to, beside its number or below it."""
INSERTED = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3})?[A-Z]{1,2}|(?P<annex>[A-Z]{1,2})\d{1,2})[.:–—-]?\s+"
    r"(?P<title>[A-Z][^\W\d_]*(?![^\s,:;-]).*)"
)
"""A number with a letter: of a clause inserted later ("5.2A General", "13A Batteries"), or of an annex ("A1 General")
"""
_BARE_ANNEX = re.compile(rf"(?:{ANNEX_WORDS})(?:\s*[:–—-]\s*\S|\s+[^\W\d_]{{3}}|\Z)", re.IGNORECASE)
_LETTERED_PART = re.compile(rf"(?:{ANNEX_WORDS}|supplement)\s+(?P<letter>[A-Z]{{1,2}})\b", re.IGNORECASE)
_FIRST_CLAUSE = re.compile(r"[01](?:\.\d{1,2})*\.?\s+[A-Z]")
_NUMBER_FIRST = re.compile(
    rf"(?:(?:{NUMBERED_WORDS})\s*(?:[A-Z]{{0,2}}\d{{1,4}}|[IVXLC]{{1,6}})|{DEEP_NUMBER}|(?:{NUMBERED_WORDS})?\s*"
    r"(?:\d{1,3}|[A-Z])(?:\.\d+)*)[º°]?[.)]?[–—-]?\*?(?:\s|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Body:
    """Style of the running text."""

    size: float
    font: str
    bold: bool


@dataclass(slots=True)
class HeadingCandidate:
    """One line, or the lines of one title, with its surroundings.

    Attributes:
        lines: in order, all of one page.
        text: their words joined.
        numbered: the text read as a heading line.
        key: the number's key, None if there is no number.
        gap, next_gap: free space above and below, in points.
        page_width: width of its page.
        beside: something else is at the same height, as in a row of a table.
        flows: running text continues it in the same style.
        breaks: its bold line continues in plain print as one sentence.
        prose: number of lines of running text on its page.
        flush: running text on its page has the same left edge.
        figures: number of rows of figures above it on its page, in print that is not smaller.
        below_years: directly above it are years, which name the columns of the figures below.
        cut: number of characters of `text` that are heading if running text follows on the same line, otherwise None.
        score: its weight as a link of the numbering.
        line: the one that determines the style: the largest, the last among equals.
    """

    lines: list[Line]
    text: str
    numbered: NumberedTitle
    key: NumberKey | None
    gap: float
    next_gap: float
    page_width: float
    beside: bool = False
    flows: bool = False
    breaks: bool = False
    prose: int = 0
    flush: bool = False
    figures: int = 0
    below_years: bool = False
    cut: int | None = None
    score: float = 0.0
    line: Line = field(init=False)

    def __post_init__(self) -> None:
        """Find the line that determines the style."""
        alone = len(self.lines) == 1
        self.line = self.lines[0] if alone else max(reversed(self.lines), key=lambda line: line.size)

    @property
    def page(self) -> int:
        """Return the physical page."""
        return self.lines[0].page


def settle_code(pages: Sequence[PageLayout]) -> None:
    """Treat monospaced print as code only if the running text is set in another font.

    In a typewritten document, only drawings made of characters, such as frames and bit fields, remain code.
    """
    lines = [line for page in pages for line in page.lines]
    running = Counter(line.code for line in lines if _is_running(line.text))
    if running[True] > running[False]:
        for line in lines:
            line.code = line.code and is_drawn(line.text)


def is_drawn(text: str) -> bool:
    """Return whether a line belongs to a drawing: framed by bars, or signs nearly throughout."""
    return _DRAWN.fullmatch(text) is not None


def _is_running(text: str) -> bool:
    """Return whether a line is running text: several words, and hardly any other characters."""
    words = _PLAIN_WORD.findall(text)
    return len(words) > _FEW_WORDS and sum(map(len, words)) > _PLAIN * len(text.replace(" ", ""))


def body_of(pages: Sequence[PageLayout]) -> Body:
    """Return the size, font and weight of most characters; code counts if there is little else."""
    lines = [line for page in pages for line in page.lines]
    prose = [line for line in lines if not line.code]
    sizes: Counter[float] = Counter()
    fonts: Counter[tuple[float, str, bool]] = Counter()
    for line in prose if len(prose) > _PROSE * len(lines) else lines:
        sizes[line.size] += len(line.text)
        fonts[line.size, line.font, line.bold] += len(line.text)
    if not sizes:
        return Body(10.0, "", bold=False)
    size = sizes.most_common(1)[0][0]
    best = max((key for key in fonts if key[0] == size), key=fonts.__getitem__)
    return Body(size, best[1], best[2])


def is_strong(line: Line, body: Body) -> bool:
    """Return whether a line stands out: larger, bold in a text that is not, or in another and larger font."""
    if line.size >= body.size + _STANDS_OUT or (line.bold and not body.bold and line.size >= body.size - 1.1):
        return True
    return line.font != body.font and line.size >= body.size + 0.4


def is_semi_strong(line: Line, body: Body) -> bool:
    """Return whether a line stands out at least by its font, except italics and code."""
    if is_strong(line, body):
        return True
    return line.font != body.font and line.size >= body.size - 0.1 and not (line.code or line.is_italic)


def candidates(page: PageLayout, body: Body) -> Iterator[HeadingCandidate]:
    """Yield every line of a page as a candidate, titles of several lines as one."""
    # text next to a header belongs to it, such as "FINAL DRAFT" next to the designation
    lines = [
        line
        for line in page.lines
        if not (
            line.rotated or line.aside > 0 or any(abs(line.y0 - head) < _AT_HEAD * line.size for head in page.heads)
        )
    ]
    edges = _right_edges(lines)
    prose = _running_lines(lines, body, page.width)
    starts = {round(line.x0) for line in prose}
    figures = _figures_above(page)
    index = 0
    while index < len(lines):
        taken = _number_and_title(lines, index, body)
        end = _wrapped_title(lines, index, index + taken, body, page.width, edges)
        end, cut = _run_in_title(lines, index, end)
        used = lines[index:end]
        above = [line.y1 for line in lines[max(0, index - 3) : index] if line.y0 < used[0].y0 - 2]
        text = " ".join(line.text for line in used)
        numbered = _read(text, is_strong(used[-1], body))
        following = lines[end] if end < len(lines) else None
        yield HeadingCandidate(
            lines=used,
            text=text,
            numbered=numbered,
            key=_key(numbered),
            gap=used[0].y0 - max(above, default=-99.0),
            next_gap=following.y0 - used[-1].y1 if following is not None else 99.0,
            page_width=page.width,
            beside=_is_beside(lines, index, end),
            flows=following is not None and _flows(used[-1], following, edges),
            breaks=following is not None and _breaks(used[-1], following, edges),
            prose=len(prose),
            flush=any(round(used[0].x0) + step in starts for step in (-1, 0, 1)),
            figures=figures[id(used[0])],
            below_years=index > 0 and _YEARS.fullmatch(lines[index - 1].text) is not None,
            cut=cut,
        )
        index = end


def settle_letters(found: Sequence[HeadingCandidate], body: Body) -> None:
    """Take numbers such as "A1" for words unless there is an annex with that letter: they name pins and parts too.

    So are letters in plain print that occur again: each clause of a service bulletin has its "A.", "B.".
    """
    lettered = [each for each in found if not each.numbered.keyword and _LETTER_ALONE.match(each.text)]
    count = Counter(each.text[0] for each in lettered)
    for candidate in lettered:
        if count[candidate.text[0]] > 1 and not is_strong(candidate.line, body):
            candidate.numbered, candidate.key = NumberedTitle(None, candidate.text), None
    letters = {match["letter"].upper() for each in found if (match := _LETTERED_PART.match(each.text))}
    for candidate in found:
        match = INSERTED.fullmatch(candidate.text) if candidate.key and not candidate.numbered.keyword else None
        known = match is None or split_clause_number(candidate.text).number is not None  # "X1. General"
        if match is not None and match["annex"] and not known and match["annex"] not in letters:
            candidate.numbered, candidate.key = NumberedTitle(None, candidate.text), None


_LETTER_ALONE = re.compile(r"[A-Z]\.\s")


def is_bare_annex(text: str) -> bool:
    """Return whether a heading is that of the only annex, which has no number: "ANNEX", "Appendix - Examples"."""
    return _BARE_ANNEX.match(text) is not None


def is_counted_annex(numbered: NumberedTitle) -> bool:
    """Return whether this is an annex with a plain number."""
    return is_annex(numbered.keyword) and (numbered.number or "").isdigit()


def _key(numbered: NumberedTitle) -> NumberKey | None:
    """Return the number's key; a numbered annex gets one like a lettered annex, as its clauses may begin with 1."""
    if is_counted_annex(numbered):
        return (int(numbered.number or 0) * LETTERED,)
    return number_key(numbered.number, numbered.keyword) if numbered.number else None


_YEARS = re.compile(r"(?:\W{0,9}(?:19|20)\d\d(?!\d)){1,12}\W{0,9}")
"""The years above the columns of a financial statement."""
_COLUMN, _LEADING = 0.3, 1.6
"""Minimum width of a line of a column as a share of the page's width, and maximum line pitch as a factor of the
size."""


def _running_lines(lines: Sequence[Line], body: Body, width: float) -> list[Line]:
    """Find lines of running text: wider than half the page, or aligned below each other and most of a column wide."""
    near = [line for line in lines if abs(line.size - body.size) < 0.3]
    found = {id(line): line for line in near if line.x1 - line.x0 > 0.5 * width}
    for one, other in itertools.pairwise(near):
        column = min(one.x1 - one.x0, other.x1 - other.x0) > _COLUMN * width and abs(one.x0 - other.x0) < 1
        if column and one.style == other.style and 0 < other.y0 - one.y0 < _LEADING * one.size:
            found |= {id(one): one, id(other): other}
    return list(found.values())


def _right_edges(lines: Sequence[Line]) -> dict[int, float]:
    """Return the right edges of lines by their approximate left edges."""
    edges: dict[int, float] = {}
    for line in lines:
        key = round(line.x0 / 40)
        edges[key] = max(edges.get(key, 0.0), line.x1)
    return edges


def _figures_above(page: PageLayout) -> dict[int, int]:
    """Count for each line the rows of figures before it on its page in no smaller print, including those of tables."""
    above: dict[int, int] = {}
    sizes: Counter[float] = Counter()
    for element in page.elements:
        if isinstance(element, Table):
            sizes[max((line.size for line in element.lines), default=0.0)] += len(element.rows)
        else:
            above[id(element)] = sum(count for size, count in sizes.items() if size > element.size - _STANDS_OUT)
            sizes[element.size] += is_figures(element.text)
    return above


def _is_beside(lines: Sequence[Line], start: int, end: int) -> bool:
    others = [
        (line.y0, 0.6 if len(line.text) == 1 and not line.text.isalnum() else 0.4)  # bullets are lower or higher
        for line in (*lines[max(0, start - 1) : start], *lines[end : end + 1])
    ]
    return any(abs(height - line.y0) < near * line.size for line in lines[start:end] for height, near in others)


def _flows(line: Line, following: Line, edges: dict[int, float]) -> bool:
    """Return whether the next line continues the sentence: the same style, close below a full or unfinished line."""
    step = following.y0 - line.y1
    edge = edges[round(line.x0 / 40)]
    long = line.x1 - line.x0 > 0.5 * (edge - line.x0)
    continues = long and following.text[:1].islower() and not following.code and not line.text.endswith((".", ":"))
    if continues and 0 <= following.y0 - line.y0 - line.size < 0.45 * line.size and following.size == line.size:
        return True
    if following.style != line.style or not -0.5 * line.size < step < 0.6 * line.size or following.y0 <= line.y0 + 2:
        return False
    full = line.x1 > edge - 0.12 * (line.x1 - line.x0) or line.text.endswith("-")
    return (long and following.text[:1].islower()) or (full and not line.text.endswith((".", ":")))


def _breaks(line: Line, following: Line, edges: dict[int, float]) -> bool:
    """Return whether a bold line continues in plain print, close below; before a capital only if the line is full."""
    if not line.bold or following.bold or line.size != following.size or line.text.endswith((".", ":")):
        return False
    edge, step = edges[round(line.x0 / 40)], following.y0 - line.y0
    if following.text[:1].islower():
        return 0 < step < 1.5 * line.size and line.x1 > 0.85 * edge
    words = line.font != following.font and following.text[:1].isalpha() and not following.code
    return words and 0 < step < 1.25 * line.size and line.x1 > 0.93 * edge and line.x1 - line.x0 > 30 * line.size


def _run_in_title(lines: Sequence[Line], start: int, end: int) -> tuple[int, int | None]:
    """Find a title at the beginning of one or two lines of running text; return the end of its lines, and its end."""
    before = len(" ".join(line.text for line in lines[start : end - 1])) + (end - start > 1)
    last = lines[end - 1]
    if last.lead:
        return end, before + last.lead if _is_worded(last.text[last.lead :]) else None
    following = lines[end] if end < len(lines) else None
    apart = last.bold or last.is_italic
    if following is not None and following.led not in {None, last.style}:
        return end, None
    if following is None or not (apart and 0 < following.lead < len(following.text)) or end - start > 2:
        return end, None
    close = 0 < following.y0 - last.y0 < 1.5 * last.size and abs(following.size - last.size) < 0.3
    if not close or _NUMBER_FIRST.match(following.text) or last.text.endswith((".", ":")):
        return end, None
    return end + 1, before + len(last.text) + 1 + following.lead


def _is_worded(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 3


def _read(text: str, strong: bool) -> NumberedTitle:
    numbered = split_clause_number(text)
    if numbered.number is not None or not strong:
        return numbered
    if match := _BARE_LETTER.fullmatch(numbered.title) or INSERTED.fullmatch(numbered.title):
        return NumberedTitle(match["number"], match["title"], numbered.informative)
    return numbered


def _number_and_title(lines: Sequence[Line], index: int, body: Body) -> int:
    """Count the lines of a number on its own line and its title: two, three with a status between, otherwise one."""
    line = lines[index]
    if index + 1 < len(lines) and is_title_of_caption(line, lines[index + 1]):
        return 2
    if (
        index + 1 >= len(lines)
        or not (
            (len(line.text) <= _LONGEST_ALONE and _ALONE.fullmatch(line.text)) or _KEYWORD_ALONE.fullmatch(line.text)
        )
        or not re.search(rf"\d|{NUMBERED_WORDS}", line.text, re.I)
    ):
        return 1
    other, announces = lines[index + 1], _KEYWORD_ALONE.fullmatch(line.text) is not None
    if STOP_WITHIN.search(other.text):  # the title is missing, for example lost by recognition
        return 1
    if _ENABLING.fullmatch(other.text):
        return 1
    if announces and _FIRST_CLAUSE.match(other.text):  # no title: the annex begins with its first clause
        return 1
    if FORCE_IN_BRACKETS.fullmatch(other.text) and index + 2 < len(lines):  # "Annex A", "(informative)", its title
        between, title = 0 < other.y0 - line.y1 < 2.5 * line.size, lines[index + 2]
        if between and 0 < title.y0 - other.y1 < 2.5 * line.size and _is_under(line, title):
            return 3
    beside = abs(other.y0 - line.y0) < 4 and other.x0 > line.x0
    near = 0 < other.y0 - line.y1 < 2.5 * line.size
    below = near and abs(other.size - line.size) < 0.3 * line.size and line.size > body.size + 0.9
    named = near and announces and _is_under(line, other)
    return 2 if beside or below or named else 1


def is_title_of_caption(line: Line, other: Line) -> bool:
    """Return whether a line is the title of the table or figure whose label is alone above it, both centred."""
    opening = opening_of(line.text) if len(line.text) <= _LONGEST_ALONE else None
    alone = opening is not None and opening.kind is BlockKind.CAPTION and line.text.rstrip(".:") == opening.marker
    near = abs(other.size - line.size) < _STANDS_OUT and other.bold == line.bold and 0 < other.y0 - line.y1 < line.size
    centred = abs((line.x0 + line.x1) - (other.x0 + other.x1)) < _CENTRED
    return alone and near and centred and opening_of(other.text) is None


_CENTRED = 24.0
"""Maximum distance in points between the doubled centres of lines that are centred on each other."""
_INDENT = 4.0
"""Maximum indent of the first line of a title, as for a paragraph, as a factor of the font size."""


def _has_no_room(line: Line, other: Line, edges: Mapping[int, float]) -> bool:
    """Return whether the next line's first word did not fit in its column, after a line that fills most of it."""
    key, indent = round(line.x0 / 40), line.x0 - other.x0
    edge, letter = edges[key], (line.x1 - line.x0) / len(line.text)
    flush = abs(indent) < line.size
    if line.size <= indent < _INDENT * line.size:  # its column is that of the lines to the left of it
        flush, edge = True, max(far for start, far in edges.items() if start <= key and far > line.x0)
    return flush and line.x1 - line.x0 > 0.6 * (edge - line.x0) and edge - line.x1 < letter * len(other.text.split()[0])


_UNFINISHED = re.compile(
    r"\s(?:of|for|and|or|the|in|to|with|by|an?|on|from|at|und|oder|der|die|das|des|für|von|mit|et|ou|de|du|la|les?|pour"
    r"|y|el|los|las|para|e|di|il)\Z"
)
"""The last word of a line that cannot end a title: a term of a glossary ends before one on the next line."""


def _is_under(line: Line, other: Line) -> bool:
    """Return whether a line below another is its title: centred on it, aligned or bolder, and not a sentence."""
    centred = abs((line.x0 + line.x1) - (other.x0 + other.x1)) < _CENTRED or (
        other.bold > line.bold and other.size > line.size
    )
    flush = abs(line.x0 - other.x0) < 3 and other.size >= line.size - 0.3
    first = other.text[:1]
    worded = first.isalpha() and not first.islower() and other.text[-1] not in ".,;:。；" and len(other.text) < 110
    return (centred or flush) and worded and not _NUMBER_FIRST.match(other.text)


def _wrapped_title(
    lines: Sequence[Line], start: int, end: int, body: Body, width: float, edges: Mapping[int, float]
) -> int:
    """Extend an outstanding title by the lines below in the same style, as long as each line is full."""
    line = lines[end - 1]
    centred = end - start == 2 and line.text.isupper() and _KEYWORD_ALONE.fullmatch(lines[start].text) is not None
    if not (line.size > body.size + 0.7 or (line.bold and not body.bold) or centred):
        return end
    while end < len(lines) and end - start < 4:
        previous, other = lines[end - 1], lines[end]
        same = abs(other.size - line.size) < 0.3 and other.bold == line.bold and other.font == line.font
        close = 0 <= other.y0 - previous.y0 < 1.75 * line.size
        full = (
            previous.x1 - previous.x0 > 0.45 * width
            or _has_no_room(previous, other, edges)
            or (other.text[:1].islower() and _UNFINISHED.search(previous.text) is not None)
            or (centred and _is_under(previous, other))
        )
        if not (same and close and full) or _NUMBER_FIRST.match(other.text):
            break
        end += 1
    return end
