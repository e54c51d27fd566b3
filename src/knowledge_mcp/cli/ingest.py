"""`knowledge-ingest`: take documents into the knowledge base."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.shared.failures import (
    ExitCode,
    ask_password,
    can_ask,
    exit_code_of,
    notify,
    one_line,
    print_failure,
)
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import say, write_json
from knowledge_mcp.cli.shared.progress import IngestTally, LineProgress, ProgressBars, ingest_progress
from knowledge_mcp.cli.shared.report import (
    exit_code_for,
    list_left_out,
    list_lines,
    list_unreadable,
    print_dry_run,
    print_summary,
    report_as_json,
)
from knowledge_mcp.cli.shared.session import CONTEXT, CommandOptions, ConfigFile, Version, parse_labels, run_command
from knowledge_mcp.model.errors import InternalError, KnowledgeError, noticing, reason_of
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, LeftOut, SkippedFile
from knowledge_mcp.model.rights import ALLOWED, allowed_label
from knowledge_mcp.sources.files import FileSource, FileSources, LabelledSource
from knowledge_mcp.support.wording import how_many, list_first

if TYPE_CHECKING:
    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.ports import Knowledge, Source
    from knowledge_mcp.settings import Settings

_logger = logging.getLogger(__name__)

_MOST_PLACES = 5
"""Files and folders of the command line that one message names, to stay one that is read."""


class OnError(StrEnum):
    """What to do about files that cannot be read, without asking."""

    CONTINUE = "continue"
    ABORT = "abort"


@dataclass(frozen=True, kw_only=True)
class IngestChoices:
    """The command line of `knowledge-ingest`."""

    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", readable=False, help="Files and folders to ingest.")
    ]
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Include subfolders.")] = True
    pattern: Annotated[
        str | None, typer.Option(help="Comma-separated file patterns, e.g. '*.pdf,*.docx'. Default: all documents.")
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be ingested, with chunks, tokens, cost and time.")
    ] = False
    force: Annotated[
        bool, typer.Option("--force", help="Ingest unchanged files again too, and replace every chunk.")
    ] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every step and technical details.")] = False
    on_error: Annotated[
        OnError | None,
        typer.Option(
            help="What to do with files that cannot be read: skip them and continue, or abort. Default: ask on a "
            "terminal, otherwise continue."
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="USD", help="Stop before the embeddings cost more than this; nothing is charged twice."
        ),
    ] = None
    edition: Annotated[
        str | None, typer.Option(metavar="EDITION", help="Edition of these documents, such as 2018 or v1.2.")
    ] = None
    family: Annotated[
        str | None, typer.Option(metavar="NAME", help="Document that these are editions of; `none` for none.")
    ] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP",
            help="Only this group may read these documents over HTTP; may be repeated. `*` allows everybody again. "
            "Without it, the documents keep their groups.",
        ),
    ] = None
    meta: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Metadata to store with these documents, for filters; may be repeated."),
    ] = None
    prune: Annotated[
        bool | None,
        typer.Option("--prune/--no-prune", help="Remove documents whose files were deleted from the folder (PRUNE)."),
    ] = None
    prune_all: Annotated[
        bool, typer.Option("--prune-all", help="With --prune: also if the folder no longer contains any file.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Write the report to stdout as JSON.")] = False
    collection: Annotated[str | None, typer.Option(help="Collection to ingest into. Default: QDRANT_COLLECTION.")] = (
        None
    )
    config: ConfigFile = None

    @property
    def patterns(self) -> tuple[str, ...] | None:
        """List the patterns of files, None for every document."""
        if self.pattern is None:
            return None
        return tuple(part.strip() for part in self.pattern.split(",") if part.strip())

    def labels(self) -> tuple[tuple[str, str], ...]:
        """Return the labels of these documents, without who may read them.

        Raises:
            typer.BadParameter: --meta is written otherwise.
        """
        editions = [(name, value) for name, value in (("family", self.family), ("edition", self.edition)) if value]
        return (*editions, *parse_labels(self.meta))


class IngestRun:
    """Run one ingest; an instance is used once."""

    def __init__(self, choices: IngestChoices) -> None:
        self._choices = choices
        self._labels = choices.labels()
        self._tally = IngestTally()
        self._progress: ProgressBars = LineProgress(verbose=choices.verbose)
        self._aborted = False
        self._left_out: tuple[LeftOut, ...] = ()
        self._vanished: list[DocumentRecord] = []
        self._pruned: set[str] = set()
        self._places = tuple(map(str, choices.sources))

    def run(self) -> ExitCode:
        """Run it and report the result; returns the exit code."""
        try:
            choices = self._choices
            settings = CommandOptions(
                collection=choices.collection, config=choices.config, verbose=choices.verbose
            ).settings()
            missing = [each for each in self._places if not os.path.exists(each)]  # noqa: PTH110 - Path.exists raises for a name too long
            if missing:
                address = next((each for each in missing if each.startswith(("https:/", "http:/"))), "")
                step = "Check the path."
                if address:
                    step = f"For a web page or a repository: `knowledge sources add {address.replace(':/', '://')}`."
                notify(f"Error: There is no file or folder {_quoted(missing)}.\nNext: {step}")
                return self._write_nothing()
            report = self._ingest(settings)
        except KnowledgeError as exc:
            return self._report_failure(exc)
        except KeyboardInterrupt:
            return self._report_interrupt()
        except Exception as exc:
            _logger.debug("ingest failed", exc_info=True)
            return self._report_failure(InternalError(f"Ingestion failed. {reason_of(exc)}"))
        finally:
            self._progress.pause()
        return self._finish(report, settings)

    def _ingest(self, settings: Settings) -> IngestReport:
        from knowledge_mcp import wiring

        self._progress = ingest_progress(verbose=self._choices.verbose, dry_run=self._choices.dry_run)
        files = FileSources(
            [
                FileSource(
                    each.absolute(),
                    recursive=self._choices.recursive,
                    patterns=self._choices.patterns,
                    own_data=settings.data_folder,
                )
                for each in self._choices.sources
            ]
        )
        source: Source = files
        labels = self._labels
        if self._choices.allow:
            labels = (*labels, (ALLOWED, allowed_label(self._choices.allow)))
        if labels:
            source = LabelledSource(files, labels)
        knowledge = wiring.build_knowledge(settings, ask_password=self._ask_password if self._can_ask() else None)
        try:
            with noticing():  # what is damaged is made good by the ingest
                vanished = files.vanished(knowledge.documents())
            prune = settings.prune if self._choices.prune is None else self._choices.prune
            emptied = {e.source_path for e in vanished if files.is_emptied(e) and not self._choices.prune_all}
            places = tuple(each.source_path for each in vanished)
            options = IngestOptions(
                force=self._choices.force,
                dry_run=self._choices.dry_run,
                max_cost=self._choices.max_cost,
                vanished=places,
                pruned=tuple(each for each in places if each not in emptied) if prune else (),
            )
            report = knowledge.ingest(source, options, on_event=self._on_event, on_unreadable=self._should_continue)
            if vanished and not self._aborted:
                with noticing():
                    after = files.vanished(knowledge.documents())
                    self._vanished = [each for each in after if each.source_path in places]
                self._prune(knowledge, emptied.intersection(each.source_path for each in self._vanished), prune=prune)
            return report
        finally:
            knowledge.close()
            self._left_out = files.left_out

    def _prune(self, knowledge: Knowledge, emptied: set[str], *, prune: bool) -> None:
        """Report documents missing from the folders; if requested, remove them except those of `emptied` (paths)."""
        removes = prune and not self._choices.dry_run
        lines: list[str] = []
        for each in self._vanished:
            if removes and each.source_path not in emptied:
                knowledge.remove(each.id)
                self._pruned.add(each.id)
            became = "removed" if each.id in self._pruned else "it can still be found"
            lines.append(one_line(f"File is gone: {each.source_path} (document {each.id}): {became}."))
        for line in list_lines(lines, verbose=self._choices.verbose):
            notify(line)
        if emptied and prune:
            scope = (
                "Nothing was removed: the folder" if not self._pruned else ("Some documents were not removed: a folder")
            )
            notify(
                f"{scope} no longer contains any file. To remove its documents all the same, pass --prune --prune-all."
            )
        elif self._vanished and not prune and not self._choices.dry_run:
            notify("Next: Pass --prune to remove these documents (PRUNE=true always does).")

    def _on_event(self, event: IngestEvent) -> None:
        self._tally.note(event)
        self._progress.show(event)

    # ---- the questions (clarification 1)

    def _can_ask(self) -> bool:
        return self._choices.on_error is None and not self._choices.as_json and can_ask()

    def _ask_password(self, name: str, why: str) -> str | None:
        self._progress.pause()
        return ask_password(name, why)

    def _should_continue(self, files: Sequence[SkippedFile]) -> bool:
        if self._choices.dry_run:
            return True
        if not self._can_ask():
            continues = self._choices.on_error is not OnError.ABORT
        else:
            self._progress.pause()
            continues = _ask(files, self._tally.checked)
        self._aborted = not continues
        return continues

    # ---- the end

    def _finish(self, report: IngestReport, settings: Settings) -> ExitCode:
        from knowledge_mcp.settings import choose_embedding

        code = exit_code_for(report, aborted=self._aborted)
        if self._choices.as_json:
            self._write_json(report, code)
        else:
            if self._choices.dry_run and report.planned:
                from knowledge_mcp.support.workers import usable_cores

                print_dry_run(
                    report,
                    provider=choose_embedding(settings).provider,
                    variant=settings.embedding_variant,
                    threads=settings.embedding_threads or usable_cores(),
                    embeds_all=self._choices.force,
                )
            elif report.documents or report.skipped or report.failed:
                print_summary(report, aborted=self._aborted, verbose=self._choices.verbose)
            for line in list_left_out(self._left_out):
                say(line)
        self._report_failures()
        if self._aborted:
            notify("Aborted: nothing was ingested.")
        elif not (report.documents or report.planned or report.skipped or report.failed):
            place = "" if self._choices.recursive else " (subfolders were not searched)"
            patterns = self._choices.patterns
            what = f"No files match {','.join(patterns)}" if patterns is not None else "There are no documents"
            notify(f"{what} in {_quoted(self._places)}{place}.")
            notify("Next: Name another folder, or pass other file names with --pattern.")
        return code

    def _report_failure(self, error: KnowledgeError) -> ExitCode:
        self._progress.pause()
        self._report_failures()
        print_failure(error, verbose=self._choices.verbose)
        code = exit_code_of(error, ExitCode.FAILURE if self._tally.stored else ExitCode.NOTHING_DONE)
        if self._choices.as_json:
            failed = tuple(
                SkippedFile(source, error.code.value, message, error.suggestion)
                for source, message in self._tally.failures.items()
            )
            self._write_json(IngestReport(failed=failed), code, error)
        elif self._tally.stored:
            notify(
                f"Documents stored before the failure: {len(self._tally.stored)}; not stored: "
                f"{len(self._tally.failures)}."
            )
        return code

    def _report_failures(self) -> None:
        """Say at which chunk it failed (clarification 6)."""
        partial = {source: at for source, at in self._tally.failed_at.items() if at[1]}
        for source, (stored, _) in partial.items():
            notify(f"Ingestion failed at chunk {stored + 1}. {stored} chunks successfully stored. ({one_line(source)})")
        if partial:
            notify("Once the issue is resolved, run the same command again: it embeds only what is missing.")
            notify("To embed everything again instead:")
            notify("Re-run with --force after resolving the issue to replace partial ingestion.")

    def _report_interrupt(self) -> ExitCode:
        self._progress.pause()
        notify(
            f"Interrupted. Documents stored: {len(self._tally.stored)}. Run the same command again to ingest the rest."
        )
        return ExitCode.INTERRUPTED

    def _write_nothing(self) -> ExitCode:
        if self._choices.as_json:
            self._write_json(IngestReport(), ExitCode.NOTHING_DONE)
        return ExitCode.NOTHING_DONE

    def _write_json(self, report: IngestReport, code: ExitCode, error: KnowledgeError | None = None) -> None:
        content = report_as_json(report, sources=self._places, exit_code=code, aborted=self._aborted)
        content["left_out"] = [asdict(each) for each in self._left_out]
        content["vanished"] = [
            {"document_id": each.id, "source_path": each.source_path, "removed": each.id in self._pruned}
            for each in self._vanished
        ]
        if error is not None:
            from knowledge_mcp.surfaces.answers import render_error

            content |= render_error(error)
            content["files_processed"] = len(self._tally.stored)
        write_json(content)


def _quoted(places: Sequence[str]) -> str:
    return list_first([f"'{one_line(each)}'" for each in places], _MOST_PLACES)


def _ask(files: Sequence[SkippedFile], readable: int) -> bool:
    many = how_many(len(files), "file")
    notify(f"{many} cannot be read:")
    for line in list_unreadable(list(files)):
        notify(line)
    notify(f"Continue without them, or abort before anything is embedded? {readable} readable files are waiting.")
    while True:
        sys.stderr.write("[c]ontinue / [a]bort: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        word = answer.strip().lower()
        if word in {"c", "continue"}:
            return True
        if word in {"a", "abort"} or not answer:
            return False


HELP = """\
Ingest documents into the knowledge base.

