"""Notes and titles in the margin: side notes of statutes, side heads of manuals, marks of changes.

They stand in a column of their own, which no line of the running text reaches into on the whole page, and in other
print: smaller, or bold. Their lines share baselines with those of the text, or not; each is read before the paragraph
that begins at its height.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.flow.asides import Aside, TextSegment, groups_of, segments_of
from knowledge_mcp.readers.pdf.lines import is_heavy, is_rotated, size_of
from knowledge_mcp.readers.shared.layout import is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem

_SMALLER = 0.9
"""Times the size of the running text that the print of a note has at most, where it is not bold."""
_FREE = 4.0
"""Points between the running text and its margin at least."""
_MOST = 0.3
"""Share of a page's letters that its margin has at most: a column has more."""
_WIDEST = 0.33
"""Share of the running text's width that a note takes at most."""
_TITLES = 2
"""Titles in the margin of a page at least: a single one is the name of a row."""
_LINES = 8
"""Lines of a note at most."""
_WORDS = 3
"""Words from which on a piece of text is one of the running text."""
_LINE = 6
"""Words from which on it is a whole line: cells beside the name of their row have fewer."""


def margin_notes(items: Sequence[TextItem]) -> list[Aside]:
    """Find the notes and titles in the margins of a page, from the top; `items` stand outside of what lines draw."""
    if not _may_have(items):
        return []
    segments = segments_of([item for item in items if not is_rotated(item)])
    sizes = Counter[tuple[float, bool]]()
    for segment in segments:
        sizes[segment.size, is_heavy(segment.items[0])] += len(segment.text)
    if not sizes:
        return []
    size, bold = sizes.most_common(1)[0][0]
    apart = [each for each in segments if each.size <= _SMALLER * size or (is_heavy(each.items[0]) and not bold)]
    own = set(map(id, apart))
    text = [each for each in segments if id(each) not in own and len(each.text.split()) >= _WORDS]
    if not text:
        return []
    left, right = min(each.x0 for each in text), max(each.x1 for each in text)
    first, last = text[0].base - size, max(each.base for each in text) + size
    inside = [each for each in apart if first < each.base < last]
    found: list[Aside] = []
    for side in (
        [each for each in inside if each.x1 <= left - _FREE],
        [each for each in inside if each.x0 >= right + _FREE],
    ):
        letters = sum(len(each.text) for each in side)
        wide = max((each.x1 for each in side), default=0.0) - min((each.x0 for each in side), default=0.0)
        if letters <= _MOST * sizes.total() and wide <= _WIDEST * (right - left):
            notes = [_aside(group, text, size) for group in groups_of(side) if _is_note(group, text)]
            found += notes if len(notes) >= _TITLES else [note for note in notes if not note.is_title]
    return sorted(found, key=lambda each: each.top)


def _may_have(items: Sequence[TextItem]) -> bool:
    """Tell cheaply whether something stands beside the lines of the most frequent print."""
    sizes = Counter[float]()
    for item in items:
        sizes[size_of(item)] += len(item.text)
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    lines = [item for item in items if size_of(item) == size and item.text.count(" ") >= _WORDS]
    if not lines:
        return bool(items)
    left, right = min(item.x for item in lines), max(item.x + item.width for item in lines)
    return any(item.x + item.width <= left - _FREE or item.x >= right + _FREE for item in items)


def _is_note(group: Sequence[TextSegment], text: Sequence[TextSegment]) -> bool:
    """Tell a note from numbers of lines and names of rows: it has words, beside a line of the running text."""
    words = " ".join(each.text for each in group)
    if is_figures(words) or not any(map(str.isalpha, words)) or len({round(each.base) for each in group}) > _LINES:
        return False
    top, foot = group[0].base - 2 * group[0].size, group[-1].base + 2 * group[0].size
    return any(top <= each.base <= foot and len(each.text.split()) >= _LINE for each in text)


def _aside(group: Sequence[TextSegment], text: Sequence[TextSegment], size: float) -> Aside:
    """Make a note; it begins where the line of the text begins that stands at its first baseline, if one does."""
    near = [each.top for each in text if abs(each.base - group[0].base) <= 0.5 * size]
    items = [item for each in group for item in each.items]
    return Aside(items, min([each.top for each in group] + near), True, 0.0, is_title=is_heavy(group[0].items[0]))
