"""The engine's values as JSON and back: one codec for each parameter and result of `ports.Knowledge`'s methods.

Codecs are built by pydantic from the type hints of the Protocol, so that new fields of a value are transferred without
further changes. Only filters are converted by hand: two kinds have the same fields and need a name to tell them apart.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import GenericAlias
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InvalidInputError, UnreadableReason
from knowledge_mcp.model.ingest import IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import And, Equals, Filter, In, NotIn, Prefix, SearchQuery
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge

Right = Literal["read", "write"]

RIGHTS: Mapping[str, Right] = {
    **dict.fromkeys((
        "search", "lookup", "requirements", "stats", "health", "documents", "document", "document_text",
        "document_structure", "document_chunks", "chunk", "read", "verify_quote", "references", "embed", "warm_up",
    ), "read"),
    **dict.fromkeys(("remove", "relabel", "ingest"), "write"),
}  # fmt: skip
"""The permission that each method needs. `close` is not transferred, nor is `code_passages`, as repositories have other
permissions.
"""

_MOST_NESTED = 20


@dataclass(frozen=True, slots=True)
class Codec:
    """Converts the values of one type to plain JSON values and back.

    Attributes:
        encode: never fails for a value of the type.
        decode: raises ValueError for anything else.
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """The codecs of a method: its parameters by name, which of them are optional, and its result."""

    parameters: Mapping[str, Codec]
    optional: frozenset[str]
    result: Codec

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Decode the arguments of a call.

        Raises:
            InvalidInputError: one is missing, unknown, or of another type; names it.
        """
        missing = self.parameters.keys() - values.keys() - self.optional
        if missing or values.keys() - self.parameters.keys():
            raise InvalidInputError(f"This method takes: {', '.join(self.parameters) or 'no arguments'}.")
        read: dict[str, Any] = {}
        for name, value in values.items():
            try:
                read[name] = self.parameters[name].decode(value)
            except ValueError as exc:
                raise InvalidInputError(f"Invalid value for {name}.", details=_why(exc)) from exc
        return read


@functools.cache
def method_of(name: str) -> Method:
    """Build the codecs of a method of `Knowledge`.

    Raises:
        KeyError: the method is not in `RIGHTS`, or is `ingest`.
    """
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
        return Codec(_encode_query, _decode_query)
    if hint == list[Vector]:
        return Codec(_encode_vectors, _decode_vectors)
    many = get_origin(hint) is Sequence
    target: Any = GenericAlias(list, get_args(hint)) if many else hint
    adapter = TypeAdapter[Any](target)
    return Codec(
        lambda value: adapter.dump_python(list(value) if many else value, mode="json"), adapter.validate_python
    )


def _encode_vectors(vectors: Sequence[Vector]) -> list[str]:
    return [base64.b64encode(each).decode() for each in vectors]


def _decode_vectors(value: Any) -> list[Vector]:
    return [base64.b64decode(each, validate=True) for each in _texts().validate_python(value)]


@functools.cache
def _texts() -> TypeAdapter[list[str]]:
    return TypeAdapter(list[str])


# ---- questions, whose filters need a name


def _encode_query(query: SearchQuery) -> Any:
    plain: dict[str, Any] = _plain_query().dump_python(replace(query, filter=None), mode="json")
    return {**plain, "filter": None if query.filter is None else _encode_filter(query.filter)}


def _decode_query(value: Any) -> SearchQuery:
    content = _mapping(value)
    condition = content.get("filter")
    query = _plain_query().validate_python({**content, "filter": None})
    return replace(query, filter=None if condition is None else _decode_filter(condition, 0))


@functools.cache
def _plain_query() -> TypeAdapter[SearchQuery]:
    return TypeAdapter(SearchQuery)


def _encode_filter(condition: Filter) -> dict[str, Any]:
    match condition:
        case Equals(field, value):
            return {"kind": "equals", "field": field, "value": value}
        case In(field, values):
            return {"kind": "in", "field": field, "values": list(values)}
        case NotIn(field, values):
            return {"kind": "not_in", "field": field, "values": list(values)}
        case Prefix(field, value):
            return {"kind": "prefix", "field": field, "value": value}
        case And(parts):
            return {"kind": "and", "parts": [_encode_filter(part) for part in parts]}


def _decode_filter(value: Any, depth: int) -> Filter:
    content = dict(_mapping(value))
    kind = content.pop("kind", None)
    if kind == "and" and depth < _MOST_NESTED:
        parts = content.get("parts")
        if not isinstance(parts, list):
            raise ValueError("the parts of a filter are a list")
        return And(tuple(_decode_filter(part, depth + 1) for part in cast("list[Any]", parts)))
    adapter = _simple_filters().get(str(kind))
    if adapter is None:
        raise ValueError("a filter is equals, in, not_in, prefix or and, and not nested too deeply")
    return adapter.validate_python(content)


@functools.cache
def _simple_filters() -> dict[str, TypeAdapter[Any]]:
    kinds: dict[str, Any] = {"equals": Equals, "in": In, "not_in": NotIn, "prefix": Prefix}
    return {name: TypeAdapter(kind) for name, kind in kinds.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("an object is needed")  # noqa: TRY004 - reported like any other value that does not fit
    return cast("Mapping[str, Any]", value)


def _why(exc: ValueError) -> str:
    if isinstance(exc, ValidationError):
        found = exc.errors(include_url=False, include_input=False)[:5]
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
    return str(exc)


MOST_BYTES = 16 * 1024 * 1024
"""Maximum size of a parcel; a larger file is sent alone."""
MOST_ITEMS = 200

_LOCAL = frozenset({"open", "path"})
"""Fields of an item that are meaningful only on its own machine."""


@dataclass(slots=True)
class MultipartContent:
    """The content of one request: descriptions in order, and each item's bytes by the name of its part."""

    described: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    contents: dict[str, tuple[str, bytes, str]] = field(default_factory=dict[str, tuple[str, bytes, str]])
    size: int = 0

    def add(self, item: SourceItem | SkippedFile) -> None:
        """Add an item; one that cannot be read is added as a skipped file."""
        if isinstance(item, SourceItem):
            try:
                with item.open() as stream:
                    content = stream.read()
            except OSError as exc:
                item = _inaccessible(item, exc)
            else:
                part = f"file{len(self.contents)}"
                self.contents[part] = (part, content, "application/octet-stream")
                self.described.append(
                    {"part": part, "digest": hashlib.sha256(content).hexdigest(), "item": describe(item)}
                )
                self.size += len(content)
                return
        self.described.append({"skipped": codec_of(SkippedFile).encode(item)})


