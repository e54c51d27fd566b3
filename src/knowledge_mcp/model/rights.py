"""Read permissions: collections by pattern, and documents by the groups that may read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError

ALLOWED = "allowed_groups"
"""Metadata key of a record: the groups that may read a document, separated by commas; if missing, everyone may."""

EVERYBODY = "*"
"""Stands for every group: a document that everyone may read, or a reader who sees the documents of all groups."""

_LONGEST = 200


def names_one(patterns: Iterable[str], what: str) -> bool:
    """Return whether a pattern (`*`, `?`, `[…]`) matches a collection.

    Names with a colon, such as `engine:standards`, are not collections: only `*`, or a pattern that begins with the
    part up to the colon, matches them.
    """
    kind, colon, _ = what.partition(":")
    return any(
        fnmatchcase(what, pattern) and (pattern == EVERYBODY or not colon or pattern.startswith(f"{kind}:"))
        for pattern in patterns
    )


def allowed_label(groups: Iterable[str]) -> str:
    """Write the groups that may read a document as its metadata stores them.

    Raises:
        InvalidInputError: no group is given, or a name is not allowed.
    """
    names = sorted({group.strip() for group in groups})
    for group in names:
        if not group or "," in group or not group.isprintable() or len(group) > _LONGEST:
            raise InvalidInputError(
                f"'{group[:60]}' is not a group name.", suggestion="Use a name as in the tokens, without a comma."
            )
    if not names or (EVERYBODY in names and len(names) > 1):
        raise InvalidInputError(
            "The groups are missing or contradictory.", suggestion="Give group names, or `*` alone for everybody."
        )
    return ", ".join(names)


def may_see(record: DocumentRecord, groups: frozenset[str]) -> bool:
    """Return whether a document is for everyone, or for one of these groups; `*` sees all."""
    return admits(record.label(ALLOWED), groups)


def admits(label: str, groups: frozenset[str]) -> bool:
    """Return the same for a document's `ALLOWED` label, which is empty if everyone may read it."""
    if not label or EVERYBODY in groups:
        return True
    allowed = {each.strip() for each in label.split(",")}
    return EVERYBODY in allowed or not groups.isdisjoint(allowed)


@dataclass(frozen=True, slots=True)
class Rights:
    """What may be read.

    Attributes:
        read: patterns of collections.
        groups: the reader's groups, for documents that only some groups may read; `*` for all.
        beside: patterns of the other collections that may be searched through an engine; `read` is about its own.
        reach: patterns of further collections that a library finds by name but never lists: those that may be written.
    """

    read: tuple[str, ...] = (EVERYBODY,)
    groups: tuple[str, ...] = (EVERYBODY,)
    beside: tuple[str, ...] = (EVERYBODY,)
    reach: tuple[str, ...] = ()

    def may_read(self, collection: str) -> bool:
        """Return whether a collection may be read."""
        return names_one(self.read, collection)

    def may_reach(self, collection: str) -> bool:
        """Return whether a library finds a collection by its name."""
        return names_one((*self.read, *self.reach), collection)

    @property
    def are_full(self) -> bool:
        """Return whether everything may be read."""
        return all(EVERYBODY in each for each in (self.read, self.groups, self.beside))


FULL_RIGHTS = Rights()
"""Rights of local users of this machine, and of keys without limits."""
