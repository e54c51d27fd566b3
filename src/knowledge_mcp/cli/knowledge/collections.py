"""`knowledge collections list|show|rename|drop`: the collections of the store."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_facts, print_table, say, write_json
from knowledge_mcp.cli.shared.session import StoreOptions, Yes, command_group, confirm_removal, open_store
from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.engine.library.values import checked_name
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.model.collection import CollectionInfo, StoreStatistics
    from knowledge_mcp.ports import Store
    from knowledge_mcp.settings import Settings

app = command_group("List, show, rename and drop collections.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name, as shown by `knowledge collections list`.")]


@contextmanager
def _open_store(options: StoreOptions) -> Generator[tuple[Settings, Store]]:
    """Open the configured store alone: no embedding model is needed here."""
    with options.open_settings() as settings:
        from knowledge_mcp.settings import choose_store

        with closing(open_store(settings, choose_store(settings).backend)) as store:
            yield settings, store


@app.command("list")
@with_groups
def list_collections(options: StoreOptions) -> None:
    """List all collections of the configured store.

    Example: knowledge collections list --json
    """
    with _open_store(options) as (settings, store):
        found = [(info, counts_of(store.open(info.name))) for info in store.collections()]
        if options.as_json:
            content = [_plain(info, counted, settings) for info, counted in found]
            write_json(asdict(store.identity) | {"collections": content})
            return
        if not found:
            say("There are no collections yet. `knowledge-ingest FOLDER` creates one.")
            return
        from knowledge_mcp import wiring

        def named(name: str) -> str:
            note = " (in use)" if name == settings.collection else ""
            return f"{name} (internal)" if wiring.is_inner(settings, name) else f"{name}{note}"

        numbers = ("Documents", "Chunks", "Tokens", "Vectors")
        rows = [
            (
                named(info.name),
                info.space.label,
                f"{counted.documents:,}",
                f"{counted.chunks:,}",
                f"{counted.tokens:,}",
                _size(_vector_bytes(info, counted)),
                info.created_at[:10],
            )
            for info, counted in found
        ]
        print_table(("Name", "Embedding", *numbers, "Created"), rows, numbers=numbers)
        total = _size(found[0][1].storage_bytes)
        say(f"{store.identity.backend}: {store.identity.location}, {total} in total")


@app.command(short_help="Show a collection and check its consistency.")
@with_groups
def show(options: StoreOptions, name: Name) -> None:
    """Show a collection: its embedding space, its contents, and whether it is consistent.

    Example: knowledge collections show se_knowledge_base
    """
    with _open_store(options) as (settings, store):
        info = _require_collection(store, name)
        opened = store.open(name)
        counted, findings = counts_of(opened), opened.verify()
        if options.as_json:
            content = _plain(info, counted, settings)
            write_json(content | {"space": asdict(info.space), "findings": [asdict(each) for each in findings]})
            return
        rows = [
            ("Embedding", info.space.label),
            *((f"  {key}", str(value)) for key, value in asdict(info.space).items() if value != ""),
            ("  fingerprint", info.space.fingerprint),
            ("Created", info.created_at),
            ("Documents", f"{counted.documents:,}"),
            ("Chunks", f"{counted.chunks:,} ({counted.tokens:,} tokens)"),
            ("Vectors", _size(_vector_bytes(info, counted))),
            (
                "In use",
                "yes" if info.name == settings.collection else "no: QDRANT_COLLECTION is set to another collection",
            ),
            ("Check", "sound" if not findings else how_many(len(findings), "finding")),
        ]
        print_facts(rows, title=info.name)
        for each in findings:
            say(f"- {each.message} {each.suggestion}".rstrip())


@app.command(short_help="Rename a collection.")
@with_groups
def rename(
    options: StoreOptions,
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="New name; no collection may have it yet.")],
) -> None:
    """Rename a collection. Servers and ingests that use the old name no longer find it.

    Example: knowledge collections rename se_knowledge_base standards-2026
    """
    with _open_store(options) as (settings, store):
        _require_collection(store, name)
        checked_name(new)
        store.rename_collections({name: new})
        follow = f" Next: set QDRANT_COLLECTION={new}, to go on using it." if name == settings.collection else ""
        options.tell({"collection": new, "was": name}, f"Renamed '{name}' to '{new}'.{follow}")


@app.command(short_help="Remove a collection with all its contents.")
@with_groups
def drop(options: StoreOptions, name: Name, yes: Yes = False) -> None:
    """Remove a collection with all its documents, chunks and vectors; this cannot be undone.

    Example: knowledge collections drop se_knowledge_base.old-20261122
    """
    with _open_store(options) as (_, store):
        info, counted = _require_collection(store, name), counts_of(store.open(name))
        contents = f"{how_many(counted.documents, 'document')} and {how_many(counted.chunks, 'chunk')}"
        question = f"Drop '{name}' ({info.space.label}) with {contents}?"
        confirm_removal(question, yes=yes, otherwise="Nothing was dropped")
        store.drop_collection(name)
        options.tell(
            {"collection": name, "documents_removed": counted.documents, "chunks_removed": counted.chunks},
            f"Dropped '{name}': {how_many(counted.documents, 'document')}, {how_many(counted.chunks, 'chunk')}.",
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
