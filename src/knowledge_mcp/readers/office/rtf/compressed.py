"""Child process: the compressed rich text of Outlook messages (MS-OXRTFCP)."""

from __future__ import annotations

import struct

from knowledge_mcp.readers.shared.containers import corrupted

_PRESET = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor "
    rb"MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0" + b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""The beginning of the dictionary, which references may repeat."""
_DICTIONARY = 4096
_HEADER = struct.Struct("<II4sI")


def uncompressed(data: bytes) -> bytes:
    """Return rich text as it was before it was compressed; it is at most nine times as long.

    Raises:
        Refusal: it is damaged.
    """
    if len(data) < _HEADER.size:
        raise corrupted("an Outlook message", "its rich text has no header")
    _, size, kind, _ = _HEADER.unpack_from(data)
    if kind == b"MELA":
        return data[_HEADER.size : _HEADER.size + size]
    window = bytearray(_PRESET.ljust(_DICTIONARY, b"\0"))
    place, at, out = len(_PRESET), _HEADER.size, bytearray()
    while at < len(data):
        control, at = data[at], at + 1
        for bit in range(8):
            is_reference = control >> bit & 1
            if at + is_reference >= len(data):
                return bytes(out)
            start, length = 0, 1
            if is_reference:
                start, length = (data[at] << 4) | (data[at + 1] >> 4), (data[at + 1] & 0xF) + 2
                if start == place:  # the end
                    return bytes(out)
            for offset in range(length):
                byte = window[(start + offset) % _DICTIONARY] if is_reference else data[at]
                window[place] = byte
                place = (place + 1) % _DICTIONARY
                out.append(byte)
            at += 1 + is_reference
    return bytes(out)
