"""A person's decisions about links and rows: stored in a file per pair of sets, and respected by later runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.jobs.jobs import Jobs
from knowledge_mcp.model.chunk import text_key
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.source import MOST_BYTES
from knowledge_mcp.support.files import make_private_folder, read_whole_text, write_atomically
from knowledge_mcp.support.locks import hold_lock


class MarkKind(StrEnum):
    """How a person marks a row."""

    APPLICABLE = "applicable"
    NOT_APPLICABLE = "not-applicable"
    CONDITIONAL = "conditional"
    INFORMATIVE = "informative"


@dataclass(frozen=True, slots=True)
class RowMark:
    """A person's mark of an obligation, by its id and text, with a note."""

    row: str
    text: str
    kind: MarkKind | None
    note: str = ""


def as_mark_kind(text: str) -> MarkKind | None:
    """Parse the mark of a row; None for an empty text.

    Raises:
        InvalidInputError: it is not a valid mark.
    """
    word = "-".join(text.strip().lower().replace("_", " ").split())
    if word and word not in set(MarkKind):
        raise InvalidInputError(
            f"'{text.strip()[:60]}' is not a decision.", suggestion=f"Use {', '.join(MarkKind)}, or leave it empty."
        )
    return MarkKind(word) if word else None


class Decisions:
    """Stores the decisions about two sets in one file, which several processes may share.

    Args:
        path: of the file; it need not exist.
        locks: folder of the locks of this machine.
    """

    def __init__(self, path: Path, locks: Path) -> None:
        self.path, self._locks = path, locks

    @classmethod
    def about(cls, folder: Path, what: str, source: str, target: str) -> Decisions:
        """Return the decisions about two sets, in a data folder.

        Args:
            folder: DATA_PATH.
            what: `trace` or `check`.
            source, target: the two sets: paths, or a collection and the id of a document in it.
        """
        digest = text_key(f"{source}\0{target}")[:32]
        return cls(folder / "decisions" / f"{what}-{digest}.json", folder / "locks")

    # ---- links

    def links(self) -> dict[tuple[str, str], bool]:
        """Return the accepted (True) and rejected (False) links, by ids.

        Raises:
            InvalidInputError: the file contains something else.
        """
        return self._read(_link, "decisions")

    def decide(self, decisions: Mapping[tuple[str, str], bool | None]) -> dict[tuple[str, str], bool]:
        """Accept links, reject them, or undo that (None), also for later runs; return all decisions.

        Raises:
            InvalidInputError: the file contains something else, or cannot be written.
        """
        return self._change(
            _link, "decisions", decisions, lambda pair, accepted: {"from": pair[0], "to": pair[1], "accepted": accepted}
        )

    # ---- rows

    def marks(self) -> list[RowMark]:
        """List the marks of the rows of a check; errors as `links`."""
        return list(self._read(_mark, "marks").values())

    def mark(self, marks: Sequence[RowMark]) -> list[RowMark]:
        """Set the marks of rows; a mark without kind and note removes the existing one. Errors as `decide`."""
        changes = {(each.row, each.text): each if each.kind or each.note else None for each in marks}
        return list(self._change(_mark, "marks", changes, lambda _, mark: _mark_row(mark)).values())

    # ---- the file

    def _read(self, read: Callable[[Any], tuple[tuple[str, str], Any]], what: str) -> dict[tuple[str, str], Any]:
        try:
            rows: list[Any] = json.loads(read_whole_text(self.path, most=MOST_BYTES)) if self.path.exists() else []
            return dict(map(read, rows))
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as exc:
            message = f"{self.path} contains no {what}: {exc}."
            raise InvalidInputError(message, suggestion="Move it away, or choose another file.") from exc

    def _change(
        self,
        read: Callable[[Any], tuple[tuple[str, str], Any]],
        what: str,
        changes: Mapping[tuple[str, str], Any],
        row: Callable[[tuple[str, str], Any], Mapping[str, Any]],
    ) -> dict[tuple[str, str], Any]:
        try:
            with hold_lock(self._locks, f"decisions:{self.path.resolve()}"):
                values = {**self._read(read, what), **changes}
                values = {key: value for key, value in values.items() if value is not None}
                if not self.path.parent.exists():
                    make_private_folder(self.path.parent)
                text = json.dumps([row(*each) for each in values.items()], indent=1, ensure_ascii=False) + "\n"
                write_atomically(self.path, text.encode("utf-8", "replace"), durable=True)
        except OSError as exc:
            message = f"{self.path} cannot be written: {exc.strerror or exc}."
            raise InvalidInputError(message, suggestion="Choose another location.") from exc
        return values


@dataclass(frozen=True, slots=True)
class Reviews:
    """What outlives a call that compares documents.

    Attributes:
        jobs: the runs.
        decisions: returns the decisions of `trace` or `check` about the ids of two documents.
    """

    jobs: Jobs
    decisions: Callable[[str, str, str], Decisions]

    def warm_up(self) -> None:
        """Resume the runs that another process left."""
        self.jobs.recover()

    def close(self) -> None:
        """Stop the runs immediately; the next start resumes them."""
        self.jobs.close(0.0)


def _link(row: Any) -> tuple[tuple[str, str], bool]:
    return (str(row["from"]), str(row["to"])), bool(row["accepted"])


def _mark(row: Any) -> tuple[tuple[str, str], RowMark]:
    kind = MarkKind(row["mark"]) if row["mark"] else None
    return (row["row"], row["requirement"]), RowMark(row["row"], row["requirement"], kind, row["note"])


def _mark_row(each: RowMark) -> dict[str, str]:
    mark = each.kind.value if each.kind else ""
    return {"row": each.row, "requirement": each.text, "mark": mark, "note": each.note}
