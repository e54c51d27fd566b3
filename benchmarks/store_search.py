"""Measure the embedded store's search: both legs, with and without filters, at any size; prints one table.

    python benchmarks/store_search.py --chunks 100000 [--keep /tmp/bench] [--vectors some.npy] [--fts5]

Vectors are made like real ones (`a + 0.45 (b - c) + noise` of a few thousand base vectors, unit norm); `--vectors`
gives real base vectors, else random cluster centres serve. Texts are sentences of the SciFact abstracts in
`KNOWLEDGE_EVAL_DATA` (else `../shared/data`) shuffled into passages, and its queries; where that is missing, words
drawn by Zipf's law, and the table says so. Documents have 100 chunks. `--fts5` also times SQLite's own full-text
index over the same terms.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk, ChunkType, EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace, WholeDocument
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix
from knowledge_mcp.stores.sqlite.store import SqliteStore

DIMENSIONS = 384
CHUNKS_PER_DOCUMENT = 100
SPACE = EmbeddingSpace("local", "benchmark", DIMENSIONS)
Floats = NDArray[np.float32]


@dataclass
class Texts:
    """Give passages and queries of one kind of text."""

    name: str
    passage: Callable[[], str]
    queries: list[str]


def texts(dice: random.Random) -> Texts:
    """Take real sentences where there are some, else draw words."""
    root = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "ir" / "scifact"
    if not root.is_dir():
        words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9))) for _ in range(60_000)]
        weights = [1.0 / (rank + 10) for rank in range(len(words))]
        queries = [" ".join(dice.choices(words, weights, k=dice.randint(5, 12))) for _ in range(120)]
        return Texts(
            "Zipf words (no evaluation data found)", lambda: " ".join(dice.choices(words, weights, k=130)), queries
        )
    sentences = [
        sentence
        for line in (root / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        for sentence in str(json.loads(line)["text"]).split(". ")
    ]
    queries = [
        str(json.loads(line)["text"]) for line in (root / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return Texts("shuffled SciFact sentences", lambda: ". ".join(dice.choices(sentences, k=6)), queries[:120])


def vectors(base: Floats, count: int, noise: np.random.Generator) -> Floats:
    """Mix base vectors into new ones that lie as real ones do."""
    a, b, c = (base[noise.integers(0, len(base), count)] for _ in range(3))
    mixed = a + 0.45 * (b - c) + noise.normal(0.0, 0.01, a.shape)
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


def base_vectors(path: Path | None, noise: np.random.Generator) -> Floats:
    """Load real vectors, or make cluster centres with members."""
    if path is not None:
        return np.asarray(np.load(path), np.float32)
    centres = noise.normal(size=(200, DIMENSIONS)) + 0.5
    found = centres[noise.integers(0, 200, 4000)] + noise.normal(0.0, 0.8, (4000, DIMENSIONS))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def document(number: int, passage: Callable[[], str], rows: Floats, dice: random.Random) -> Iterator[EmbeddedChunk]:
    """Make one document's chunks."""
    name = f"document-{number:05d}"
    kind = ("standard", "guide", "handbook", "report")[number % 4]
    for index, row in enumerate(rows):
        text = passage()
        digest = hashlib.sha256(f"{name}/{index}/{text}".encode()).hexdigest()
        chunk = Chunk(
            id=f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}",
            document_id=name,
            document_title=f"Document {number}",
            document_type=kind,
            index=index,
            content=text,
            content_hash=digest,
            context=f"Document {number}",
            token_count=200,
            span=Span(0, len(text)),
            section_hierarchy=("5 Requirements", f"5.{index // 20 + 1} Part"),
            section_title="Part",
            clause_number=f"{index // 10 + 1}.{index % 10 + 1}",
            parent_chunk_id=None,
            chunk_type=dice.choice(list(ChunkType)),
            normative=dice.random() < 0.3,
            source_path=f"/{name}.pdf",
        )
        yield EmbeddedChunk(chunk, row.astype("<f4").tobytes(), digest)


