"""Chooses, checks and compares two editions, either ingested or read by the caller."""

from __future__ import annotations

import difflib
import functools
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.changes.aligning import align
from knowledge_mcp.engine.changes.clauses import Clause, Edition, EditionPart, edition_of
from knowledge_mcp.engine.changes.differences import ClauseChange, changes_of
from knowledge_mcp.engine.changes.sentences import Weights, word_weights
from knowledge_mcp.engine.changes.sides import Terms
from knowledge_mcp.engine.changes.wording import in_common
from knowledge_mcp.engine.core.designations import Directory, mentioned
from knowledge_mcp.engine.core.documents import instead_of_it
from knowledge_mcp.engine.core.editions import Editions, Family, edition_of_record, facts_of
from knowledge_mcp.engine.core.properties import properties_of
from knowledge_mcp.language.multilingual.recognition import LANGUAGE_NAMES, language_of
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.ports import Knowledge

LEAST_IN_COMMON = 0.05
"""Minimum share of common words, of those of the shorter edition, for two documents to be editions of one."""
_MOST_CLAUSES = 0.75
"""Minimum share of clauses in one language for an edition to have that language; mixed ones have none."""
_KEPT = 2
"""Number of comparisons kept for the following pages; each holds both texts."""


@dataclass(frozen=True, slots=True)
class EditionPair:
    """The records of two editions, and their family if there is one."""

    old: DocumentRecord
    new: DocumentRecord
    family: Family | None = None


def compared(old: Edition, new: Edition, terms: Terms) -> list[ClauseChange]:
    """Align two editions and find the changes in linked clauses; `terms` splits a text into terms."""
    return changes_of(align(old, new, terms), old, new)


def must_be_editions(old: Edition, new: Edition, *, anyway: bool = False) -> None:
    """Refuse two texts that are not editions of one document.

    Raises:
        InvalidInputError: one contains no text, their languages differ, or they have almost nothing in common.
    """
    for edition in (old, new):
        if not edition.clauses:
            raise InvalidInputError(f"{edition.name} contains no text.", suggestion="Choose another document.")
    if anyway:
        return
    languages = [_language(each) for each in (old, new)]
    if all(languages) and languages[0] != languages[1]:
        named = zip((old, new), languages, strict=True)
        names = " and ".join(f"{each.name} in {LANGUAGE_NAMES[code]}" for each, code in named)
        raise InvalidInputError(
            f"The editions are in two languages: {names}.",
            suggestion="Compare editions in one language. `knowledge compare --anyway` compares them anyway.",
        )
    share = in_common(old, new)
    if share < LEAST_IN_COMMON:
        raise InvalidInputError(
            f"These are not editions of the same document: {share:.0%} in common.",
            suggestion="Check the two names. Poor OCR of a scan or editions in two languages can also be the cause. "
            "`knowledge compare --anyway` compares them anyway.",
        )


def _language(edition: Edition) -> str:
    """Return the language of more than three quarters of the clauses with a detected one, else "".

    Some are mistaken for a similar language.
    """
    languages = Counter(code for clause in edition.clauses if (code := language_of(clause.text)))
    code, count = languages.most_common(1)[0] if languages else ("", 0)
    return code if count > _MOST_CLAUSES * languages.total() else ""


def ingested_part(knowledge: Knowledge, document_id: str) -> EditionPart:
    """Read an ingested document as an edition's only part."""
    text, structure = knowledge.document_text(document_id), knowledge.document_structure(document_id)
    return stored_part(knowledge.document(document_id), text, structure, knowledge.document_chunks(document_id))


def stored_part(
    record: DocumentRecord, text: str, structure: DocumentStructure, chunks: Sequence[Chunk]
) -> EditionPart:
    """Build an edition's only part from a stored document.

    A heading stored without its line gets that of the passage that starts with it.
    """
    lines = {chunk.span.start: chunk.lines[0] for chunk in chunks if chunk.lines is not None}
    sections = [replace(each, line=each.line or lines.get(each.span.start)) for each in structure.sections]
    return EditionPart(record.id, text, sections, chunks, record.title, structure.items, properties_of(record))


