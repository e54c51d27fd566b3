"""Child process: remove hidden text from the XML of a presentation's slides, and count it by reason.

It also writes raised and lowered digits as superscripts and subscripts.

Hidden are: hidden slides and shapes, shapes completely off the slide, letters that are struck out, of one point or
less, or transparent, and letters in the colour of their background, if that is certain: it is not if there is a filled
shape or picture below.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.slides_completed import EXPECTED, SHAPES
from knowledge_mcp.readers.shared.containers import Element, local_name, member, parse_xml, relations_of
from knowledge_mcp.readers.shared.hidden import is_alike, nonblank_length
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import raised_or_lowered

_TOO_SMALL = 100
"""Hundredths of a point."""
_AROUND, _HARDLY = 914_400.0, 180_000.0
"""An inch, and a fifth of an inch, in EMU."""
_MOST_DEPTH = 30
_HINTS = re.compile(
    rb"""\b(?:(?:hidden|show)=["']|sz=["'](?:100|\d{1,2})["']|strike=["'][sd]|baseline=["']-?[1-9])"""
    rb"""|<a:off |<a:(?:solidFill|noFill)\b|AlternateContent"""
)

_Box = tuple[float, float, float, float]
_Frame = tuple[float, float, float, float]
"""Scale and offset of a point inside a group: scale x, scale y, offset x, offset y."""
_SAME: _Frame = (1.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class Seen:
    """What is visible of a presentation.

    Attributes:
        members: changed parts of the file without hidden text, by name.
        hidden: number of removed characters, by `HiddenReason`.
        slides: numbers of the hidden slides, from 1.
    """

    members: dict[str, bytes] = field(default_factory=dict[str, bytes])
    hidden: Counter[str] = field(default_factory=Counter[str])
    slides: list[int] = field(default_factory=list[int])


def seen_of(
    archive: zipfile.ZipFile, slides: Sequence[str], size: tuple[float, float], completed: Mapping[str, bytes]
) -> Seen:
    """Remove hidden text from slides.

    Args:
        archive: the presentation.
        slides: names of the slides' parts, in order.
        size: width and height of a slide, in EMU.
        completed: slides that were changed before, by the names of their parts.
    """
    from lxml import etree

    seen = Seen()
    sieve = _Sieve(archive, size, seen.hidden)
    for number, name in enumerate(slides, 1):
        data = completed.get(name) or member(archive, name) or b""
        if not _HINTS.search(data):
            continue
        slide = parse_xml(data, EXPECTED)
        before = seen.hidden.total()
        sieve.is_changed = False
        if slide.get("show") in {"0", "false"}:
            seen.slides.append(number)
            sieve.empty(slide)
            notes = sieve.related(name, "notesSlide")
            if words := member(archive, notes):
                page = parse_xml(words, EXPECTED)
                sieve.empty(page)
                seen.members[notes] = etree.tostring(page)
        else:
            sieve.sift(slide, name)
        if seen.hidden.total() != before or number in seen.slides or sieve.is_changed:
            seen.members[name] = etree.tostring(slide)
    return seen


class _Sieve:
    """Remove hidden text from slides, and count it."""

    def __init__(self, archive: zipfile.ZipFile, size: tuple[float, float], hidden: Counter[str]) -> None:
        self._archive = archive
        self._size = size
        self._hidden = hidden
        self.is_changed = False
        self._grounds: dict[str, _Ground] = {}
        self._relations: dict[str, dict[str, str]] = {}

    def empty(self, slide: Element) -> None:
        """Remove all words of a hidden slide."""
        tree = slide.find("{*}cSld/{*}spTree")
        for shape in _shapes(tree):
            self._drop(shape, HiddenReason.NOT_DISPLAYED)

    def sift(self, slide: Element, name: str) -> None:
        """Remove hidden text from a visible slide."""
        tree = slide.find("{*}cSld/{*}spTree")
        if tree is None:
            return
        ground = self._ground(self.related(name, "slideLayout")).under(slide.find("{*}cSld/{*}bg"))
        self._shapes(tree, _SAME, ground, 0)

    def related(self, name: str, kind: str) -> str:
        """Return the name of the part that a part relates to as `kind`, empty if there is none."""
        if name not in self._relations:
            relations = [*relations_of(partial(member, self._archive), name, EXPECTED)]
            self._relations[name] = {each.kind: each.target for each in reversed(relations) if not each.external}
        return self._relations[name].get(kind, "")

    def _ground(self, layout: str) -> _Ground:
        """Return the background of slides with this layout."""
        if layout not in self._grounds:
            master = self.related(layout, "slideMaster") if layout else ""
            theme = self.related(master, "theme") if master else ""
            roots = [
                parse_xml(data, EXPECTED) if (data := member(self._archive, name)) else None
                for name in (theme, master, layout)
            ]
            ground = _Ground(_scheme(roots[0], roots[1]), "", [])
            for root in roots[1:]:
                if root is not None:
                    ground = ground.under(root.find("{*}cSld/{*}bg"))
                    tree = root.find("{*}cSld/{*}spTree")
                    painted = [_painted(shape, _SAME) for shape in _shapes(tree)]
                    ground = _Ground(ground.scheme, ground.colour, [*ground.painted, *filter(None, painted)])
            self._grounds[layout] = ground
        return self._grounds[layout]

    def _shapes(self, tree: Element, frame: _Frame, ground: _Ground, depth: int) -> None:
        if depth > _MOST_DEPTH:
            return
        for shape in _shapes(tree):
            box = _box(shape, frame)
            if _is_hidden(shape):
                self._drop(shape, HiddenReason.NOT_DISPLAYED)
            elif box is not None and self._is_away(box):
                self._drop(shape, HiddenReason.OFF_PAGE)
            elif local_name(shape) == "grpSp":
                self._shapes(shape, _inner(shape, frame), ground, depth + 1)
            else:
                self._runs(shape, box, ground)
                painted = _painted(shape, frame)
                if painted is not None:
                    ground.painted.append(painted)

    def _is_away(self, box: _Box) -> bool:
        left, top, right, bottom = _grown(box, 0.0)
        return right <= 0 or bottom <= 0 or left >= self._size[0] or top >= self._size[1]

    def _drop(self, shape: Element, reason: HiddenReason) -> None:
        for text in shape.iter("{*}t"):
            self._hidden[reason] += nonblank_length(text.text)
        parent = shape.getparent()
        if parent is not None:
            parent.remove(shape)

    def _runs(self, shape: Element, box: _Box | None, ground: _Ground) -> None:
        behind: str | None = None
        for run in shape.iter("{*}r", "{*}fld"):
            properties = run.find("{*}rPr")
            size = (properties.get("sz") if properties is not None else None) or _listed(run, "sz")
            reason: HiddenReason | None = None
            if whole_number(size, _TOO_SMALL + 1) <= _TOO_SMALL:
                reason = HiddenReason.TOO_SMALL
            elif properties is not None and properties.get("strike", "noStrike") != "noStrike":
                reason = HiddenReason.STRUCK
            elif (
                properties is not None and properties.find("{*}ln") is None and properties.find("{*}effectLst") is None
            ):
                fill = properties.find("{*}solidFill")
                if properties.find("{*}noFill") is not None or _alpha(fill) == 0:
                    reason = HiddenReason.TRANSPARENT
                elif fill is not None:
                    behind = ground.behind(shape, box) if behind is None else behind
                    own = _cell_ground(run, ground) if local_name(shape) == "graphicFrame" else behind
                    reason = HiddenReason.COLOUR if is_alike(ground.named(fill), own) else None
            baseline = properties.get("baseline", "0") if properties is not None else "0"
            if baseline.strip("-0%"):
                self.is_changed = True
                for text in run.iter("{*}t"):
                    text.text = raised_or_lowered(text.text or "", "sub" if baseline.startswith("-") else "super")
            if reason is not None:
                for text in run.iter("{*}t"):
                    self._hidden[reason] += nonblank_length(text.text)
                    text.text = ""


@dataclass(slots=True)
class _Ground:
    """The background of a slide's shapes.

    Attributes:
        scheme: colours by their names in the slide's colour scheme.
        colour: the plain colour of the background, empty if it is not plain.
        painted: boxes of what is painted on it, below the current shape.
    """

    scheme: Mapping[str, str]
    colour: str
    painted: list[_Box]

    def under(self, background: Element | None) -> _Ground:
        """Return the background of a slide or layout that may have its own, else this one; the boxes are copied."""
        colour = self.colour
        if background is not None:
            fill = background.find("{*}bgPr/{*}solidFill")
            reference = background.find("{*}bgRef")
            plain = reference is not None and reference.get("idx") == "1001" and self.scheme.get("plain")
            colour = self.named(fill) if fill is not None else self.named(reference) if plain else ""
        return _Ground(self.scheme, colour, [*self.painted])

    def named(self, fill: Element | None) -> str:
        """Return a fill's colour, empty if it is modified or unknown."""
        for colour in fill if fill is not None else ():
            if len(colour):
                return ""
            if local_name(colour) == "srgbClr":
                return colour.get("val", "")
            if local_name(colour) == "sysClr":
                return colour.get("lastClr", "")
            if local_name(colour) == "schemeClr":
                return self.scheme.get(colour.get("val", ""), "")
        return ""

    def behind(self, shape: Element, box: _Box | None) -> str:
        """Return the colour behind the words of a shape, empty if it is unknown."""
        fill = shape.find("{*}spPr/{*}solidFill")
        if fill is not None:
            return self.named(fill)
        if _is_painted(shape) or any(box is None or _overlap(_grown(box, _AROUND), other) for other in self.painted):
            return ""
        return self.colour


def _scheme(theme: Element | None, master: Element | None) -> dict[str, str]:
    """Return a theme's colours by the names that slides use; `plain` is set if its first background is a plain fill."""
    found: dict[str, str] = {}
    colours = next(iter(theme.iter("{*}clrScheme")), None) if theme is not None else None
    for entry in colours if colours is not None else ():
        for colour in entry:
            found[local_name(entry)] = colour.get("lastClr") or colour.get("val", "")
    mapped = master.find("{*}clrMap") if master is not None else None
    for name, target in mapped.attrib.items() if mapped is not None else ():
        found[str(name)] = found.get(str(target), "")
    first = next(iter(theme.iter("{*}bgFillStyleLst")), None) if theme is not None else None
    fill = first[0] if first is not None and len(first) else None
    if fill is not None and local_name(fill) == "solidFill" and len(fill) == 1 and not len(fill[0]):
        found["plain"] = "1"
    return found


def _cell_ground(run: Element, ground: _Ground) -> str:
    """Return the fill colour of a table's cell, empty if it has none: the table's style may fill it."""
    cell = next((above for above in run.iterancestors() if local_name(above) == "tc"), None)
    return ground.named(cell.find("{*}tcPr/{*}solidFill")) if cell is not None else ""


def _listed(run: Element, name: str) -> str | None:
    """Return what the list style of a run's shape specifies for the run's level."""
    paragraph = run.getparent()
    body = paragraph.getparent() if paragraph is not None else None
    if paragraph is None or body is None:
        return None
    settings = paragraph.find("{*}pPr")
    level = settings.get("lvl", "0") if settings is not None else "0"
    number = whole_number(level, 0) + 1
    default = body.find(f"{{*}}lstStyle/{{*}}lvl{number}pPr/{{*}}defRPr")
    return default.get(name) if default is not None else None


def _alpha(fill: Element | None) -> int | None:
    found = fill.find("{*}*/{*}alpha") if fill is not None else None
    text = found.get("val", "") if found is not None else ""
    return whole_number(text, None)


# ---- shapes ---------------------------------------------------------------------------------------------------------


def _shapes(tree: Element | None) -> list[Element]:
    return [shape for shape in tree if local_name(shape) in SHAPES] if tree is not None else []


def _is_hidden(shape: Element) -> bool:
    names = (part.find("{*}cNvPr") for part in shape if local_name(part).startswith("nv"))
    return any(name is not None and name.get("hidden") in {"1", "true"} for name in names)


def _is_painted(shape: Element) -> bool:
    """Return whether a shape may have a fill that is no plain colour, or that of a style."""
    settings, style = shape.find("{*}spPr"), shape.find("{*}style/{*}fillRef")
    names = {local_name(part) for part in settings} if settings is not None else set[str]()
    is_styled = "noFill" not in names and style is not None and style.get("idx") != "0"
    return is_styled or not names.isdisjoint({"gradFill", "pattFill", "blipFill", "grpFill"})


def _painted(shape: Element, frame: _Frame) -> _Box | None:
    """Return the box that a shape may paint, infinite if its position is unknown; None if it paints nothing."""
    everywhere = (-math.inf, -math.inf, math.inf, math.inf)
    kind = local_name(shape)
    is_empty = kind == "sp" and shape.find("{*}spPr/{*}solidFill") is None and not _is_painted(shape)
    if is_empty or kind == "cxnSp":
        return None
    return _box(shape, frame) or everywhere


def _transform(shape: Element) -> Element | None:
    kinds = {"grpSp": "{*}grpSpPr/{*}xfrm", "graphicFrame": "{*}xfrm"}
    return shape.find(kinds.get(local_name(shape), "{*}spPr/{*}xfrm"))


def _pair(transform: Element, name: str, keys: str) -> tuple[float, float] | None:
    part = transform.find(f"{{*}}{name}")
    texts = [part.get(key, "") for key in keys.split()] if part is not None else []
    if len(texts) != 2 or not all(re.fullmatch(r"-?\d{1,12}", text) for text in texts):
        return None
    return float(texts[0]), float(texts[1])


def _box(shape: Element, frame: _Frame) -> _Box | None:
    """Return a shape's box on the slide: left, top, right, bottom in EMU; None if it inherits its position."""
    transform = _transform(shape)
    if transform is None:
        return None
    place, extent = _pair(transform, "off", "x y"), _pair(transform, "ext", "cx cy")
    if place is None or extent is None:
        return None
    across, down, right, below = frame
    left, top = place[0] * across + right, place[1] * down + below
    width, height = extent[0] * abs(across), extent[1] * abs(down)
    if transform.get("rot", "0") != "0":
        reach = math.hypot(width, height) / 2
        x, y = left + width / 2, top + height / 2
        return x - reach, y - reach, x + reach, y + reach
    return left, top, left + width, top + height


def _inner(group: Element, frame: _Frame) -> _Frame:
    """Return scale and offset from positions inside a group to positions on the slide."""
    transform = _transform(group)
    if transform is None:
        return frame
    place, extent = _pair(transform, "off", "x y"), _pair(transform, "ext", "cx cy")
    start, length = _pair(transform, "chOff", "x y"), _pair(transform, "chExt", "cx cy")
    if place is None or extent is None or start is None or length is None or not (length[0] and length[1]):
        return frame
    across, down = extent[0] / length[0], extent[1] / length[1]
    right, below = place[0] - start[0] * across, place[1] - start[1] * down
    return across * frame[0], down * frame[1], right * frame[0] + frame[2], below * frame[1] + frame[3]


def _grown(box: _Box, margin: float) -> _Box:
    """Return a box with a margin for words that extend beyond it; a wide margin if the box is very thin."""
    if min(box[2] - box[0], box[3] - box[1]) < _HARDLY:
        margin = 10 * _AROUND
    return box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
