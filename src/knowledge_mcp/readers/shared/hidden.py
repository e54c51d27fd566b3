"""What every format shares in judging hidden text: invisible characters, colours that look alike, and counting.

And how is told what is no text: changes that nobody has accepted, and comments.

Of invisible characters, joiners stay where a script or an emoji needs them, one variation selector stays after a
character that has variants, and the tags of the three flags that have them. All other characters of these kinds go.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.support.wording import how_many, list_first

WHITE = "FFFFFF"
COMMENTS, CHANGES = "comments", "pending_changes"
"""The names of what comments say, and of changes that nobody has accepted, among the metadata of a document."""
_LONGEST, _LONGEST_REMARK, _LONGEST_WORDS = 1950, 300, 60
"""Characters that are kept of all remarks, which with how many others there are fit into the 2,000 that a service takes
of one fact; of one, some sentences; and of the words that one is about, enough to find them."""
_MOST_PIECES = 50
"""Pieces of text, a run or a line each, that are kept of words between two marks: more than `_LONGEST_WORDS` hold."""
_HEX = re.compile(r"#?([0-9A-Fa-f]{6})")
_NEAR = 8
"""Steps of 255 by which two colours may differ in each channel and still look the same."""

_FLAGS = ("gbeng", "gbsct", "gbwls")
_TAGGED = ["".join(chr(0xE0000 + ord(sign)) for sign in name) + "\U000e007f" for name in _FLAGS]
_HIDING = re.compile(
    "\U0001f3f4(?:" + "|".join(_TAGGED) + ")"
    "|[\u200b-\u200d\u2060\ufeff\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VARIED = "0123456789#*\xa9\xae\u203c\u2049"


def is_alike(one: str | None, other: str | None) -> bool:
    """Tell whether two colours (RRGGBB) look the same; False where one of them is not known."""
    first, second = _HEX.fullmatch(one or ""), _HEX.fullmatch(other or "")
    if first is None or second is None:
        return False
    pairs = zip(bytes.fromhex(first.group(1)), bytes.fromhex(second.group(1)), strict=True)
    return all(abs(a - b) <= _NEAR for a, b in pairs)


def nonblank_length(text: str | None) -> int:
    """Count the characters that are not blank: what hidden text is measured by."""
    return len("".join(text.split())) if text else 0


def without_hidden(text: str, hidden: Counter[str] | None = None) -> str:
    """Leave out invisible characters that carry words; how many is counted by `HiddenReason`. Linear and idempotent."""
    if text.isascii() or _HIDING.search(text) is None:
        return text
    kept: list[str] = []
    place = 0
    before = ""
    for match in _HIDING.finditer(text):
        start, end = match.span()
        if start > place:
            kept.append(text[place:start])
            before = text[start - 1]
        sign = match.group()
        reason = None if len(sign) > 1 else _reason(sign, before, text[end : end + 1])
        if reason is None:
            kept.append(sign)
            before = sign[-1]
        elif hidden is not None:
            hidden[reason] += 1
        place = end
    kept.append(text[place:])
    return "".join(kept)


def _reason(sign: str, before: str, after: str) -> HiddenReason | None:
    """Tell why a character is left out, None where it is needed."""
    code = ord(sign)
    if code in {0x200C, 0x200D}:
        needed = _is_scripted(before) if before else _is_scripted(after)
        return None if needed else HiddenReason.ZERO_WIDTH
    if code in {0x200B, 0x2060, 0xFEFF}:
        return HiddenReason.ZERO_WIDTH
    if 0x202A <= code <= 0x2069:
        return HiddenReason.DIRECTION
    if 0xE0000 <= code <= 0xE007F:
        return HiddenReason.TAGS
    if code >= 0xE0100:
        return None if before and _IDEOGRAPH.match(before) else HiddenReason.VARIATION
    varied = before and (before in _VARIED or _is_scripted(before)) and not 0xFE00 <= ord(before) <= 0xFE0F
    return None if varied else HiddenReason.VARIATION


def _is_scripted(sign: str) -> bool:
    """Tell a letter or mark beyond Latin, or a symbol: what joiners and selectors can belong to."""
    code = ord(unicodedata.normalize("NFC", sign)[-1]) if sign else 0
    if code < 0x370 or 0x1E00 <= code <= 0x1EFF or 0x2000 <= code <= 0x206F or 0xE0000 <= code <= 0xE01EF:
        return False
    return _HIDING.match(sign) is None or 0xFE00 <= code <= 0xFE0F


def unaccepted_changes(insertions: int = 0, deletions: int = 0, moves: int = 0) -> str:
    """Say how many tracked changes nobody has accepted, and how the text was read."""
    counts = ((insertions, "insertion"), (deletions, "deletion"), (moves, "move"))
    changes_in_words = ", ".join(how_many(count, what) for count, what in counts if count)
    return f"Tracked changes are not accepted yet ({changes_in_words}): the text was read as if they were."


def comments_left_out(count: int) -> str:
    """Say how many comments stand beside the text."""
    return f"{how_many(count, 'comment was', 'comments were')} left out."


class MarkedWords:
    """Gather the words between marks that are named: what a comment is about, or what came.

    The first pieces of each are kept, which find it, so that any number of open marks costs no more.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[str]] = {}
        self._filling: dict[str, list[str]] = {}

    def open(self, name: str) -> None:
        """Begin to gather."""
        self._open[name] = self._filling[name] = []

    def add(self, words: str | None) -> None:
        """Add words to all that is open."""
        if not words:
            return
        full: list[str] = []
        words = words[: 2 * _LONGEST_WORDS]  # once, so that any number of marks hold the same piece
        for name, pieces in self._filling.items():
            pieces.append(words)
            full += [name] if len(pieces) == _MOST_PIECES else []
        for name in full:
            del self._filling[name]

    def close(self, name: str) -> str:
        """End it; returns its words, none where nothing of that name is open."""
        self._filling.pop(name, None)
        return "".join(self._open.pop(name, ()))


def remark(place: str, author: str | None, kind: str, words: str = "", said: str = "") -> str:
    """Tell a comment or a change in a line.

    Args:
        place: where it stands, empty where that is not known.
        author: who made it.
        kind: what it is.
        words: the words of the text that it is about.
        said: what it says.

    Returns:
        "page 3, J. Doe, strike-out “24 V”: not any more"
    """
    words, said = " ".join(words.split()), " ".join(said.split())
    words = f"{words[:_LONGEST_WORDS]}…" if len(words) > _LONGEST_WORDS else words
    line = ", ".join(filter(None, (place, author, f"{kind} “{words}”" if words else kind)))
    line = f"{line}: {said}" if said else line
    return f"{line[:_LONGEST_REMARK]}…" if len(line) > _LONGEST_REMARK else line


def noted(name: str, remarks: Sequence[str]) -> dict[str, str]:
    """Give remarks as metadata of a document, the first of them as far as they are kept; empty without any."""
    lengths = itertools.accumulate(len(each) + 3 for each in remarks)
    kept = sum(length <= _LONGEST for length in lengths)
    return {name: list_first(remarks, kept, " | ")} if remarks else {}
