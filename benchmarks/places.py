"""Measure whether every passage stands where its locator says: in the text, on the pages, in the boxes, on the lines.

Usage: `python -m benchmarks.places [--data FOLDER] [--files PATTERN] [--show N]`

Documents are those in `docs/pdf`, `docs/docx` and `docs/md` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`; each
is cut by every chunker for documents. A passage is `placed` where its span of the canonical text is its text,
and its hash the hash of that (bar: each). What the other columns count is looked up in the file itself, not in what the
reader made of it: whether the words of the passage stand on the pages that it is cited with, by PDFium's own text of
them, within the boxes on these pages (upright pages only), and on the lines of the source file (bar: each, to the last
word). Two libraries do not part the words of a drawing or of a formula alike, nor read every glyph alike: on pages and
in boxes nine in ten of a passage's letters must be there, and there is no bar. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.reading import read_document
from knowledge_mcp import registry
from knowledge_mcp.cli.knowledge.inspect import LightMeasure
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Document

CHUNKERS = ("standards", "planning", "rag")
FOLDERS = ("pdf", "docx", "md")
BARS = {"placed": 1.0, "pages": 0.0, "boxes": 0.0, "lines": 1.0}
COLUMNS = tuple(BARS)
TOLERATED = 0.1
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_MARGIN = 1.0


@dataclass(slots=True)
class Count:
    """How many passages were right of how many that have such a place, and what was missed."""

    right: int = 0
    all: int = 0
    missed: list[str] = field(default_factory=list[str])

    def add(self, chunk: Chunk, missing: Sequence[str]) -> None:
        """Count one passage by the words that are not where it says."""
        self.all += 1
        self.right += not missing
        if missing:
            self.missed.append(
                f"{chunk.page_numbers or chunk.lines}: {' '.join(missing[:6])} in {chunk.content[:70]!r}"
            )

    def shown(self) -> str:
        """Print it."""
        return f"{self.right}/{self.all}" if self.all else "-"


def main() -> int:
    """Check them all; prints a table, returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--files", default="*", help="only documents whose name matches")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show the first N misses of each document")
    options = parser.parse_args()
    documents = options.data / "docs"
    if not documents.is_dir():
        sys.exit(f"SKIPPED: there are no documents in {documents}; set KNOWLEDGE_EVAL_DATA")
    print(f"{'document':44}" + "".join(f"{name:>14}" for name in COLUMNS))
    totals = {name: Count() for name in COLUMNS}
    for folder in FOLDERS:
        for path in sorted((documents / folder).glob(options.files)):
            counts = places_of(path)
            print(f"{path.name[:44]:44}" + "".join(f"{counts[name].shown():>14}" for name in COLUMNS))
            for name, count in counts.items():
                totals[name].right += count.right
                totals[name].all += count.all
                for line in count.missed[: options.show]:
                    print(f"    {name}: {line}")
    print(f"{'all':44}" + "".join(f"{totals[name].shown():>14}" for name in COLUMNS))
    return int(any(count.right < BARS[name] * count.all for name, count in totals.items()))


def places_of(path: Path) -> dict[str, Count]:
    """Check the passages of one file."""
    document = read_document(path)
    counts = {name: Count() for name in COLUMNS}
    source = Source(path)
    for chunk in chunks_of(document):
        result = chunk.span.of(document.text)
        same = result == chunk.content and sha256(result.encode()).hexdigest() == chunk.content_hash
        counts["placed"].add(chunk, [] if same else ["(text)"])
        if chunk.page_numbers:
            counts["pages"].add(chunk, unless_few(source.missing_on_pages(chunk), chunk))
        if chunk.boxes and source.is_upright(chunk):
            counts["boxes"].add(chunk, unless_few(source.missing_in_boxes(chunk), chunk))
        if chunk.lines is not None:
            counts["lines"].add(chunk, source.missing_on_lines(chunk))
    source.close()
    return counts


def chunks_of(document: Document) -> Iterator[Chunk]:
    """Cut a document by every chunker."""
    for name in CHUNKERS:
        yield from registry.load(registry.CHUNKERS[name])().chunk(document, "standard", LightMeasure())


class Source:
    """A file as it is without our reader: the letters on its pages, in its boxes, on its lines."""

    def __init__(self, path: Path) -> None:
        self._pdf: Any = None
        self._pages: dict[int, str] = {}
        self._lines: list[str] = []
        if path.suffix == ".pdf":
            import pypdfium2

            self._pdf = pypdfium2.PdfDocument(str(path))
        elif path.suffix in {".md", ".mdx"}:
            self._lines = path.read_text(encoding="utf-8").splitlines()

    def missing_on_pages(self, chunk: Chunk) -> list[str]:
        """List the words of a passage that are not on its pages."""
        return missing(chunk.content, "".join(self._page(number) for number in chunk.page_numbers))

    def missing_in_boxes(self, chunk: Chunk) -> list[str]:
        """List the words of a passage that do not stand within its boxes."""
        found: list[str] = []
        for box in chunk.boxes:
            page = self._pdf[box.page - 1]
            height = page.get_height()
            text = page.get_textpage()
            found.append(
                text.get_text_bounded(
                    box.left - _MARGIN, height - box.bottom - _MARGIN, box.right + _MARGIN, height - box.top + _MARGIN
                )
            )
            text.close()
            page.close()
        return missing(chunk.content, letters("\n".join(found)))

    def is_upright(self, chunk: Chunk) -> bool:
        """Tell whether all pages of a passage are shown as they are written."""
        for number in chunk.page_numbers:
            page = self._pdf[number - 1]
            left, bottom, _, _ = page.get_cropbox()
            turned = page.get_rotation() != 0
            page.close()
            if turned or left or bottom:
                return False
        return True

    def missing_on_lines(self, chunk: Chunk) -> list[str]:
        """List the words of a passage that do not stand on its lines."""
        assert chunk.lines is not None
        first, last = chunk.lines
        raw = "\n".join(self._lines[first - 1 : last])
        shown = html.unescape(_TAG.sub("", raw))
        return missing(chunk.content, " ".join(map(letters, (raw, shown))))

    def close(self) -> None:
        """Let go of the file."""
        if self._pdf is not None:
            self._pdf.close()

    def _page(self, number: int) -> str:
        if number not in self._pages:
            page = self._pdf[number - 1]
            text = page.get_textpage()
            self._pages[number] = letters(text.get_text_bounded())
            text.close()
            page.close()
        return self._pages[number]


def unless_few(words: list[str], chunk: Chunk) -> list[str]:
    """Give the missing words back where they are more than a tenth of the passage by letters."""
    return words if sum(map(len, words)) > TOLERATED * len(letters(chunk.content)) else []


def letters(text: str) -> str:
    """Reduce a text to letters and digits, however they are printed."""
    return "".join(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def missing(content: str, there: str) -> list[str]:
    """List the words whose letters are not there in a row."""
    return [word for word in _WORD.findall(unicodedata.normalize("NFKC", content).lower()) if word not in there]


if __name__ == "__main__":
    sys.exit(main())
