"""Ports for storage: the analyser of the lexical leg, and the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    EmbeddingSpace,
    StoreIdentity,
    WholeDocument,
)
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults


class Analyser(Protocol):
    """Turn text into the terms of the lexical leg; one analyser serves all stores."""

    @property
    def version(self) -> str:
        """Return the analyser's name and version with a number that grows, such as `english-2-porter2`.

        A store remembers it: it reindexes once what an older version indexed, and leaves what a newer version indexed.
        """
        ...

    def document_terms(self, text: str) -> list[str]:
        """List all terms of a passage in order, with repetitions; only [0-9a-z_] or letters, no whitespace."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """List the terms of a query in order, with repetitions, which count as often; may be empty."""
        ...

    def query_words(self, text: str) -> list[tuple[str, ...]]:
        """List the words of a query once, each with its terms; a passage that contains the word has one of them.

        All of them together are those of `query_terms`. A word has several terms if languages stem it differently, and
        a number with its unit is one word that also has the terms of its other forms.
        """
        ...

    def term_key(self, term: str) -> str:
        """Normalise a defined term for exact look-up: case, accents, whitespace, hyphens, plural."""
        ...


class Collection(Protocol):
    """A handle on one collection of a store. Each call sees what every call that returned before it has written.

    Raises:
        NotFoundError: there is no such collection; raised by every method except `info`.
    """

    def snapshot(self) -> AbstractContextManager[Collection]:
        """Return a handle whose reads all see one state until the context ends, if the store supports it.

        A file with transactions does. A server's client keeps what it resolved under the name and what it holds in
        memory, but documents may be replaced between two reads. A snapshot blocks no writer, and should be short,
        because nothing that it sees can be freed meanwhile. Writes inside it may not be visible before the end. Use it
        from one thread only.

        Raises:
            NotFoundError: there is no such collection; with a server, the first read raises it.
        """
        ...

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        """Describe the collection and identify the state of its documents; None if there is none of that name.

        It is called for each question and as a health check, so it must access the store. It counts the contents only
        with `counted`, since a store may have to read every record for that.

        Raises:
            ConnectionFailedError, TimedOutError, InternalError: the store does not work.
        """
        ...

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        """Replace all that is stored of some documents, in as few transactions as the store can.

        Each document becomes visible as a whole, in one step. `on_published` receives the id of each once it is
        visible; if the call fails, no document whose id it did not receive is partly visible.

        Raises:
            InternalError: the number of chunks is not the announced one, or a chunk id occurs twice; or another writer
                kept changing one of the documents.
            InvalidInputError: a vector has the wrong length; nothing was written.
        """
        ...

    def delete(self, document_id: str) -> int:
        """Remove a document and its chunks; return the number of visible chunks removed, 0 if there was none."""
        ...

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        """Look up vectors already stored in this collection by `EmbeddedChunk.embedding_key`."""
        ...

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        """List records by id: all of them, or those of the given ids that exist.

        With a `limit`, at most that many of all are read; the store chooses which.
        """
        ...

    def parts(self, document_id: str) -> DocumentParts | None:
        """Read text and structure of one version of a document; None if there is no such document.

        If one part is damaged, the other can still be read.
        """
        ...

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        """Return visible chunks by key: for each value in the order given, its chunks by document and index.

        A term is the `Analyser.term_key` of a defined term or of an alias; a content is the hash of a chunk's text. A
        value without a match gives nothing.
        """
        ...

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        """Rank visible chunks by cosine with the vector, by BM25 with the text, or both; filters apply before ranking.

        At most `limit` chunks per leg. A leg is None if and only if its input is None; a chunk without any query term
        is not a lexical hit. If one leg fails and the other works, the failure is reported in the result, otherwise
        raised. If the filter names chunk ids, all visible ones are scored exactly, without approximation.

        Raises:
            InvalidInputError: the vector does not have the collection's length; the filter names an unknown field.
        """
        ...

    def defined_terms(self) -> dict[str, str]:
        """Map the key of every defined term to the term as printed."""
        ...

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Check records against chunks, vectors and indexes; `repair` repairs what can be repaired safely."""
        ...


class Store(Protocol):
    """Store collections of documents, chunks and vectors, and search them.

    What a call wrote is visible to every later call of any process on the same store.
    """

    @property
    def identity(self) -> StoreIdentity:
        """Return the type of store and its file or address, without secrets; equal identities mean the same data."""
        ...

    def close(self) -> None:
        """Free every handle; do not use it afterwards."""
        ...

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        """Create the collection, or return the existing one with the same embedding space.

        Raises:
            SpaceMismatchError: it exists in another space; names both.
            ConfigError: a newer version of the program indexed it, so this version must not write to it.
        """
        ...

    def collections(self) -> list[CollectionInfo]:
        """List all collections by name."""
        ...

    def drop_collection(self, name: str) -> bool:
        """Remove a collection and its contents; False if there was none."""
        ...

    def rename_collections(self, names: Mapping[str, str]) -> None:
        """Rename collections in one step, with their documents, space and `created_at`.

        `names` maps present names to new ones. A new name may be one that another entry gives up, so that
        `{"kb": "kb.old", "kb.next": "kb"}` replaces the live collection by a finished one. Under a name that exists
        before and after, every process always finds one of the two collections, complete; never none. A call that fails
        or is killed leaves either all old names or all new ones. No entry, or a name mapped to itself, changes nothing.

        Raises:
            NotFoundError: a present name is not a collection.
            InvalidInputError: two would get the same name, or a new name belongs to a collection that keeps it.
        """
        ...

    def open(self, name: str) -> Collection:
        """Return a handle on a collection, which need not exist yet; accesses nothing.

        The handle resolves the name at each call, or when its snapshot begins.
        """
        ...
