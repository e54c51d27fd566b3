"""Which sections of a document are informative: by their headings, by sentences in them, and by what is above them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from knowledge_mcp.language.clauses import informative_mark
from knowledge_mcp.language.openings import ANNEX_WORDS, FORCE_IN_BRACKETS, STATUS_WORDS, commentary_label, obliges
from knowledge_mcp.model.document import Block, BlockKind
from knowledge_mcp.readers.shared.clauses.finder import HeadingDraft

_ANNEX = re.compile(rf"\W*(?:{STATUS_WORDS})?(?:{ANNEX_WORDS})\b", re.IGNORECASE)
_ANNEXES = re.compile(rf"(?:{ANNEX_WORDS})(?:es|s)?|appendic[ei]s?|anhänge|allegati", re.IGNORECASE)
_SAYS_SO = re.compile(r"(?:informative|non-normative)\b", re.IGNORECASE)
_FIRST_OF_ANNEX, _FIRST_OF_SECTION = 3, 1
"""Number of paragraphs at the beginning of an annex, and of a section, that may state what it is."""


def informative_sections(
    headings: Sequence[HeadingDraft], parents: Sequence[int | None], blocks: Sequence[Block], text: str
) -> list[bool]:
    """Return for each heading whether its section is informative.

    Args:
        headings: the document's headings, in order.
        parents: for each heading, the index of its parent.
        blocks: the document's blocks; those before the first heading are ignored.
        text: the document's text.
    """
    stated = _stated(headings, parents, blocks, text)
    opened = _opened(blocks, text)
    out: list[bool] = []
    annexes: tuple[int | None, bool] | None = None  # what is stated about several annexes, with their parent
    for place, (heading, parent) in enumerate(zip(headings, parents, strict=True)):
        own = stated.get(place, heading.informative)
        if own is None and heading.number is None and (_SAYS_SO.match(heading.title) or _is_commentary(heading.title)):
            own = True
        own = True if own is None and heading.is_comment else own
        if heading.number is None and _opens_annexes(heading):
            annexes = (parent, own) if own is not None else None
        elif heading.number is not None and heading.number[0].isdigit():
            annexes = None
        elif heading.number is not None and place in opened:
            annexes = (parent, opened[place])
        if own is None and heading.number is not None and annexes is not None and parent == annexes[0]:
            own = annexes[1]
        below_comment = parent is not None and headings[parent].is_comment
        if below_comment and not heading.is_comment and heading.number is not None:
            own = own or False  # the clauses continue
        out.append((parent is not None and out[parent]) if own is None else own)
    return out


def _is_commentary(title: str) -> bool:
    return commentary_label(title) == title.rstrip(" :.") != ""


def _stated(
    headings: Sequence[HeadingDraft], parents: Sequence[int | None], blocks: Sequence[Block], text: str
) -> dict[int, bool]:
    """Read the first paragraphs of sections and of annexes; the first statement counts."""
    stated: dict[int, bool] = {}
    seen: Counter[int] = Counter()
    seen_below: Counter[int] = Counter()
    annexes: list[int | None] = []  # for each heading, the outermost annex that contains it
    for place, (heading, parent) in enumerate(zip(headings, parents, strict=True)):
        around = annexes[parent] if parent is not None else None
        annexes.append(place if around is None and _ANNEX.match(heading.span.of(text)) else around)
    for block in blocks:
        if block.kind is not BlockKind.PARAGRAPH or block.section is None:
            continue
        annex = annexes[block.section]
        seen[block.section] += 1
        if annex is not None:
            seen_below[annex] += 1
        if seen[block.section] > _FIRST_OF_SECTION and (annex is None or seen_below[annex] > _FIRST_OF_ANNEX):
            continue
        found = informative_mark(block.span.of(text), headings[annex].number if annex is not None else None)
        if found is None:
            continue
        if not found.is_of_annex and seen[block.section] <= _FIRST_OF_SECTION:
            stated.setdefault(block.section, found.informative)
        elif found.is_of_annex and annex is not None and seen_below[annex] <= _FIRST_OF_ANNEX:
            stated.setdefault(annex, found.informative)
    return stated


def _opened(blocks: Sequence[Block], text: str) -> dict[int, bool]:
    """Find headings directly below a line "(Nonmandatory Information)", and what the line states."""
    opened: dict[int, bool] = {}
    for above, block in itertools.pairwise(blocks):
        if block.kind is not BlockKind.HEADING or block.section is None or above.kind is not BlockKind.PARAGRAPH:
            continue
        mark = FORCE_IN_BRACKETS.fullmatch(above.span.of(text))
        if mark is not None:
            opened[block.section] = not obliges(mark["force"])
    return opened


def _opens_annexes(heading: HeadingDraft) -> bool:
    """Return whether a heading is "APPENDIXES", "ANNEX (Mandatory Information)", or only such words in brackets."""
    words = FORCE_IN_BRACKETS.sub("", heading.title).strip()
    return _ANNEXES.fullmatch(words) is not None or (not words and heading.informative is not None)
