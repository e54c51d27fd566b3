"""A ChromaDB store that compares, before it is closed, what a specification wants to find with what it holds."""

from __future__ import annotations

from typing import Any

from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.stores.chroma.profiles import Profile
from knowledge_mcp.stores.chroma.store import ChromaStore


class Checked(ChromaStore):
    """Compare the copy with what the store holds, as the library itself shows it, before it is closed."""

    def close(self) -> None:
        for name, profile in self.profiles.items():
            self._compare(name, profile)
        super().close()

    def _compare(self, name: str, profile: Profile) -> None:
        try:
            if self.open(name).info() is None:
                return
        except ConnectionFailedError:  # closed already, or never opened
            return

        def contents(table: str) -> dict[str, str]:
            found: Any = self.connection.call(
                lambda client: client.get_collection(table, embedding_function=None).get()
            )
            return dict(zip(found["ids"], found["documents"], strict=True))

        records = self.open(name).documents()
        assert contents(profile.documents) == {each.id: each.title for each in records}
        chunks = [chunk for each in records for chunk in self.open(name).chunks("document", [each.id])]
        assert contents(profile.chunks) == {each.id: each.content for each in chunks}
