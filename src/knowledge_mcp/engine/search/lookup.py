"""Look up a term: its definitions, or similar terms (clarification 3)."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import PASSING, Base, Records
from knowledge_mcp.engine.core.choosing import Choice, choose_editions, notes_on
from knowledge_mcp.engine.core.citing import cite
from knowledge_mcp.engine.core.editions import Editions
from knowledge_mcp.language.glossary.questions import term_keys
from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Vector
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import DefinitionHit, Equals, LookupAnswer
from knowledge_mcp.support.checkpoints import check_each


def letters_apart(first: str, second: str) -> int:
    """Count the letters of either text that the other does not have, in any order."""
    one, other = Counter(first), Counter(second)
    return (one - other).total() + (other - one).total()


def typing_errors_within(first: str, second: str, bound: int) -> int | None:
    """Count typing errors between two texts, None if more than `bound`.

    This is the Levenshtein distance, except that two swapped neighbouring letters are one error, not two (the
    Damerau-Levenshtein distance). Time is O(length * length), used only for texts with nearly the same letters.
    """
    if first == second:
        return 0
    if abs(len(first) - len(second)) > bound:
        return None
    letters, others = Counter(first), Counter(second)
    if (letters - others).total() > bound or (others - letters).total() > bound:
        return None
    far = len(first) + len(second)
    rows: list[list[int]] = [list(range(len(second) + 1))]
    last_row: dict[str, int] = {}
    for row, character in enumerate(first, start=1):
        above, current = rows[-1], [row]
        last_column = 0
        for column, other in enumerate(second, start=1):
            best = min(above[column] + 1, current[-1] + 1, above[column - 1] + (character != other))
            swapped_row = last_row.get(other, 0)
            if swapped_row and last_column:
                between = (row - swapped_row - 1) + (column - last_column - 1)
                best = min(best, rows[swapped_row - 1][last_column - 1] + between + 1 if between <= bound else far)
            if character == other:
                last_column = column
            current.append(best)
        rows.append(current)
        last_row[character] = row
    return rows[-1][-1] if rows[-1][-1] <= bound else None


_SIMILAR = 3
_LEAST_SIMILARITY = 0.5
_MOST_EDITS = 2
_MOST_WORDS = 12
"""Maximum words of a term that is searched for terms within it: longer ones are sentences."""
_SHORT = 4
"""Maximum letters of a short key, for which two typing errors leave too little to recognise it."""


def lookup(base: Base, term: str, edition: str = "") -> LookupAnswer:
    """Find every definition of a term or alias; case, accents, hyphens and plural do not matter.

    A term with its abbreviation in brackets or with its synonyms ("mean time to repair (MTTR)") is found by its first
    part that is defined. If nothing is found, `similar_terms` lists terms at most two typing errors away, fewest first,
    terms contained in it, and terms with a similar meaning. What only older editions define is taken from them.

    Args:
        base: the parts.
        term: as given by the caller.
        edition: as in `SearchQuery.edition`.

    Raises:
        InvalidInputError: the term is blank; no document has the edition.
    """
    keys = term_keys(term, base.analyser.term_key)
    if not keys:
        raise InvalidInputError("The term is empty.", suggestion="Give the term to look up.")
    if not base.exists():
        return LookupAnswer(term=term, definitions=())
    with base.snapshot():
        known = base.editions()
        choice = choose_editions(base, known, edition)
        found = _answer(known, term, edition, _of_edition(choice, edition, _defined(base, keys)))
    if found.definitions:
        return found
    vector: Vector | None = None
    degraded: tuple[str, ...] = ()
    try:
        vector = base.query_vector(term)
    except PASSING as exc:
        degraded = (f"Similar terms are found by spelling only: {exc.message}",)
    with base.snapshot():
        hits = _of_edition(choice, edition, _defined(base, keys))  # may be ingested meanwhile
        if hits:
            return _answer(base.editions(), term, edition, hits)
        similar, failed = _similar_terms(base, term, vector)
    return LookupAnswer(term=term, definitions=(), similar_terms=similar, degraded=degraded + failed)


def _answer(known: Editions, term: str, edition: str, hits: tuple[DefinitionHit, ...]) -> LookupAnswer:
    notes = notes_on(known, (hit.chunk.document_id for hit in hits), edition) if hits else ()
    return LookupAnswer(term=term, definitions=hits, editions=notes)


def _defined(base: Base, keys: Iterable[str]) -> tuple[DefinitionHit, ...]:
    """List the definitions of the first key that has any."""
    for key in keys:
        hits = tuple(
            hit
            for hit in definitions_in(base, base.opened.chunks("term", [key]))
            if key in _keys(base, (hit.definition.term, *hit.definition.aliases))
        )
        if hits:
            return hits
    return ()


def _of_edition(choice: Choice, edition: str, hits: tuple[DefinitionHit, ...]) -> tuple[DefinitionHit, ...]:
    """Keep the definitions that may answer; if no edition was requested and none is left, those of any edition."""
    kept = tuple(hit for hit in hits if choice.allows(hit.chunk.document_id))
    return kept if kept or edition.strip() else hits


def definitions_in(base: Base, chunks: Iterable[Chunk]) -> list[DefinitionHit]:
    """List the definitions in chunks, each once, with citations."""
    chunks = list(chunks)
    records = Records(base, (chunk.document_id for chunk in chunks if chunk.definitions))
    seen: set[tuple[str, int, str]] = set()
    hits: list[DefinitionHit] = []
    for chunk in check_each(each for each in chunks if each.document_id not in records.damaged):
        for definition in chunk.definitions:
            place = (chunk.document_id, definition.span.start, definition.term)
            if place not in seen:
                seen.add(place)
                hits.append(DefinitionHit(definition, chunk, cite(chunk, records.get(chunk.document_id))))
    return hits


def _keys(base: Base, names: Iterable[str]) -> set[str]:
    return {base.analyser.term_key(name) for name in names}


def _similar_terms(base: Base, term: str, vector: Vector | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    degraded: tuple[str, ...] = ()
    try:
        semantic = _semantic_terms(base, term, vector) if vector is not None else []
    except PASSING as exc:
        semantic = []
        degraded = (f"Similar terms are found by spelling only: {exc.message}",)
    known = base.opened.defined_terms()
    fuzzy = _fuzzy_terms(base, term, known, sure=len(semantic) >= _SIMILAR)
    names: dict[str, str] = {}
    for name in (*fuzzy, *_terms_within(base, term, known), *semantic):
        names.setdefault(base.analyser.term_key(name), name)
    return tuple(names.values()), degraded


def _terms_within(base: Base, term: str, known: Mapping[str, str]) -> list[str]:
    """List up to three defined terms whose words occur together in the given one, longest first."""
    words = term.split()[:_MOST_WORDS]
    found: dict[str, None] = {}
    for count in range(len(words) - 1, 0, -1):
        for start in range(len(words) - count + 1):
            key = base.analyser.term_key(" ".join(words[start : start + count]))
            if key in known:
                found.setdefault(known[key])
    return list(found)[:_SIMILAR]


def _semantic_terms(base: Base, term: str, vector: Vector) -> list[str]:
    """List up to three terms whose definition chunks have a cosine above .5, nearest first."""
    legs = base.search(
        vector=vector,
        text=None,
        filter=Equals("chunk_type", ChunkType.DEFINITION.value),
        limit=4 * _SIMILAR,
    )
    near = [hit.chunk_id for hit in legs.dense or () if hit.score > _LEAST_SIMILARITY]
    names: dict[str, str] = {}
    for chunk in base.opened.chunks("id", near):
        if chunk.definitions:
            best = _nearest_in_words(term, chunk.definitions)
            names.setdefault(base.analyser.term_key(best.term), best.term)
    return list(names.values())[:_SIMILAR]


def _nearest_in_words(term: str, definitions: Iterable[Definition]) -> Definition:
    """Choose the definition of a passage whose term is most similar to the given one; the first if equal."""
    matcher = difflib.SequenceMatcher(b=term.casefold(), autojunk=False)

    def likeness(definition: Definition) -> float:
        matcher.set_seq1(definition.term.casefold())
        return matcher.ratio()

    return max(definitions, key=likeness)


def _fuzzy_terms(base: Base, term: str, known: Mapping[str, str], *, sure: bool) -> list[str]:
    """List up to three defined terms at most two typing errors away, fewest first.

    If equal, terms with the same letters, the same beginning and the same length come first. Something of a short term
    must be left; with `sure`, if enough was found by meaning, a short term may have only one error.
    """
    words = term.partition("(")[0].strip() or term
    forms = [_TermForm(each, each.casefold(), base.analyser.term_key(each)) for each in dict.fromkeys((term, words))]
    near: list[tuple[int, bool, int, int, int, str]] = []
    for key, printed in check_each(known.items()):
        other = _TermForm(printed, printed.casefold(), key)
        near += [rank for form in forms if (rank := _rank(form, other, sure)) is not None]
    return list(dict.fromkeys(printed for *_, printed in sorted(near)))[:_SIMILAR]


@dataclass(frozen=True, slots=True)
class _TermForm:
    """A term as printed, the same in lower case, and its key."""

    printed: str
    small: str
    key: str


def _rank(form: _TermForm, other: _TermForm, sure: bool) -> tuple[int, bool, int, int, int, str] | None:
    """Return how similar a term is to the given one, None if not similar; as printed, otherwise by its key."""
    length = len(form.key)
    bound = min(_MOST_EDITS, length - 1, 1 if sure and length <= _SHORT else _MOST_EDITS)
    errors = typing_errors_within(form.small, other.small, bound)
    as_printed = errors is not None
    if errors is None:
        errors = typing_errors_within(form.key, other.key, bound)
    if errors is None:
        return None
    apart = letters_apart(form.small, other.small)
    start = _common_start(form.small, other.small)
    return errors, not as_printed, apart, -start, abs(len(form.small) - len(other.small)), other.printed


def _common_start(first: str, second: str) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