def pack(items: Iterable[SourceItem | SkippedFile]) -> Iterator[MultipartContent]:
    """Pack items into parcels, in order; each item is read when it is added. At least one parcel is yielded."""
    parcel = MultipartContent()
    made = False
    for item in items:
        size = item.size if isinstance(item, SourceItem) else 0
        if parcel.described and (parcel.size + size > MOST_BYTES or len(parcel.described) >= MOST_ITEMS):
            yield parcel
            parcel, made = MultipartContent(), True
        parcel.add(item)
    if parcel.described or not made:
        yield parcel


def describe(item: SourceItem) -> dict[str, Any]:
    """Describe an item without its bytes."""
    return {name: codec.encode(getattr(item, name)) for name, codec in _item_codecs().items()}


def build_item(description: Mapping[str, Any], local: Mapping[str, Any]) -> SourceItem:
    """Build an item from its description and its local fields: `open`, and `path` if there is one.

    Raises:
        ValueError: a field is missing or of another type.
    """
    values = {name: codec.decode(description[name]) for name, codec in _item_codecs().items() if name in description}
    try:
        return SourceItem(**values, **local)
    except TypeError as exc:
        raise ValueError(f"no item: {exc}") from exc


@functools.cache
def _item_codecs() -> dict[str, Codec]:
    hints = get_type_hints(SourceItem)
    return {each.name: codec_of(hints[each.name]) for each in fields(SourceItem) if each.name not in _LOCAL}


def merge_reports(reports: Sequence[IngestReport], seconds: float) -> IngestReport:
    """Combine the reports of several parcels into one."""
    first = reports[0] if reports else IngestReport()
    return replace(
        first,
        documents=tuple(each for report in reports for each in report.documents),
        planned=tuple(each for report in reports for each in report.planned),
        skipped=tuple(each for report in reports for each in report.skipped),
        failed=tuple(each for report in reports for each in report.failed),
        seconds=seconds,
        embedding_tokens=sum(report.embedding_tokens for report in reports),
        billed_tokens=sum(report.billed_tokens for report in reports),
        editions=tuple(each for report in reports for each in report.editions),
    )


def deduct_cost(options: IngestOptions, reports: Sequence[IngestReport]) -> IngestOptions:
    """Subtract the cost of earlier parcels from the limit of a run."""
    if options.max_cost is None:
        return options
    return replace(options, max_cost=max(options.max_cost - sum(report.cost or 0.0 for report in reports), 0.0))


def _inaccessible(item: SourceItem, exc: OSError) -> SkippedFile:
    reason = exc.strerror or type(exc).__name__
    message = f"The file cannot be read: {reason}."
    return SkippedFile(item.uri, UnreadableReason.INACCESSIBLE.value, message, "Check its permissions.")
