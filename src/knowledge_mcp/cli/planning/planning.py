"""`knowledge planning`: ingest, list, search, read and delete the documents of applications, for case officers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from knowledge_mcp.cli.planning.folder import FileOutcome, FolderWatch, file_one, look_into, name_below, report_html
from knowledge_mcp.cli.shared.failures import ExitCode, notify, one_line
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import (
    open_console,
    print_table,
    render,
    say,
    write_content,
    write_file,
    write_json,
)
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import StoreOptions, Yes, command_group, confirm_removal, load
from knowledge_mcp.engine.planning.service import EXTENSIONS
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.support.files import is_gone, path_of_text, path_text
from knowledge_mcp.support.wording import how_many, list_first
from knowledge_mcp.surfaces.answers import with_escapes

if TYPE_CHECKING:
    from knowledge_mcp.engine.planning.service import PlanningService

_NO_FILE = frozenset({"gone", "removed"})
INTERVAL = 2.0
"""Seconds between two looks at a folder that is watched."""


Ref = Annotated[str, typer.Option("--ref", metavar="REF", help="Planning application, e.g. 25/01178/REM.")]


@dataclass(frozen=True)
class FolderChoices:
    """The command line of `knowledge planning ingest`."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", readable=False, help="Folder of documents, or one file.")]
    ref: Ref
    document_type: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Type of all documents. Default: detected for each document."),
    ] = None
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Include subfolders.")] = True
    force_ocr: Annotated[
        bool, typer.Option("--force-ocr", help="Read every page by OCR, and read image-based documents too.")
    ] = False
    ocr_language: Annotated[
        str | None, typer.Option("--ocr-language", metavar="LANG", help="Languages of scans, e.g. eng or eng+cym.")
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and ingest new and changed files, until Ctrl-C.")
    ] = False
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose files were deleted from the folder.")
    ] = False
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write an HTML report, with images of the pages that were not read."
        ),
    ] = None


