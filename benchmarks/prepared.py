"""Labelled sets as the product's search sees them: chunks, vectors, terms and judged questions, kept on disk.

Each document goes through the product's own reader and chunker, each text through its own local model, and each text
is embedded once for all runs: vectors are kept in one SQLite file by the SHA-256 of the text. Sets below `code/` and
`trace/req2code-*` are read and cut as repositories are, all others as Markdown is by `knowledge-ingest`.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.errors import UnreadableDocumentError
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Embedder
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.sources.scan.files import media_type_of

SCORED = (
    "ir/cranfield",
    "ir/medline",
    "ir/scifact",
    "qa/mtrag-un",
    "qa/xquad-en",
    "trace/obj2control-nist80053",
    "trace/req2req-cm1-nasa",
    "trace/req2req-warc",
    "trace/req2code-etour",
    "code/commits-gin-go",
    "code/cosqa-dev",
)
"""The sets that one configuration has to serve."""

_VERSION = 1

Cut = Callable[[int, dict[str, Any]], list[Chunk]]


@dataclass(frozen=True)
class Prepared:
    """Hold one set ready to be ranked.

    Attributes:
        name: folder below the data.
        chunks: every chunk of every document.
        owners: the document (its place in `documents`) of each chunk, `[chunks]`.
        documents: ids.
        vectors: `[chunks, dimensions]`, unit norm.
        questions: ids with their texts.
        asked: `[questions, dimensions]`.
        grades: per question the grade by document id.
    """

    name: str
    chunks: tuple[Chunk, ...]
    owners: NDArray[np.int64]
    documents: tuple[str, ...]
    vectors: NDArray[np.float32]
    questions: tuple[tuple[str, str], ...]
    asked: NDArray[np.float32]
    grades: Mapping[str, Mapping[str, int]]

    @property
    def is_code(self) -> bool:
        """Tell whether the set was read as a repository."""
        return _is_code(self.name)


class Texts:
    """Embed texts, each once for all runs.

    Args:
        embedder: the product's.
        file: where vectors are kept.
    """

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._embedder = embedder
        self._kept = sqlite3.connect(file)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._known(key) is None}
        names = list(missing)
        for start in range(0, len(names), 256):
            some = names[start : start + 256]
            found = self._embedder.embed_documents([missing[key] for key in some])
            with self._kept:
                self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", zip(some, found, strict=True))
        rows = [cast("bytes", self._known(key)) for key in keys]
        return np.frombuffer(b"".join(rows), "<f4").reshape(len(texts), -1)

    def close(self) -> None:
        """Close the file."""
        self._kept.close()

    def _known(self, key: bytes) -> bytes | None:
        row = self._kept.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]


def read_judged(folder: Path) -> tuple[list[dict[str, Any]], list[tuple[str, str]], dict[str, dict[str, int]]]:
    """Read documents, questions with at least one relevant document, and grades."""
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        grades.setdefault(question, {})[document] = int(grade)
    documents = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    rows = [json.loads(line) for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    questions = [(row["_id"], row["text"][:2000]) for row in rows if max(grades.get(row["_id"], {"": 0}).values()) > 0]
    return documents, questions, grades


def prepare(data: Path, name: str, work: Path, embedder: LocalEmbedder) -> Prepared:
    """Read, cut and embed one set, or load it as it was prepared before."""
    kept = work / f"{name.replace('/', '-')}-{_VERSION}.pickle"
    if kept.is_file():
        return cast("Prepared", pickle.loads(kept.read_bytes()))  # noqa: S301 - what this script wrote
    work.mkdir(parents=True, exist_ok=True)
    documents, questions, grades = read_judged(data / name)
    cut = _code_cutter(embedder) if _is_code(name) else _text_cutter(embedder)
    chunks: list[Chunk] = []
    owners: list[int] = []
    for number, row in enumerate(documents):
        pieces = cut(number, row)
        chunks.extend(pieces)
        owners.extend([number] * len(pieces))
    texts = Texts(embedder, work / "vectors.sqlite")
    prepared = Prepared(
        name,
        tuple(chunks),
        np.array(owners),
        tuple(row["_id"] for row in documents),
        texts.vectors([chunk.embedding_text for chunk in chunks]),
        tuple(questions),
        texts.vectors([text for _, text in questions]),
        grades,
    )
    texts.close()
    kept.write_bytes(pickle.dumps(prepared))
    return prepared


def _is_code(name: str) -> bool:
    return name.startswith(("code/", "trace/req2code"))


def _text_cutter(embedder: Embedder) -> Cut:
    reader, chunker, classify = MarkdownReader(), ClauseChunker(), DocumentClassifier()

    def cut(number: int, row: dict[str, Any]) -> list[Chunk]:
        title = " ".join(row.get("title", "").split())
        text = (f"# {title}\n\n" if title else "") + row["text"] + "\n"
        try:
            document = reader.read(_item(f"d{number:06d}.md", text, "text/markdown"))
        except UnreadableDocumentError:
            return []  # a few documents of the old collections are empty
        return chunker.chunk(document, classify(document).kind, embedder)

    return cut


def _code_cutter(embedder: Embedder) -> Cut:
    reader, chunker = CodeReader(), CodeChunker()

    def cut(number: int, row: dict[str, Any]) -> list[Chunk]:
        del number
        name = row["_id"] if "." in row["_id"] else f"{row['_id']}.py"
        if not row["text"].strip():
            return []
        document = reader.read(_item(name, row["text"], media_type_of(Path(name).name)))
        return chunker.chunk(document, DocumentType.CUSTOM.value, embedder)

    return cut


def _item(name: str, text: str, media_type: str) -> SourceItem:
    data = text.encode("utf-8", "replace")
    return SourceItem(name, name, media_type, len(data), hashlib.sha256(data).hexdigest(), partial(io.BytesIO, data))
