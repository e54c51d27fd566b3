"""Which files of a repository a search is confined to: by language, and by path."""

from __future__ import annotations

import re
from fnmatch import translate

from knowledge_mcp.model.collection import DocumentRecord

__all__ = ["glob_matches", "has_language"]

_ALIASES = {
    "c#": "csharp", "c++": "cpp", "golang": "go", "js": "javascript", "md": "markdown", "py": "python", "rb": "ruby",
    "rs": "rust", "sh": "bash", "shell": "bash", "ts": "typescript", "yml": "yaml",
}  # fmt: skip


def has_language(record: DocumentRecord, wanted: str) -> bool:
    """Tell whether a file is in a language, named in lower case or by one of its usual short names."""
    labels = dict(record.metadata)
    language = labels.get("language", "").casefold()
    known = _ALIASES.get(wanted, wanted)
    return language == known or (known == "typescript" and language == "tsx") or labels.get("extension") == f".{wanted}"


def glob_matches(path: str, pattern: str) -> bool:
    """Tell whether a path fits a glob: `*` within a folder, `**` across folders; without a slash the name is matched.

    A pattern that names a folder fits all below it.
    """
    pattern = pattern.strip().removeprefix("./").removeprefix("/")
    if pattern.endswith("/"):
        pattern += "**"
    if "/" not in pattern and "**" not in pattern:
        return re.match(translate(pattern), path.rpartition("/")[2]) is not None or path.startswith(f"{pattern}/")
    if not any(sign in pattern for sign in "*?["):
        return path == pattern or path.startswith(f"{pattern}/")
    return re.fullmatch(_expression(pattern), path) is not None


def _expression(pattern: str) -> str:
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            parts.append("(?:.*/)?")
            place += 3
        elif pattern.startswith("**", place):
            parts.append(".*")
            place += 2
        elif pattern[place] == "*":
            parts.append("[^/]*")
            place += 1
        else:
            parts.append("[^/]" if pattern[place] == "?" else re.escape(pattern[place]))
            place += 1
    return "".join(parts)
