"""Read mutated PDF, DOCX and Markdown files and count what comes of them.

Usage: `python -m benchmarks.fuzz [--count N] [--workers N] [--seconds N] [--data FOLDER] [--seed N] [--keep FOLDER]`

Every file is one of those in `docs` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`, or one made here, with some of
its bits, bytes or ranges changed: cut off, doubled, dropped, filled; structures nested, zip members blown up, XML
entities that unfold. Each is read by the product's own reader. What may come of it is a document or an error of the
product's own; anything else, a reading that took longer than the limit, or a process that grew beyond its limit, is
counted as bad and its file kept (`--keep`). Exit code 1 where anything was bad.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import random
import resource
import signal
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

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


def packed(parts: dict[str, bytes]) -> bytes:
    """Make a zip file of parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return buffer.getvalue()


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


def mutated(number: int, seed: int, files: dict[str, list[Path]]) -> tuple[str, bytes]:
    """Make file `number`: its kind and bytes; the same again for the same seed."""
    dice = random.Random(f"{seed}-{number}")
    kind = KINDS[number % len(KINDS)]
    data = dice.choice(files[kind]).read_bytes()
    chosen = dice.choices((*BYTES, *STRUCTURES[kind] * 2), k=dice.choice((1, 1, 2)))
    for mutation in sorted(chosen, key=BYTES.__contains__):  # structure first: it needs a file in order
        data = mutation(data, dice) or b"\n"
    return kind, data


def attempt(number: int, seed: int, files: dict[str, list[Path]], seconds: float, keep: str) -> Outcome:
    """Read one file in this process, as the product does."""
    kind, data = mutated(number, seed, files)
    item = SourceItem(
        f"memory:{number}",
        f"{number}.{kind}",
        TYPES[kind],
        len(data),
        sha256(data).hexdigest(),
        partial(io.BytesIO, data),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    started = time.perf_counter()
    reader = _reader(kind, seconds)
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(math.ceil(seconds) + 1)
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
        signal.alarm(0)
        reader.close()
    taken = time.perf_counter() - started
    if taken > seconds:
        word, bad = f"SLOW: {word}", True
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before > GROWTH:
        word, bad = f"GREW: {word}", True
    if bad and keep:
        (Path(keep) / f"{number}.{kind}").write_bytes(data)
    return Outcome(number, kind, word, taken, bad)


def _stop(*_: object) -> None:
    raise TimeoutError


def bound() -> None:
    """Keep a worker from taking the machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GROWTH, 2 * GROWTH))


def _reader(kind: str, seconds: float) -> PdfReader | DocxReader | MarkdownReader:
    if kind == "pdf":
        return PdfReader(limits=Limits(seconds=min(seconds, 30.0)))
    return DocxReader() if kind == "docx" else MarkdownReader()


def main() -> None:
    """Read them all; prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", default="", help="folder for the files that were bad")
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
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(options.workers, initializer=bound, max_tasks_per_child=100) as pool:
        numbers = range(options.first, options.first + options.count)
        waiting = {
            pool.submit(attempt, number, options.seed, files, options.seconds, options.keep): number
            for number in numbers
        }
        for done in as_completed(waiting):
            try:
                outcome = done.result()
            except BrokenProcessPool as error:  # a worker that was killed takes its file with it
                number = waiting[done]
                outcome = Outcome(number, KINDS[number % len(KINDS)], f"KILLED {error}"[:120], 0.0, bad=True)
            outcomes.append(outcome)
            if outcome.bad:
                print(f"BAD {outcome.number} {outcome.kind} {outcome.word} after {outcome.seconds:.1f} s", flush=True)
    report(outcomes)
    sys.exit(int(any(outcome.bad for outcome in outcomes)))


def report(outcomes: list[Outcome]) -> None:
    """Print counts by kind, and the slowest."""
    for kind in KINDS:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        words = Counter(outcome.word for outcome in of_kind)
        slowest = max((outcome.seconds for outcome in of_kind), default=0.0)
        told = ", ".join(f"{word} {count}" for word, count in words.most_common())
        print(f"{kind}: {len(of_kind)} files, slowest {slowest:.1f} s: {told}")
    print(f"bad: {sum(outcome.bad for outcome in outcomes)} of {len(outcomes)}")


if __name__ == "__main__":
    main()
