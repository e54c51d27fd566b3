"""The clauses of an edition: a tree of headings, each with its own text."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from knowledge_mcp.engine.core.designations import Designation, designations
from knowledge_mcp.engine.core.headings import heading_end
from knowledge_mcp.language.force import Convention, detect_convention
from knowledge_mcp.language.identifiers import heading_identifier
from knowledge_mcp.language.printed import RAISED, begins_note, note_marks
from knowledge_mcp.model.chunk import Chunk, Definition
from knowledge_mcp.model.collection import OutlineEntry
from knowledge_mcp.model.document import Reference, ReferenceKind, RequirementItem, Span
from knowledge_mcp.support.checkpoints import check_each

_WITHDRAWN = re.compile(
    r"\W{0,9}(?:th(?:is|e)\s\w{1,20}\s(?:is|was|has\sbeen)\s)?(?:(?:intentionally\s)?(?:(?:left\s)?(?:blank|empty)|not\sused"
    r"|reserved(?:\sfor\sfuture\suse)?|withdrawn|deleted|removed|superseded|obsoleted?|cancelled|void"
    r"|weggefallen|entf(?:ällt|allen)|gestrichen|aufgehoben|supprimé|abrogé)"
    r"(?=[^\w\s]|\s(?:[^\w\s]|(?:and|as|by|from|in|into|on|see|since|with|now)\s)|\Z)"
    r"|(?:now\s)?(?:moved|transferred|incorporated|merged)\s(?:to|in|into|with)\s)"
    r".{0,300}\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What replaces a withdrawn clause, and where it went."""
_CONTINUED = re.compile(r"\n\s*\n|\b(?:shall|must|should|may|muss|soll|darf)\b", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"[\[(][^\[\]()]{3,300}[\])]\Z")
_INTO = re.compile(
    r"(?:(?P<moved>moved|transferred|relocated|renumbered)\s+(?:to|as)|(?:incorporated|merged|integrated|included|absorbed)"
    r"\s+(?:in|into|by)|covered\s+(?:in|by)|addressed\s+(?:in|by)|replaced\s+by|superseded\s+by|see(?:\s+also)?)\b(?P<to>[^\n]*)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?<![A-Za-z\d.-])(?:[A-Z]{1,6}-\d{1,4}(?:\s?\(\d{1,3}\)){0,3}[a-z]?|(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3}){1,8}"
    r"|(?:(?<=clause )|(?<=section ))\d{1,3})"
)


_PARAGRAPHS = "\n\n"
_LONGEST_MARK = 50
"""Characters of a paragraph that may contain the footnote mark at its start."""
_NAMED_EDITION = re.compile(
    r"(?<![\w-])(?P<name>(?=[\w-]{0,30}[A-Z])[A-Za-z][\w-]{1,30})\)?,?\s+(?:[Vv]ersion\s+|v)?\d+\.\d+(?![\w])"
)
"""The last word of a title before the number of an edition: "Guide to Pumps (GTP) 2.1"."""


