"""Decode the bytes of a text file, whatever its encoding, with a warning if the encoding was guessed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from knowledge_mcp.readers.shared.containers import foreign_in, mislabelled
from knowledge_mcp.support.charsets import decoded
from knowledge_mcp.support.sandbox_worker import Refusal

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"(?:coding|charset|encoding)\s*[:=]\s*[\"']?([A-Za-z][\w.-]{1,30})")
_HEAD = 1024
_SAMPLE = 64 * 1024
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_C1 = re.compile("[\x80-\x84\x86-\x9f]")
_RUN_OF_RETURNS = re.compile("(?<!\r)\r++\n")


class NotTextError(ValueError):
    """The bytes are not text in any known encoding."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text.

    Attributes:
        text: lines end with a line feed, at the same places as in the file; no NUL.
        encoding: the name of its encoding.
        warning: why characters may be wrong; empty if the encoding is certain.
    """

    text: str
    encoding: str
    warning: str = ""


def decode_text(data: bytes, *, keep_returns: bool = False) -> DecodedText:
    """Decode a file's bytes: by byte order mark, as UTF-8, by declaration, as UTF-16 without a mark, else by guess.

    Args:
        data: the whole file.
        keep_returns: leave carriage returns within lines in the text, for source code, which is quoted exactly.

    Raises:
        NotTextError: it is binary, or text in an unknown encoding.
    """
    found = _decoded(data)
    return replace(found, text=_clean(found.text, "\r" if keep_returns else " "))


def _decoded(data: bytes) -> DecodedText:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _try(data, "utf-8-sig" if encoding == "utf-8" else encoding)
            if text is None:
                raise NotTextError(f"It is marked as {encoding.upper()} but is not {encoding.upper()}.")
            return DecodedText(text, encoding)
    wide = _wide(data)
    if wide:
        text = _try(data, wide)
        if text is not None:
            return DecodedText(text, wide)
    text = _try(data, "utf-8")
    if text is not None and not (b"\x00" in data[:_HEAD] and _is_binary(data)):
        return DecodedText(text, "utf-8")
    if b"\x00" in data[:_HEAD] or _is_binary(data):
        raise NotTextError("It is binary.")
    return _guess(data)


def _is_binary(data: bytes) -> bool:
    """Return whether it is binary; text may contain a stray control character."""
    return len(_CONTROLS.findall(data[:_SAMPLE])) > 0.01 * len(data[:_SAMPLE])


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes) -> str:
    """Return UTF-16 with its byte order if every other byte of the head is zero, as in western text, else ""."""
    head = data[: _HEAD - _HEAD % 2]
    if len(head) < 4 or len(data) % 2:
        return ""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd < 0.05 * half else ""


def _guess(data: bytes) -> DecodedText:
    declared = _DECLARED.search(data[:_HEAD])
    if declared is not None:
        result = decoded(data, declared.group(1).decode("ascii"))
        if result is not None:
            return DecodedText(result[0], result[1])
    name = _detected(data)
    text = _try(data, name) if name else None
    if name is None or text is None or len(_C1.findall(text)) > 0.01 * len(text):
        raise NotTextError("Its encoding is unknown.")
    warning = f"The file is not UTF-8 and does not state its encoding; it was read as {name}, so some characters "
    return DecodedText(text, name, warning + "may be wrong.")


def _detected(data: bytes) -> str | None:
    """Return the likely encoding; a western one, which only accented letters show, if nothing else is likely."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252" if _try(data, "cp1252") is not None else "latin-1"
    best = from_bytes(data[:_SAMPLE], cp_isolation=[*_IN_PAIRS, *_SINGLE]).best()
    if best is None or (best.encoding in _IN_PAIRS and _stand_alone(data[:_SAMPLE])):
        return "cp1252" if _try(data, "cp1252") is not None else None
    is_western = best.encoding in _WESTERN or (best.encoding == "mac_roman" and _is_lower_case(data[:_SAMPLE]))
    return "cp1252" if is_western and _try(data, "cp1252") is not None else best.encoding


