"""What a person decides about links and rows on the command line, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp.cli.shared.failures import say
from knowledge_mcp.engine.tracing.decisions import Decisions
from knowledge_mcp.model.errors import InvalidInputError

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings


def decisions_about(settings: Settings, what: str, source: str, target: str, *, file: Path | None = None) -> Decisions:
    """Give what is decided about two sets: in a file, else in DATA_PATH by their places, or their ids and collection.

    Args:
        settings: whose DATA_PATH and collection are meant.
        what: `trace` or `check`.
        source, target: paths, or ids of ingested documents.
        file: instead of the one in DATA_PATH.
    """
    if file is not None:
        return Decisions(file, settings.data_folder / "locks")
    names = [
        str(Path(each).resolve()) if Path(each).exists() else f"{settings.collection}/{each}"
        for each in (source, target)
    ]
    return Decisions.about(settings.data_folder, what, *names)


def decided_links(kept: Decisions, accept: Sequence[str], reject: Sequence[str]) -> dict[tuple[str, str], bool]:
    """Read what was decided, add what is decided now, and keep it; tells where.

    Args:
        kept: where.
        accept: links as FROM=TO; an id that has `=` in it ends at the last one.
        reject: the same.

    Raises:
        InvalidInputError: the file holds something else or cannot be written, or a link is written otherwise.
    """
    given: dict[tuple[str, str], bool | None] = {}
    for pairs, accepted in ((accept, True), (reject, False)):
        for pair in pairs:
            source, mark, target = pair.rpartition("=")
            if not mark or not source.strip() or not target.strip():
                raise InvalidInputError(f"'{pair}' names no link.", suggestion="Write FROM=TO with the items' ids.")
            given[source.strip(), target.strip()] = accepted
    decided = kept.decide(given) if given else kept.links()
    if decided:
        say(f"Decisions {'kept' if given else 'respected'}: {len(decided)}, {'in' if given else 'of'} {kept.path}.")
    return decided
