"""Which pages of a PDF are to be read by text recognition, and what of each page counts once they were.

A page needs it that shows something and has no text; whose text is a stamp, a watermark or a running head over a scan;
or whose text is not what is printed, because the file maps its glyphs to the wrong characters or to none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from knowledge_mcp.readers.ocr_layout import load_recognised
from knowledge_mcp.readers.pdf.layout import Line, PageLayout, Table, letters_of
from knowledge_mcp.readers.pdf.pictures import marks_of

__all__ = [
    "FORCED",
    "GARBLED",
    "NO_TEXT",
    "STAMP",
    "is_garbled",
    "pages_to_recognise",
    "take_recognised",
    "without_copies",
]

NO_TEXT, STAMP, GARBLED, FORCED = "no text layer", "a stamp over a scan", "unreadable text layer", "asked for"

_NO_TEXT = 10
"""Characters below which a page has no text (B-FR-005)."""
_STAMP = 400
"""Letters below which the text on a page covered by a picture may be a stamp."""
_COVERED = 0.5
_ADDS = 1.3
_NO_SCRIPT = re.compile("[\x00-\x08\x0e-\x1f\x80-\x9f\ue000-\uf8ff\ufffd]")
_LATIN_WORDS = re.compile(r"(?<![\w/.-])[A-Za-z]{3,}(?![\w/.-])")
_VOWELS = "aeiouyAEIOUY"
_FEW_VOWELS = 0.24
_ENOUGH = 120
_MANY_UNKNOWN = 0.15
_SURE = 60.0


def pages_to_recognise(path: str, pages: Sequence[PageLayout], *, force: bool) -> dict[int, str]:
    """Name the pages that need text recognition, by number, each with the reason.

    Pages with a text of their own cost a look at their characters only; the file is opened for the others.
    """
    if force:
        return {page.number: FORCED for page in pages}
    texts = {page.number: _text(page) for page in pages}
    found = {number: GARBLED for number, text in texts.items() if is_garbled(text)}
    few = [number for number, text in texts.items() if number not in found and _is_short(text)]
    for marks in marks_of(path, few):
        if len("".join(texts[marks.number].split())) < _NO_TEXT:
            if marks.images or marks.paths:
                found[marks.number] = NO_TEXT
        elif marks.image_ratio > _COVERED:
            found[marks.number] = STAMP
    return dict(sorted(found.items()))


def _is_short(text: str) -> bool:
    return len(text) < 4 * _STAMP and len(letters_of(text)) < _STAMP


def is_garbled(text: str) -> bool:
    """Tell whether a text layer is not what is printed: characters of no script, or Latin words without vowels.

    On 1,685 pages of standards, guides and reports the vowels (y among them) were at least .30 of the letters in words
    of three and more, on schematics .23; a font whose codes are taken for characters gives about .15.
    """
    unknown = 0 if text.isascii() else len(_NO_SCRIPT.findall(text))
    if unknown >= _NO_TEXT and unknown > _MANY_UNKNOWN * len("".join(text.split())):
        return True
    if sum(map(text.count, _VOWELS)) >= _FEW_VOWELS * len(text):
        return False  # as in nearly all prose, and quicker to tell than words
    letters = "".join(_LATIN_WORDS.findall(text))
    return len(letters) >= _ENOUGH and sum(map(letters.count, _VOWELS)) < _FEW_VOWELS * len(letters)


def take_recognised(pages: Sequence[PageLayout], path: str) -> set[int]:
    """Put the recognised lines in place of the pages' own where they say more; returns the pages where they do.

    Lines of a text layer that recognition did not see (a stamp printed across dark ground) are kept.
    """
    recognised = load_recognised(path)
    taken: set[int] = set()
    for page in pages:
        found = recognised.get(page.number)
        if found is None or not _says_more(page, found.layout, found.reason, found.confidence):
            continue
        kept = [] if found.reason == GARBLED else list(_unseen(page, found.layout))
        above = [line for line in kept if line.y0 < page.height / 2]
        page.elements = [*above, *found.layout.elements, *(line for line in kept if line not in above)]
        page.width, page.height = found.layout.width, found.layout.height
        taken.add(page.number)
    return taken


def without_copies(pages: Sequence[PageLayout], taken: Collection[int]) -> list[PageLayout]:
    """Leave out recognised pages that repeat an earlier one: their lines are no running heads for standing twice.

    A page counts as a copy when six in ten of its lines, and eight at least, stand on one earlier page too.
    """
    originals: list[PageLayout] = []
    holders: defaultdict[str, set[int]] = defaultdict(set)
    for page in pages:
        keys = {letters_of(line.text) for line in _lines(page)}
        shared = Counter(number for key in keys for number in holders[key])
        alike = max(shared.values(), default=0)
        if page.number in taken and alike >= max(8, 0.6 * len(keys)):
            continue
        originals.append(page)
        for key in keys if page.number in taken else ():
            holders[key].add(page.number)
    return originals


def _says_more(page: PageLayout, found: PageLayout, reason: str, confidence: float) -> bool:
    own, read = len(letters_of(_text(page))), len(letters_of(_text(found)))
    if reason == NO_TEXT or not own:
        return True
    if reason == FORCED:
        return read > 0
    if reason == GARBLED:
        return confidence >= _SURE and read > 0.3 * own and not _agree(page, found)
    return read > _ADDS * own


def _agree(page: PageLayout, found: PageLayout) -> bool:
    """Tell whether many of the words that were recognised stand in the text layer too: then it is what is printed."""
    words = set(_LATIN_WORDS.findall(_text(found)))
    return len(words & set(_LATIN_WORDS.findall(_text(page)))) > 0.2 * len(words)


def _unseen(page: PageLayout, found: PageLayout) -> Collection[Line]:
    seen = letters_of(_text(found))
    return [line for line in _lines(page) if not line.rotated and letters_of(line.text) not in seen]


def _text(page: PageLayout) -> str:
    return "\n".join(line.text for line in _lines(page))


def _lines(page: PageLayout) -> list[Line]:
    lines: list[Line] = []
    for element in page.elements:
        lines.extend(element.lines if isinstance(element, Table) else [element])
    return lines
