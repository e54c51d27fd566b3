"""Which names change when collections are renamed together, and which such wishes cannot be met; for every store."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError

__all__ = ["checked_renames"]


def checked_renames(names: Mapping[str, str], present: Collection[str]) -> dict[str, str]:
    """Return the entries that change something, once all can be done together.

    Args:
        names: new names by present ones.
        present: the names of all collections.

    Raises:
        NotFoundError: a collection to be renamed is not there.
        InvalidInputError: two would get one name, or a name is taken by a collection that keeps it.
    """
    for old in names:
        if old not in present:
            raise NotFoundError(f"There is no collection '{old}'.")
    changed = {old: new for old, new in names.items() if old != new}
    after = [*changed.values(), *(name for name in present if name not in changed)]
    for new in changed.values():
        if after.count(new) > 1:
            raise InvalidInputError(
                f"There would be two collections named '{new}'.",
                suggestion="Choose another name, or drop that one first.",
            )
        if not new:
            raise InvalidInputError("A collection needs a name.")
    return changed
