"""In the child: text that a page holds and does not show is taken out of its tree, and counted by reason.

Judged are attributes, inline styles and the page's own rules for one tag, class or id that hold under no condition.
Where another rule, or a stylesheet that is not in the page, may show the text after all, it stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from knowledge_mcp.model.hidden import HiddenReason
from knowledge_mcp.readers.html_styles import Sheet, colour_of, declarations, pixels

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

__all__ = ["reason_of", "take_out_hidden"]

_UNSAID = frozenset({"script", "style", "template", "noscript", "head"})
_NEAR = 6
"""Difference of each of red, green and blue up to which two colours look the same."""
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_FAR, _TINY = -999.0, 1.0
_EDGES = ("left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True)
class _State:
    """What an element hands down: None where it is not known."""

    visible: bool = True
    size: float | None = 16.0
    colour: tuple[int, int, int] | None = _BLACK
    background: tuple[int, int, int] | None = _WHITE
    clear: bool = False

    @property
    def reason(self) -> HiddenReason | None:
        """Tell why words that stand here are not seen."""
        if not self.visible:
            return HiddenReason.NOT_DISPLAYED
        if self.size is not None and self.size <= _TINY:
            return HiddenReason.TOO_SMALL
        if self.clear:
            return HiddenReason.TRANSPARENT
        if self.colour is None or self.background is None:
            return None
        alike = all(abs(one - other) <= _NEAR for one, other in zip(self.colour, self.background, strict=True))
        return HiddenReason.COLOUR if alike else None


def take_out_hidden(root: Element) -> Counter[str]:
    """Empty what a page does not show, and count its characters that are not blank by `HiddenReason`."""
    sheet = Sheet.of(root)
    counted: Counter[str] = Counter()
    first = _State(background=None if sheet.is_partial else _WHITE)
    open_: list[tuple[Element, _State]] = [(root, first)]
    while open_:
        element, above = open_.pop()
        tag = _name(element)
        if tag in _UNSAID or not tag:
            continue
        told = sheet.style_of(element, tag)
        attributes = cast("Mapping[str, str]", element.attrib)
        reason = _cut(attributes, told)
        if reason is not None:
            counted[reason] += _said(element)
            element.clear(keep_tail=True)
            continue
        state = _below(above, attributes, told, partial=sheet.is_partial)
        reason = state.reason
        if reason is not None:
            _blank(element, reason, counted)
        open_.extend((child, state) for child in element)
    return +counted


def reason_of(attributes: Mapping[str, str]) -> HiddenReason | None:
    """Tell why an element that stands alone is not seen, by its attributes; None where it is."""
    told = declarations(attributes.get("style", ""))
    return _cut(attributes, told) or _below(_State(), attributes, told, partial=False).reason


def _cut(attributes: Mapping[str, str], told: dict[str, str]) -> HiddenReason | None:
    """Tell why an element is not seen with all that is in it."""
    if attributes and ("hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true"):
        return HiddenReason.MARKED
    if not told:
        return None
    if told.get("display") == "none":
        return HiddenReason.NOT_DISPLAYED
    if pixels(told.get("opacity", "1"), 1.0) == 0.0:
        return HiddenReason.TRANSPARENT
    if _is_clipped(told):
        return HiddenReason.CLIPPED
    moved = [told.get("text-indent"), told.get("margin-left")]
    if told.get("position") in {"absolute", "fixed"}:
        moved += [told.get(edge) for edge in _EDGES]
    places = [pixels(length, 16.0) for length in moved if length]
    return HiddenReason.OFF_PAGE if any(place is not None and place <= _FAR for place in places) else None


def _is_clipped(told: dict[str, str]) -> bool:
    placed = told.get("position") in {"absolute", "fixed"}
    clip = told.get("clip", "").replace("rect(", "").rstrip(")").replace(",", " ").split()
    if placed and len(clip) == 4 and all((pixels(edge, 16.0) or 0.0) <= _TINY and edge != "auto" for edge in clip):
        return True
    path = told.get("clip-path", "")
    if path.startswith("inset("):
        inset = path.removeprefix("inset(").rstrip(")").split()
        share = inset[0].removesuffix("%") if len(inset) == 1 and inset[0].endswith("%") else ""
        if share.replace(".", "", 1).isdigit() and float(share) >= 50:
            return True
    sides = [pixels(told[side], 16.0) for side in ("width", "height", "max-width", "max-height") if side in told]
    tiny = any(side is not None and side <= _TINY for side in sides)
    return tiny and told.get("overflow", "") in {"hidden", "clip"}


def _below(above: _State, attributes: Mapping[str, str], told: dict[str, str], *, partial: bool) -> _State:
    """Work out what an element hands down to its words and children."""
    if not attributes and not told:
        return above
    state = above
    if partial and (attributes.get("class") or attributes.get("id")):
        # a rule that is not known may give it another look
        state = _State(background=None)
    visibility = told.get("visibility")
    if visibility is not None:
        state = replace(state, visible=visibility not in {"hidden", "collapse"})
    if "font-size" in told:
        state = replace(state, size=pixels(told["font-size"], 16.0 if state.size is None else state.size))
    colour = told.get("color") or attributes.get("color") or attributes.get("text")
    if colour:
        got, clear = colour_of(colour)
        state = replace(state, colour=got, clear=clear)
    background = told.get("background-color") or attributes.get("bgcolor")
    if told.get("background-image") or attributes.get("background"):
        state = replace(state, background=None)
    elif background:
        got, clear = colour_of(background)
        state = state if clear else replace(state, background=got)
    return state


def _blank(element: Element, reason: HiddenReason, counted: Counter[str]) -> None:
    """Take an element's own words out; its children are judged by themselves."""
    for words in (element.text, *(child.tail for child in element)):
        counted[reason] += _signs(words)
    element.text = None
    for child in element:
        child.tail = None
    if element.get("alt"):
        counted[reason] += _signs(element.attrib.pop("alt"))


def _said(element: Element) -> int:
    """Count the characters that an element would have said."""
    count, open_ = 0, [element]
    while open_:
        here = open_.pop()
        if _name(here) in _UNSAID:
            continue
        count += _signs(here.text) + _signs(here.get("alt"))
        for child in here:
            count += _signs(child.tail)
            open_.append(child)
    return count


def _signs(text: str | None) -> int:
    return len("".join(text.split())) if text else 0


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""
