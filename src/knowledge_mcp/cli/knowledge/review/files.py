"""What commands that compare documents share: options, files of a folder, ingested documents, decisions, writing."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.cli.shared.output import write_file
from knowledge_mcp.engine.tracing.decisions import Decisions
from knowledge_mcp.engine.tracing.readings import ReadDocument
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError, UnreadableDocumentError
from knowledge_mcp.support.files import walk_folders
from knowledge_mcp.support.wording import how_many, list_first

if TYPE_CHECKING:
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings

T = TypeVar("T")

AsCsv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a CSV file.", dir_okay=False)]
AsXlsx = Annotated[Path | None, typer.Option("--xlsx", metavar="FILE", help="Write an Excel workbook.", dir_okay=False)]
AsHtml = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write an HTML page to read and print.", dir_okay=False)
]
ColumnNames = Annotated[
    str | None,
    typer.Option(metavar="ROLE=NAME,...", help="Names of the columns in tables: id, title, text, links."),
]

_MAX_LISTED = 5


def files_below(folder: Path, skipped: list[str]) -> list[tuple[Path, str]]:
    """List every file below a folder with its path inside it, in order; hidden ones are left out.

    Args:
        folder: where to look.
        skipped: is given the folders that are closed to us.
    """

    def note(error: OSError, mark: str = "/") -> None:
        inside = Path(error.filename).relative_to(folder).as_posix()
        skipped.append(f"{inside}{mark} ({error.strerror or 'it cannot be read'})")

    found: list[Path] = []
    for place, folders, files in walk_folders(folder, note):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for path in (Path(place) / each for each in files if not each.startswith(".")):
            try:
                if path.is_file():
                    found.append(path)
            except OSError as error:  # such as a path too long for the system
                note(error, "")
    return [(path, path.relative_to(folder).as_posix()) for path in sorted(found)]


def name_skipped(name: str, error: KnowledgeError) -> str:
    """Name a file that was not read, with the reason."""
    return f"{name} ({error.problem.rstrip('.')})"


def report_skipped(action: str, folder: Path, skipped: Sequence[str]) -> None:
    """List the first few files of a folder to which an action ("compared", "traced") was not applied."""
    if skipped:
        notify(f"Not {action} in {folder}: {list_first(skipped, _MAX_LISTED)}.")


def read_below(folder: Path, action: str, read: Callable[[Path, str], T | None]) -> Iterator[T]:
    """Yield the reading of each file below a folder, and report files that are not read.

    Args:
        folder: where to look.
        action: what is not done with other files ("compared").
        read: takes a file and its path inside the folder; returns None for a file of no kind that is read.
    """
    skipped: list[str] = []
    for path, name in files_below(folder, skipped):
        try:
            found = read(path, name)
        except (UnreadableDocumentError, InvalidInputError) as exc:
            skipped.append(name_skipped(name, exc))
            continue
        if found is None:
            skipped.append(name)
        else:
            yield found
    report_skipped(action, folder, skipped)


def read_file(settings: Settings, path: Path, name: str) -> ReadDocument:
    """Read a file that need not be ingested; reports on stderr which of its pages were not read."""
    from knowledge_mcp.cli.knowledge.inspect import inspect_file

    inspected = inspect_file(settings, path)
    if inspected.lost:
        lost = how_many(len(inspected.lost), "page was", "pages were")
        notify(f"{name}: {lost} not read; their text is not considered.")
    document = inspected.document
    return ReadDocument(name, document.text, inspected.structure, inspected.chunks, metadata=document.metadata)


@contextmanager
def open_ingested(settings: Settings, name: str) -> Generator[Knowledge]:
    """Open the knowledge base to read the document `name`, which was no file and no folder.

    Raises:
        NotFoundError: there is no such document either.
    """
    from knowledge_mcp import wiring

    with closing(wiring.build_knowledge(settings)) as knowledge:
        try:
            yield knowledge
        except NotFoundError as exc:
            raise NotFoundError(
                f"There is no file, folder or document '{name}'.",
                details=exc.message,
                suggestion="Check the path; `knowledge documents list` shows the ids.",
            ) from exc


def write_results(outputs: Mapping[Path | None, Callable[[], str | bytes]]) -> bool:
    """Write each requested file, and say so; returns whether there was any.

    Args:
        outputs: what makes the content, by where it is to be written; None for what was not requested.

    Raises:
        InvalidInputError: it cannot be written there.
    """
    requested = {path: content for path, content in outputs.items() if path is not None}
    for path, content in requested.items():
        write_file(path, content())
        notify(f"Wrote {path}.")
    return bool(requested)


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


def update_decisions(
    decisions: Decisions,
    accept: Sequence[str],
    reject: Sequence[str],
    sources: Collection[str],
    targets: Collection[str],
) -> dict[tuple[str, str], bool]:
    """Read the stored decisions, add the new ones, store them, and report where.

    Args:
        decisions: where they are stored.
        accept: links as FROM=TO; an id that has `=` in it ends at the last one.
        reject: the same.
        sources, targets: ids of the items that there are.

    Raises:
        InvalidInputError: the file holds something else or cannot be written, a link is written otherwise, or there is
            no such item.
    """
    changes: dict[tuple[str, str], bool | None] = {}
    for pairs, accepted in ((accept, True), (reject, False)):
        for pair in pairs:
            source, mark, target = pair.rpartition("=")
            if not mark or not source.strip() or not target.strip():
                raise InvalidInputError(
                    f"'{pair}' is not a link.", suggestion="Write FROM=TO with the ids of two items."
                )
            for name, side, ids in ((source.strip(), "FROM", sources), (target.strip(), "TO", targets)):
                if name not in ids:
                    near = difflib.get_close_matches(name, ids, 3)
                    hint = f"Did you mean {', '.join(near)}?" if near else "Use --json to list the ids."
                    raise InvalidInputError(f"There is no item '{name}' in {side}.", suggestion=hint)
            changes[source.strip(), target.strip()] = accepted
    decided = decisions.decide(changes) if changes else decisions.links()
    if decided:
        what, where = ("kept", "in") if changes else ("respected", "of")
        notify(f"Decisions {what}: {len(decided)}, {where} {decisions.path}.")
    return decided