def fill(store: SqliteStore, chunks: int, words: Texts, base: Floats, dice: random.Random) -> float:
    """Publish that many chunks, document by document; returns the seconds."""
    noise = np.random.default_rng(7)
    store.create_collection("benchmark", SPACE)
    started = time.perf_counter()
    for number in range(chunks // CHUNKS_PER_DOCUMENT):
        made = list(document(number, words.passage, vectors(base, CHUNKS_PER_DOCUMENT, noise), dice))
        record = DocumentRecord(
            id=made[0].chunk.document_id,
            title=made[0].chunk.document_title,
            document_type=made[0].chunk.document_type,
            source_path=made[0].chunk.source_path,
            sha256="",
            pipeline="",
            size=0,
            pages=0,
            chunk_count=len(made),
            token_count=200 * len(made),
            embedding_model=SPACE.label,
            created_at="",
            updated_at="",
        )
        store.open("benchmark").publish([WholeDocument(record, "", made)], lambda _: None)
    return time.perf_counter() - started


def timed(calls: Sequence[Callable[[], Any]]) -> str:
    """Run the calls and tell p50 and p95 in milliseconds."""
    spent: list[float] = []
    for call in calls:
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1000)
    p95 = sorted(spent)[int(len(spent) * 0.95)]
    return f"{statistics.median(spent):8.1f} {p95:8.1f}"


def measure(store: SqliteStore, queries: Sequence[str], probes: Floats, depth: int) -> None:
    """Print p50 and p95 of each leg and of both, with each kind of filter."""
    filters: dict[str, Filter | None] = {
        "none": None,
        "document type (1/4)": Equals("document_type", "guide"),
        "normative (.3)": Equals("normative", True),
        "chunk types (.2)": In("chunk_type", ("requirement", "table")),
        "clause 5 and below (.1)": Prefix("clause_number", "5"),
        "one document": Equals("document_id", "document-00007"),
        "type and normative (.075)": And((Equals("document_type", "guide"), Equals("normative", True))),
    }
    print(f"milliseconds, top {depth} of each leg")
    print(f"{'filter':28}{'dense p50      p95':>20}{'lexical p50      p95':>22}{'both p50      p95':>20}")
    pairs = [(text, row.astype("<f4").tobytes()) for text, row in zip(queries, probes, strict=False)]
    for name, kept in filters.items():

        def run(text: str | None, vector: bytes | None, kept: Filter | None = kept) -> Callable[[], Any]:
            return lambda: store.open("benchmark").search(vector=vector, text=text, filter=kept, limit=depth)

        run(*pairs[0])()
        print(
            f"{name:28}",
            timed([run(None, vector) for _, vector in pairs]),
            "   ",
            timed([run(text, None) for text, _ in pairs]),
            "  ",
            timed([run(text, vector) for text, vector in pairs]),
        )


def recall(path: Path, store: SqliteStore, probes: Floats) -> float:
    """Compare the dense leg's first ten with exact search over the float vectors."""
    connection: Any = apsw.Connection(str(path))
    found: list[tuple[str, bytes]] = connection.execute(
        "SELECT c.chunk_id, v.vector FROM chunks c JOIN vectors v ON v.key = c.key"
    ).fetchall()
    matrix = np.frombuffer(b"".join(row[1] for row in found), "<f4").reshape(len(found), -1)
    connection.close()
    hits = 0
    for probe in probes:
        best = np.argpartition(-(matrix @ probe), 10)[:10]
        exact: set[str] = {found[place][0] for place in best}
        vector = probe.astype("<f4").tobytes()
        legs = store.open("benchmark").search(vector=vector, text=None, filter=None, limit=100)
        hits += len(exact & {hit.chunk_id for hit in (legs.dense or ())[:10]})
    return hits / (10 * len(probes))