class FolderRun:
    """File every document of a folder for one application; an instance is used once.

    Args:
        service: ingests them.
        choices: the options of the command.
        as_json: write the outcomes as JSON.
        pause: waits between two looks at a watched folder; False ends the watching.

    Raises:
        InvalidInputError: reference, type or languages are such as no tool would take.
    """

    def __init__(
        self,
        service: PlanningService,
        choices: FolderChoices,
        *,
        as_json: bool = False,
        pause: Callable[[], bool] | None = None,
    ) -> None:
        from knowledge_mcp.surfaces.planning.shapes import IngestDocumentRequest

        self._service = service
        self._choices = choices
        self._asked = load(
            IngestDocumentRequest,
            file_path="/",  # of each file in turn
            application_ref=choices.ref,
            document_type=choices.document_type,
            force_ocr=choices.force_ocr,
            ocr_language=choices.ocr_language,
        ).ingest_request()
        self._ref = self._asked.application_ref
        self._as_json = as_json
        self._pause = pause or _wait
        self._outcomes: dict[Path, FileOutcome] = {}
        self._place = Path(os.path.realpath(choices.folder.expanduser()))
        self._left_out: list[Path] = []
        self._watch = FolderWatch(choices.folder, recursive=choices.recursive, report=choices.report)

    def run(self) -> ExitCode:
        """File, summarize, report, watch.

        Raises:
            KnowledgeError: of a kind that every further document would meet too.
        """
        choices = self._choices
        look_into(choices.folder, recursive=choices.recursive)  # raises what nobody would want to watch
        due = self._watch.due(settled=False)
        self._report_skipped()
        if not due and not choices.watch:
            notify(f"No document was found in {path_text(choices.folder)}.")
            if not self._watch.found.closed:
                notify(f"Next: Name a folder that contains files of these types: {', '.join(sorted(EXTENSIONS))}.")
            if self._find_gone():
                self._finish()
            return ExitCode.NOTHING_DONE
        self._file(due)
        self._find_gone()
        self._finish()
        if choices.watch:
            self._go_on()
        return self._exit_code()

    def _report_skipped(self) -> None:
        """Report skipped folders, links and files, each once."""
        found, place = self._watch.found, self._choices.folder
        for paths, heading in (
            (found.closed, "Skipped folders that cannot be read"),
            (found.links, "Skipped links to folders elsewhere; ingest these folders separately"),
            (found.others, "Skipped files of unsupported types"),
        ):
            fresh = [path for path in paths if path not in self._left_out]
            self._left_out += fresh
            if fresh:
                names = [path_text(path) if paths is found.closed else name_below(place, path) for path in fresh]
                notify(f"{heading}: {list_first(names, 10)}")
                if paths is found.closed:
                    notify("Next: Check that they exist and may be read.")

    def _go_on(self) -> None:
        notify(f"Watching {path_text(self._choices.folder)}. Press Ctrl-C to stop.")
        try:
            while self._pause():
                due = self._watch.due()
                self._report_skipped()
                try:
                    if due:
                        self._file(due)
                    if (self._watch.is_settled and self._find_gone()) or due:
                        self._finish()
                except ConnectionFailedError as error:
                    notify(f"{error.message} Still watching; will try again.")
                    self._watch.try_again(due)
        except KeyboardInterrupt:
            notify("Stopped watching.")

    def _find_gone(self) -> bool:
        """List the documents whose files were deleted from the folder, and remove them if requested.

        Nothing is removed where the folder holds no document at all, as one that is not mounted, or where something in
        it cannot be read: what seems gone may lie there.

        Returns:
            Whether there is one that was not named before.
        """
        found = self._watch.found
        there = filter(os.path.exists, found.documents)  # `Path.exists` raises for a place that is closed to us
        unread = [path for path in there if not os.access(path, os.R_OK)]
        is_sure = bool(found.documents) and not found.closed and not unread
        news = False
        for path in [path for path in self._outcomes if is_gone(path) and self._outcomes[path].status not in _NO_FILE]:
            del self._outcomes[path]
        is_folder = os.path.isdir(self._place)  # noqa: PTH112 - `Path.is_dir` raises for a place that is closed to us
        for record in self._service.gone(self._ref, self._place) if is_folder else ():
            path, removes = path_of_text(record.label("file_path")), self._choices.prune and is_sure
            status = "removed" if removes else "gone"
            if path in self._outcomes and self._outcomes[path].status == status:
                continue
            if removes:
                self._service.remove(record.id)
            became = "was removed" if removes else "can still be found"
            answer = {"status": status, "document_id": record.id, "document_type": record.document_type}
            message = f"The file was deleted from the folder; its document {became}."
            self._outcomes[path] = FileOutcome(path, {**answer, "message": message}, 0.0)
            notify(f"{name_below(self._place, path)}: {message}")
            news = True
        if news and not self._choices.prune:
            notify("Next: Pass --prune to remove documents whose files were deleted.")
        elif news and not is_sure:
            notify("Nothing was removed: the folder contains no documents, or parts of it cannot be read.")
        return news

    def _file(self, paths: Sequence[Path]) -> None:
        with WorkBar("percent") as bar, self._service.batch(self._ref) as batch:
            show = _FileProgress(len(paths), bar, self._choices.folder)
            for number, path in enumerate(paths, 1):
                show.begin(number, path)
                line = Call(show.progress, bool)
                outcome = file_one(
                    self._service, replace(self._asked, file_path=str(path)), line, time.perf_counter, batch
                )
                self._outcomes[path] = outcome
                show.end(outcome)
        self._watch.try_again([path for path in paths if self._outcomes[path].may_pass])

    def _finish(self) -> None:
        """Write summary and report of all that was ingested so far."""
        outcomes = [self._outcomes[path] for path in sorted(self._outcomes)]
        if self._as_json:
            documents = [{"file": path_text(each.path), **each.answer} for each in outcomes]
            left_out = [path_text(path) for path in self._left_out]
            write_json({"application_ref": self._ref, "documents": documents, "left_out": left_out})
        else:
            _print_table(outcomes, self._choices.folder)
        if self._choices.report is not None:
            self._write_report(self._choices.report, outcomes)

    def _write_report(self, path: Path, outcomes: Sequence[FileOutcome]) -> None:
        now = datetime.now().astimezone()
        content = report_html(self._ref, self._choices.folder, outcomes, now)
        write_file(path, with_escapes(content))
        notify(f"Report: {path}")

    def _exit_code(self) -> ExitCode:
        failed = any(each.status == "error" for each in self._outcomes.values())
        return ExitCode.FAILURE if failed or self._watch.found.closed else ExitCode.SUCCESS


