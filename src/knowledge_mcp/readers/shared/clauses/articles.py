"""Find chapters and articles of laws and contracts by the words before their numbers.

Lines "CHAPTER I" and "Article 7", and "Art. 5º Words", are headings if they form a sequence (others with the same word
count on from them) in a document in which no heading has a number.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge_mcp.model.document import Block, BlockKind
from knowledge_mcp.readers.shared.numbering import ordinal_value, roman_value

_RANKS = (
    (
        "annex annexe appendix appendice schedule anhang anexo apéndice apêndice allegato bijlage bilag bilaga"
        " załącznik приложение vedlegg liite příloha 附录 附錄 附属書 부속서",
        0,
    ),
    ("book livre livro libro", 1),
    ("part parte partie teil część 编 編 편", 2),
    ("title titre título titolo titel dział", 3),
    ("chapter chapitre capítulo capitolo capo kapitel hoofdstuk rozdział division abschnitt 章 장", 4),
    ("subchapter subdivision unterabschnitt", 5),
    ("section sección seção sezione secção sec. 节 節 절", 6),
    ("subsection subseção subsección", 7),
    (
        "article artikel artículo artigo articolo artykuł art. clause rule regel règle regla regola regra regulation"
        " reg. § 条 條 조",
        8,
    ),
)
"""Words before numbers, with their rank in the hierarchy: laws of all countries nest them in this order."""
_RANK_OF = {word: rank for words, rank in _RANKS for word in words.split()}
_WORD = "|".join(sorted((re.escape(word) for word in _RANK_OF if word != "§"), key=len, reverse=True))


def rank_of(word: str) -> int | None:
    """Return the rank of a word that names parts of a law, 0 for annexes; None for other words."""
    return _RANK_OF.get(word.casefold())


_LINE = re.compile(
    rf"(?:(?P<word>{_WORD})\s+|(?P<sign>§)\s*)"
    r"(?P<number>\d{1,4}(?:-?[A-Za-z]{1,2})?|[IVXLC]{1,8}(?:-?[A-Z])?|[A-Z])[ºª°]?(?!\w)[.:]?",
    re.IGNORECASE,
)
_RUN_IN = re.compile(rf"{_LINE.pattern}(?:\s*[-–—])?\s+(?=[^\W\d_])", re.IGNORECASE)
_ORDINAL = re.compile(
    r"[第제]\s?(?P<number>\d{1,4}|[〇零一二三四五六七八九十百千]{1,8})\s?"
    r"(?P<word>[编編章节節条條편장절조])(?![的之規规款例件約约])\s{0,4}(?:[（(【](?P<title>[^（()）】]{1,60})[）)】])?\s{0,4}"
)
"""Chapters and articles in Chinese, Japanese and Korean: "第十二条（定義）", "제3장"; not 第三条的 in a sentence."""
_SECTION, _ARTICLE = 6, 8
_FEWEST_LINES, _FEWEST_RUN_IN = 2, 3
"""Fewest lines with one word, and paragraphs that begin with one, that form a sequence."""
_IN_ORDER = 0.75
"""Share of them that must follow the one before, or restart: some numbers were repealed."""
_LONGEST = 160
"""Longest chapter title in characters; laws have longer ones than manuals."""
NO_TITLE_ENDS = frozenset(".:;,。：；，")
"""Signs that end no title."""


@dataclass(frozen=True, slots=True)
class Article:
    """A heading at the beginning of a paragraph: number, level from 1, end, and whether it is the whole paragraph.

    `title` is its title if that is on the line of the number.
    """

    number: str
    level: int
    cut: int
    alone: bool
    title: str = ""


@dataclass(slots=True)
class _Line:
    place: int
    word: str
    number: str
    value: int
    cut: int
    alone: bool
    title: str = ""


def articles_in(blocks: Sequence[Block], text: str, levels: Sequence[int]) -> dict[int, Article]:
    """Find these headings by where their paragraphs begin; empty if no word has a sequence.

    `levels` has those of the file's own headings, by the index in `Block.section`.
    """
    groups: dict[tuple[str, bool], list[_Line]] = defaultdict(list)
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and (line := _line(block.span.of(text), block.span.start)) is not None:
            groups[line.word, line.alone].append(line)
    sure = {key for key, lines in groups.items() if _is_sequence(lines, alone=key[1])}
    if any(_RANK_OF[word] == _ARTICLE and word != "§" for word, _ in sure):
        sure.discard(("§", False))  # these are parts of articles
    lines = {line.place: line for key in sure for line in groups[key]}
    ranks = _ranks(lines.values())
    open_ranks: list[int] = []
    base = 0
    out: dict[int, Article] = {}
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            open_ranks = []
            base = levels[block.section] if block.section is not None else 1
        line = lines.get(block.span.start)
        if line is not None:
            rank = ranks[line.word]
            open_ranks = [*(each for each in open_ranks if each < rank), rank]
            out[line.place] = Article(line.number, base + len(open_ranks), line.cut, line.alone, line.title)
    return out


def _ranks(lines: Iterable[_Line]) -> dict[str, int]:
    """Return the rank of each word; sections are below articles if the first article comes first, as in bylaws."""
    first: dict[str, int] = {}
    for line in sorted(lines, key=lambda line: line.place):
        first.setdefault(line.word, line.place)
    ranks = {word: _RANK_OF[word] for word in first}
    article = min((place for word, place in first.items() if ranks[word] == _ARTICLE), default=None)
    if article is None:
        return ranks
    return {w: _ARTICLE + 1 if r == _SECTION and first[w] > article else r for w, r in ranks.items()}


def title_below(words: str) -> bool:
    """Return whether a paragraph reads like the title of the line above it."""
    plain = " ".join(words.split())
    is_short = 0 < len(plain) <= _LONGEST and plain[-1] not in NO_TITLE_ENDS
    return is_short and plain[0].isalpha() and not plain[0].islower() and _LINE.match(plain) is None


def _line(words: str, place: int) -> _Line | None:
    if (ordinal := _ORDINAL.match(words)) is not None:
        return _counted(ordinal, words, place)
    first, _, rest = words.partition("\n")
    match = _LINE.fullmatch(first.strip())
    if match is not None and (not rest or title_below(rest)):
        return _made(match, place, len(words), alone=True)
    match = _RUN_IN.match(words)
    if match is None or _RANK_OF[_word_of(match)] not in {_SECTION, _ARTICLE} or words[match.end()].islower():
        return None
    return _made(match, place, len(match.group().rstrip()), alone=False)


def _counted(match: re.Match[str], words: str, place: int) -> _Line | None:
    """Read a chapter with the title after it, or an article before its text."""
    value = ordinal_value(match["number"])
    rest = " ".join(words[match.end() :].split())
    if _RANK_OF[match["word"]] == _ARTICLE:
        cut = len(match.group().rstrip())
        return _Line(place, match["word"], str(value), value, cut, alone=not rest, title=match["title"] or "")
    if len(rest) > _LONGEST or rest.endswith(tuple("。；，：")):
        return None
    return _Line(place, match["word"], str(value), value, len(words), alone=True, title=rest or match["title"] or "")


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
