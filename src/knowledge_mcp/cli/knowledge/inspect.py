"""`knowledge inspect FILE`: what a reader makes of a file, page by page and clause by clause; nothing is stored."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from knowledge_mcp import registry
from knowledge_mcp.cli.shared.failures import ExitCode, ask_password, can_ask, notify, sanitize
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import (
    open_console,
    print_facts,
    print_table,
    render,
    say,
    write_content,
    write_json,
)
from knowledge_mcp.cli.shared.session import StoreOptions, report_failure
from knowledge_mcp.engine.core.confinement import look_at
from knowledge_mcp.engine.ingest.facts import structure_of
from knowledge_mcp.engine.search.requirements import group_statements, words_of
from knowledge_mcp.model.chunk import Chunk, Definition, Modality, Statement
from knowledge_mcp.model.collection import DocumentStructure, PageCoverage
from knowledge_mcp.model.document import BlockKind, Classification, Document, Reference, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import ScanOptions
from knowledge_mcp.model.source import MEDIA_TYPES, UNKNOWN, SourceItem, advice_on_kind
from knowledge_mcp.sources.files import kind_of_file
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.files import NotRegularError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from knowledge_mcp.ports import Reader
    from knowledge_mcp.readers.shared.passwords import Passwords
    from knowledge_mcp.settings import Settings

_EACH_PAGE = 60
"""Pages up to which each has its own line; beyond that, consecutive complete pages share one."""
_LOST = "bold red"


@with_groups
def inspect(
    options: StoreOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="File in any supported format.")],
    ignore_outline: Annotated[
        bool, typer.Option("--ignore-outline", help="Ignore a PDF's own bookmarks and heading tags.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the full text instead, as it would be stored.")] = False,
) -> None:
    """Show what would be read from a file: outline, contents, and coverage of each page. Nothing is stored.

    No model is needed: tokens are estimated from word pieces. The exit code is 1 if some pages were not read, and 2 if
    the file cannot be read at all.

    Example: knowledge inspect standard.pdf
    """
    with options.guard():
        if text and options.as_json:
            raise InvalidInputError("--text and --json cannot be used together.", suggestion="Pass only one of them.")
        settings = options.settings()

        try:
            inspected = inspect_file(settings, file, ignore_outline=ignore_outline)
        except UnreadableDocumentError as exc:
            report_failure(exc, verbose=options.verbose, as_json=options.as_json)
            raise typer.Exit(ExitCode.NOTHING_DONE) from exc
        if options.as_json:
            write_json(inspected.as_values())
        elif text:
            write_content(f"{inspected.document.text}\n")
        else:
            _print(inspected)
        if inspected.lost:
            count, pages = len(inspected.lost), len(inspected.structure.pages)
            notify(f"{count} of {how_many(pages, 'page')} {'was' if count == 1 else 'were'} not read.")
            raise typer.Exit(ExitCode.FAILURE)


def _print(inspected: Inspected) -> None:
    print_facts(_facts(inspected), title=inspected.document.title)
    if inspected.structure.sections:
        open_console().print(_outline(inspected))
    if inspected.structure.pages:
        _print_coverage(inspected.structure.pages)
    for warning in inspected.document.warnings:
        say(f"Warning: {warning}", "yellow")


def _facts(inspected: Inspected) -> list[tuple[str, str]]:
    document = inspected.document
    kind = inspected.kind
    why = f" ({kind.reason})" if kind.reason else ""
    forces = Counter(each.modality.value for each in inspected.statements)
    tokens = sum(chunk.token_count for chunk in inspected.chunks)
    return [
        ("Id", document.id),
        ("Type", f"{kind.kind}{why}"),
        ("Read by", inspected.reader),
        ("Pages", str(len(document.pages)) if document.pages else "-"),
        ("Text", f"{len(document.text):,} characters"),
        ("Passages", f"{len(inspected.chunks)} (about {tokens:,} word pieces; no tokenizer was loaded)"),
        ("Sections", str(len(document.sections))),
        ("Tables", str(len(inspected.blocks_of(BlockKind.TABLE)))),
        ("Captions", str(len(inspected.blocks_of(BlockKind.CAPTION)))),
        ("Statements", ", ".join(f"{name} {count}" for name, count in forces.most_common()) or "none"),
        ("Requirements", _count_requirements(inspected.requirements)),
        ("Definitions", str(len(inspected.definitions))),
        ("References", str(len(inspected.references))),
        *document.metadata,
    ]


def _outline(inspected: Inspected) -> Tree:
    """Draw the sections as a tree, each with its number and its page."""
    from rich.tree import Tree

    root = Tree(render("Outline", "bold"))
    labels = {page.number: page.label for page in inspected.structure.pages}
    branches: list[Tree] = []
    for section, entry in zip(inspected.document.sections, inspected.structure.sections, strict=True):
        above = root if section.parent is None else branches[section.parent]
        line = render(section.label or "(without a title)")
        if section.informative:
            line.append(" (informative)", "dim")
        if entry.page is not None:
            label = sanitize(labels.get(entry.page, ""))
            both = f"p. {label} (page {entry.page} of the file)"
            line.append(f"  {f'p. {entry.page}' if label in {'', str(entry.page)} else both}", "cyan")
        branches.append(above.add(line))
    return root


def _print_coverage(pages: Sequence[PageCoverage]) -> None:
    """Show what was read from each page; pages that were not read stand out."""
    rows: list[list[Text]] = []
    for run in _runs(pages):
        first, last = run[0], run[-1]
        several = first is not last
        cells = (
            f"{first.number}-{last.number}" if several else str(first.number),
            f"{first.label}-{last.label}" if several else first.label,
            first.method,
            f"{sum(page.characters for page in run):,}",
            _count(sum(page.tables for page in run)),
            _count(sum(page.figures for page in run)),
            first.note,
        )
        style = _LOST if first.method == "none" else "dim" if first.method == "blank" else ""
        rows.append([render(cell, style) for cell in cells])
    numbers = ("Characters", "Tables", "Figures")
    print_table(("Page", "Label", "Method", *numbers, "Note"), rows, title="Coverage", numbers=numbers)


def _count(number: int) -> str:
    return str(number) if number else ""


def _runs(pages: Sequence[PageCoverage]) -> Iterator[list[PageCoverage]]:
    """Merge consecutive complete pages if there are many pages; pages with a note are listed separately."""
    run: list[PageCoverage] = []
    for page in pages:
        fits = run and len(pages) > _EACH_PAGE and _key(run[-1]) == _key(page) and not page.note
        if run and not fits:
            yield run
            run = []
        run.append(page)
    if run:
        yield run


def _key(page: PageCoverage) -> tuple[Any, ...]:
    return page.method, page.note, page.characters > 0


_PDF = "application/pdf"
_PIECE = re.compile(r"\w{1,5}|[^\w\s]")


@dataclass(frozen=True, slots=True)
class LightMeasure:
    """Count tokens without a model: runs of at most five letters or digits, and single other signs."""

    max_tokens: int = 256

    def count_tokens(self, text: str) -> int:
        """Count them."""
        return len(_PIECE.findall(text))

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List where each begins and ends."""
        return [match.span() for match in _PIECE.finditer(text)]


