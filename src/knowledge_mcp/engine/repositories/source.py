"""The files of one indexing with what is known of them, and the embedder that finds the vectors of renamed files."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from knowledge_mcp.engine.repositories.metrics import Metrics
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import Checkout, SourceItem
from knowledge_mcp.ports import Embedder, Source, Store


def is_plain(path: str) -> bool:
    """Tell whether a path of Git's is written in a scan as it is: no byte in it that is escaped there."""
    return path.isprintable() and "\\" not in path and not any("\ud800" <= sign <= "\udfff" for sign in path)


class RepositoryFiles:
    """Label the files that a scan finds, and keep apart what it passes over (`ports.Source`).

    Args:
        scan: finds them.
        copy: where they are from.
        only: paths that may have changed; None for all.

    Attributes:
        hashes: by uri of each file found, the hash of its bytes; whole once `items` has run.
        skipped: files passed over.
    """

    def __init__(self, scan: Source, copy: Checkout, only: Collection[str] | None) -> None:
        self._scan = scan
        self._copy = copy
        self._only = only
        self._dirty = frozenset(change.path for change in copy.dirty)
        self.hashes: dict[str, str] = {}
        self.skipped: list[SkippedFile] = []

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the files in the order of the scan."""
        for entry in self._scan.items():
            if isinstance(entry, SkippedFile):
                self.skipped.append(entry)
            elif self._only is None or entry.name in self._only:
                self.hashes[entry.uri] = entry.sha256
                yield dataclasses.replace(entry, labels=tuple(self._labels(entry).items()), document_id=entry.uri)

    def _labels(self, item: SourceItem) -> dict[str, str]:
        labels = {
            "repository": self._copy.name,
            "path": item.name,
            "extension": PurePosixPath(item.name).suffix,
            "commit": self._copy.commit,
        }
        if item.name in self._dirty:
            labels["uncommitted"] = "true"
        if item.path is not None:
            try:
                modified = datetime.fromtimestamp(item.path.stat().st_mtime, UTC)
                labels["modified_at"] = modified.isoformat(timespec="seconds").replace("+00:00", "Z")
            except OSError:
                return labels  # it has just gone; reading it will say so
        return labels


class RunEmbedder:
    """Embed the passages of one indexing (`ports.Embedder`), counting and timing; renamed files keep their vectors.

    A passage's path stands before its words, so that its vector's key changes with a file's name. Where a file was
    renamed, the vector kept under its former name is taken: the words are the same.

    Args:
        inner: embeds.
        store, collection: where vectors are looked up.
        former: the former path by the present one, of renamed files; asked once the scan is done.
        metrics: counts.

    Attributes:
        reused: passages whose vector was found under a former name.
    """

    def __init__(
        self,
        inner: Embedder,
        store: Store,
        collection: str,
        former: Callable[[], Mapping[str, str]],
        metrics: Metrics,
    ) -> None:
        self._inner = inner
        self._store = store
        self._collection = collection
        self._former = former
        self._metrics = metrics
        self.reused = 0

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    @property
    def usage(self) -> EmbeddingUsage:
        return self._inner.usage

    @property
    def price(self) -> float | None:
        return self._inner.price

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._inner.token_spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        known = self._known(texts)
        self.reused += len(known)
        places = [place for place in range(len(texts)) if place not in known]
        vectors: list[Vector | None] = [known.get(place) for place in range(len(texts))]
        if places:
            started = time.perf_counter()
            try:
                fresh = self._inner.embed_documents([texts[place] for place in places])
            except ContentRefusedError as exc:
                for place, vector in zip(places, exc.vectors, strict=True):
                    vectors[place] = vector
                raise ContentRefusedError(
                    exc.message,
                    vectors=vectors,
                    reasons={places[at]: reason for at, reason in exc.reasons.items()},
                    details=exc.details,
                    suggestion=exc.suggestion,
                ) from exc
            self._metrics.observe("embedding_duration_ms", (time.perf_counter() - started) * 1000)
            self._metrics.count("embeddings_generated", len(places))
            for place, vector in zip(places, fresh, strict=True):
                vectors[place] = vector
        return [vector for vector in vectors if vector is not None]

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        return self._inner.documents_at_hand(texts)

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def warm_up(self) -> None:
        self._inner.warm_up()

    def close(self) -> None:
        """Leave the embedder open: it belongs to the service."""

    def _known(self, texts: Sequence[str]) -> dict[int, Vector]:
        former = self._former()
        if not former:
            return {}
        keys: dict[int, str] = {}
        for place, text in enumerate(texts):
            first = text.partition("\n")[0]
            path = first.partition(" > ")[0]
            if path in former:
                old = former[path] + text[len(path) :]
                keys[place] = hashlib.sha256(old.encode()).hexdigest()
        found = self._store.open(self._collection).vectors(list(keys.values())) if keys else {}
        return {place: found[key] for place, key in keys.items() if key in found}


def uncommitted_fingerprint(copy: Checkout) -> str:
    """Hash what differs from the commit, with sizes and times, so that a later change shows; empty where nothing does.

    Args:
        copy: the files.
    """
    if not copy.dirty:
        return ""
    digest = hashlib.sha256()
    for change in copy.dirty:
        digest.update(os.fsencode(f"{change.kind}\0{change.path}\0"))
        try:
            status = (copy.folder / change.path).lstat()
            digest.update(f"{status.st_size}\0{status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(b"gone\n")
    return digest.hexdigest()
