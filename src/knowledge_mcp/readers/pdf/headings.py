"""Headings told by numbering and typography, for documents that carry no outline and no tags.

Numbered lines become headings when the numbering as a whole holds together (`numbering.py`); lines without a number
when they are set like headings and the document has no other use for that style.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.candidates import Body, Candidate, candidates, is_semi_strong, is_strong
from knowledge_mcp.readers.pdf.layout import Line, PageLayout, letters_of
from knowledge_mcp.readers.pdf.numbering import best_chain

__all__ = ["Heading", "detect_headings", "heading_of"]

_CAPTION = re.compile(
    r"(?:table|figure|fig\.|example|note|listing|equation|caution|warning|tableau)\b[\s\d.:-]", re.IGNORECASE
)
_MONTH = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_KNOWN = re.compile(
    r"(?:foreword|preface|introduction|abstract|executive summary|acknowledge?ments?|scope|normative references|"
    r"informative references|non-normative references|references|bibliography|index|glossary|terms|definitions|"
    r"abbreviations|acronyms|(?:list|table) of \w+|contents|notices?|conventions|conformance|revision history|"
    r"change (?:history|log)|appendix|annex|appendices|annexes|about)\b",
    re.IGNORECASE,
)
_RUN_IN = re.compile(r"(?P<title>[A-Z(].{2,80}?)\.\s+\S")
_WORD = re.compile(r"[^\W\d_]{2}")


@dataclass(slots=True)
class Heading:
    """One heading found: its lines, what it says, how deep it is, and what told so.

    Attributes:
        lines: its lines, all of one page.
        cut: characters of the joined lines that are heading, None where all are.
        level: depth from 1.
        number, title, informative: as in `Section`; None for informative where nothing is said.
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


def heading_of(candidate: Candidate, level: int, source: HeadingSource, confidence: float) -> Heading:
    """Make a heading of a candidate."""
    numbered = candidate.numbered
    title = numbered.title
    if candidate.cut is not None:
        title = title[: max(candidate.cut - (len(candidate.text) - len(title)), 0)]
    return Heading(
        candidate.lines, level, numbered.number, title, numbered.informative, source, confidence, candidate.cut
    )


@dataclass(slots=True)
class _Findings:
    """What the numbered headings say of the document's styles."""

    body: Body
    numbered: list[Candidate]
    depths: dict[tuple[float, bool, str], Counter[int]] = field(
        default_factory=lambda: defaultdict[tuple[float, bool, str], Counter[int]](Counter)
    )
    first_page: int = 0
    top_size: float = 99.0
    is_numbered_document: bool = False

    def depth_of(self, line: Line) -> int | None:
        """Return the depth that most numbered headings in the line's style have."""
        counts = self.depths.get(line.style)
        return counts.most_common(1)[0][0] if counts else None


def detect_headings(pages: Sequence[PageLayout], body: Body) -> list[Heading]:
    """Find the headings of a document in reading order; contents pages and running lines are gone already."""
    found = [candidate for page in pages for candidate in candidates(page, body)]
    numbered = _numbered(found, body)
    findings = _learn(numbered, body, len(pages))
    taken = {id(candidate) for candidate in numbered}
    strength = {True: 0.9, False: 0.75}
    headings = {
        id(candidate): heading_of(
            candidate,
            len(candidate.key or ()),
            HeadingSource.NUMBERING,
            strength[is_strong(candidate.line, body)],
        )
        for candidate in numbered
    }
    unnumbered = _unnumbered([candidate for candidate in found if id(candidate) not in taken], findings, found)
    for candidate, level in _levels(unnumbered, findings):
        headings[id(candidate)] = heading_of(candidate, level, HeadingSource.TYPOGRAPHY, 0.6)
    return [headings[id(candidate)] for candidate in found if id(candidate) in headings]


# ---- with a number --------------------------------------------------------------------------------------------------


def _numbered(found: Sequence[Candidate], body: Body) -> list[Candidate]:
    """Pick the numbered candidates that are links of the document's numbering."""
    possible = [candidate for candidate in found if candidate.key and _may_be_numbered(candidate, body)]
    for candidate in possible:
        _cut_run_in(candidate, body)
    possible = [candidate for candidate in possible if candidate.cut is not None or not _too_long(candidate, body)]
    for candidate in possible:
        candidate.score = _score(candidate, body)
    links = best_chain([candidate.key or () for candidate in possible], [c.score for c in possible])
    chain = set(links) - _lists(links, possible, body)
    accepted = [candidate for index, candidate in enumerate(possible) if index in chain]
    styles = Counter(candidate.line.style for candidate in accepted)
    return [
        candidate
        for index, candidate in enumerate(possible)
        if index in chain
        or (is_strong(candidate.line, body) and styles[candidate.line.style] >= 3 and len(candidate.key or ()) > 1)
    ]


def _lists(links: Sequence[int], possible: Sequence[Candidate], body: Body) -> set[int]:
    """Find runs of four and more plain numbers that nothing but their numbers makes headings: lists, table rows."""
    weak: set[int] = set()
    for plain, run in itertools.groupby(links, key=lambda link: _is_plain(possible[link], body)):
        members = list(run)
        if plain and len(members) >= 4:
            weak.update(members)
    return weak


def _is_plain(candidate: Candidate, body: Body) -> bool:
    return len(candidate.key or ()) == 1 and not candidate.numbered.keyword and not is_semi_strong(candidate.line, body)


