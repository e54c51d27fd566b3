"""Chunks, records and spaces as compact JSON text, and back. Equal values always give the same text.

A chunk's text ends with a check sum of everything before it. A record's text begins with a check sum of everything
after it, and with those of its document's canonical text and structure. These are stored under a key that occurs again
later; since the last value of a repeated key wins, older programs can read the record too. Data written before check
sums existed is read without them; only a chunk's content is checked, against its hash.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    DocumentParts,
    DocumentRecord,
    DocumentStatus,
    DocumentStructure,
    EmbeddingSpace,
    OutlineEntry,
    PageCoverage,
)
from knowledge_mcp.model.document import Anchor, Box, DeclaredLink, Reference, ReferenceKind, RequirementItem, Span
from knowledge_mcp.model.errors import DamagedError, leave_out
from knowledge_mcp.model.lines import LineRun

V = TypeVar("V")
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""Exceptions that reading damaged data may raise."""

_SUM = b',"sum":"'
_DIGITS = 16
_SEAL = len(_SUM) + _DIGITS + 2
_RECORD_SUMS = re.compile(rb'\{"id":"sums ([0-9a-f]{16}) ([0-9a-f]{16}) ([0-9a-f]{16})",')
_SUM_OF = {"canonical text": 2, "structure": 3}

_SIMPLE = tuple(
    field.name
    for field in fields(Chunk)
    if field.name not in {"span", "chunk_type", "lines", "links", "statements", "definitions", "boxes"}
)
_REMEMBERED = 1024
"""Size of the caches of parsed texts: one search reads the same chunks up to three times, and the next one often reads
some of them again.
"""

_OF_A_CHUNK = frozenset(field.name for field in fields(Chunk))
_OF_A_RECORD = tuple(field.name for field in fields(DocumentRecord))
_NO_VALUE: dict[str, Any] = {"section_hierarchy": (), "clause_number": None, "parent_chunk_id": None}
"""Required fields of a chunk that are omitted from the JSON when they have these values."""

_TUPLES = frozenset({"section_hierarchy", "page_numbers", "page_labels", "references", "lines"})
_CHUNK_TYPES = {each.value: each for each in ChunkType}


def chunk_to_json(chunk: Chunk) -> str:
    """Serialise a chunk."""
    data: dict[str, Any] = {name: getattr(chunk, name) for name in _SIMPLE}
    data["span"] = _span(chunk.span)
    data["chunk_type"] = chunk.chunk_type.value
    if chunk.lines is not None:
        data["lines"] = chunk.lines
    for name, form in _PARTS.items():
        if parts := getattr(chunk, name):
            data[name] = [form.write(each) for each in parts]
    return sealed(_dump({name: value for name, value in data.items() if value not in ((), None)}))


@functools.lru_cache(_REMEMBERED)
def chunk_from_json(text: str | bytes) -> Chunk:
    """Parse a chunk. Equal texts return the same immutable object.

    Raises:
        DamagedError: the text is not what was written, or the content does not match its hash.
    """
    try:
        data, is_checked = _opened(text)
        chunk = _chunk_of(data)
    except UNREADABLE as exc:
        raise _damaged_chunk(text, exc) from exc
    return chunk if is_checked else checked_chunk(chunk)


def checked_chunk(chunk: Chunk) -> Chunk:
    """Return the chunk if its content matches its hash.

    Raises:
        DamagedError: it does not match.
    """
    if hashlib.sha256(_bytes(chunk.content)).hexdigest() != chunk.content_hash:
        raise DamagedError.of("passage", chunk.document_id, chunk.id, why="Its content does not match its hash.")
    return chunk


def _chunk_of(values: dict[str, Any]) -> Chunk:
    data = _NO_VALUE | values
    for name in data.keys() - _OF_A_CHUNK:  # later versions may write more fields
        del data[name]
    data["span"] = Span(*data["span"])
    data["chunk_type"] = _CHUNK_TYPES[data["chunk_type"]]
    for name in data.keys() & _TUPLES:
        data[name] = tuple(data[name])
    for name in data.keys() & _PARTS.keys():
        data[name] = tuple(map(_PARTS[name].read, data[name]))
    return Chunk(**data)


def record_to_json(record: DocumentRecord, text: str, structure: str) -> str:
    """Serialise a document's record, with the check sums of its canonical text and of its structure (as JSON)."""
    body = _dump({name: getattr(record, name) for name in _OF_A_RECORD})
    kept = f"{check_sum(text)} {check_sum(structure)}"
    return f'{{"id":"sums {check_sum(kept + body)} {kept}",{body[1:]}'


