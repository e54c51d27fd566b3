"""Finds headings by contents pages, numbering and typography, for documents without an outline and tags.

Headings named by the document's own contents come first. Numbered lines become headings if the numbering as a whole is
consistent (`numbering.py`) and they are set like its other links; lines without a number if they are set like headings
(`unnumbered.py`).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.openings import is_deep, split_clause_number
from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.headings.candidates import (
    INSERTED,
    Body,
    HeadingCandidate,
    best_chain,
    candidates,
    is_semi_strong,
    is_strong,
    settle_letters,
)
from knowledge_mcp.readers.pdf.headings.run_in import (
    LEADING_TITLE,
    RUN_IN,
    cut_run_in,
    is_counted_sentence,
    is_one_sentence,
    is_text,
)
from knowledge_mcp.readers.pdf.headings.sequences import (
    FIRST_NUMBERS,
    copied,
    first_below_annexes,
    is_anchored,
    out_of_sequence,
    series_of,
    settle_keys,
)
from knowledge_mcp.readers.pdf.headings.unnumbered import (
    Numbered,
    labels_of,
    lettered_run_ins,
    levels_of,
    margin_titles,
    unnumbered,
)
from knowledge_mcp.readers.shared.clauses.articles import rank_of
from knowledge_mcp.readers.shared.layout import Line, PageLayout, letters_of
from knowledge_mcp.readers.shared.numbering import NumberKey, depth_of, follows, number_key

_NOTE = re.compile(r"note\s+(?P<number>\d{1,2})[A-Z]?\s*(?:[.:–—]|-\s)\s*[A-Z(]", re.IGNORECASE)
_FEWEST = 4
_LATEST_FIRST = 2
_LONGEST_STEP = 2


def numbered_notes(found: Sequence[HeadingCandidate], body: Body) -> list[HeadingCandidate]:
    """Return the candidates that begin a section named by the number of its note; none if the numbers start again."""
    styles: defaultdict[tuple[float, bool, str], list[HeadingCandidate]] = defaultdict(list)
    for candidate in found:
        alone = not (candidate.beside or candidate.flows or candidate.cut is not None)
        if alone and is_strong(candidate.line, body) and _NOTE.match(candidate.text):
            styles[candidate.line.style].append(candidate)
    return [candidate for members in styles.values() if _is_series(members) for candidate in members]


def _is_series(members: Sequence[HeadingCandidate]) -> bool:
    """Return whether numbers go up through the document; a continued note repeats its number."""
    numbers = [int(match["number"]) for member in members if (match := _NOTE.match(member.text))]
    steps = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    apart = len(set(numbers)) >= _FEWEST and numbers[0] <= _LATEST_FIRST
    return apart and all(0 <= step <= _LONGEST_STEP for step in steps)


_MONTH = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{2}")
_NOTES = re.compile(r"notes\b", re.IGNORECASE)
_COUNTED = re.compile(r"(?P<word>[^\W\d_]{3,12})\s+\d{1,2}[A-Z]?\b", re.IGNORECASE)
_COVERED = 0.6
_LISTED_BONUS = 4.0
_LIST_LENGTH = 4


@dataclass(slots=True)
class Heading:
    """One heading: its lines, its number and title, its level, and its source.

    Attributes:
        lines: its lines, all of one page.
        cut: number of characters of the joined lines that are heading, None if all are.
        level: depth from 1.
        number, title, informative: as in `Section`; informative is None if nothing is said.
        source, confidence: as in `Section`.
    """

    lines: list[Line]
    level: int
    number: str | None
    title: str
    informative: bool | None
    source: HeadingSource
    confidence: float
    cut: int | None = None

    @property
    def page(self) -> int:
        """Return the physical page."""
        return self.lines[0].page


def in_order(headings: Iterable[Heading], pages: Sequence[PageLayout]) -> list[Heading]:
    """Sort headings by where they begin in the text."""
    place = {id(line): index for index, line in enumerate(line for page in pages for line in page.lines)}
    return sorted(headings, key=lambda heading: place[id(heading.lines[0])])


def heading_of(candidate: HeadingCandidate, level: int, source: HeadingSource, confidence: float) -> Heading:
    """Make a heading from a candidate."""
    numbered, cut = candidate.numbered, candidate.cut
    title = numbered.title
    if cut is not None:
        title = title[: max(cut - (len(candidate.text) - len(title)), 0)].rstrip(" .:–—-")
    return Heading(candidate.lines, level, numbered.number, title, numbered.informative, source, confidence, cut)


def detect_headings(
    pages: Sequence[PageLayout], body: Body, listed: Sequence[Heading] = (), *, numbered_only: bool = False
) -> list[Heading]:
    """Find the headings of a document in reading order; contents pages and running lines are already removed.

    Args:
        pages: the remaining pages.
        body: style of the running text.
        listed: the headings that the document's contents name.
        numbered_only: omit headings without a number, as the file itself names them.
    """
    anchors = {id(line) for heading in listed for line in heading.lines}
    repeated = title_again(pages, body) - anchors
    found = [
        candidate
        for page in pages
        for candidate in candidates(page, body)
        if not any(id(line) in repeated for line in candidate.lines)
    ]
    settle_letters(found, body)
    chosen = _numbered(found, body, anchors)
    named = [candidate for candidate in chosen if not is_anchored(candidate, anchors)]
    kept = _unlisted(named, listed, body)
    headings = [*listed, *_numbered_headings(kept, listed, body)]
    opening: set[int] = set()  # headings that are notes
    margin: set[int] = set()  # first lines of titles in the margin
    if not numbered_only:
        findings = _findings(chosen, listed, body, pages)
        taken = {id(candidate) for candidate in chosen}
        taken |= _titles(found, findings, taken)
        rest = [candidate for candidate in found if id(candidate) not in taken and not is_anchored(candidate, anchors)]
        notes = numbered_notes(rest, body)
        noted = {id(candidate) for candidate in notes}
        others = [candidate for candidate in rest if id(candidate) not in noted]
        for candidate, level in levels_of([*notes, *unnumbered(others, findings, found)], findings):
            headings.append(heading_of(candidate, level, HeadingSource.TYPOGRAPHY, 0.6))
            if id(candidate) in noted:
                opening.add(id(headings[-1]))
        used = {id(line) for heading in headings for line in heading.lines}
        lettered = lettered_run_ins([each for each in rest if id(each.lines[0]) not in used], body)
        beside = [each for each in margin_titles(found, body) if id(each.lines[0]) not in used]
        margin = {id(each.lines[0]) for each in beside}
        headings += [heading_of(each, _UNPLACED, HeadingSource.TYPOGRAPHY, 0.7) for each in [*lettered, *beside]]
    headings = _without_terms(in_order(headings, pages), margin)
    _take_back_numbers(headings)
    _put_below(headings, {id(heading) for heading in listed}, opening)
    _put_letters_below(headings)
    return headings


def _without_terms(headings: Sequence[Heading], margin: Collection[int]) -> list[Heading]:
    """Omit titles in the margin that are the terms of a glossary, as its heading shows."""
    kept: list[Heading] = []
    role = SectionRole.BODY
    for heading in headings:
        is_beside = id(heading.lines[0]) in margin
        role = role if is_beside else role_of_title(heading.title)
        if not is_beside or role not in {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS}:
            kept.append(heading)
    return kept


_LETTER = re.compile(r"[B-Z] ")
_FIRSTS = FIRST_NUMBERS | {"A"}


def _take_back_numbers(headings: Sequence[Heading]) -> None:
    """Undo numbers of titles found only by style if they do not fit their neighbours: "906 of the Act".

    The number of a title that continues from another line, or begins with a figure, is part of its words.
    """
    keys = [number_key(heading.number) if heading.number else None for heading in headings]
    numbered = [place for place, key in enumerate(keys) if key]
    for at, place in enumerate(numbered):
        heading, key = headings[place], keys[place] or ()
        line = " ".join(line.text for line in heading.lines)
        is_bare = heading.source is HeadingSource.TYPOGRAPHY and line.startswith(heading.number or " ")
        counts = (heading.number or "").isdigit() or _LETTER.match(line) is not None  # "X Consortium Standard"
        counts = counts or INSERTED.match(line) is not None  # "3.3V Operation"
        if not is_bare or not counts or heading.number in _FIRSTS:
            continue
        before, after = (keys[numbered[other]] or key for other in (max(at - 1, 0), min(at + 1, len(numbered) - 1)))
        if not (_is_beside(before, key) or _is_beside(key, after)):
            heading.number, heading.title = None, line if heading.cut is None else line[: heading.cut].rstrip(" .:–—-")


def _is_beside(one: NumberKey, other: NumberKey) -> bool:
    """Return whether a number may come directly after another, with none missing between their first parts."""
    return follows(one, other) and other[0] - one[0] <= 1


_UNPLACED = 99
"""Level of a lettered title until its surroundings are known."""


def _put_letters_below(headings: Sequence[Heading]) -> None:
    """Put lettered titles one level below the last heading of another kind."""
    above = 0
    for heading in headings:
        if heading.level == _UNPLACED:
            heading.level = above + 1
        else:
            above = heading.level


def _put_below(headings: Sequence[Heading], listed: Collection[int], notes: Collection[int]) -> None:
    """Put headings that the contents do not name below the last one that they name.

    A heading counted like the named ones ("Item 7" if there is an "Item 1") is at their level. A note is below the
    heading that announces notes, or at the level of the last one named; what follows it is below it.
    """
    counted: dict[str, int] = {}
    for heading in headings:
        if id(heading) in listed and (match := _COUNTED.match(heading.title)):
            counted.setdefault(match["word"].casefold(), heading.level)
    above, announced = 0, False
    for heading in headings:
        named = id(heading) in listed
        if not named and (match := _COUNTED.match(heading.title)) and match["word"].casefold() in counted:
            named, heading.level = True, counted[match["word"].casefold()]
        if named:
            above, announced = heading.level, _NOTES.match(heading.title) is not None
        elif id(heading) in notes:
            heading.level = max(heading.level, above + announced)
            above, announced = (heading.level, False) if above else (0, False)
        elif above and heading.source is HeadingSource.TYPOGRAPHY:
            heading.level = max(heading.level, above + 1)


_LARGER = 1.4
"""Minimum difference in points between the sizes of a document's title and its text."""


