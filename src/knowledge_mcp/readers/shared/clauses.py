"""Find clauses that are not headings in the file: "1003.1 Applicability. The ..." and "6.4.2.1 The pump shall ...".

They are found in the complete document, in the same way for every format, by their numbers and by what is set apart at
the beginning of their paragraphs. The text does not change: a paragraph is only split into heading and text.

Lines "CHAPTER I" and "Article 7" of laws and contracts, and "Art. 5º Words", are headings if they form a sequence
(others with the same word count on from them) in a document in which no heading has a number.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.language.openings import UNTITLED, caption_label, split_clause_number
from knowledge_mcp.model.document import Block, BlockKind, HeadingSource, Span
from knowledge_mcp.readers.shared.numbering import (
    LETTERED,
    ClauseCount,
    Counted,
    NumberKey,
    clause_commented,
    coded_numbers,
    counted_through,
    depth_of,
    has_commentary,
    named_numbers,
    number_key,
    ordinal_value,
    roman_value,
)

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


_LONGEST_TITLE = 120
_STOP = re.compile(r"[.:]?\s*(?:[–—-]\s*)?")
_STOPS = " .:–—-"
_FEWEST_TITLES, _MOST_TITLES = 2, 0.5
"""Fewest bold paragraphs that are headings, and their largest share of all blocks: beyond that, the text is bold."""
_MARKED = re.compile(r"\[[CR]\]")
"""A letter before the number of a comment, which is that of its clause; other letters name committees."""
_FEWEST_COMMENTS = 2
"""Fewest comments among the clauses; a single one may be the number of something else."""
_BOLD_ALONE = 0.6
"""Confidence, the same as for lines of a PDF that are headings only by their typography."""


@dataclass(frozen=True, slots=True)
class HeadingDraft:
    """A heading whose section does not exist yet; fields as in `Section`, but `span` is that of the heading.

    `is_comment` marks a clause that comments on another one.
    """

    level: int
    number: str | None
    title: str
    span: Span
    source: HeadingSource
    confidence: float
    informative: bool | None
    is_entry: bool = False
    is_comment: bool = False


@dataclass(slots=True)
class _Found:
    """A clause found at the beginning of a paragraph; its heading has `cut` characters."""

    key: NumberKey
    heading: HeadingDraft
    cut: int


def _with_named_numbers(headings: Sequence[HeadingDraft]) -> list[HeadingDraft]:
    """Take "CS 25.21" and "HO1:" at the beginning of titles for their number, if the document counts so."""
    named = coded_numbers(["" if heading.number else heading.title for heading in headings])
    named |= named_numbers([f"{heading.number or ''} {heading.title}".strip() for heading in headings])
    return [
        replace(heading, number=named[place].number, title=named[place].title) if place in named else heading
        for place, heading in enumerate(headings)
    ]


_ONE_PART = re.compile(r"(?P<number>\d{1,4})\.(?=\s)")
_BEGIN = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
"""Blocks that can begin with the number of a clause; a number of one part makes most of them items of lists."""
_PAGE = re.compile(r"[A-Z]{1,2}-\d{1,3}")
"""The number of a page of an annex, which looks like the comment on a chapter: "A-3"."""


class ClauseFinder:
    """Find the clauses of one document; used once.

    Args:
        text: the document's text.
        leads: number of characters set apart at the beginning of a paragraph, by where the paragraph begins.
        plain: where paragraphs begin that cannot open a clause: those of terms clauses.
        commented: clauses have comments on them; otherwise the text's words decide.
    """

    def __init__(self, text: str, leads: Mapping[int, int], plain: set[int], *, commented: bool = False) -> None:
        self._text, self._leads, self._plain = text, leads, plain
        self._open: list[tuple[NumberKey, int]] = []
        self._count = ClauseCount(commented or has_commentary(text))
        self._articles: dict[int, Article] = {}

    def settled(
        self, blocks: Sequence[Block], headings: Sequence[HeadingDraft]
    ) -> tuple[list[Block], list[HeadingDraft]]:
        """Return blocks and headings with the found clauses inserted."""
        if all(heading.number is None or self._is_worded(heading) for heading in headings):
            self._articles = articles_in(blocks, self._text, [heading.level for heading in headings])
        if not headings and not self._articles:
            blocks, headings = self._bold_titles(blocks)
        headings = list(headings)
        through = counted_through(list(self._counted(blocks, headings)))
        found: dict[int, _Found] = {}
        for block in blocks:
            if block.kind is BlockKind.HEADING and block.section is not None:
                heading = headings[block.section] = self._numbered(headings[block.section])
                if heading.number and (key := number_key(heading.number)):
                    self._take(key, heading.level)
                else:
                    self._open = [each for each in self._open if each[1] < heading.level]
            elif (level := through.get(block.span.start)) is not None:
                found[block.span.start] = self._through(block, level)
                self._take(found[block.span.start].key, level)
            elif block.kind is BlockKind.PARAGRAPH:
                if block.span.start in self._plain:
                    clause = self._term(block)
                else:
                    clause = self._worded(block) or self._titled(block) or self._untitled(block)
                if clause is not None:
                    if clause.key:
                        self._take(clause.key, clause.heading.level)
                    found[block.span.start] = clause
        untitled = [each.key for each in found.values() if each.key and not each.heading.title]
        sure = self._count.is_sure(untitled)
        titled = {
            place: each
            for place, each in found.items()
            if each.heading.title or place in self._articles or place in through
        }
        kept = found if sure else titled
        out, drafts = self._joined(*self._parted(blocks, headings, kept))
        for place, clause in self._comments(drafts).items():
            drafts[place] = replace(drafts[place], level=drafts[clause].level + 1, is_comment=True)
        return out, _with_named_numbers(drafts)

    def _counted(self, blocks: Sequence[Block], headings: Sequence[HeadingDraft]) -> Iterator[Counted]:
        """Yield the headings and the beginnings of paragraphs that have a number of one part, without a word."""
        for block in blocks:
            place, section = block.span.start, block.section
            if block.kind is BlockKind.HEADING and section is not None:
                heading = headings[section]
                if (heading.number or "").isdecimal() and not self._is_worded(heading):
                    yield Counted(place, int(heading.number or 0), heading.level, section, is_heading=True)
            elif block.kind in _BEGIN and not block.depth and place not in self._plain:
                level = headings[section].level + 1 if section is not None else 1
                if (match := _ONE_PART.match(self._text, place, block.span.end)) is not None:
                    yield Counted(place, int(match["number"]), level, section, is_heading=False)

    def _through(self, block: Block, level: int) -> _Found:
        """Read a paragraph that is numbered through the document as a clause without a title."""
        match = _ONE_PART.match(self._text, block.span.start)
        assert match is not None
        span = Span(block.span.start, match.end())
        heading = HeadingDraft(level, match["number"], "", span, HeadingSource.NUMBERING, 0.8, None)
        return _Found((int(match["number"]),), heading, len(span))

    def _numbered(self, heading: HeadingDraft) -> HeadingDraft:
        """Read a heading that is only a number as a clause without a title, if it is below the open clause: "4.2.1"."""
        match = UNTITLED.fullmatch(heading.title) if heading.number is None else None
        key = number_key(match["number"]) if match else None
        if match is None or not key or all(above != key[:-1] for above, _ in self._open):
            return heading
        return replace(heading, number=match["number"], title="")

    def _is_worded(self, heading: HeadingDraft) -> bool:
        """Return whether a heading has a word before its number, as articles have: "ARTICLE II"."""
        return split_clause_number(heading.span.of(self._text)).keyword in _RANK_OF

    def _comments(self, headings: Sequence[HeadingDraft]) -> dict[int, int]:
        """Find comments that are followed by clauses: "26.4.1", "R26.4.1", "26.4.2"; "101.4", "[C] 101.4", "101.5".

        Returns:
            The index of each comment's heading, with that of its clause.
        """
        known: dict[NumberKey, int] = {}
        found: dict[int, int] = {}
        last_clause = 0
        for place, heading in enumerate(headings if self._count.is_commented else ()):
            key = number_key(heading.number) if heading.number else None
            if key and (clause := clause_commented(key, known)) is not None:
                found[place] = known[clause]
            elif key in known and _MARKED.match(heading.span.of(self._text)):
                found[place] = known[key]
            elif key:
                last_clause = place if key[0] < LETTERED else last_clause
                known[key] = place
        return found if sum(place < last_clause for place in found) >= _FEWEST_COMMENTS else {}

    def _bold_titles(self, blocks: Sequence[Block]) -> tuple[list[Block], list[HeadingDraft]]:
        """Make headings of short paragraphs that are bold as a whole, if the file has no headings.

        Those in capitals are above the others. At least two are needed: a single one is the document's title.
        """
        titles = [
            place
            for place, block in enumerate(blocks)
            if block.kind is BlockKind.PARAGRAPH and place + 1 < len(blocks) and self._is_title(block)
        ]
        if len(titles) < _FEWEST_TITLES or len(titles) > _MOST_TITLES * len(blocks):
            return list(blocks), []
        capitals = {place for place in titles if blocks[place].span.of(self._text).isupper()}
        out = list(blocks)
        drafts: list[HeadingDraft] = []
        for place in titles:
            block = blocks[place]
            parts = split_clause_number(block.span.of(self._text))
            level = 1 if place in capitals or not capitals else 2
            title = parts.title.rstrip(_STOPS)
            drafts.append(
                HeadingDraft(
                    level, parts.number, title, block.span, HeadingSource.TYPOGRAPHY, _BOLD_ALONE, parts.informative
                )
            )
            out[place] = replace(block, kind=BlockKind.HEADING, section=len(drafts) - 1)
        return out, drafts

    def _is_title(self, block: Block) -> bool:
        words = block.span.of(self._text)
        whole = 0 < len(words) <= min(self._leads.get(block.span.start, 0), _LONGEST_TITLE)
        reads = "\n" not in words and words[-1] not in ".,;。，；" and any(map(str.isalpha, words))
        return whole and reads and block.span.start not in self._plain and caption_label(words, is_sure=True) is None

    def _take(self, key: NumberKey, level: int) -> None:
        self._count.take(key)
        self._open = [*(each for each in self._open if each[1] < level), (key, level)]

    def _worded(self, block: Block) -> _Found | None:
        """Read an article or a chapter by its word and number."""
        article = self._articles.get(block.span.start)
        if article is None:
            return None
        words = block.span.of(self._text)[: article.cut]
        title = article.title or " ".join(words.partition("\n")[2].split())
        span = Span(block.span.start, block.span.start + article.cut)
        heading = HeadingDraft(article.level, article.number, title, span, HeadingSource.NUMBERING, 0.8, None)
        return _Found((), heading, article.cut)

    def _titled(self, block: Block) -> _Found | None:
        """Read a number and a title that are set apart, alone or before running text."""
        text = block.span.of(self._text)
        lead = min(self._leads.get(block.span.start, 0), len(text))
        words = text[:lead].rstrip()
        parts = split_clause_number(words) if 0 < lead <= _LONGEST_TITLE + 20 else None
        if parts is None or parts.number is None or not (key := number_key(parts.number, parts.keyword)):
            return None
        alone, title = lead == len(text), parts.title.rstrip(_STOPS)
        cut = len(words) + len((_STOP.match(text[len(words) :]) or [""])[0].rstrip())
        deep = len(key) > 1 or bool(parts.keyword)
        if not deep or not title or "\n" in words or caption_label(words, is_sure=True) is not None:
            return None
        if alone and words.endswith((";", ",")):
            return None
        heading = HeadingDraft(
            self._level(key),
            parts.number,
            title,
            Span(block.span.start, block.span.start + cut),
            HeadingSource.TYPOGRAPHY,
            0.8,
            parts.informative,
        )
        return _Found(key, heading, cut)

    def _term(self, block: Block) -> _Found | None:
        """Read a number and a term that are set apart before their definition, in a terms clause."""
        found = self._titled(block)
        above = self._open[-1][0] if self._open else ()
        if found is None:
            return None
        *parents, last = found.key
        is_first, is_later = above == tuple(parents), above[:-1] == tuple(parents) and above[-1:] < (last,)
        return found if is_first or is_later else None

    def _untitled(self, block: Block) -> _Found | None:
        """Read a number that continues the numbering, before text or alone."""
        text = block.span.of(self._text)
        match = UNTITLED.match(text)
        key = number_key(match["number"]) if match else None
        if match is None or not key or _PAGE.fullmatch(text):
            return None
        is_first = not any(part != 1 for part in key[1:]) and self._leads.get(block.span.start, 0) >= len(text)
        if not is_first and not self._count.comes_next(key):
            return None
        cut = len(match.group().rstrip())
        span = Span(block.span.start, block.span.start + cut)
        heading = HeadingDraft(self._level(key), match["number"], "", span, HeadingSource.NUMBERING, 0.8, None)
        return _Found(key, heading, cut)

    def _level(self, key: NumberKey) -> int:
        """Return the level of a clause: below the open one whose number it extends, else beside or below the last one.

        A comment is beside the clause that it is about.
        """
        if commented := self._count.commented(key):
            beside = (level for above, level in reversed(self._open) if above[:-1] == commented[:-1])
            if (level := next(beside, None)) is not None:
                return level
        for above, level in reversed(self._open):
            if above == key[: len(above)]:
                return level + depth_of(key) - depth_of(above)
            if above[:-1] == key[:-1]:
                return level
        if self._open and key[0] >= LETTERED and key[0] % LETTERED == 0:  # explains clauses from outside of them
            return self._open[0][1]
        return self._open[-1][1] + 1 if self._open else depth_of(key)

    def _parted(
        self, blocks: Sequence[Block], headings: Sequence[HeadingDraft], found: Mapping[int, _Found]
    ) -> tuple[list[Block], list[HeadingDraft]]:
        out: list[Block] = []
        drafts: list[HeadingDraft] = []
        for block in blocks:
            if block.kind is BlockKind.HEADING and block.section is not None:
                drafts.append(headings[block.section])
            clause = found.get(block.span.start) if block.kind in _BEGIN else None
            if clause is not None:
                drafts.append(clause.heading)
                section = len(drafts) - 1
                out.append(replace(block, kind=BlockKind.HEADING, span=clause.heading.span, section=section))
                rest = Span(clause.heading.span.end, block.span.end).trimmed(self._text)
                if len(rest):
                    out.append(replace(block, kind=BlockKind.PARAGRAPH, span=rest, section=section, marker=""))
            else:
                out.append(replace(block, section=len(drafts) - 1 if drafts else None))
        return out, drafts

    def _joined(
        self, blocks: Sequence[Block], headings: Sequence[HeadingDraft]
    ) -> tuple[list[Block], list[HeadingDraft]]:
        """Join "SECTION 1003" with the title on the line below."""
        out: list[Block] = []
        drafts: list[HeadingDraft] = []
        for block in blocks:
            heading = headings[block.section] if block.kind is BlockKind.HEADING and block.section is not None else None
            above = drafts[-1] if out and out[-1].kind is BlockKind.HEADING else None
            if above is not None and self._is_title_of(above, block, heading):
                words = " ".join(block.span.of(self._text).split())
                drafts[-1] = replace(above, title=words, span=Span(above.span.start, block.span.end))
                out[-1] = replace(out[-1], span=drafts[-1].span)
                continue
            if heading is not None:
                drafts.append(heading)
            out.append(replace(block, section=len(drafts) - 1 if drafts else None))
        return out, drafts

    def _is_title_of(self, above: HeadingDraft, block: Block, heading: HeadingDraft | None) -> bool:
        article = self._articles.get(above.span.start)
        if article is not None:
            is_title = heading is None and block.kind is BlockKind.PARAGRAPH and block.span.start not in self._articles
            return is_title and article.alone and not above.title and title_below(block.span.of(self._text))
        line = " ".join(above.span.of(self._text).split())
        parts = split_clause_number(line)
        if not parts.keyword or parts.number is None or parts.title != line or above.title != line:
            return False
        if heading is not None:
            below = split_clause_number(heading.title)
            return heading.level == above.level and not (heading.number or below.number or below.keyword)
        whole = 0 < len(block.span) <= min(self._leads.get(block.span.start, 0), _LONGEST_TITLE)
        return block.kind is BlockKind.PARAGRAPH and whole and block.span.start not in self._plain
