"""The meaning of filters, shared by all stores: the fields of a chunk, and which values of a field a filter keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, get_args

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, Filter, FilterField, In, NotIn, Prefix

_FIELDS: frozenset[str] = frozenset(get_args(FilterField))
Simple = Equals | In | NotIn | Prefix


def simple_filters(filter: Filter | None) -> Iterator[Simple]:
    """Yield the parts that must all hold, with nested `And`s flattened."""
    if isinstance(filter, And):
        for part in filter.parts:
            yield from simple_filters(part)
    elif filter is not None:
        yield filter


def chunk_ids_in(filter: Filter | None) -> tuple[Filter | None, tuple[str, ...] | None]:
    """Split the chunk ids off a filter.

    Returns:
        The rest of the filter, and the ids that it keeps; None for the ids if the filter names none.
    """
    parts = list(simple_filters(filter))
    named = [part for part in parts if part.field == "chunk_id"]
    if not named:
        return filter, None
    ids = dict.fromkeys(named[0].values if isinstance(named[0], In) else (str(named[0].value),))
    kept = tuple(each for each in ids if all(keeps_value(part, each) for part in named[1:]))
    rest = tuple(part for part in parts if part.field != "chunk_id")
    return And(rest) if rest else None, kept


def absent_in(filter: Filter | None) -> frozenset[str]:
    """Return the ids of the documents that BM25 statistics must ignore."""
    parts = [part for part in simple_filters(filter) if isinstance(part, NotIn) and part.absent]
    return frozenset(each for part in parts for each in part.values)


def check_filter(filter: Filter | None) -> None:
    """Reject a field that chunks do not have, so that it is never silently treated as satisfied.

    Raises:
        InvalidInputError: names the field and the fields that exist.
    """
    for part in simple_filters(filter):
        by_prefix = isinstance(part, Prefix) and cast("str", part.field) != "clause_number"
        by_others = isinstance(part, NotIn) and cast("str", part.field) != "document_id"
        if part.field not in _FIELDS or by_prefix or by_others:
            raise InvalidInputError(
                f"This filter is not supported for '{part.field}'.",
                suggestion=f"Filter by {', '.join(sorted(_FIELDS))}; by prefix only clause_number.",
            )


def field_value(chunk: Chunk, field: FilterField) -> str | None:
    """Return a chunk's value of a field as text (`normative` as `true` or `false`), or None if it has no value."""
    if field == "normative":
        return "true" if chunk.normative else "false"
    value: str | None = getattr(chunk, "id" if field == "chunk_id" else field)
    return None if value is None else str(value)


def keeps_value(part: Simple, value: str | None) -> bool:
    """Return whether one part of a filter keeps a field's value, as `field_value` returns it; None is never kept."""
    if value is None:
        return False
    if isinstance(part, Equals):
        return value == _as_text(part.value)
    if isinstance(part, In):
        return value in part.values
    if isinstance(part, NotIn):
        return value not in part.values
    stem = part.value.rstrip(".")
    return value.rstrip(".") == stem or value.startswith(f"{stem}.")


def kind_of(chunk: Chunk) -> tuple[str, str, str]:
    """Return a chunk's document type, chunk type and `normative`: the fields that filters use most."""
    return str(chunk.document_type), chunk.chunk_type.value, "true" if chunk.normative else "false"


def clause_prefixes(clause_number: str | None) -> list[str]:
    """List the `Prefix` values that keep a clause: `5.3.1` is kept by 5, 5.3 and 5.3.1."""
    if clause_number is None:
        return []
    above = {clause_number[:place] for place, sign in enumerate(clause_number) if sign == "."}
    return sorted(above | {clause_number.rstrip(".")})


def keeps(filter: Filter | None, chunk: Chunk) -> bool:
    """Return whether a chunk satisfies the whole filter."""
    return all(keeps_value(part, field_value(chunk, part.field)) for part in simple_filters(filter))


def _as_text(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
