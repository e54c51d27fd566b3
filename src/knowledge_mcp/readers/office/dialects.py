"""In the child: Office files whose names python-pptx and openpyxl do not know, under the usual ones.

The strict dialect of ISO/IEC 29500 says the same in other namespaces; a show or a template (`.ppsx`, `.potx` under
another name) is a presentation.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import BinaryIO

from knowledge_mcp.readers.shared.containers import member

_STRICT = b"http://purl.oclc.org/ooxml/"
_NAMES = {
    b"%s%s/" % (_STRICT, kind): b"http://schemas.openxmlformats.org/%s/2006/" % kind
    for kind in (b"officeDocument", b"drawingml", b"presentationml", b"spreadsheetml")
}
_TYPES = "[Content_Types].xml"
_MAIN = b"presentationml.presentation.main+xml"
_SHOWS = (b"presentationml.slideshow.main+xml", b"presentationml.template.main+xml")


def usual_names(archive: zipfile.ZipFile, main: str) -> BinaryIO | None:
    """Write a file with the names of the usual dialect; None where it has them.

    Args:
        archive: the file.
        main: the name of its main part.
    """
    types = member(archive, _TYPES) or b""
    is_strict = _STRICT in (member(archive, main) or b"")
    if not is_strict and not any(each in types for each in _SHOWS):
        return None
    for each in _SHOWS:
        types = types.replace(each, _MAIN)
    changed = {_TYPES: types}
    for name in archive.namelist() if is_strict else ():
        if name.endswith((".xml", ".rels")):
            data = changed.get(name) or archive.read(name)
            for strict, usual in _NAMES.items():
                data = data.replace(strict, usual)
            changed[name] = data
    return written_again(archive, changed)


def written_again(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> BinaryIO:
    """Write an archive again with some of its members changed."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as written:
        for info in archive.infolist():
            if not info.is_dir():
                written.writestr(info.filename, members.get(info.filename) or archive.read(info))
    target.seek(0)
    return target