def _wait() -> bool:
    threading.Event().wait(INTERVAL)
    return True


class _FileProgress:
    """Show how a run moves: a bar for each file on a terminal, a line for each elsewhere; all on stderr."""

    def __init__(self, files: int, bar: WorkBar, place: Path) -> None:
        self._files = files
        self._place = place
        self._bar = bar
        self._name = ""

    def begin(self, number: int, path: Path) -> None:
        self._name = f"[{number}/{self._files}] {one_line(name_below(self._place, path))}"
        self._bar.show(self._name, 0, 100)

    def progress(self, done: float, total: float | None, message: str) -> None:
        self._bar.show(f"{self._name}: {message}", done, total)

    def end(self, outcome: FileOutcome) -> None:
        self._bar.write(f"{self._name}: {_summary(outcome)}")


def _summary(outcome: FileOutcome) -> str:
    answer = outcome.answer
    match outcome.status:
        case "success":
            kind = str(answer["document_type"]).replace("_", " ")
            return f"ingested as {kind}, {how_many(answer['chunks_created'], 'chunk')}, {outcome.seconds:.1f} s"
        case "already_ingested":
            return "known already"
        case "skipped":
            return f"skipped, image-based (image ratio {answer['image_ratio']:.2f})"
        case _:
            return f"failed: {answer['message']}"


def _print_table(outcomes: Sequence[FileOutcome], place: Path) -> None:
    keys = ("document_type", "extraction_method", "total_pages", "chunks_created")
    rows: list[list[str]] = []
    for each in outcomes:
        outcome = each.status if each.status != "error" else f"error: {each.answer['error_type']}"
        rows.append([one_line(name_below(place, each.path)), outcome, *(str(each.answer.get(key, "")) for key in keys)])
    columns = ("File", "Outcome", "Type", "Read by", "Pages", "Chunks")
    print_table(columns, rows, numbers={"Pages", "Chunks"})
    counts = {
        status: sum(each.status == status for each in outcomes) for status in sorted({e.status for e in outcomes})
    }
    open_console().print(
        ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items()), markup=False
    )


app = command_group("Ingest, list, search, read and delete the documents of planning applications.")

OptionalRef = Annotated[str | None, typer.Option("--ref", metavar="REF", help="Only this application's documents.")]
Types = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Only documents of this type; may be repeated.")
]
DocumentId = Annotated[str, typer.Argument(metavar="DOCUMENT_ID", help="Id, as shown by `knowledge planning list`.")]


@contextmanager
def _open_service(options: StoreOptions, *, root: Path | None = None) -> Generator[PlanningService]:
    """Open the planning documents for one command, guarded, and close them; with a root files come from there only."""
    with options.guard():
        from knowledge_mcp import wiring

        settings = options.settings(surface="planning", quiet="ERROR")
        service = cast("PlanningService", wiring.build_knowledge(settings, surface="planning", roots=root and (root,)))
        with closing(service):
            yield service


@app.command()
@with_groups
def ingest(choices: FolderChoices, options: StoreOptions) -> None:
    """Ingest a folder of documents for one application.

    Example: knowledge planning ingest ~/25-01178-REM --ref 25/01178/REM --report report.html

    Exit codes: 0 success, 1 some documents failed, 2 no document found, 3 configuration error, 130 interrupted.
    """
    code = ExitCode.SUCCESS
    # a folder that is watched is filled by others: no link that they make leads out of it
    root = choices.folder.expanduser().absolute() if choices.watch else None
    with _open_service(options, root=root) as service:
        code = FolderRun(service, choices, as_json=options.as_json).run()
    raise typer.Exit(code)


