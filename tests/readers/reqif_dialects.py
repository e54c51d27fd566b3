"""ReqIF in the ways of several tools, made here: what each of them does that the others do not."""

from __future__ import annotations

from collections.abc import Sequence

_NAMESPACES = (
    'xmlns{0}="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:configuration="http://eclipse.org/rmf/pror/toolextensions/1.0"'
)


def _file(content: Sequence[str], *, prefix: str = "", extension: str = "") -> str:
    """Put the parts of a file together; `@` stands for the prefix of its elements."""
    names = _NAMESPACES.format(f":{prefix[:-1]}" if prefix else "")
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<@REQ-IF {names}>\n<@THE-HEADER><@REQ-IF-HEADER IDENTIFIER="_h">'
        "<@TITLE>Gate</@TITLE></@REQ-IF-HEADER></@THE-HEADER>\n<@CORE-CONTENT><@REQ-IF-CONTENT>\n"
        + "\n".join(content)
        + f"\n</@REQ-IF-CONTENT></@CORE-CONTENT>\n{extension}</@REQ-IF>\n"
    )
    return text.replace("@", prefix)


def _definition(kind: str, own: str, name: str, more: str = "") -> str:
    inside = f"<@TYPE><@DATATYPE-DEFINITION-{kind}-REF>d-{kind}</@DATATYPE-DEFINITION-{kind}-REF></@TYPE>{more}"
    return (
        f'<@ATTRIBUTE-DEFINITION-{kind} IDENTIFIER="{own}" LONG-NAME="{name}">{inside}</@ATTRIBUTE-DEFINITION-{kind}>'
    )


def _of(kind: str, own: str) -> str:
    return f"<@DEFINITION><@ATTRIBUTE-DEFINITION-{kind}-REF>{own}</@ATTRIBUTE-DEFINITION-{kind}-REF></@DEFINITION>"


def _plain(own: str, value: str, kind: str = "STRING") -> str:
    return f'<@ATTRIBUTE-VALUE-{kind} THE-VALUE="{value}">{_of(kind, own)}</@ATTRIBUTE-VALUE-{kind}>'


def _rich(own: str, content: str, more: str = "") -> str:
    return (
        f"<@ATTRIBUTE-VALUE-XHTML>{more}<@THE-VALUE>{content}</@THE-VALUE>{_of('XHTML', own)}</@ATTRIBUTE-VALUE-XHTML>"
    )


def _chosen(own: str, *values: str) -> str:
    references = "".join(f"<@ENUM-VALUE-REF>{each}</@ENUM-VALUE-REF>" for each in values)
    return f"<@ATTRIBUTE-VALUE-ENUMERATION>{_of('ENUMERATION', own)}<@VALUES>{references}</@VALUES></@ATTRIBUTE-VALUE-ENUMERATION>"  # noqa: E501 - tools write values on one line


def _object(own: str, *values: str, more: str = "", label: str = "") -> str:
    return (
        f'<@SPEC-OBJECT IDENTIFIER="{own}" LAST-CHANGE="2024-01-01T00:00:00Z"{label}>{more}<@TYPE>'
        f"<@SPEC-OBJECT-TYPE-REF>t</@SPEC-OBJECT-TYPE-REF></@TYPE><@VALUES>{''.join(values)}</@VALUES></@SPEC-OBJECT>"
    )


def _types(*definitions: str) -> str:
    return (
        f'<@SPEC-TYPES><@SPEC-OBJECT-TYPE IDENTIFIER="t" LONG-NAME="Requirement"><@SPEC-ATTRIBUTES>'
        f"{''.join(definitions)}</@SPEC-ATTRIBUTES></@SPEC-OBJECT-TYPE>"
        '<@SPEC-RELATION-TYPE IDENTIFIER="rt" LONG-NAME="satisfies"/>'
        '<@RELATION-GROUP-TYPE IDENTIFIER="gt" LONG-NAME="satisfies"/></@SPEC-TYPES>'
    )


def _relation(own: str, source: str, target: str) -> str:
    return (
        f'<@SPEC-RELATION IDENTIFIER="{own}"><@TYPE><@SPEC-RELATION-TYPE-REF>rt</@SPEC-RELATION-TYPE-REF></@TYPE>'
        f"<@SOURCE><@SPEC-OBJECT-REF>{source}</@SPEC-OBJECT-REF></@SOURCE>"
        f"<@TARGET><@SPEC-OBJECT-REF>{target}</@SPEC-OBJECT-REF></@TARGET></@SPEC-RELATION>"
    )


def _node(own: str, aim: str, *children: str) -> str:
    below = f"<@CHILDREN>{''.join(children)}</@CHILDREN>" if children else ""
    return (
        f'<@SPEC-HIERARCHY IDENTIFIER="{own}" IS-TABLE-INTERNAL="false"><@OBJECT><@SPEC-OBJECT-REF>{aim}'
        f"</@SPEC-OBJECT-REF></@OBJECT>{below}</@SPEC-HIERARCHY>"
    )


def _specification(own: str, *nodes: str) -> str:
    return (
        f'<@SPECIFICATION IDENTIFIER="{own}" LONG-NAME="{own}"><@CHILDREN>{"".join(nodes)}</@CHILDREN></@SPECIFICATION>'
    )


_OLE = (
    '<xhtml:div>Shown in <xhtml:object data="files/gate.rtf" type="application/rtf">'
    '<xhtml:object data="files/gate.png" type="image/png"/></xhtml:object> below.</xhtml:div>'
)

