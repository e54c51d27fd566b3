"""Child process: read Word documents (.docx) by walking over the XML.

No available library computes list numbers, keeps tracked insertions, content controls and text boxes, and is fast. So
the parts are read with lxml; the main part is streamed, and its elements are freed one by one. The sizes in the archive
are checked before anything is unpacked. Entities, document types, network access and oversized trees are disabled.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.docx.inline import words_in
from knowledge_mcp.readers.docx.package import Package, body_items, open_package, parse
from knowledge_mcp.readers.docx.remarks import Remarks
from knowledge_mcp.readers.shared.containers import Element, attribute, local_name
from knowledge_mcp.readers.shared.pieces import BATCH, RecordingBuilder, facts
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import list_first

if TYPE_CHECKING:
    from knowledge_mcp.readers.shared.containers import Relation

_BEHIND = re.compile(rb"""behindDoc=["'](?:1|true|on)|z-index:\s*-""")
"""Attributes of a drawing that is behind the text."""
_NOT_READ = {
    "image": "Words in images",
    "chartEx": "Charts of newer types (waterfalls, funnels, maps)",
    "package": "Embedded files",
    "oleObject": "Embedded objects",
    "subDocument": "Sub-documents",
}
"""Content of a document that is not read, by the type of relation that leads to it."""
_INSERTED_HINT = "Open the document in Word and save it again: Word writes these parts into its text."
_MOST_NAMED = 5
"""Parts to name in a warning: reports insert one for each section, and the first names show where they come from."""
_LONGEST_AROUND = 1000
"""Characters of headers and footers to keep; they become metadata, not text."""


