"""Child process: convert presentations to Markdown with MarkItDown, safely.

Only MarkItDown's converter for this format is enabled, and `convert_stream` gets our own open file: no address is
resolved, no archive is walked through, and no other converter is tried if this one fails. The output is then cleaned
up: MarkItDown does not escape slide texts, so they are escaped here for the Markdown reader.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from knowledge_mcp.readers.office.dialects import usual_names, written_again
from knowledge_mcp.readers.office.slides_completed import EXPECTED, completed
from knowledge_mcp.readers.office.slides_hidden import seen_of
from knowledge_mcp.readers.shared.assembly import MOST_TEXT
from knowledge_mcp.readers.shared.containers import (
    core_properties,
    corrupted,
    member,
    open_archive,
    parse_xml,
    relations_of,
)
from knowledge_mcp.readers.shared.pieces import escaped, facts, hidden_piece
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many, list_first

_BATCH = 500_000
_MOST_MARKDOWN = 12_000_000
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?P<words>[^\]]*)\]\([^)]*\)")
_DEFAULT_NAME = re.compile(
    r"(?:Picture|Image|Ink|Graphic|Bild|Grafik|(?:Content|Picture) Placeholder|Google Shape)[ ;]?\d+[;\w]{0,20}"
    r"|\S{1,200}\.(?:png|jpe?g|gif|emf|wmf|svg|bmp|tiff?)",
    re.ASCII | re.IGNORECASE,
)
_ITEM = re.compile(r"(?P<levels>\ufdd0{1,9})(?P<number>\d{0,4})\ufdd0")
"""What `SlideConverter` writes before a list item."""
_TABLE_END = re.compile(r"\|\s*$")


def pptx(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield a presentation's facts and Markdown; each slide begins with its marker.

    Raises:
        Refusal: it is not a presentation, or is locked, damaged, empty or too large.
    """
    with open_archive(path, EXPECTED, needs=("ppt/presentation.xml",)) as opened:
        usual = usual_names(opened, "ppt/presentation.xml")
        archive = zipfile.ZipFile(usual) if usual is not None else opened
        slides, size = _slides(archive)
        if check:
            yield {"pages": len(slides)}
            return
        properties = core_properties(archive)
        written = completed(archive, slides)
        seen = seen_of(archive, slides, size, written)
        has_comments = any(name.startswith("ppt/comments/") for name in archive.namelist())
        members = written | seen.members
        changed = written_again(archive, members) if members or archive is not opened else None
    text = _converted(path, changed)
    markdown, pictures = settled(text)
    slides = "Slide {} is" if len(seen.slides) == 1 else "Slides {} are"
    description = slides.format(list_first([*map(str, seen.slides)], 20))
    warnings = [f"{description} hidden in the presentation, and omitted."] if seen.slides else []
    if has_comments:
        warnings.append("Comments in the presentation are not read.")
    if pictures:
        warnings.append(f"{how_many(pictures, 'image has', 'images have')} no description; text there is not read.")
    yield facts(title=properties.pop("title", ""), metadata=properties, warnings=warnings)
    yield hidden_piece(seen.hidden)
    if re.search(r"-->\s+# Slide \d+$", markdown[:80], re.MULTILINE):
        yield {"untitled": True}
    yield from _sent(markdown)


def _slides(archive: zipfile.ZipFile) -> tuple[list[str], tuple[float, float]]:
    """Return the names of the slides' parts, and the width and height of a slide in EMU."""
    root = parse_xml(member(archive, "ppt/presentation.xml") or b"", EXPECTED)
    relations = relations_of(partial(member, archive), "ppt/presentation.xml", EXPECTED)
    targets = {each.id: each.target for each in relations}
    names = [targets.get(slide.get(_RELATION, ""), "") for slide in root.iter("{*}sldId")]
    there = set(archive.namelist())
    for number, name in enumerate(names, 1):
        if name not in there:
            raise corrupted(EXPECTED, f"slide {number} is missing")
    size = root.find("{*}sldSz")
    sides = [size.get(key, "") if size is not None else "" for key in ("cx", "cy")]
    known = all(side.isascii() and side.isdigit() and 0 < len(side) < 12 for side in sides)
    return names, (float(sides[0]), float(sides[1])) if known else (math.inf, math.inf)