def title_again(pages: Sequence[PageLayout], body: Body) -> set[int]:
    """Find the lines of the document's title if it is repeated above its first clause: they are not sections.

    Standards print it on the cover, with the title of the part ("Part 1: Rice"), and again above "1 Scope".
    """
    before: list[Line] = []
    printed = ""
    for page in pages:
        large = [line for line in page.lines if not line.rotated and line.size > body.size + _LARGER]
        again: list[Line] = []
        for line in page.lines:
            if line.size > body.size + _LARGER and letters_of(line.text) in printed:
                again.append(line)
            elif again:
                if split_clause_number(line.text).number != "1":
                    break
                title = letters_of(" ".join(line.text for line in again))
                return {id(line) for line in [*before, *again] if letters_of(line.text) in title}
        before += large
        printed += "".join(letters_of(line.text) for line in large)
    return set()


def _titles(found: Sequence[HeadingCandidate], findings: Numbered, taken: Collection[int]) -> set[int]:
    """Find the document's title above the first of the clauses `taken`, on the first page, in the largest print."""
    size = max((candidate.line.size for candidate in found), default=0.0)
    titles = [place for place, candidate in enumerate(found) if candidate.line.size > size - 0.3]
    clauses = (place for place, candidate in enumerate(found) if id(candidate) in taken)
    end = min(next(clauses, len(found)), sum(candidate.page == found[0].page for candidate in found))
    outside = any(place >= end or found[place].key for place in titles)
    return (
        set()
        if outside or not findings.begins or size <= findings.body.size + _LARGER
        else {id(found[at]) for at in titles}
    )


