"""Markdown bytes to text and frontmatter, before any Markdown is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import TypeAlias, cast

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem

__all__ = ["MAX_BYTES", "Frontmatter", "decode", "read_frontmatter", "read_source"]

Yaml: TypeAlias = "dict[object, Yaml] | list[Yaml] | str | int | float | bool | date | None"

MAX_BYTES = 64_000_000
MAX_FRONTMATTER_CHARACTERS = 100_000
MAX_ALIASES = 20
MAX_DEPTH = 6
MAX_VALUE = 4_000

_FRONTMATTER = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)(?:^|\n)(?:---(?:[ \t]+abstract)?|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_ALIAS = re.compile(r"(?:^|[\s,\[{:-])\*[A-Za-z0-9_-]+", re.MULTILINE)
_C1_CONTROLS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_OTHER_MAGICS = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive (a .docx?)"),
    (b"\xd0\xcf\x11\xe0", "an Office file"),
    (b"\x89PNG", "an image"),
    (b"{\\rtf", "an RTF document"),
    (b"\x1f\x8b", "a gzip archive"),
)


@dataclass(slots=True)
class Frontmatter:
    """Hold what stands between the dashes at a file's head.

    Attributes:
        values: flat text by lower-case key; lists joined with commas, nested keys with dots.
        lines: lines that it takes up, the dashes included; 0 where there is none or it could not be read.
        warnings: what was wrong with it.
    """

    values: dict[str, str] = field(default_factory=dict[str, str])
    lines: int = 0
    warnings: list[str] = field(default_factory=list[str])


def read_source(item: SourceItem) -> bytes:
    """Read all bytes of an item.

    Raises:
        UnreadableDocumentError: INACCESSIBLE, TOO_LARGE, EMPTY or MISLABELLED.
    """
    try:
        with item.open() as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableDocumentError(
            f"{item.name} cannot be opened.",
            reason=UnreadableReason.INACCESSIBLE,
            source=item.uri,
            details=error.strerror or type(error).__name__,
            suggestion="Check that the file is there and may be read.",
        ) from error
    if len(data) > MAX_BYTES:
        raise UnreadableDocumentError(
            f"{item.name} holds more than {MAX_BYTES // 1_000_000} MB, too much for one Markdown document.",
            reason=UnreadableReason.TOO_LARGE,
            source=item.uri,
            suggestion="Split it into several files.",
        )
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise UnreadableDocumentError(f"{item.name} is empty.", reason=UnreadableReason.EMPTY, source=item.uri)
    what = next((what for magic, what in _OTHER_MAGICS if data.startswith(magic)), None)
    if what is not None:
        raise UnreadableDocumentError(
            f"{item.name} is not Markdown but {what}.",
            reason=UnreadableReason.MISLABELLED,
            source=item.uri,
            suggestion="Give the file its right extension.",
        )
    return data


def decode(item: SourceItem, data: bytes) -> tuple[str, str | None]:
    """Decode UTF-8, UTF-8, UTF-16 and UTF-32 with a byte order mark, and Windows-1252 where nothing speaks against it.

    Returns:
        The text without mark, line ends LF; and a warning where the encoding had to be guessed.

    Raises:
        UnreadableDocumentError: CORRUPTED, no encoding fits.
    """
    warning = None
    try:
        text = data.decode(_marked(data) or "utf-8-sig")
    except UnicodeDecodeError as error:
        if not _is_plausible_cp1252(data):
            raise UnreadableDocumentError(
                f"{item.name} is not UTF-8 text.",
                reason=UnreadableReason.CORRUPTED,
                source=item.uri,
                details=f"byte {error.start}: {error.reason}",
                suggestion="Save it as UTF-8.",
            ) from error
        text = data.decode("cp1252")
        warning = "The file is not UTF-8; it was read as Windows-1252, so some characters may be wrong."
    return text.replace("\r\n", "\n").replace("\r", "\n"), warning


def _marked(data: bytes) -> str | None:
    """Name the encoding that a byte order mark tells; UTF-32's little-endian one begins like UTF-16's."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def _is_plausible_cp1252(data: bytes) -> bool:
    """Tell western text from binary data: no control characters, few letters beyond ASCII."""
    if _C1_CONTROLS.search(data) or re.search(rb"[\x00-\x08\x0b\x0e-\x1f]", data):
        return False
    high = sum(byte >= 0x80 for byte in data)
    return high <= len(data) * 0.2


def read_frontmatter(text: str) -> Frontmatter:
    """Read YAML frontmatter, safely: no tags, few aliases, bounded size.

    What cannot be read leaves a warning, and its lines are then part of the document's text, not lost.
    """
    from yaml import YAMLError, safe_load

    match = _FRONTMATTER.match(text)
    if match is None:
        if re.match(r"---[ \t]*\n[A-Za-z_]+:", text):
            return Frontmatter(warnings=["The frontmatter is not closed by a line of dashes; it is kept as text."])
        return Frontmatter()
    source = match.group("yaml")
    if len(source) > MAX_FRONTMATTER_CHARACTERS or len(_ALIAS.findall(source)) > MAX_ALIASES:
        return Frontmatter(warnings=["The frontmatter is too large or has too many aliases; it is kept as text."])
    try:
        loaded: object = safe_load(source)
    except (YAMLError, ValueError, RecursionError) as error:
        where = " ".join(str(error).split())[:200]
        return Frontmatter(warnings=[f"The frontmatter is no valid YAML and is kept as text: {where}"])
    if loaded is None:
        return Frontmatter(lines=match.group().count("\n"))
    if not isinstance(loaded, dict):
        return Frontmatter(warnings=["The frontmatter is not a list of keys and values; it is kept as text."])
    values: dict[str, str] = {}
    _flatten("", cast("Yaml", loaded), values, 0)
    return Frontmatter(values, lines=match.group().count("\n") or 1)


def _flatten(prefix: str, value: Yaml, values: dict[str, str], depth: int) -> None:
    """Write nested YAML as flat text."""
    if depth > MAX_DEPTH or value is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            name = str(key).strip().lower().replace("-", "_")
            _flatten(f"{prefix}.{name}" if prefix else name, inner, values, depth + 1)
    elif isinstance(value, list):
        plain = [str(entry) for entry in value if not isinstance(entry, dict | list)]
        if plain:
            values[prefix] = ", ".join(plain)[:MAX_VALUE]
        for position, entry in enumerate(entry for entry in value if isinstance(entry, dict | list)):
            _flatten(f"{prefix}.{position}", entry, values, depth + 1)
    else:
        values[prefix] = " ".join(str(value).split())[:MAX_VALUE]
