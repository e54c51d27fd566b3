"""What documents state about themselves, field by field: "status: draft" is now "status: approved"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from knowledge_mcp.engine.changes.aligning import ClauseLink


def changed_properties(links: Sequence[ClauseLink]) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield the index of a link with the first clause of a file, and the old and new value, alone and with the name.

    A file belongs to the one that most of its clauses come from. If only one states anything, nothing is compared.
    """
    files = Counter((link.old.file, link.new.file) for link in links if link.old and link.new)
    of_new = {new: old for (old, new), _ in reversed(files.most_common())}
    stated = {link.old.file: dict(link.old.properties) for link in links if link.old and link.old.properties}
    firsts = ((place, link.new) for place, link in enumerate(links) if link.new and link.new.properties)
    for place, first in firsts:
        was, now = stated.get(of_new.get(first.file, ""), {}), dict(first.properties)
        for name in {**was, **now} if was else ():
            before, after = was.get(name, ""), now.get(name, "")
            if before != after:
                lines = [f"{name}: {value}" if value else "" for value in (before, after)]
                yield place, before, after, lines[0], lines[1]