def _findings(
    chosen: Sequence[HeadingCandidate], listed: Sequence[Heading], body: Body, pages: Sequence[PageLayout]
) -> Numbered:
    """Collect what the headings found so far say about the styles of headings."""
    findings = Numbered(body, listed_from=min((heading.page for heading in listed), default=0))
    anchors = {id(line) for heading in listed for line in heading.lines}
    for candidate in chosen:
        if not is_anchored(candidate, anchors):
            key = candidate.key or ()
            depth = depth_of(key) - (key[1:] == (0,))
            findings.add(candidate.line, candidate.numbered.title, depth, candidate.page, numbered=True)
    for heading in listed:
        line = max(reversed(heading.lines), key=lambda line: line.size)
        counted = _is_counted(heading.number)
        findings.add(line, heading.title, heading.level, heading.page, numbered=counted, listed=True)
    findings.settle(len(pages))
    return findings


def _is_counted(number: str | None) -> bool:
    """Return whether a number is that of a clause, not of a part: "II" does not show whether clauses are numbered."""
    return number is not None and (number[0].isdigit() or len(number) == 1 or "." in number)


# ---- with a number --------------------------------------------------------------------------------------------------


def _numbered(found: Sequence[HeadingCandidate], body: Body, anchors: Collection[int]) -> list[HeadingCandidate]:
    """Return the numbered candidates that are links of the document's numbering.

    Deep numbers before a sentence are links, but not headings: they begin clauses without a title.
    """
    tight, labels = _tight_lists(found, body), labels_of(found)
    led = {each.line.style for each in found if each.key and each.breaks and LEADING_TITLE.match(each.numbered.title)}
    possible: list[HeadingCandidate] = []
    untitled: set[int] = set()
    for candidate in found:
        if not candidate.key:
            continue
        if is_anchored(candidate, anchors):
            possible.append(candidate)
        elif id(candidate) in labels and not (candidate.numbered.keyword or is_deep(candidate.numbered.number or "")):
            continue  # pins of a circuit, marks of an axis
        elif (id(candidate) not in tight or _is_led(candidate)) and _may_be_numbered(candidate, body):
            cut_run_in(candidate, body, led)
            if is_counted_sentence(candidate):
                untitled.add(id(candidate))
            if candidate.cut is not None or not is_text(candidate, body):
                possible.append(candidate)
            elif is_deep(candidate.numbered.number or "") and is_one_sentence(candidate):
                possible.append(candidate)
                untitled.add(id(candidate))
    parts = settle_keys(possible, body) | first_below_annexes(found, body)
    keys = [candidate.key or () for candidate in possible]
    alone = _distinct_headings(found)
    annexes = {index for index, each in enumerate(possible) if id(each) in parts}
    chain: set[int] = set()
    links: list[int] = []
    for _ in range(2):
        settings = Counter(_setting(possible[index]) for index in chain)
        for candidate in possible:
            candidate.score = _score(candidate, body, settings)
            candidate.score += _LISTED_BONUS if is_anchored(candidate, anchors) else 0.0
        links = best_chain(keys, [candidate.score for candidate in possible], annexes)
        chain = set(links) - _lists(links, possible, body, alone)
    chain -= out_of_sequence(sorted(chain), possible, anchors)
    chain |= copied(chain, possible) | series_of(possible, body)
    styles = Counter(possible[index].line.style for index in chain)
    return [
        candidate
        for index, candidate in enumerate(possible)
        if id(candidate) not in untitled
        if index in chain
        or is_anchored(candidate, anchors)
        or (
            is_strong(candidate.line, body)
            and styles[candidate.line.style] >= 3
            and len(candidate.key or ()) > 1
            and not INSERTED.match(candidate.text)
        )
    ]


