"""`knowledge collections list|show|rename|drop`: the collections of the store."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import ExitCode, confirm
from knowledge_mcp.cli.shared.session import (
    AsJson,
    ConfigFile,
    Verbose,
    Yes,
    command_group,
    guard,
    open_console,
    open_store,
    render,
    settings_of,
    write_json,
)
from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.model.collection import CollectionInfo, StoreStatistics
    from knowledge_mcp.ports import Store
    from knowledge_mcp.settings import Settings

app = command_group("List, show, rename and drop collections.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name, as `knowledge collections list` shows it.")]


@contextmanager
def _open_store(config: Path | None, *, verbose: bool, as_json: bool) -> Generator[tuple[Settings, Store]]:
    """Open the configured store alone: no embedding model is needed here."""
    with guard(verbose=verbose, as_json=as_json):
        settings = settings_of(config, verbose=verbose)
        from knowledge_mcp.settings import choose_store

        store = open_store(settings, choose_store(settings).backend)
        try:
            yield settings, store
        finally:
            store.close()


@app.command("list")
def list_collections(as_json: AsJson = False, config: ConfigFile = None, verbose: Verbose = False) -> None:
    """List all collections of the configured store.

    Example: knowledge collections list --json
    """
    with _open_store(config, verbose=verbose, as_json=as_json) as (settings, store):
        found = [(info, counts_of(store.open(info.name))) for info in store.collections()]
        if as_json:
            content = [_plain(info, counted, settings) for info, counted in found]
            write_json(asdict(store.identity) | {"collections": content})
            return
        if not found:
            open_console().print("There are no collections yet. `knowledge-ingest FOLDER` makes one.", markup=False)
            return
        from rich.table import Table

        table = Table()
        for name in ("Name", "Embedding"):
            table.add_column(name, overflow="fold")
        for name in ("Documents", "Chunks", "Tokens", "Vectors"):
            table.add_column(name, justify="right")
        table.add_column("Created")
        for info, counted in found:
            name = f"{info.name} (in use)" if info.name == settings.collection else info.name
            numbers = (f"{counted.documents:,}", f"{counted.chunks:,}", f"{counted.tokens:,}")
            table.add_row(
                render(name),
                render(info.space.label),
                *numbers,
                _size(_vector_bytes(info, counted)),
                info.created_at[:10],
            )
        open_console().print(table)
        total = _size(found[0][1].storage_bytes)
        open_console().print(
            f"{store.identity.backend}: {store.identity.location}, {total} in all", markup=False, soft_wrap=True
        )


@app.command(short_help="Show a collection, and check it against itself.")
def show(name: Name, as_json: AsJson = False, config: ConfigFile = None, verbose: Verbose = False) -> None:
    """Show a collection: its embedding space in full, what it holds, and whether it is whole.

    Example: knowledge collections show se_knowledge_base
    """
    with _open_store(config, verbose=verbose, as_json=as_json) as (settings, store):
        info = _require_collection(store, name)
        opened = store.open(name)
        counted, findings = counts_of(opened), opened.verify()
        if as_json:
            content = _plain(info, counted, settings)
            write_json(content | {"space": asdict(info.space), "findings": [asdict(each) for each in findings]})
            return
        from rich.table import Table

        table = Table(show_header=False, title=render(info.name), title_justify="left")
        table.add_column()
        table.add_column(overflow="fold")
        rows = [
            ("Embedding", info.space.label),
            *((f"  {key}", str(value)) for key, value in asdict(info.space).items() if value != ""),
            ("  fingerprint", info.space.fingerprint),
            ("Created", info.created_at),
            ("Documents", f"{counted.documents:,}"),
            ("Chunks", f"{counted.chunks:,} ({counted.tokens:,} tokens)"),
            ("Vectors", _size(_vector_bytes(info, counted))),
            ("In use", "yes" if info.name == settings.collection else "no: QDRANT_COLLECTION names another one"),
            ("Check", "sound" if not findings else how_many(len(findings), "finding")),
        ]
        for key, value in rows:
            table.add_row(render(key), render(value))
        open_console().print(table)
        for each in findings:
            open_console().print(render(f"- {each.message} {each.suggestion}".rstrip()), soft_wrap=True)


@app.command(short_help="Give a collection another name.")
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Name that no collection has.")],
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Give a collection another name; servers and ingests that use the old name no longer find it.

    Example: knowledge collections rename se_knowledge_base standards-2026
    """
    with _open_store(config, verbose=verbose, as_json=as_json) as (_, store):
        _require_collection(store, name)
        store.rename_collections({name: new})
        if as_json:
            write_json({"collection": new, "was": name})
        else:
            open_console().print(f"'{name}' is now '{new}'.", markup=False)


@app.command(short_help="Remove a collection with all that is in it.")
def drop(
    name: Name,
    yes: Yes = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Remove a collection with all its documents, chunks and vectors; this cannot be undone.

    Example: knowledge collections drop se_knowledge_base.old-20261122
    """
    with _open_store(config, verbose=verbose, as_json=as_json) as (_, store):
        info, counted = _require_collection(store, name), counts_of(store.open(name))
        contents = f"{how_many(counted.documents, 'document')} and {how_many(counted.chunks, 'chunk')}"
        if not yes and not confirm(f"Drop '{name}' ({info.space.label}) with {contents}?", "Nothing was dropped"):
            raise typer.Exit(ExitCode.FAILURE)
        store.drop_collection(name)
        if as_json:
            write_json({"collection": name, "documents_removed": counted.documents, "chunks_removed": counted.chunks})
        else:
            open_console().print(
                f"Dropped '{name}': {how_many(counted.documents, 'document')}, {how_many(counted.chunks, 'chunk')}.",
                markup=False,
            )


def _require_collection(store: Store, name: str) -> CollectionInfo:
    info = store.open(name).info()
    if info is None:
        names = ", ".join(each.name for each in store.collections()) or "none"
        raise NotFoundError(f"There is no collection '{name}'.", suggestion=f"Collections: {names}.")
    return info


def _plain(info: CollectionInfo, counted: StoreStatistics, settings: Settings) -> dict[str, Any]:
    return {
        "name": info.name,
        "in_use": info.name == settings.collection,
        "embedding": info.space.label,
        "fingerprint": info.space.fingerprint,
        "dimensions": info.space.dimensions,
        "documents": counted.documents,
        "chunks": counted.chunks,
        "tokens": counted.tokens,
        "vector_bytes": _vector_bytes(info, counted),
        "storage_bytes_of_store": counted.storage_bytes,
        "created_at": info.created_at,
    }


def _vector_bytes(info: CollectionInfo, counted: StoreStatistics) -> int:
    return 4 * info.space.dimensions * counted.chunks


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