@dataclass(frozen=True, slots=True)
class EditionPart:
    """One document of an edition.

    Attributes:
        file: its name within the edition: a path relative to the folder, or the document's id.
        text: its canonical text.
        sections: its outline.
        chunks: its passages, which provide the definitions and references.
        title: the document's title.
        items: the requirements that it declares, each with its location.
        properties: names and values that its file states about it.
    """

    file: str
    text: str
    sections: Sequence[OutlineEntry]
    chunks: Sequence[Chunk]
    title: str = ""
    items: Sequence[RequirementItem] = ()
    properties: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class Clause:
    """One clause: its heading, and its own text without that of the clauses below it.

    Attributes:
        index: position in `Edition.clauses`.
        file: name of its document within the edition.
        number: clause number, or the identifier at the start of its heading; empty if there is none.
        heading: its title without either; for text before the first heading, the document's title, or empty.
        level: depth from 1; 0 before the first heading.
        parent: index of its parent clause, None at the top of a document.
        text: its own text.
        span: the location of this text in the document's text.
        line: line of the heading in the source file from 1, None if unknown.
        page: physical page of the heading from 1, None if there are no pages.
        path: headings of its ancestors and its own, without numbers.
        definitions: entries in its own text.
        references: targets of the references in its own text, in order.
        went_to: where its content went, if it is only a note that it was withdrawn; otherwise None.
        has_moved: the note says that it was moved unchanged, not merged into something else.
        informative: its heading or one above it says that it is informative.
        properties: what its file states about the document, if it is the first clause of one.
    """

    index: int
    file: str
    number: str
    heading: str
    level: int
    parent: int | None
    text: str
    span: Span
    line: int | None
    page: int | None
    path: tuple[str, ...]
    definitions: list[Definition] = field(default_factory=list[Definition])
    references: list[Reference] = field(default_factory=list[Reference])
    went_to: tuple[str, ...] | None = None
    has_moved: bool = False
    informative: bool = False
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The name for readers: number and heading, or else its file."""
        return f"{self.number} {self.heading}".strip() or self.file

    @property
    def title(self) -> str:
        """Its heading without a note that it was withdrawn; empty if it contains nothing else."""
        if not self.is_only_a_note:
            return self.heading
        aside = _IN_BRACKETS.search(self.heading)
        words = self.heading[: aside.start()] if aside and _WITHDRAWN.match(aside.group()) else self.heading
        return "" if _WITHDRAWN.match(words) else words.strip()

    @property
    def is_only_a_note(self) -> bool:
        """Whether only the note that it was withdrawn is left."""
        return self.went_to is not None


@dataclass(frozen=True, slots=True)
class Edition:
    """The clauses of an edition in reading order.

    Attributes:
        name: its name.
        clauses: of all its documents, parents before children.
        convention: how its words carry force.
        files: its documents' names in order.
        own_names: names in its documents' titles before the number of the edition.
        own_designations: designations in its documents' titles, without the edition.
    """

    name: str
    clauses: tuple[Clause, ...]
    convention: Convention
    files: tuple[str, ...]
    own_names: frozenset[str] = frozenset()
    own_designations: frozenset[Designation] = frozenset()


def edition_of(name: str, parts: Iterable[EditionPart]) -> Edition:
    """Build the clauses of all documents of an edition, without those that have neither heading nor text."""
    clauses: list[Clause] = []
    texts: list[str] = []
    files: list[str] = []
    own_names: set[str] = set()
    own_designations: set[Designation] = set()
    for part in parts:
        texts.append(part.text)
        files.append(part.file)
        titles = (part.title, *(entry.title for entry in part.sections[:1]))
        own_names.update(found["name"] for title in titles for found in _NAMED_EDITION.finditer(title))
        own_designations.update(replace(each, edition="") for title in titles for each in designations(title))
        clauses.extend(_clauses(part, len(clauses)))
    own = (frozenset(own_names), frozenset(own_designations))
    return Edition(name, tuple(clauses), detect_convention("\n".join(texts)), tuple(files), *own)


def _clauses(part: EditionPart, first: int) -> list[Clause]:
    found: list[Clause] = []
    open_ones: list[Clause] = []
    sections = _with_items(part)
    starts = [entry.span.start for entry in sections] + [len(part.text)]
    counted = _counted_by_hundreds(sections)
    before = Span(0, starts[0])
    if part.properties or before.of(part.text).strip():
        has_lines = any(each.line for each in sections) or any(each.lines for each in part.chunks)
        line = 1 if has_lines else None
        title, text = _titled(before.of(part.text).strip(), part.title)
        found.append(Clause(first, part.file, "", title, 0, None, text, before, line, None, ()))
    for position, entry in enumerate(check_each(sections)):
        begin = heading_end(part.text, entry)
        span = Span(begin, max(begin, min(starts[position + 1], entry.span.end)))
        while open_ones and open_ones[-1].level >= entry.level:
            open_ones.pop()
        number, heading = counted.get(position) or _named(entry)
        clause = Clause(
            index=first + len(found),
            file=part.file,
            number=number,
            heading=heading,
            level=entry.level,
            parent=open_ones[-1].index if open_ones else None,
            text=span.of(part.text).strip(),
            span=span,
            line=entry.line,
            page=entry.page,
            path=(*(open_ones[-1].path if open_ones else ()), heading),
            informative=entry.informative,
        )
        _take_note(clause)
        open_ones.append(clause)
        found.append(clause)
    _share_out(part, found, [0] * (len(found) > len(sections)) + starts[:-1])
    _bring_notes(found)
    if found:
        found[0].properties = tuple(part.properties)
    return found


def _with_items(part: EditionPart) -> list[OutlineEntry]:
    """Return the outline with an entry for each declared item without a heading, one level below its section.

    Pages with sphinx-needs have such items. The text after one, up to the next, counts as part of it.
    """
    starts = [each.span.start for each in part.sections]
    begun, found = set(starts), list(part.sections)
    for item in part.items:
        start = item.span.start
        if len(item.span) and start not in begun:
            before = (part.sections[at] for at in reversed(range(bisect_right(starts, start))))
            around = next((each for each in before if start < each.span.end), None)
            level, end = (1, len(part.text)) if around is None else (around.level + 1, around.span.end)
            found.append(OutlineEntry(level, item.id, item.title, Span(start, end), line=item.line or None))
    return sorted(found, key=lambda each: each.span.start)


def _bring_notes(clauses: Sequence[Clause]) -> None:
    """Move footnotes that are in other clauses, as at the end of a page, into the clause that cites them."""
    citing: defaultdict[str, list[int]] = defaultdict(list)
    notes: list[tuple[int, str, str]] = []
    for place, clause in enumerate(clauses):
        for paragraph in clause.text.split(_PARAGRAPHS):
            mark = begins_note(paragraph[:_LONGEST_MARK])
            if mark:
                notes.append((place, mark, paragraph))
            else:
                for each in note_marks(paragraph):
                    citing[each].append(place)
    for place, mark, paragraph in notes:
        homes = citing[mark]
        if homes and place not in homes:
            home = homes[max(bisect_right(homes, place) - 1, 0)]
            left = clauses[place].text.split(_PARAGRAPHS)
            left.remove(paragraph)
            clauses[place].text = _PARAGRAPHS.join(left).strip()
            clauses[home].text = f"{clauses[home].text}{_PARAGRAPHS}{paragraph}"
        elif not homes:
            clauses[place].text = _with_clear_mark(clauses[place].text, mark)


def _with_clear_mark(text: str, mark: str) -> str:
    """Put a footnote mark in brackets if its only possible occurrence looks like a power: "mm/s²"."""
    pattern = re.compile(rf"(?<=\w)(?<![{RAISED}]){re.escape(mark)}(?![{RAISED}])")
    number = unicodedata.normalize("NFKC", mark)
    return pattern.sub(f"[^{number}]", text) if number.isdigit() and len(pattern.findall(text)) == 1 else text


def _titled(text: str, title: str) -> tuple[str, str]:
    """Split the document's title from the text before the first heading, if that text starts with it; otherwise ""."""
    first, _, rest = text.partition("\n")
    return (title, rest.strip()) if title and " ".join(first.split()) == title else ("", text)


