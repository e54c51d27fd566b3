"""What a reader and the analysis make of one file, without a store and without a model: `knowledge inspect`'s findings.

Readers are those of the settings, the passages those of the clause chunker. Tokens are counted as runs of at most five
letters or digits and single other signs (`LightMeasure`), so that no model has to be there; what is found in a text
does not depend on where it is cut.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from knowledge_mcp import registry
from knowledge_mcp.cli.passwords import ask_password, can_ask
from knowledge_mcp.engine.requirement_records import group_statements, words_of
from knowledge_mcp.engine.structure import structure_of
from knowledge_mcp.model.chunk import Chunk, Definition, Modality, Statement
from knowledge_mcp.model.document import BlockKind, Classification, Document, Reference, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.media_types import UNKNOWN, media_type_of
from knowledge_mcp.model.source import MOST_BYTES, SourceItem
from knowledge_mcp.model.structure import DocumentStructure
from knowledge_mcp.support.beneath import NotRegularError, identity_of, open_beneath, open_same

if TYPE_CHECKING:
    from knowledge_mcp.ports import Classifier, Reader
    from knowledge_mcp.readers.passwords import Passwords
    from knowledge_mcp.settings import Settings

__all__ = ["Inspected", "LightMeasure", "file_item", "inspect_file"]

_PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class LightMeasure:
    """Count tokens without a model: runs of at most five letters or digits, and single other signs."""

    max_tokens: int = 256

    def count_tokens(self, text: str) -> int:
        """Count them."""
        return len(self.token_spans(text))

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List where each begins and ends."""
        return [match.span() for match in re.finditer(r"\w{1,5}|[^\w\s]", text)]


class _Placed(Protocol):
    @property
    def span(self) -> Span: ...


_P = TypeVar("_P", bound=_Placed)


@dataclass(frozen=True, slots=True)
class Inspected:
    """Hold what was made of a file.

    Attributes:
        document: as read.
        kind: what type of document it is.
        structure: its sections, and what was got from each page.
        chunks: its passages.
        reader: name and version of what read it.
    """

    document: Document
    kind: Classification
    structure: DocumentStructure
    chunks: tuple[Chunk, ...]
    reader: str

    @property
    def lost(self) -> tuple[int, ...]:
        """List the physical pages, from 1, that have something on them and were not read."""
        return tuple(page.number for page in self.structure.pages if page.method == "none")

    @property
    def statements(self) -> list[Statement]:
        """List the statements in order, each once."""
        return _once(each for chunk in self.chunks for each in chunk.statements)

    @property
    def requirements(self) -> list[Sequence[Statement]]:
        """List the requirements, each with its sentences: those that oblige, and those that bear an identifier."""
        return [
            group
            for group in group_statements(self.statements)
            if group[0].identifier or any(each.modality is Modality.REQUIREMENT for each in group)
        ]

    @property
    def definitions(self) -> list[Definition]:
        """List the definitions in order, each once."""
        return _once(each for chunk in self.chunks for each in chunk.definitions)

    @property
    def references(self) -> list[Reference]:
        """List the cross-references in order, each once."""
        return _once(each for chunk in self.chunks for each in chunk.links)

    def blocks_of(self, kind: BlockKind) -> list[Span]:
        """List where blocks of a kind stand."""
        return [block.span for block in self.document.blocks if block.kind is kind]

    def as_values(self) -> dict[str, Any]:
        """Turn it into plain values; pages are zero-based indexes, None where the format has no pages."""
        text, page = self.document.text, _pages(self.document)

        def cut_out(kind: BlockKind) -> list[dict[str, Any]]:
            return [
                {"text": span.of(text), "page": page(span.start), "span": _pair(span)} for span in self.blocks_of(kind)
            ]

        return {
            "title": self.document.title,
            "document_type": self.kind.kind,
            "pages": [
                {"index": each.number - 1, "label": each.label, "method": each.method, "chars": each.characters}
                for each in self.structure.pages
            ],
            "sections": [
                {
                    "number": each.number,
                    "title": each.title,
                    "level": each.level,
                    "page": None if each.page is None else each.page - 1,
                    "span": _pair(each.span),
                }
                for each in self.structure.sections
            ],
            "tables": cut_out(BlockKind.TABLE),
            "captions": cut_out(BlockKind.CAPTION),
            "statements": [
                {
                    "text": each.text,
                    "modality": each.modality.value,
                    "clause": each.clause_number,
                    "page": page(each.span.start),
                    "span": _pair(each.span),
                }
                for each in self.statements
            ],
            "requirements": [
                {
                    "id": first.identifier or first.clause_number,
                    "text": words_of(group, text),
                    "modality": _strongest(group).value,
                    "clause": first.clause_number,
                    "page": page(first.span.start),
                }
                for group in self.requirements
                for first in group[:1]
            ],
            "definitions": [
                {"term": each.term, "definition": each.text, "clause": each.clause_number} for each in self.definitions
            ],
            "references": [
                {"text": each.text, "target": each.target, "span": _pair(each.span)} for each in self.references
            ],
            **({"hidden": dict(self.structure.hidden)} if self.structure.hidden else {}),
        }


