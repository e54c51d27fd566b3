"""`knowledge show DOC --page N`: a page of a stored PDF as a picture, with a passage marked on it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.shared.failures import ask_password, can_ask, notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import say, write_file, write_json
from knowledge_mcp.cli.shared.session import CommandOptions, DocumentId, reading_of
from knowledge_mcp.model.document import Box
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict, ReadQuery
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.model.source import SourceItem
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.readers.shared.passwords import Passwords

_PDF = "application/pdf"
_MOST_TOKENS, _MOST_PARTS = 20_000, 50
"""Tokens of one reading and how many there may be: together a million, more than any clause that is to be marked."""


@dataclass(frozen=True, slots=True)
class _MarkedPassage:
    """What is to be marked.

    Attributes:
        boxes: where it is, on any page.
        words: to be coloured inside the boxes as far as they are found there; a box without any is, as a whole.
        name: what it is, for messages; empty for no passage.
        remark: an additional note on it.
    """

    boxes: tuple[Box, ...] = ()
    words: str = ""
    name: str = ""
    remark: str = ""

    @property
    def pages(self) -> list[int]:
        """List its pages in order."""
        return sorted({box.page for box in self.boxes})


@with_groups
def show(
    options: CommandOptions,
    document_id: DocumentId,
    page: Annotated[
        int | None,
        typer.Option("--page", "-p", min=1, help="Page, counted from 1. Default: the first page of the passage."),
    ] = None,
    chunk: Annotated[str | None, typer.Option("--chunk", help="Mark this passage, by its id.")] = None,
    clause: Annotated[str | None, typer.Option("--clause", help="Mark this clause, by number or title.")] = None,
    quote: Annotated[str | None, typer.Option("--quote", help="Mark these words.")] = None,
    to: Annotated[Path | None, typer.Option("--out", "-o", help="PNG file to write.", dir_okay=False)] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=36, max=600, help="Dots per inch.")] = 150,
) -> None:
    """Draw a page of an ingested PDF with a passage marked, and print where the image was saved.

    The file must still be in the same place and unchanged since it was ingested.

    Example: knowledge show iso-15288 --page 12 --clause 5.3.1
    """
    from knowledge_mcp.wiring import build_passwords

    with options.open_knowledge() as knowledge:
        if page is None and chunk is None and clause is None and quote is None:
            raise InvalidInputError("Which page?", suggestion="Pass --page, --chunk, --clause or --quote.")
        record = knowledge.document(document_id)
        item = _source(record)
        passage = _passage(knowledge, record, chunk=chunk, clause=clause, quote=quote)
        labels = {each.number: each.label for each in knowledge.document_structure(record.id).pages}
        number = _page(record, page, passage, labels)
        boxes = _merge([box for box in passage.boxes if box.page == number])
        passwords = build_passwords(reading_of(options.config).settings, ask_password if can_ask() else None)
        width, height, picture = _draw(item, passwords, number, boxes, passage.words, dpi)
        place = (to or Path(f"{record.id}-page-{number}.png")).absolute()
        write_file(place, picture)
        if passage.remark:
            notify(passage.remark)
        if options.as_json:
            marked = [[box.left, box.top, box.right, box.bottom] for box in boxes]
            size = {"width": width, "height": height}
            write_json({"file": str(place), "document_id": record.id, "page": number, "boxes": marked, **size})
            return
        others = [str(each) for each in passage.pages if each != number]
        also = f" (continues on: pages {', '.join(others)})" if others else ""
        what = f", {passage.name} marked{also}" if passage.name else ""
        say(f"Wrote {place}: page {number} of {record.id}{what}.")


# ---- the file -------------------------------------------------------------------------------------------------------


def _source(record: DocumentRecord) -> SourceItem:
    """Find the file that a document was made of.

    Raises:
        InvalidInputError: it is no PDF of this machine, or has changed since.
        NotFoundError: it is gone.
    """
    from knowledge_mcp.cli.knowledge.inspect import file_item
    from knowledge_mcp.engine.convert.conversion import path_of

    if record.media_type != _PDF and not record.source_path.lower().endswith(".pdf"):
        raise InvalidInputError(
            f"'{record.id}' was read from {record.media_type or 'a file'}, which has no pages that can be drawn.",
            suggestion="Only PDF pages can be drawn. Use `knowledge documents show --text` to print its text.",
        )
    if "://" in record.source_path and not record.source_path.startswith("file:"):
        raise InvalidInputError(
            f"The file of '{record.id}' is not on this machine: {record.source_path}",
            suggestion="Download the file and ingest it; then its pages can be drawn.",
        )
    path = Path(path_of(record.source_path))
    again = f"Ingest it again: knowledge-ingest '{path}'"
    try:
        item = file_item(path, _PDF)
    except NotFoundError as exc:
        raise NotFoundError(
            f"The file of '{record.id}' is gone: {path}",
            suggestion="Put the file back, or ingest it from its new location.",
        ) from exc
    if item.sha256 != record.sha256:
        raise InvalidInputError(
            f"The file of '{record.id}' has changed since it was ingested: {path}",
            details=f"SHA-256 at ingest {record.sha256}, now {item.sha256}",
            suggestion=again,
        )
    return item


# ---- the passage ----------------------------------------------------------------------------------------------------


def _passage(
    knowledge: Knowledge, record: DocumentRecord, *, chunk: str | None, clause: str | None, quote: str | None
) -> _MarkedPassage:
    if sum(each is not None for each in (chunk, clause, quote)) > 1:
        raise InvalidInputError(
            "--chunk, --clause and --quote cannot be used together.", suggestion="Pass only one of them."
        )
    if chunk is not None:
        found, _ = knowledge.chunk(chunk)
        if found.document_id != record.id:
            raise InvalidInputError(
                f"Passage {chunk} belongs to '{found.document_id}', not to '{record.id}'.",
                suggestion=f"knowledge show {found.document_id} --chunk {chunk}",
            )
        passage = _MarkedPassage(found.boxes, found.content, f"passage {chunk}")
    elif clause is not None:
        passage = _clause(knowledge, record, clause)
    elif quote is not None:
        passage = _quote(knowledge, record, quote)
    else:
        return _MarkedPassage()
    if not passage.boxes:
        raise NotFoundError(
            f"The position of {passage.name} on its page is unknown.",
            suggestion="It was ingested before positions were stored. Ingest it again: knowledge-ingest "
            f"'{record.source_path}'",
        )
    return passage


def _clause(knowledge: Knowledge, record: DocumentRecord, clause: str) -> _MarkedPassage:
    boxes: list[Box] = []
    words: list[str] = []
    cursor: int | None = None
    for _ in range(_MOST_PARTS):
        query = ReadQuery(record.id, clause, max_tokens=_MOST_TOKENS, cursor=cursor)
        answer = knowledge.read(query)
        boxes.extend(box for passage in answer.passages for box in passage.locator.boxes)
        words.extend(passage.text for passage in answer.passages)
        cursor = answer.next_cursor
        if cursor is None:
            break
    return _MarkedPassage(tuple(dict.fromkeys(boxes)), "\n".join(words), f"clause {clause}")


def _quote(knowledge: Knowledge, record: DocumentRecord, quote: str) -> _MarkedPassage:
    """Find a quote in the document; if the print differs from the quote, report that and mark the printed text."""
    answer = knowledge.verify_quote(QuoteQuery(quote, record.id))
    inside = [place for place in answer.places if place.passage.locator.document_id == record.id]
    if answer.verdict in {QuoteVerdict.NOT_FOUND, QuoteVerdict.ELSEWHERE} or not inside:
        elsewhere = [place.passage.citation for place in answer.places if answer.verdict is QuoteVerdict.ELSEWHERE]
        raise NotFoundError(
            f"These words were not found in '{record.id}'.",
            details="\n".join(answer.degraded),
            suggestion=f"They were found in {elsewhere[0]}."
            if elsewhere
            else "Use `knowledge verify-quote` to see similar text.",
        )
    boxes = tuple(dict.fromkeys(box for place in inside for box in place.passage.locator.boxes))
    exact = answer.verdict in {QuoteVerdict.EXACT, QuoteVerdict.NORMALISED}
    remark = "" if exact else f"The quote is not exact ({answer.verdict.value}); the printed words are marked."
    words = "\n".join(place.passage.text for place in inside)
    return _MarkedPassage(boxes, words, "the quote", remark)


def _page(record: DocumentRecord, requested: int | None, passage: _MarkedPassage, labels: Mapping[int, str]) -> int:
    """Choose the page to draw, and make sure that there is one, and that the passage is on it."""
    number = requested if requested is not None else passage.pages[0]
    if record.pages and number > record.pages:
        raise InvalidInputError(
            f"'{record.id}' has {how_many(record.pages, 'page')}.", suggestion=f"Pass a page from 1 to {record.pages}."
        )
    if passage.name and number not in passage.pages:
        pages = ", ".join(
            f"{each} (printed: {labels[each]})" if labels.get(each, str(each)) != str(each) else str(each)
            for each in passage.pages
        )
        raise InvalidInputError(f"Page {number} does not contain {passage.name}.", suggestion=f"It is on page {pages}.")
    return number


def _merge(boxes: Sequence[Box]) -> list[Box]:
    """Make one box of those that overlap: passages of a clause may have sentences in common."""
    found: list[Box] = []
    for box in boxes:
        merged, others = box, list[Box]()
        for other in found:
            left, top = max(merged.left, other.left), max(merged.top, other.top)
            right, bottom = min(merged.right, other.right), min(merged.bottom, other.bottom)
            if left < right and top < bottom:
                merged = merged.joined(other)
            else:
                others.append(other)
        found = [*others, merged]
    return found


def _draw(
    item: SourceItem, passwords: Passwords, page: int, boxes: Sequence[Box], words: str, dpi: int
) -> tuple[int, int, bytes]:
    """Draw the page in a child process, as files of others are never parsed here."""
    from knowledge_mcp.readers.pdf.reader import PdfReader

    with contextlib.closing(PdfReader(passwords=passwords)) as reader:
        return reader.draw(item, page, boxes, words, dpi)
