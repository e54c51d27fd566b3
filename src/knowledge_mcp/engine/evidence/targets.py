"""Resolves cross-references: to a section, table or figure of the same document, or to another document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin

from knowledge_mcp.engine.core.designations import Designation, DesignationMatch, Directory, designation_of
from knowledge_mcp.engine.core.documents import StoredDocument
from knowledge_mcp.engine.evidence.captions import caption_of
from knowledge_mcp.engine.evidence.outline import find_sections, section_at
from knowledge_mcp.model.collection import DocumentRecord, OutlineEntry
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.wording import list_first

_PAGE = re.compile(r"page=(\d{1,6})(?:&.*)?", re.IGNORECASE)
_DIRECTIVE = re.compile(r":~:.*", re.DOTALL)
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d_]{1,20}?)s?\s{1,3}\S{0,8}\d")
"""The word before a clause number, in the singular: "article" if a section has the same number."""
_PLACE_OF = re.compile(r"(?P<owner>.+?) (?P<place>(?:Annex |Table |Figure )?[A-Z\d][\w.-]{0,20})")
_LEAST = 3
"""Minimum letters and digits that identify a heading by themselves."""


def find_anchor(document: StoredDocument, anchor: str) -> tuple[Span, OutlineEntry | None] | None:
    """Find what an anchor names, and its section; None if nothing has this name.

    Checked in order: names that the source itself gives to places; a page ("page=12"); headings, by their GitHub slug
    ("5-scope", "notes-1" for the second of its name), or by their letters and digits alone if this is unique. An anchor
    at a heading returns the whole section, otherwise the passage up to the next empty line.
    """
    name = " ".join(_DIRECTIVE.sub("", unquote(anchor)).split())
    if not name:
        return None
    anchors = {each.name: each.place for each in document.structure.anchors}
    place = anchors.get(name)
    if place is None:
        folded = name.casefold()
        place = next((each.place for each in document.structure.anchors if each.name.casefold() == folded), None)
    if place is not None:
        return _at(document, place)
    if match := _PAGE.fullmatch(name):
        number = int(match.group(1))
        page = next((each for each in document.structure.pages if each.number == number), None)
        return None if page is None else (page.span, section_at(document.structure.sections, page.span.start))
    section = _section_of_anchor(document.structure.sections, name)
    return None if section is None else (section.span, section)


def _at(document: StoredDocument, place: int) -> tuple[Span, OutlineEntry | None]:
    section = section_at(document.structure.sections, place)
    if section is not None and section.span.start == place:
        return section.span, section
    end = section.span.end if section is not None else len(document.text)
    below = (entry.span.start for entry in document.structure.sections if place < entry.span.start < end)
    end = min(below, default=end)
    stop = document.text.find("\n\n", place, end)
    return Span(place, end if stop < 0 else stop), section


def _section_of_anchor(sections: Sequence[OutlineEntry], name: str) -> OutlineEntry | None:
    seen: dict[str, int] = {}
    folded = name.casefold()
    for entry in sections:
        slug = _slug(entry)
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        if folded == (f"{slug}-{count}" if count else slug):
            return entry
    letters = _letters(name)
    if len(letters) < _LEAST:
        return None
    readings: tuple[Callable[[OutlineEntry], str], ...] = (_label, lambda entry: entry.title)
    for reading in readings:
        found = [entry for entry in sections if _letters(reading(entry)) == letters]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _label(entry: OutlineEntry) -> str:
    return f"{entry.number} {entry.title}" if entry.number else entry.title


def _slug(entry: OutlineEntry) -> str:
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", _label(entry).casefold()).strip())


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_PAGES = frozenset({"", "htm", "html"})
_MOST_LISTED = 3


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference points to.

    Attributes:
        document_id: the document, None if it is not in the knowledge base.
        span: the section, or the caption, in its text; its whole text if no place in it is named; None if there is no
            such place.
        section: the section, None for anything else.
        reason: why there is no span, otherwise empty.
    """

    document_id: str | None = None
    span: Span | None = None
    section: OutlineEntry | None = None
    reason: str = ""


