"""Child process: rewrite Office files in the strict dialect with the names that python-pptx and openpyxl know.

The strict dialect of ISO/IEC 29500 has the same content in other namespaces. A slide show or template (`.ppsx`,
`.potx` with another extension) is treated as a presentation.
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
    """Rewrite a file in the usual dialect; None if it already is.

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
    """Copy an archive with some of its members replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as written:
        for info in archive.infolist():
            if not info.is_dir():
                written.writestr(info.filename, members.get(info.filename) or archive.read(info))
    target.seek(0)
    return target
