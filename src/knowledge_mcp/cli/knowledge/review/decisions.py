"""What a person decided about links: kept in a file of theirs, else in DATA_PATH, and respected by every later run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.failures import say
from knowledge_mcp.engine.tracing.checking import MarkKind, RowMark
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.files import make_private_folder, write_whole

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

__all__ = ["decided_links", "decisions_file", "keep_marks", "kept_marks"]


def decisions_file(settings: Settings, source: str, target: str, *, what: str = "trace") -> Path:
    """Name the file in DATA_PATH of what is decided about two sets: by their places, or by their ids and collection."""
    names = [
        str(Path(each).resolve()) if Path(each).exists() else f"{settings.collection}/{each}"
        for each in (source, target)
    ]
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return settings.data_folder / "decisions" / f"{what}-{digest}.json"


def decided_links(path: Path, accept: Sequence[str], reject: Sequence[str]) -> dict[tuple[str, str], bool]:
    """Read what was decided, add what is decided now, and keep it; tells where.

    Args:
        path: the file; it may not exist yet.
        accept: links as FROM=TO; an id that has `=` in it ends at the last one.
        reject: the same.

    Raises:
        InvalidInputError: the file holds something else or cannot be written, or a link is written otherwise.
    """
    try:
        held: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        decided = {(str(each["from"]), str(each["to"])): bool(each["accepted"]) for each in held}
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise InvalidInputError(f"{path} holds no decisions: {exc}.", suggestion="Choose another file.") from exc
    for pairs, accepted in ((accept, True), (reject, False)):
        for pair in pairs:
            source, mark, target = pair.rpartition("=")
            if not mark or not source.strip() or not target.strip():
                raise InvalidInputError(f"'{pair}' names no link.", suggestion="Write FROM=TO with the items' ids.")
            decided[source.strip(), target.strip()] = accepted
    if accept or reject:
        _keep(path, decided)
    elif decided:
        say(f"Decisions respected: {len(decided)}, of {path}.")
    return decided


def kept_marks(path: Path) -> list[RowMark]:
    """Read the marks that a person gave rows of a check.

    Raises:
        InvalidInputError: the file holds something else.
    """
    try:
        held: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [
            RowMark(each["row"], each["requirement"], MarkKind(each["mark"]) if each["mark"] else None, each["note"])
            for each in held
        ]
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise InvalidInputError(f"{path} holds no marks: {exc}.", suggestion="Move it away, and mark again.") from exc


def keep_marks(path: Path, marks: Sequence[RowMark]) -> None:
    """Keep marks for later runs; tells where.

    Raises:
        InvalidInputError: they cannot be written.
    """
    rows = [
        {"row": each.row, "requirement": each.text, "mark": each.kind.value if each.kind else "", "note": each.note}
        for each in marks
    ]
    _write(path, rows)
    say(f"Marks kept: {len(marks)}, in {path}.")


def _keep(path: Path, decided: dict[tuple[str, str], bool]) -> None:
    _write(path, [{"from": one, "to": other, "accepted": yes} for (one, other), yes in sorted(decided.items())])
    say(f"Decisions kept: {len(decided)}, in {path}.")


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    try:
        if not path.parent.exists():
            make_private_folder(path.parent)
        write_whole(
            path, (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"), durable=True
        )
    except OSError as exc:
        raise InvalidInputError(
            f"{path} cannot be written: {exc.strerror or exc}.", suggestion="Choose another place."
        ) from exc