_BLANK = 0.5
"""Minimum free space above and below a separate line, as a factor of the font size."""


def _setting(candidate: HeadingCandidate) -> tuple[float, bool, str, bool]:
    return (*candidate.line.style, candidate.cut is not None)


def _tight_lists(found: Sequence[HeadingCandidate], body: Body) -> set[int]:
    """Find numbered lines in plain print directly below each other: a list, not headings without text."""
    tight: set[int] = set()
    for one, other in itertools.pairwise(found):
        if one.page != other.page or not (one.key and other.key) or one.line.style != other.line.style:
            continue
        if other.key[:-1] == one.key and is_text(other, body):
            continue  # a title and its first clause
        plain = not (is_semi_strong(one.line, body) or is_semi_strong(other.line, body))
        flush = abs(one.lines[0].x0 - other.lines[0].x0) < 3 and len(one.lines) == len(other.lines) == 1
        if plain and flush and 0 < other.lines[0].y0 - one.lines[0].y0 < 1.6 * one.line.size:
            tight.update((id(one), id(other)))
    return tight


def _distinct_headings(found: Sequence[HeadingCandidate]) -> set[int]:
    """Find the numbered lines between blank lines, with text or a subclause below them."""
    apart: set[int] = set()
    for one, below in itertools.pairwise(found):
        own = not below.key or (below.key[:-1] == one.key and one.page == below.page)
        if one.key and own and min(one.gap, one.next_gap) > _BLANK * one.line.size:
            apart.add(id(one))
    return apart


