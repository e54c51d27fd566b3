"""`knowledge sources add|list|remove`: which places are kept in sync with the knowledge base."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.knowledge.sources.syncing import sync
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, say, write_json
from knowledge_mcp.cli.shared.report import not_taken
from knowledge_mcp.cli.shared.session import CommandOptions, Yes, command_group, confirm_removal
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import SourceKind, SourceSpec, SourceState, SourceStatus
from knowledge_mcp.model.rights import allowed_label
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings

app = command_group("Manage folders, sites, repositories and WebDAV to sync.")

_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
_EVERY = re.compile(r"([1-9][0-9]{0,5})([mhd])")


def _every(text: str) -> float:
    found = _EVERY.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInputError(f"'{text[:20]}' is not an interval.", suggestion="Write 30m, 6h or 7d.")
    return float(int(found[1]) * _SECONDS[found[2]])


@app.command(short_help="Register a source; `knowledge sync` then ingests it.")
@with_groups
def add(
    options: CommandOptions,
    location: Annotated[
        str, typer.Argument(metavar="LOCATION", help="Folder, or address: https://… or davs://… for WebDAV.")
    ],
    name: Annotated[str, typer.Option(help="Name of the source. Default: derived from the location.")] = "",
    kind: Annotated[
        SourceKind | None, typer.Option(help="Kind of source. Default: detected from the location.")
    ] = None,
    branch: Annotated[str, typer.Option(help="Branch of a git repository. Default: its default branch.")] = "",
    below: Annotated[str, typer.Option(metavar="FOLDER", help="Only this folder of a git repository.")] = "",
    pattern: Annotated[
        str, typer.Option(help="Comma-separated file patterns, e.g. '*.pdf,*.docx'. Default: all documents.")
    ] = "",
    every: Annotated[
        str,
        typer.Option(metavar="TIME", help="Sync interval, e.g. 30m, 6h, 7d; a source not synced for longer is stale."),
    ] = "1d",
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Only this group may read its documents over HTTP; may be repeated."),
    ] = None,
) -> None:
    """Register a source whose documents are kept in sync. Documents deleted from the source are removed here too.

    Set logins for WebDAV in SOURCE_LOGINS, and tokens for git in GITHUB_PAT or GIT_TOKENS; neither is stored with the
    source.

    Example: knowledge sources add /srv/standards

    Example: knowledge sources add https://example.org/sitemap.xml --every 6h

    Example: knowledge sources add davs://cloud.example.com/remote.php/dav/files/me/Specs --name specs
    """
    with options.open_settings() as settings:
        from knowledge_mcp import wiring
        from knowledge_mcp.sources.synced.building import spec_of

        patterns = tuple(part.strip() for part in pattern.split(",") if part.strip())
        requested = SourceSpec(
            name, kind or SourceKind.PAGE, location, _every(every), branch, below, patterns, tuple(allow or ())
        )
        if allow:
            allowed_label(allow)
        spec = spec_of(location, kind, requested)
        wiring.list_sources(settings).add(spec)
        options.tell(
            plain_status(SourceStatus(spec, SourceState())),
            f"Registered '{spec.name}': {_KINDS[spec.kind]} {spec.location}.\n"
            f"Next: `knowledge sync {spec.name}` ingests it.",
        )


_KINDS = {
    SourceKind.FOLDER: "the folder",
    SourceKind.PAGE: "the page",
    SourceKind.SITEMAP: "the sitemap",
    SourceKind.GIT: "the git repository",
    SourceKind.WEBDAV: "the WebDAV folder",
}


@app.command("list")
@with_groups
def list_sources(options: CommandOptions) -> None:
    """List the registered sources with their status.

    Example: knowledge sources list --json
    """
    with options.open_settings() as settings:
        from knowledge_mcp import wiring

        found = wiring.list_sources(settings).all()
        if options.as_json:
            write_json({"sources": [plain_status(each) for each in found], "total": len(found)})
            return
        if not found:
            say("No source is registered. `knowledge sources add LOCATION` registers one.")
            return
        rows: list[tuple[str, ...]] = []
        for each in found:
            freshness = "stale" if each.is_stale() else "in sync"
            state = each.state.last_error or f"{freshness}{not_taken(each.state.skipped)}"
            synced = each.state.last_synced[:16].replace("T", " ") or "never"
            spec, documents = each.spec, str(each.state.documents)
            rows.append((spec.name, spec.kind.value, spec.location, documents, synced, state))
        columns = ("Name", "Kind", "Location", "Documents", "Last synced", "State")
        print_table(columns, rows)


def plain_status(status: SourceStatus) -> dict[str, Any]:
    """Give a source as JSON values."""
    spec, state = status.spec, status.state
    return {
        "name": spec.name,
        "kind": spec.kind.value,
        "location": spec.location,
        "branch": spec.branch,
        "below": spec.below,
        "patterns": list(spec.patterns),
        "allow": list(spec.allow),
        "every_seconds": spec.every,
        "documents": state.documents,
        "skipped": state.skipped,
        "last_synced": state.last_synced,
        "last_tried": state.last_tried,
        "last_error": state.last_error,
        "stale": status.is_stale(),
    }


@app.command(short_help="Unregister a source; its documents are kept unless --documents is passed.")
@with_groups
def remove(
    options: CommandOptions,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as shown by `knowledge sources list`.")],
    documents: Annotated[
        bool, typer.Option("--documents", help="Also remove the documents that came from it.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Unregister a source. Its documents are kept in the knowledge base unless --documents is passed.

    Example: knowledge sources remove old-wiki --documents --yes
    """
    with options.open_knowledge() as knowledge:
        settings = options.settings()
        from knowledge_mcp import wiring

        listed = wiring.list_sources(settings)
        spec = listed.get(name).spec
        with listed.working(name):
            documents_of_source = _documents_of(knowledge, settings, spec) if documents else []
            if documents_of_source:
                confirm_removal(f"Remove '{name}' and its {how_many(len(documents_of_source), 'document')}?", yes=yes)
            for document_id in documents_of_source:
                knowledge.remove(document_id)
            listed.forget(name, clone=documents)
        options.tell(
            {"name": name, "documents_removed": documents_of_source},
            f"Removed '{name}' from the list; {how_many(len(documents_of_source), 'document')} removed with it.",
        )


def _documents_of(knowledge: Knowledge, settings: Settings, spec: SourceSpec) -> list[str]:
    """List the documents that came from a source, and from no other one."""
    from knowledge_mcp import wiring

    others = wiring.other_sources(settings, spec.name)
    with closing(wiring.build_synced(settings, spec)) as source:
        return [each.id for each in knowledge.documents() if source.owns(each) and not others.own(each)]


app.command("sync", short_help="Update the knowledge base from its sources; the same as `knowledge sync`.")(sync)
