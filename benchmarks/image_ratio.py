"""Hold the image ratio of real PDFs against counted pixels: `python -m benchmarks.image_ratio [FILE…] [--pages 60]`.

The oracle knows nothing of our geometry: each page's content is rewritten so that nothing but its pictures is drawn,
each picture as a plain black one of the same place, PDFium renders that at 72 dots per inch, and black pixels are
counted. Clipping is left out on both sides, as the specification's "area of images" does. Without files those of the
evaluation data are taken. Content that breaks the rules is read as viewers do: what makes no sense is skipped. Exit
code 1 where a page differs by more than .02.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pypdfium2

from benchmarks.drawing_steps import steps_of
from knowledge_mcp.readers.pdf.scans import marks_of

BAR = 0.02
_KEPT = {b"q", b"Q", b"cm"}
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
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
    kept: list[bytes] = []
    for operands, operator in steps_of(_content_of(holder)):
        if operator in _KEPT:
            kept.append(b" ".join([*operands[-6:], operator]) if operator == b"cm" else operator)
        elif operator == b"BI":
            objects["/OracleBlack"] = black
            kept.append(b"/OracleBlack Do")
        elif operator == b"Do" and operands and depth < _DEPTH:
            name = _ESCAPED.sub(lambda code: bytes([int(code[1], 16)]), operands[-1]).decode("latin-1")
            target = objects.get(name)
            if target is None:
                continue
            if target.get("/Subtype") == "/Form":
                _form(target, resources, source, black, done, depth)
            elif target.get("/Subtype") == "/Image":
                objects[name] = black
            kept.append(operands[-1] + b" Do")
    return b"\n".join(kept)


def _content_of(holder: Any) -> bytes:
    """Return what draws a page or a form; a page's may come in pieces."""
    if isinstance(holder, pikepdf.Page):
        content = holder.obj.get("/Contents", [])
        pieces = [content] if isinstance(content, pikepdf.Stream) else list(content)
        return b"\n".join(map(_bytes_of, pieces))
    return _bytes_of(holder)


def _bytes_of(stream: Any) -> bytes:
    """Return a stream's bytes; of one that is damaged those before the damage, as viewers do."""
    try:
        return stream.read_bytes()
    except pikepdf.DataDecodingError:
        unpacking, found = zlib.decompressobj(), b""
        with contextlib.suppress(zlib.error):
            for byte in stream.read_raw_bytes():
                found += unpacking.decompress(bytes([byte]))
        return found


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
                oracle = counted(only_pictures(source, pages), pages)
            ours = [each.image_ratio for each in marks_of(str(plain), range(1, pages + 1))]
            apart = [abs(one - other) for one, other in zip(ours, oracle, strict=True)]
            worst = max(worst, *apart)
            shown = sum(share > 0 for share in oracle)
            means = f"{np.mean(ours):.3f} | {np.mean(oracle):.3f}"
            print(f"| {path.name} | {pages} | {shown} | {means} | {max(apart):.4f} |", flush=True)
            for number, difference in enumerate(apart, start=1):
                if difference > BAR:
                    result = f"ours {ours[number - 1]:.3f}, counted {oracle[number - 1]:.3f}"
                    print(f"{path.name}, page {number}: {result}", file=sys.stderr)
    print(f"largest difference {worst:.4f}, bar {BAR}")
    if worst > BAR:
        sys.exit(1)


if __name__ == "__main__":
    main()
