"""Finds comments on the pages of a PDF: notes, highlights, strike-outs, stamps. They are not part of the text.

The same holds for the balloons that Word prints next to the text of a document with changes that nobody has accepted.
Words that a comment strikes out are deleted for readers of the page, and words that it adds are not in the text.
Therefore all comments are reported, with their words.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.geometry import from_page, raw, text_in
from knowledge_mcp.readers.pdf.lines import Box, is_rotated, size_of
from knowledge_mcp.readers.shared.hidden import remark
from knowledge_mcp.support.wording import how_many, list_first

if TYPE_CHECKING:
    from liteparse.types import ParsedPage

_DRAWN = (4, 5, 6, 7, 8, 15)
_STRIKE_OUT, _STAMP = 12, 13
_KINDS = {
    1: "note",
    3: "text box",
    **dict.fromkeys(_DRAWN, "drawing"),
    9: "highlight",
    10: "underline",
    11: "underline",
    _STRIKE_OUT: "strike-out",
    _STAMP: "stamp",
    14: "insertion",
    17: "attached file",
    28: "redaction mark",
}
"""Annotations made by people, by PDFium's numbers. Links, form fields, films and the like are not listed."""
_UNSEEN = 2 | 32
"""Flags of an invisible annotation: hidden, and no view."""
_REFUSED = ("Rejected", "Cancelled")
"""States that a reviewer gives to a comment that no longer applies."""
_MOST = 5000
"""Maximum number of annotations that are examined per page, and of lines that one of them marks: an index page has a
few hundred links. It is reported if there are more, because they may strike words out."""
_MOST_LINES = 10
"""Maximum number of lines read of what an annotation marks: only its first words are reported."""
_STAMPED = 100
"""Number of characters of a stamp that a warning repeats."""
_MOST_PAGES, _MOST_STAMPS = 10, 3
"""Maximum number of pages that a warning names, and of stamps that get their own warning: most stamps are the same on
every page."""


@dataclass(frozen=True, slots=True)
class PageComment:
    """One comment on a page.

    Attributes:
        page: physical page from 1.
        kind: what it is called.
        author: who made it; empty if the file does not say.
        marked: the words that it marks; empty if none.
        words: what it says.
    """

    page: int
    kind: str
    author: str
    marked: str
    words: str

    def __str__(self) -> str:
        """Return the comment as one line."""
        return remark(f"page {self.page}", self.author, self.kind, self.marked, self.words)


def comments_on(page: Any, text: Any, number: int) -> tuple[list[PageComment], list[Box], int]:
    """List the comments on an open PDFium page, and the boxes that they strike out, in points from the top left.

    Args:
        page: the page.
        text: its open text page.
        number: physical page from 1.

    Returns:
        The comments, the boxes, and how many annotations, or lines marked by one, exceed the limits.
    """
    pdfium = raw()
    found: list[PageComment] = []
    struck: dict[int, list[Box]] = {}
    refused: set[int] = set()
    count = pdfium.FPDFPage_GetAnnotCount(page.raw)
    beyond = max(count - _MOST, 0)
    for index in range(count - beyond):
        one = pdfium.FPDFPage_GetAnnot(page.raw, index)
        kind = pdfium.FPDFAnnot_GetSubtype(one) if one else 0
        if kind in _KINDS and not pdfium.FPDFAnnot_GetFlags(one) & _UNSEEN:
            if state := _value(one, "State"):  # said of another comment
                refused.update({_answered(page, one)} if state in _REFUSED else ())
            else:
                places = [*_places(page, one)]
                beyond += pdfium.FPDFAnnot_CountAttachmentPoints(one) > _MOST
                words = _value(one, "Contents") or (_value(one, "Name") if kind == _STAMP else "")
                found.append(PageComment(number, _KINDS[kind], _value(one, "T"), _marked(page, text, places), words))
                struck[index] = places if kind == _STRIKE_OUT else []
        if one:
            pdfium.FPDFPage_CloseAnnot(one)
    return found, [place for index, places in struck.items() if index not in refused for place in places], beyond


_BALLOON = re.compile(
    r"(?:(?:[^\W\d_]{1,20} ){0,2}[^\W\d_]{0,20}(?:[CcKk]omm?ent|[Кк]оммент|opmerking)[^\W\d_]{0,20}"
    r" \[[^\W\d_]{1,9}\d{1,4}\]"
    r"|(?:[^\W\d_]{1,20} ){0,2}(?:[Mm]oved|[Vv]erschoben|[Dd]éplacé|[Mm]ovido|[Ss]postato|[Vv]erplaatst)"
    r"(?: [^\W\d_]{1,20}){0,3} \[\d{1,4}\]"
    r"|Deleted|Inserted|Formatted|Gelöscht|Eingefügt|Formatiert|(?:a )?(?:[Ss]upprimé|[Ii]nséré|[Mm]is en forme)"
    r"|Eliminado|Insertado|Con formato|Eliminato|Inserito|Formattato|Verwijderd|Ingevoegd|Opgemaakt) ?:"
)
"""How Word begins a balloon in the languages of its menus: "Commented [JD1]:", "Moved down [2]:", "Deleted:"."""
_FLUSH = 4.0
"""Maximum distance in points between the left edges of balloons."""