def settled(text: str) -> tuple[str, int]:
    """Make valid Markdown of MarkItDown's output for slides, and count the pictures without a description.

    Each line of a text becomes a paragraph. A slide's title is moved to its beginning. A slide without a title is named
    by its number, so that its content does not belong to the previous slide.
    """
    out: list[str] = []
    pictures = 0
    for number, content in enumerate(_contents(text), 1):
        lines, without = _slide(content)
        pictures += without
        title = next((k for k, line in enumerate(lines) if line.startswith("# ")), None)
        head = [lines.pop(title)] if title is not None else [f"# Slide {number}"] if lines else []
        out.append("\n\n".join([f"<!-- Slide number: {number} -->", *head, *lines]))
    return "\n\n".join(out) + "\n", pictures


def _contents(text: str) -> list[str]:
    """Split the text into slides at their markers; a marker with an unexpected number is text of a slide."""
    starts: list[int] = []
    ends: list[int] = []
    for match in _SLIDE.finditer(text):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match.end())
            ends.append(match.start())
    ends.append(len(text))
    return [text[start:end] for start, end in zip(starts, ends[1:], strict=True)]


def _slide(content: str) -> tuple[list[str], int]:
    lines: list[str] = []
    pictures = 0
    table: list[str] = []
    for line in [*content.split("\n"), ""]:
        if line.startswith("|") and _TABLE_END.search(line):
            table.append(line)
            continue
        if table:
            lines.append("\n".join(table))
            table = []
        image = _IMAGE.fullmatch(line.strip())
        if image:
            words = image.group("words").strip()
            if not words or _DEFAULT_NAME.fullmatch(words):
                pictures += 1
            else:
                lines.append(escaped(words))
        elif line.strip():
            lines.append(_settled_line(line))
    return lines, pictures


def _settled_line(line: str) -> str:
    flat = " ".join(line.split())
    if item := _ITEM.match(flat):
        marker = f"{item['number']}." if item["number"] else "-"
        return f"{'    ' * (len(item['levels']) - 1)}{marker} {escaped(flat[item.end() :].strip())}"
    for mark in ("# ", "### "):
        if line.startswith(mark):
            return mark + escaped(flat.removeprefix(mark.strip()).strip())
    return escaped(flat)


def _converted(path: str, source: BinaryIO | None) -> str:
    """Convert a file, or `source` in its place."""
    from markitdown import MarkItDown, MarkItDownException, StreamInfo

    from knowledge_mcp.readers.office.slides import SlideConverter

    engine = MarkItDown(enable_builtins=False, enable_plugins=False)
    engine.register_converter(SlideConverter())
    with source or Path(path).open("rb") as stream:
        try:
            result = engine.convert_stream(stream, stream_info=StreamInfo(extension=".pptx"))
        except MarkItDownException as error:
            if "MemoryError" in str(error):
                raise MemoryError from error
            raise corrupted(EXPECTED, error) from error
    text = result.markdown
    if len(text) > min(_MOST_MARKDOWN, MOST_TEXT):
        raise Refusal(
            "too_large", f"It contains {len(text)} characters, more than can be read at once.", suggestion="Split it."
        )
    return text


def _sent(markdown: str) -> Iterator[dict[str, Any]]:
    if not _SLIDE.sub("", markdown).strip():
        raise Refusal("empty", "The file has no text.", suggestion="If it shows images, save it as PDF and use OCR.")
    for start in range(0, len(markdown), _BATCH):
        yield {"markdown": markdown[start : start + _BATCH]}
