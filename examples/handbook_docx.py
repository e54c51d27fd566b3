"""The example handbook as DOCX: computed numbers, captions and references by fields and bookmarks."""

from __future__ import annotations

import zipfile
from io import BytesIO
from xml.sax.saxutils import escape

from examples.source_text import Item, ItemKind, SourceText, split_references
from examples.word_parts import W, package_parts

TITLE = "FSC 4110:2025 Handbook for siting and maintenance of unattended weather stations"
_FIRST_LIST = 10
_EPOCH = (1980, 1, 1, 0, 0, 0)


def handbook_docx(source: SourceText) -> bytes:
    """Write the handbook; the same source gives the same bytes."""
    parts = package_parts(escape(TITLE))
    parts["word/document.xml"] = _Writer(source).document()
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return target.getvalue()


class _Writer:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._bookmarks = 0
        self._lists = 0

    def document(self) -> str:
        """Write the main part."""
        body = [
            _paragraph(_run("Handbook for siting and maintenance of unattended weather stations"), "Title"),
            _paragraph(_run("FSC 4110:2025, first edition, Field Stations Circle"), "Subtitle"),
        ]
        body += [self._item(item) for item in self._source.items]
        section = (
            '<w:sectPr><w:footerReference w:type="default" r:id="r3"/><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
        )
        office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        return (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            f'<w:document xmlns:w="{W}" xmlns:r="{office}"><w:body>{"".join(body)}{section}</w:body></w:document>'
        )

    def _item(self, item: Item) -> str:
        if item.kind is ItemKind.HEADING:
            return _paragraph(self._bookmarked(item.anchor, _run(item.text)), f"Heading{item.level}")
        if item.kind is ItemKind.ANNEX:
            return _paragraph(self._bookmarked(item.anchor, _run(item.text)), "AnnexHeading")
        if item.kind is ItemKind.LIST:
            return self._list(item)
        if item.kind is ItemKind.TABLE:
            return self._caption(item) + self._table(item.rows) + _paragraph("")
        if item.kind is ItemKind.FIGURE:
            return self._table([[box] for box in item.rows[0]]) + self._caption(item)
        styles = {ItemKind.NOTE: "Note", ItemKind.EXAMPLE: "Example"}
        return _paragraph(self._runs(item.text), styles.get(item.kind, ""))

    def _list(self, item: Item) -> str:
        if item.entries[0][0] == "-":
            return "".join(_paragraph(self._runs(text), "ListBullet") for _, text in item.entries)
        number = _FIRST_LIST + self._lists
        self._lists += 1
        place = f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{number}"/></w:numPr>'
        return "".join(_paragraph(self._runs(text), "", place) for _, text in item.entries)

    def _caption(self, item: Item) -> str:
        """Write a caption whose number is a SEQ field; the bookmark holds label and number only."""
        word, _, number = item.number.partition(" ")
        label = self._bookmarked(item.anchor, _run(f"{word} ") + _field(f"SEQ {word} \\* ARABIC", number))
        return _paragraph(label + _run(f" \N{EM DASH} {item.text}"), "Caption")

    def _table(self, rows: list[list[str]]) -> str:
        sides = "".join(f'<w:{side} w:val="single" w:sz="4"/>' for side in ("top", "left", "bottom", "right"))
        inner = '<w:insideH w:val="single" w:sz="4"/><w:insideV w:val="single" w:sz="4"/>'
        width = 9000 // max(len(row) for row in rows)
        grid = "".join(f'<w:gridCol w:w="{width}"/>' for _ in rows[0])
        lines: list[str] = []
        for index, row in enumerate(rows):
            header = "<w:trPr><w:tblHeader/></w:trPr>" if index == 0 and len(row) > 1 else ""
            settings = f'<w:tcPr><w:tcW w:w="{width}" w:type="dxa"/></w:tcPr>'
            texts = [_paragraph(self._runs(cell), "TableText") for cell in row]
            cells = "".join(f"<w:tc>{settings}{text}</w:tc>" for text in texts)
            lines.append(f"<w:tr>{header}{cells}</w:tr>")
        borders = f"<w:tblPr><w:tblBorders>{sides}{inner}</w:tblBorders></w:tblPr>"
        return f"<w:tbl>{borders}<w:tblGrid>{grid}</w:tblGrid>{''.join(lines)}</w:tbl>"

    def _runs(self, text: str) -> str:
        """Write a text whose references are REF fields: a number for clauses, the bookmarked words for captions."""
        out: list[str] = []
        for words, anchor in split_references(text):
            out.append(_run(words) if words else "")
            if anchor:
                printed = self._source.printed[anchor]
                switch = "\\h" if printed.startswith(("Table", "Figure")) else "\\r \\h"
                out.append(_field(f"REF {_bookmark_name(anchor)} {switch}", printed))
        return "".join(out)

    def _bookmarked(self, anchor: str, content: str) -> str:
        if not anchor:
            return content
        self._bookmarks += 1
        start = f'<w:bookmarkStart w:id="{self._bookmarks}" w:name="{_bookmark_name(anchor)}"/>'
        return f'{start}{content}<w:bookmarkEnd w:id="{self._bookmarks}"/>'


def _bookmark_name(anchor: str) -> str:
    return f"_Ref_{anchor.replace('-', '_')}"


def _paragraph(content: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{content}</w:p>"


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def _field(instruction: str, result: str) -> str:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    code = f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'
    return f"{mark('begin')}{code}{mark('separate')}{_run(result)}{mark('end')}"
