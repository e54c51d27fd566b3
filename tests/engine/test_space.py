"""A collection that another process puts in the live one's place is never compared with the old one's vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.model.errors import SpaceMismatchError
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.world import VALVES, World


@pytest.mark.parametrize("dimensions", [384, 256])
def test_a_collection_swapped_under_a_running_server_is_noticed(tmp_path: Path, dimensions: int) -> None:
    world = World(tmp_path).holding({"valves.md": VALVES})
    query = SearchQuery("gate valve")
    assert world.knowledge.search(query).hits
    embedder = HashingEmbedder(model="another one", dimensions=dimensions)
    World(tmp_path, store=world.store, embedder=embedder, collection="kb.next").ingest()
    world.store.rename_collections({"kb": "kb.old", "kb.next": "kb"})
    with pytest.raises(SpaceMismatchError, match="another one") as caught:
        world.knowledge.search(query)
    assert caught.value.suggestion == "Set EMBEDDING_MODEL=another one, or choose another collection."
    with pytest.raises(SpaceMismatchError, match="another one"):
        world.knowledge.lookup("no such term at all")
    assert World(tmp_path, store=world.store, embedder=embedder).knowledge.search(query).hits
