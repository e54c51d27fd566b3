"""The bookmarks of a Word document, and the references to them: to a clause, a caption, or only a place."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.document import Reference, ReferenceKind
from knowledge_mcp.readers.shared.assembly import DocumentBuilder


class Bookmarks:
    """Collect bookmarks and references while a document is read; `resolve` then writes both.

    Attributes:
        waiting: names of bookmarks that belong to the next paragraph.
        references: references whose targets begin with "#", the name of a bookmark.
    """

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.references: list[Reference] = []
        self._targets: dict[str, tuple[ReferenceKind, str]] = {}
        self._places: dict[str, int] = {}

    def mean(self, names: Sequence[str], kind: ReferenceKind, target: str) -> None:
        """Let bookmarks stand for a clause or a caption."""
        self._targets.update(dict.fromkeys(names, (kind, target)))

    def place(self, names: Sequence[str], before: int) -> None:
        """Record where bookmarks are: in the block that begins after `before` characters."""
        for name in names:
            self._places.setdefault(name, before + 2 if before else 0)

    def resolve(self, builder: DocumentBuilder) -> None:
        """Write the places of bookmarks, and the references to them."""
        for name, place in self._places.items():
            if not name.startswith("_"):  # bookmarks that Word makes itself, by the hundred
                builder.anchor([name], place)
        for reference in self.references:
            name = reference.target.removeprefix("#")
            if name in self._targets:
                builder.reference(Reference(reference.text, *self._targets[name], reference.span))
            elif name in self._places:
                builder.anchor([name], self._places[name])
                builder.reference(reference)