@app.command("list")
@with_groups
def list_documents(options: StoreOptions, ref: Ref, types: Types = None) -> None:
    """List an application's documents.

    Example: knowledge planning list --ref 25/01178/REM
    """
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.planning.shapes import ListDocumentsRequest
        from knowledge_mcp.surfaces.planning.tools import list_ingested_documents

        request = load(ListDocumentsRequest, application_ref=ref, document_types=types or None)
        answer = list_ingested_documents(service, request).sent()
        if options.as_json:
            write_json(answer)
            return
        if not answer["documents"]:
            say(answer["message"])
            return
        columns = ("Id", "File", "Type", "Read by", "Chunks", "Ingested")
        rows = [
            (
                each["document_id"],
                one_line(Path(each["file_path"]).name),
                each["document_type"],
                each["extraction_method"] + (", drawings" if each["contains_drawings"] else ""),
                str(each["chunk_count"]),
                each["ingested_at"][:16].replace("T", " "),
            )
            for each in answer["documents"]
        ]
        # an id that is broken cannot be copied
        print_table(columns, rows, numbers={"Chunks"}, unbroken={"Id"})


@app.command()
@with_groups
def applications(options: StoreOptions) -> None:
    """List the applications that have documents.

    Example: knowledge planning applications
    """
    with _open_service(options) as service:
        listed = [
            (reference, len(records), max(record.updated_at for record in records))
            for reference, records in sorted(service.applications().items())
        ]
        if options.as_json:
            names = ("application_ref", "document_count", "last_ingested_at")
            write_json({"applications": [dict(zip(names, each, strict=True)) for each in listed]})
            return
        if not listed:
            say("No application has a document yet.")
            return
        rows = [(reference, str(count), last[:16].replace("T", " ")) for reference, count, last in listed]
        print_table(("Application", "Documents", "Last ingested"), rows, numbers={"Documents"})


@app.command()
@with_groups
def search(
    options: StoreOptions,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to find.")],
    ref: OptionalRef = None,
    types: Types = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of passages to show.")] = 10,
    mode: Annotated[str, typer.Option("--mode", "-m", help="hybrid, semantic or keyword.")] = "hybrid",
) -> None:
    """Find passages by meaning and words.

    Example: knowledge planning search "cycle parking" --ref 25/01178/REM
    """
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.planning.shapes import PlanningSearchRequest
        from knowledge_mcp.surfaces.planning.tools import search_application_docs

        request = load(
            PlanningSearchRequest,
            query=query,
            application_ref=ref,
            document_types=types or None,
            max_results=limit,
            mode=mode,
        )
        answer = search_application_docs(service, request).sent()
        if options.as_json:
            write_json(answer)
            return
        for each in answer["results"]:
            found = each["metadata"]
            word = "pages" if "," in found["page_numbers"] else "page"
            pages = f", {word} {found['page_numbers'].replace(',', ', ')}" if found["page_numbers"] else ""
            place = f"{one_line(found['source_file'])}{pages}"
            say(f"{each['relevance_score']:.2f}  {place}  ({found['application_ref']})", "bold")
            cut_from = f"{each['cut_from']}\n…\n" if "cut_from" in each else ""
            open_console().print(render(f"{cut_from}{each['text']}"))
            say("")
        for line in (answer.get("message", ""), *answer.get("degraded", [])):
            if line:
                say(line)


@app.command()
@with_groups
def text(options: StoreOptions, document_id: DocumentId) -> None:
    """Print a document's full text.

    Example: knowledge planning text 25_01178_REM_a1b2c3
    """
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.planning.shapes import DocumentTextRequest
        from knowledge_mcp.surfaces.planning.tools import get_document_text

        answer = get_document_text(service, load(DocumentTextRequest, document_id=document_id))
        options.show(answer, lambda found: write_content(f"{found.text}\n"))


@app.command()
@with_groups
def delete(options: StoreOptions, document_id: DocumentId, yes: Yes = False) -> None:
    """Remove a document and its chunks; the file itself is kept.

    Example: knowledge planning delete 25_01178_REM_a1b2c3 --yes
    """
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.planning.shapes import DeleteRequest
        from knowledge_mcp.surfaces.planning.tools import delete_document, find_record

        request = load(DeleteRequest, document_id=document_id)
        record = find_record(service, document_id)
        confirm_removal(f"Remove '{record.id}' ({record.title}, {how_many(record.chunk_count, 'chunk')})?", yes=yes)
        answer = delete_document(service, request)
        options.tell(answer.sent(), f"Removed {answer.document_id}: {how_many(answer.chunks_deleted, 'chunk')}.")
