"""A store for tests of what goes wrong while a document is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from knowledge_mcp.model.collection import WholeDocument
from tests.engine.overridden import OverriddenStore


class PublishingStore(OverriddenStore):
    """Take documents one by one: a test changes or refuses each in `take`."""

    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        for each in documents:
            self.take(collection, each)
            on_published(each.record.id)

    def take(self, collection: str, new: WholeDocument) -> None:
        """Publish a document."""
        super().publish(collection, [new], lambda _: None)
