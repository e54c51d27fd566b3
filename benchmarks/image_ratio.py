"""Hold the image ratio of real PDFs against counted pixels: `python -m benchmarks.image_ratio [FILE…] [--pages 60]`.

The oracle knows nothing of our geometry: each page's content is rewritten so that nothing but its pictures is drawn,
each picture as a plain black one of the same place, PDFium renders that at 72 dots per inch, and black pixels are
counted. Clipping is left out on both sides, as the specification's "area of images" does. Without files those of the
evaluation data are taken. A file whose content cannot be rewritten is named and not counted. Exit code 1 where a page
differs by more than .02.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pypdfium2

from knowledge_mcp.readers.pdf.pictures import marks_of

BAR = 0.02
_KEPT = {"q", "Q", "cm"}
_DEPTH = 8


def only_pictures(source: Any, pages: int) -> bytes:
    """Rewrite the first pages so that only black boxes stand where pictures are."""
    black = pikepdf.Stream(source, b"\x00")
    black.Type, black.Subtype = pikepdf.Name.XObject, pikepdf.Name.Image
    black.Width = black.Height = 1
    black.ColorSpace, black.BitsPerComponent = pikepdf.Name.DeviceGray, 8
    black = source.make_indirect(black)
    done: set[tuple[int, int]] = set()
    for page in list(source.pages)[:pages]:
        resources = page.obj.get("/Resources")
        if resources is None:
            resources = page.obj["/Resources"] = pikepdf.Dictionary()
        content = _boxes(page, resources, source, black, done, 0)
        page.Contents = source.make_stream(content)
        if "/Annots" in page:
            del page["/Annots"]
    written = io.BytesIO()
    source.save(written)
    return written.getvalue()


def _boxes(holder: Any, resources: Any, source: Any, black: Any, done: set[tuple[int, int]], depth: int) -> bytes:
    """Keep the matrices and the drawing of pictures of one content stream, and of the forms that it draws."""
    objects = resources.get("/XObject")
    if objects is None:
        objects = resources["/XObject"] = pikepdf.Dictionary()
    kept: list[Any] = []
    for instruction in pikepdf.parse_content_stream(holder):
        operator = str(instruction.operator)
        if operator in _KEPT:
            kept.append(instruction)
        elif operator == "INLINE IMAGE":
            objects["/OracleBlack"] = black
            kept.append(pikepdf.ContentStreamInstruction([pikepdf.Name("/OracleBlack")], pikepdf.Operator("Do")))
        elif operator == "Do" and depth < _DEPTH:
            target = objects.get(str(instruction.operands[0]))
            if target is None:
                continue
            if target.get("/Subtype") == "/Form":
                _form(target, resources, source, black, done, depth)
            elif target.get("/Subtype") == "/Image":
                objects[str(instruction.operands[0])] = black
            kept.append(instruction)
    return pikepdf.unparse_content_stream(kept)


def _form(form: Any, outer: Any, source: Any, black: Any, done: set[tuple[int, int]], depth: int) -> None:
    if form.objgen in done:
        return
    done.add(form.objgen)
    resources = form.get("/Resources")
    if resources is None:
        resources = outer
    content = _boxes(form, resources, source, black, done, depth + 1)
    form.BBox = pikepdf.Array([-100_000, -100_000, 100_000, 100_000])
    if "/Group" in form:
        del form["/Group"]
    form.write(content)


def counted(data: bytes, pages: int) -> list[float]:
    """Return the share of black pixels of each page."""
    document: Any = pypdfium2.PdfDocument(data)
    shares: list[float] = []
    for number in range(min(pages, len(document))):
        picture = np.asarray(document[number].render(scale=1.0, grayscale=True).to_numpy())
        shares.append(float((picture < 128).mean()))
    document.close()
    return shares


def main() -> None:
    """Compare each file; print a row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=60)
    chosen = parser.parse_args()
    data = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "docs"
    files = chosen.files or sorted([*(data / "pdf").glob("*.pdf"), *(data / "scanned").glob("*.pdf")])
    if not files:
        sys.exit(f"there are no PDFs below {data}; set KNOWLEDGE_EVAL_DATA, or name files")
    worst = 0.0
    print("| file | pages | pages with pictures | mean ratio, ours | counted | largest difference |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            with pikepdf.open(path) as source:
                pages = min(chosen.pages, len(source.pages))
                plain = Path(folder) / "plain.pdf"
                source.save(plain)
                try:
                    oracle = counted(only_pictures(source, pages), pages)
                except (
                    TypeError,
                    UnicodeDecodeError,
                ) as exc:  # a content stream that breaks the rules, which PDFium draws all the same
                    print(f"| {path.name} | {pages} | not counted: {exc} | | | |", flush=True)
                    continue
            ours = [each.image_ratio for each in marks_of(str(plain), range(1, pages + 1))]
            apart = [abs(one - other) for one, other in zip(ours, oracle, strict=True)]
            worst = max(worst, *apart)
            shown = sum(share > 0 for share in oracle)
            means = f"{np.mean(ours):.3f} | {np.mean(oracle):.3f}"
            print(f"| {path.name} | {pages} | {shown} | {means} | {max(apart):.4f} |", flush=True)
            for number, difference in enumerate(apart, start=1):
                if difference > BAR:
                    told = f"ours {ours[number - 1]:.3f}, counted {oracle[number - 1]:.3f}"
                    print(f"{path.name}, page {number}: {told}", file=sys.stderr)
    print(f"largest difference {worst:.4f}, bar {BAR}")
    if worst > BAR:
        sys.exit(1)


if __name__ == "__main__":
    main()
