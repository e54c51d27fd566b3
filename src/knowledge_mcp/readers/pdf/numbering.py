"""Which sequence of numbered lines is the numbering of a document: the best chain of legal successors.

Among all lines that begin with a number are list items, table rows, quoted clauses and headings. Only headings follow
each other as a numbering does: 5.3 is followed by 5.3.1, 5.4 or 6, the last clause by Annex A. The chain with the
highest score wins; a break in it costs more than a weak link brings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["NumberKey", "best_chain", "follows", "number_key"]

NumberKey = tuple[int, ...]
"""A clause number as integers; a leading letter counts from 1001, a leading roman numeral from 2001."""

_LETTERS, _ROMANS = 1000, 2000
_ANY = 99
_WINDOW = 300
_BREAK = 3.5
_LATE_START = 3.0
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def number_key(number: str, keyword: str = "") -> NumberKey | None:
    """Turn "5.3.1", "A.2" or "IV" into a key; None where a part is beyond what clauses are numbered with."""
    parts: list[int] = []
    for index, part in enumerate(number.split(".")):
        value = _part(part, first=index == 0, roman=keyword == "part")
        if value is None or (index > 0 and value > 199):
            return None
        parts.append(value)
    return tuple(parts) if len(parts) <= 9 else None


def _part(part: str, *, first: bool, roman: bool) -> int | None:
    if part.isdigit():
        return int(part)
    if match := re.fullmatch(r"(\d+)([a-z])", part):
        return int(match.group(1))
    if not part.isalpha():
        return None
    if first and len(part) == 1 and part.isupper() and not (roman and part in _ROMAN_VALUES):
        return _LETTERS + ord(part) - ord("A") + 1
    if first and all(letter in _ROMAN_VALUES for letter in part):
        return _ROMANS + _roman(part)
    if len(part) > 1:
        return None
    return _ANY if part == "x" else ord(part.lower()) - ord("a") + 1


def _roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def follows(one: NumberKey, other: NumberKey) -> bool:
    """Tell whether `other` may come right after `one` in a numbered document; up to two numbers may be missing.

    An "x" ("5.3.x") may come after anything of its own clause.
    """
    if other <= one:
        return False
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    if same == len(one):
        return len(other) == len(one) + 1 and other[-1] in {0, 1, 2, _ANY}
    step = other[same] - one[same]
    if len(other) == same + 2:
        return step == 1 and other[same + 1] == 1
    if len(other) != same + 1:
        return False
    if one[same] < _LETTERS <= other[same]:
        return other[same] in {_LETTERS + 1, _LETTERS + 2, _ROMANS + 1}
    return 1 <= step <= 3 or other[same] == _ANY


def best_chain(keys: Sequence[NumberKey], scores: Sequence[float]) -> list[int]:
    """Pick the positions of the chain with the highest sum of scores, breaks and late starts charged."""
    if not keys:
        return []
    best = [0.0] * len(keys)
    before = [-1] * len(keys)
    for index, key in enumerate(keys):
        score = scores[index]
        best[index] = score if len(key) == 1 or index < 30 else score - _LATE_START
        for earlier in range(index - 1, max(0, index - _WINDOW) - 1, -1):
            gain = best[earlier] + score
            if gain <= best[index]:
                continue
            previous = keys[earlier]
            if not follows(previous, key):
                if key <= previous and not previous[0] >= _LETTERS > key[0]:
                    continue
                gain -= _BREAK
            if gain > best[index]:
                best[index], before[index] = gain, earlier
    at = max(range(len(keys)), key=best.__getitem__)
    chain: list[int] = []
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]