def _lists(links: Sequence[int], possible: Sequence[HeadingCandidate], body: Body, alone: Collection[int]) -> set[int]:
    """Find runs of four or more plain numbers that only their numbers make headings: lists, table rows.

    Run-in titles are not a list if clauses of the second depth are set like them too. Nor are the lines in `alone` if
    most first-level numbers are not set as headings, as on a typewriter.
    """
    firsts = [is_semi_strong(possible[link].line, body) for link in links if len(possible[link].key or ()) == 1]
    typed = 2 * sum(firsts) < len(firsts)
    members_of = Counter(_setting(possible[link]) for link in links if len(possible[link].key or ()) > 1)
    weak: set[int] = set()
    for plain, run in itertools.groupby(links, key=lambda link: _is_plain(possible[link], body)):
        members = list(run)
        if typed and all(id(possible[link]) in alone for link in members):
            continue
        if plain and len(members) >= _LIST_LENGTH:
            weak.update(
                link for link in members if possible[link].cut is None or members_of[_setting(possible[link])] < 3
            )
    return weak


def _is_led(candidate: HeadingCandidate) -> bool:
    """Return whether the title in "1.2 Application. The ..." is emphasised, unlike in rows of a list."""
    return candidate.cut is not None and candidate.line.lead > 0 and len(candidate.key or ()) > 1


def _is_plain(candidate: HeadingCandidate, body: Body) -> bool:
    return (
        len(candidate.key or ()) == 1
        and not is_deep(candidate.numbered.number or "")
        and not candidate.numbered.keyword
        and not is_semi_strong(candidate.line, body)
    )


def _may_be_numbered(candidate: HeadingCandidate, body: Body) -> bool:
    line, title = candidate.line, candidate.numbered.title
    number, strong = candidate.numbered.number or "", is_strong(candidate.line, body)
    if len(candidate.text) > 170 or not _WORD.search(title) or (line.code and not line.bold):
        return False
    deep = is_deep(number)
    if strong:
        return True
    if title[0].islower() and not (deep and (is_semi_strong(line, body) or _is_led(candidate))):
        return False
    if number.isalpha() and not candidate.numbered.keyword:
        return candidate.text[len(number) : len(number) + 1] == "."
    if deep:
        return True
    run_in = candidate.text[len(number) : len(number) + 1] == "." and RUN_IN.match(title)
    return not ((title[-1] in ".;,:" and not run_in) or re.match(r"[=<>+*/(%]", title) or _MONTH.match(title))


