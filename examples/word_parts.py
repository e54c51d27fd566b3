"""The fixed parts of the example handbook's package, written out so that nothing varies: styles, lists, properties."""

from __future__ import annotations

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"

_CONTENT_TYPES = f"""{_HEAD}<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="{_MAIN_TYPE}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{_MAIN_TYPE}.styles+xml"/>
<Override PartName="/word/numbering.xml" ContentType="{_MAIN_TYPE}.numbering+xml"/>
<Override PartName="/word/footer1.xml" ContentType="{_MAIN_TYPE}.footer+xml"/>
<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>
<Override PartName="/docProps/custom.xml" \
ContentType="application/vnd.openxmlformats-officedocument.custom-properties+xml"/>
</Types>"""

_ROOT_RELATIONS = f"""{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>
<Relationship Id="r2" Type="{_PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>
<Relationship Id="r3" Type="{_OFFICE}/custom-properties" Target="docProps/custom.xml"/>
</Relationships>"""

_DOCUMENT_RELATIONS = f"""{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="r1" Type="{_OFFICE}/styles" Target="styles.xml"/>
<Relationship Id="r2" Type="{_OFFICE}/numbering" Target="numbering.xml"/>
<Relationship Id="r3" Type="{_OFFICE}/footer" Target="footer1.xml"/>
</Relationships>"""

_FOOTER = f"""{_HEAD}<w:ftr xmlns:w="{W}"><w:p><w:pPr><w:jc w:val="center"/></w:pPr>
<w:r><w:t xml:space="preserve">FSC 4110:2025, page </w:t></w:r>
<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p></w:ftr>"""

_CUSTOM = f"""{_HEAD}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" \
xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes">
<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="2" name="document_id"><vt:lpwstr>fsc-4110</vt:lpwstr>\
</property>
<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="3" name="document_type"><vt:lpwstr>handbook</vt:lpwstr>\
</property>
<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="4" name="edition"><vt:lpwstr>1</vt:lpwstr></property>
</Properties>"""


def package_parts(title: str) -> dict[str, str]:
    """Return all parts but the document itself, by name in the package."""
    return {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _ROOT_RELATIONS,
        "docProps/core.xml": _core(title),
        "docProps/custom.xml": _CUSTOM,
        "word/_rels/document.xml.rels": _DOCUMENT_RELATIONS,
        "word/styles.xml": _styles(),
        "word/numbering.xml": _numbering(),
        "word/footer1.xml": _FOOTER,
    }


def _core(title: str) -> str:
    return f"""{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" \
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<dc:title>{title}</dc:title><dc:creator>Field Stations Circle</dc:creator><dc:language>en</dc:language>
<cp:revision>1</cp:revision><dcterms:created xsi:type="dcterms:W3CDTF">2025-04-28T09:00:00Z</dcterms:created>
<dcterms:modified xsi:type="dcterms:W3CDTF">2025-04-28T09:00:00Z</dcterms:modified></cp:coreProperties>"""


def _style(style_id: str, name: str, paragraph: str = "", run: str = "", based_on: str = "Normal") -> str:
    parent = f'<w:basedOn w:val="{based_on}"/>' if based_on else "<w:qFormat/>"
    default = ' w:default="1"' if style_id == "Normal" else ""
    return (
        f'<w:style w:type="paragraph"{default} w:styleId="{style_id}"><w:name w:val="{name}"/>{parent}'
        f"<w:pPr>{paragraph}</w:pPr><w:rPr>{run}</w:rPr></w:style>"
    )


def _styles() -> str:
    spacing = '<w:spacing w:before="{}" w:after="{}"/>'
    styles = [
        _style("Normal", "Normal", spacing.format(0, 120), '<w:sz w:val="22"/>', based_on=""),
        _style("Title", "Title", spacing.format(1200, 240), '<w:b/><w:sz w:val="52"/>'),
        _style("Subtitle", "Subtitle", spacing.format(0, 240), '<w:sz w:val="28"/>'),
        _style("Caption", "caption", '<w:keepNext/><w:jc w:val="center"/>', '<w:b/><w:sz w:val="20"/>'),
        _style("Note", "Note", '<w:ind w:left="567"/>', '<w:sz w:val="20"/>'),
        _style("Example", "Example", '<w:ind w:left="567"/>', '<w:sz w:val="20"/>'),
        _style("ListBullet", "List Bullet", '<w:numPr><w:numId w:val="3"/></w:numPr>'),
        _style("TableText", "Table Text", spacing.format(20, 20), '<w:sz w:val="18"/>'),
    ]
    for level in range(1, 5):
        number = f'<w:numPr><w:ilvl w:val="{level - 1}"/><w:numId w:val="1"/></w:numPr>'
        outline = f'<w:outlineLvl w:val="{level - 1}"/>'
        size = f'<w:b/><w:sz w:val="{36 - 4 * level}"/>'
        paragraph = f"<w:keepNext/>{number}{spacing.format(320 - 40 * level, 120)}{outline}"
        styles.append(_style(f"Heading{level}", f"heading {level}", paragraph, size))
    annex = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr><w:outlineLvl w:val="0"/>'
    styles.append(_style("AnnexHeading", "Annex Heading", annex, based_on="Heading1"))
    return f'{_HEAD}<w:styles xmlns:w="{W}">{"".join(styles)}</w:styles>'


def _level(index: int, number_format: str, text: str, style: str = "") -> str:
    link = f'<w:pStyle w:val="{style}"/>' if style else ""
    indent = 0 if style.startswith(("Heading", "Annex")) else 567 * (index + 1)
    return (
        f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{number_format}"/>{link}'
        f'<w:lvlText w:val="{text}"/><w:pPr><w:ind w:left="{indent}" w:hanging="{min(indent, 400)}"/></w:pPr></w:lvl>'
    )


def _numbering() -> str:
    headings = [_level(i, "decimal", ".".join(f"%{k}" for k in range(1, i + 2)), f"Heading{i + 1}") for i in range(4)]
    definitions = [
        headings,
        [_level(0, "upperLetter", "Annex %1", "AnnexHeading")],
        [_level(0, "bullet", "•", "ListBullet")],
        [_level(0, "decimal", "%1)")],
    ]
    abstracts = "".join(
        f'<w:abstractNum w:abstractNumId="{index}"><w:multiLevelType w:val="multilevel"/>'
        f"{''.join(levels)}</w:abstractNum>"
        for index, levels in enumerate(definitions, start=1)
    )
    # the numbered lists of the text are instances 10, 11, ... of the last definition, each starting again
    lists = [(number, number, False) for number in (1, 2, 3)] + [(number, 4, True) for number in range(10, 20)]
    numbers = "".join(
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="{abstract}"/>'
        + ('<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>' if restarts else "")
        + "</w:num>"
        for number, abstract, restarts in lists
    )
    return f'{_HEAD}<w:numbering xmlns:w="{W}">{abstracts}{numbers}</w:numbering>'
