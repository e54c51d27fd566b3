"""Creates the ChromaDB store from the settings; importing this module does not need the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.ports import Analyser
from knowledge_mcp.support.distribution import Secret

if TYPE_CHECKING:
    from knowledge_mcp.stores.chroma.store import ChromaStore
    from knowledge_mcp.stores.shared.index_memory import IndexMemory


class ChromaOptions(Protocol):
    """The settings that an address needs."""

    chromadb_path: Path
    chromadb_host: str | None
    chromadb_port: int
    chromadb_ssl: bool

    @property
    def chromadb_token(self) -> Secret | None: ...


def from_options(options: ChromaOptions, analyser: Analyser, memory: IndexMemory | None = None) -> ChromaStore:
    """Create the store that the settings specify; it opens ChromaDB at its first call."""
    from knowledge_mcp.stores.chroma.client import Address
    from knowledge_mcp.stores.chroma.store import ChromaStore

    token = options.chromadb_token
    address = Address(
        path=options.chromadb_path,
        host=options.chromadb_host,
        port=options.chromadb_port,
        ssl=options.chromadb_ssl,
        token=None if token is None else token.get_secret_value(),
    )
    return ChromaStore(address, analyser, memory=memory)
