"""Decides which hits are right: compares answer places with passages, and groups passages into units."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from knowledge_mcp.evals.sets import AnswerPlace, Question
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentStructure
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ports import Knowledge

_MARKS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "\u00ad": ""})


@dataclass(frozen=True, slots=True)
class Judged:
    """The ranking of one question in the form that measures need.

    Attributes:
        units: the results, best first, each once: `+0`, `+1` … for the question's answer places, other names for wrong
            passages. If places are documents (clauses, pages), all wrong passages of one document (clause, page) are
            one unit, as right ones are: a document is ranked by its best passage.
        grades: by unit, for all places of the question.
        first: rank, from 1, of the first right passage in the original ranking; None if there is none.
    """

    units: tuple[str, ...]
    grades: Mapping[str, int]
    first: int | None


def normalize(text: str) -> str:
    """Normalise a text for comparing quotes: case, whitespace, ligatures, quotation marks, dashes."""
    folded = unicodedata.normalize("NFKC", text).translate(_MARKS).casefold()
    return re.sub(r"\s+", " ", re.sub(r"(?<=\w)-\s*\n\s*(?=\w)", "", folded)).strip()


def names_of(chunk: Chunk, keys: Mapping[str, str]) -> frozenset[str]:
    """List the names by which an answer place can refer to the chunk's document; only its key if the set has keys."""
    if keys:
        return frozenset({keys.get(chunk.source_path, "")})
    path = PurePath(chunk.source_path)
    return frozenset(name.casefold() for name in (chunk.document_id, chunk.document_title, path.name, path.stem))


def fits(place: AnswerPlace, chunk: Chunk, keys: Mapping[str, str]) -> bool:
    """Return whether a passage matches an answer place; it must contain the whole quote, if there is one."""
    if place.document is not None:
        document = place.document if keys else place.document.casefold()
        if document not in names_of(chunk, keys):
            return False
    if place.clause is not None and not _is_below(chunk.clause_number, place.clause):
        return False
    if place.page is not None and place.page not in chunk.page_numbers:
        return False
    return place.quote is None or normalize(place.quote) in normalize(chunk.content)


def judge(question: Question, hits: Sequence[Hit], keys: Mapping[str, str]) -> Judged:
    """Judge the hits of one question."""
    units: dict[str, None] = {}
    first: int | None = None
    for rank, hit in enumerate(hits, 1):
        right = [f"+{number}" for number, place in enumerate(question.places) if fits(place, hit.chunk, keys)]
        if right and first is None:
            first = rank
        for unit in right or [_describe_wrong(question.places, hit.chunk, keys)]:
            units.setdefault(unit)
    grades = {f"+{number}": place.grade for number, place in enumerate(question.places)}
    return Judged(tuple(units), grades, first)


def _describe_wrong(places: Sequence[AnswerPlace], chunk: Chunk, keys: Mapping[str, str]) -> str:
    """Return the unit of a wrong passage, as detailed as the question's places are."""
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
    expected = re.sub(r"(?i)^(annex|clause|section|§)\s*", "", clause).rstrip(".").casefold()
    return number.casefold() == expected or number.casefold().startswith(f"{expected}.")


CHECKED_HITS = 5
"""Number of hits per question whose citations are checked."""

_MAX_TEXTS = 16


@dataclass(frozen=True, slots=True)
class Share:
    """Counts how many of the checked items are right."""

    right: int = 0
    checked: int = 0

    @property
    def value(self) -> float | None:
        """The share of right items, or None if nothing could be checked."""
        return self.right / self.checked if self.checked else None

    def plus(self, verdict: bool | None) -> Share:
        """Add a verdict; None means that it could not be checked."""
        return self if verdict is None else Share(self.right + verdict, self.checked + 1)


