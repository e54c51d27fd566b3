"""PORT of syncing: a place that is the truth of the documents that came from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.ingest import LeftOut
from knowledge_mcp.ports.reading import Source


class SyncedSource(Source, Protocol):
    """Look at a place once, and tell what is there now; an instance is used for one sync."""

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        """Find out what is there now; asked once, before everything else. Tells whether there is anything at all.

        Args:
            records: of all documents, whichever source they came from.

        Raises:
            KnowledgeError: it cannot be found out, so that nothing may be concluded from what is not seen.
        """
        ...

    def owns(self, record: DocumentRecord) -> bool:
        """Tell whether a document came from here, whether its place is still there or not."""
        ...

    def is_gone(self, record: DocumentRecord) -> bool:
        """Tell whether the place of a document that came from here is there no more; False where that is not sure."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """Name what is there but could not be had this time, with the reason; known once `items` is at its end."""
        ...

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Count what is there and left alone, because it is no document; known once `items` is at its end."""
        ...

    def close(self) -> None:
        """Free what the sync held; what is remembered for the next one is kept."""
        ...
