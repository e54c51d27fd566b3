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
from knowledge_mcp.readers.pdf.lines import is_rotated
from knowledge_mcp.readers.shared.layout import is_bold_name, is_figures

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
    segments = segments_of([item for item in items if not is_rotated(item)])
    sizes = Counter[tuple[float, bool]]()
    for segment in segments:
        sizes[segment.size, _is_bold(segment)] += len(segment.text)
    if not sizes:
        return []
    size, bold = sizes.most_common(1)[0][0]
    apart = [each for each in segments if each.size <= _SMALLER * size or (_is_bold(each) and not bold)]
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


def _is_bold(segment: TextSegment) -> bool:
    item = segment.items[0]
    return (item.font_weight or 400) >= 600 or is_bold_name(item.font_name or "")


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
    return Aside(items, min([each.top for each in group] + near), True, 0.0, is_title=_is_bold(group[0]))
