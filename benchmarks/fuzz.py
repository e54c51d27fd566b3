"""Read mutated PDF, DOCX and Markdown files and count what comes of them.

Usage: `python -m benchmarks.fuzz [--count N] [--first N] [--whole SHARE] [--workers N] [--seconds N] [--data FOLDER]
[--seed N] [--keep FOLDER] [--log FILE]`

Every file is one of those in `docs` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`, or one made here, with some of
its bits, bytes or ranges changed: cut off, doubled, dropped, filled; structures nested, zip members blown up, XML
entities that unfold. Each is read by the product's own reader. What may come of it is a document or an error of the
product's own; anything else, a reading that took longer than the limit (in processor seconds where this process does
it, on the clock where a child does, as PDF has it), or a process that grew beyond its limit, is
counted as bad and its file kept (`--keep`). Exit code 1 where anything was bad.

One file in ten (`--whole`) begins as a whole document, the others as an excerpt of one, which takes less time to read.
With `--log` outcomes are kept in a file, a line each: a run that was stopped goes on where it ended, and the report is
of all that is in the range.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import random
import resource
import signal
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from multiprocessing.util import Finalize
from pathlib import Path

from benchmarks.fuzz_sources import excerpt, packed
from knowledge_mcp.model.errors import KnowledgeError, UnreadableDocumentError
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.support.sandbox import Limits

KINDS = ("pdf", "docx", "md")
TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "md": "text/markdown",
}
LARGEST = 700_000
GROWTH = 3 << 30
SLICE = 100
Mutation = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file: its number and kind, a word for the outcome, the seconds, whether it is bad."""

    number: int
    kind: str
    word: str
    seconds: float
    bad: bool


# ---- mutations of bytes ---------------------------------------------------------------------------------------------


def flip(data: bytes, dice: random.Random) -> bytes:
    """Turn some bits over."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 8, 64, 512))):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def truncate(data: bytes, dice: random.Random) -> bytes:
    """Cut the end off."""
    return data[: dice.randrange(1, len(data))]


def drop(data: bytes, dice: random.Random) -> bytes:
    """Leave a range out."""
    start = dice.randrange(len(data))
    return data[:start] + data[start + dice.choice((1, 40, 4000)) :]


def double(data: bytes, dice: random.Random) -> bytes:
    """Repeat a range."""
    start = dice.randrange(len(data))
    part = data[start : start + dice.choice((4, 200, 20_000))]
    return data[:start] + part * dice.choice((2, 30)) + data[start:]


def fill(data: bytes, dice: random.Random) -> bytes:
    """Overwrite a range with one byte, or with noise."""
    start, size = dice.randrange(len(data)), dice.choice((4, 100, 5000))
    noise = dice.randbytes(size) if dice.random() < 0.5 else bytes([dice.choice((0, 32, 40, 255))]) * size
    return data[:start] + noise + data[start + size :]


def digits(data: bytes, dice: random.Random) -> bytes:
    """Put other numbers where numbers are: offsets, lengths, counts."""
    changed = bytearray(data)
    places = [place for place in (dice.randrange(len(data)) for _ in range(4000)) if 48 <= changed[place] <= 57]
    for place in places[: dice.choice((1, 20, 200))]:
        changed[place] = dice.choice(b"0123456789-")
    return bytes(changed)


BYTES: tuple[Mutation, ...] = (flip, truncate, drop, double, fill, digits)


# ---- mutations of structure -----------------------------------------------------------------------------------------


def pdf_nested(_: bytes, dice: random.Random) -> bytes:
    """Nest arrays, dictionaries or page nodes deeply, or let page nodes be their own parents."""
    depth = dice.choice((100, 10_000, 200_000))
    page = dice.choice((b"[" * depth + b"]" * depth, b"<</A " * depth + b"0" + b">>" * depth, b"2 0 R"))
    kids = b"[2 0 R]" if dice.random() < 0.4 else b"[3 0 R]"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
        b"<</Type/Pages/Kids" + kids + b"/Count %d>>" % dice.choice((1, -1, 1 << 30)),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Junk " + page + b">>",
        b"<</First 4 0 R/Next 4 0 R/Title(a)/Parent 4 0 R/Dest[3 0 R/Fit]>>",
    ]
    out = b"%PDF-1.7\n" + b"".join(b"%d 0 obj\n%b\nendobj\n" % pair for pair in enumerate(objects, 1))
    return out + b"trailer<</Size 5/Root 1 0 R>>\n%%EOF"


def docx_member(data: bytes, dice: random.Random) -> bytes:
    """Change the bytes of one part, with the package around it in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    name = dice.choice([name for name in parts if parts[name] and name.endswith((".xml", ".rels"))])
    parts[name] = dice.choice(BYTES)(parts[name], dice)
    return packed(parts)


