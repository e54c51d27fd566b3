"""An ingest's files on their way to a remote engine: packed into requests of a bearable size, and unpacked there.

A request is multipart: a part `request` of JSON that describes every item in order, and one part for each item's bytes.
The answer is a stream of lines, each a JSON object: events as they happen, at the end the report or the error.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_type_hints

from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.ingest import IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.remote.values import Codec, codec_of

__all__ = ["Parcel", "described", "joined", "opened", "packed", "what_is_left"]

MOST_BYTES = 16 * 1024 * 1024
"""A parcel is closed before it would hold more; a larger file travels alone."""
MOST_ITEMS = 200

_LOCAL = frozenset({"open", "path"})
"""What of an item means something on its own machine only."""

_SKIPPED = codec_of(SkippedFile)


@dataclass(slots=True)
class Parcel:
    """Hold what goes into one request: descriptions in order, and each item's bytes by the name of its part."""

    described: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    contents: dict[str, tuple[str, bytes, str]] = field(default_factory=dict[str, tuple[str, bytes, str]])
    size: int = 0

    def add(self, item: SourceItem | SkippedFile) -> None:
        """Put an item in; one whose bytes cannot be had goes as a file that is skipped."""
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
                    {"part": part, "digest": hashlib.sha256(content).hexdigest(), "item": described(item)}
                )
                self.size += len(content)
                return
        self.described.append({"skipped": _SKIPPED.encode(item)})


def packed(items: Iterable[SourceItem | SkippedFile]) -> Iterator[Parcel]:
    """Pack items in order; reads each one's bytes when its parcel is made, and at least one parcel is made."""
    parcel = Parcel()
    made = False
    for item in items:
        size = item.size if isinstance(item, SourceItem) else 0
        if parcel.described and (parcel.size + size > MOST_BYTES or len(parcel.described) >= MOST_ITEMS):
            yield parcel
            parcel, made = Parcel(), True
        parcel.add(item)
    if parcel.described or not made:
        yield parcel


def described(item: SourceItem) -> dict[str, Any]:
    """Describe an item without its bytes."""
    return {name: codec.encode(getattr(item, name)) for name, codec in _described().items()}


def opened(told: Mapping[str, Any], local: Mapping[str, Any]) -> SourceItem:
    """Build an item from its description and from what is local: `open`, and `path` where there is one.

    Raises:
        ValueError: a field is missing or of another type.
    """
    values = {name: codec.decode(told[name]) for name, codec in _described().items() if name in told}
    try:
        return SourceItem(**values, **local)
    except TypeError as exc:
        raise ValueError(f"no item: {exc}") from exc


@functools.cache
def _described() -> dict[str, Codec]:
    hints = get_type_hints(SourceItem)
    return {each.name: codec_of(hints[each.name]) for each in fields(SourceItem) if each.name not in _LOCAL}


def joined(reports: Sequence[IngestReport], seconds: float) -> IngestReport:
    """Sum up the reports of several parcels as one run's."""
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
    )


def what_is_left(options: IngestOptions, reports: Sequence[IngestReport]) -> IngestOptions:
    """Take what earlier parcels cost off the limit of a run."""
    if options.max_cost is None:
        return options
    return replace(options, max_cost=max(options.max_cost - sum(report.cost or 0.0 for report in reports), 0.0))


def _inaccessible(item: SourceItem, exc: OSError) -> SkippedFile:
    said = exc.strerror or type(exc).__name__
    message = f"{item.name}: The file cannot be read: {said}."
    return SkippedFile(item.uri, UnreadableReason.INACCESSIBLE.value, message, "Check its permissions.")
