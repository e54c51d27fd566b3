"""How styles show the text of a Word document: is a run hidden, struck out, too small, or coloured as its ground.

Where this is uncertain (a table style that shades some rows, a drawing behind the text, a pattern), text counts as
visible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.shared.containers import Element, attribute, child, is_on, local_name, value
from knowledge_mcp.readers.shared.hidden import WHITE, is_alike
from knowledge_mcp.readers.shared.numbering import whole_number

_MAX_INHERITANCE = 20
_TOO_SMALL = 2
"""Half points."""
_FARTHEST_POINTS = 22 * 72.0
"""Word's largest page, in points. Whatever is farther out than that is not on a page."""
_EMU_PER_POINT = 12700.0
_HIGHLIGHTS = {
    "black": "000000", "blue": "0000FF", "cyan": "00FFFF", "green": "00FF00", "magenta": "FF00FF", "red": "FF0000",
    "yellow": "FFFF00", "white": "FFFFFF", "darkBlue": "000080", "darkCyan": "008080", "darkGreen": "008000",
    "darkMagenta": "800080", "darkRed": "800000", "darkYellow": "808000", "darkGray": "808080", "lightGray": "C0C0C0",
}  # fmt: skip
_HIDING = frozenset({"vanish", "specVanish", "strike", "dstrike", "sz", "szCs", "color"})
_AWAY = re.compile(r"(?:^|;)\s*(?:margin-left|margin-top|left|top)\s*:\s*(-?\d{1,9}(?:\.\d{1,9})?)(pt|in|cm|mm)?")
_HEIGHT = re.compile(r"(?:^|;)\s*height\s*:\s*(\d{1,6}(?:\.\d{1,9})?)(pt|in|cm|mm|)")
_LINE_HEIGHT = 40.0
"""Largest height in points of a picture that is a formula: a fraction below a sum sign takes three lines of text."""
_UNITS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "": 1.0}


def properties_of(element: Element | None) -> Mapping[str, Element]:
    """Return properties by name; of properties with the same name, the first."""
    named: dict[str, Element] = {}
    for part in element if element is not None else ():
        named.setdefault(local_name(part), part)
    return named


@dataclass(frozen=True, slots=True)
class _Look:
    """How text looks; None where it is not specified.

    Attributes:
        vanish: whether it is hidden.
        struck: whether it is struck out.
        size, complex_size: half points; the second is for scripts that are written from right to left.
        colour: RRGGBB, or "auto".
        ground: background as RRGGBB, "auto" for the background of what is around it, "" for unknown.
        bold: whether it is bold.
        font: the name of its font.
    """

    vanish: bool | None = None
    struck: bool | None = None
    size: int | None = None
    complex_size: int | None = None
    colour: str | None = None
    ground: str | None = None
    bold: bool | None = None
    font: str | None = None

    def over(self, other: _Look) -> _Look:
        """Return this look, completed by another one where this one does not specify a value."""
        return _Look(
            other.vanish if self.vanish is None else self.vanish,
            other.struck if self.struck is None else self.struck,
            other.size if self.size is None else self.size,
            other.complex_size if self.complex_size is None else self.complex_size,
            self.colour or other.colour,
            other.ground if self.ground is None else self.ground,
            other.bold if self.bold is None else self.bold,
            self.font or other.font,
        )

    @property
    def is_plain(self) -> bool:
        """Return whether nothing in it can hide text."""
        small = self.size is not None and self.size <= _TOO_SMALL
        small = small or (self.complex_size is not None and self.complex_size <= _TOO_SMALL)
        return not self.vanish and not self.struck and not small and self.colour in {None, "auto"}


_NOTHING = _Look()
_HEAVY = re.compile(r"(?:Black|Heavy|Bold|Fett|Gras)(?:MT|PS)?\Z")
"""Fonts that are bold by their name, as in files that were made for print."""
_LARGER = 1.2
"""Titles are at least a fifth larger than text; small print and tables are not."""
_USUAL_SIZE = 20
"""Half points of text if a file does not specify a size: 10 points, Word's default."""


@dataclass(frozen=True, slots=True)
class _Style:
    based_on: str | None
    look: _Look
    paragraph_ground: str | None
    shades: bool