_P = TypeVar("_P", Definition, Reference, Statement)


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result of reading a file.

    Attributes:
        document: as read.
        kind: what type of document it is.
        structure: its sections, and what was read from each page.
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
        return _deduplicate(each for chunk in self.chunks for each in chunk.statements)

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
        return _deduplicate(each for chunk in self.chunks for each in chunk.definitions)

    @property
    def references(self) -> list[Reference]:
        """List the cross-references in order, each once."""
        return _deduplicate(each for chunk in self.chunks for each in chunk.links)

    def blocks_of(self, kind: BlockKind) -> list[Span]:
        """List where blocks of a kind are."""
        return [block.span for block in self.document.blocks if block.kind is kind]

    def as_values(self) -> dict[str, Any]:
        """Convert it to plain values; pages are zero-based indexes, None if the format has no pages."""
        text, page = self.document.text, _pages(self.document)

        def texts_of(kind: BlockKind) -> list[dict[str, Any]]:
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
            "tables": texts_of(BlockKind.TABLE),
            "captions": texts_of(BlockKind.CAPTION),
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
                    "weak": all(each.weak for each in group),
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


def _count_requirements(requirements: Sequence[Sequence[Statement]]) -> str:
    """Count requirements, and those among them that no word marks."""
    weak = sum(all(each.weak for each in group) for group in requirements)
    return f"{len(requirements)}, {weak} of them weak (no word such as 'shall')" if weak else str(len(requirements))