DOORS = _file(
    [
        "<@DATATYPES><@DATATYPE-DEFINITION-STRING IDENTIFIER='d-STRING' MAX-LENGTH='32'/></@DATATYPES>",
        _types(
            _definition("XHTML", "_x", "ReqIF.Text"),
            _definition("STRING", "_c", "ReqIF.ChapterName"),
            _definition("INTEGER", "_n", "ReqIF.ForeignID"),
            _definition("STRING", "_p", "Rationale"),
            _definition("STRING", "_q", "Rationale"),
        ),
        "<@SPEC-OBJECTS>",
        _object("_1", _plain("_c", "Gate"), _plain("_n", "1", "INTEGER")),
        _object(
            "_2",
            _rich("_x", _OLE),
            _plain("_p", "as built"),
            _plain("_q", "as sold"),
            more="<@ALTERNATIVE-ID><@ALTERNATIVE-ID IDENTIFIER='GATE-2'/></@ALTERNATIVE-ID>",
            label=' DESC="a note"',
        ),
        "</@SPEC-OBJECTS>",
        f"<@SPEC-RELATIONS>{_relation('_r1', '_2', '_elsewhere')}{_relation('_r2', '_away', '_1')}</@SPEC-RELATIONS>",
        f"<@SPECIFICATIONS>{_specification('_s', _node('_k', '_1', _node('_l', '_2')))}</@SPECIFICATIONS>",
        "<@SPEC-RELATION-GROUPS><@RELATION-GROUP IDENTIFIER='_g'><@SPEC-RELATIONS><@SPEC-RELATION-REF>_r1"
        "</@SPEC-RELATION-REF></@SPEC-RELATIONS></@RELATION-GROUP></@SPEC-RELATION-GROUPS>",
    ],
    prefix="reqif:",
    extension="<@TOOL-EXTENSIONS><@REQ-IF-TOOL-EXTENSION><configuration:view width='3'><!-- <own> -->"
    "</configuration:view></@REQ-IF-TOOL-EXTENSION></@TOOL-EXTENSIONS>\n",
)
"""Prefixed elements, an object within an object, two attributes of one name, relations to other modules and groups."""

_TABLE = (
    "<xhtml:table><xhtml:tr><xhtml:td>Torque</xhtml:td><xhtml:td>5 Nm</xhtml:td></xhtml:tr>"
    "<xhtml:tr><xhtml:td>Time</xhtml:td><xhtml:td>2 s</xhtml:td></xhtml:tr></xhtml:table>"
)

POLARION = _file(
    [
        _types(
            _definition("STRING", "p-id", "ID"),
            _definition("STRING", "p-title", "Title"),
            _definition("XHTML", "p-text", "Description"),
            _definition("ENUMERATION", "p-sev", "Severity"),
        ),
        "<DATATYPES><DATATYPE-DEFINITION-ENUMERATION IDENTIFIER='d-ENUMERATION'><SPECIFIED-VALUES>"
        "<ENUM-VALUE IDENTIFIER='v1' LONG-NAME='Must have'/><ENUM-VALUE IDENTIFIER='v2' LONG-NAME='Safety'/>"
        "</SPECIFIED-VALUES></DATATYPE-DEFINITION-ENUMERATION></DATATYPES>",
        "<SPEC-OBJECTS>",
        _object("WI-7", _plain("p-id", "GATE-7"), _plain("p-title", "Drive"),
                _rich("p-text", f"<xhtml:div>{_TABLE}</xhtml:div>"), _chosen("p-sev", "v1", "v2")),
        "</SPEC-OBJECTS>",
        f"<SPECIFICATIONS>{_specification('doc-a', _node('h1', 'WI-7'))}{_specification('doc-b', _node('h2', 'WI-7'))}"
        "</SPECIFICATIONS>",
    ]
)  # fmt: skip
"""Names of its own, a table in a value, several values of one enumeration, one object in two specifications."""

PTC = _file(
    [
        _types(
            _definition("STRING", "q-text", "Text"),
            _definition(
                "STRING", "q-state", "State",
                f"<@DEFAULT-VALUE>{_plain('q-state', 'Proposed')}</@DEFAULT-VALUE>",
            ),
            _definition("BOOLEAN", "q-flag", "Shared"),
            _definition("XHTML", "q-more", "Additional"),
        ),
        "<SPEC-OBJECTS>",
        _object("q1", _plain("q-text", "The gate shall close.&#10;&#10;At once."), _plain("q-flag", "true", "BOOLEAN")),
        _object(
            "q2",
            _plain("q-text", "The gate shall open."),
            _plain("q-state", "Agreed"),
            _rich("q-more", "<xhtml:div>short</xhtml:div>",
                  "<@THE-ORIGINAL-VALUE><xhtml:div>short and long</xhtml:div></@THE-ORIGINAL-VALUE>"),
        ),
        "</SPEC-OBJECTS>",
        "<SPEC-RELATIONS/>",
    ]
)  # fmt: skip
"""Defaults that objects do not repeat, values that were simplified, line breaks in attributes, no specification."""

STRICTDOC = _file(
    [
        "<DATATYPES/>",
        _types(_definition("STRING", "UID", "ReqIF.ForeignID"), _definition("STRING", "STATEMENT", "ReqIF.Text")),
        "<SPEC-OBJECTS>",
        _object("S-1", _plain("UID", "GATE-1"), _plain("STATEMENT", "The gate shall lock.")),
        "</SPEC-OBJECTS>",
        "<SPEC-RELATION-GROUPS/>",
    ]
)
"""Empty sections, the others left out."""