_IN_PAIRS = ("big5hkscs", "cp932", "cp949", "euc_jp", "gb18030", "iso2022_jp")
_SINGLE = (
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp852 cp866 cp874 iso8859_2 iso8859_5"
    " iso8859_7 iso8859_15 koi8_r koi8_u mac_roman"
).split()
"""Candidates: the encodings of the web, of MS-DOS and of old Macs. Those of mainframes also fit texts with few letters.
"""
_WESTERN = frozenset("cp1250 cp1252 cp1254 cp1257 iso8859_15 cp437 cp850".split())


_FOREIGN = re.compile(rb"[\x80-\xff]+")
_ACCENTED = re.compile(rb"[\xc0-\xff\x80\x85\x91-\x97\xa0\xa3\xa7\xa9\xae\xb0-\xb3\xb5\xbd]")
_LOWER_CASE = re.compile(rb"[\xdf-\xff]")


def _stand_alone(data: bytes) -> bool:
    """Return whether non-ASCII bytes are single accented letters.

    Bytes of words in another script are next to each other.
    """
    runs = _FOREIGN.findall(data)
    foreign = b"".join(runs)
    accented = len(_ACCENTED.findall(foreign))
    return len(foreign) < 0.3 * len(data) and len(foreign) < 2 * len(runs) and accented > 0.6 * len(foreign)


def _is_lower_case(data: bytes) -> bool:
    """Return whether most non-ASCII bytes are small letters of Latin-1: in Mac Roman they are accented capitals."""
    return 2 * len(_LOWER_CASE.findall(data)) > len(b"".join(_FOREIGN.findall(data)))


def _clean(text: str, within_line: str) -> str:
    """Convert line ends to line feeds without moving a line; lone returns end lines only if nothing else does.

    Args:
        text: as decoded.
        within_line: what lone returns become otherwise.
    """
    if "\r" in text:
        text = _RUN_OF_RETURNS.sub("\n", text) if "\n" in text else text.replace("\r", "\n")
        text = text.replace("\r", within_line)
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    return text.removeprefix("\ufeff").encode("utf-8", "replace").decode("utf-8")  # without lone surrogates


# ---- files, in the child process ------------------------------------------------------------------------------------

MOST_BYTES = 64_000_000
"""Default for the largest text file, in bytes."""


def bytes_of(path: str, kind: str, *, markup: bool = False, most: int = MOST_BYTES) -> bytes:
    """Return a file's bytes; `markup` also refuses web pages and XML.

    Raises:
        Refusal: empty, too large, or mislabelled.
    """
    with Path(path).open("rb") as stream:
        what = foreign_in(stream, markup=markup)
    if what:
        raise mislabelled(kind, what)
    if Path(path).stat().st_size > most:
        raise Refusal("too_large", f"It contains more than {most // 1_000_000} MB.", suggestion="Split it.")
    return Path(path).read_bytes()


def text_of(path: str, kind: str, *, most: int = MOST_BYTES) -> tuple[str, str]:
    """Return a text file's text, and a warning if its encoding was guessed.

    Raises:
        Refusal: empty, too large, mislabelled, or in an unknown encoding.
    """
    data = bytes_of(path, kind, most=most)
    try:
        found = decode_text(data)
    except NotTextError as error:
        raise Refusal(
            "corrupted", f"It is not {kind}: {error}", suggestion="Save it as UTF-8, or correct its extension."
        ) from error
    return found.text, found.warning


def nonblank_text_of(path: str, kind: str, *, most: int = MOST_BYTES) -> tuple[str, str]:
    """Like `text_of`, for a file that must not be blank.

    Raises:
        Refusal: as `text_of`, and empty if there are only blanks.
    """
    text, warning = text_of(path, kind, most=most)
    if not text.strip():
        raise Refusal("empty", "The file has no text.")
    return text, warning