Each document is read with its structure, split into chunks, embedded and stored. Formats: PDF, Word (.docx), Markdown,
OpenDocument, rich text, AsciiDoc, reStructuredText, HTML, presentations, workbooks, e-books, emails, CSV, JSON, XML,
plain text, requirements from other tools (ReqIF, StrictDoc, Doorstop, sphinx-needs), and controls (OSCAL, XCCDF).

Images are read only if --pattern matches them. Unchanged files are not ingested again. All files are checked before the
first one is embedded, and every file that is not ingested is listed with the reason.

\b
Examples:
  knowledge-ingest standards/
  knowledge-ingest handbook.docx drawings/*.pdf
  knowledge-ingest --dry-run --pattern "*.pdf" standards/
  knowledge-ingest --force iso-15288.pdf
  knowledge-ingest --max-cost 2.50 standards/
  knowledge-ingest --prune standards/
  knowledge-ingest --edition 2018 lift-safety.pdf
  knowledge-ingest --allow legal --allow board contracts/
  knowledge-ingest --meta project=bridge --meta tags="wind, steel" reports/

\b
Exit codes: 0 success, 1 some files failed, 2 no file processed or aborted, 3 configuration error, 130 interrupted.
"""

app = typer.Typer(context_settings=CONTEXT, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(help=HELP)
@with_groups
def ingest(choices: IngestChoices, version: Version = False) -> None:
    """Run `knowledge-ingest` with the options given."""
    del version
    raise typer.Exit(IngestRun(choices).run())


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge-ingest")


if __name__ == "__main__":
    main()
