"""Files of the old binary kind for tests, written byte by byte: OLE containers, Outlook messages, .xls workbooks."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SECTOR, _MINI, _CUT_OFF = 512, 64, 4096
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5


@dataclass(slots=True)
class _Entry:
    name: str
    kind: int
    data: bytes = b""
    sibling: int = _FREE
    child: int = _FREE
    start: int = _END
    size: int = 0

    def written(self) -> bytes:
        name = f"{self.name}\0".encode("utf-16-le")
        links = struct.pack("<3I", _FREE, self.sibling, self.child)
        place = struct.pack("<IQ", self.start, self.size)
        return name.ljust(64, b"\0") + struct.pack("<HBB", len(name), self.kind, 1) + links + b"\0" * 36 + place


def ole(streams: Mapping[str, bytes]) -> bytes:
    """Write an OLE container, no larger than one sector of FAT can hold; `folder/name` puts a stream into a storage."""
    entries = _entries(streams)
    fat = [_FAT]
    directory = -(-len(entries) // 4)
    _chain(fat, directory)
    mini_fat: list[int] = []
    mini = b""
    for entry in entries:
        if entry.kind == _STREAM and 0 < len(entry.data) < _CUT_OFF:
            entry.start = _chain(mini_fat, -(-len(entry.data) // _MINI))
            mini += _filled(entry.data, _MINI)
    body = b""
    table = struct.pack(f"<{len(mini_fat)}I", *mini_fat)
    table_start = _chain(fat, -(-len(table) // _SECTOR))
    body += _filled(table, _SECTOR, b"\xff")
    entries[0].start, entries[0].size = _chain(fat, -(-len(mini) // _SECTOR)), len(mini)
    body += _filled(mini, _SECTOR)
    for entry in entries:
        if entry.kind == _STREAM and len(entry.data) >= _CUT_OFF:
            entry.start = _chain(fat, -(-len(entry.data) // _SECTOR))
            body += _filled(entry.data, _SECTOR)
    assert len(fat) <= _SECTOR // 4, "too much for one sector of FAT"
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16
    header += struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<9I", 0, 1, 1, 0, _CUT_OFF, table_start, -(-len(table) // _SECTOR), _END, 0)
    header += struct.pack("<109I", 0, *[_FREE] * 108)
    sectors = struct.pack("<128I", *fat, *[_FREE] * (128 - len(fat)))
    return header + sectors + _filled(b"".join(entry.written() for entry in entries), _SECTOR) + body


def _entries(streams: Mapping[str, bytes]) -> list[_Entry]:
    """Lay out the directory: the root, the storages, the streams; those of one storage are chained as siblings."""
    folders = sorted({name.split("/")[0] for name in streams if "/" in name})
    entries = [_Entry("Root Entry", _ROOT), *(_Entry(folder, _STORAGE) for folder in folders)]
    within: dict[int, list[int]] = {0: list(range(1, len(folders) + 1))}
    for name, data in streams.items():
        folder, _, own = name.rpartition("/")
        within.setdefault(folders.index(folder) + 1 if folder else 0, []).append(len(entries))
        entries.append(_Entry(own, _STREAM, data, size=len(data)))
    for above, inside in within.items():
        if inside:
            entries[above].child = inside[0]
        for one, other in itertools.pairwise(inside):
            entries[one].sibling = other
    return entries


def _chain(fat: list[int], count: int) -> int:
    """Chain new sectors; returns the first one."""
    start = len(fat)
    fat.extend([*range(start + 1, start + count), _END] if count else [])
    return start if count else _END


def _filled(data: bytes, size: int, filler: bytes = b"\0") -> bytes:
    return data.ljust(-(-len(data) // size) * size, filler)


# ---- Outlook --------------------------------------------------------------------------------------------------------


def text_property(tag: str, text: str, *, encoding: str = "utf-16-le") -> tuple[str, bytes]:
    """Name and write a text property; every encoding but UTF-16 makes one of the old kind."""
    kind = "001F" if encoding == "utf-16-le" else "001E"
    return f"__substg1.0_{tag}{kind}", text.encode(encoding)


def message(
    *streams: tuple[str, bytes], fixed: Mapping[tuple[int, int], int] | None = None, attachments: Sequence[str] = ()
) -> bytes:
    """Write an Outlook message of properties; those of a fixed length by tag and type; attachments by their names."""
    properties = b"\0" * 32
    for (tag, kind), value in (fixed or {}).items():
        properties += struct.pack("<IIQ", tag << 16 | kind, 6, value)
    attached = {
        f"__attach_version1.0_#{number:08d}/{stream}": data
        for number, name in enumerate(attachments)
        for stream, data in [text_property("3707", name)]
    }
    return ole({"__properties_version1.0": properties, **dict(streams), **attached})


# ---- .xls -----------------------------------------------------------------------------------------------------------


def xls(
    sheets: Mapping[str, Sequence[Sequence[str | float]]],
    *,
    hidden: str = "",
    encrypted: bool = False,
    row: int = -1,
    column: int = -1,
    note: str = "",
) -> bytes:
    """Write an .xls workbook (BIFF8) of texts and numbers; a sheet, a row and a column from 0 may be hidden.

    `note` is a note of J. Doe on the first cell of each sheet.
    """
    begin = _record(0x809, struct.pack("<HHHHII", 0x600, 0x5, 0x0DBB, 0x07CC, 0, 6))
    lock = _record(0x2F, struct.pack("<HHH", 1, 1, 1) + b"\1" * 48) if encrypted else b""
    names = [struct.pack("<BB", len(name), 0) + name.encode("latin-1") for name in sheets]
    place = len(begin) + len(lock) + sum(4 + 6 + len(name) for name in names) + 4
    bound, bodies = b"", b""
    for (title, rows), name in zip(sheets.items(), names, strict=True):
        bound += _record(0x85, struct.pack("<IBB", place + len(bodies), 1 if title == hidden else 0, 0) + name)
        bodies += _sheet(rows, row, column, note)
    return ole({"Workbook": (begin + lock + bound + _record(0x0A, b"") + bodies).ljust(_CUT_OFF, b"\0")})


def _sheet(rows: Sequence[Sequence[str | float]], hidden_row: int, hidden_column: int, note: str) -> bytes:
    written = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0x0DBB, 0x07CC, 0, 6))
    if hidden_column >= 0:
        written += _record(0x7D, struct.pack("<HHHHHH", hidden_column, hidden_column, 2304, 0, 1, 0))
    if hidden_row >= 0:
        written += _record(0x208, struct.pack("<HHHHHHI", hidden_row, 0, 9, 255, 0, 0, 0x20))
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if isinstance(value, str):
                text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
                written += _record(0x204, struct.pack("<HHH", y, x, 0) + text)
            else:
                written += _record(0x203, struct.pack("<HHHd", y, x, 0, value))
    return written + (_note(note) if note else b"") + _record(0x0A, b"")


def _note(words: str) -> bytes:
    """Write a note on the first cell: its box, the text in it, and the link from the cell."""
    box = struct.pack("<HHHHHIII", 0x15, 18, 0x19, 1, 0x4011, 0, 0, 0) + struct.pack("<HH", 0, 0)
    text = struct.pack("<HH6xHHI", 0x212, 0, len(words), 16, 0)
    runs = struct.pack("<HHIHHI", 0, 0, 0, len(words), 0, 0)
    author = struct.pack("<HB", 6, 0) + b"J. Doe\0"
    parts = _record(0x1B6, text) + _record(0x3C, b"\0" + words.encode("latin-1")) + _record(0x3C, runs)
    return _record(0x5D, box) + parts + _record(0x1C, struct.pack("<HHHH", 0, 0, 0, 1) + author)


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data