class CitationCheck:
    """Checks the citations of hits against the documents in the knowledge base.

    Attributes:
        shares: by check: `text` (the canonical text at the hit's span equals its content and matches its hash), `page`
            (its page numbers are those of its text), `clause` (its first words after headings are in its clause),
            `expected` (a hit that contains a question's quote has the expected page and clause).
        wrong: the first wrong citations, one sentence each.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._texts: OrderedDict[str, tuple[str, DocumentStructure]] = OrderedDict()
        self._checked: set[str] = set()
        self.shares = {name: Share() for name in ("text", "page", "clause", "expected")}
        self.wrong: list[str] = []

    def note(self, question: Question, hits: Sequence[Hit], keys: Mapping[str, str]) -> None:
        """Check the first hits of a question, each passage only once, and the place expected for its quote."""
        for hit in hits[:CHECKED_HITS]:
            if hit.chunk.id not in self._checked:
                self._checked.add(hit.chunk.id)
                self._check(hit.chunk)
        for place in question.places:
            if place.quote is not None and (place.page is not None or place.clause is not None):
                quoted = AnswerPlace(document=place.document, quote=place.quote)
                first = next((hit.chunk for hit in hits if fits(quoted, hit.chunk, keys)), None)
                verdict = None if first is None else fits(place, first, keys)
                self._count("expected", verdict, f"question {question.id}: the quote is found, its place is another")

    def _check(self, chunk: Chunk) -> None:
        text, structure = self._document(chunk.document_id)
        found = chunk.span.of(text)
        true = found == chunk.content and hashlib.sha256(found.encode()).hexdigest() == chunk.content_hash
        where = f"{chunk.document_id}, passage {chunk.index}"
        self._count("text", true, f"{where}: the text at its place is not its content")
        self._count("page", _pages_are_true(chunk, text, structure), f"{where}: the pages are not those of its text")
        self._count(
            "clause", _clause_is_true(chunk, text, structure), f"{where}: it is not in clause {chunk.clause_number}"
        )

    def _count(self, name: str, verdict: bool | None, complaint: str) -> None:
        self.shares[name] = self.shares[name].plus(verdict)
        if verdict is False and len(self.wrong) < 20:
            self.wrong.append(complaint)

    def _document(self, document_id: str) -> tuple[str, DocumentStructure]:
        if document_id in self._texts:
            self._texts.move_to_end(document_id)
            return self._texts[document_id]
        found = (self._knowledge.document_text(document_id), self._knowledge.document_structure(document_id))
        self._texts[document_id] = found
        if len(self._texts) > _MAX_TEXTS:
            self._texts.popitem(last=False)
        return found


def _pages_are_true(chunk: Chunk, text: str, structure: DocumentStructure) -> bool | None:
    if not chunk.page_numbers or not structure.pages:
        return None
    numbers = {
        page.number for page in structure.pages if any(_share_words(run, chunk.span, text) for run in page.own_runs)
    }
    return numbers == set(chunk.page_numbers)


def _share_words(one: Span, other: Span, text: str) -> bool:
    return bool(text[max(one.start, other.start) : min(one.end, other.end)].strip()) if one.overlaps(other) else False


def _clause_is_true(chunk: Chunk, text: str, structure: DocumentStructure) -> bool | None:
    if chunk.clause_number is None or not structure.sections:
        return None
    number = chunk.clause_number.casefold()
    around = (each for each in structure.sections if each.number is not None and each.number.casefold() == number)
    place = _first_of_body(chunk, text, structure)
    return any(each.span.start <= place < each.span.end for each in around)


def _first_of_body(chunk: Chunk, text: str, structure: DocumentStructure) -> int:
    """Return the position of the first word that is not in a heading.

    A passage may begin with the headings above its clause, and with the title of its document.
    """
    span, title = chunk.span, chunk.document_title
    headings = {each.span.start: len(f"{each.number or ''} {each.title}".split()) for each in structure.sections}
    if text.startswith(title, span.start):
        headings.setdefault(span.start, len(title.split()))
    place = span.start
    words = 0
    for word in re.finditer(r"\S+", text[span.start : span.end]):
        place = span.start + word.start()
        words = max(words - 1, headings.get(place, 0))
        if words <= 0:
            break
    return place
