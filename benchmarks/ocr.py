"""Measure text recognition: errors per page, speed against the bare program, memory with four workers.

Usage: `python -m benchmarks.ocr [quality|mixed|scans|speed|memory|text …] [--pages 12] [--rounds 3] [--workers N]`

- quality: thirty-four pages of made-up prose, set by reportlab, rendered at 300 dots per inch and spoiled (noise, skew,
  quarter turns), read by the PDF reader as scans; character error rate of each, and whether the bars hold.
- mixed: a file of pages with text, scans lying each way, scans with a stamp set over them, a drawing and an empty page.
- scans: `docs/scanned` below `$KNOWLEDGE_EVAL_DATA` or `../shared/data`, against its text where there is one.
- speed: pages per minute and processor seconds (children included) of the PDF reader, from the file's bytes to the
  document, against `tesseract` alone on the very images that the reader gives it, as files, as many at a time;
  `--dpi 200` takes scans that have to be resampled to 300.
- memory: largest sum of resident memory of this process and all its children, with four workers.
- text: processor seconds for PDFs with a text layer, with and without a look for pages to recognise, in turns.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from benchmarks.ocr_pages import STAMP, mixed_set, noisy, page_set, pdf_of, printed
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.readers.pdf.job import read
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.rendering import render

BARS = {"clean": 0.005, "noisy": 0.02, "two columns": 0.02, "turned": 0.005, "skewed": 0.02, "short columns": 0.02}
TWINS = {"ocr_cardinal_rotated_4p": "ocr_linn_two_column", "ocr_skew": "ocr_linn_two_column"}
"""Scans of one and the same sheet, of whose text there is one file."""


def item_of(data: bytes, name: str) -> SourceItem:
    """Make a source item of bytes."""
    digest = hashlib.sha256(data).hexdigest()
    return SourceItem(f"memory:{name}", name, "application/pdf", len(data), digest, lambda: io.BytesIO(data))


def errors(found: str, truth: str) -> float:
    """Count characters changed, put in or left out, over those of the truth; blanks run together."""
    one, other = " ".join(found.split()), " ".join(truth.split())
    count = len(other)
    same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    one, other = ("", "") if one == other else (one[same:], other[same:])
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for column, expected in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (letter != expected))
    return row[-1] / max(count, 1)


def texts_of(document: Document) -> list[str]:
    """List the pages' texts."""
    return [page.span.of(document.text) for page in document.pages]


def quality(engine: TesseractEngine) -> None:
    """Print the character error rate of each of our pages, and the worst of each kind against its bar."""
    pages = list(page_set())
    reader = PdfReader(ocr=engine)
    document = reader.read(item_of(pdf_of([image for _, _, image, _ in pages]), "made.pdf"))
    reader.close()
    worst: dict[str, float] = {}
    print("| page | kind | done to it | confidence | errors |\n|---|---|---|---|---|")
    for (kind, done, _, truth), page in zip(pages, document.pages, strict=True):
        rate = errors(page.span.of(document.text), truth)
        worst[kind] = max(worst.get(kind, 0.0), rate)
        print(f"| {page.number} | {kind} | {done} | {getattr(page, 'confidence', 0):.1f} | {rate:.4f} |")
    for kind, rate in worst.items():
        print(f"{kind}: worst {rate:.4f}, bar {BARS[kind]}: {'held' if rate <= BARS[kind] else 'MISSED'}")


def mixed(engine: TesseractEngine) -> None:
    """Print what becomes of each page of a file that has text, scans, stamped scans, a drawing and an empty page."""
    data, result = mixed_set()
    reader = PdfReader(ocr=engine)
    document = reader.read(item_of(data, "mixed.pdf"))
    reader.close()
    lost = 0
    print("| page | kind | method | errors |\n|---|---|---|---|")
    for (kind, method, truth), page, found in zip(result, document.pages, texts_of(document), strict=True):
        stamped = kind.startswith("stamped")
        rate = errors(found.replace(STAMP, ""), truth) if truth else 0.0
        lost += page.method != method or rate > BARS["noisy"] or (stamped and STAMP not in found)
        print(f"| {page.number} | {kind} | {page.method} | {rate:.4f} |")
    print(f"{len(result)} pages, {lost} lost: {'MISSED' if lost else 'held'}")


def data_folder() -> Path:
    """Find the evaluation data."""
    return Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "docs"


def file_item(path: Path) -> SourceItem:
    """Make a source item of a file."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    name = path.name
    return SourceItem(str(path), name, "application/pdf", len(data), digest, lambda: path.open("rb"), path.absolute())


def scans(engine: TesseractEngine) -> None:
    """Print what is read of the real scans, with errors where the text is known."""
    folder = data_folder()
    if not (folder / "scanned").is_dir():
        print(f"SKIPPED: no scans below {folder}")
        return
    reader = PdfReader(ocr=engine)
    print("| file | page | turned | confidence | doubtful | words | errors |\n|---|---|---|---|---|---|---|")
    for path in sorted((folder / "scanned").glob("*.pdf")):
        document = reader.read(file_item(path))
        known = folder / "gold" / f"{TWINS.get(path.stem, path.stem)}.txt"
        for page, text in zip(document.pages, texts_of(document), strict=True):
            rate = f"{errors(text, known.read_text()):.4f}" if known.is_file() else ""
            result = [f"{getattr(page, name, 0):.3g}" for name in ("rotation", "confidence", "doubtful")]
            print(f"| {path.name} | {page.number} | {' | '.join(result)} | {len(text.split())} | {rate} |")
    reader.close()


def rendered(data: bytes, count: int, folder: Path) -> list[Path]:
    """Render a PDF as the reader does: the bare program is given the very same images."""
    (folder / "speed.pdf").write_bytes(data)
    files: list[Path] = []
    for value in render(str(folder / "speed.pdf"), pages=range(1, count + 1)):
        if isinstance(value, bytes):
            files.append(folder / f"{len(files)}.png")
            files[-1].write_bytes(value)
    return files


def bare(images: Sequence[Path], workers: int) -> None:
    """Run the program over images, so many at a time."""
    program = shutil.which("tesseract") or "tesseract"
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def run(image: Path) -> None:
        command = [program, str(image), "stdout", "-l", "eng", "--psm", "3", "tsv"]
        # a session of its own, as the engine gives it: on a busy Linux machine processor time is shared by sessions
        subprocess.run(command, env=environment, capture_output=True, check=True, start_new_session=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, images))


def processor() -> float:
    """Return the processor seconds, user and system, of this process and of all its children that have ended."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return how many seconds it takes on the wall, and how many of processors."""
    started, used = time.perf_counter(), processor()
    work()
    return time.perf_counter() - started, processor() - used


