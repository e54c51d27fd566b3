"""Requirement files as other tools write them, made here."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

REQIF = """<?xml version="1.0" encoding="UTF-8"?>
<!-- written by a tool -->
<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="http://www.w3.org/1999/xhtml">
  <THE-HEADER><REQ-IF-HEADER IDENTIFIER="h1"><TITLE>Pump station</TITLE></REQ-IF-HEADER></THE-HEADER>
  <CORE-CONTENT><REQ-IF-CONTENT>
    <DATATYPES>
      <DATATYPE-DEFINITION-STRING IDENTIFIER="d1" LONG-NAME="String" MAX-LENGTH="255"/>
      <DATATYPE-DEFINITION-ENUMERATION IDENTIFIER="d2" LONG-NAME="Priority"><SPECIFIED-VALUES>
        <ENUM-VALUE IDENTIFIER="e1" LONG-NAME="high"/><ENUM-VALUE IDENTIFIER="e2" LONG-NAME="low"/>
      </SPECIFIED-VALUES></DATATYPE-DEFINITION-ENUMERATION>
    </DATATYPES>
    <SPEC-TYPES>
      <SPEC-OBJECT-TYPE IDENTIFIER="t1" LONG-NAME="System requirement"><SPEC-ATTRIBUTES>
        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="a1" LONG-NAME="ReqIF.ForeignID"/>
        <ATTRIBUTE-DEFINITION-XHTML IDENTIFIER="a2" LONG-NAME="ReqIF.Text"/>
        <ATTRIBUTE-DEFINITION-ENUMERATION IDENTIFIER="a3" LONG-NAME="Priority"/>
        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="a4" LONG-NAME="Vendor&apos;s own"/>
      </SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE>
      <SPEC-RELATION-TYPE IDENTIFIER="r1" LONG-NAME="refines"/>
    </SPEC-TYPES>
    <SPEC-OBJECTS>
      <SPEC-OBJECT IDENTIFIER="o1"><TYPE><SPEC-OBJECT-TYPE-REF>t1</SPEC-OBJECT-TYPE-REF></TYPE><VALUES>
        <ATTRIBUTE-VALUE-STRING THE-VALUE="SYS-1"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>a1</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>a2</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:div>The pump <xhtml:b>shall</xhtml:b> stop<xhtml:br/>when the tank is full.</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
        <ATTRIBUTE-VALUE-ENUMERATION><DEFINITION><ATTRIBUTE-DEFINITION-ENUMERATION-REF>a3</ATTRIBUTE-DEFINITION-ENUMERATION-REF></DEFINITION><VALUES><ENUM-VALUE-REF>e1</ENUM-VALUE-REF></VALUES></ATTRIBUTE-VALUE-ENUMERATION>
        <ATTRIBUTE-VALUE-STRING THE-VALUE="kept &amp; shown"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>a4</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
      </VALUES></SPEC-OBJECT>
      <SPEC-OBJECT IDENTIFIER="o2"><TYPE><SPEC-OBJECT-TYPE-REF>t1</SPEC-OBJECT-TYPE-REF></TYPE><VALUES>
        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>a2</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:p>Every login shall be written to the audit log.</xhtml:p></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
      </VALUES></SPEC-OBJECT>
      <SPEC-OBJECT IDENTIFIER="o3"><VALUES/></SPEC-OBJECT>
    </SPEC-OBJECTS>
    <SPEC-RELATIONS>
      <SPEC-RELATION IDENTIFIER="l1"><TYPE><SPEC-RELATION-TYPE-REF>r1</SPEC-RELATION-TYPE-REF></TYPE><SOURCE><SPEC-OBJECT-REF>o2</SPEC-OBJECT-REF></SOURCE><TARGET><SPEC-OBJECT-REF>o1</SPEC-OBJECT-REF></TARGET></SPEC-RELATION>
    </SPEC-RELATIONS>
    <SPECIFICATIONS><SPECIFICATION IDENTIFIER="s1"><CHILDREN>
      <SPEC-HIERARCHY IDENTIFIER="n1"><OBJECT><SPEC-OBJECT-REF>o1</SPEC-OBJECT-REF></OBJECT><CHILDREN>
        <SPEC-HIERARCHY IDENTIFIER="n2"><OBJECT><SPEC-OBJECT-REF>o2</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
      </CHILDREN></SPEC-HIERARCHY>
    </CHILDREN></SPECIFICATION></SPECIFICATIONS>
  </REQ-IF-CONTENT></CORE-CONTENT>
  <TOOL-EXTENSIONS><REQ-IF-TOOL-EXTENSION><own xmlns="urn:tool">kept</own></REQ-IF-TOOL-EXTENSION></TOOL-EXTENSIONS>
</REQ-IF>
"""  # noqa: E501 - tools write values on one line, and spaces in them would count

SDOC = """[DOCUMENT]
TITLE: Pump software

[[SECTION]]
MID: abc
TITLE: Stopping

[REQUIREMENT]
UID: SW-1
STATUS: Active
TITLE: Overflow
STATEMENT: >>>
The software shall stop the pump

when the tank is full.
<<<
RELATIONS:
- TYPE: Parent
  VALUE: o1
  ROLE: Refines
- TYPE: File
  VALUE: src/pump.c

[[/SECTION]]

[REQUIREMENT]
UID: SW-2
STATEMENT: The software shall write each login to the audit log.
"""

RST = """Software
========

.. swreq:: Overflow
   :id: SW_STOP
   :status: open
   :implements: SYS_PUMP, SYS_TANK
   :tags: pump, ABCDE

   The software shall stop the pump.

   .. swreq:: Audit
      :id: SW_AUDIT

      The software shall write the log.

.. needtable::
   :filter: type == "swreq"

.. image:: a.png
   :alt: no need
"""

NEEDS: dict[str, Any] = {
    "project": "Pump",
    "current_version": "2",
    "versions": {
        "1": {"needs": {}},
        "2": {
            "needs": {
                "R1": {"id": "R1", "title": "Stop", "type": "req", "content": "Stop the pump.", "links_back": ["R2"]},
                "R2": {"id": "R2", "title": "Log", "type": "req", "content": "Write it.", "links": ["R1"], "asil": "B"},
            }
        },
    },
}


def zipped(path: Path, **members: str | bytes) -> Path:
    """Write an archive; members by name, `__` for a dot."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path
