"""The local embedder: a sentence-transformers model run by onnxruntime, without an API key, a server or torch.

Each text is embedded alone, on one thread, in a session that computes only on that thread. int8 scales the activations
of a whole batch together, so in a batch a text's vector would depend on the other texts, and a batch also computes on
padding. Many texts are spread over as many threads as there are cores.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.embedders.cache import CachedEmbedder, OnAnswer, refuse_blanks, with_cache_of_stopped_runs
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.support.workers import WorkerPool, usable_cores

if TYPE_CHECKING:
    from knowledge_mcp.embedders.local.model_config import Variant
    from knowledge_mcp.embedders.local.model_folders import ModelFiles
    from knowledge_mcp.embedders.local.model_sources import Progress
    from knowledge_mcp.embedders.local.session import OnnxModel
    from knowledge_mcp.embedders.local.tokens import ModelTokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    files: ModelFiles
    model: OnnxModel


class LocalEmbedder:
    """Embeds texts on this machine; implements `ports.Embedder`. Thread-safe.

    Nothing is read or imported before the first use, which may download the model (see `model_files`).

    Args:
        model: `all-MiniLM-L6-v2` or a hub's `owner/name`; None for the built-in model, or for the one in `path`.
        path: folder with the model; None for the cache.
        cache: the model cache; None for the user's own.
        variant: `int8` (half the time, mean cosine to the other one .99) or `fp32` (as published). They are two
            embedding spaces.
        threads: number of texts embedded at once; None for as many as this process has cores.
        progress: called with the progress of a download or build.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        path: Path | None = None,
        cache: Path | None = None,
        variant: Variant = "int8",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.price = 0.0
        self._model = model
        self._path = path
        self._cache = cache
        self._variant: Variant = variant
        self._progress = progress
        self._workers = WorkerPool(threads or usable_cores(), "embed", lambda: InternalError("The embedder is closed."))
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._tokenizer: ModelTokenizer | None = None
        self._files: ModelFiles | None = None
        self._space: EmbeddingSpace | None = None
        self._closed = False

    @property
    def space(self) -> EmbeddingSpace:
        if self._space is None:
            self._space = self._derive_space()
        return self._space

    @property
    def max_tokens(self) -> int:
        return self._tokens().room

    def count_tokens(self, text: str) -> int:
        return self._tokens().count(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokens().spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        prefix = self._prepare(texts).files.config.document_prefix
        return self._embed([prefix + text for text in texts], logging.WARNING) if texts else []

    def embed_each(self, texts: Sequence[str], on_answer: OnAnswer) -> list[Vector]:
        """Like `embed_documents`; everything is reported at the end."""
        vectors = self.embed_documents(texts)
        on_answer(texts, vectors)
        return vectors

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        del texts
        return {}

    def embed_query(self, text: str) -> Vector:
        with without_retries():  # a search can do without the model; downloading it for an ingest is retried
            self._load()
        prefix = self._prepare([text]).files.config.query_prefix
        return self._embed([prefix + text], logging.INFO)[0]

    @property
    def usage(self) -> EmbeddingUsage:
        return EmbeddingUsage()  # no service is involved

    def warm_up(self) -> None:
        with without_retries():  # a question waits for it
            loaded = self._load()
        loaded.model.embed(self._tokens().encode("warm up")[0])

    def close(self) -> None:
        with self._loading:
            self._closed = True
            self._loaded = self._tokenizer = None
        self._workers.close()

    def _derive_space(self) -> EmbeddingSpace:
        from knowledge_mcp.embedders.local.model_folders import find_pinned

        known = find_pinned(self._model) if self._path is None else None
        if known is not None:
            name, config, sha256 = known.name, known.config, known.weights.sha256
        else:
            files = self._known_files()
            name, config, sha256 = files.name, files.config, files.weights_sha256
        return EmbeddingSpace(
            provider="local",
            model=name,
            dimensions=config.dimensions,
            variant=self._variant,
            pooling=config.pooling,
            query_prefix=config.query_prefix,
            document_prefix=config.document_prefix,
            weights=sha256,
        )

    def _prepare(self, texts: Sequence[str]) -> _Loaded:
        refuse_blanks(texts)
        return self._load()

    def _embed(self, texts: Sequence[str], level_of_truncation: int) -> list[Vector]:
        started = time.perf_counter()
        model, tokenizer = self._load().model, self._tokens()

        def one(text: str) -> tuple[Vector, int]:
            encoding, length = tokenizer.encode(text)
            return model.embed(encoding), length

        # the longest first, so that all threads finish at about the same time
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        done = dict(zip(order, self._workers.map(one, [texts[place] for place in order]), strict=True))
        vectors, lengths = zip(*(done[place] for place in range(len(texts))), strict=True)
        cut = [length for length in lengths if length > tokenizer.window]
        if cut:
            log_event(
                logger, level_of_truncation, "text_truncated",
                texts=len(cut), longest=max(cut), max_tokens=tokenizer.window, model=self.space.model,
            )  # fmt: skip
        log_event(
            logger, logging.DEBUG, "embedding_generated",
            texts=len(texts), token_count=sum(lengths),
            latency_ms=round((time.perf_counter() - started) * 1000, 1), model=self.space.model,
        )  # fmt: skip
        return list(vectors)

    def _load(self) -> _Loaded:
        loaded = self._loaded
        if loaded is not None:
            return loaded
        from knowledge_mcp.embedders.local.model_files import provide
        from knowledge_mcp.embedders.local.session import OnnxModel

        with self._loading:
            self._refuse_when_closed()
            if self._loaded is None:
                started = time.perf_counter()
                files, onnx = provide(self._model, self._path, self._cache, self._variant, self._progress)
                self._files = files
                self._loaded = _Loaded(files, OnnxModel(onnx, files.config))
                log_event(
                    logger, logging.INFO, "embedding_model_loaded",
                    model=files.name, variant=self._variant, threads=self._workers.width,
                    latency_ms=round((time.perf_counter() - started) * 1000),
                )  # fmt: skip
            return self._loaded

    def _tokens(self) -> ModelTokenizer:
        tokenizer = self._tokenizer
        if tokenizer is not None:
            return tokenizer
        files = self._known_files()
        from knowledge_mcp.embedders.local.tokens import ModelTokenizer

        with self._loading:
            self._refuse_when_closed()
            if self._tokenizer is None:
                self._tokenizer = ModelTokenizer(files.tokenizer, files.config)
            return self._tokenizer

    def _known_files(self) -> ModelFiles:
        """Return the model's files; the tokenizer does not need a built model."""
        if self._files is None:
            self._refuse_when_closed()
            from knowledge_mcp.embedders.local.model_folders import find

            self._files = find(self._model, path=self._path, cache=self._cache)
        return self._files if self._files is not None else self._load().files

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise InternalError("The embedder is closed.")


class LocalOptions(Protocol):
    """The settings that this embedder needs."""

    embedding_model: str | None
    embedding_model_path: Path | None
    models_path: Path | None
    embedding_variant: Variant
    embedding_threads: int | None
    embedding_cache: bool

    @property
    def data_folder(self) -> Path: ...


def from_options(options: LocalOptions) -> LocalEmbedder | CachedEmbedder:
    """Create the local embedder from the settings, with its cache if that is enabled; loads nothing."""
    embedder = LocalEmbedder(
        options.embedding_model,
        path=options.embedding_model_path,
        cache=options.models_path,
        variant=options.embedding_variant,
        threads=options.embedding_threads,
    )
    return with_cache_of_stopped_runs(embedder, options.data_folder) if options.embedding_cache else embedder
