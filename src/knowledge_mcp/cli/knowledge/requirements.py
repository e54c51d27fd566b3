"""`knowledge requirements TOPIC` and `knowledge requirements export`: find requirements, and export all of them."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from xml.etree import ElementTree as ET

import typer

from knowledge_mcp import __version__
from knowledge_mcp.cli.knowledge import asking
from knowledge_mcp.cli.shared.failures import escape_in_json, notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import write_content, write_file
from knowledge_mcp.cli.shared.session import CommandOptions, GroupWithDefault, TextOptions, command_group
from knowledge_mcp.engine.search.requirements import RequirementRecord, requirement_records
from knowledge_mcp.language.requirements.kinds import requirement_kind
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.surfaces.tables import counts_in_words, csv_text

if TYPE_CHECKING:
    from knowledge_mcp.ports import Knowledge

_FIND = "find"
_COLUMNS = (
    "document_id", "document_title", "id", "explicit", "text", "modality", "negated", "clause", "section", "page",
    "page_index", "citation", "weak",
)  # fmt: skip


class Format(StrEnum):
    """What `knowledge requirements export` writes."""

    CSV = "csv"
    JSON = "json"
    REQIF = "reqif"


class _FindByDefault(GroupWithDefault):
    """Take a topic for `find` and the topic: `knowledge requirements "wind load"`."""

    default = _FIND


app = command_group(
    """Find requirements, or export all of them.

    Search by topic, by identifier (SRS-4.2.1, [REQ-12]) or the beginning of one, or by clause number. `find` may be
    omitted.

    Example: knowledge requirements verification --standard 29148
    """,
    _FindByDefault,
)
app.command(_FIND)(asking.requirements)


@app.command(short_help="Write all requirements, as CSV, JSON or ReqIF.")
@with_groups
def export(
    options: TextOptions,
    format: Annotated[Format, typer.Option("--format", help="CSV, JSON, or ReqIF for requirement tools.")] = Format.CSV,
    document: Annotated[
        list[str] | None, typer.Option(metavar="DOC", help="Only this document; may be repeated.")
    ] = None,
    modality: Annotated[
        list[Modality] | None,
        typer.Option(
            help="Only statements of this force. Default: all mandatory and all numbered ones; may be repeated."
        ),
    ] = None,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="Classify each as functional, quality, or both (English only).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to this file instead of stdout.")
    ] = None,
) -> None:
    """Write all requirements with identifier, text, force, clause, page and citation.

    With --format reqif, --document naming one document, and no other filter, a document ingested from a requirements
    file is exported in full: a ReqIF file byte for byte, other formats with all items, attributes and links.

    Items below a requirements heading that contain no word such as "shall" are marked weak.

    Example: knowledge requirements export --format reqif --document widget-srs --out widget-srs.reqif
    """
    as_json = format is Format.JSON and output is None
    shared = CommandOptions(
        as_json=as_json, collection=options.collection, config=options.config, verbose=options.verbose
    )
    with shared.open_knowledge() as knowledge:
        found, declared = _gather(knowledge, document, frozenset(modality) if modality else None)
        is_whole = format is Format.REQIF and not modality and not kinds
        items, content = _export_declared(knowledge, found, declared) if is_whole else (0, b"")
        content = content or _export(format, found, kinds=kinds)
        if output is None:
            write_content(content)
            return
        write_file(output, content)
        count = sum(len(requirements) for _, requirements in found)
        written = {"item": items} if items else {"requirement": count}
        typer.echo(f"Wrote {' of '.join(counts_in_words({**written, 'document': len(found)}))} to {output}.")


_Found = Sequence[tuple["DocumentRecord", "list[RequirementRecord]"]]


def _gather(
    knowledge: Knowledge, document_ids: list[str] | None, modalities: frozenset[Modality] | None
) -> tuple[_Found, list[DocumentRecord]]:
    """Return the requirements of the documents, and which of these were read from requirement files."""
    records = (
        [knowledge.document(each) for each in dict.fromkeys(document_ids)] if document_ids else knowledge.documents()
    )
    found: list[tuple[DocumentRecord, list[RequirementRecord]]] = []
    declared: list[DocumentRecord] = []
    for record in records:
        chunks = knowledge.document_chunks(record.id)
        text, structure = knowledge.document_text(record.id), knowledge.document_structure(record.id)
        found.append((record, requirement_records(record, chunks, text, structure, modalities=modalities)))
        if structure.items:
            declared.append(record)
    return found, declared


def _export_declared(knowledge: Knowledge, found: _Found, declared: Sequence[DocumentRecord]) -> tuple[int, bytes]:
    """Return the items and the ReqIF of the one document that a requirement file was read to; nothing of any other."""
    from knowledge_mcp.engine.tracing.items import items_below_headings
    from knowledge_mcp.engine.tracing.readings import read_ingested
    from knowledge_mcp.surfaces.interchange import items_as_reqif

    if len(found) > 1 and declared:
        names = ", ".join(record.id for record in declared)
        notify(
            f"Only text, force and location of the items were written. To export one of {names} in full, pass it as "
            "--document."
        )
    if len(found) > 1 or not declared:
        return 0, b""
    reading = read_ingested(knowledge, declared[0].id)
    moment = dt.datetime.fromisoformat(declared[0].updated_at)
    items = items_below_headings(reading)
    content = reading.structure.original_bytes or items_as_reqif(declared[0].title, items, moment)
    return len(reading.structure.items), content


def _export(format: Format, found: _Found, *, kinds: bool) -> bytes:
    if format is Format.REQIF:
        return reqif(found, kinds=kinds)
    rows = [_plain(requirement) for _, requirements in found for requirement in requirements]
    if kinds:
        rows = [{**row, "kind": requirement_kind(row["text"]).value} for row in rows]
    if format is Format.CSV:
        return _csv(rows, (*_COLUMNS, "kind") if kinds else _COLUMNS)
    content = {"requirements": rows, "total": len(rows), "documents": [record.id for record, _ in found]}
    return (escape_in_json(json.dumps(content, indent=2, ensure_ascii=False)) + "\n").encode()


def _plain(each: RequirementRecord) -> dict[str, Any]:
    return {
        "document_id": each.document_id,
        "document_title": each.document_title,
        "id": each.identifier,
        "explicit": each.explicit,
        "text": each.text,
        "modality": each.modality.value,
        "negated": each.negated,
        "clause": each.clause,
        "section": list(each.path),
        "page": each.page,
        "page_index": each.page_index,
        "citation": each.citation,
        "weak": each.weak,
        "span": [each.span.start, each.span.end],
    }


def _csv(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> bytes:
    return csv_text([columns, *([_cell(row[column]) for column in columns] for row in rows)]).encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " > ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)


_NAMESPACE = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"
_XHTML = "http://www.w3.org/1999/xhtml"
_IDS = uuid.UUID("2f0f8b3e-7c0e-5d43-9d7e-3b1a5c9a7e10")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_EPOCH = "1970-01-01T00:00:00Z"
_TEXT, _FLAG, _RICH, _FORCE = "dt-string", "dt-boolean", "dt-xhtml", "dt-modality"
_ATTRIBUTES = (
    ("ReqIF.ForeignID", _TEXT),
    ("ReqIF.Text", _RICH),
    ("Modality", _FORCE),
    ("Negated", _FLAG),
    ("Explicit identifier", _FLAG),
    ("Clause", _TEXT),
    ("Page", _TEXT),
    ("Document", _TEXT),
    ("Citation", _TEXT),
    ("Weak", _FLAG),
)
"""Attributes of a requirement and their types; ReqIF tools map the names of the first two by themselves."""


_KIND = ("Kind", _TEXT)
"""Written on request: functional, quality, or both."""


def reqif(documents: Sequence[tuple[DocumentRecord, Sequence[RequirementRecord]]], *, kinds: bool = False) -> bytes:
    """Write requirements as one ReqIF file.

    Args:
        documents: each document with its requirements in order of place.
        kinds: whether each requirement says of what kind it is.

    Returns:
        UTF-8 XML in the structure of OMG ReqIF 1.2 (namespace 20110401).
    """
    ET.register_namespace("", _NAMESPACE)
    ET.register_namespace("xhtml", _XHTML)
    root = ET.Element(_q("REQ-IF"))
    newest = max((_time(record.updated_at) for record, _ in documents), default=_EPOCH)
    header = _add(_add(root, "THE-HEADER"), "REQ-IF-HEADER", IDENTIFIER=_id("header", *(r.id for r, _ in documents)))
    for name, value in (
        ("COMMENT", "Requirements found in documents; each cites its source."),
        ("CREATION-TIME", newest),
        ("REQ-IF-TOOL-ID", f"knowledge-mcp {__version__}"),
        ("REQ-IF-VERSION", "1.0"),
        ("SOURCE-TOOL-ID", "knowledge-mcp"),
        ("TITLE", "Requirements"),
    ):
        _add(header, name).text = value
    content = _add(_add(root, "CORE-CONTENT"), "REQ-IF-CONTENT")
    _datatypes(_add(content, "DATATYPES"), newest)
    attributes = (*_ATTRIBUTES, _KIND) if kinds else _ATTRIBUTES
    _types(_add(content, "SPEC-TYPES"), attributes, newest)
    objects = _add(content, "SPEC-OBJECTS")
    specifications = _add(content, "SPECIFICATIONS")
    for record, requirements in documents:
        _Specification(objects, specifications, record, attributes).write(requirements)
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="utf-8") + b"\n"


def _q(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"


def _add(parent: ET.Element, name: str, **attributes: str) -> ET.Element:
    escaped = {key.replace("_", "-"): _clean(value) for key, value in attributes.items()}
    return ET.SubElement(parent, _q(name), escaped)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(" ", text)


def _id(*parts: str) -> str:
    """Derive an identifier that XML allows (it begins with a letter) and that stays the same."""
    name = "\x1e".join(parts).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return f"id-{uuid.uuid5(_IDS, name)}"


def _time(moment: str) -> str:
    return moment if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?", moment) else _EPOCH


def _datatypes(parent: ET.Element, time: str) -> None:
    _add(
        parent, "DATATYPE-DEFINITION-STRING", IDENTIFIER=_TEXT, LAST_CHANGE=time, LONG_NAME="String", MAX_LENGTH="4000"
    )
    _add(parent, "DATATYPE-DEFINITION-BOOLEAN", IDENTIFIER=_FLAG, LAST_CHANGE=time, LONG_NAME="Boolean")
    _add(parent, "DATATYPE-DEFINITION-XHTML", IDENTIFIER=_RICH, LAST_CHANGE=time, LONG_NAME="XHTML")
    force = _add(parent, "DATATYPE-DEFINITION-ENUMERATION", IDENTIFIER=_FORCE, LAST_CHANGE=time, LONG_NAME="Modality")
    values = _add(force, "SPECIFIED-VALUES")
    for key, modality in enumerate(Modality):
        value = _add(
            values, "ENUM-VALUE", IDENTIFIER=f"ev-{modality.value}", LAST_CHANGE=time, LONG_NAME=modality.value
        )
        _add(_add(value, "PROPERTIES"), "EMBEDDED-VALUE", KEY=str(key), OTHER_CONTENT=modality.value)


def _types(parent: ET.Element, attributes: Sequence[tuple[str, str]], time: str) -> None:
    _object_type(parent, "ot-requirement", "Requirement", attributes, time)
    clause = (("ReqIF.ChapterName", _TEXT), ("Clause", _TEXT))
    _object_type(parent, "ot-clause", "Clause", clause, time)
    kind = _add(parent, "SPECIFICATION-TYPE", IDENTIFIER="st-document", LAST_CHANGE=time, LONG_NAME="Document")
    _define(_add(kind, "SPEC-ATTRIBUTES"), "st-document", "Source", _TEXT, time)


def _object_type(
    parent: ET.Element, identifier: str, name: str, attributes: Sequence[tuple[str, str]], time: str
) -> None:
    kind = _add(parent, "SPEC-OBJECT-TYPE", IDENTIFIER=identifier, LAST_CHANGE=time, LONG_NAME=name)
    definitions = _add(kind, "SPEC-ATTRIBUTES")
    for attribute, datatype in attributes:
        _define(definitions, identifier, attribute, datatype, time)


_KINDS = {_TEXT: "STRING", _FLAG: "BOOLEAN", _RICH: "XHTML", _FORCE: "ENUMERATION"}


def _attribute_id(owner: str, name: str) -> str:
    return f"at-{owner}-{re.sub(r'[^a-z]+', '-', name.lower())}"


def _define(parent: ET.Element, owner: str, name: str, datatype: str, time: str) -> None:
    kind = _KINDS[datatype]
    definition = _add(
        parent,
        f"ATTRIBUTE-DEFINITION-{kind}",
        IDENTIFIER=_attribute_id(owner, name),
        LAST_CHANGE=time,
        LONG_NAME=name,
    )
    if kind == "ENUMERATION":
        definition.set("MULTI-VALUED", "false")
    _add(_add(definition, "TYPE"), f"DATATYPE-DEFINITION-{kind}-REF").text = datatype


def _value(parent: ET.Element, owner: str, name: str, datatype: str, value: str) -> None:
    kind = _KINDS[datatype]
    holder = _add(parent, f"ATTRIBUTE-VALUE-{kind}")
    _add(_add(holder, "DEFINITION"), f"ATTRIBUTE-DEFINITION-{kind}-REF").text = _attribute_id(owner, name)
    if kind == "ENUMERATION":
        _add(_add(holder, "VALUES"), "ENUM-VALUE-REF").text = f"ev-{value}"
    elif kind == "XHTML":
        ET.SubElement(_add(holder, "THE-VALUE"), f"{{{_XHTML}}}div").text = _clean(value)
    else:
        holder.set("THE-VALUE", _clean(value)[:4000])


@dataclass(slots=True)
class _Specification:
    """Write one document: a specification whose hierarchy is its clauses, with the requirements below them.

    Attributes:
        objects, specifications: what it is written into.
        record: of the document.
        attributes: what is written of each requirement, with types.
    """

    objects: ET.Element
    specifications: ET.Element
    record: DocumentRecord
    attributes: Sequence[tuple[str, str]]
    _counts: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    def write(self, requirements: Sequence[RequirementRecord]) -> None:
        time = _time(self.record.updated_at)
        specification = _add(
            self.specifications,
            "SPECIFICATION",
            IDENTIFIER=_id("specification", self.record.id),
            LAST_CHANGE=time,
            LONG_NAME=self.record.title,
            DESC=f"document {self.record.id}",
        )
        values = _add(specification, "VALUES")
        _value(values, "st-document", "Source", _TEXT, self.record.source_path)
        _add(_add(specification, "TYPE"), "SPECIFICATION-TYPE-REF").text = "st-document"
        if not requirements:
            return
        below: dict[tuple[str, ...], ET.Element] = {(): _add(specification, "CHILDREN")}
        for requirement in requirements:
            self._place(below, requirement.path, time)
            self._requirement(below, requirement, time)

    def _place(self, below: dict[tuple[str, ...], ET.Element], path: tuple[str, ...], time: str) -> None:
        """Write the clauses on a path that are not there yet."""
        for depth in range(1, len(path) + 1):
            place = path[:depth]
            if place in below:
                continue
            number, _, title = place[-1].partition(" ")
            numbered = re.match(r"(?:\d|[A-Z](?:\.|\Z))", number) is not None
            entry = self._object("ot-clause", _id("clause", self.record.id, *place), place[-1], time)
            _value(entry, "ot-clause", "ReqIF.ChapterName", _TEXT, (title or number) if numbered else place[-1])
            _value(entry, "ot-clause", "Clause", _TEXT, number if numbered else "")
            below[place] = self._hierarchy(below, place[:-1], _id("clause", self.record.id, *place), time)

    def _requirement(self, below: dict[tuple[str, ...], ET.Element], each: RequirementRecord, time: str) -> None:
        name = (each.identifier, each.text) if not each.explicit else (each.identifier,)
        count = self._counts[name] = self._counts.get(name, 0) + 1
        identifier = _id("requirement", self.record.id, *name, str(count))
        values = self._object("ot-requirement", identifier, each.identifier or each.text[:60], time)
        values_by_name = {
            "ReqIF.ForeignID": each.identifier,
            "ReqIF.Text": each.text,
            "Modality": each.modality.value,
            "Negated": str(each.negated).lower(),
            "Explicit identifier": str(each.explicit).lower(),
            "Clause": each.clause,
            "Page": each.page,
            "Document": self.record.id,
            "Citation": each.citation,
            "Weak": str(each.weak).lower(),
            "Kind": requirement_kind(each.text).value,
        }
        for attribute, datatype in self.attributes:
            _value(values, "ot-requirement", attribute, datatype, values_by_name[attribute])
        self._hierarchy(below, each.path, identifier, time)

    def _object(self, kind: str, identifier: str, name: str, time: str) -> ET.Element:
        entry = _add(self.objects, "SPEC-OBJECT", IDENTIFIER=identifier, LAST_CHANGE=time, LONG_NAME=name)
        _add(_add(entry, "TYPE"), "SPEC-OBJECT-TYPE-REF").text = kind
        return _add(entry, "VALUES")

    def _hierarchy(
        self, below: dict[tuple[str, ...], ET.Element], path: tuple[str, ...], identifier: str, time: str
    ) -> ET.Element:
        """Add an object below the clause of a path; return its element."""
        parent = below[path]
        if parent.tag == _q("SPEC-HIERARCHY"):
            children = parent.find(_q("CHILDREN"))
            parent = _add(parent, "CHILDREN") if children is None else children
        node = _add(parent, "SPEC-HIERARCHY", IDENTIFIER=f"sh-{identifier}", LAST_CHANGE=time)
        _add(_add(node, "OBJECT"), "SPEC-OBJECT-REF").text = identifier
        return node
