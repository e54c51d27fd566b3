"""Which documents have what is asked for in their metadata: values, tags, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.engine.core.editions import facts_of
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import Filter, In, NotIn

__all__ = ["documents_with"]

_DATES = ("published", "issued", "publication_date", "effective", "date", "created", "modified")
_TAGS = ("tags", "keywords", "labels", "categories")
_RANGE = re.compile(r"\s*(?P<first>(?:\d{4}(?:-\d\d){0,2})?)\s*\.\.\s*(?P<last>(?:\d{4}(?:-\d\d){0,2})?)\s*")
_LISTED = re.compile(r"[,;]")
_MOST_TOLD = 12


def documents_with(records: Sequence[DocumentRecord], where: Sequence[tuple[str, str]]) -> Filter | None:
    """Build the filter of the documents whose records say all of it; None where nothing is asked.

    A name is compared in any case, a value with the whole of what stands there or with one of what is listed there by
    comma. `tags` looks into keywords, too; `date` takes a beginning ("2020-05") or a range ("2020..2023", "..2019")
    and looks at whatever says when a document was published. The filter names ids, so that every store finds the same.

    Raises:
        InvalidInputError: no document has the name, or the value; tells which there are.
    """
    if not where:
        return None
    kept = [record for record in records if all(_says(record, name, value) for name, value in where)]
    if not kept:
        _explain(records, where)
    if 2 * len(kept) > len(records):  # the shorter list is quicker in every store
        there = {record.id for record in kept}
        return NotIn("document_id", tuple(record.id for record in records if record.id not in there))
    return In("document_id", tuple(record.id for record in kept))


def _says(record: DocumentRecord, name: str, value: str) -> bool:
    wanted = value.strip().casefold()
    if _key(name) == "date":
        return any(_is_within(date, wanted) for date in _values(record, name))
    return any(
        wanted == told.strip().casefold() or wanted in map(str.strip, _LISTED.split(told.casefold()))
        for told in _values(record, name)
    )


def _values(record: DocumentRecord, name: str) -> list[str]:
    """List what a record says under a name."""
    key = _key(name)
    names = {"tags": _TAGS, "tag": _TAGS, "date": _DATES}.get(key, (key,))
    found = [value for told, value in record.metadata if _key(told) in names]
    if key == "date":
        issued = facts_of(record).date
        return [issued] if issued else found[:1]
    return found


def _key(name: str) -> str:
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def _is_within(date: str, wanted: str) -> bool:
    """Tell whether a date begins with what is wanted, or lies in a range, both ends included."""
    asked = _RANGE.fullmatch(wanted)
    if asked is None:
        return date.startswith(wanted)
    first, last = asked["first"], asked["last"]
    return date[:4].isdigit() and first <= date[: len(first)] and (not last or date[: len(last)] <= last)


def _explain(records: Sequence[DocumentRecord], where: Sequence[tuple[str, str]]) -> None:
    for name, value in where:
        told = sorted({text for record in records for text in _values(record, name)})
        if not told:
            names = sorted({_key(key) for record in records for key, _ in record.metadata})
            raise InvalidInputError(
                f"No document here says anything of '{name[:60]}'.",
                suggestion=f"Ask for one of: {', '.join(names[: 2 * _MOST_TOLD]) or 'nothing'}.",
            )
        if not any(_says(record, name, value) for record in records):
            more = f" and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
            raise InvalidInputError(
                f"No document here has '{value[:60]}' as '{name[:60]}'.",
                suggestion=f"Ask for one of: {', '.join(each[:60] for each in told[:_MOST_TOLD])}{more}.",
            )
    raise InvalidInputError(
        "No document here has all of these in its metadata, though each is there.", suggestion="Leave one of them out."
    )
