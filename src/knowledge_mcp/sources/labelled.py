"""A source whose items all carry what whoever ingests them says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Source


@dataclass(frozen=True, slots=True)
class LabelledSource:
    """Add labels to every item of another source (`Source`)."""

    source: Source
    labels: tuple[tuple[str, str], ...]

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield what the other source yields."""
        for item in self.source.items():
            yield item if isinstance(item, SkippedFile) else replace(item, labels=(*item.labels, *self.labels))
