"""Child process: how styles show the text of an OpenDocument file, and why some of it is not visible.

Where this is uncertain (coloured pages, pictures behind the text, the size of another script), text counts as visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.odf.package import DRAW, FO, STYLE, SVG, TABLE, TEXT
from knowledge_mcp.readers.shared.containers import Element, local_name
from knowledge_mcp.readers.shared.hidden import WHITE, is_alike, nonblank_length

_LENGTH = re.compile(r"(-?\d{0,7}(?:\.\d{1,9})?)(pt|in|cm|mm|px|pc)")
_UNITS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "px": 0.75, "pc": 12.0}
_MAX_INHERITANCE = 20
_TOO_SMALL = 1.0
_FARTHEST = 300 * 28.35
"""The largest page, in points. Whatever is farther out is not on a page."""
_OTHER_SCRIPT = re.compile("[\u0590-\u1cff\u2e80-\uffff\U00010000-\U0010ffff]")
_SHAPES = frozenset({"frame", "custom-shape", "rect", "text-box", "g", "ellipse", "line", "polygon", "path"})


@dataclass(frozen=True, slots=True)
class OdtLook:
    """How text looks; None where it is not specified.

    Attributes:
        hidden: it is not displayed.
        struck: it is struck out.
        size: points.
        other_sizes: the largest size for letters of other scripts, None unless all are specified.
        colour: as the file writes it.
        ground: the background colour, empty if it is unknown.
        place: "super" or "sub" if it is raised or lowered, empty if it is not.
    """

    hidden: bool | None = None
    struck: bool | None = None
    size: float | None = None
    other_sizes: float | None = None
    colour: str | None = None
    ground: str | None = None
    place: str | None = None

    def over(self, other: OdtLook) -> OdtLook:
        """Return this look, completed by another one where this one does not specify a value."""
        return OdtLook(
            other.hidden if self.hidden is None else self.hidden,
            other.struck if self.struck is None else self.struck,
            other.size if self.size is None else self.size,
            other.other_sizes if self.other_sizes is None else self.other_sizes,
            other.colour if self.colour is None else self.colour,
            other.ground if self.ground is None else self.ground,
            other.place if self.place is None else self.place,
        )

    def reason(self, text: str) -> HiddenReason | None:
        """Return why a text is not visible, None if it is."""
        if self.hidden:
            return HiddenReason.NOT_DISPLAYED
        if self.struck:
            return HiddenReason.STRUCK
        if self.size is not None and self.size <= _TOO_SMALL:
            others = self.other_sizes is not None and self.other_sizes <= _TOO_SMALL
            if others or not _OTHER_SCRIPT.search(text):
                return HiddenReason.TOO_SMALL
        return HiddenReason.COLOUR if is_alike(self.colour, self.ground) else None


class OdtLooks:
    """Answer how paragraphs and spans look, from the styles of a file.

    Args:
        roots: the trees of styles.xml and content.xml.
    """

    def __init__(self, roots: Iterable[Element]) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        self._defaults: dict[str, Element] = {}
        self._known: dict[tuple[str, str], OdtLook] = {}
        self._page = WHITE
        for root in roots:
            for style in root.iter(f"{STYLE}style"):
                key = (style.get(f"{STYLE}family", ""), style.get(f"{STYLE}name", ""))
                self._styles[key] = style
            for style in root.iter(f"{STYLE}default-style"):
                self._defaults[style.get(f"{STYLE}family", "")] = style
            pages = root.iter(f"{STYLE}page-layout-properties")
            shapes = root.iter(f"{STYLE}graphic-properties")
            behind = any(each.get(f"{STYLE}run-through") == "background" for each in shapes)
            if behind or any(_paints(part) for part in pages):
                self._page = ""

    def paragraph(self, element: Element) -> OdtLook:
        """Return the look of a paragraph or heading, including its background."""
        look = self._style_of("paragraph", element.get(f"{TEXT}style-name", ""))
        if look.ground is not None or look.colour is None:
            return look
        return OdtLook(ground=self._behind(element)).over(look)

    def is_title(self, element: Element) -> bool:
        """Return whether a paragraph has the style of the document's title, or a style based on it."""
        name = element.get(f"{TEXT}style-name", "")
        parents = (style.get(f"{STYLE}parent-style-name") for style in self._line("paragraph", name))
        return "Title" in (name, *parents)

    def span(self, element: Element) -> OdtLook:
        """Return what a span's style specifies."""
        return self._style_of("text", element.get(f"{TEXT}style-name", ""))

    def cell(self, name: str) -> OdtLook:
        """Return the look of a sheet's cell by its style; the colour counts only if nothing else can change it."""
        look = self._style_of("table-cell", name).over(OdtLook(ground=self._page))
        is_unsure = any(style.find(f"{STYLE}map") is not None for style in self._line("table-cell", name))
        return replace(look, colour="") if is_unsure else look

    def is_displayed(self, sheet: Element) -> bool:
        """Return whether a sheet is visible, by its style."""
        styles = self._line("table", sheet.get(f"{TABLE}style-name", ""))
        states = (
            part.get(f"{TABLE}display") for style in styles for part in style.iterchildren(f"{STYLE}table-properties")
        )
        return next(filter(None, states), "true") != "false"

    def behind(self, element: Element, look: OdtLook) -> OdtLook:
        """Complete a look that has a colour with the background of an element."""
        if look.colour is None or look.ground is not None:
            return look
        paragraph = next((above for above in element.iterancestors() if local_name(above) in {"p", "h"}), element)
        return OdtLook(ground=self._behind(paragraph)).over(look)

    def _style_of(self, family: str, name: str) -> OdtLook:
        key = (family, name)
        if key not in self._known:
            look = OdtLook()
            for style in self._line(family, name):
                look = look.over(_look_of(style))
            self._known[key] = look
        return self._known[key]

    def _line(self, family: str, name: str) -> Iterator[Element]:
        """Yield a style and the styles it inherits from, nearest first."""
        for _ in range(_MAX_INHERITANCE):
            style = self._styles.get((family, name))
            if style is None:
                break
            yield style
            name = style.get(f"{STYLE}parent-style-name", "")
        if family != "text" and family in self._defaults:
            yield self._defaults[family]

    def _behind(self, paragraph: Element) -> str:
        for above in paragraph.iterancestors():
            name = local_name(above)
            family = {"table-cell": "table-cell", "table": "table", "section": "section"}.get(name)
            if name in _SHAPES:
                return ""
            if family is None:
                continue
            for style in self._line(family, above.get(f"{TABLE}style-name") or above.get(f"{TEXT}style-name") or ""):
                for part in style:
                    if _paints(part):
                        return part.get(f"{FO}background-color", "")
        return self._page


