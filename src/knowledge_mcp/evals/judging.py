"""Which hits are right: places against passages, and passages folded to what a set judges."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from knowledge_mcp.evals.questions import Place, Question
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Hit

__all__ = ["Judged", "fits", "judge", "names_of", "plain"]

_MARKS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "\u00ad": ""})


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold one question's ranking in the form that measures take.

    Attributes:
        units: what was found, best first, each once: `+0`, `+1` … for the question's places, other names for what is
            wrong. Wrong passages of one document (clause, page) are one unit where places are documents (clauses,
            pages), as right ones are: a document ranks by its best passage.
        grades: by unit, all places of the question.
        first: rank from 1 of the first right one among the passages as they came, None where none is right.
    """

    units: tuple[str, ...]
    grades: Mapping[str, int]
    first: int | None


def plain(text: str) -> str:
    """Bring a text to the form in which quotes are compared: case, blanks, ligatures, quotation marks, dashes."""
    folded = unicodedata.normalize("NFKC", text).translate(_MARKS).casefold()
    return re.sub(r"\s+", " ", re.sub(r"(?<=\w)-\s*\n\s*(?=\w)", "", folded)).strip()


def names_of(chunk: Chunk, keys: Mapping[str, str]) -> frozenset[str]:
    """List the names by which a place may mean the chunk's document; only its key where the set has keys."""
    if keys:
        return frozenset({keys.get(chunk.source_path, "")})
    path = PurePath(chunk.source_path)
    return frozenset(name.casefold() for name in (chunk.document_id, chunk.document_title, path.name, path.stem))


def fits(place: Place, chunk: Chunk, keys: Mapping[str, str]) -> bool:
    """Tell whether a passage is what a place means; of a quote it must hold all words."""
    if place.document is not None:
        wanted = place.document if keys else place.document.casefold()
        if wanted not in names_of(chunk, keys):
            return False
    if place.clause is not None and not _is_below(chunk.clause_number, place.clause):
        return False
    if place.page is not None and place.page not in chunk.page_numbers:
        return False
    return place.quote is None or plain(place.quote) in plain(chunk.content)


def judge(question: Question, hits: Sequence[Hit], keys: Mapping[str, str]) -> Judged:
    """Judge the hits of one question."""
    units: dict[str, None] = {}
    first: int | None = None
    for rank, hit in enumerate(hits, 1):
        right = [f"+{number}" for number, place in enumerate(question.places) if fits(place, hit.chunk, keys)]
        if right and first is None:
            first = rank
        for unit in right or [_wrong(question.places, hit.chunk, keys)]:
            units.setdefault(unit)
    grades = {f"+{number}": place.grade for number, place in enumerate(question.places)}
    return Judged(tuple(units), grades, first)


def _wrong(places: Sequence[Place], chunk: Chunk, keys: Mapping[str, str]) -> str:
    """Name a wrong passage as finely as the question's places are told."""
    if any(place.quote is not None for place in places) or not places:
        return f"-{chunk.id}"
    parts = [keys.get(chunk.source_path, chunk.document_id)]
    if any(place.clause is not None for place in places):
        parts.append(chunk.clause_number or "")
    if any(place.page is not None for place in places):
        parts.append(str(chunk.page_numbers[0]) if chunk.page_numbers else "")
    return f"-{'#'.join(parts)}"


def _is_below(number: str | None, clause: str) -> bool:
    if number is None:
        return False
    wanted = re.sub(r"(?i)^(annex|clause|section|§)\s*", "", clause).rstrip(".").casefold()
    return number.casefold() == wanted or number.casefold().startswith(f"{wanted}.")