def edition_pair(records: Sequence[DocumentRecord], document: str, old: str = "", new: str = "") -> EditionPair:
    """Choose two editions: by default the current one and the one before it, or from the named one to the current one.

    Args:
        records: of all documents.
        document: id, designation or title; one edition of it is enough.
        old, new: an edition as people name it ("2018"), or an id.

    Raises:
        NotFoundError: there is no such document or edition; names similar ones.
        InvalidInputError: it has only one edition, or both are the same.
    """
    known = Editions(records)
    first = _named(records, known, document)
    family = known.family_of(first.id)
    ids = {record.id: record for record in records}
    later = ids.get(new) or (_edition(family, first, new) if new else None)
    earlier = ids.get(old) or (_edition(family, first, old) if old else None)
    if family is None and (earlier is None or later is None):
        other = earlier or later
        if other is None or other.id == first.id:
            raise InvalidInputError(
                f"'{first.id}' is the only edition of its document.",
                suggestion="Give the ids of both editions in `from` and `to`, or ingest the other edition.",
            )
        earlier, later = (earlier or first), (later or first)
    if family is not None:
        current = family.current[0]
        is_current = first.id in {each.id for each in family.current}
        later = later or (current if earlier is not None or not is_current else first)
        earlier = earlier or (first if first.id != later.id and document != family.title and not is_current else None)
        earlier = earlier or _before(family, later)
    assert earlier is not None
    assert later is not None
    if earlier.id == later.id:
        raise InvalidInputError(
            f"'{later.id}' cannot be compared with itself.",
            suggestion="Give two different editions in `from` and `to`.",
        )
    return EditionPair(earlier, later, family)


def document_named(records: Sequence[DocumentRecord], name: str) -> DocumentRecord:
    """Find a document by its id, designation or title; of several editions the current one, unless one is named.

    Raises:
        NotFoundError: there is none; names similar ones.
    """
    return _named(records, Editions(records), name)


def _named(records: Sequence[DocumentRecord], known: Editions, document: str) -> DocumentRecord:
    exact = next((record for record in records if record.id == document), None)
    if exact is not None:
        return exact
    folded = document.casefold().strip()
    titled = [record for record in records if record.title.casefold() == folded]
    titled += [family.current[0] for family in known.families if family.title.casefold() == folded]
    for designation in mentioned(document):
        likes = [
            each for each in Directory(records).alike(designation) if not each.is_other_edition and not each.is_part
        ]
        titled += [each.record for each in sorted(likes, key=lambda each: not each.is_whole)]
    if not titled:
        near = difflib.get_close_matches(folded[:200], [record.id for record in records], 3)
        raise NotFoundError(f"There is no document '{document[:100]}'.", suggestion=instead_of_it(near))
    family = known.family_of(titled[0].id)
    dated = any(each.edition for each in mentioned(document))
    return titled[0] if family is None or dated else family.current[0]


def _edition(family: Family | None, first: DocumentRecord, edition: str) -> DocumentRecord:
    name = edition.casefold().strip()
    members = family.records if family is not None else (first,)
    for each in members:
        facts = facts_of(each)
        if name in {facts.label.casefold(), facts.date, *facts.label.casefold().replace(",", " ").split()}:
            return each
    there = ", ".join(f"{facts_of(each).label or 'undated'} ({each.id})" for each in members)
    raise NotFoundError(f"There is no edition '{edition[:60]}'.", suggestion=f"Available editions: {there}.")


def _before(family: Family, later: DocumentRecord) -> DocumentRecord:
    place = [each.id for each in family.records].index(later.id)
    label = facts_of(later).label
    earlier = [each for each in family.records[:place] if facts_of(each).label != label]
    if not earlier:
        raise InvalidInputError(
            f"There is no edition before '{later.id}'.", suggestion="Give two editions in `from` and `to`."
        )
    return earlier[-1]


def cited_clause(clause: Clause, record: DocumentRecord) -> str:
    """Cite a clause of an edition: title, edition, clause, page or line, file."""
    edition = edition_of_record(record)
    title = record.title if not edition or edition in record.title else f"{record.title} ({edition})"
    place = f"p. {clause.page}" if clause.page is not None else f"line {clause.line}" if clause.line else ""
    name = f"{clause.number} {clause.heading}".strip()
    parts = [title, "" if name == record.title else name, place]
    return f"{', '.join(filter(None, parts))} [{record.file_name}]"


@dataclass(frozen=True)
class ComparedPair:
    """What became of each clause of two editions."""

    changes: list[ClauseChange]

    @functools.cached_property
    def weights(self) -> Weights:
        """The word weights of both editions, for `side_by_side`."""
        return word_weights(each.link for each in self.changes)


class Comparisons:
    """Compares ingested editions, and keeps the last few comparisons for the following pages. Thread-safe.

    Args:
        terms: splits a text into terms.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[DocumentRecord, DocumentRecord], ComparedPair] = OrderedDict()

    def of(self, pair: EditionPair, read_part: Callable[[str], EditionPart]) -> ComparedPair:
        """Return what became of each clause; `read_part` reads a document by its id. Errors as `must_be_editions`."""
        key = (pair.old, pair.new)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        old, new = (edition_of(record.id, [read_part(record.id)]) for record in key)
        must_be_editions(old, new)
        found = ComparedPair(compared(old, new, self._terms))
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found