class Looks:
    """Answer how runs look. Each style is resolved once.

    Args:
        root: the part with the styles, None if there is none.
        page: returns the page colour, empty if it is unknown; called at most once, and only if it matters.
    """

    def __init__(self, root: Element | None, page: Callable[[], str] = lambda: WHITE) -> None:
        self._styles: dict[str, _Style] = {}
        self._chains: dict[str | None, _Look] = {}
        self._defaults = _look(properties_of(child(root, "docDefaults", "rPrDefault", "rPr")))
        self._default: str | None = None
        self._ask_page = page
        self._page: str | None = None
        for element in root if root is not None else ():
            if local_name(element) == "style":
                self._add(element)

    def reason(self, properties: Mapping[str, Element], style_id: str | None, run: Element) -> HiddenReason | None:
        """Return why a run with these properties, in a paragraph of this style, is not visible; None if it is."""
        base = self._of_paragraph(style_id)
        written = self._chain(value(properties["rStyle"])) if "rStyle" in properties else _NOTHING
        if base.is_plain and written.is_plain and _HIDING.isdisjoint(properties):
            return None
        own = _look(properties)
        if self._vanishes(own, written, base):
            return HiddenReason.NOT_DISPLAYED
        look = own.over(written).over(base)
        if look.struck:
            return HiddenReason.STRUCK
        size = look.complex_size if is_on(properties.get("rtl")) or is_on(properties.get("cs")) else look.size
        if size is not None and size <= _TOO_SMALL:
            return HiddenReason.TOO_SMALL
        if look.colour in {None, "auto"}:
            return None
        ground = self._ground(run) if look.ground in {None, "auto"} else look.ground
        return HiddenReason.COLOUR if is_alike(look.colour, ground) else None

    def stands_out(self, properties: Mapping[str, Element], style_id: str | None) -> bool:
        """Return whether a run is bolder or larger than the document's text, by its own properties or its styles."""
        base = self._of_paragraph(style_id)
        if not properties and style_id in {None, self._default}:
            return bool(base.bold)
        styled = self._chain(value(properties["rStyle"])).over(base) if "rStyle" in properties else base
        usual = self._of_paragraph(None)
        if is_on(properties["b"]) if "b" in properties else styled.bold:
            return True
        font = attribute(properties.get("rFonts"), "ascii") or styled.font
        if font != usual.font and _HEAVY.search(font or ""):
            return True
        size = whole_number(value(properties.get("sz")), styled.size)
        return (size or 0) >= _LARGER * (usual.size or _USUAL_SIZE)

    def _vanishes(self, own: _Look, written: _Look, base: _Look) -> bool:
        """Combine the toggles: a run's own value wins; otherwise those of its two styles cancel each other."""
        if own.vanish is not None:
            return own.vanish
        return bool(self._defaults.vanish) or bool(written.vanish) != bool(base.vanish)

    def _of_paragraph(self, style_id: str | None) -> _Look:
        chain = style_id if style_id is not None else self._default
        key = f"p {chain}"
        if key not in self._chains:
            self._chains[key] = self._chain(chain).over(self._defaults)
        return self._chains[key]

    def _chain(self, style_id: str | None) -> _Look:
        if style_id not in self._chains:
            look = _NOTHING
            for style in self._line(style_id):
                look = look.over(style.look)
            self._chains[style_id] = look
        return self._chains[style_id]

    def _line(self, style_id: str | None) -> Iterator[_Style]:
        """Yield a style and the styles it is based on, nearest first."""
        for _ in range(_MAX_INHERITANCE):
            style = self._styles.get(style_id or "")
            if style is None:
                return
            yield style
            style_id = style.based_on

    def _add(self, element: Element) -> None:
        style_id = attribute(element, "styleId") or ""
        self._styles[style_id] = _Style(
            value(element, "basedOn"),
            _look(properties_of(child(element, "rPr"))),
            _fill(child(element, "pPr", "shd")),
            next(element.iter("{*}shd"), None) is not None,
        )
        if attribute(element, "type") == "paragraph" and (attribute(element, "default") or "") in {"1", "true", "on"}:
            self._default = style_id

    # ---- background of a run

    def _ground(self, run: Element) -> str:
        """Return the background of a run: that of its paragraph, cell, table, box or page; empty if unknown."""
        for above in run.iterancestors():
            name = local_name(above)
            found: str | None = None
            if name == "p":
                found = self._behind_paragraph(above)
            elif name == "tc":
                found = _fill(child(above, "tcPr", "shd"))
            elif name == "tr":
                found = _fill(child(above, "tblPrEx", "shd"))
            elif name == "tbl":
                found = self._behind_table(above)
            elif name == "txbxContent":
                return _behind_box(above)
            if found not in {None, "auto"}:
                return found or ""
        if self._page is None:
            self._page = self._ask_page()
        return self._page

    def _behind_paragraph(self, paragraph: Element) -> str | None:
        found = _fill(child(paragraph, "pPr", "shd"))
        styles = self._line(value(paragraph, "pPr", "pStyle") or self._default)
        grounds = (style.paragraph_ground for style in styles if style.paragraph_ground is not None)
        return found if found is not None else next(grounds, None)

    def _behind_table(self, table: Element) -> str | None:
        found = _fill(child(table, "tblPr", "shd"))
        if found in {None, "auto"} and any(style.shades for style in self._line(value(table, "tblPr", "tblStyle"))):
            return ""
        return found


