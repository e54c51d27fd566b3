"""Signs that are not letters: drawn bullets, which become text; icons, which are left out; signs of symbol fonts.

Browsers print bullets as small discs and circles. One counts if the same is drawn at the same distance before other
lines: points of a plot lie anywhere. Icons next to notes and warnings are signs of icon fonts, whose codes mean other
letters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.readers.pdf.lines import is_rotated, middle_of, size_of
from knowledge_mcp.support.charsets import has_private_characters, letters_for_symbols, signs_of_quantities

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem, VectorShape

_SMALLEST, _LARGEST = 0.12, 0.6
"""Minimum and maximum height of a bullet as a share of the font size: a tick box has that of its words."""
_SQUARE = 1.3
"""Maximum ratio of its sides."""
_OFF = 0.3
"""Maximum distance of its middle from that of the words, as a share of the font size."""
_GAP = 2.5
"""Maximum gap between a bullet and its words, as a factor of the font size: a tab."""
_ALIKE = 1.0
"""Step in points by which sizes and distances are rounded: each bullet is drawn separately."""
_MOST = 150
"""Maximum number of round shapes on a page, as for pictures; with more it is a drawing."""
_OFTEN = 3
"""Number of alike dots from which they are bullets, as for pictures at the beginning of lines."""

_ICON_FONT = re.compile(r"font ?awesome|material ?(?:icons|symbols)|icomoon|fontello|glyphicons", re.IGNORECASE)
_ICON = 1.5
"""Minimum size of an icon as a factor of the page's text: ticks in cells have that of their words."""

SYMBOL = 0xF000
"""Base of the Unicode range to which signs of symbol fonts are mapped by their codes."""
_DINGBAT_FONTS = ("wingdings", "wingdings-regular")
_SYMBOL_FONTS = ("symbol", "symbolmt", *_DINGBAT_FONTS)
"""Endings of the names of fonts whose signs are known by their codes."""
_LIBERTINE = re.compile(r"lin(?:ux)?[ -]?(?:libertine|biolinum)|libertinus|linlib", re.IGNORECASE)
_LIGATURES = str.maketrans({0xE039: "ft", 0xE03A: "ck", 0xE03B: "ch", 0xE03C: "tt", 0xE048: "Qu", 0xE049: "Th"})
"""The ligatures that these fonts have at codes of their own; files made with them name no letters."""
_TICKS = "\uf0fc\uf0fb\uf0fe\uf0fd"
"""Ticks and crosses of dingbat fonts: at the beginning of a line they have a meaning, unlike other signs there."""

_Form = tuple[int, int]
"""The height of a bullet and its distance from its words, in steps."""


def take_bullets(pages: Sequence[ParsedPage]) -> None:
    """Add drawn bullets to the words of parsed pages, in place."""
    found = [each for page in pages for each in _dots(page)]
    counts = Counter(form for form, _, _ in found)
    for form, shape, item in found:
        if counts[form] >= _OFTEN:
            item.text = f"• {item.text}"
            item.width += item.x - shape.bbox[0]
            item.x = shape.bbox[0]


def take_icons(pages: Sequence[ParsedPage]) -> None:
    """Leave out large single signs in icon fonts, in place."""
    for page in pages:
        sizes = Counter[float]()
        for item in page.text_items:
            sizes[size_of(item)] += len(item.text)
        least = _ICON * max(sizes, key=lambda size: (sizes[size], size), default=0.0)
        page.text_items = [
            item
            for item in page.text_items
            if len(item.text) > 1 or size_of(item) < least or not _ICON_FONT.search(item.font_name or "")
        ]


def _dots(page: ParsedPage) -> Iterator[tuple[_Form, VectorShape, TextItem]]:
    """Yield the small round shapes of a page that stand before the first word of a line, with that word."""
    graphics = page.vector_graphics
    shapes = [each for each in graphics.shapes if each.has_curve] if graphics is not None else []
    items = sorted((each for each in page.text_items if each.text.strip() and not is_rotated(each)), key=middle_of)
    if not items or not 0 < len(shapes) <= _MOST:
        return
    middles = [middle_of(item) for item in items]
    largest = max(map(size_of, items))
    taken: set[int] = set()
    for shape in shapes:
        left, top, width, height = shape.bbox
        if not height or not 1 / _SQUARE <= width / height <= _SQUARE or height > _LARGEST * largest:
            continue
        middle = top + height / 2
        first, end = (bisect_left(middles, middle + side * largest) for side in (-_OFF, _OFF))
        row = [item for item in items[first:end] if abs(middle_of(item) - middle) <= _OFF * size_of(item)]
        item = min((each for each in row if each.x >= left + width), key=lambda each: each.x, default=None)
        if item is None or id(item) in taken or not _fits(shape, item, row):
            continue
        taken.add(id(item))
        yield (round(height / _ALIKE), round((item.x - left) / _ALIKE)), shape, item


def _fits(shape: VectorShape, item: TextItem, row: Sequence[TextItem]) -> bool:
    """Return whether a shape is as high as a bullet of the words after it, and no word of their row is close before it.

    Words that begin with a mark of their own have a dot for another reason.
    """
    left, _, width, height = shape.bbox
    size = size_of(item)
    before = (left - each.x - each.width for each in row if each.x < left)
    return (
        _SMALLEST * size <= height <= _LARGEST * size
        and item.x - left - width <= _GAP * size
        and all(gap > size for gap in before)
        and any(map(str.isalnum, item.text))
        and opening_of(item.text) is None
    )


def with_signs(item: TextItem) -> str:
    """Convert the signs of symbol fonts to Unicode, except one that may be a list marker, and spell out ligatures.

    The parser joins signs to words in another font: they are signs of quantities, unless they may mark an item.
    """
    font = (item.font_name or "").lower()
    if _LIBERTINE.search(font) is not None:
        return signs_of_quantities(item.text.translate(_LIGATURES))
    text = _with_codes(item.text) if font.endswith(_DINGBAT_FONTS) else item.text
    if not (has_private_characters(text) and font.endswith(_SYMBOL_FONTS)):
        return signs_of_quantities(text)
    begins = has_private_characters(text[0]) and text[0] not in _TICKS and not text[1:2].isalnum()
    return text[:begins] + letters_for_symbols(text[begins:], font)[0]


def _with_codes(text: str) -> str:
    """Write the signs of a dingbat font as their codes; a file may name them by the letters that have these codes."""
    signs = text.split(" ")
    count = len(signs) if all(len(sign) == 1 for sign in signs) else int(len(signs[0]) == 1)
    return " ".join(
        chr(SYMBOL + ord(sign)) if place < count and "!" <= sign <= "\xff" else sign for place, sign in enumerate(signs)
    )
