"""The engine's values as JSON, there and back: one codec for each parameter and result of `ports.Knowledge`'s methods.

Codecs are built by pydantic from the type hints of the Protocol, so that a field added to a value travels by itself.
Only filters are written by hand: two of their kinds have the same fields, and need a name beside them.

| method                                                                                              | right |
|-----------------------------------------------------------------------------------------------------|-------|
| `search` `lookup` `requirements` `stats` `health` `documents` `document` `document_text` `warm_up`  | read  |
| `document_structure` `document_chunks` `chunk` `definitions_in` `read` `verify_quote` `references`  | read  |
| `remove` `verify` `ingest`                                                                          | write |
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import GenericAlias
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix, SearchQuery
from knowledge_mcp.ports import Knowledge

__all__ = ["RIGHTS", "Codec", "Method", "Right", "codec_of", "method_of"]

Right = Literal["read", "write"]

RIGHTS: Mapping[str, Right] = {
    "search": "read",
    "lookup": "read",
    "requirements": "read",
    "stats": "read",
    "health": "read",
    "documents": "read",
    "document": "read",
    "document_text": "read",
    "document_structure": "read",
    "document_chunks": "read",
    "chunk": "read",
    "definitions_in": "read",
    "read": "read",
    "verify_quote": "read",
    "references": "read",
    "warm_up": "read",
    "remove": "write",
    "verify": "write",
    "ingest": "write",
}
"""What a key needs for each method; `close` does not travel."""

_MOST_NESTED = 20


@dataclass(frozen=True, slots=True)
class Codec:
    """Write one type's values as plain JSON values and read them back.

    Attributes:
        encode: never fails for a value of the type.
        decode: raises ValueError for what is none.
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """Describe one method: its parameters by name, those that may be left out, and its result."""

    parameters: Mapping[str, Codec]
    optional: frozenset[str]
    result: Codec

    def arguments(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Read the arguments of a call.

        Raises:
            InvalidInputError: one is missing, unknown, or of another type; names it.
        """
        missing = self.parameters.keys() - told.keys() - self.optional
        if missing or told.keys() - self.parameters.keys():
            raise InvalidInputError(f"This method takes: {', '.join(self.parameters) or 'no arguments'}.")
        read: dict[str, Any] = {}
        for name, value in told.items():
            try:
                read[name] = self.parameters[name].decode(value)
            except ValueError as exc:
                raise InvalidInputError(f"Invalid value for {name}.", details=_why(exc)) from exc
        return read


@functools.cache
def method_of(name: str) -> Method:
    """Build the codecs of one method of `Knowledge`; KeyError for a name that is not in `RIGHTS`."""
    if name not in RIGHTS or name == "ingest":
        raise KeyError(name)
    function = getattr(Knowledge, name)
    hints = get_type_hints(function)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    return Method(
        parameters={each.name: codec_of(hints[each.name]) for each in parameters},
        optional=frozenset(each.name for each in parameters if each.default is not inspect.Parameter.empty),
        result=codec_of(hints["return"]),
    )


@functools.cache
def codec_of(hint: Any) -> Codec:
    """Build the codec of one type."""
    if hint is SearchQuery:
        return Codec(_encoded_query, _decoded_query)
    many = get_origin(hint) in {Iterable, Sequence}
    wanted: Any = GenericAlias(list, get_args(hint)) if many else hint
    adapter = TypeAdapter[Any](wanted)
    return Codec(
        lambda value: adapter.dump_python(list(value) if many else value, mode="json"), adapter.validate_python
    )


# ---- questions, whose filters need a name


def _encoded_query(query: SearchQuery) -> Any:
    told: dict[str, Any] = _plain_query().dump_python(replace(query, filter=None), mode="json")
    return {**told, "filter": None if query.filter is None else _encoded_filter(query.filter)}


def _decoded_query(told: Any) -> SearchQuery:
    fields = _mapping(told)
    wanted = fields.get("filter")
    query = _plain_query().validate_python({**fields, "filter": None})
    return replace(query, filter=None if wanted is None else _decoded_filter(wanted, 0))


@functools.cache
def _plain_query() -> TypeAdapter[SearchQuery]:
    return TypeAdapter(SearchQuery)


def _encoded_filter(wanted: Filter) -> dict[str, Any]:
    match wanted:
        case Equals(field, value):
            return {"kind": "equals", "field": field, "value": value}
        case In(field, values):
            return {"kind": "in", "field": field, "values": list(values)}
        case Prefix(field, value):
            return {"kind": "prefix", "field": field, "value": value}
        case And(parts):
            return {"kind": "and", "parts": [_encoded_filter(part) for part in parts]}


def _decoded_filter(told: Any, depth: int) -> Filter:
    fields = dict(_mapping(told))
    kind = fields.pop("kind", None)
    if kind == "and" and depth < _MOST_NESTED:
        parts = fields.get("parts")
        if not isinstance(parts, list):
            raise ValueError("the parts of a filter are a list")
        return And(tuple(_decoded_filter(part, depth + 1) for part in cast("list[Any]", parts)))
    adapter = _simple_filters().get(str(kind))
    if adapter is None:
        raise ValueError("a filter is equals, in, prefix or and, and not nested too deeply")
    return adapter.validate_python(fields)


@functools.cache
def _simple_filters() -> dict[str, TypeAdapter[Any]]:
    return {"equals": TypeAdapter(Equals), "in": TypeAdapter(In), "prefix": TypeAdapter(Prefix)}


def _mapping(told: Any) -> Mapping[str, Any]:
    if not isinstance(told, Mapping):
        raise ValueError("an object is needed")  # noqa: TRY004 - told as any other value that does not fit
    return cast("Mapping[str, Any]", told)


def _why(exc: ValueError) -> str:
    if isinstance(exc, ValidationError):
        found = exc.errors(include_url=False, include_input=False)[:5]
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
    return str(exc)
