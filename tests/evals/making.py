"""Sets, hits and runs made by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.evals.measures import COLUMNS, interval
from knowledge_mcp.evals.results import Latency, QuestionResult, Run, SetResult
from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.query import Hit, LegScore


def jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def beir(folder: Path, documents: Mapping[str, str], queries: Mapping[str, str], judgements: Sequence[str]) -> Path:
    """Write a set in the form of BEIR; judgements are lines `query document grade`."""
    jsonl(folder / "corpus.jsonl", ({"_id": key, "title": "", "text": text} for key, text in documents.items()))
    jsonl(folder / "queries.jsonl", ({"_id": key, "text": text} for key, text in queries.items()))
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(line.split()) for line in judgements)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder


def passage(
    document: str, content: str = "some text", *, clause: str | None = None, pages: tuple[int, ...] = (), index: int = 0
) -> Chunk:
    """Make a chunk."""
    return Chunk(
        id=f"{document}/{index}",
        document_id=document,
        document_title=document.title(),
        document_type="standard",
        index=index,
        content=content,
        content_hash=hashlib.sha256(content.encode()).hexdigest(),
        context="",
        token_count=len(content.split()),
        span=Span(0, len(content)),
        section_hierarchy=(),
        section_title="",
        clause_number=clause,
        parent_chunk_id=None,
        chunk_type=ChunkType.GUIDANCE,
        normative=False,
        source_path=f"/documents/{document}.pdf",
        page_numbers=pages,
        page_labels=tuple(map(str, pages)),
    )


def hit(chunk: Chunk, score: float = 0.5, *, cosine: float = 0.4) -> Hit:
    """Make a hit of the dense leg."""
    return Hit(chunk, score, chunk.document_title, LegScore(1, cosine), None)


def result(
    values: Mapping[str, float], *, name: str = "pumps", mode: str = "hybrid", unanswerable: int = 0
) -> SetResult:
    """Make a result whose every measure is the value given for the question."""
    rows = {
        query: QuestionResult(
            (value,) * len(COLUMNS), 1 if value else None, 3.0 + number, f"What is {query}?", {"score": value}
        )
        for number, (query, value) in enumerate(values.items())
    }
    rows |= {
        f"none{number}": QuestionResult((), None, 2.0, "What is not?", {"score": 0.1}) for number in range(unanswerable)
    }
    return SetResult(
        set=name,
        kind="beir",
        mode=mode,
        documents=12,
        chunks=34,
        ingest_seconds=5.0,
        questions=len(rows),
        unanswerable=unanswerable,
        measures={column: interval(list(values.values())) for column in COLUMNS},
        curve={1: 0.25, 10: 0.75, 100: 1.0},
        latency=Latency(3.0, 9.0, 4.0),
        citations={},
        abstentions=(),
        rows=rows,
    )


def run_of(*results: SetResult, name: str = "today", commit: str = "abc") -> Run:
    """Make a run."""
    return Run(name, "1.0", commit, "2026-01-15T10:00:00+00:00", {"embedding": "local/words"}, results)


def show_nothing(step: str, done: int, total: int) -> None:
    """Show no progress."""
