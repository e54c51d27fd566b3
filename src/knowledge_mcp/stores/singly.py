"""Whole documents one after another, for stores that gain nothing by writing several at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from knowledge_mcp.model.publication import WholeDocument
from knowledge_mcp.ports import Store

__all__ = ["publish_singly"]


def publish_singly(
    store: Store, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
) -> None:
    """Stage and publish each document, as `Store.publish_whole` says."""
    for each in documents:
        generation = secrets.token_hex(16)
        store.discard_staged(collection, each.record.id)
        if each.chunks:
            store.stage(collection, each.record.id, generation, each.chunks)
        store.publish(collection, each.record, each.text, generation, each.structure)
        on_published(each.record.id)