@functools.lru_cache(_REMEMBERED)
def record_from_json(text: str | bytes, document_id: str = "") -> DocumentRecord:
    """Parse a document's record. Equal texts return the same immutable object.

    Args:
        text: the record as it was written.
        document_id: the id under which it is stored, if known.

    Raises:
        DamagedError: it is not what was written, or it is stored under another id.
    """
    try:
        data: dict[str, Any] = json.loads(_record_body(text))
        for name in data.keys() - set(_OF_A_RECORD):  # later versions may write more fields
            del data[name]
        data["status"] = DocumentStatus(data["status"])
        data["metadata"] = tuple((name, value) for name, value in data["metadata"])
        data["warnings"] = tuple(data["warnings"])
        record = DocumentRecord(**data)
    except UNREADABLE as exc:
        raise DamagedError.of(
            "record", document_id or _field_of(text, "id"), why=f"{type(exc).__name__}: {exc}"
        ) from exc
    if document_id and record.id != document_id:
        raise DamagedError.of("record", document_id, why=f"It belongs to '{record.id}'.")
    return record


def parts_from(
    record: str | bytes, document_id: str, text: str | bytes | None, structure: str | bytes | None
) -> DocumentParts:
    """Wrap a document's stored parts; they are checked and decoded on first use.

    Args:
        record: the record as JSON.
        document_id: id of the document.
        text: the canonical text, or None if it is missing.
        structure: the structure as JSON, or None if it is missing.
    """

    @functools.cache
    def decoded() -> DocumentStructure | None:
        checked = checked_part(record, document_id, "structure", structure)
        return None if checked is None else structure_from_json(checked)

    @functools.cache
    def checked_text() -> str | None:
        return checked_part(record, document_id, "canonical text", text)

    return DocumentParts(checked_text, decoded)


def checked_part(record: str | bytes, document_id: str, part: str, text: str | bytes | None) -> str | None:
    """Return a canonical text, or a structure as JSON, if it matches the check sum in its document's record.

    Args:
        record: the record as JSON.
        document_id: id of the document.
        part: "canonical text" or "structure".
        text: the part as it was read, or None if it is missing.

    Returns:
        The part, or None if it is damaged and the caller collects damage (`leave_out`).

    Raises:
        DamagedError: the part does not match or is missing, or the record itself is damaged.
    """
    try:
        known = record_from_json(record, document_id)
        sums = _RECORD_SUMS.match(_bytes(record))
        expected = sums[_SUM_OF[part]].decode() if sums else None
        if text is None:
            raise DamagedError.of(part, document_id, why="It is missing.")
        if expected is not None and check_sum(text) != expected:
            raise DamagedError.of(part, document_id, why="It differs from what was stored.")
        try:
            read = text.decode() if isinstance(text, bytes) else text
        except UnicodeDecodeError as exc:
            raise DamagedError.of(part, document_id, why=str(exc)) from exc
        if expected is None and part == "canonical text" and known.chunk_count and not read.strip():
            raise DamagedError.of(part, document_id, why="It is empty.")
        return read
    except DamagedError as exc:
        leave_out(exc)
        return None


def has_check_sums(text: str | bytes) -> bool:
    """Return whether a chunk or record was written with a check sum."""
    data = _bytes(text)
    return data[-_SEAL:].startswith(_SUM) or _RECORD_SUMS.match(data) is not None


def check_sum(text: str | bytes) -> str:
    """Return the check sum of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(_bytes(text)).hexdigest()[:_DIGITS]


def sealed(text: str) -> str:
    """Append the check sum to a JSON object."""
    return f'{text[:-1]}{_SUM.decode()}{check_sum(text)}"}}'


def unsealed(text: str | bytes) -> str:
    """Remove the check sum from a JSON object, if it has one, after verifying it.

    Raises:
        ValueError: the check sum does not match.
    """
    data = _bytes(text)
    if not data[-_SEAL:].startswith(_SUM):
        return data.decode("utf-8", "surrogatepass")
    body = data[:-_SEAL] + b"}"
    if check_sum(body).encode() != data[-_DIGITS - 2 : -2]:
        raise ValueError("its checksum differs")
    return body.decode("utf-8", "surrogatepass")


def _record_body(text: str | bytes) -> str:
    """Return a record as JSON without its check sums, after verifying them.

    Raises:
        ValueError: the check sum does not match.
    """
    data = _bytes(text)
    sums = _RECORD_SUMS.match(data)
    if sums is None:
        return data.decode("utf-8", "surrogatepass")
    body = b"{" + data[sums.end() :]
    if check_sum(b"%b %b%b" % (sums[2], sums[3], body)).encode() != sums[1]:
        raise ValueError("its checksum differs")
    return body.decode("utf-8", "surrogatepass")


def _opened(text: str | bytes) -> tuple[dict[str, Any], bool]:
    """Parse a JSON object. Also return whether it had a check sum, which then was correct."""
    return json.loads(unsealed(text)), has_check_sums(text)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _damaged_chunk(text: str | bytes, error: Exception) -> DamagedError:
    return DamagedError.of(
        "passage", _field_of(text, "document_id"), _field_of(text, "id"), why=f"{type(error).__name__}: {error}"
    )


def _field_of(text: str | bytes, name: str) -> str:
    """Return a field of a damaged JSON object, or an empty string if it cannot be read."""
    found = re.search(rf'"{name}": ?"([^"\\]{{1,300}})"'.encode(), _bytes(text)) if text else None
    return found[1].decode("utf-8", "replace") if found else ""


def structure_to_json(structure: DocumentStructure) -> str:
    """Serialise a document's structure; an empty structure gives an empty text."""
    if structure == NO_STRUCTURE:
        return ""
    lists = {name: [form.write(each) for each in getattr(structure, name)] for name, form in _LISTS.items()}
    return _dump({**lists, "hidden": structure.hidden, "original": structure.original})


