"""What runs in the sandbox's child: a PDF's bytes to messages of plain JSON values.

Messages of `read`, in this order: `progress` as pages are parsed, `facts` once, then `items` (headings and blocks, some
hundred at a time) and a final `pages`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from knowledge_mcp.readers.pdf import engine
from knowledge_mcp.readers.pdf.blocks import blocks_of
from knowledge_mcp.readers.pdf.candidates import Body, body_of
from knowledge_mcp.readers.pdf.furniture import remove_contents, remove_furniture
from knowledge_mcp.readers.pdf.headings import Heading, detect_headings
from knowledge_mcp.readers.pdf.layout import Line, PageLayout, Table
from knowledge_mcp.readers.pdf.outline import merge_headings, outline_headings, tagged_headings
from knowledge_mcp.support.sandbox_worker import Refusal

__all__ = ["check", "read"]

_PER_MESSAGE = 400


def check(path: str) -> Iterator[dict[str, Any]]:
    """Open the file and yield its number of pages.

    Raises:
        Refusal: as `engine.inspect`.
    """
    yield {"pages": engine.inspect(path, thorough=False).pages}


def read(path: str, *, use_outline: bool = True) -> Iterator[dict[str, Any]]:
    """Read the file and yield messages.

    Args:
        path: absolute path of the file.
        use_outline: False leaves bookmarks and tags aside, for measuring what typography alone finds.

    Raises:
        Refusal: it cannot be opened or parsed, or there is no text in it at all.
    """
    facts = engine.inspect(path)
    pages: list[PageLayout] = []
    tagged: list[engine.TaggedHeading] = []
    yield {"progress": [0, facts.pages]}
    for batch in engine.pages(path, count=facts.pages):
        pages.extend(batch.pages)
        tagged.extend(batch.tagged)
        yield {"progress": [len(pages), facts.pages]}
    textless = [page.number for page in pages if not page.elements]
    bare = remove_furniture(pages)
    pictured = engine.pictured(path, sorted({*textless, *bare}))
    _restore(pages, bare, pictured)
    blank = [page.number for page in pages if not page.elements]
    if len(blank) == len(pages):
        raise Refusal(
            "empty",
            "The PDF has no text: its pages are pictures, or blank.",
            details=f"{len(pages)} pages without text of their own",
            suggestion="Run text recognition (OCR) over it, then ingest the result.",
        )
    contents = remove_contents(pages)
    body = body_of(pages)
    headings = _headings(pages, body, facts.outline if use_outline else [], tagged if use_outline else [])
    yield {"facts": facts.metadata, "headline": _headline(pages)}
    items = blocks_of(pages, headings, body)
    while some := list(itertools.islice(items, _PER_MESSAGE)):
        yield {"items": some}
    yield {
        "pages": [page.number for page in pages],
        "labels": facts.labels,
        "blank": blank,
        "scanned": sorted(pictured.intersection(blank)),
        "contents": contents,
    }


def _headings(
    pages: Sequence[PageLayout],
    body: Body,
    outline: Sequence[engine.OutlineEntry],
    tagged: Sequence[engine.TaggedHeading],
) -> list[Heading]:
    """Take the outline, else the tags, and add what numbering and typography find beyond them."""
    named = outline_headings(outline, pages) or tagged_headings(tagged, pages)
    return merge_headings(named, detect_headings(pages, body), pages)


def _restore(pages: Sequence[PageLayout], bare: Mapping[int, list[Line | Table]], pictured: Collection[int]) -> None:
    """Put lines back where many pages have nothing else: those are their text, unless a picture covers the page."""
    textual = {number: elements for number, elements in bare.items() if number not in pictured}
    if len(textual) > max(3, 0.3 * len(pages)):
        for page in pages:
            page.elements = textual.get(page.number, page.elements)


def _headline(pages: Sequence[PageLayout]) -> str:
    """Return the largest print on the first page that has text: most likely the title; empty where none stands out."""
    for page in pages:
        lines = [line for line in page.lines if not line.rotated and sum(map(str.isalpha, line.text)) > 2]
        if not lines:
            continue
        size = max(line.size for line in lines)
        largest = [line for line in lines if line.size >= size - 0.3]
        text = " ".join(line.text for line in largest[:4])
        return text if len(text) <= 200 and len(largest) < max(len(lines), 2) else ""
    return ""
