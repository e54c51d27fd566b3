"""Rules of `.gitignore` files, each for its own folder and all below.

Patterns are read as Git reads them; a property test compares with Git itself. They come from untrusted repositories,
so no pattern may be slow: stars do not backtrack once the text after them was found.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

_MAX_BYTES = 256 * 1024
_MAX_LINES = 5000
_LONGEST = 1000
_MOST_DEPTHS = 3
"""Maximum runs of `**` in one pattern; each may take as many steps as a path has folders."""

_DEEP = re.compile(r"\*{2,}")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class Patterns:
    """Match relative paths against patterns as Git does; the last match decides.

    Args:
        lines: one pattern each; invalid ones are ignored.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        sound = [pattern for line in lines[:_MAX_LINES] if (pattern := _pattern(line)) is not None]
        runs = groupby(sound, key=lambda pattern: pattern[0])
        self._runs = [
            (negated, re.compile("|".join(f"(?:{one})" for _, one in run), re.DOTALL)) for negated, run in runs
        ]
        self._runs.reverse()

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return whether a path is matched (True), excepted (False), or not mentioned (None)."""
        subject = f"{path}/" if folder else path
        for negated, expression in self._runs:
            if expression.fullmatch(subject):
                return not negated
        return None


class IgnoreRules:
    """The rules of one folder and those above it.

    Args:
        root: base of the paths; its own rules and those of `.git/info/exclude` are read.
    """

    def __init__(self, root: Path) -> None:
        self._above = ""
        lines = [*_lines(root / ".git" / "info" / "exclude"), *_lines(root / ".gitignore")]
        self._layers: tuple[tuple[str, Patterns], ...] = (("", Patterns(lines)),) if lines else ()

    @classmethod
    def around(cls, root: Path) -> IgnoreRules:
        """Return the rules for a folder, including those of an enclosing repository that does not ignore it."""
        top = next((each for each in (root, *root.parents) if (each / ".git").exists()), root)
        rules = cls(top)
        folder = ""
        for part in root.relative_to(top).parts:
            folder = f"{folder}{part}"
            if rules.ignores(folder, folder=True):
                return cls(root)
            rules = rules.below(top, folder)
            folder += "/"
        rules = copy.copy(rules)
        rules._above = folder  # noqa: SLF001 - its own copy
        return rules

    def below(self, root: Path, folder: str) -> IgnoreRules:
        """Return the rules of a subfolder; this object if it adds none."""
        lines = _lines(root / folder / ".gitignore")
        if not lines:
            return self
        inner = copy.copy(self)
        inner._layers = (*self._layers, (f"{self._above}{folder}/", Patterns(lines)))  # noqa: SLF001 - its own copy
        return inner

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Return whether a path below the root is ignored; the innermost file that mentions it decides."""
        path = self._above + path
        for prefix, patterns in reversed(self._layers):
            verdict = patterns.verdict(path.removeprefix(prefix), folder=folder)
            if verdict is not None:
                return verdict
        return False


def _lines(path: Path) -> list[str]:
    """Read a file of patterns; links are not followed, and overlong files are not read."""
    try:
        if path.is_symlink() or not path.is_file():
            return []
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError:
        return []
    if len(data) > _MAX_BYTES:
        return []
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n")


def _pattern(line: str) -> tuple[bool, str] | None:
    """Parse one line: whether it negates, and its expression for paths where a folder ends with `/`."""
    line = _without_blanks(line.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > _LONGEST:
        return None
    negated = line.startswith("!")
    body = line[1:] if negated else line
    only_folders = body.endswith("/")
    body = body.removesuffix("/")
    body = _ESCAPED.sub(lambda match: "/" if match.group(1) == "/" else match.group(), body)
    anchored = "/" in body
    parts = ["**" if _DEEP.fullmatch(part) else part for part in body.removeprefix("/").split("/")]
    parts = [part for place, part in enumerate(parts) if place == 0 or part != "**" or parts[place - 1] != "**"]
    if not body or "" in parts or parts.count("**") > _MOST_DEPTHS:
        return None
    try:
        expression = "".join(_parts(parts))
    except ValueError:
        return None
    return negated, ("" if anchored else "(?:.*/)?") + expression + ("/" if only_folders else "/?")


def _without_blanks(line: str) -> str:
    """Remove unescaped whitespace at a line's end."""
    bare = line.rstrip(" ")
    if bare != line and bare.endswith("\\") and (len(bare) - len(bare.rstrip("\\"))) % 2:
        return f"{bare} "
    return bare


def _parts(parts: Sequence[str]) -> Iterator[str]:
    last = len(parts) - 1
    for place, part in enumerate(parts):
        if part == "**" and place == last:
            yield "[^/].*?" if place else ".*?"  # the slash at the end of a folder is not inside it
        elif part == "**":
            yield "(?:.*/)?"
        else:
            yield _component(part) + ("/" if place < last else "")


def _component(part: str) -> str:
    """Translate one path component: each star matches once, up to the first place where the text after it fits."""
    pieces: list[list[str]] = [[]]
    place = 0
    while place < len(part):
        sign = part[place]
        if sign == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append([])
            place += 1
        elif sign == "[":
            expression, place = _class(part, place)
            pieces[-1].append(expression)
        elif sign == "\\":
            if place + 1 >= len(part):
                raise ValueError(part)
            pieces[-1].append(re.escape(part[place + 1]))
            place += 2
        else:
            pieces[-1].append("[^/]" if sign == "?" else re.escape(sign))
            place += 1
    texts = ["".join(piece) for piece in pieces]
    if len(texts) == 1:
        return texts[0]
    middle = "".join(f"(?>[^/]*?{text})" for text in texts[1:-1])
    return f"{texts[0]}{middle}[^/]*{texts[-1]}"


def _class(part: str, place: int) -> tuple[str, int]:
    """Translate `[…]`; return the expression and the position after it."""
    place += 1
    negated = part[place : place + 1] in {"!", "^"}
    place += negated
    inside: list[str] = []
    first = True
    while True:
        if place >= len(part):
            raise ValueError(part)
        sign = part[place]
        if sign == "]" and not first:
            break
        first = False
        if part.startswith("[:", place):
            stop = part.find(":]", place)
            if stop < 0 or part[place + 2 : stop] not in _CLASSES:
                raise ValueError(part)
            inside.append(_CLASSES[part[place + 2 : stop]])
            place = stop + 2
            continue
        low, place = _sign(part, place)
        inside.append(re.escape(low))
        if part[place : place + 1] == "-" and part[place + 1 : place + 2] not in {"", "]"}:
            high, place = _sign(part, place + 1)
            if low <= high:
                inside.append(f"{re.escape(low)}-{re.escape(high)}")
    if not inside:
        return ("[^/]" if negated else "(?!)"), place + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(inside)}]", place + 1


def _sign(part: str, place: int) -> tuple[str, int]:
    """Read one character of a class, escaped or not."""
    if part[place] == "\\":
        place += 1
    if place >= len(part):
        raise ValueError(part)
    return part[place], place + 1
