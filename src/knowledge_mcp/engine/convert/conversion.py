"""Convert local files to Markdown, and send the result to a library.

Nothing is stored: the service neither indexes nor searches. It caches the last few conversions, so that a long text can
be requested in parts.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote_to_bytes

from knowledge_mcp.engine.convert.markdown import as_markdown
from knowledge_mcp.engine.core.confinement import allowed_path, look_at
from knowledge_mcp.model.call import Progress, ignore_progress
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import (
    CancelledError,
    ConfigError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnreadableDocumentError,
    UnreadableReason,
)
from knowledge_mcp.model.library import DEFAULT_COLLECTION, Converted, Deposit, Deposited
from knowledge_mcp.model.source import MEDIA_TYPES, UNKNOWN, SourceItem, advice_on_kind, media_type_of
from knowledge_mcp.ports import Library, OcrEngine, Reader
from knowledge_mcp.support.checkpoints import watch_for_stop
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.wording import how_many

_REMEMBERED = 4
_REMEMBERED_CHARACTERS = 20_000_000
_READ = 60.0
"""Share of the progress, in percent, that is assumed for reading if ingesting follows."""
_OWN_NAMES = frozenset({"collection", "converter", "filename", "media_type", "pages", "sha256", "source", "title"})


def path_of(uri: str) -> str:
    """Return the path of a file URI or a plain path; percent-encoding is decoded only in a URI.

    Raises:
        InvalidInputError: it is not a file of this machine.
    """
    scheme, colon, rest = uri.strip().partition(":")
    if uri.strip().startswith("/") or not colon:
        return uri.strip()
    scheme = scheme.lower()
    if scheme in {"http", "https"}:
        raise InvalidInputError(
            "This converts files of this machine only; it does not fetch addresses.",
            suggestion="Use ingest_url of the remote RAG server, or download the file and give its path.",
        )
    if scheme != "file":
        raise InvalidInputError(
            f"A {scheme[:20]} URI does not point to a file on this machine.",
            suggestion="Give file:///path/to/document.pdf.",
        )
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        if host.lower() not in {"", "localhost"}:
            raise InvalidInputError(
                f"The file is on another machine: {host[:100]}",
                suggestion="A file URI has three slashes: file:///path/to/document.pdf.",
            )
        rest = slash + rest
    try:
        return unquote_to_bytes(rest).decode()
    except UnicodeDecodeError as exc:
        raise InvalidInputError(
            "The URI's percent-encoded bytes are not UTF-8.", details=str(exc), suggestion="Give the path instead."
        ) from exc


@dataclass(frozen=True, slots=True)
class _ConvertedDocument:
    """One document as read, its reader, and its whole text as Markdown."""

    document: Document
    converter: str
    text: str


class ConversionService:
    """Convert files to Markdown. Thread-safe.

    Args:
        readers: one for each media type that can be converted.
        roots: folders with readable files; None for all, if the caller is the local user.
        library: returns the library for `convert_and_ingest`; called once, and the library is closed with this service;
            None if there is none.
        ocr: shared by the readers for pages without text, closed after them.
    """

    def __init__(
        self,
        readers: Mapping[str, Reader],
        *,
        roots: Sequence[Path] | None,
        library: Callable[[], Library] | None,
        ocr: OcrEngine | None = None,
    ) -> None:
        self._readers = dict(readers)
        self._roots = roots
        self._make_library = library
        self._ocr = ocr
        self._library: Library | None = None
        self._opening = threading.Lock()
        self._remembering = threading.Lock()
        self._known: OrderedDict[tuple[str, ...], _ConvertedDocument] = OrderedDict()

    def convert(
        self,
        uri: str,
        *,
        pages: tuple[int, int] | None = None,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> Converted:
        """Convert one file.

        Args:
            uri: a file URI, or an absolute path.
            pages: first and last page to convert; None for all.
            on_progress: receives the progress: done, total, message.
            cancelled: called from time to time; returns whether to stop.

        Raises:
            InvalidInputError: it is not a readable file, or the document does not have these pages.
            NotFoundError: there is no such file.
            UnreadableDocumentError: it is of an unsupported kind, damaged, protected, or without text.
            CancelledError: it was cancelled.
        """
        read = self._read(uri, on_progress, cancelled)
        document = read.document
        text = read.text if pages is None else as_markdown(document, pages=pages)
        if not text.strip():
            last = document.pages[-1].number if document.pages else 0
            raise InvalidInputError(
                "These pages contain no text." if last else "This document has no pages.",
                details=f"The document has {how_many(len(document.pages), 'page')}, the last one is {last}."
                if last
                else "",
                suggestion="Choose other pages, or omit the argument.",
            )
        return Converted(
            text=text,
            title=document.title,
            filename=Path(path_of(uri)).name,
            media_type=document.media_type,
            pages=len(document.pages),
            metadata=document.metadata,
            warnings=document.warnings,
        )

    def convert_and_ingest(
        self,
        uri: str,
        collection: str = DEFAULT_COLLECTION,
        *,
        force: bool = False,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> Deposited:
        """Convert one file, and add its text to the library.

        Args:
            uri, on_progress, cancelled: as for `convert`.
            collection: the target.
            force: read and embed it again even if nothing changed.

        Raises:
            ConfigError: there is no library.
            KnowledgeError: as for `convert`, and as raised by the library.
        """
        library = self._open_library()  # first of all: without a library, reading is useless
        report = on_progress or ignore_progress

        def reading(done: float, total: float | None, message: str) -> None:
            report(_READ * done / total if total else 0.0, 100.0, message)

        def ingesting(done: float, total: float | None, message: str) -> None:
            report(_READ + (99.0 - _READ) * (done / total if total else 0.0), 100.0, message)

        read = self._read(uri, reading, cancelled)
        ingesting(0.0, None, "sending it to the RAG API")
        filename = Path(path_of(uri)).name
        document = read.document
        metadata = {
            **{f"document_{key}" if key in _OWN_NAMES else key: value for key, value in document.metadata},
            "source": document.source_uri,
            "filename": filename,
            "title": document.title,
            "media_type": document.media_type,
            "sha256": document.sha256,
            "converter": read.converter,
            **({"pages": str(len(document.pages))} if document.pages else {}),
        }
        deposit = Deposit(
            collection=collection, filename=filename, text=read.text, metadata=tuple(metadata.items()), force=force
        )
        deposited = library.deposit(deposit, on_progress=ingesting, cancelled=cancelled)
        new_warnings = [sentence for sentence in document.warnings if sentence not in deposited.warnings]
        return replace(deposited, warnings=(*new_warnings, *deposited.warnings))

    def warm_up(self) -> None:
        """Do nothing: each reader loads its library with the first file of its kind."""

    def close(self) -> None:
        """Free the readers and the library, even if one of them fails."""
        with self._opening:
            library, self._library = self._library, None
        readers = {id(reader): reader for reader in self._readers.values()}
        with ExitStack() as stack:
            for each in (library, self._ocr, *readers.values()):
                if each is not None:
                    stack.callback(each.close)

    # ---- reading

    def _read(self, uri: str, on_progress: Progress | None, cancelled: Callable[[], bool]) -> _ConvertedDocument:
        raw_path = path_of(uri)
        path = allowed_path(raw_path, self._roots)
        media_type = self._check(raw_path, path)
        reader = self._readers[media_type]
        item = _item(raw_path, path, self._roots, media_type, cancelled)
        key = (item.sha256, item.name, media_type, reader.version)
        with self._remembering:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
        if known is None:
            known = self._convert(item, reader, on_progress or ignore_progress, cancelled)
            self._remember(key, known)
        return replace(known, document=replace(known.document, source_uri=item.uri))

    def _check(self, raw_path: str, path: Path) -> str:
        """Check that a file exists and is of a readable kind; return its media type."""
        if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a folder is closed to us
            if os.path.isdir(path):  # noqa: PTH112
                raise InvalidInputError(f"This is a folder, not a file: {raw_path}", suggestion="Give one file.")
            hint = " A '#' or '?' in a file URI belongs to the file's name." if {"#", "?"} & set(raw_path) else ""
            raise NotFoundError(f"File not found: {raw_path}", suggestion=f"Check the path.{hint}")
        media_type = media_type_of(path.name)
        if media_type == UNKNOWN:
            media_type = media_type_of(raw_path)
        if media_type in self._readers:
            return media_type
        readable = sorted(name for name, kind in MEDIA_TYPES.items() if kind in self._readers)
        extension = path.suffix or "no extension"
        raise UnreadableDocumentError(
            f"Files of this type cannot be converted: {path.name} ({extension})",
            reason=UnreadableReason.UNSUPPORTED,
            source=raw_path,
            details=f"Supported types: {', '.join(readable)}.",
            suggestion=advice_on_kind(path.name, readable)
            if media_type == UNKNOWN
            else f"Install the readers for office documents: {install_command('office')}",
        )

    def _convert(
        self, item: SourceItem, reader: Reader, report: Progress, cancelled: Callable[[], bool]
    ) -> _ConvertedDocument:
        def stop() -> None:
            if cancelled():
                raise CancelledError("The conversion was cancelled.")

        def progress(done: int, total: int) -> None:
            stop()
            report(float(done), float(total), f"reading page {done} of {total}")

        stop()
        report(0.0, None, f"reading {item.name}")
        try:
            with watch_for_stop(stop):
                document = reader.read(item, progress)
                text = as_markdown(document)
        except OSError as exc:
            raise _unopened(item.uri, exc) from exc
        except KnowledgeError:
            raise
        except Exception as exc:
            raise InternalError(
                f"{item.name} could not be converted.", details=f"{type(exc).__name__}: {exc}"[:500]
            ) from exc
        if not text.strip():
            raise UnreadableDocumentError(
                f"{item.name} contains no text.",
                reason=UnreadableReason.EMPTY,
                source=item.uri,
                suggestion="Give another.",
            )
        return _ConvertedDocument(document, reader.version, text)

    def _remember(self, key: tuple[str, ...], read: _ConvertedDocument) -> None:
        with self._remembering:
            self._known[key] = read
            while len(self._known) > 1 and (
                len(self._known) > _REMEMBERED
                or sum(len(each.text) for each in self._known.values()) > _REMEMBERED_CHARACTERS
            ):
                self._known.popitem(last=False)

    def _open_library(self) -> Library:
        with self._opening:
            if self._library is None:
                if self._make_library is None:
                    raise ConfigError(
                        "RAG_API_URL is not set, so there is no RAG API to send documents to.",
                        suggestion="Set RAG_API_URL and RAG_API_KEY in the environment, and restart the server.",
                    )
                self._library = self._make_library()
            return self._library


def _item(
    raw_path: str, path: Path, roots: Sequence[Path] | None, media_type: str, cancelled: Callable[[], bool]
) -> SourceItem:
    """Describe a file by its present bytes."""

    def stop() -> None:
        if cancelled():
            raise CancelledError("The conversion was cancelled.")

    try:
        file = look_at(path, roots, stop)
    except OSError as exc:
        raise _unopened(raw_path, exc) from exc
    return SourceItem(
        uri=_uri(raw_path),
        name=Path(raw_path).name,
        media_type=media_type,
        size=file.size,
        sha256=file.sha256,
        open=file.open,
        path=path,
    )


def _uri(raw_path: str) -> str:
    """Write a path as a URI; links in it are kept, because their target may have a meaningless name."""
    return Path(os.path.normpath(raw_path)).as_uri()


def _unopened(raw_path: str, exc: OSError) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"The file cannot be opened: {raw_path}",
        reason=UnreadableReason.INACCESSIBLE,
        source=raw_path,
        details=exc.strerror or type(exc).__name__,
        suggestion="Check its permissions.",
    )