def _look_of(style: Element) -> OdtLook:
    text = style.find(f"{STYLE}text-properties")
    whole = next(style.iterchildren(f"{STYLE}paragraph-properties", f"{STYLE}table-cell-properties"), None)
    ground = whole.get(f"{FO}background-color") if whole is not None else None
    if whole is not None and whole.find(f"{STYLE}background-image") is not None:
        ground = ""
    if text is None:
        return OdtLook(ground=_solid(ground))
    display = text.get(f"{TEXT}display")
    lines = [text.get(f"{STYLE}text-line-through-{kind}") for kind in ("style", "type")]
    lines = [line for line in lines if line is not None]
    others = [_points(text.get(f"{STYLE}font-size-{script}")) for script in ("asian", "complex")]
    known = [size for size in others if size is not None]
    automatic = text.get(f"{STYLE}use-window-font-color") == "true"
    own = _solid(text.get(f"{FO}background-color"))
    return OdtLook(
        None if display is None else display == "none",
        None if not lines else any(line != "none" for line in lines),
        _points(text.get(f"{FO}font-size")),
        max(known) if len(known) == len(others) else None,
        "" if automatic else text.get(f"{FO}color"),
        own if own is not None else _solid(ground),
        _place(text.get(f"{STYLE}text-position")),
    )


def _place(position: str | None) -> str | None:
    """Read values such as "super 58%" and "-33% 58%"."""
    where = (position or "").split(" ")[0]
    if position is None or where in {"super", "sub"}:
        return where or None
    share = where.removesuffix("%")
    return "sub" if share.startswith("-") else "super" if share.strip("0") else ""


def _solid(colour: str | None) -> str | None:
    return None if colour == "transparent" else colour


def _paints(properties: Element) -> bool:
    """Return whether properties paint a background that is not white."""
    colour = properties.get(f"{FO}background-color", "transparent")
    image = properties.find(f"{STYLE}background-image")
    painted = image is not None and len(image.attrib) > 0
    filled = local_name(properties) == "page-layout-properties" and properties.get(f"{DRAW}fill", "none") != "none"
    return (colour != "transparent" and not is_alike(colour, WHITE)) or painted or filled


def _points(length: str | None) -> float | None:
    match = _LENGTH.fullmatch(length or "")
    return float(match.group(1)) * _UNITS[match.group(2)] if match and match.group(1) not in {"", "-"} else None


# ---- elements -------------------------------------------------------------------------------------------------------


def unseen_element(element: Element) -> HiddenReason | None:
    """Return why nothing of an element is visible: hidden section, paragraph, field or row, or a shape off the page."""
    name = local_name(element)
    if name in {"section", "hidden-text"}:
        hidden = element.get(f"{TEXT}display") == "none" or element.get(f"{TEXT}is-hidden") == "true"
        return HiddenReason.NOT_DISPLAYED if hidden else None
    if name in {"p", "h"}:
        fields = element.iter(f"{TEXT}hidden-paragraph")
        hidden = any(each.get(f"{TEXT}is-hidden") == "true" for each in fields)
        return HiddenReason.NOT_DISPLAYED if hidden else None
    if name == "table-row":
        return HiddenReason.NOT_DISPLAYED if element.get(f"{TABLE}visibility") in {"collapse", "filter"} else None
    if name in _SHAPES:
        if element.get(f"{DRAW}display") == "none":
            return HiddenReason.NOT_DISPLAYED
        return HiddenReason.OFF_PAGE if _is_away(element) else None
    return None


def _is_away(shape: Element) -> bool:
    on_page = shape.get(f"{TEXT}anchor-type") == "page"
    for place, extent in (("x", "width"), ("y", "height")):
        start = _points(shape.get(f"{SVG}{place}"))
        length = _points(shape.get(f"{SVG}{extent}"))
        if start is None:
            continue
        if abs(start) > _FARTHEST + (length or 0.0) or (on_page and length is not None and start + length <= 0):
            return True
    return False


def length_of(element: Element) -> int:
    """Count the non-blank characters in an element."""
    return nonblank_length("".join(str(text) for text in element.itertext()))
