"""What the tests of moving share: filled collections, stores that are killed or lie, and a child process to be killed.

    python -m tests.engine.moving copy <step> <source file> <target file>
    python -m tests.engine.moving reembed <step> <file>

copies collection `kb`, or embeds it again, and says each step; after the step that is named it waits to be killed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from knowledge_mcp.engine.transfer.copying import CollectionPlace, MoveEvent, MoveEventKind
from knowledge_mcp.engine.transfer.move import Move, MoveOptions, MoveReport
from knowledge_mcp.engine.transfer.reembed import Reembed, ReembedOptions
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord, WholeDocument
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.testing.store_search import structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, embedded, full_chunk, record, structure, unit_vector

WORDS = "valve pump outage station operator battery alarm gauge seal flange rotor inlet".split()


def memory() -> MemoryStore:
    """Make an empty store."""
    return MemoryStore(EnglishAnalyser())


def sqlite(path: Path) -> SqliteStore:
    """Open a file."""
    return SqliteStore(path, EnglishAnalyser())


def place(store: Store, collection: str = "kb") -> CollectionPlace:
    """Name a collection."""
    return CollectionPlace(store, collection)


def chunks_of(document_id: str, count: int, turn: int = 0) -> list[EmbeddedChunk]:
    """Make chunks with the key that an ingest gives them."""
    texts = [
        f"{WORDS[(index * 5 + turn) % len(WORDS)]} {WORDS[index % len(WORDS)]} of {document_id} n{index} turn{turn}"
        for index in range(count)
    ]
    made = embedded(document_id, texts)
    return [
        replace(each, embedding_key=hashlib.sha256(each.chunk.embedding_text.encode()).hexdigest()) for each in made
    ]


def put_document(
    store: Store, document_id: str, chunks: Sequence[EmbeddedChunk], *, collection: str = "kb", turn: int = 0
) -> DocumentRecord:
    """Publish a document; returns its record."""
    kept = replace(record(document_id, chunks, sha256=f"{turn:064d}"), updated_at=f"2026-01-02T00:00:{turn:02d}+00:00")
    text, shape = f"text of {document_id}, turn {turn} 東京", structure(len(chunks) + turn)
    store.open(collection).publish([WholeDocument(kept, text, chunks, shape)], lambda _: None)
    return kept


def fill(store: Store, documents: int = 6, chunks: int = 5, *, collection: str = "kb") -> None:
    """Make a collection with some documents: one without chunks, one in which every field has a value."""
    store.create_collection(collection, SPACE)
    for number in range(documents):
        put_document(store, f"doc-{number:02d}", chunks_of(f"doc-{number:02d}", chunks), collection=collection)
    put_document(store, "empty", [], collection=collection)
    full = full_chunk("full")
    key = hashlib.sha256(full.chunk.embedding_text.encode()).hexdigest()
    put_document(store, "full", [EmbeddedChunk(full.chunk, unit_vector("full"), key)], collection=collection)


def everything(store: Store, collection: str = "kb") -> dict[str, object]:
    """Read all there is of a collection through the port, without our own hash."""
    return {
        each.id: (
            each,
            text_of(store.open(collection), each.id),
            store.open(collection).chunks("document", [each.id]),
            structure_of(store.open(collection), each.id),
        )
        for each in store.open(collection).documents()
    }


class RecordedEvents:
    """Keep what was reported; raise `error` when so many documents were stored."""

    def __init__(self, error: BaseException | None = None, after: int = 0) -> None:
        self.events: list[MoveEvent] = []
        self._error = error
        self._after = after

    def __call__(self, event: MoveEvent) -> None:
        self.events.append(event)
        if self._error is not None and len(self.of(MoveEventKind.STORED)) > self._after:
            raise self._error

    def of(self, kind: MoveEventKind) -> list[str]:
        """List the documents of one kind of event."""
        return [each.document_id for each in self.events if each.kind == kind]


def move(
    source: CollectionPlace,
    target: CollectionPlace,
    expected: RecordedEvents | None = None,
    *,
    prune: bool = False,
    samples: int = 20,
) -> MoveReport:
    """Move a collection."""
    return Move(source, target, MoveOptions(prune=prune, samples=samples), expected or RecordedEvents()).run()


class _Kept(MemoryStore):
    """Stands for a server: closing a connection to it loses nothing."""

    def close(self) -> None:
        pass


SERVER = _Kept(EnglishAnalyser())


def server(_options: object, _analyser: Analyser, _memory: object) -> MemoryStore:
    """Give the one store of this process, as a builder of the registry would."""
    return SERVER


class EmbedderOptions(Protocol):
    """Name the settings that choose the embedder of these tests."""

    @property
    def embedding_model(self) -> str | None: ...
    @property
    def embedding_dimensions(self) -> int | None: ...


def embedder(options: EmbedderOptions) -> HashingEmbedder:
    """Make the embedder that the settings name, as a builder of the registry would."""
    return HashingEmbedder(
        model=options.embedding_model or "hashing", dimensions=options.embedding_dimensions or 384, max_tokens=40
    )


def say(event: MoveEvent) -> None:
    """Tell the test what was just done."""
    sys.stdout.write(f"{event.kind.value} {event.document_id}\n")
    sys.stdout.flush()


def main() -> None:
    """Copy between two files, or embed the collection of one again, and say each step."""
    what, last, *paths = sys.argv[1:]

    def tell(event: MoveEvent) -> None:
        say(event)
        if f"{event.kind.value} {event.document_id}" == last:
            sys.stdin.read()

    stores = [sqlite(Path(each)) for each in paths]
    if what == "copy":
        good = Move(place(stores[0]), place(stores[1]), MoveOptions(), tell).run().good
    else:
        new = HashingEmbedder(dimensions=64, model="new")
        good = Reembed(place(stores[0]), new, ReembedOptions(slice=8), tell).run().good
    sys.stdout.write(f"finished {good}\n")
    for store in stores:
        store.close()


if __name__ == "__main__":
    main()
