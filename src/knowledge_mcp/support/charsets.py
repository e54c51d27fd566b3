"""Text in the encoding that a label names, read as browsers read it: many labels are given to text of a wider one."""

from __future__ import annotations

import codecs

_MEANT = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
"""Encodings that hold the one of the label, and are meant by it (WHATWG Encoding Standard, section 4.2)."""


def codec_of(label: str) -> str:
    """Name the codec of an encoding of text; empty where there is none of this label."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    is_text = getattr(found, "_is_text_encoding", True) and found.name not in {"idna", "punycode", "unicode_escape"}
    return found.name if is_text else ""


def decoded(data: bytes, label: str) -> tuple[str, str] | None:
    """Decode text by a label; gives it with the name of its encoding, None where it is not in it."""
    name = codec_of(label)
    for each in filter(None, (_MEANT.get(name), name)):
        try:
            return data.decode(each), each
        except UnicodeError:
            continue
    return None