def docx_body(data: bytes, dice: random.Random) -> bytes:
    """Put a body in the document that is nested, huge, or unfolds entities."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    word = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    depth = dice.choice((200, 5000, 100_000))
    entities = b"".join(b'<!ENTITY e%d "%b">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 12))
    body = dice.choice(
        (
            b"<w:tbl><w:tr><w:tc>" * depth + b"</w:tc></w:tr></w:tbl>" * depth,
            b"<w:p><w:r><w:t>" + b"a" * (dice.choice((1, 200)) * 1_000_000) + b"</w:t></w:r></w:p>",
            b"<w:p><w:r><w:t>&e11;</w:t></w:r></w:p>",
            b"<w:p><w:r><w:t>&file;</w:t></w:r></w:p>",
            b"<w:p/>" * (dice.choice((1, 40)) * 100_000),
        )
    )
    kind = b'<!DOCTYPE w:document [<!ENTITY e0 "lol">' + entities + b'<!ENTITY file SYSTEM "file:///etc/hostname">]>'
    head = b'<?xml version="1.0"?>' + (kind if b"&" in body else b"")
    parts["word/document.xml"] = head + b"<w:document " + word + b"><w:body>" + body + b"</w:body></w:document>"
    return packed(parts)


def markdown_nested(_: bytes, dice: random.Random) -> bytes:
    """Nest what Markdown nests, or repeat what is slow to match."""
    times = dice.choice((100, 5000, 60_000))
    piece = dice.choice(
        ("> ", "- ", "[", "![", "*a ", "`", "<div>", "|a", "\t", "# ", "_a", "&#", "<!--", "[a](", "\\")
    )
    return (piece * times + dice.choice(("", "x", "]" * times, "\n")) + "\n\n---\na: &a [*a, *a]\n").encode()


STRUCTURES: dict[str, tuple[Mutation, ...]] = {
    "pdf": (pdf_nested,),
    "docx": (docx_member, docx_member, docx_member, docx_body),
    "md": (markdown_nested,),
}


# ---- running --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Making:
    """Say what files are made of: the seed, the documents by kind, the share of them that is taken whole."""

    seed: int
    files: dict[str, list[Path]]
    whole: float


def mutated(number: int, making: Making) -> tuple[str, bytes]:
    """Make file `number`: its kind and bytes; the same again for the same seed."""
    dice = random.Random(f"{making.seed}-{number}")
    kind = KINDS[number % len(KINDS)]
    path = dice.choice(making.files[kind])
    data = path.read_bytes() if dice.random() < making.whole else excerpt(path, kind, dice)
    chosen = dice.choices((*BYTES, *STRUCTURES[kind] * 2), k=dice.choice((1, 1, 2)))
    for mutation in sorted(chosen, key=BYTES.__contains__):  # structure first: it needs a file in order
        data = mutation(data, dice) or b"\n"
    return kind, data


def attempt(number: int, making: Making, seconds: float, keep: str) -> Outcome:
    """Read one file in this process, as the product does."""
    kind, data = mutated(number, making)
    item = SourceItem(
        f"memory:{number}",
        f"{number}.{kind}",
        TYPES[kind],
        len(data),
        sha256(data).hexdigest(),
        partial(io.BytesIO, data),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    started = _clock(kind)
    reader = _reader(kind, seconds)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds + 1)
    faulthandler.dump_traceback_later(10 * seconds, exit=True)  # a library that never comes back hears no signal
    try:
        document = reader.read(item)
        word, bad = ("read" if document.text else "read, no text"), False
    except UnreadableDocumentError as error:
        word, bad = str(error.reason.value), not error.message
    except KnowledgeError as error:
        word, bad = error.code, False
    except Exception as error:  # noqa: BLE001 - whatever else comes out is what is looked for
        word, bad = f"RAISED {type(error).__name__}: {error}"[:160], True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    taken = _clock(kind) - started
    if taken > seconds:
        word, bad = f"SLOW: {word}", True
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before > GROWTH:
        word, bad = f"GREW: {word}", True
    if bad and keep:
        (Path(keep) / f"{number}.{kind}").write_bytes(data)
    return Outcome(number, kind, word, taken, bad)


def _clock(kind: str) -> float:
    """Tell the seconds: of this process where it does the work, so that a busy machine makes no file slow."""
    return time.perf_counter() if kind == "pdf" else time.process_time()


def _stop(*_: object) -> None:
    raise TimeoutError


def bound() -> None:
    """Keep a worker from taking the machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GROWTH, 2 * GROWTH))