def full_text_index(path: Path, folder: Path, queries: Sequence[str], depth: int) -> None:
    """Time FTS5 over the same terms: all of the query's words, and only those in at most 5 % of the chunks."""
    analyser = EnglishAnalyser()
    source: Any = apsw.Connection(str(path))
    index: Any = apsw.Connection(str(folder / "fts5.db"))
    index.execute("CREATE VIRTUAL TABLE f USING fts5(terms, content='', tokenize=\"unicode61 tokenchars '_'\")")
    rows = source.execute(
        "SELECT key, json_extract(payload, '$.context'), json_extract(payload, '$.content') FROM chunks"
    )
    started = time.perf_counter()
    with index:
        index.executemany(
            "INSERT INTO f (rowid, terms) VALUES (?, ?)",
            ((key, " ".join(analyser.document_terms(f"{context}\n\n{content}"))) for key, context, content in rows),
        )
    print(f"FTS5 built in {time.perf_counter() - started:.0f} s, {(folder / 'fts5.db').stat().st_size >> 20} MB")
    index.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, row)")
    frequency: dict[str, int] = dict(index.execute("SELECT term, doc FROM v").fetchall())
    total = index.execute("SELECT count(*) FROM f").fetchone()[0]

    def search(terms: Sequence[str]) -> Callable[[], Any]:
        match = " OR ".join(f'"{term}"' for term in terms)
        statement = "SELECT rowid, bm25(f) AS score FROM f WHERE f MATCH ? ORDER BY score LIMIT ?"
        return lambda: index.execute(statement, (match, depth)).fetchall()

    asked = [[term for term in analyser.query_terms(query) if term in frequency] for query in queries]
    asked = [terms for terms in asked if terms]
    rare = [
        [term for term in terms if frequency[term] <= total / 20] or [min(terms, key=lambda each: frequency[each])]
        for terms in asked
    ]
    print(f"{'FTS5, all words':50}", timed([search(terms) for terms in asked]))
    print(f"{'FTS5, words in at most 5 % of the chunks':50}", timed([search(terms) for terms in rare]))


def main() -> None:
    """Build or open a store and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--depth", type=int, default=100, help="hits asked of each leg")
    parser.add_argument("--keep", type=Path, help="folder of the store, used again where it is filled already")
    parser.add_argument("--vectors", type=Path, help="real vectors to mix from, a .npy file [n, 384]")
    parser.add_argument("--fts5", action="store_true", help="also time FTS5 over the same terms")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.keep or Path(temporary)
        path = folder / "knowledge.db"
        filled = path.exists()
        dice = random.Random(5)
        base = base_vectors(options.vectors, np.random.default_rng(3))
        words = texts(dice)
        store = SqliteStore(path, EnglishAnalyser())
        if not filled:
            seconds = fill(store, options.chunks, words, base, dice)
            print(f"filled in {seconds:.0f} s, {1000 * seconds / options.chunks:.2f} ms a chunk")
        store.close()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        store = SqliteStore(path, EnglishAnalyser())
        opened = time.perf_counter()
        probes = vectors(base, len(words.queries), np.random.default_rng(11))
        store.open("benchmark").search(vector=probes[0].astype("<f4").tobytes(), text="test", filter=None, limit=10)
        first = time.perf_counter()
        counted = counts_of(store.open("benchmark"))
        print(f"{counted.chunks} chunks, {counted.storage_bytes >> 20} MB, {words.name}")
        print(f"open {1000 * (opened - started):.1f} ms, first search {1000 * (first - opened):.0f} ms")
        measure(store, words.queries, probes, options.depth)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
        print(f"peak memory +{grown} MB over the process before the first search (the fill counts where it ran here)")
        print(f"dense recall@10 {recall(path, store, probes):.4f}")
        store.close()
        if options.fts5:
            full_text_index(path, Path(temporary), words.queries, options.depth)


if __name__ == "__main__":
    main()
