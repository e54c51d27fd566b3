"""A store for tests of what goes wrong while a document is published."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure
from knowledge_mcp.stores.memory import MemoryStore

__all__ = ["Publication", "PublishingStore"]


@dataclass(frozen=True, slots=True)
class Publication:
    """Hold what one call of `Store.publish` was given."""

    collection: str
    record: DocumentRecord
    text: str
    generation: str
    structure: DocumentStructure


class PublishingStore(MemoryStore):
    """Take each publication as one value: a test changes or refuses it in `take`."""

    def publish(
        self,
        collection: str,
        record: DocumentRecord,
        text: str,
        generation: str,
        structure: DocumentStructure = NO_STRUCTURE,
    ) -> None:
        self.take(Publication(collection, record, text, generation, structure))

    def take(self, new: Publication) -> None:
        """Publish what is staged."""
        super().publish(new.collection, new.record, new.text, new.generation, new.structure)