def _may_be_numbered(candidate: Candidate, body: Body) -> bool:
    line, title = candidate.line, candidate.numbered.title
    number, strong = candidate.numbered.number or "", is_strong(candidate.line, body)
    if len(candidate.text) > 170 or not _WORD.search(title) or (line.code and not line.bold):
        return False
    deep = "." in number
    if strong:
        return True
    if title[0].islower() and not (deep and is_semi_strong(line, body)):
        return False
    if number.isalpha() and not candidate.numbered.keyword:
        return candidate.text[len(number) : len(number) + 1] == "."
    if deep:
        return True
    run_in = candidate.text[len(number) : len(number) + 1] == "." and _RUN_IN.match(title)
    return not ((title[-1] in ".;,:" and not run_in) or re.match(r"[=<>+*/(%]", title) or _MONTH.match(title))


def _cut_run_in(candidate: Candidate, body: Body) -> None:
    """Find where the heading ends in "1.2 Application. The ..."."""
    title, number = candidate.numbered.title, candidate.numbered.number or ""
    if is_strong(candidate.line, body):
        return
    match = _RUN_IN.match(title)
    if match and ("." in number or candidate.text[len(number) : len(number) + 1] == "."):
        candidate.cut = len(candidate.text) - len(title) + match.end("title")


def _too_long(candidate: Candidate, body: Body) -> bool:
    return not is_semi_strong(candidate.line, body) and len(candidate.numbered.title) > 90


def _score(candidate: Candidate, body: Body) -> float:
    line, title = candidate.line, candidate.numbered.title
    strong = is_strong(line, body)
    score = 2.0 if strong else 1.4 if is_semi_strong(line, body) else 0.6
    score += 0.4 if candidate.gap > 0.5 * line.size else 0.0
    score += 0.3 if len(candidate.key or ()) > 1 else 0.0
    score += 0.5 if candidate.numbered.keyword else 0.0
    score -= 1.0 if title[-1] in ";," else 0.0
    score -= 0.6 if title[-1] == "." and not strong else 0.0
    return score


# ---- without a number -----------------------------------------------------------------------------------------------


def _learn(numbered: Sequence[Candidate], body: Body, pages: int) -> _Findings:
    findings = _Findings(body, list(numbered))
    for candidate in numbered:
        findings.depths[candidate.line.style][len(candidate.key or ())] += 1
    top = [candidate for candidate in numbered if len(candidate.key or ()) == 1]
    if top:
        findings.first_page = min(candidate.page for candidate in top)
        findings.top_size = sorted(candidate.line.size for candidate in top)[len(top) // 2]
    findings.is_numbered_document = len(numbered) >= 12 and len(numbered) >= 0.12 * pages
    return findings


def _unnumbered(rest: Sequence[Candidate], findings: _Findings, found: Sequence[Candidate]) -> list[Candidate]:
    texts = Counter(letters_of(candidate.text) for candidate in found)
    styles = Counter(line.style for candidate in found for line in candidate.lines)
    total = max(sum(styles.values()), 1)
    return [
        candidate
        for candidate in rest
        if _reads_like_a_title(candidate, findings)
        and texts[letters_of(candidate.text)] < 4
        and styles[candidate.line.style] <= max(0.12 * total, 8)
        and _stands_like_a_title(candidate, findings)
    ]


def _reads_like_a_title(candidate: Candidate, findings: _Findings) -> bool:
    text = candidate.text
    words = len(text.split())
    if not 3 <= len(text) <= 110 or words > 14 or not re.search(r"[^\W\d_]{3}", text) or _CAPTION.match(text):
        return False
    if text[-1] in ",;" or (text[-1] == "." and words > 5) or candidate.line.code:
        return False
    return re.match(r'["“(]?[A-Z0-9À-Þ]', text) is not None or findings.depth_of(candidate.line) is not None


def _stands_like_a_title(candidate: Candidate, findings: _Findings) -> bool:
    line, body = candidate.line, findings.body
    known = len(candidate.text) < 60 and _KNOWN.match(candidate.text) is not None
    alike = sum(findings.depths.get(line.style, Counter[int]()).values())
    if findings.is_numbered_document and not known:
        large = line.size > body.size + 0.9 and (line.size >= findings.top_size - 0.1 or alike >= 3)
        capitals = line.bold and alike >= 3 and candidate.text.isupper()
        if candidate.page < findings.first_page or not (large or capitals):
            return False
    if alike >= 2 and (line.size > body.size + 0.4 or line.bold):
        return True
    if line.size >= body.size + 1.4 and candidate.gap > 0.3 * line.size:
        return True
    heavier = line.bold and not body.bold and line.size >= body.size - (1.1 if line.font != body.font else 0.1)
    apart = candidate.gap > 0.55 * line.size and candidate.next_gap > 0.0
    return heavier and apart and line.x0 < 0.45 * candidate.page_width


def _levels(unnumbered: Sequence[Candidate], findings: _Findings) -> list[tuple[Candidate, int]]:
    """Give each the depth of the numbered headings in its style, else of the next smaller ones, else rank by size."""
    by_size: defaultdict[float, Counter[int]] = defaultdict(Counter)
    for candidate in findings.numbered:
        by_size[candidate.line.size][len(candidate.key or ())] += 1
    weights = sorted({_weight(candidate.line) for candidate in unnumbered}, reverse=True)
    levels: list[tuple[Candidate, int]] = []
    for candidate in unnumbered:
        level = findings.depth_of(candidate.line)
        if level is None:
            smaller = [size for size in by_size if size <= candidate.line.size + 0.01]
            level = (
                by_size[max(smaller)].most_common(1)[0][0] if smaller else 1 + weights.index(_weight(candidate.line))
            )
        levels.append((candidate, level))
    return levels


def _weight(line: Line) -> tuple[float, bool]:
    return (round(line.size * 2) / 2, line.bold)
