"""Find clauses that are not headings in the file: "1003.1 Applicability. The ..." and "6.4.2.1 The pump shall ...".

They are found in the complete document, in the same way for every format, by their numbers and by what is set apart at
the beginning of their paragraphs. The text does not change: a paragraph is only split into heading and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.language.openings import UNTITLED, caption_label, split_clause_number
from knowledge_mcp.model.document import Block, BlockKind, HeadingSource, Span
from knowledge_mcp.readers.shared.clauses.articles import Article, articles_in, rank_of, title_below
from knowledge_mcp.readers.shared.numbering import (
    LETTERED,
    ClauseCount,
    NumberKey,
    RunningNumber,
    clause_commented,
    coded_numbers,
    counted_through,
    depth_of,
    has_commentary,
    named_numbers,
    number_key,
)

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

_DEEPEST = 20
"""Deepest level of a clause whose number has nothing in common with any above it. Numbers of clauses have about ten
parts at most; without a limit, thousands of unrelated numbers would each be below the one before.
"""


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
            elif (clause := self._found(block, through)) is not None:
                if clause.key:
                    self._take(clause.key, clause.heading.level)
                found[block.span.start] = clause
        told = self._articles.keys() | through.keys()
        untitled = [each for place, each in found.items() if not each.heading.title and place not in through]
        sure = self._count.is_sure(each.key for each in untitled if each.key)
        titled = {place: each for place, each in found.items() if each.heading.title or place in told}
        kept = found if sure else titled
        out, drafts = self._joined(*self._parted(blocks, headings, kept))
        for place, clause in self._comments(drafts).items():
            drafts[place] = replace(drafts[place], level=drafts[clause].level + 1, is_comment=True)
        return out, _with_named_numbers(drafts)

    def _found(self, block: Block, through: Mapping[int, int]) -> _Found | None:
        """Read a block that begins with the number or the word of a clause; None for any other."""
        if (level := through.get(block.span.start)) is not None:
            return self._through(block, level)
        if block.kind is not BlockKind.PARAGRAPH:
            return None
        if block.span.start in self._plain:
            return self._term(block)
        return self._worded(block) or self._titled(block) or self._untitled(block)

    def _counted(self, blocks: Sequence[Block], headings: Sequence[HeadingDraft]) -> Iterator[RunningNumber]:
        """Yield the headings and the beginnings of paragraphs that have a number of one part, without a word."""
        for block in blocks:
            place, section = block.span.start, block.section
            if block.kind is BlockKind.HEADING and section is not None:
                heading = headings[section]
                if (heading.number or "").isdecimal() and not self._is_worded(heading):
                    yield RunningNumber(place, int(heading.number or 0), heading.level, section, is_heading=True)
            elif block.kind in _BEGIN and not block.depth and place not in self._plain:
                level = headings[section].level + 1 if section is not None else 1
                if (match := _ONE_PART.match(self._text, place, block.span.end)) is not None:
                    yield RunningNumber(place, int(match["number"]), level, section, is_heading=False)

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
        return rank_of(split_clause_number(heading.span.of(self._text)).keyword) is not None

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
        return min(self._open[-1][1] + 1, _DEEPEST) if self._open else depth_of(key)

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