def _score(candidate: HeadingCandidate, body: Body, settings: Counter[tuple[float, bool, str, bool]]) -> float:
    line, title = candidate.line, candidate.numbered.title
    strong = is_strong(line, body) or _is_led(candidate)
    score = 2.0 if strong else 1.4 if is_semi_strong(line, body) else 0.6
    score += 0.4 if candidate.gap > 0.5 * line.size else 0.0
    score += 0.3 if len(candidate.key or ()) > 1 else 0.0
    score += 0.5 if candidate.numbered.keyword else 0.0
    score -= 1.0 if title[-1] in ";," else 0.0
    score -= 0.6 if title[-1] == "." and not strong else 0.0
    if settings.total() >= 8:
        alike = settings[_setting(candidate)]
        score += min(0.9, 3.6 * alike / settings.total()) - (0.8 if alike <= 1 and line.size < body.size + 3 else 0.0)
    return score


def _unlisted(named: Sequence[HeadingCandidate], listed: Sequence[Heading], body: Body) -> list[HeadingCandidate]:
    """Omit what the contents would have named: other lines with a number they name, plain ones next to such."""
    keys = {key for heading in listed if heading.number and (key := number_key(heading.number))}
    families = Counter(key[:-1] for key in keys)
    others = Counter((candidate.key or ())[:-1] for candidate in named)
    kept: list[HeadingCandidate] = []
    for candidate in named:
        key = candidate.key or ()
        siblings = families[key[:-1]]
        covered = siblings >= 2 and siblings >= _COVERED * (siblings + others[key[:-1]])
        plain = not (is_semi_strong(candidate.line, body) or candidate.numbered.keyword)
        if key not in keys and not (covered and plain):
            kept.append(candidate)
    return kept


def _depths_of_words(kept: Sequence[HeadingCandidate]) -> dict[str, int]:
    """Return the depths of chapters, sections and articles if a document has several of these."""
    words = {each.numbered.keyword for each in kept if each.numbered.keyword and len(each.key or ()) == 1}
    ranks = {word: rank for word in words if (rank := rank_of(word))}
    order = sorted(set(ranks.values()))
    return {word: order.index(rank) for word, rank in ranks.items()}


def _numbered_headings(kept: Sequence[HeadingCandidate], listed: Sequence[Heading], body: Body) -> Iterator[Heading]:
    """Yield the headings, each as far below its listed parents as its number says."""
    levels: dict[tuple[int, ...], int] = {}
    for heading in listed:
        if heading.number and (key := number_key(heading.number)):
            levels[key] = heading.level
    shifts = Counter(level - depth_of(key) for key, level in levels.items())
    shift = shifts.most_common(1)[0][0] if shifts else 0
    taken = {candidate.key for candidate in kept} | levels.keys()
    depths = _depths_of_words(kept)
    article: NumberKey = ()  # the last one; its own numbers are below its level
    article_level = 0
    for candidate in kept:
        key = candidate.key or ()
        if key[1:] == (0,) and key[:1] not in taken:  # "3.0" stands for "3"
            key = key[:1]
        parent = next((key[:count] for count in range(len(key) - 1, 0, -1) if key[:count] in levels), None)
        level = levels[parent] + depth_of(key) - depth_of(parent) if parent else max(depth_of(key) + shift, 1)
        if len(key) == 1 and (word := candidate.numbered.keyword):
            level += depths.get(word, 0)
            article, article_level = key, level
        elif article and not candidate.numbered.keyword and key[:1] == article:
            level = max(level, article_level + depth_of(key) - 1)
        confidence = 0.9 if is_strong(candidate.line, body) else 0.75
        yield heading_of(candidate, level, HeadingSource.NUMBERING, confidence)
