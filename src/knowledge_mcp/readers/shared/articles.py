"""Headings of laws and contracts that a file marks by nothing: lines "CHAPTER I" and "Article 7", and "Art. 5º Words".

Such a line is a heading where it stands in a sequence: others with its word count on from it, in a document in which no
heading has a number.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.model.document import Block, BlockKind
from knowledge_mcp.readers.shared.numbering import roman_value

_RANKS = (
    ("annex annexe appendix schedule anhang anexo allegato", 0),
    ("book livre livro libro", 1),
    ("part parte partie teil", 2),
    ("title titre título titolo titel", 3),
    ("chapter chapitre capítulo capitolo capo kapitel division abschnitt", 4),
    ("subchapter subdivision unterabschnitt", 5),
    ("section sección seção sezione secção", 6),
    ("subsection subseção subsección", 7),
    ("article artikel artículo artigo articolo art. clause rule §", 8),
)
"""Words before numbers by how far up their parts stand: laws of all countries nest them in this order."""
_RANK_OF = {word: rank for words, rank in _RANKS for word in words.split()}
_WORD = "|".join(sorted((re.escape(word) for word in _RANK_OF if word != "§"), key=len, reverse=True))
_LINE = re.compile(
    rf"(?:(?P<word>{_WORD})\s+|(?P<sign>§)\s*)"
    r"(?P<number>\d{1,4}(?:-?[A-Za-z]{1,2})?|[IVXLC]{1,8}(?:-?[A-Z])?|[A-Z])[ºª°]?(?!\w)[.:]?",
    re.IGNORECASE,
)
_RUN_IN = re.compile(rf"{_LINE.pattern}(?:\s*[-–—])?\s+(?=[^\W\d_])", re.IGNORECASE)
_ARTICLE = 8
_FEWEST_LINES, _FEWEST_RUN_IN = 2, 3
"""Lines of one word, and paragraphs that begin with one, that make a sequence."""
_IN_ORDER = 0.75
"""Share of them that count on from the one before, or begin again: some numbers were repealed."""
_LONGEST = 160
"""Characters of a chapter's title; laws have longer ones than manuals."""


@dataclass(frozen=True, slots=True)
class Article:
    """Tell of a heading that a paragraph begins with: its number, its level from 1, and where it ends."""

    number: str
    level: int
    cut: int
    alone: bool


@dataclass(slots=True)
class _Line:
    place: int
    word: str
    number: str
    value: int
    cut: int
    alone: bool


def articles_in(blocks: Sequence[Block], text: str) -> dict[int, Article]:
    """Find the headings by where their paragraphs begin; empty where no word has a sequence."""
    groups: dict[tuple[str, bool], list[_Line]] = defaultdict(list)
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and (line := _line(block.span.of(text), block.span.start)) is not None:
            groups[line.word, line.alone].append(line)
    sure = {key for key, lines in groups.items() if _is_sequence(lines, alone=key[1])}
    if any(_RANK_OF[word] == _ARTICLE and word != "§" for word, _ in sure):
        sure.discard(("§", False))  # parts of articles
    lines = {line.place: line for key in sure for line in groups[key]}
    open_ranks: list[int] = []
    base = 0
    out: dict[int, Article] = {}
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            open_ranks = []
            base = 1
        line = lines.get(block.span.start)
        if line is not None:
            rank = _RANK_OF[line.word]
            open_ranks = [*(each for each in open_ranks if each < rank), rank]
            out[line.place] = Article(line.number, base + len(open_ranks), line.cut, line.alone)
    return out


def title_below(words: str) -> bool:
    """Tell whether a paragraph reads as the title of the line above it."""
    plain = " ".join(words.split())
    is_short = 0 < len(plain) <= _LONGEST and plain[-1] not in ".;:,"
    return is_short and plain[0].isalpha() and not plain[0].islower() and _LINE.match(plain) is None


def _line(words: str, place: int) -> _Line | None:
    first, _, rest = words.partition("\n")
    match = _LINE.fullmatch(first.strip())
    if match is not None and (not rest or title_below(rest)):
        return _made(match, place, len(words), alone=True)
    match = _RUN_IN.match(words)
    if match is None or _RANK_OF[_word_of(match)] != _ARTICLE or words[match.end()].islower():
        return None
    return _made(match, place, len(match.group().rstrip()), alone=False)


def _word_of(match: re.Match[str]) -> str:
    return (match["word"] or match["sign"]).lower()


def _made(match: re.Match[str], place: int, cut: int, *, alone: bool) -> _Line | None:
    number = match["number"]
    digits = re.match(r"\d+", number)
    value = int(digits.group()) if digits else roman_value(number.partition("-")[0].upper())
    if value is None and len(number) == 1:
        value = ord(number.upper()) - ord("A") + 1
    return _Line(place, _word_of(match), number, value, cut, alone) if value else None


def _is_sequence(lines: Sequence[_Line], *, alone: bool) -> bool:
    if len(lines) < (_FEWEST_LINES if alone else _FEWEST_RUN_IN):
        return False
    steps = [other.value - one.value for one, other in itertools.pairwise(lines)]
    in_order = sum(0 <= step <= 1 or lines[at + 1].value == 1 for at, step in enumerate(steps))
    return in_order >= _IN_ORDER * len(steps)
