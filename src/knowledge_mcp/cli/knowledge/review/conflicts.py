"""`knowledge conflicts`: requirements that contradict or duplicate each other, and terms defined in two ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.knowledge.review.files import AsCsv, read_below, read_file, write_results
from knowledge_mcp.cli.knowledge.review.items import items_of
from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions
from knowledge_mcp.engine.core.editions import current_of
from knowledge_mcp.engine.tracing.conflicts import Conflict, Meaning, conflicting_definitions, conflicts
from knowledge_mcp.engine.tracing.kinds import ConflictKind
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.readings import ReadDocument, demands_in, meanings_in, read_ingested
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.source import UNKNOWN
from knowledge_mcp.sources.files import kind_of_file
from knowledge_mcp.support.wording import list_first
from knowledge_mcp.surfaces.tables import counts_in_words, csv_text

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

_COLUMNS = ("kind", "why", "one", "one_text", "one_citation", "other", "other_text", "other_citation", "also_in")

_Read = tuple[list[TraceItem], list[Meaning]]


@with_groups
def conflicts_command(
    options: CommandOptions,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...", help="Files, folders, or ids of ingested documents. Default: all ingested documents."
        ),
    ] = None,
    kind: Annotated[
        list[ConflictKind] | None, typer.Option(help="Show only these kinds; may be repeated.", case_sensitive=False)
    ] = None,
    as_csv: AsCsv = None,
) -> None:
    """List requirements that may contradict or duplicate each other, and terms that are defined in two ways.

    Two sentences are compared only if they have the same words apart from force and limits, or if one has a few more
    words. Requirements that say the same in other words are not found. The result is advice: a person must decide.

    Example: knowledge conflicts srs.docx interfaces.csv

    Example: knowledge conflicts --kind contradiction --kind limit --json
    """
    with options.open_settings() as settings:
        items, meanings = _read_all(settings, what or [])
        if not items and not meanings:
            raise InvalidInputError(
                f"There are no requirements or definitions in {list_first(what or ['the knowledge base'], 5)}.",
                suggestion="Name documents with requirements, or ingest some first.",
            )
        from knowledge_mcp.lexical.analyser import EnglishAnalyser

        with WorkBar() as bar:
            progress = partial(bar.show, "Sentences compared")
            found = [*conflicts(items, EnglishAnalyser().document_terms, progress), *conflicting_definitions(meanings)]
        chosen = [each for each in found if not kind or each.kind in kind]
        is_written = write_results({as_csv: lambda: _csv(chosen)})
        if options.as_json:
            write_json({"conflicts": [_values(each) for each in chosen], "compared": len(items)})
        elif not is_written:
            _print(chosen, len(items))


# ---- reading


def _read_all(settings: Settings, names: list[str]) -> _Read:
    parts = list(_each(settings, names))
    return [item for items, _ in parts for item in items], [each for _, meanings in parts for each in meanings]


def _each(settings: Settings, names: list[str]) -> Iterator[_Read]:
    ids = [name for name in names if not Path(name).exists()]
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from read_below(path, "compared", partial(_of_known_file, settings))
        elif path.exists() and kind_of_file(path) != UNKNOWN and path.suffix.lower() not in {".csv", ".json"}:
            yield _of_file(settings, path, path.name)
        elif path.exists():
            yield items_of(settings, name), []
    if ids or not names:
        yield from _read_ingested(settings, ids)


def _of_known_file(settings: Settings, path: Path, name: str) -> _Read | None:
    return None if kind_of_file(path) == UNKNOWN else _of_file(settings, path, name)


def _of_file(settings: Settings, path: Path, name: str) -> _Read:
    return _demands_and_meanings(read_file(settings, path, name))


def _read_ingested(settings: Settings, ids: list[str]) -> Iterator[_Read]:
    from knowledge_mcp import wiring

    with closing(wiring.build_knowledge(settings)) as knowledge:
        try:
            current, left_out = ([], "") if ids else current_of(knowledge.documents())
            if left_out:
                notify(left_out)
            for document_id in ids or [each.id for each in current]:
                yield _demands_and_meanings(read_ingested(knowledge, document_id))
        except NotFoundError as exc:
            if not ids:
                raise
            raise NotFoundError(
                f"{exc.message} No file or folder has this name either.",
                suggestion="Check the path; `knowledge documents list` shows the ids.",
            ) from exc


def _demands_and_meanings(reading: ReadDocument) -> _Read:
    from knowledge_mcp.lexical.analyser import EnglishAnalyser

    return list(demands_in(reading)), list(meanings_in(reading, EnglishAnalyser().term_key))


# ---- showing


def _values(found: Conflict) -> dict[str, Any]:
    def side(each: Any) -> dict[str, str]:
        return {"id": each.id, "text": each.text, "citation": each.citation}

    return {
        "kind": found.kind.value,
        "why": found.why,
        "one": side(found.one),
        "other": side(found.other),
        "also_in": [side(each) for each in found.also_in],
    }


def _csv(found: list[Conflict]) -> str:
    def row(each: Conflict) -> tuple[str, ...]:
        sides = (each.one.id, each.one.text, each.one.citation, each.other.id, each.other.text, each.other.citation)
        also = "; ".join(dict.fromkeys(place.citation for place in each.also_in))
        return (each.kind.value, each.why, *sides, also)

    return csv_text([_COLUMNS, *map(row, found)])


def _print(found: list[Conflict], compared: int) -> None:
    if found:
        columns = ("Kind", "Why", "One", "Other")
        print_table(columns, map(_row, found), unbroken={"Kind"}, show_lines=True)
    counts = Counter(each.kind for each in found)
    counted = ", ".join(counts_in_words({kind.value: counts[kind] for kind in ConflictKind if counts[kind]}))
    (among,) = counts_in_words({"requirement": compared})
    notify(
        f"{counted or 'None found'}, among {among}. A person must decide. Conflicts between differently worded "
        "sentences are not found."
    )


def _row(each: Conflict) -> tuple[str, ...]:
    also = f"\nand {len(each.also_in)} more" if each.also_in else ""
    sides = (f"{one.text}\n{one.citation}" for one in (each.one, each.other))
    return (each.kind.value, f"{each.why}{also}", *sides)
