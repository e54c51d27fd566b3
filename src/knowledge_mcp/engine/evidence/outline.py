"""Finds sections by the names people use: number, title or both; and explains when there is none of that name."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from knowledge_mcp.engine.core.base import Records
from knowledge_mcp.engine.core.citing import cite, passage
from knowledge_mcp.engine.core.documents import StoredDocument
from knowledge_mcp.language.multilingual.places import CLAUSE_WORDS
from knowledge_mcp.language.openings import (
    FIGURE_WORDS,
    LATIN_ADDED,
    NUMBERED_WORDS,
    TABLE_WORDS,
    is_annex,
    number_once,
)
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, OutlineEntry
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import Excerpt
from knowledge_mcp.support.wording import how_many

_KEYWORD = re.compile(
    rf"(?P<keyword>sub-clause|subsection|para\.|policy|{NUMBERED_WORDS}|{CLAUSE_WORDS})\s+(?=\S)|§+\s*(?=\S)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:\d{1,3}[a-z]?|[a-z]|[ivxlc]{1,6})(?:\.(?:\d{1,3}[a-z]?|[a-z]))*")
_BRACKETS = re.compile(r"(?:\.?\([^()]{1,5}\)|,?\s?\(?[a-z0-9]{1,4}\)){1,6}\Z", re.IGNORECASE)
_NAMED = re.compile(r"[a-z]{2,4}(?:-[a-z]{1,4})?\d{0,2}[ -](?=\d)")
"""The letters of a code before its figures: "CS 25.21"."""
_SHOWN = re.compile(rf"(?:{TABLE_WORDS}|{FIGURE_WORDS})\s", re.IGNORECASE)
_LATIN = re.compile(rf"(?<=\d) (?=(?:{'|'.join(LATIN_ADDED)})\Z)")
"""The blank in "12 bis"."""
_LONGEST_NAME = 500
_PREVIEW = 60
"""Characters of a clause without a title that an outline shows, about as many as titles have."""
_MOST_LISTED = 8
_ALIKE = 3


def label_of(entry: OutlineEntry) -> str:
    """Return the name of a section: number and title, each once."""
    title = " ".join(entry.title.split())
    return number_once(f"{entry.number} {title}".strip()) if entry.number and title != entry.number else title


def opening_words(entry: OutlineEntry, text: str) -> str:
    """Return the first words of a section that has a number and no title; empty if it has a title.

    Args:
        entry: the section.
        text: of its document.
    """
    if entry.title.strip() not in {"", entry.number}:
        return ""
    words = " ".join(text[entry.span.start : min(entry.span.end, entry.span.start + 4 * _PREVIEW)].split())
    words = words.removeprefix(entry.number or "").lstrip(" .:")
    short = words[: _PREVIEW + 1].rpartition(" ")[0] or words[:_PREVIEW]
    return words if len(words) <= _PREVIEW else f"{short.rstrip(' ,;:')}…"


def find_sections(document: StoredDocument, requested: str) -> list[OutlineEntry]:
    """List the sections that a name may mean, in reading order: by number, else by title, else by words of a title.

    "5.3", "clause 5.3", "5.3 Wind load", "Annex B" and "wind load" are names; "2.0" is clause 2 if none is 2.0,
    "6(1)(a)" is clause 6, and "25.21" is CS 25.21 if none is 25.21. If a number occurs twice, the word before it
    decides; a section inside another of the same name is not listed.
    """
    entries = document.structure.sections
    name = _plain(requested)
    match = _KEYWORD.match(name)
    keyword = (match.group("keyword") or "") if match else ""
    bare = name[match.end() :] if match else name
    found = _with_numbers(entries, {name, bare}) or _with_numbers(entries, {bare.removesuffix(".0")})
    found = found or _with_numbers(entries, {_BRACKETS.sub("", bare)})
    found = found or [entry for entry in entries if entry.number and _NAMED.sub("", _plain(entry.number)) == bare]
    if len(found) > 1:
        found = _of_keyword(document, found, keyword) or found
    if not found:
        found = [entry for entry in entries if {_plain(entry.title), _plain(label_of(entry))} & {name, bare}]
    if not found and not _NUMBER.fullmatch(bare):
        containing = [entry for entry in entries if _holds(_plain(label_of(entry)), bare)]
        found = containing if len(_outermost(containing)) == 1 else []
    return _outermost(found)


def find_section(document: StoredDocument, requested: str) -> OutlineEntry:
    """Return the only section of this name.

    Raises:
        NotFoundError: there is none; names similar ones.
        InvalidInputError: there are several; says where.
    """
    if len(requested) > _LONGEST_NAME:
        raise InvalidInputError(f"The name of the clause has more than {_LONGEST_NAME} characters.")
    found = find_sections(document, requested)
    if not found:
        raise NotFoundError(
            f"'{document.record.id}' has no clause '{requested[:100]}'.", suggestion=_near(document, _plain(requested))
        )
    if len(found) > 1:
        labels = [f"{label_of(entry)}{_place(entry)}" for entry in found[:_MOST_LISTED]]
        raise InvalidInputError(
            f"'{requested[:100]}' matches {how_many(len(found), 'section')} of '{document.record.id}'.",
            details="; ".join(labels),
            suggestion=f"Ask for one of them by number, by number and title, or by page: {'; '.join(labels)}.",
        )
    return found[0]


def _with_numbers(entries: Iterable[OutlineEntry], names: set[str]) -> list[OutlineEntry]:
    joined = {_LATIN.sub("", name) for name in names}
    return [entry for entry in entries if entry.number and _LATIN.sub("", _plain(entry.number)) in joined]


def _plain(name: str) -> str:
    return " ".join(name.split()).strip(" .:").casefold()


def _holds(label: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", label) is not None


def _of_keyword(document: StoredDocument, entries: Sequence[OutlineEntry], keyword: str) -> list[OutlineEntry]:
    """Keep the sections whose heading starts like the name: "Annex 1" is not "1 Scope"."""
    heads = [(entry, document.text[entry.span.start : entry.span.start + 40].casefold()) for entry in entries]
    if is_annex(keyword):
        return [entry for entry, head in heads if is_annex(head.partition(" ")[0])]
    if keyword:
        return [entry for entry, head in heads if head.startswith(keyword)] or _bare(heads)
    return _bare(heads)


def _bare(heads: Iterable[tuple[OutlineEntry, str]]) -> list[OutlineEntry]:
    return [entry for entry, head in heads if entry.number and head.startswith(entry.number.casefold())]


def _outermost(entries: Sequence[OutlineEntry]) -> list[OutlineEntry]:
    """Leave out sections inside another one found."""
    return [entry for entry in entries if not any(_lies_in(entry, other) for other in entries)]


def _lies_in(entry: OutlineEntry, other: OutlineEntry) -> bool:
    return other.level < entry.level and other.span.contains(entry.span)


def _place(entry: OutlineEntry) -> str:
    return f" (page {entry.page})" if entry.page else f" (character {entry.span.start})"


def _near(document: StoredDocument, name: str) -> str:
    entries = document.structure.sections
    if not entries:
        return "This document has no known headings: read it by pages, by passage, or as a whole."
    match = _KEYWORD.match(name)
    bare = name[match.end() :] if match else name
    if _NUMBER.fullmatch(bare):
        return _near_number(entries, bare)
    titles = {_plain(entry.title): label_of(entry) for entry in entries}
    titles |= {_plain(label_of(entry)): label_of(entry) for entry in entries}
    alike = difflib.get_close_matches(bare[:200], titles, n=_ALIKE, cutoff=0.6)
    words = set(re.findall(r"\w{4,}", bare))
    alike += [label for label in titles if words & set(re.findall(r"\w{4,}", label))]
    near = list(dict.fromkeys(f"'{titles[label]}'" for label in alike))[:_ALIKE]
    if near:
        return f"Did you mean {_join_names(near, 'or')}?"
    if _SHOWN.match(name):
        return "Tables and figures are not clauses: search for the name to find the passage that contains it."
    top = min(entry.level for entry in entries)
    if sum(entry.level == top for entry in entries) == 1 < len(entries):
        top = min(entry.level for entry in entries if entry.level > top)
    return f"Its sections are {_some([label_of(entry) for entry in entries if entry.level == top])}."


def _near_number(entries: Sequence[OutlineEntry], number: str) -> str:
    known = {_plain(entry.number): entry.number for entry in entries if entry.number}
    if not known:
        return "Its headings have no numbers: ask by title, by pages, or for the whole document."
    above = number
    while "." in above:
        above = above.rpartition(".")[0]
        depth = above.count(".") + 1
        below = [plain for plain in known if plain.startswith(f"{above}.") and plain.count(".") == depth]
        if above in known or below:
            alike = difflib.get_close_matches(number, below, n=1)
            near = known[alike[0]] if alike else known.get(above, known[below[0]] if below else above)
            has = _some([known[each] for each in below]) if below else "no parts"
            return f"{known.get(above, above.upper())} has {has}. Did you mean {near}?"
    tops = [printed for plain, printed in known.items() if "." not in plain]
    return f"Its clauses are {_some(tops or list(known.values()))}."


def _some(names: Sequence[str]) -> str:
    listed = list(names[:_MOST_LISTED])
    rest = len(names) - len(listed)
    return _join_names([*listed, f"{rest} more"] if rest else listed, "and")


def _join_names(names: Sequence[str], last: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


class _KnownRecord(Records):
    """Provides the one record that is given."""

    def __init__(self, record: DocumentRecord) -> None:
        self._record = record

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return the record if it has this id."""
        return self._record if document_id == self._record.id else None