class Targets:
    """Resolves references; loads each document, and searches each target, once.

    Args:
        records: all documents of the knowledge base.
        load: returns a whole document.

    Attributes:
        records: as given.
    """

    def __init__(self, records: Sequence[DocumentRecord], load: Callable[[str], StoredDocument]) -> None:
        self.records = records
        self._load = load
        self._directory: Directory | None = None
        self._loaded: dict[str, StoredDocument] = {}
        self._known: dict[tuple[str, ReferenceKind, str], Target] = {}
        self._documents: dict[str, tuple[DocumentRecord | None, str, str]] = {}
        self._numbers: dict[str, dict[str, list[OutlineEntry]]] = {}
        self._by_id = {record.id: record for record in check_each(records)}
        self._by_letters: dict[str, list[DocumentRecord]] = {}
        self._by_path: dict[str, list[DocumentRecord]] = {}
        self._by_stem: dict[str, list[DocumentRecord]] = {}
        for record in check_each(records):
            path = record.source_path.replace("\\", "/").rstrip("/")
            self._by_path.setdefault(path, []).append(record)
            self._by_stem.setdefault(_split_extension(path)[0], []).append(record)

    def document(self, document_id: str) -> StoredDocument:
        """Return a whole document; NotFoundError if it was just removed."""
        if document_id not in self._loaded:
            self._loaded[document_id] = self._load(document_id)
        return self._loaded[document_id]

    def record(self, document_id: str) -> DocumentRecord | None:
        """Return a document's record, None if there is none."""
        return self._by_id.get(document_id)

    def of(self, source: StoredDocument, reference: Reference) -> Target:
        """Return the target of a reference in a document."""
        word = _WORD_BEFORE.search(reference.text) if reference.kind is ReferenceKind.CLAUSE else None
        key = (source.record.id, reference.kind, f"{word[1]} {reference.target}" if word else reference.target)
        if key not in self._known:
            self._known[key] = self._look(source, reference, word[1] if word else "")
        return self._known[key]

    def document_named(self, target: str) -> tuple[DocumentRecord | None, str, str]:
        """Find the document that a target names: its record and the clause, or None and the reason."""
        if target not in self._documents:
            self._documents[target] = self._resolve(target)
        return self._documents[target]

    def _look(self, source: StoredDocument, reference: Reference, word: str) -> Target:
        match reference.kind:
            case ReferenceKind.CLAUSE | ReferenceKind.ANNEX:
                return self._section(source, reference.target, word)
            case ReferenceKind.TABLE | ReferenceKind.FIGURE:
                return _find_caption(source, reference.target)
            case ReferenceKind.LINK:
                return self._follow_link(source, reference.target)
            case ReferenceKind.DOCUMENT:
                return self._elsewhere(reference.target)

    def _section(self, document: StoredDocument, name: str, word: str = "") -> Target:
        name_of_it = document.record.id
        if name_of_it not in self._numbers:
            numbers = self._numbers[name_of_it] = {}
            for entry in document.structure.sections:
                if entry.number:
                    numbers.setdefault(entry.number, []).append(entry)
        found = self._numbers[name_of_it].get(name.removeprefix("Annex "), [])
        if len(found) != 1:
            found = find_sections(document, f"{word} {name}" if word and found else name)
        if not found and name.startswith("Annex ") and (block := _find_caption(document, name)).span is not None:
            return block  # its heading was read as a plain line
        if not found:
            return Target(name_of_it, reason=f"'{name_of_it}' has no clause '{name}'.")
        if len(found) > 1:
            return Target(name_of_it, reason=f"'{name}' occurs {len(found)} times in '{name_of_it}'.")
        return Target(name_of_it, found[0].span, found[0])

    # ---- other documents

    def _elsewhere(self, target: str) -> Target:
        record, clause, reason = self.document_named(target)
        return Target(reason=reason) if record is None else self._inside(record, clause)

    def _inside(self, record: DocumentRecord, clause: str) -> Target:
        try:
            document = self.document(record.id)
        except NotFoundError:
            return Target(reason=f"'{record.id}' has just been removed from the knowledge base.")
        if not clause:
            return Target(record.id, Span(0, len(document.text)))
        is_captioned = clause.startswith(("Table ", "Figure "))
        return _find_caption(document, clause) if is_captioned else self._section(document, clause)

    def _resolve(self, target: str) -> tuple[DocumentRecord | None, str, str]:
        read = designation_of(target)
        titled = self._find_by_title(target)
        if titled is not None:
            return titled
        if read is None:
            return None, "", f"'{target}' could not be read as a document's designation."
        designation, clause = read
        if self._directory is None:
            self._directory = Directory(self.records)
        alike, clause = self._directory.named(designation, clause)
        right = [found for found in alike if not found.is_part and not found.is_other_edition]
        if not right:
            return None, clause, _why_not(designation, alike)
        latest = max(_order(found.edition) for found in right)
        best = [found for found in right if _order(found.edition) == latest]
        best = [found for found in best if found.is_whole] or best
        if len(best) > 1 and not best[0].is_whole:
            return None, clause, f"This can refer to several documents: {_ids(best)}."
        return best[0].record, clause, ""

    def _find_by_title(self, target: str) -> tuple[DocumentRecord, str, str] | None:
        """Find the only document with the title or id by which a place is cited: "QUIC-TLS 6"."""
        parted = _PLACE_OF.fullmatch(target)
        letters = _letters((parted["owner"] if parted else target).removeprefix("the "))
        if len(letters) < _LEAST:
            return None
        if not self._by_letters:
            for record in check_each(self.records):
                for name in {_letters(record.title), _letters(record.id)}:
                    self._by_letters.setdefault(name, []).append(record)
        found = self._by_letters.get(letters, [])
        return (found[0], parted["place"] if parted else "", "") if len(found) == 1 else None

    def _follow_link(self, source: StoredDocument, target: str) -> Target:
        place, _, anchor = target.partition("#")
        if not place:
            found = find_anchor(source, anchor)
            if found is not None:
                return Target(source.record.id, *found)
            return Target(source.record.id, reason=f"'{source.record.id}' has no location for the anchor '{target}'.")
        record = self.document_at(source.record, place)
        if record is None:
            kind = "address" if ":" in place else "file"
            return Target(reason=f"The {kind} '{place[:200]}' is not in the knowledge base.")
        if not anchor:
            return self._inside(record, "")
        try:
            return self._follow_link(self.document(record.id), f"#{anchor}")
        except NotFoundError:
            return Target(reason=f"'{record.id}' has just been removed from the knowledge base.")

    def document_at(self, source: DocumentRecord, place: str) -> DocumentRecord | None:
        """Find the document that was read from an address, or from a file next to the one that links to it.

        A link to a page generated from a file ("guide.html", "guide/", "guide") resolves to the file ("guide.md") if
        there is no such page and only one such file.
        """
        place = unquote(place.partition("#")[0])
        if not place:
            return source
        if _ADDRESS.match(place):
            return next(iter(self._by_path.get(place.rstrip("/"), [])), None)
        base = source.source_path.replace("\\", "/")
        if _ADDRESS.match(base):
            return next(iter(self._by_path.get(_join_url(base, place).rstrip("/"), [])), None)
        path = _normal(PurePosixPath(base).parent / place)
        if path in self._by_path:
            return self._by_path[path][0]
        stem, extension = _split_extension(path)
        made = self._by_stem.get(stem, []) if extension.lower() in _PAGES else []
        return made[0] if len(made) == 1 else None


