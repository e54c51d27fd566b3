"""Measure tables of PDF files: cells and rows that come out whole, tables that are none, pages a second.

Usage: `python -m benchmarks.tables [made] [scanned] [real] [speed] [--seeds N] [--only NAME] [--data FOLDER] [--show]`

`made` draws pages whose cells are known (`table_pages`), and drawings that hold no table (`table_drawings`); `scanned`
reads scans of the same pages by text recognition. `real`
takes the files in `docs/pdf` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`: their truth is the cells that lines
enclose, found here by crossings of lines, another way than the product's. `speed` reads those files in this process.

A cell is whole where its words are exactly one cell of a table of the product on its page. A row is whole where the
cells that begin in it are those of one row of the product, with or without the cells that reach into it from above. A
table of the product is false where less than half of its cells are cells of the truth; in `real` only drawings (files
named with `--drawings`) can tell, for a table without lines is none of the truth.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.ocr_pages import read_scan, scan_of
from benchmarks.reading import read_document
from benchmarks.table_drawings import DRAWINGS
from benchmarks.table_pages import TABLES, Page
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.pdf import job

Rows = list[list[str]]
SPACE = re.compile(r"\s+")
MARKS = "\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d"
ALIKE = str.maketrans(dict(zip(MARKS, "------''\"\"", strict=True)))
BAR = re.compile(r"(?<!\\)\|")


@dataclass(slots=True)
class Truth:
    """One table that is there: the cells that begin in each row, all that reach into each row, its pages."""

    own: Rows
    spanned: Rows


@dataclass(slots=True)
class Score:
    """What was found of some tables."""

    cells: int = 0
    whole: int = 0
    rows: int = 0
    whole_rows: int = 0
    tables: int = 0
    found: int = 0
    split: int = 0
    false: int = 0
    missed: list[str] = field(default_factory=list[str])

    def add(self, other: Score) -> None:
        """Add up."""
        for name in ("cells", "whole", "rows", "whole_rows", "tables", "found", "split", "false"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missed += other.missed

    def __str__(self) -> str:
        cells, rows = self.whole / max(self.cells, 1), self.whole_rows / max(self.rows, 1)
        counted = f"tables {self.tables:4} product {self.found:4} in pieces {self.split:3} false {self.false:3}"
        return f"cells {cells:.3f} of {self.cells:5}  rows {rows:.3f} of {self.rows:4}  {counted}"


def letters(text: str) -> str:
    """Reduce a cell to its print without blanks, hyphens (one at a line's end may go) and control characters."""
    plain = unicodedata.normalize("NFKC", SPACE.sub("", text).replace("\\|", "|")).translate(ALIKE)
    plain = plain if len(plain) == 1 else plain.replace("-", "")
    return "".join(mark for mark in plain if unicodedata.category(mark) not in {"Cc", "Cf", "Cn", "Co"})


def tables_in(document: Document, page: int | None = None) -> list[Rows]:
    """List the tables of a document, or of a page of it, as cells without blanks."""
    found: list[Rows] = []
    for block in document.blocks:
        if block.kind is BlockKind.TABLE and (page is None or page in block.pages):
            lines = block.span.of(document.text).split("\n")
            cells = [BAR.split(line.strip())[1:-1] for line in (lines[0], *lines[2:])]
            rows = [[letters(cell) for cell in row] for row in (*printed_head(cells[0]), *cells[1:])]
            found.append([[cell for cell in row if cell] for row in rows])
    return found


def printed_head(head: Sequence[str]) -> Rows:
    """Write a header that was made one ("Limits / lowest", "Limits / highest") in the rows in which it is printed."""
    rows: Rows = []
    named = [cell.split(" / ") for cell in head]
    for row in range(max(map(len, named))):
        above = [parts[: row + 1] for parts in named]
        rows.append(
            [
                parts[row]
                for before, parts in zip([[], *above], above, strict=False)
                if len(parts) > row and parts != before
            ]
        )
    return rows


def score(truths: Sequence[Truth], found: Sequence[Rows], *, judge: bool = True) -> Score:
    """Compare."""
    made = Score(tables=len(truths), found=len(found))
    cells = Counter(cell for table in found for row in table for cell in row)
    rows = Counter(tuple(row) for table in found for row in table)
    known: set[str] = set()
    for truth in truths:
        own = [[letters(cell) for cell in row] for row in truth.own]
        spanned = [[letters(cell) for cell in row] for row in truth.spanned]
        for printed, row, full in zip(truth.own, own, spanned, strict=True):
            known.update(full)
            for text, cell in zip(printed, row, strict=True):
                made.cells += 1
                made.whole += cells[cell] > 0
                if not cells[cell]:
                    made.missed.append(f"cell {text!r}")
                cells[cell] -= cells[cell] > 0
            if row:
                made.rows += 1
                hit = next((each for each in (tuple(row), tuple(full)) if rows[each]), None)
                made.whole_rows += hit is not None
                if hit is not None:
                    rows[hit] -= 1
                else:
                    made.missed.append(f"row {printed}")
        homes = sum(any(cell in row for row in table for cell in own[0]) or any(row in table for row in own if row)
                    for table in found)  # fmt: skip
        made.split += homes > 1
    for table in found if judge else ():
        inside = [cell for row in table for cell in row]
        if 2 * sum(cell in known for cell in inside) < len(inside) or not inside:
            made.false += 1
            made.missed.append(f"false table {table[:2]}")
    return made


# ---- made pages -----------------------------------------------------------------------------------------------------


def made_pages(seeds: int, only: str, *, show: bool, scanned: bool = False) -> None:
    """Score what is drawn here, or scans of it."""
    totals: defaultdict[str, Score] = defaultdict(Score)
    with tempfile.TemporaryDirectory() as folder:
        for kind, cases in (("tables", TABLES), ("drawings", DRAWINGS)):
            for name, draw in cases.items():
                if only and name != only:
                    continue
                for seed in range(seeds):
                    page = Page(name, seed)
                    draw(page)
                    case = page.done()
                    path = Path(folder) / f"{case.name}.pdf"
                    path.write_bytes(turned(case.data) if name == "turned" else case.data)
                    truths = [Truth(*pair) for pair in zip(case.tables, case.spanned, strict=True)]
                    document = read_scan(scan_of(path.read_bytes()), path.name) if scanned else read_document(path)
                    totals[name].add(score(truths, tables_in(document)))
                totals[kind].add(totals[name])
                print(f"{name:14} {totals[name]}", flush=True)
                if show:
                    print(*totals[name].missed[:12], sep="\n")
    for kind in ("tables", "drawings"):
        print(f"{kind:14} {totals[kind]}")


def turned(data: bytes) -> bytes:
    """Turn the paper of a file by a quarter, and what stands on it back."""
    from tests.readers.page_words import turned as turn

    return turn(data, 90, upright=True)


# ---- lines of real files --------------------------------------------------------------------------------------------

Segment = tuple[float, float, float, float]
NEAR = 2.0


def segments(page: Any) -> Iterator[Segment]:
    """Yield level and upright lines of a page and the edges of stroked boxes, in points from the top left."""
    from pypdfium2 import raw

    pdfium: Any = raw
    height = page.get_height()
    edges = [ctypes.c_float() for _ in range(4)]
    for one in page.get_objects(max_depth=4):
        if one.type != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        mode, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDFPath_GetDrawMode(one.raw, mode, stroke)
        if not stroke.value and not mode.value:
            continue
        if not pdfium.FPDFPageObj_GetBounds(one.raw, *edges):
            continue
        left, bottom, right, top = (edge.value for edge in edges)
        count = pdfium.FPDFPath_CountSegments(one.raw)
        top, bottom = height - top, height - bottom
        if right - left < 3 or bottom - top < 3:
            yield (left, top, right, bottom)
        elif count in {4, 5} and stroke.value:
            yield from ((left, top, right, top), (left, bottom, right, bottom))
            yield from ((left, top, left, bottom), (right, top, right, bottom))


def merged(lines: Iterable[Segment], *, level: bool) -> list[tuple[float, float, float]]:
    """Join lines of one direction; each then is its place across, and from where to where."""
    parts = sorted(
        ((y0 + y1) / 2, x0, x1) if level else ((x0 + x1) / 2, y0, y1)
        for x0, y0, x1, y1 in lines
        if (x1 - x0 > y1 - y0) == level and max(x1 - x0, y1 - y0) > 4
    )
    found: list[tuple[float, float, float]] = []
    group: list[tuple[float, float, float]] = []
    for part in [*parts, (1e9, 0.0, 0.0)]:
        if group and part[0] - group[0][0] > NEAR:
            start = group[0][0]
            ends = sorted((low, high) for _, low, high in group)
            low, high = ends[0]
            for one, other in ends[1:]:
                if one > high + NEAR:
                    found.append((start, low, high))
                    low, high = one, other
                high = max(high, other)
            found.append((start, low, high))
            group = []
        group.append(part)
    return found


def grids(lines: Sequence[Segment]) -> Iterator[list[tuple[float, float, float, float]]]:
    """Yield groups of cells: the smallest boxes at whose corners lines cross and whose sides are drawn."""
    level, upright = merged(lines, level=True), merged(lines, level=False)
    if len(level) * len(upright) > 250_000:
        return
    across: defaultdict[int, list[int]] = defaultdict(list)
    for row, (y, x0, x1) in enumerate(level):
        for column, (x, y0, y1) in enumerate(upright):
            if x0 - NEAR <= x <= x1 + NEAR and y0 - NEAR <= y <= y1 + NEAR:
                across[row].append(column)
    cells: list[tuple[float, float, float, float]] = []
    for row, columns in across.items():
        columns.sort(key=lambda column: upright[column][0])
        for start, first in enumerate(columns):
            cell = next(
                (
                    (upright[first][0], level[row][0], upright[second][0], level[under][0])
                    for under in range(row + 1, len(level))
                    if level[under][0] > level[row][0] + 3 and first in across.get(under, ())
                    if upright[first][2] >= level[under][0] - NEAR
                    for second in columns[start + 1 :]
                    if upright[second][0] > upright[first][0] + 3
                    and second in across[under]
                    and upright[second][2] >= level[under][0] - NEAR
                ),
                None,
            )
            if cell is not None:
                cells.append(cell)
    home = list(range(len(cells)))

    def root(index: int) -> int:
        while home[index] != index:
            index = home[index]
        return index

    corners: dict[tuple[int, int], int] = {}
    for index, (x0, y0, x1, y1) in enumerate(cells):
        for corner in ((x0, y0), (x1, y0), (x0, y1), (x1, y1)):
            key = (round(corner[0] / NEAR), round(corner[1] / NEAR))
            home[root(index)] = root(corners.setdefault(key, index))
    groups: defaultdict[int, list[tuple[float, float, float, float]]] = defaultdict(list)
    for index, cell in enumerate(cells):
        groups[root(index)].append(cell)
    yield from groups.values()


def truths_of(page: Any) -> Iterator[Truth]:
    """Yield the tables that lines draw on a page: two columns and rows at least, half of the cells with words."""
    if page.get_rotation():
        return
    lines = list(segments(page))
    if len(lines) < 6 or len(lines) > 6000:
        return
    height = page.get_height()
    with contextlib.closing(page.get_textpage()) as text:
        marks = [(text.get_text_range(at, 1), text.get_charbox(at)) for at in range(min(text.count_chars(), 20_000))]
    placed = [(mark, (box[0] + box[2]) / 2, height - (box[1] + box[3]) / 2) for mark, box in marks if mark.strip()]
    for cells in grids(lines):
        tops = sorted({cell[1] for cell in cells})
        if len(tops) < 2 or len({cell[0] for cell in cells}) < 2:
            continue
        words = dict.fromkeys(cells, "")
        for mark, x, y in placed:
            inside = [cell for cell in cells if cell[0] <= x < cell[2] and cell[1] <= y < cell[3]]
            if inside:
                words[min(inside, key=lambda cell: (cell[2] - cell[0]) * (cell[3] - cell[1]))] += mark
        if 2 * sum(map(bool, words.values())) < len(cells):
            continue
        own: list[list[str]] = []
        spanned: list[list[str]] = []
        steps = [y for index, y in enumerate(tops) if not index or y - tops[index - 1] > NEAR]
        for y in steps:
            ordered = sorted(cells)
            full = [cell for cell in ordered if letters(words[cell])]
            own.append([words[cell] for cell in full if abs(cell[1] - y) <= NEAR])
            spanned.append([words[cell] for cell in full if cell[1] <= y + NEAR < cell[3] - NEAR])
        yield Truth(own, spanned)


def real_files(folder: Path, only: str, drawings: str, *, show: bool) -> None:
    """Score files against the cells that their lines draw."""
    import pypdfium2

    total, drawn = Score(), 0
    for path in sorted(folder.glob("*.pdf")):
        if only and not re.search(only, path.name):
            continue
        document, made = read_document(path), Score()
        if drawings and re.search(drawings, path.name):
            found = tables_in(document)
            drawn += len(found)
            print(f"{path.name[:44]:44} tables in drawings {len(found)}")
            continue
        opened: Any
        with contextlib.closing(pypdfium2.PdfDocument(path)) as opened:
            for index in range(len(opened)):
                with contextlib.closing(opened[index]) as page:
                    truths = list(truths_of(page))
                found = tables_in(document, index + 1) if truths else []
                each = score(truths, found, judge=False)
                each.missed = [f"p. {index + 1}: {line}" for line in each.missed]
                made.add(each)
        made.found = len(tables_in(document))
        total.add(made)
        print(f"{path.name[:44]:44} {made}", flush=True)
        if show:
            print(*made.missed[:25], sep="\n")
    print(f"{'all':44} {total}; tables in drawings {drawn}")


# ---- speed ----------------------------------------------------------------------------------------------------------


def speed(folder: Path) -> None:
    """Read the files three times in this process; tell pages a second of processor time, the best of three."""
    pages = 0
    best: list[float] = []
    for path in sorted(folder.glob("*.pdf")):
        times: list[float] = []
        last: dict[str, Any] = {}
        for _ in range(3):
            begun = time.process_time()
            for message in job.read(str(path)):
                last = message
            times.append(time.process_time() - begun)
        pages += len(last.get("pages", ()))
        best.append(min(times))
    print(f"{pages} pages, {sum(best):.2f} s, {pages / sum(best):.1f} pages a second")


def main(arguments: Sequence[str]) -> int:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--drawings", default="schematic")
    parser.add_argument("--data", default=os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data"))
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args(arguments)
    parts = options.parts or ["made", "real", "speed"]
    folder = Path(options.data) / "docs" / "pdf"
    if "made" in parts:
        made_pages(options.seeds, options.only, show=options.show)
    if "scanned" in parts:
        made_pages(options.seeds, options.only, show=options.show, scanned=True)
    if not folder.is_dir():
        folder = Path(options.data)
    for part, run in (("real", lambda: real_files(folder, options.only, options.drawings, show=options.show)),
                      ("speed", lambda: speed(folder))):  # fmt: skip
        if part in parts:
            if next(folder.glob("*.pdf"), None) is None:
                print(f"{part}: skipped, there are no PDF files in {folder}")
            else:
                run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
