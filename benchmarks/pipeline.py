"""Measure what an ingest costs beside the model: wall time against a bare embedding loop, peak memory, and increments.

Usage: `python -m benchmarks.pipeline [overhead|memory|increment …] [--folder FOLDER] [--pages 1000] [--rounds 3]`

- overhead: ingest of a folder of text-layer documents (default: `docs/pdf`, `docs/docx` and `docs/md` below
  `$KNOWLEDGE_EVAL_DATA` or `../shared/data`, else `examples/documents`), divided by what the same model takes to
  embed the very same texts in one call on the same threads; both in this process, in turns, model loaded before.
- memory: a generated PDF, `knowledge-ingest` with all its child processes; highest sum of resident memory seen.
- increment: one hundred documents, then again, then with one clause changed: chunks embedded each time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from benchmarks.product import environment, open_knowledge
from knowledge_mcp.model.ingest import IngestOptions, IngestReport
from knowledge_mcp.sources.files import FileSource

PATTERNS = ("*.pdf", "*.docx", "*.md", "*.mdx")


def default_folders() -> list[Path]:
    """Choose what is measured on: real documents where they are, else the examples."""
    data = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "docs"
    if data.is_dir():
        return [data / "pdf", data / "docx", data / "md"]
    print("note: no evaluation data; measuring on the examples, which are small")
    return [Path("examples/documents")]


def ingest(data: Path, folders: list[Path]) -> tuple[float, list[str]]:
    """Ingest folders in this process; returns seconds and every text that was embedded."""
    knowledge = open_knowledge(data)
    knowledge.warm_up()
    started = time.perf_counter()
    reports = [knowledge.ingest(FileSource(folder, patterns=PATTERNS), IngestOptions()) for folder in folders]
    seconds = time.perf_counter() - started
    texts = [
        chunk.embedding_text
        for report in reports
        for document in report.documents
        for chunk in knowledge.document_chunks(document.record.id)
    ]
    knowledge.close()
    return seconds, texts


def bare(data: Path, texts: list[str]) -> float:
    """Embed the texts in one call with the same embedder; returns seconds."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_base

    base = build_base(load_settings(environ=environment(data)))
    base.embedder.warm_up()
    unique = list(dict.fromkeys(texts))
    started = time.perf_counter()
    base.embedder.embed_documents(unique)
    seconds = time.perf_counter() - started
    base.embedder.close()
    base.store.close()
    return seconds


def overhead(folders: list[Path], rounds: int) -> None:
    """Print ingest time, bare time and their ratio for each round."""
    print("| round | chunks | ingest s | bare loop s | ratio |\n|---|---|---|---|---|")
    for turn in range(rounds):
        with tempfile.TemporaryDirectory() as temporary:
            whole, texts = ingest(Path(temporary), folders)
            alone = bare(Path(temporary), texts)
        print(f"| {turn + 1} | {len(texts):,} | {whole:.1f} | {alone:.1f} | {whole / alone:.3f} |", flush=True)


def write_pdf(path: Path, pages: int) -> None:
    """Write a PDF of numbered clauses, tables now and then, running heads and page numbers."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4)
    for page in range(1, pages + 1):
        canvas.setFont("Helvetica", 8)
        canvas.drawString(60, 810, "Synthetic standard for a memory measurement")
        canvas.drawString(290, 30, str(page))
        canvas.setFont("Helvetica-Bold", 12)
        canvas.drawString(60, 770, f"{1 + page // 50}.{1 + page % 50} Clause of page {page}")
        canvas.setFont("Helvetica", 10)
        for line in range(46):
            words = (
                f"the unit {page * 46 + line} shall keep value {line * page % 997} within its limit of {line} percent"
            )
            canvas.drawString(60, 745 - 14.5 * line, f"{words} and report every deviation to the operator.")
        canvas.showPage()
    canvas.save()


def peak_of(command: list[str], env: dict[str, str]) -> tuple[float, float, int]:
    """Run a command; returns seconds, highest resident MB of it and its children together, and exit code."""
    started = time.perf_counter()
    process = psutil.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    highest, ended = 0.0, threading.Event()
    while process.poll() is None:
        family = [process, *process.children(recursive=True)]
        total = 0.0
        for each in family:
            try:
                total += each.memory_info().rss
            except psutil.Error:
                continue
        highest = max(highest, total / 1e6)
        ended.wait(0.05)
    return time.perf_counter() - started, highest, process.returncode


def memory(pages: int) -> None:
    """Print time and peak memory of ingesting one generated PDF."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "long.pdf"
        write_pdf(path, pages)
        command = [str(Path(sys.executable).parent / "knowledge-ingest"), str(path)]
        seconds, highest, code = peak_of(command, environment(Path(temporary) / "data"))
        print("| pages | file MB | seconds | peak MB, all processes | exit |\n|---|---|---|---|---|")
        print(f"| {pages} | {path.stat().st_size / 1e6:.1f} | {seconds:.0f} | {highest:.0f} | {code} |")


def write_guides(folder: Path, changed: bool) -> None:
    """Write one hundred Markdown guides of ten clauses; with `changed`, one clause of one guide reads otherwise."""
    folder.mkdir(exist_ok=True)
    for number in range(100):
        lines = [f"# Guide {number}\n"]
        for clause in range(1, 11):
            other = "changed " if changed and (number, clause) == (42, 5) else ""
            lines.append(f"## {clause} Clause {clause}\n\nThe {other}pump {number} shall run {clause} times a day.\n")
        (folder / f"guide-{number:03d}.md").write_text("\n".join(lines))


def increment() -> None:
    """Print how many chunks each of three ingests embedded."""
    print("| ingest | documents read | chunks embedded | chunks reused |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        files = Path(temporary) / "files"
        for label, changed in (("first", False), ("unchanged", False), ("one clause changed", True)):
            write_guides(files, changed)
            knowledge = open_knowledge(Path(temporary) / "data")
            report: IngestReport = knowledge.ingest(FileSource(files), IngestOptions())
            knowledge.close()
            read = [each for each in report.documents if not each.unchanged]
            print(f"| {label} | {len(read)} | {sum(e.embedded for e in read)} | {sum(e.reused for e in read)} |")


def main() -> None:
    """Run the parts named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["overhead", "memory", "increment"])
    parser.add_argument("--folder", type=Path, action="append")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if "overhead" in options.parts:
        overhead(options.folder or default_folders(), options.rounds)
    if "memory" in options.parts:
        memory(options.pages)
    if "increment" in options.parts:
        increment()


if __name__ == "__main__":
    main()