def docx(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a Word document: its text block by block, then title and properties.

    Raises:
        Refusal: it is not a Word document, or is damaged, protected, empty, or too large.
    """
    builder = RecordingBuilder()
    with open_package(path) as package:
        if check:
            _check(package)
            return
        properties = read_properties(package)
        remarks = Remarks()
        title = yield from _walk(package, builder, remarks)
        warnings, noted = remarks.report(package)
        for sentence in (*warnings, *_unread(package)):
            builder.warn(sentence)
        properties |= _around(package) | noted
    if not builder.has_text:
        raise _without_text(package)
    yield from builder.taken()
    stated = "" if _is_of_template(properties) else sensible_title(properties.get("title"))
    yield facts(title=stated or title, metadata=properties)


def _check(package: Package) -> None:
    """Read the body to its end, to check that it is undamaged and has text."""
    has_text = False
    with package.open_main() as stream:
        for element in body_items(stream):
            has_text = has_text or any(str(text).strip() for text in element.itertext("{*}t"))
        # the stream does not stop at the last element: read the rest, so that the checksum is compared
        stream.read()
    if not has_text:
        raise _without_text(package)


def _without_text(package: Package) -> Refusal:
    if inserted := _inserted(package):
        return Refusal("empty", f"It has no text of its own. {inserted}", suggestion=_INSERTED_HINT)
    suggestion = "If its pages are images, save it as PDF and ingest that with OCR."
    return Refusal("empty", "It has no text.", suggestion=suggestion)


def _inserted(package: Package) -> str:
    """Name the parts that Word inserts into the text when it opens the document, empty if there are none."""
    names = [each.target for each in package.relations.values() if each.kind == "aFChunk"]
    subject = "A part in another format (altChunk) is" if len(names) == 1 else "Parts in other formats (altChunk) are"
    return f"{subject} not read: {list_first(names, _MOST_NAMED)}." if names else ""


def _walk(package: Package, builder: RecordingBuilder, remarks: Remarks) -> Generator[dict[str, Any], None, str]:
    """Walk over the body and yield its blocks; return the first paragraph in a title style, "" if there is none."""
    from lxml.etree import XMLSyntaxError

    from knowledge_mcp.readers.docx.looks import Looks
    from knowledge_mcp.readers.docx.styles import Numbering, Styles
    from knowledge_mcp.readers.docx.walker import DocxWalker

    root = _parsed(package, "styles")
    styles = Styles(root)
    looks = Looks(root, page=lambda: _page_colour(package))
    numbering = Numbering(_parsed(package, "numbering"), styles)
    notes = _notes(package, "footnote") | _notes(package, "endnote")

    def part(relation: Relation) -> Element | None:
        data = package.member(relation.target)
        try:
            return parse(data) if data is not None else None
        except XMLSyntaxError:  # a damaged chart does not affect the text
            return None

    walker = DocxWalker(builder, styles, looks, numbering, package.relations, notes, part)
    with package.open_main() as stream:
        for element in body_items(stream):
            walker.feed(element)
            remarks.see(element, walker.clause)
            yield from builder.taken(least=BATCH)
        stream.read()
    walker.finish()
    for note in itertools.chain.from_iterable(notes.values()):
        remarks.see(note)
    return walker.title


def _unread(package: Package) -> Iterator[str]:
    """Yield a warning for each kind of content that is not read."""
    kinds = {relation.kind for relation in package.relations.values()}
    for kind, what in _NOT_READ.items():
        if kind in kinds:
            yield f"{what} in the document are not read."
    if inserted := _inserted(package):
        yield f"{inserted} {_INSERTED_HINT}"


def _around(package: Package) -> dict[str, str]:
    """Return the texts of page headers and footers, each once: designation, edition, classification."""
    parts = [parse(data) for name in package.headers if (data := package.member(name))]
    lines = [words_in(each) for part in parts for each in part.iter("{*}p")]
    words = " | ".join(dict.fromkeys(" ".join(each.split()) for each in lines if each.strip()))
    return {"page_headers": words[:_LONGEST_AROUND]} if words else {}


def _parsed(package: Package, kind: str) -> Element | None:

    data = package.part(kind)
    return parse(data) if data is not None else None


def _page_colour(package: Package) -> str:
    """Return the page colour; empty if drawings are behind the text, or if the pages have a background."""
    from knowledge_mcp.readers.shared.hidden import WHITE

    settings = package.part("settings")
    if settings is not None and b"displayBackgroundShape" in settings:
        return ""
    for name in package.headers:
        if _BEHIND.search(package.member(name) or b""):
            return ""
    with package.open_main() as stream:
        tail = b""
        while data := stream.read(1 << 20):
            if _BEHIND.search(tail + data):
                return ""
            tail = data[-100:]
    return WHITE


def _notes(package: Package, kind: str) -> dict[tuple[str, str], list[Element]]:

    root = _parsed(package, f"{kind}s")
    found: dict[tuple[str, str], list[Element]] = {}
    for note in root if root is not None else ():
        if local_name(note) == kind and attribute(note, "type") in {None, "normal"}:
            paragraphs = list(note.iter("{*}p"))
            found[kind, attribute(note, "id") or ""] = paragraphs
    return found


_CORE = {  # without "revision", which is how often Word saved the file
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "category": "category",
    "contentStatus": "status",
    "created": "created",
    "modified": "modified",
    "lastModifiedBy": "last_modified_by",
    "version": "version",
    "identifier": "identifier",
    "language": "language",
}
_MAX_VALUE = 2_000
_MAX_PROPERTIES = 200
_NO_TITLE = re.compile(
    r"(?:microsoft word - .*|document ?\d*|untitled.*|.*\.(?:docx?|dotx?|odt|rtf)|word document|template|title)",
    re.IGNORECASE,
)


_TO_FILL_IN = re.compile(r"<[^<>]{1,200}>|\[[^\[\]]{1,200}\]\Z")
"""What templates have in place of words; an author's subject may begin with a group in brackets."""


def read_properties(package: Package) -> dict[str, str]:
    """Read all properties as flat text.

    Custom properties (names in lower case, blanks as "_") take precedence over core ones.
    """
    found: dict[str, str] = {}
    core = package.member("docProps/core.xml")
    for element in parse(core) if core else ():
        _keep(found, _CORE.get(local_name(element), ""), element.text)
    extended = package.member("docProps/app.xml")
    for element in parse(extended) if extended else ():
        _keep(found, {"Company": "company"}.get(local_name(element), ""), element.text)
    custom = package.member("docProps/custom.xml")
    for element in list(parse(custom))[:_MAX_PROPERTIES] if custom else ():
        name = re.sub(r"[^a-z0-9]+", "_", (attribute(element, "name") or "").lower()).strip("_")
        _keep(found, name, " ".join(map(str, element.itertext())))
    if "modified" in found:
        found.setdefault("date", found["modified"][:10])
    return found


def sensible_title(title: str | None) -> str:
    """Return a title property, or "" if an application made it up, or it is the name of a field or file."""
    words = " ".join((title or "").split())
    is_name = "_" in words and " " not in words
    return "" if is_name or _NO_TITLE.fullmatch(words) else words


def _is_of_template(properties: Mapping[str, str]) -> bool:
    """Return whether a field is still to be filled in, as "<Title 1; Title 2>": nobody has touched the properties."""
    return any(_TO_FILL_IN.match(properties.get(name, "")) for name in ("title", "subject", "keywords", "description"))


def _keep(found: dict[str, str], name: str, text: str | None) -> None:
    if name and text and text.strip():
        found[name] = " ".join(text.split())[:_MAX_VALUE]