def _strongest(group: Sequence[Statement]) -> Modality:
    """Return the force of a requirement of several sentences; the model lists forces with the strongest first."""
    forces = {each.modality for each in group}
    return next(force for force in Modality if force in forces)


def _once(found: Iterable[_P]) -> list[_P]:
    """Put in order of place what overlapping passages name twice."""
    by_place = {(each.span.start, each.span.end): each for each in found}
    return [by_place[place] for place in sorted(by_place)]


def _pair(span: Span) -> list[int]:
    return [span.start, span.end]


def _pages(document: Document) -> Callable[[int], int | None]:
    """Return what tells the zero-based page of a place in the text."""
    starts = [block.span.start for block in document.blocks]
    begins = {page.number: page.span.start for page in document.pages}

    def page_of(place: int) -> int | None:
        row = bisect_right(starts, place) - 1
        pages = document.blocks[row].pages if row >= 0 else ()
        if not pages:
            return None
        reached = [number for number in pages if begins.get(number, 0) <= place]
        return (reached[-1] if reached else pages[0]) - 1

    return page_of


# ---- reading --------------------------------------------------------------------------------------------------------


def inspect_file(settings: Settings, path: Path, *, ignore_outline: bool = False) -> Inspected:
    """Read one file and analyse it; nothing is stored, and nothing downloaded.

    Args:
        settings: what reading is to be like (OCR).
        path: the file.
        ignore_outline: leave a PDF's own bookmarks and heading tags aside.

    Raises:
        NotFoundError: there is no such file.
        UnreadableDocumentError: it is of no kind that is read, damaged, protected, or without text.
    """
    from knowledge_mcp.wiring.readers import build_ocr, build_passwords

    ocr = build_ocr(settings)
    passwords = build_passwords(settings, ask_password if can_ask() else None)
    try:
        item = file_item(path)
        media_type, make = _reader_of(path, ocr, passwords, ignore_outline=ignore_outline)
        reader: Reader = make()
        try:
            document = reader.read(replace(item, media_type=media_type))
            version = reader.version
        finally:
            reader.close()
    finally:
        if ocr is not None:
            ocr.close()
    classify: Classifier = registry.load(registry.CLASSIFIERS["standards"])()
    kind = classify(document) if document.document_type is None else Classification(document.document_type.value)
    chunker = registry.load(registry.CHUNKERS["standards"])(
        size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
    )
    chunks = chunker.chunk(document, kind.kind, LightMeasure())
    return Inspected(document, kind, structure_of(document), tuple(chunks), version)


def _reader_of(path: Path, ocr: Any, passwords: Passwords, *, ignore_outline: bool) -> tuple[str, Callable[[], Any]]:
    """Choose what reads a file by its name: its media type, and what makes the reader."""
    from knowledge_mcp.wiring.readers import build_readers

    media_type = media_type_of(path.name)
    targets = {**registry.READERS, **registry.DOCUMENT_READERS}
    if media_type == _PDF and ignore_outline:
        return media_type, lambda: registry.load(targets[_PDF])(ocr=ocr, passwords=passwords, use_outline=False)
    if media_type in targets:
        return media_type, lambda: build_readers(ocr, {media_type: targets[media_type]}, passwords)[media_type]
    if media_type == UNKNOWN:
        from knowledge_mcp.sources.scan_types import media_type_of as source_type_of

        media_type = source_type_of(path.name)  # plain text where the name says nothing
        if media_type != "text/plain" and media_type in registry.load(registry.CODE_MEDIA_TYPES):
            return media_type, registry.load(registry.CODE_READER)
    raise UnreadableDocumentError(
        f"Files of this kind are not read: {path.name}",
        reason=UnreadableReason.UNSUPPORTED,
        source=str(path),
        suggestion="Give the file its right extension, or convert it first.",
    )


def file_item(path: Path, media_type: str = UNKNOWN) -> SourceItem:
    """Describe a file by its bytes as they are now.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is a folder.
        UnreadableDocumentError: it may not be read, or is too large.
    """
    try:
        place = Path(os.path.realpath(path))
        with open_beneath(None, place) as stream:
            size, identity = os.fstat(stream.fileno()).st_size, identity_of(stream)
            if size > MOST_BYTES:
                raise UnreadableDocumentError(
                    f"{path.name}: The file has {size >> 20} MiB, more than {MOST_BYTES >> 20} MiB.",
                    reason=UnreadableReason.TOO_LARGE,
                    source=str(path),
                    suggestion="Split it.",
                )
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError as exc:
        raise NotFoundError(f"There is no file {path}.", suggestion="Check the path.") from exc
    except NotRegularError as exc:
        what = "a folder" if path.is_dir() else "no regular file"
        raise InvalidInputError(f"{path} is {what}.", suggestion="Give one file.") from exc
    except OSError as exc:
        raise UnreadableDocumentError(
            f"{path.name}: The file cannot be opened.",
            reason=UnreadableReason.INACCESSIBLE,
            source=str(path),
            details=str(exc.strerror or exc),
            suggestion="Check its permissions.",
        ) from exc
    return SourceItem(
        str(path.absolute()),
        path.name,
        media_type,
        size,
        digest,
        functools.partial(open_same, None, place, identity),
        path,
    )
