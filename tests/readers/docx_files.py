"""Small Word documents for tests, written part by part so that each test says what is in its file."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.in_process import HERE

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_NAMES = (
    f'xmlns:w="{W}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="urn:schemas-microsoft-com:vml"'
)
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_HEADINGS = "".join(
    f'<w:style w:type="paragraph" w:styleId="H{n}"><w:name w:val="heading {n}"/><w:pPr>'
    f'<w:numPr><w:ilvl w:val="{n - 1}"/><w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="{n - 1}"/></w:pPr></w:style>'
    for n in range(1, 5)
)
_LEVELS = "".join(
    f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    f'<w:lvlText w:val="{".".join(f"%{k}" for k in range(1, n + 2))}"/></w:lvl>'
    for n in range(6)
)
HEADING_LIST = f'<w:abstractNum w:abstractNumId="1">{_LEVELS}</w:abstractNum>'


def run(text: str, properties: str = "") -> str:
    """Write one run."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(content: str, style_id: str = "", properties: str = "") -> str:
    """Write one paragraph; plain text becomes a run."""
    inner = content if content.startswith("<") or not content else run(content)
    named = f'<w:pStyle w:val="{style_id}"/>' if style_id else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{inner}</w:p>"


def heading(level: int, text: str) -> str:
    """Write a heading that is numbered by its style."""
    return p(text, f"H{level}")


def numbered(text: str, number_id: int, level: int = 0) -> str:
    """Write a paragraph of a list."""
    return p(text, "", f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number_id}"/></w:numPr>')


def table(*rows: str) -> str:
    """Write a table of rows `<w:tr>`."""
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def style(style_id: str, name: str, properties: str = "", based_on: str = "") -> str:
    """Write one paragraph style."""
    parent = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return (
        f'<w:style w:type="paragraph" w:styleId="{style_id}"><w:name w:val="{name}"/>{parent}'
        f"<w:pPr>{properties}</w:pPr></w:style>"
    )


def docx_bytes(
    body: str,
    *,
    styles: str = "",
    abstracts: str = "",
    numbers: str = "",
    parts: Mapping[str, str] | None = None,
    namespace: str = W,
) -> bytes:
    """Write a document: its body, styles, numbering, and further parts by name.

    Args:
        body: what stands in the body.
        styles: styles beside H1 to H4, which are headings of list 1.
        abstracts: abstract lists beside number 1. numbers: lists beside 1.
        parts: further parts, or parts in place of these.
        namespace: the main namespace.
    """
    written = {
        "word/document.xml": f"<w:document {_NAMES}><w:body>{body}<w:sectPr/></w:body></w:document>",
        "word/styles.xml": f'<w:styles xmlns:w="{W}">{_HEADINGS}{styles}</w:styles>',
        "word/numbering.xml": f'<w:numbering xmlns:w="{W}">{HEADING_LIST}{abstracts}'
        f'<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>{numbers}</w:numbering>',
        **(parts or {}),
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in written.items():
            archive.writestr(name, text.replace(W, namespace))
    return target.getvalue()


def relations(*entries: tuple[str, str, str]) -> dict[str, str]:
    """Write the main part's relations: id, last word of the type, target (external where it has a scheme)."""
    base = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    lines = "".join(
        f'<Relationship Id="{key}" Type="{base}{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if ":" in target else "/>")
        for key, kind, target in entries
    )
    return {"word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{lines}</Relationships>'}


def content_item(data: bytes, name: str = "sample.docx", media_type: str = "application/octet-stream") -> SourceItem:
    """Make a source item of bytes in memory."""

    def opened() -> BinaryIO:
        return io.BytesIO(data)

    return SourceItem(f"/made/{name}", name, media_type, len(data), hashlib.sha256(data).hexdigest(), opened)


def file_item(path: Path) -> SourceItem:
    """Make a source item of a file."""
    return content_item(path.read_bytes(), path.name)


def bookmark(name: str, content: str) -> str:
    """Enclose content in a bookmark."""
    return f'<w:bookmarkStart w:id="1" w:name="{name}"/>{content}<w:bookmarkEnd w:id="1"/>'


def read_docx(body: str, *, styles: str = "", abstracts: str = "", numbers: str = "", **parts: str) -> Document:
    """Write a document and read it; further parts by name with "__" for "/" and without ".xml"."""
    named = {f"{name.replace('__', '/')}.xml": text for name, text in parts.items()}
    data = docx_bytes(body, styles=styles, abstracts=abstracts, numbers=numbers, parts=named)
    item = content_item(data)
    reader = DocxReader(sandbox=HERE)
    reader.check(item)
    return reader.read(item)