def _split_extension(path: str) -> tuple[str, str]:
    """Split a path from its extension, which has no dot and may be empty."""
    folder, slash, name = path.rpartition("/")
    stem, _, extension = name.rpartition(".")
    return (f"{folder}{slash}{stem}", extension) if stem else (path, "")


def _join_url(base: str, place: str) -> str:
    try:
        return urljoin(base, place)
    except ValueError:
        return place


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return str(PurePosixPath(*parts))


def _order(edition: str) -> tuple[tuple[int, ...], str]:
    parts = edition.split(".")
    return (tuple(map(int, parts)), "") if all(map(str.isdigit, parts)) else ((0,), edition)


def _why_not(designation: Designation, alike: Sequence[DesignationMatch]) -> str:
    others = [found for found in alike if found.is_other_edition and not found.is_part]
    if others:
        return f"The edition {designation.edition.upper()} is not in the knowledge base, which contains {_ids(others)}."
    if alike:
        return f"The document is not in the knowledge base, but others of its series are: {_ids(alike)}."
    return "The document is not in the knowledge base."


def _ids(found: Sequence[DesignationMatch]) -> str:
    return list_first([f"'{each.record.id}'" for each in found], _MOST_LISTED)


def _find_caption(document: StoredDocument, label: str) -> Target:
    found = caption_of(document.text, label)
    if found is None:
        return Target(document.record.id, reason=f"No caption of '{label}' was found in '{document.record.id}'.")
    return Target(document.record.id, found)
