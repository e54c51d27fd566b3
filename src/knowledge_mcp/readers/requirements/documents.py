"""Child process: a requirement file as a document: a section for each item, with its text, attributes and links."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.model.source import DOORSTOP, MEDIA_TYPES
from knowledge_mcp.readers.requirements.reqif import reqif
from knowledge_mcp.readers.requirements.tables import parse_columns, workbook
from knowledge_mcp.readers.requirements.texts import doorstop_folder, needs_json, strictdoc
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, facts, heading, hidden_piece, messages, piece
from knowledge_mcp.support.sandbox_worker import Refusal

_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+•–]|\(?\w{1,3}[.)])[ \t]{1,9}\S")
_FORMS = {
    **dict.fromkeys((MEDIA_TYPES[".reqif"], MEDIA_TYPES[".reqifz"]), reqif),
    MEDIA_TYPES[".sdoc"]: strictdoc,
    MEDIA_TYPES[".json"]: needs_json,
    DOORSTOP: doorstop_folder,
}


def document(path: str, *, check: bool, media_type: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a requirement file of one of the kinds above.

    Raises:
        Refusal: it is not of this kind, or contains no item.
    """
    yield from as_document(_FORMS[media_type](path), check=check)


def workbook_items(path: str, *, check: bool, columns: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a workbook whose columns are named (`id=Key,text=Description`); errors as `document`."""
    yield from as_document(workbook(path, columns=parse_columns(columns)), check=check)


def as_document(found: Iterator[dict[str, Any]], *, check: bool) -> Iterator[dict[str, Any]]:
    """Convert the items of a job to the messages of a document.

    Raises:
        Refusal: as the job, and if there is no item.
    """
    first = next((each for each in found if "id" in each or not check), None)
    if first is None:
        message = "If the columns have other names, give them as in id=Key,text=Description."
        raise Refusal("empty", "It contains no requirements.", suggestion=message)
    if not check:
        yield from messages(item_pieces(itertools.chain([first], found)))


def item_pieces(found: Iterable[dict[str, Any]]) -> Iterator[Piece]:
    """Write sections and items; `blocks` is what is below the title of one, else its text and attributes are."""
    for each in found:
        level = each.get("level", "")
        depth = level.removesuffix(".0").count(".") + 1
        blocks = each.pop("blocks", None)
        if "id" in each:
            written: Piece = {**heading(each.get("heading", ""), depth), "item": each}
            is_placed = blocks is not None and each.get("line")
            yield at_lines(written, each["line"], each["line"]) if is_placed else written
            yield from _body(each) if blocks is None else blocks
        elif each.get("section"):
            titled = heading(each["section"], depth, plain=True)
            yield at_lines(titled, each["line"], each["line"]) if each.get("line") else titled
            yield from blocks or ()
        elif each.get("title") or each.get("warnings"):
            yield facts(title=each.get("title", ""), warnings=each.get("warnings", ()))
        elif "hidden" in each:
            yield hidden_piece(each["hidden"])


def _body(item: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield an item's text by paragraphs, then a note with its other attributes and links, which are not normative."""
    line = item.get("line", 0)
    for paragraph in filter(str.strip, item["text"].split("\n\n")):
        is_list = all(_BULLET.match(each) for each in paragraph.strip().split("\n"))
        for part in paragraph.strip().split("\n") if is_list else [paragraph]:
            written = piece(BlockKind.LIST_ITEM if is_list else BlockKind.PARAGRAPH, part)
            yield at_lines(written, line, line) if line else written
    known = {" ".join(part.split()) for part in (item["id"], item["heading"], item["text"])}
    more = [
        f"{name}: {value.strip()}"
        for name, value in item["attributes"].items()
        if value.strip() and " ".join(value.split()) not in known and f"{name}: {value}" not in item["text"]
    ]
    values = [value for value in item["attributes"].values() if value.strip()]
    more += [
        f"{kind or 'link'}: {target}" for target, kind in item["links"] if not any(target in value for value in values)
    ]
    if more:
        yield piece(BlockKind.NOTE, "\n".join(more))
