"""Hidden text in all formats: invisible characters, colours that look alike, counting; and the wording of remarks.

Of invisible characters, joiners are kept where a script or an emoji needs them, one variation selector is kept after a
character that has variants, and the tags of the three flags that have them. All others of these kinds are removed.
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
"""Names of the metadata that hold comments and unaccepted changes."""
_LONGEST, _LONGEST_REMARK, _LONGEST_WORDS = 1950, 300, 60
"""Characters to keep of all remarks, which leave room for the number of others within the 2,000 characters that a
service accepts for one value; of one remark, some sentences; and of the words that it is about, enough to find them.
"""
_MOST_PIECES = 50
"""Pieces of text (a run or a line) to keep of the words between two marks: more than `_LONGEST_WORDS` needs."""
_HEX = re.compile(r"#?([0-9A-Fa-f]{6})")
_NEAR = 8
"""Largest difference (of 255) of each channel up to which two colours look the same."""

_FLAGS = ("gbeng", "gbsct", "gbwls")
_TAGGED = ["".join(chr(0xE0000 + ord(sign)) for sign in name) + "\U000e007f" for name in _FLAGS]
_HIDING = re.compile(
    "\U0001f3f4(?:" + "|".join(_TAGGED) + ")"
    "|[\u200b-\u200d\u2060\ufeff\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VARIED = "0123456789#*\xa9\xae\u203c\u2049"


def is_alike(one: str | None, other: str | None) -> bool:
    """Return whether two colours (RRGGBB) look the same; False if one of them is unknown."""
    first, second = _HEX.fullmatch(one or ""), _HEX.fullmatch(other or "")
    if first is None or second is None:
        return False
    pairs = zip(bytes.fromhex(first.group(1)), bytes.fromhex(second.group(1)), strict=True)
    return all(abs(a - b) <= _NEAR for a, b in pairs)


def nonblank_length(text: str | None) -> int:
    """Count the non-blank characters, the measure of hidden text."""
    return len("".join(text.split())) if text else 0


def without_hidden(text: str, hidden: Counter[str] | None = None) -> str:
    """Remove invisible characters that may carry words, and count them by `HiddenReason`. Linear and idempotent."""
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
    """Return why a character is removed, None if it is needed."""
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
    """Return whether it is a letter or mark beyond Latin, or a symbol, to which joiners and selectors can belong."""
    code = ord(unicodedata.normalize("NFC", sign)[-1]) if sign else 0
    if code < 0x370 or 0x1E00 <= code <= 0x1EFF or 0x2000 <= code <= 0x206F or 0xE0000 <= code <= 0xE01EF:
        return False
    return _HIDING.match(sign) is None or 0xFE00 <= code <= 0xFE0F


def unaccepted_changes(insertions: int = 0, deletions: int = 0, moves: int = 0) -> str:
    """Return the warning about unaccepted tracked changes, and how the text was read."""
    counts = ((insertions, "insertion"), (deletions, "deletion"), (moves, "move"))
    changes_in_words = ", ".join(how_many(count, what) for count, what in counts if count)
    return f"Tracked changes are not accepted yet ({changes_in_words}): the text was read as if they were."


def comments_left_out(count: int) -> str:
    """Return the warning about comments that were left out."""
    return f"{how_many(count, 'comment was', 'comments were')} omitted."


class MarkedWords:
    """Collect the words between named marks: those that a comment is about, or that were inserted.

    Only the first pieces of each are kept, so that many open marks do not cost more.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[str]] = {}
        self._filling: dict[str, list[str]] = {}

    def open(self, name: str) -> None:
        """Begin to collect for a name."""
        self._open[name] = self._filling[name] = []

    def add(self, words: str | None) -> None:
        """Add words to all that are open."""
        if not words:
            return
        full: list[str] = []
        words = words[: 2 * _LONGEST_WORDS]  # only once, so that all marks share the same piece
        for name, pieces in self._filling.items():
            pieces.append(words)
            full += [name] if len(pieces) == _MOST_PIECES else []
        for name in full:
            del self._filling[name]

    def close(self, name: str) -> str:
        """Stop collecting for a name and return its words, "" if it is not open."""
        self._filling.pop(name, None)
        return "".join(self._open.pop(name, ()))


def remark(place: str, author: str | None, kind: str, words: str = "", text: str = "") -> str:
    """Write a comment or a change as one line.

    Args:
        place: where it is, empty if unknown.
        author: who made it.
        kind: what it is.
        words: the words of the text that it is about.
        text: of the comment.

    Returns:
        "page 3, J. Doe, strike-out “24 V”: not any more"
    """
    words, text = " ".join(words.split()), " ".join(text.split())
    words = f"{words[:_LONGEST_WORDS]}…" if len(words) > _LONGEST_WORDS else words
    line = ", ".join(filter(None, (place, author, f"{kind} “{words}”" if words else kind)))
    line = f"{line}: {text}" if text else line
    return f"{line[:_LONGEST_REMARK]}…" if len(line) > _LONGEST_REMARK else line


def noted(name: str, remarks: Sequence[str]) -> dict[str, str]:
    """Return remarks as metadata of a document, as many as fit; empty if there are none."""
    lengths = itertools.accumulate(len(each) + 3 for each in remarks)
    kept = sum(length <= _LONGEST for length in lengths)
    return {name: list_first(remarks, kept, " | ")} if remarks else {}
