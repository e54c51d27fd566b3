"""How much a ChromaDB collection holds: after a first count only what was published since is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_mcp.model.errors import TimedOutError
from knowledge_mcp.stores.chroma_places import Place
from knowledge_mcp.stores.chroma_writing import document_entry, visible_of
from knowledge_mcp.stores.payload import record_from_json

if TYPE_CHECKING:
    from knowledge_mcp.stores.chroma_view import View

__all__ = ["Totals"]

_AT_ONCE = 500
_TRIES = 50


class Totals:
    """Count documents, chunks and tokens of one collection as its view has them; called with the view's lock held."""

    def __init__(self) -> None:
        self._change: str | None = None
        self._tokens: dict[str, tuple[str, int]] = {}
        self._counted = (0, 0, 0)

    def count(self, place: Place, view: View) -> tuple[int, int, int]:
        """Return the visible documents, chunks and tokens.

        Raises:
            TimedOutError: documents are replaced faster than they can be counted.
        """
        for number in range(_TRIES):
            view.refresh(again=number > 0)
            if self._change == view.change or self._follow(place, view):
                return self._counted
        raise TimedOutError("Documents are replaced faster than they can be counted.")

    def _follow(self, place: Place, view: View) -> bool:
        """Read the records that are new; False where one was replaced before it was read."""
        visible = {document_entry(document_id): token for document_id, token in view.generations.items()}
        self._tokens = {entry: known for entry, known in self._tokens.items() if visible.get(entry) == known[0]}
        new = [entry for entry in visible if entry not in self._tokens]
        for start in range(0, len(new), _AT_ONCE):
            for found in place.documents.rows(ids=new[start : start + _AT_ONCE]):
                if visible_of(found) == visible[found.id]:
                    tokens = record_from_json(str(found.metadata["record"])).token_count
                    self._tokens[found.id] = (visible[found.id], tokens)
        if len(self._tokens) < len(visible):
            return False
        self._counted = (len(visible), view.chunks, sum(tokens for _, tokens in self._tokens.values()))
        self._change = view.change
        return True
