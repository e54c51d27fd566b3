"""Measure text recognition: errors per page, speed against the bare program, memory with four workers.

Usage: `python -m benchmarks.ocr [quality|scans|speed|memory|text …] [--pages 12] [--rounds 3] [--workers N]`

- quality: thirty pages of made-up prose, set by reportlab, rendered at 300 dots per inch and spoiled (noise, skew,
  quarter turns), read by the PDF reader as scans; character error rate of each, and whether the bars hold.
- scans: `docs/scanned` below `$KNOWLEDGE_EVAL_DATA` or `../shared/data`, against its text where there is one.
- speed: pages per minute of the PDF reader against `tesseract` alone on the same images, as many at a time.
- memory: largest sum of resident memory of this process and all its children, with four workers.
- text: processor seconds for PDFs with a text layer, with and without a look for pages to recognise, in turns.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.readers.pdf import PdfReader
from knowledge_mcp.readers.pdf.job import read
from knowledge_mcp.readers.pdf.rendering import render

BARS = {"clean": 0.005, "noisy": 0.02, "two columns": 0.02, "turned": 0.005, "skewed": 0.02}
TWINS = {"ocr_cardinal_rotated_4p": "ocr_linn_two_column", "ocr_skew": "ocr_linn_two_column"}
"""Scans of one and the same sheet, of whose text there is one file."""
OPENINGS = "the old quiet northern stone timber narrow upper second broken painted heavy empty distant".split()
NAMES = (
    "bridge miller harbour ferry keeper warden gravel orchard ledger valley lantern quarry basin carrier barge cellar "
    "garden tower meadow sluice anchor market weaver summer signal copper garret paddock kettle saddle"
).split()
DEEDS = "watched repaired measured crossed carried reported counted followed opened flooded rented described".split()
ENDINGS = (
    "before noon",
    "in the spring",
    "without delay",
    "for eleven years",
    "at low water",
    "by order of the council",
)


def sentences(seed: int) -> Iterator[str]:
    """Make up sentences without end, the same for the same seed."""
    chance = random.Random(seed)
    while True:
        subject = f"{chance.choice(OPENINGS)} {chance.choice(NAMES)}"
        deed = f"{chance.choice(DEEDS)} the {chance.choice(OPENINGS[1:])} {chance.choice(NAMES)}"
        number = f", {chance.randint(2, 97)} in all," if chance.random() < 0.2 else ""
        text = f"{subject} {deed}{number} {chance.choice(ENDINGS)}."
        yield text[0].upper() + text[1:]


def wrapped(seed: int, width: int, rows: int) -> list[str]:
    """Break made-up prose into rows of at most `width` letters."""
    rows_made: list[str] = [""]
    for word in (word for sentence in sentences(seed) for word in sentence.split()):
        if len(rows_made[-1]) + len(word) + 1 > width:
            if len(rows_made) == rows:
                return rows_made
            rows_made.append("")
        rows_made[-1] = f"{rows_made[-1]} {word}".strip()
    return rows_made


def printed(seed: int, *, columns: int = 1, font: str = "Times-Roman", size: float = 11) -> tuple[Any, str]:
    """Set one A4 page and render it; returns the grey image and its text in reading order."""
    import pypdfium2
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pagesize=(595, 842))
    width = 78 if columns == 1 else 36
    texts: list[str] = []
    for column in range(columns):
        rows = wrapped(100 * seed + column, width, 44)
        texts.extend(rows)
        sheet.setFont(font, size)
        for row, text in enumerate(rows):
            sheet.drawString(72 + 240 * column, 770 - 15.5 * row, text)
    sheet.save()
    document: Any = pypdfium2.PdfDocument(buffer.getvalue())
    image = document[0].render(scale=300 / 72, grayscale=True).to_pil().convert("L")
    document.close()
    return image, " ".join(texts)


def noisy(image: Any, seed: int) -> Any:
    """Spoil a page as a worn scanner does: soft edges, grey ground, grain, specks."""
    import numpy as np
    from PIL import Image, ImageFilter

    chance = np.random.default_rng(seed)
    shades = np.asarray(image.filter(ImageFilter.GaussianBlur(1.0)), dtype=np.float32)
    shades = shades * 0.82 + 24 + chance.normal(0, 26, shades.shape).astype(np.float32)
    shades[chance.random(shades.shape) < 0.0008] = 20
    return Image.fromarray(np.clip(shades, 0, 255).astype(np.uint8))


def skewed(image: Any, degrees: float) -> Any:
    """Lay a page askew, turned against the clock."""
    return image.rotate(degrees, 3, expand=True, fillcolor=255)


def page_set() -> Iterator[tuple[str, str, Any, str]]:
    """Yield thirty pages: kind, what was done to it, image, text."""
    fonts = ["Times-Roman", "Helvetica", "Times-Roman", "Helvetica"]
    for seed in range(8):
        image, text = printed(seed, font=fonts[seed % 4], size=10 if seed % 4 == 1 else 11)
        yield "clean", fonts[seed % 4], image, text
    for seed in range(8, 14):
        image, text = printed(seed, font=fonts[seed % 4])
        yield "noisy", "blur, grain, specks", noisy(image, seed), text
    for seed in range(14, 19):
        image, text = printed(seed, columns=2, size=10)
        yield "two columns", "noisy" if seed > 16 else "clean", noisy(image, seed) if seed > 16 else image, text
    for seed, turn in zip(range(19, 24), (0, 90, 180, 270, 180), strict=True):
        image, text = printed(seed)
        yield "turned", f"{turn} degrees", image.rotate(turn, expand=True), text
    for seed, degrees in zip(range(24, 30), (0.7, -1.5, 3.0, -5.0, 8.0, -12.0), strict=True):
        image, text = printed(seed)
        yield "skewed", f"{degrees} degrees", skewed(image, degrees), text


def pdf_of(images: Sequence[Any]) -> bytes:
    """Put images into a PDF, a page each at 300 dots per inch, as a scanner does."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pageCompression=0)
    for image in images:
        size = (image.width * 0.24, image.height * 0.24)
        sheet.setPageSize(size)
        sheet.drawImage(ImageReader(image), 0, 0, *size)
        sheet.showPage()
    sheet.save()
    return buffer.getvalue()


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
        for column, wanted in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (letter != wanted))
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
            told = [f"{getattr(page, name, 0):.3g}" for name in ("rotation", "confidence", "doubtful")]
            print(f"| {path.name} | {page.number} | {' | '.join(told)} | {len(text.split())} | {rate} |")
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