def structure_from_json(text: str) -> DocumentStructure:
    """Parse a document's structure.

    Raises:
        DamagedError: it cannot be parsed.
    """
    if not text:
        return NO_STRUCTURE
    try:
        return _structure_of(json.loads(text))
    except UNREADABLE as exc:
        raise DamagedError.of("structure", why=f"{type(exc).__name__}: {exc}") from exc


def _structure_of(data: dict[str, Any]) -> DocumentStructure:
    lists: dict[str, Any] = {name: tuple(map(form.read, data.get(name, ()))) for name, form in _LISTS.items()}
    hidden = tuple((str(reason), int(count)) for reason, count in data.get("hidden", ()))
    return DocumentStructure(**lists, hidden=hidden, original=str(data.get("original", "")))


def space_to_json(space: EmbeddingSpace) -> str:
    """Serialise an embedding space."""
    return _dump(asdict(space))


@functools.lru_cache(_REMEMBERED)
def space_from_json(text: str) -> EmbeddingSpace:
    """Parse an embedding space."""
    return EmbeddingSpace(**json.loads(text))


def _span(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _dump(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


class _ListForm(Generic[V]):
    """Serialises the values of one class as lists of their fields, in order; a `span` takes two numbers.

    Args:
        kind: the class.
        optional: default values of the last fields; if all of them have these values, they are omitted.
        write, read: conversions, by field name, for fields that JSON cannot represent directly.
    """

    def __init__(
        self,
        kind: Callable[..., V],
        optional: Sequence[object] = (),
        *,
        write: Mapping[str, Callable[[Any], object]] | None = None,
        read: Mapping[str, Callable[[Any], object]] | None = None,
    ) -> None:
        names = [each.name for each in fields(cast("Any", kind))]
        self._kind = kind
        self._values = attrgetter(*names)
        self._optional = list(optional)
        self._span = names.index("span") if "span" in names else None
        self._write = [(names.index(name), how) for name, how in (write or {}).items()]
        self._read = [(names.index(name), how) for name, how in (read or {}).items()]

    def write(self, value: V) -> list[Any]:
        listed: list[Any] = [*self._values(value)]
        for place, how in self._write:
            listed[place] = how(listed[place])
        if self._optional and listed[-len(self._optional) :] == self._optional:
            del listed[-len(self._optional) :]
        if self._span is not None:
            listed[self._span : self._span + 1] = _span(listed[self._span])
        return listed

    def read(self, listed: list[Any]) -> V:
        values = [*listed]
        if (place := self._span) is not None:
            values[place : place + 2] = [Span(*listed[place : place + 2])]
        for place, how in self._read:
            if place < len(values):
                values[place] = how(values[place])
        return self._kind(*values)


def _span_or_none(span: Span | None) -> tuple[int, int] | None:
    return None if span is None else _span(span)


_DECLARED = _ListForm(DeclaredLink)
_PARTS: Mapping[str, _ListForm[Any]] = {
    "links": _ListForm(Reference, read={"kind": ReferenceKind}),
    "statements": _ListForm(
        Statement,
        (False,),
        write={"lead_in": _span_or_none},
        read={"modality": Modality, "lead_in": lambda given: None if given is None else Span(*given)},
    ),
    "definitions": _ListForm(Definition, ((), ""), read={"aliases": tuple, "notes": tuple}),
    "boxes": _ListForm(Box),
}
"""How the parts of a chunk that are lists are serialised."""
_LISTS: Mapping[str, _ListForm[Any]] = {
    "sections": _ListForm(OutlineEntry, (None,)),
    "pages": _ListForm(
        PageCoverage,
        ((),),
        write={"runs": lambda runs: tuple(map(_span, runs))},
        read={"runs": lambda runs: tuple(Span(*run) for run in runs)},
    ),
    "anchors": _ListForm(Anchor),
    "lines": _ListForm(LineRun),
    "items": _ListForm(
        RequirementItem,
        write={"attributes": dict, "links": lambda links: list(map(_DECLARED.write, links))},
        read={"links": lambda links: tuple(map(_DECLARED.read, links))},
    ),
}
"""How the lists of a document's structure are serialised."""