def _named(entry: OutlineEntry) -> tuple[str, str]:
    """Split a heading's number or identifier from its words."""
    if entry.number:
        return entry.number, entry.title
    identifier = heading_identifier(entry.title)
    if identifier is None:
        return "", entry.title
    rest = entry.title.partition(identifier)[2].strip(" :.—–-")
    return (identifier, rest) if entry.title.lstrip("[( ").startswith(identifier) else ("", entry.title)


_BY_HUNDREDS = re.compile(r"(?P<number>\d{4})\.?\s+(?P<title>\D.*)")


def _counted_by_hundreds(entries: Sequence[OutlineEntry]) -> dict[int, tuple[str, str]]:
    """Split four-digit numbers from headings, as in building codes: they count up from 1001, 1101 …

    A year counts up too, but not from such a number.
    """
    found: dict[int, tuple[str, str]] = {}
    first: tuple[int, tuple[str, str]] | None = None
    last = 0
    for place, entry in enumerate(entries):
        match = None if entry.number else _BY_HUNDREDS.fullmatch(entry.title)
        if match is None:
            continue
        named = (match["number"], match["title"])
        number = int(match["number"])
        if number == last + 1:
            found |= {first[0]: first[1], place: named} if first else {place: named}
            first, last = None, number
        elif number % 100 == 1:
            first, last = (place, named), number
    return found


def _take_note(clause: Clause) -> None:
    """Read "[Withdrawn: Incorporated into AC-2.]" and similar, if a clause or its heading contains nothing else."""
    aside = _IN_BRACKETS.search(clause.heading)
    note_text = clause.text or (aside.group() if aside else clause.heading if clause.number else "")
    if _WITHDRAWN.match(note_text) is None or _CONTINUED.search(note_text):
        return
    into = _INTO.search(note_text)
    clause.went_to = tuple(place.replace(" ", "") for place in _PLACE.findall(into["to"])) if into else ()
    clause.has_moved = into is not None and into["moved"] is not None


def _share_out(part: EditionPart, clauses: Sequence[Clause], starts: Sequence[int]) -> None:
    """Assign definitions and references to clauses by the start of their headings, each once.

    The links that an item declares are references.
    """
    seen: set[tuple[int, int, str]] = set()
    for item in part.items:
        at = bisect_right(starts, item.span.start) - 1
        if len(item.span) and at >= 0:
            targets = dict.fromkeys(link.target for link in item.links)
            clauses[at].references += [Reference(each, ReferenceKind.CLAUSE, each, item.span) for each in targets]
    for chunk in check_each(part.chunks):
        for definition in chunk.definitions:
            key = (definition.span.start, definition.span.end, definition.term)
            at = bisect_right(starts, definition.span.start) - 1
            if key not in seen and at >= 0:
                seen.add(key)
                clauses[at].definitions.append(definition)
        for reference in chunk.links:
            key = (reference.span.start, reference.span.end, reference.target)
            at = bisect_right(starts, reference.span.start) - 1
            if key not in seen and at >= 0 and reference.kind is not ReferenceKind.LINK:
                seen.add(key)
                clauses[at].references.append(reference)
