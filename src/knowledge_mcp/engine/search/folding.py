"""Fold hits with the same text into one, which names the other locations; put index entries last."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from knowledge_mcp.engine.core.citing import cited
from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.language.phrases import RUN, word_runs, words_of
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Hit

ALIKE = 0.9
"""Minimum share of common word runs for two passages to count as one."""

TOGETHER = 20
"""Hits among which some are put first or last: at least this many are found, so that pages are consistent."""

_NUMBER_OR_SIGN = re.compile(r"[\d<>≤≥±](?:(?<=\d)\d*(?:[.,]\d+)*)?")
_NEGATED = re.compile(r"n't\b")
_DECISIVE = frozenset(
    "shall should must may might can will not no never none cannot without unless except only".split()
)
"""Modal verbs and negations; if these, numbers or comparisons differ, passages are not repetitions."""


_WORDS_FOR_A_FIGURE = 8
"""Maximum words per figure of an index below a heading "Index": prose has fewer figures, entries have more."""
_FIGURE = re.compile(r"\d[\w.-]*")


class Shape:
    """Compare texts for repetition; most pairs share no word run, or differ in a number or a decisive word.

    Args:
        text: compared without case and punctuation.
    """

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        self._words = words_of(self._text)

    @cached_property
    def _decisive(self) -> list[str]:
        decisive = [*_NUMBER_OR_SIGN.findall(self._text), *(word for word in self._words if word in _DECISIVE)]
        if "n't" in self._text:
            decisive += _NEGATED.findall(self._text)
        return sorted(decisive)

    @cached_property
    def _runs(self) -> set[tuple[str, ...]]:
        return word_runs(self._words)

    @cached_property
    def _sample(self) -> set[tuple[str, ...]]:
        """Sample more runs than a repetition may lack, so that it contains at least one of them."""
        enough = int(len(self._words) * (1.0 - ALIKE)) + 2
        middle = max(0, len(self._words) - enough - RUN) // 2  # beginnings of passages are more often the same
        sample = word_runs(self._words[middle : middle + enough + RUN])
        return sample if len(sample) >= enough else self._runs

    def repeats(self, other: Shape) -> bool:
        """Return whether a text repeats another one."""
        if other._runs.isdisjoint(self._sample) or self._decisive != other._decisive:
            return False
        common = len(self._runs & other._runs)
        return common >= ALIKE * (len(self._runs) + len(other._runs) - common)


def folded(hits: Sequence[Hit], count: int | None = None) -> list[Hit]:
    """Leave out hits that repeat a better one, which then names their locations (`Hit.also_in`).

    Two passages repeat each other if nine tenths of their 4-word runs are the same, and all numbers, modal verbs and
    negations: an edition that changes one limit or one "shall" is never folded. Words are compared without case and
    punctuation, without the numbers of headings, and without the headings above the innermost one.

    Args:
        hits: best first.
        count: number wanted, None for all. One more is returned if there is one.
    """
    kept: list[tuple[Hit, Shape]] = []
    for hit in hits:
        shape = Shape(_below_heading(hit.chunk))
        for place, (better, known) in enumerate(kept[:count]):
            if shape.repeats(known):
                where = f" in collection '{hit.collection}'" if hit.collection != better.collection else ""
                also_in = (*better.also_in, f"{cited(hit).citation}{where}")
                kept[place] = (dataclasses.replace(better, also_in=also_in), known)
                break
        else:
            if count is None or len(kept) <= count:
                kept.append((hit, shape))
    return [hit for hit, _ in kept]


def _below_heading(chunk: Chunk) -> str:
    """Return a passage with its own title instead of the headings at its beginning."""
    headings = {"", chunk.document_title, *chunk.section_hierarchy}
    body, rest = chunk.content, chunk.content
    while rest:
        line, _, rest = rest.partition("\n")
        if line.strip() not in headings:
            break
        body = rest
    return f"{chunk.section_title}\n{body}" if len(body) < len(chunk.content) else body


def indexes_last(hits: Sequence[Hit]) -> list[Hit]:
    """Put index entries last among `TOGETHER` hits; they score no more than the last one before them."""
    return [hit for start in range(0, len(hits), TOGETHER) for hit in _texts_first(hits[start : start + TOGETHER])]


def _texts_first(hits: Sequence[Hit]) -> list[Hit]:
    entries = [hit for hit in hits if _is_index(hit.chunk)]
    if not entries or len(entries) == len(hits):
        return list(hits)
    texts = [hit for hit in hits if not _is_index(hit.chunk)]
    lowest = texts[-1].score
    return [*texts, *(dataclasses.replace(hit, score=min(hit.score, lowest)) for hit in entries)]


def _is_index(chunk: Chunk) -> bool:
    figures = len(_FIGURE.findall(chunk.content))
    return 0 < figures * _WORDS_FOR_A_FIGURE >= len(chunk.content.split()) and any(
        role_of_title(split_clause_number(title).title) is SectionRole.INDEX for title in chunk.section_hierarchy
    )


def per_document(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Keep the first `most` hits of each document, in order."""
    seen: Counter[str] = Counter()
    kept: list[Hit] = []
    for hit in hits:
        seen[hit.chunk.document_id] += 1
        if seen[hit.chunk.document_id] <= most:
            kept.append(hit)
    return kept