def bare(images: Sequence[Path], workers: int) -> float:
    """Run the program over images, so many at a time; returns seconds."""
    program = shutil.which("tesseract") or "tesseract"
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def run(image: Path) -> None:
        command = [program, str(image), "stdout", "-l", "eng", "--psm", "3", "tsv"]
        # a session of its own, as the engine gives it: on a busy Linux machine processor time is shared by sessions
        subprocess.run(command, env=environment, capture_output=True, check=True, start_new_session=True)

    started = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, images))
    return time.perf_counter() - started


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def speed(workers: int | None, count: int, rounds: int) -> None:
    """Print pages per minute of the reader and of the bare program, and their ratio, in turns."""
    images = [noisy(image, seed) if seed % 2 else image for seed, (image, _) in ((s, printed(s)) for s in range(count))]
    data = pdf_of(images)
    item = item_of(data, "speed.pdf")
    ratios: list[float] = []
    print("| round | reader, pages/min | bare, pages/min | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = rendered(data, count, Path(folder))
        for turn in range(rounds):
            engine = TesseractEngine(workers=workers)  # a new one: it must not remember
            reader = PdfReader(ocr=engine)
            alone = bare(files, engine.workers) if turn % 2 else 0.0
            ours = timed(lambda reader=reader: reader.read(item))
            alone = alone or bare(files, engine.workers)
            reader.close()
            engine.close()
            ratios.append(alone / ours)
            print(f"| {turn + 1} | {60 * count / ours:.1f} | {60 * count / alone:.1f} | {ratios[-1]:.3f} |", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}, bar .9")


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
    known = ["quality", "scans", "speed", "memory", "text"]
    parser.add_argument("what", nargs="*", default=known, help=f"some of {', '.join(known)}")
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None)
    asked = parser.parse_args()
    engine = TesseractEngine(workers=asked.workers)
    for what in asked.what:
        print(f"\n## {what}\n")
        if what == "quality":
            quality(engine)
        elif what == "scans":
            scans(engine)
        elif what == "speed":
            speed(asked.workers, asked.pages, asked.rounds)
        elif what == "memory":
            memory(asked.pages)
        elif what == "text":
            text(asked.rounds)
    engine.close()


if __name__ == "__main__":
    main()