def _look(properties: Mapping[str, Element]) -> _Look:
    if not properties:
        return _NOTHING
    vanish = [is_on(properties[name]) for name in ("vanish", "specVanish") if name in properties]
    struck = [is_on(properties[name]) for name in ("strike", "dstrike") if name in properties]
    highlight = value(properties.get("highlight")) or "none"
    ground = _HIGHLIGHTS.get(highlight, "") if highlight != "none" else _fill(properties.get("shd"))
    return _Look(
        any(vanish) if vanish else None,
        any(struck) if struck else None,
        whole_number(value(properties.get("sz")), None),
        whole_number(value(properties.get("szCs")), None),
        value(properties.get("color")),
        ground,
        is_on(properties["b"]) if "b" in properties else None,
        attribute(properties["rFonts"], "ascii") if "rFonts" in properties else None,
    )


def _fill(shading: Element | None) -> str | None:
    """Return the colour of a shading: "auto" if it has none, empty for a pattern, None if there is no shading."""
    if shading is None:
        return None
    pattern = value(shading)
    if pattern == "nil":
        return "auto"
    if pattern == "solid":
        return (attribute(shading, "color") or "").replace("auto", "000000")
    fill = attribute(shading, "fill") or "auto"
    return fill if pattern in {None, "clear"} else ""


def _behind_box(content: Element) -> str:
    """Return the fill colour of a text box, empty if it is not a plain colour."""
    shape = next((above for above in content.iterancestors() if local_name(above) == "wsp"), None)
    return attribute(child(shape, "spPr", "solidFill", "srgbClr"), "val") or ""


# ---- drawings -------------------------------------------------------------------------------------------------------


def unseen_drawing(element: Element) -> HiddenReason | None:
    """Return why a drawing is not visible: it is hidden or off any page; None if it is visible."""
    for part in element.iter("{*}docPr", "{*}anchor", "{*}group", "{*}shape", "{*}rect"):
        name = local_name(part)
        if name == "docPr" and (attribute(part, "hidden") or "") in {"1", "true", "on"}:
            return HiddenReason.NOT_DISPLAYED
        if name == "anchor" and _is_away(part):
            return HiddenReason.OFF_PAGE
        if name in {"group", "shape", "rect"}:  # inside a group, lengths are in units of the group
            style = attribute(part, "style") or ""
            if re.search(r"visibility\s*:\s*hidden", style):
                return HiddenReason.NOT_DISPLAYED
            far = (float(size) * _UNITS[unit] for size, unit in _AWAY.findall(style))
            if any(abs(distance) > 2 * _FARTHEST_POINTS for distance in far):
                return HiddenReason.OFF_PAGE
        if name != "anchor":  # the rest is inside
            break
    return None


def stands_in_line(element: Element) -> bool:
    """Return whether a picture is set like a character in a line, as formulas are: at most two or three lines high.

    A drawing with text boxes is not.
    """
    if next(element.iter("{*}txbxContent", "{*}anchor"), None) is not None:
        return False
    extent = next(element.iter("{*}extent"), None)
    height = attribute(extent, "cy") if extent is not None else None
    if height is not None:
        return 0 < whole_number(height, 0) / _EMU_PER_POINT <= _LINE_HEIGHT
    shape = next(element.iter("{*}shape", "{*}rect"), None)
    style = attribute(shape, "style") if shape is not None else None
    found = _HEIGHT.search(style) if style and "absolute" not in style else None
    return found is not None and 0 < float(found[1]) * _UNITS[found[2]] <= _LINE_HEIGHT


def _is_away(anchor: Element) -> bool:
    extent = child(anchor, "extent")
    for axis, length in (("positionH", "cx"), ("positionV", "cy")):
        place = child(anchor, axis)
        offset = child(place, "posOffset")
        text = (offset.text or "").strip() if offset is not None else ""
        if not re.fullmatch(r"-?\d{1,12}", text):
            continue
        start = int(text) / _EMU_PER_POINT
        size = attribute(extent, length) or ""
        end = start + whole_number(size, 0) / _EMU_PER_POINT
        before = 0.0 if attribute(place, "relativeFrom") == "page" else -_FARTHEST_POINTS
        if start >= _FARTHEST_POINTS or end <= before:
            return True
    return False
