"""`knowledge compare OLD NEW`: what changed between two editions, clause by clause."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.knowledge.review.files import (
    AsCsv,
    AsHtml,
    files_below,
    name_skipped,
    open_ingested,
    report_skipped,
    write_results,
)
from knowledge_mcp.cli.shared.failures import ask_password, can_ask, notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, render, say, shortened, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions
from knowledge_mcp.engine.changes import comparing
from knowledge_mcp.engine.changes.clauses import Edition, EditionPart, edition_of
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.kinds import WEIGHTIEST_FIRST, LinkKind
from knowledge_mcp.engine.core.properties import stated_properties
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, UnreadableDocumentError
from knowledge_mcp.model.source import UNKNOWN
from knowledge_mcp.sources.files import kind_of_file
from knowledge_mcp.support.checkpoints import inherit_checkpoints, watch_for_stop
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces import redline

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

_MAX_DRAWN, _DOTS = 200, 80
"""Pages of each side in a redline, and dots per inch: a page of text takes some 50 KB, so a file stays below 30 MB."""
_LONGEST = 160
"""Characters of a sentence in a table of the terminal: two lines of 80; files hold all of it."""


def _must_be_kinds(names: list[str] | None) -> list[str]:
    try:
        return sorted(redline.checked_kinds(names or ()))
    except InvalidInputError as error:
        raise typer.BadParameter(f"{error.message} {error.suggestion}") from None


@with_groups
def compare(
    options: CommandOptions,
    old: Annotated[str, typer.Argument(metavar="OLD", help="File, folder, or id of an ingested document.")],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="Later edition: file, folder, or id of an ingested document.")
    ],
    as_csv: AsCsv = None,
    as_html: AsHtml = None,
    with_pages: Annotated[
        bool, typer.Option("--pages", help="Include images of the changed PDF pages in the --html file.")
    ] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option(callback=_must_be_kinds, help=f"Show only these: {', '.join(redline.KINDS)}; may be repeated."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare the documents even if they have almost nothing in common.")
    ] = False,
) -> None:
    """Show what changed from one edition to the next: force, limits, definitions, requirements, references, words.

    Files and folders are read directly: nothing needs to be ingested first, and nothing is stored.

    Example: knowledge compare standard-2018.pdf standard-2023.pdf --html changes.html

    Example: knowledge compare docs-v1/ docs-v2/ --kind force --kind number
    """
    with options.guard():
        if with_pages and as_html is None:
            raise InvalidInputError("--pages needs --html.", suggestion="Pass --html FILE too.")
        settings = options.settings()
        before, after = _with_own_names(_read_both(settings, old, new), old, new)
        comparing.must_be_editions(before, after, anyway=anyway)
        with WorkBar() as bar:
            bar.show(f"Comparing {before.name} with {after.name} …")
            changes = compare_editions(before, after)
        shown = redline.narrow(redline.select(changes, kind), kind) if kind else changes
        pages = (
            (draw_pages(settings, old, changes, "old"), draw_pages(settings, new, changes, "new"))
            if as_html is not None and with_pages
            else None
        )
        is_written = write_results(
            {
                as_csv: lambda: redline.as_csv(shown),
                as_html: lambda: redline.as_html(before.name, after.name, changes, pages),
            }
        )
        if options.as_json:
            write_json(redline.as_values(before.name, after.name, changes, shown))
        elif _summarise(before, after, changes) and not is_written:
            _print(shown)


def compare_editions(old: Edition, new: Edition) -> list[ClauseChange]:
    """Align two editions and compare the clauses that belong together."""
    from knowledge_mcp.lexical.analyser import EnglishAnalyser

    return comparing.compared(old, new, EnglishAnalyser().document_terms)


# ---- reading


def _with_own_names(editions: tuple[Edition, Edition], *given: str) -> tuple[Edition, Edition]:
    """Name two files with the same name by their arguments, to distinguish them."""
    before, after = editions
    if before.name != after.name or given[0] == given[1]:
        return editions
    return replace(before, name=given[0]), replace(after, name=given[1])


def _read_both(settings: Settings, old: str, new: str) -> tuple[Edition, Edition]:
    """Read two editions; two files in parallel, because each is parsed in its own child process."""
    if not (Path(old).is_file() and Path(new).is_file()):  # folders show their progress, and documents share a store
        return edition_at(settings, old), edition_at(settings, new)
    is_stopped = threading.Event()

    def stop() -> None:
        if is_stopped.is_set():
            raise CancelledError("The other edition was not read.")

    with watch_for_stop(stop), ThreadPoolExecutor(2, thread_name_prefix="edition") as threads:
        reading = [
            threads.submit(inherit_checkpoints(functools.partial(edition_at, settings)), name) for name in (old, new)
        ]
        try:
            return reading[0].result(), reading[1].result()
        except BaseException:
            is_stopped.set()
            raise


def edition_at(settings: Settings, name: str) -> Edition:
    """Read a file, a folder or an ingested document.

    Raises:
        NotFoundError: it is none of these.
        InvalidInputError: no file of a folder is read.
    """
    path = Path(name)
    if path.is_dir():
        return edition_of(name, _parts_of_folder(settings, path))
    if path.exists():
        return edition_of(path.name, [_part(settings, path, path.name)])
    return _read_ingested(settings, name)


def _parts_of_folder(settings: Settings, folder: Path) -> Iterator[EditionPart]:
    files: list[tuple[Path, str]] = []
    skipped: list[str] = []
    for path, name in files_below(folder, skipped):
        kind = kind_of_file(path)
        if kind == UNKNOWN or kind.startswith("image/"):  # figures of documents beside them
            skipped.append(name)
        else:
            files.append((path, name))
    if not files:
        what = "There is no file of a supported type in {}." if skipped else "There is no file in {}."
        raise InvalidInputError(what.format(folder), suggestion="Name another folder.")
    with WorkBar() as bar:
        for number, (path, name) in enumerate(files):
            bar.show(folder.name, number, len(files))
            try:
                yield _part(settings, path, name)
            except UnreadableDocumentError as exc:
                skipped.append(name_skipped(name, exc))
    report_skipped("compared", folder, skipped)


def _part(settings: Settings, path: Path, name: str) -> EditionPart:
    from knowledge_mcp.cli.knowledge.inspect import inspect_file

    inspected = inspect_file(settings, path)
    for warning in inspected.document.warnings:
        notify(f"{name}: {warning}")
    if inspected.lost:
        lost = how_many(len(inspected.lost), "page was", "pages were")
        notify(f"{name}: {lost} not read; their text is not compared.")
    recognised = sum(page.method == "ocr" for page in inspected.document.pages)
    if recognised:
        read = how_many(recognised, "page was", "pages were")
        notify(f"{name}: {read} read by OCR; misread words look like changes.")
    document = inspected.document
    structure, properties = inspected.structure, stated_properties(document.media_type, document.metadata)
    return EditionPart(
        name, document.text, structure.sections, inspected.chunks, document.title, structure.items, properties
    )


def draw_pages(
    settings: Settings, name: str, changes: Sequence[ClauseChange], side: str
) -> dict[tuple[str, int], bytes]:
    """Draw the pages on which clauses begin that changed, as far as they are of PDF files that were given."""
    from knowledge_mcp.cli.knowledge.inspect import file_item
    from knowledge_mcp.readers.pdf.reader import PdfReader
    from knowledge_mcp.wiring import build_passwords

    changed = [each.link for each in changes if each.link.kind is not LinkKind.SAME or each.changes]
    clauses = [clause for link in changed if (clause := getattr(link, side)) is not None and clause.page]
    path = Path(name)
    places = {(clause.file, clause.page): path / clause.file if path.is_dir() else path for clause in clauses}
    places = {key: file for key, file in places.items() if file.suffix.lower() == ".pdf" and file.is_file()}
    if len(places) > _MAX_DRAWN:
        notify(f"{name}: images of only the first {_MAX_DRAWN} of {len(places)} changed pages are included.")
    if changed and not places:
        reason = "only PDF pages can be drawn" if clauses else "it has no pages"
        notify(f"{name}: no page image is included, because {reason}.")
    found: dict[tuple[str, int], bytes] = {}
    passwords = build_passwords(settings, ask_password if can_ask() else None)
    item_of = functools.cache(file_item)  # it reads the whole file for its check sum
    with contextlib.closing(PdfReader(passwords=passwords)) as reader:
        for (file, page), place in list(places.items())[:_MAX_DRAWN]:
            found[file, page] = reader.draw(item_of(place), page, (), "", _DOTS)[2]
    return found


def _read_ingested(settings: Settings, document_id: str) -> Edition:
    with open_ingested(settings, document_id) as knowledge:
        return edition_of(document_id, [comparing.ingested_part(knowledge, document_id)])


# ---- showing


def _summarise(old: Edition, new: Edition, changes: Sequence[ClauseChange]) -> bool:
    """Say how much changed; returns whether anything did."""
    counts = redline.count_changes(changes)
    if set(counts) <= {LinkKind.SAME.value}:
        say(f"Nothing changed: {how_many(len(changes), 'clause is', 'clauses are')} the same.")
        return False
    say(f"{old.name} → {new.name}. {redline.changes_in_words(counts)}")
    return True


def _print(shown: Sequence[ClauseChange]) -> None:
    clauses = [
        (render(link.kind.value, "bold"), redline.cite_clause(link.old), redline.cite_clause(link.new))
        for link in (each.link for each in shown)
        if link.kind not in {LinkKind.SAME, LinkKind.EDITED}
    ]
    if clauses:
        print_table(("Became", "Old", "New"), clauses, title="Clauses")
    if not shown:
        say("No changes of this kind.")
    inside = list(_inside(shown))
    if inside:
        print_table(("Kind", "Clause", "From", "To"), inside, title="Changes")


def _inside(changes: Sequence[ClauseChange]) -> Iterator[tuple[str, ...]]:
    """Give the cells of the changes inside clauses, the weightiest first."""
    found = [(change, each.link) for each in changes for change in each.changes]
    for change, link in sorted(found, key=lambda pair: WEIGHTIEST_FIRST.index(pair[0].name)):
        elsewhere = f"elsewhere: {change.elsewhere}" if change.elsewhere else ""
        places = "\n".join(filter(None, (*map(redline.cite_clause, (link.old, link.new)), change.cell, elsewhere)))
        was, now = _in_place(change.before, change.old_text), _in_place(change.after, change.new_text)
        yield change.name, places, was, now


def _in_place(words: str, sentence: str) -> str:
    """Show changed words with their sentence."""
    shown, changed = shortened(sentence, _LONGEST), shortened(words, _LONGEST)
    return f"{changed}\n{shown}" if words and sentence and words != sentence else changed or shown