@cache
def _reader(kind: str, seconds: float) -> PdfReader | DocxReader | MarkdownReader:
    """Make one reader of a kind for all files of this process, as the product does."""
    if kind != "pdf":
        return DocxReader() if kind == "docx" else MarkdownReader()
    reader = PdfReader(limits=Limits(seconds=min(seconds, 30.0)))
    Finalize(None, reader.close, exitpriority=10)
    return reader


def main() -> None:
    """Read them all; prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument(
        "--whole", type=float, default=0.1, metavar="SHARE", help="share that begins as a whole document"
    )
    parser.add_argument("--keep", default="", help="folder for the files that were bad")
    parser.add_argument("--log", type=Path, help="file of outcomes, by which a stopped run goes on")
    options = parser.parse_args()
    files = {
        kind: [path for path in sorted((options.data / "docs" / kind).glob("*")) if path.stat().st_size <= LARGEST]
        for kind in KINDS
    }
    if not all(files.values()):
        print(f"SKIPPED: there are no documents in {options.data}/docs; set KNOWLEDGE_EVAL_DATA", file=sys.stderr)
        return
    if options.keep:
        Path(options.keep).mkdir(parents=True, exist_ok=True)
    numbers = range(options.first, options.first + options.count)
    outcomes = logged(options.log, numbers)
    making = Making(options.seed, files, options.whole)
    known = {outcome.number for outcome in outcomes}
    one = partial(attempt, making=making, seconds=options.seconds, keep=options.keep)
    for outcome in attempts(one, [number for number in numbers if number not in known], options.workers):
        outcomes.append(outcome)
        if options.log is not None:
            with options.log.open("a", encoding="utf-8") as log:
                log.write(f"{json.dumps(asdict(outcome))}\n")
        if outcome.bad:
            print(f"BAD {outcome.number} {outcome.kind} {outcome.word} after {outcome.seconds:.1f} s", flush=True)
    report(outcomes)
    sys.exit(int(any(outcome.bad for outcome in outcomes)))


def attempts(one: Callable[[int], Outcome], numbers: Sequence[int], workers: int) -> Iterator[Outcome]:
    """Read files in processes that are rebuilt for every hundred; what ended one is read again alone, to be sure."""
    for start in range(0, len(numbers), SLICE):
        again: list[int] = []
        with ProcessPoolExecutor(workers, initializer=bound) as pool:
            waiting = {pool.submit(one, number): number for number in numbers[start : start + SLICE]}
            for done in as_completed(waiting):
                try:
                    yield done.result()
                except BrokenProcessPool:
                    again.append(waiting[done])
        for number in again:
            with ProcessPoolExecutor(1, initializer=bound) as pool:
                try:
                    yield pool.submit(one, number).result()
                except BrokenProcessPool as error:
                    yield Outcome(number, KINDS[number % len(KINDS)], f"KILLED {error}"[:120], 0.0, bad=True)


def logged(path: Path | None, numbers: range) -> list[Outcome]:
    """Read the outcomes of an earlier run that are in the range."""
    if path is None or not path.is_file():
        return []
    rows = (Outcome(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    return list({row.number: row for row in rows if row.number in numbers}.values())


def report(outcomes: list[Outcome]) -> None:
    """Print counts by kind, and the slowest."""
    for kind in KINDS:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        words = Counter(outcome.word for outcome in of_kind)
        slowest = max((outcome.seconds for outcome in of_kind), default=0.0)
        result = ", ".join(f"{word} {count}" for word, count in words.most_common())
        print(f"{kind}: {len(of_kind)} files, slowest {slowest:.1f} s: {result}")
    print(f"bad: {sum(outcome.bad for outcome in outcomes)} of {len(outcomes)}")


if __name__ == "__main__":
    main()