def take_balloons(parsed: ParsedPage) -> list[PageComment]:
    """Remove the balloons next to the text from a parsed page: small, left-aligned print, right of everything else."""
    items = [item for item in parsed.text_items if item.text.strip() and not is_rotated(item)]
    begins = [item for item in items if _BALLOON.match(item.text)]
    if not begins:
        return []
    edge = statistics.median(item.x for item in begins) - _FLUSH
    top = min(item.y for item in begins)
    beside = sorted(
        (item for item in items if item.x >= edge and item.y >= top), key=lambda item: (round(item.y), item.x)
    )
    own = set(map(id, beside))
    rest = [item for item in items if id(item) not in own]
    is_clear = not any(item.x + item.width > edge for item in rest)
    if not rest or not is_clear or statistics.median(map(size_of, beside)) >= statistics.median(map(size_of, rest)):
        return []
    balloons: list[list[str]] = []
    for item in beside:
        if not balloons or _BALLOON.match(item.text):
            balloons.append([])
        balloons[-1].append(item.text)
    parsed.text_items = [item for item in parsed.text_items if id(item) not in own]
    return [PageComment(parsed.page_num, "balloon", "", "", " ".join(words)) for words in balloons]


def comment_warnings(comments: Sequence[PageComment], beyond: Mapping[int, int]) -> Iterator[str]:
    """Report which comments there are, and what stamps say; `beyond` has the number of skipped annotations by page."""
    for page, count in itertools.islice(beyond.items(), _MOST_PAGES):
        subject = how_many(count, "annotation was", "annotations were")
        yield f"Page {page}: {subject} not checked, of more than {_MOST:,}; words that they strike out are in the text."
    if not comments:
        return
    counts = Counter(each.kind for each in comments)
    what = ", ".join(how_many(count, kind, f"{kind}es" if kind.endswith("x") else "") for kind, count in counts.items())
    numbers = sorted({each.page for each in comments})
    where = f"{'pages' if len(numbers) > 1 else 'page'} {list_first([*map(str, numbers)], _MOST_PAGES)}"
    yield f"Comments on pages are not part of the text ({what}; {where}): they are in its metadata."
    stamps = [each for each in comments if each.kind == _KINDS[_STAMP] and each.words]
    for stamp in stamps[:_MOST_STAMPS]:
        yield f"A stamp on page {stamp.page} says: {stamp.words[:_STAMPED]}"


def _value(one: Any, key: str) -> str:
    """Return a text value of an annotation as one line, empty if it has none."""
    pdfium, name = raw(), key.encode()
    length = pdfium.FPDFAnnot_GetStringValue(one, name, None, 0)
    buffer = (ctypes.c_ushort * max(length // 2, 1))()
    pdfium.FPDFAnnot_GetStringValue(one, name, buffer, length)
    return " ".join(bytes(buffer).decode("utf-16-le", errors="ignore").partition("\0")[0].split())


def _answered(page: Any, one: Any) -> int:
    """Return the index of the annotation that another one answers, -1 if none."""
    pdfium = raw()
    other = pdfium.FPDFAnnot_GetLinkedAnnot(one, b"IRT")
    if not other:
        return -1
    index = int(pdfium.FPDFPage_GetAnnotIndex(page.raw, other))
    pdfium.FPDFPage_CloseAnnot(other)
    return index


def _places(page: Any, one: Any) -> Iterator[Box]:
    """Yield the boxes of the words that an annotation marks, one for each line."""
    pdfium, size = raw(), page.get_size()
    points = pdfium.FS_QUADPOINTSF()
    for index in range(min(pdfium.FPDFAnnot_CountAttachmentPoints(one), _MOST)):
        if pdfium.FPDFAnnot_GetAttachmentPoints(one, index, points):
            corners = [
                from_page(page, size, getattr(points, f"x{corner}"), getattr(points, f"y{corner}"))
                for corner in (1, 2, 3, 4)
            ]
            (left, *_, right), (top, *_, bottom) = (sorted(values) for values in zip(*corners, strict=True))
            yield left, top, right, bottom


def _marked(page: Any, text: Any, places: Sequence[Box]) -> str:
    return " ".join(text_in(page, text, *place) for place in places[:_MOST_LINES])
