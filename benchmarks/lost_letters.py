"""Measure letters that pages print and documents lack: PDFium's text of each page against ours.

Usage: `python -m benchmarks.lost_letters [--data FOLDER] [--files PATTERN]`

Files are those in `docs/pdf` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`, or the PDF files of `--data`. Of each
page the letters and digits of PDFium's text are counted against those of the lines and tables that stand on it. What is
left out on purpose counts as lost here too: hidden text, and the numbers of lines. What is printed twice in one place
counts once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.pdf import engine
from knowledge_mcp.readers.pdf.geometry import raw
from knowledge_mcp.readers.shared.layout import Table


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--files", default="*")
    chosen = parser.parse_args()
    folder = chosen.data / "docs" / "pdf"
    total: Counter[str] = Counter()
    print(f"{'document':44} printed    lost  share  pages with a loss")
    for path in sorted((folder if folder.is_dir() else chosen.data).glob(f"{chosen.files}.pdf")):
        counts = lost_letters(path)
        total += counts
        print(_line(path.name, counts), flush=True)
    print(_line("all", total))


def lost_letters(path: Path) -> Counter[str]:
    """Count what a file prints and what of it is lost."""
    import pypdfium2

    counts: Counter[str] = Counter()
    document: Any
    with contextlib.closing(pypdfium2.PdfDocument(str(path))) as document:
        for batch in engine.pages(str(path), count=len(document)):
            for page in batch.pages:
                with (
                    contextlib.closing(document[page.number - 1]) as opened,
                    contextlib.closing(opened.get_textpage()) as text,
                ):
                    printed = _printed(text)
                cells = [element.rows if isinstance(element, Table) else [[element.text]] for element in page.elements]
                have = Counter(filter(str.isalnum, "".join(cell for rows in cells for row in rows for cell in row)))
                lost = (printed - have).total()
                counts.update(printed=printed.total(), lost=lost, pages=1, losing=lost > 0)
    return counts


def _printed(text: Any) -> Counter[str]:
    """Count the letters of PDFium's text; within a point of the same letter one is the same."""
    seen: set[tuple[str, int, int]] = set()
    counts: Counter[str] = Counter()
    code_of = raw().FPDFText_GetUnicode
    for at in range(text.count_chars()):
        letter = chr(code_of(text, at))
        if not letter.isalnum():
            continue
        left, bottom, right, top = text.get_charbox(at, loose=True)
        x, y = round((left + right) / 2), round((bottom + top) / 2)
        if not any((letter, x + across, y + down) in seen for across in (-1, 0, 1) for down in (-1, 0, 1)):
            counts[letter] += 1
        seen.add((letter, x, y))
    return counts


def _line(name: str, counts: Counter[str]) -> str:
    share = counts["lost"] / max(counts["printed"], 1)
    return (
        f"{name[:44]:44} {counts['printed']:7} {counts['lost']:7} {share:6.4f}  {counts['losing']} of {counts['pages']}"
    )


if __name__ == "__main__":
    main()
