"""PORTS of storing: terms of the lexical leg, and the store itself."""

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
        """Name the analyser and its version with a number that grows, such as `english-2-porter2`.

        A store remembers it: what an older version has indexed is indexed again once, what a newer one has is left.
        """
        ...

    def document_terms(self, text: str) -> list[str]:
        """List all terms of a passage in order, with repetitions; terms hold only [0-9a-z_] or letters, no blanks."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """List the terms of a query, without repetitions; may be empty."""
        ...

    def query_words(self, text: str) -> list[tuple[str, ...]]:
        """List the words of a query, each with the terms that say it, one of which a passage has that holds the word.

        All of them together are `query_terms`; a word has several terms where languages would write it differently.
        """
        ...

    def term_key(self, term: str) -> str:
        """Normalise a defined term for exact look-up: case, accents, blanks, hyphens, plural."""
        ...


class Collection(Protocol):
    """A handle on one collection of a store. Each call sees what every call that was finished before it has written.

    Raises:
        NotFoundError: there is no such collection; of every method but `info`.
    """

    def snapshot(self) -> AbstractContextManager[Collection]:
        """Give a handle whose reads are of one state until the context ends, where the store can.

        A file with transactions can. A server's client keeps what it found under the name and what it holds in memory,
        but documents may be replaced between two reads. It keeps no writer waiting, and should be short: nothing that
        it sees can be freed meanwhile. What is written inside need not be seen before the end. One thread uses it.

        Raises:
            NotFoundError: there is no such collection; where a server is asked, the first read says so.
        """
        ...

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        """Describe the collection and name the state of its documents, None where there is none of that name.

        It is asked at each question, and where somebody wants to know whether the store works: it takes a look. Only
        `counted` it says what the collection holds, for which a store may have to read every record.

        Raises:
            ConnectionFailedError, TimedOutError, InternalError: the store does not work.
        """
        ...

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        """Put documents in place of what there is of them, in as few steps as the store can.

        Each becomes visible as a whole, in one step. `on_published` receives the id of each once it is visible; of
        those that it did not receive when the call fails, none is visible in part.

        Raises:
            InternalError: chunks are not as many as announced, or one comes twice; or another writer was at one of
                the documents all the time.
            InvalidInputError: a vector is of another length; nothing was written.
        """
        ...

    def delete(self, document_id: str) -> int:
        """Remove a document and its chunks; returns the visible chunks removed, 0 where there was none."""
        ...

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        """Look up vectors already known in this collection by `EmbeddedChunk.embedding_key`."""
        ...

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        """List records by id: all of them, or those of the ids given for which there is a document.

        With a `limit` at most so many of all are read; which ones is for the store to choose.
        """
        ...

    def parts(self, document_id: str) -> DocumentParts | None:
        """Read text and structure of one version of a document, None where there is no such document.

        A damaged part does not keep the other one from being read.
        """
        ...

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        """Return visible chunks by key: for each value in the order asked, its chunks by document and index.

        A term is an `Analyser.term_key` of a defined term or of an alias, a content the hash of a chunk's words. A
        value that nothing has gives none.
        """
        ...

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        """Rank visible chunks by cosine with the vector, by BM25 with the text, or both; filters apply before ranking.

        At most `limit` per leg. A leg is None exactly where its input is None; a chunk without any query term is no
        lexical hit. A leg that fails is reported in the result when the other one works, else raised. Where the filter
        names chunk ids, all of them that are visible are scored, without any approximation.

        Raises:
            InvalidInputError: the vector is of another length than the collection's; the filter names no such field.
        """
        ...

    def defined_terms(self) -> dict[str, str]:
        """Map every defined term's key to the term as printed."""
        ...

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Check records against chunks, vectors and indexes; `repair` repairs what it can safely."""
        ...


class Store(Protocol):
    """Keep collections of documents, chunks and vectors, and search them.

    What a finished call wrote is seen by every later call of any process on the same store.
    """

    @property
    def identity(self) -> StoreIdentity:
        """Name the kind of store, and its file or address without any secret; two of one identity hold the same."""
        ...

    def close(self) -> None:
        """Free every handle; later calls are errors."""
        ...

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        """Create the collection, or return the existing one of the same space.

        Raises:
            SpaceMismatchError: it exists in another space; names both.
            ConfigError: a newer version of the program has indexed it, so that this one must not write to it.
        """
        ...

    def collections(self) -> list[CollectionInfo]:
        """List all collections by name."""
        ...

    def drop_collection(self, name: str) -> bool:
        """Remove a collection with all it holds; False where there was none."""
        ...

    def rename_collections(self, names: Mapping[str, str]) -> None:
        """Give collections new names, all in one step; documents, space and `created_at` go along.

        `names` maps present names to new ones. A new name may be one that another entry gives up, so that
        `{"kb": "kb.old", "kb.next": "kb"}` puts a finished collection in the live one's place. Under a name that is
        there before and after, every process finds at any moment the one collection or the other, whole: never none.
        A call that fails or is killed leaves all names as they were, or all as they shall be. No entry, or a name
        given itself, changes nothing.

        Raises:
            NotFoundError: a present name is no collection.
            InvalidInputError: two would get one name, or a new name belongs to a collection that keeps it.
        """
        ...

    def open(self, name: str) -> Collection:
        """Give a handle on a collection, which need not be there yet; asks nothing.

        The handle finds whoever has the name at each call, or where its snapshot begins.
        """
        ...
