"""What somebody may read: collections by pattern, and documents by the groups that they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError

ALLOWED = "allowed_groups"
"""Name in a record's metadata: the groups that a document is for, by comma; where it is missing, it is for all."""

EVERYBODY = "*"
"""In place of a group's name: a document that is for all again, a reader who sees the documents of all groups."""

_LONGEST = 200


def names_one(patterns: Iterable[str], what: str) -> bool:
    """Tell whether a pattern (`*`, `?`, `[…]`) names a collection.

    What is no collection has a name with a colon, such as `engine:standards`: only `*`, or a pattern that begins with
    what stands up to the colon, names it.
    """
    kind, colon, _ = what.partition(":")
    return any(
        fnmatchcase(what, pattern) and (pattern == EVERYBODY or not colon or pattern.startswith(f"{kind}:"))
        for pattern in patterns
    )


def allowed_label(groups: Iterable[str]) -> str:
    """Write the groups that a document is for, as its metadata keep them.

    Raises:
        InvalidInputError: none is named, or one cannot be.
    """
    names = sorted({group.strip() for group in groups})
    for group in names:
        if not group or "," in group or not group.isprintable() or len(group) > _LONGEST:
            raise InvalidInputError(
                f"'{group[:60]}' is no name of a group.", suggestion="Name one as tokens do, without a comma."
            )
    if not names or (EVERYBODY in names and len(names) > 1):
        raise InvalidInputError("The groups are not clear.", suggestion="Name groups, or `*` alone for everybody.")
    return ", ".join(names)


def may_see(record: DocumentRecord, groups: frozenset[str]) -> bool:
    """Tell whether a document is for all, or for one of these groups; `*` sees all."""
    return admits(record.label(ALLOWED), groups)


def admits(label: str, groups: frozenset[str]) -> bool:
    """Tell it by what a document's metadata say of it (`ALLOWED`), empty where they say nothing."""
    if not label or EVERYBODY in groups:
        return True
    allowed = {each.strip() for each in label.split(",")}
    return EVERYBODY in allowed or not groups.isdisjoint(allowed)


@dataclass(frozen=True, slots=True)
class Rights:
    """Say what may be read.

    Attributes:
        read: patterns of the collections.
        groups: whose documents are seen, where a document is for some groups only; `*` for all.
        beside: patterns of the collections that an engine may be asked for beside its own, where `read` is of that one.
        reach: patterns of the collections that a library finds by name beside those in `read`, and never lists: those
            that may be written.
    """

    read: tuple[str, ...] = (EVERYBODY,)
    groups: tuple[str, ...] = (EVERYBODY,)
    beside: tuple[str, ...] = (EVERYBODY,)
    reach: tuple[str, ...] = ()

    def may_read(self, collection: str) -> bool:
        """Tell whether a collection may be read."""
        return names_one(self.read, collection)

    def may_reach(self, collection: str) -> bool:
        """Tell whether a library finds a collection by its name."""
        return names_one((*self.read, *self.reach), collection)

    @property
    def are_full(self) -> bool:
        """Tell whether everything may be read."""
        return all(EVERYBODY in each for each in (self.read, self.groups, self.beside))


FULL_RIGHTS = Rights()
"""Of whoever uses this machine, and of keys without limits."""