def excerpt_at(document: StoredDocument, span: Span) -> Excerpt:
    """Cut out a passage with its location; if it spans several sections, cite the first to the last."""
    chunks = _overlapping(document.chunks, span)
    made = passage(_KnownRecord(document.record), document.record.id, document.text, span, chunks, document.structure)
    label = _sections_of(document, span)
    if not label or not chunks:
        return made
    locator = made.locator
    located = replace(
        chunks[0],
        section_hierarchy=(label,),
        section_title=label,
        clause_number=None,
        page_numbers=locator.page_numbers,
        page_labels=locator.page_labels,
        lines=locator.lines,
    )
    return replace(made, citation=cite(located, document.record))


def section_at(entries: Sequence[OutlineEntry], place: int) -> OutlineEntry | None:
    """Return the innermost of a document's sections that contains an offset, None before the first heading."""
    for entry in reversed(entries[: bisect_right(entries, place, key=lambda each: each.span.start)]):
        if place < entry.span.end:
            return entry
    return None


def _sections_of(document: StoredDocument, span: Span) -> str:
    """Return the names of the first section that a span touches and of the last one that starts inside it."""
    entries = document.structure.sections
    ahead = bisect_right(entries, span.start, key=lambda each: each.span.start)
    inside = entries[ahead : bisect_left(entries, span.end, key=lambda each: each.span.start)]
    ends = [section_at(entries, span.start), *inside]
    named = [label_of(each) for each in ends if each is not None]
    return " to ".join(dict.fromkeys((named[0], named[-1]))) if named else ""


def _overlapping(chunks: Sequence[Chunk], span: Span) -> list[Chunk]:
    """List the chunks that overlap a span; if none does, the last one before it."""
    overlapping = [chunk for chunk in chunks if chunk.span.overlaps(span)]
    return overlapping or [chunk for chunk in chunks if chunk.span.start <= span.start][-1:]