def whole(item: SourceItem, workers: int | None) -> None:
    """Read a file with everything that belongs to it: children that start and end, an engine that remembers nothing."""
    engine = TesseractEngine(workers=workers)
    reader = PdfReader(ocr=engine)
    reader.read(item)
    reader.close()
    engine.close()


def speed(workers: int | None, count: int, rounds: int, dpi: int) -> None:
    """Print pages per minute of the reader and of the bare program, processor seconds per page, and both ratios."""
    images = [noisy(image, seed) if seed % 2 else image for seed, (image, _) in ((s, printed(s)) for s in range(count))]
    if dpi != 300:
        images = [image.resize((image.width * dpi // 300, image.height * dpi // 300)) for image in images]
    data = pdf_of(images, dpi)
    item = item_of(data, "speed.pdf")
    at_a_time = TesseractEngine(workers=workers).workers
    walls: list[float] = []
    used: list[float] = []
    print(f"{count} pages scanned at {dpi} dots per inch, {at_a_time} at a time; load {os.getloadavg()[0]:.1f}\n")
    print("| round | reader, pages/min | bare | ratio | reader, processor s/page | bare | ratio |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = rendered(data, count, Path(folder))
        for turn in range(rounds):
            works = [lambda: bare(files, at_a_time), lambda: whole(item, workers)]
            taken = [timed(work) for work in (works if turn % 2 else works[::-1])]
            (alone, least), (ours, most) = taken if turn % 2 else taken[::-1]
            walls.append(alone / ours)
            used.append(least / most)
            result = f"{60 * count / ours:.1f} | {60 * count / alone:.1f} | {walls[-1]:.3f}"
            print(f"| {turn + 1} | {result} | {most / count:.3f} | {least / count:.3f} | {used[-1]:.3f} |", flush=True)
    print(f"median ratio {statistics.median(walls):.3f}, of processor time {statistics.median(used):.3f}, bar .9")


def memory(count: int) -> None:
    """Print the largest sum of resident memory while four workers read."""
    images = [noisy(image, seed) for seed, (image, _) in ((s, printed(s)) for s in range(count))]
    data = pdf_of(images)
    before = psutil.Process().memory_info().rss
    engine = TesseractEngine(workers=4)
    reader = PdfReader(ocr=engine)
    peaks = [0, 0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            total = children = 0
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
                try:
                    size = process.memory_info().rss
                except psutil.Error:
                    continue
                total += size
                children += process.pid != os.getpid()
            peaks[:] = [max(peaks[0], total), max(peaks[1], children)]

    watcher = threading.Thread(target=watch)
    watcher.start()
    reader.read(item_of(data, "memory.pdf"))
    done.set()
    watcher.join()
    reader.close()
    engine.close()
    print(
        f"{count} pages, four workers: peak {peaks[0] >> 20} MB in all ({before >> 20} MB before), {peaks[1]} children"
    )


def text(rounds: int) -> None:
    """Print how much processor time PDFs with a text layer take, with and without a look for pages to recognise."""
    files = [str(path) for path in sorted((data_folder() / "pdf").glob("*.pdf"))]
    if not files:
        print(f"SKIPPED: no PDFs below {data_folder()}")
        return
    files = [path for path in files if not any("scans" in message for message in read(path, scans="find"))]
    seconds: dict[str, list[float]] = {"": [], "find": []}
    for turn in range(2 * rounds):
        mode = ("", "find", "find", "")[turn % 4]
        started = time.process_time()
        for path in files:
            for _ in read(path, scans=mode):
                pass
        seconds[mode].append(time.process_time() - started)
    without, looking = min(seconds[""]), min(seconds["find"])
    print(f"{len(files)} PDFs: {without:.2f} s without, {looking:.2f} s with, ratio {looking / without:.3f}")


def main() -> None:
    """Run what was asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ["quality", "mixed", "scans", "speed", "memory", "text"]
    parser.add_argument("what", nargs="*", default=known, help=f"some of {', '.join(known)}")
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--dpi", type=int, default=300, help="dots per inch of the scans whose speed is measured")
    asked = parser.parse_args()
    engine = TesseractEngine(workers=asked.workers)
    for what in asked.what:
        print(f"\n## {what}\n")
        if what == "quality":
            quality(engine)
        elif what == "mixed":
            mixed(engine)
        elif what == "scans":
            scans(engine)
        elif what == "speed":
            speed(asked.workers, asked.pages, asked.rounds, asked.dpi)
        elif what == "memory":
            memory(asked.pages)
        elif what == "text":
            text(asked.rounds)
    engine.close()


if __name__ == "__main__":
    main()
