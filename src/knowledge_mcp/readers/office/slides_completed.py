"""Child process: write what a presentation keeps in other parts or in newer markup into its slides.

Diagrams become lists, equations become text, and of alternatives the one that PowerPoint shows is kept.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from functools import partial

from knowledge_mcp.readers.shared.containers import Element, local_name, member, parse_xml, relations_of
from knowledge_mcp.readers.shared.drawings import diagram_items
from knowledge_mcp.readers.shared.equations import equation_text

EXPECTED = "a PowerPoint presentation"
"""What a file that is refused should be."""
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
SHAPES = frozenset({"sp", "pic", "graphicFrame", "grpSp", "cxnSp"})
"""Elements of a slide that are shapes."""
_HINTS = (b"AlternateContent", b"relIds", b"oMath", b"<p:sp>", b"<p:sp ")


def completed(archive: zipfile.ZipFile, slides: Iterable[str]) -> dict[str, bytes]:
    """Return the slides that were changed, by the names of their parts."""
    from lxml import etree

    found: dict[str, bytes] = {}
    for name in slides:
        data = member(archive, name) or b""
        if not any(hint in data for hint in _HINTS):
            continue
        slide = parse_xml(data, EXPECTED)
        tree = slide.find("{*}cSld/{*}spTree")
        if tree is None:
            continue
        _choose(tree)
        for equation in list(tree.iter("{http://schemas.microsoft.com/office/drawing/2010/main}m")):
            _replace(equation, _run(f" {' '.join(map(equation_text, equation))} "))
        for frame in list(tree.iter(f"{{{_P}}}graphicFrame")):
            _write_diagram(archive, name, frame)
        for shape in tree.iter(f"{{{_P}}}sp"):
            _give_outline(shape)
        found[name] = etree.tostring(slide)
    return found


def _choose(tree: Element) -> None:
    """Replace `AlternateContent` by what PowerPoint shows: the newer shape or equation if it can be read."""
    for alternative in reversed(list(tree.iter("{*}AlternateContent"))):
        options = [part for part in alternative if local_name(part) in {"Choice", "Fallback"} and _is_read(part)]
        parent = alternative.getparent()
        if parent is None:
            continue
        place = parent.index(alternative)
        for part in reversed(options[0]) if options else ():
            parent.insert(place, part)
        parent.remove(alternative)


def _is_read(option: Element) -> bool:
    return any(local_name(part) in SHAPES or local_name(part) in {"m", "r"} for part in option)


def _replace(old: Element, new: Element) -> None:
    parent = old.getparent()
    if parent is not None:
        parent.replace(old, new)


def _run(text: str) -> Element:
    from lxml import etree

    run = etree.Element(f"{{{_A}}}r")
    etree.SubElement(run, f"{{{_A}}}t").text = text
    return run


def _write_diagram(archive: zipfile.ZipFile, slide: str, frame: Element) -> None:
    """Replace a diagram's frame by a text box with its words as a list."""
    from lxml import etree

    marks = next(frame.iter("{*}relIds"), None)
    keys = [str(text) for key, text in marks.attrib.items() if str(key).endswith("}dm")] if marks is not None else []
    relations = relations_of(partial(member, archive), slide, EXPECTED)
    data = member(archive, next((each.target for each in relations if [each.id] == keys), ""))
    items = diagram_items(parse_xml(data, EXPECTED)) if data else []
    if not items:
        return
    shape = etree.Element(f"{{{_P}}}sp")
    about = etree.SubElement(shape, f"{{{_P}}}nvSpPr")
    known = frame.find("{*}nvGraphicFramePr/{*}cNvPr")
    name = etree.SubElement(about, f"{{{_P}}}cNvPr", {"id": "0", "name": ""})
    for key, text in known.attrib.items() if known is not None else ():
        name.set(key, text)
    etree.SubElement(about, f"{{{_P}}}cNvSpPr", {"txBox": "1"})
    etree.SubElement(about, f"{{{_P}}}nvPr")
    settings = etree.SubElement(shape, f"{{{_P}}}spPr")
    place = frame.find("{*}xfrm")
    if place is not None:
        place.tag = f"{{{_A}}}xfrm"
        settings.append(place)
    body = etree.SubElement(shape, f"{{{_P}}}txBody")
    etree.SubElement(body, f"{{{_A}}}bodyPr")
    for level, text in items:
        paragraph = etree.SubElement(body, f"{{{_A}}}p")
        bullet = etree.SubElement(paragraph, f"{{{_A}}}pPr", {"lvl": str(level)})
        etree.SubElement(bullet, f"{{{_A}}}buChar", {"char": "•"})
        paragraph.append(_run(text))
    _replace(frame, shape)


def _give_outline(shape: Element) -> None:
    """Make a shape without a geometry a rectangle: python-pptx cannot read a shape without one."""
    from lxml import etree

    settings = shape.find("{*}spPr")
    marks = shape.find("{*}nvSpPr/{*}nvPr")
    is_placeholder = marks is not None and marks.find("{*}ph") is not None
    if settings is None or is_placeholder or any(local_name(part) in {"prstGeom", "custGeom"} for part in settings):
        return
    outline = etree.Element(f"{{{_A}}}prstGeom", {"prst": "rect"})
    etree.SubElement(outline, f"{{{_A}}}avLst")
    settings.insert(1 if settings.find("{*}xfrm") is not None else 0, outline)