def _strongest(group: Sequence[Statement]) -> Modality:
    """Return the force of a requirement of several sentences; the model lists forces with the strongest first."""
    forces = {each.modality for each in group}
    return next(force for force in Modality if force in forces)


def _deduplicate(found: Iterable[_P]) -> list[_P]:
    """Sort entries by place, without those that overlapping passages repeat."""
    by_place = {(each.span.start, each.span.end): each for each in found}
    return [by_place[place] for place in sorted(by_place)]


def _pair(span: Span) -> list[int]:
    return [span.start, span.end]


def _pages(document: Document) -> Callable[[int], int | None]:
    """Return a function that gives the zero-based page of a place in the text."""
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
    from knowledge_mcp.language.document_types import DocumentClassifier
    from knowledge_mcp.wiring import build_ocr, build_passwords

    ocr = build_ocr(settings)
    passwords = build_passwords(settings, ask_password if can_ask() else None)
    try:
        item = file_item(path)
        media_type, make = _reader_of(path, ocr, passwords, settings.ocr_language, ignore_outline=ignore_outline)
        reader: Reader = make()
        try:
            document = reader.read(replace(item, media_type=media_type), lambda _done, _all: checkpoint())
            version = reader.version
        finally:
            reader.close()
    finally:
        if ocr is not None:
            ocr.close()
    kind = (
        DocumentClassifier()(document)
        if document.document_type is None
        else Classification(document.document_type.value)
    )
    chunker = registry.load(registry.CHUNKERS["standards"])(
        size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
    )
    chunks = chunker.chunk(document, kind.kind, LightMeasure())
    return Inspected(document, kind, structure_of(document), tuple(chunks), version)


def _reader_of(
    path: Path, ocr: Any, passwords: Passwords, ocr_language: str, *, ignore_outline: bool
) -> tuple[str, Callable[[], Any]]:
    """Choose the media type and the reader factory for a file."""
    from knowledge_mcp.wiring import build_readers

    media_type = kind_of_file(path)
    targets = registry.READERS
    if media_type == _PDF and ignore_outline:
        options = ScanOptions(language=ocr_language)
        pdf = registry.load(targets[_PDF])
        return media_type, lambda: pdf(ocr=ocr, options=options, passwords=passwords, use_outline=False)
    if media_type in targets:
        only = {media_type: targets[media_type]}
        return media_type, lambda: build_readers(ocr, only, passwords, ocr_language=ocr_language)[media_type]
    if media_type == UNKNOWN:
        from knowledge_mcp.readers.code.reader import CodeReader
        from knowledge_mcp.sources.scan.files import media_type_of as source_type_of

        media_type = source_type_of(path.name)  # plain text where the name says nothing
        if media_type != "text/plain":
            return media_type, CodeReader
    raise UnreadableDocumentError(
        f"Unsupported file type: {path.name}",
        reason=UnreadableReason.UNSUPPORTED,
        source=str(path),
        suggestion=advice_on_kind(path.name, MEDIA_TYPES),
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
        found = look_at(place, None)
    except FileNotFoundError as exc:
        raise NotFoundError(f"There is no file {path}.", suggestion="Check the path.") from exc
    except NotRegularError as exc:
        what = "a folder" if path.is_dir() else "not a regular file"
        raise InvalidInputError(f"{path} is {what}.", suggestion="Name one file.") from exc
    except OSError as exc:
        raise UnreadableDocumentError(
            "The file cannot be opened.",
            reason=UnreadableReason.INACCESSIBLE,
            source=str(path),
            name=path.name,
            details=str(exc.strerror or exc),
            suggestion="Check its permissions.",
        ) from exc
    return SourceItem(str(path.absolute()), path.name, media_type, found.size, found.sha256, found.open, path)
