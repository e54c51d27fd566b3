"""Child process: remove hidden text from the tree of a page, and count it by reason.

Attributes, inline styles, and the page's own unconditional rules for one tag, class or id are evaluated. Text is kept
if another rule, or a stylesheet outside the page, may show it.

Panels of tabs and accordions, which a page shows when a reader opens them, are text of the page if something visible (a
tab or a button) names them. Menus, dialogs and notices that open in this way are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.shared.containers import Element, local_name, words_of
from knowledge_mcp.readers.shared.hidden import nonblank_length

_STYLE_PROPERTIES = frozenset(
    "display visibility opacity font-size color background-color background-image position left top right bottom"
    " text-decoration text-decoration-line text-indent margin-left clip clip-path width height max-width max-height"
    " overflow".split()
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_PLAIN = re.compile(r"(?P<tag>[A-Za-z][A-Za-z0-9]{0,30})?(?:(?P<mark>[.#])(?P<name>[\w-]{1,100}))?")
_NAMES = re.compile(r"[.#]?[A-Za-z_][\w-]{0,99}")
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(px|pt|r?em|ex|ch|%|vw|vh|cm|mm|in)?")
_FONT = re.compile(r"(?:^|\s)(\d{0,6}\.?\d{1,6}(?:px|pt|r?em|%)?)(?=[\s/])")
_UNITS = {"px": 1.0, None: 1.0, "pt": 4 / 3, "rem": 16.0, "cm": 37.8, "mm": 3.78, "in": 96.0, "vw": 10.0, "vh": 10.0}
_COLOURS = {
    "white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "red": (255, 0, 0), "green": (0, 128, 0),
    "blue": (0, 0, 255), "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "silver": (192, 192, 192), "navy": (0, 0, 128), "lime": (0, 255, 0), "orange": (255, 165, 0),
}  # fmt: skip
_PERCENT_OR_NUMBER = re.compile(r"(\d{1,4}(?:\.\d{0,6})?|\.\d{1,6})(%?)")
_MOST_RULES = 20_000


def declarations(text: str) -> dict[str, str]:
    """Read declarations that can hide text; the last one of a property counts, `!important` ones take precedence."""
    found: dict[str, str] = {}
    important: dict[str, str] = {}
    for part in _COMMENT.sub(" ", text).split(";"):
        name, colon, value = part.partition(":")
        key, value = name.strip().lower(), " ".join(value.lower().split())
        if not colon:
            continue
        weighty = value.endswith("!important")
        into = important if weighty else found
        value = value.removesuffix("!important").rstrip()
        if key in _STYLE_PROPERTIES:
            into[key] = value
        elif key == "font" and (size := _FONT.search(value)):
            into["font-size"] = size.group(1)
        elif key == "background":
            into["background-image"] = "" if colour_of(value) != (None, False) else value
            into["background-color"] = value if not into["background-image"] else ""
        elif key in {"overflow-x", "overflow-y"}:
            into["overflow"] = value
    if found.get("background-image") == "none":
        found["background-image"] = ""
    return found | important


def pixels(length: str, parent: float) -> float | None:
    """Convert a length to pixels, relative ones by the parent's size; None if it is invalid or unknown."""
    match = _LENGTH.fullmatch(length)
    if match is None:
        return None
    number, unit = float(match.group(1)), match.group(2)
    if unit == "%":
        return number * parent / 100
    if unit in {"em", "ex", "ch"}:
        return number * parent * (1.0 if unit == "em" else 0.5)
    return number * _UNITS[unit]


def colour_of(text: str) -> tuple[tuple[int, int, int] | None, bool]:
    """Return a colour's red, green and blue, None if unknown; and whether it is fully transparent."""
    value = text.strip().lower()
    if value == "transparent":
        return None, True
    if value.startswith("#") and len(value) in {4, 5, 7, 9}:
        digits = value[1:] if len(value) > 5 else "".join(digit * 2 for digit in value[1:])
        if not re.fullmatch(r"[0-9a-f]+", digits):
            return None, False
        if digits[6:] == "00":
            return None, True
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)), False
    if value.startswith(("rgb(", "rgba(")) and value.endswith(")"):
        parts = _PERCENT_OR_NUMBER.findall(value)
        if len(parts) in {3, 4}:
            red, green, blue = (min(round(float(n) * (2.55 if percent else 1)), 255) for n, percent in parts[:3])
            if len(parts) == 4 and float(parts[3][0]) == 0:
                return None, True
            return (red, green, blue), False
    return _COLOURS.get(value), False


@dataclass(slots=True)
class Sheet:
    """The rules of a page that can hide text.

    Attributes:
        rules: declarations by selector ("p", ".note", "#top", "p.note"), in order of precedence.
        doubted: properties that a rule of another kind also sets, by the names in its selectors.
        is_partial: rules are missing: those of files, and those with other selectors.
    """

    rules: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    doubted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    is_partial: bool = False

    @classmethod
    def of(cls, root: Element) -> Sheet:
        """Read the rules of a page's own style elements."""
        sheet = cls()
        whole = root.getroottree().getroot()
        for element in whole.iter("style", "{*}style"):
            if (element.get("media") or "all").strip().lower() in {"all", "screen"}:
                sheet._read(element.text or "")
        for element in whole.iter("link", "{*}link"):
            sheet.is_partial = sheet.is_partial or "stylesheet" in (element.get("rel") or "").lower()
        return sheet

    def style_of(self, element: Element, tag: str) -> dict[str, str]:
        """Return the style of an element: its own before rules for its id, its classes and its tag."""
        own = element.get("style")
        if not self.rules:
            return declarations(own) if own else {}
        names = [f"#{element.get('id')}"] if element.get("id") else []
        names = [*(f".{name}" for name in (element.get("class") or "").split()), *names]
        style: dict[str, str] = {}
        for selector in (tag, *names, *(f"{tag}{name}" for name in names)):
            style |= self.rules.get(selector, {})
        if style and self.doubted:
            doubted = set[str]().union(*(self.doubted.get(name, set()) for name in (tag, *names)))
            style = {key: value for key, value in style.items() if key not in doubted}
        return style | declarations(own) if own else style

    def _read(self, text: str) -> None:
        plain = _COMMENT.sub(" ", text)
        self.is_partial = self.is_partial or "@import" in plain
        for count, (selectors, body, conditional) in enumerate(_rules(plain)):
            if count >= _MOST_RULES:
                self.is_partial = True
                return
            style = declarations(body)
            if not style:
                continue
            for selector in selectors.split(","):
                match = _PLAIN.fullmatch(selector.strip())
                if match is None or conditional:
                    self._doubt(selector, style)
                elif selector.strip():
                    key = f"{(match['tag'] or '').lower()}{match['mark'] or ''}{match['name'] or ''}"
                    self.rules[key] = self.rules.get(key, {}) | style

    def _doubt(self, selector: str, names: Iterable[str]) -> None:
        """Remember that another rule may show what a plain one hides."""
        last = re.split(r"[\s>+~]+", selector.strip())[-1]
        for name in _NAMES.findall(last):
            self.doubted.setdefault(name, set()).update(names)
        self.is_partial = self.is_partial or any(key.startswith(("background", "color")) for key in names)


def _rules(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors, declarations and whether they are conditional; rules for print only are left out."""
    around: list[str] = []
    place = 0
    for match in re.finditer(r"[{}]", text):
        part, place = text[place : match.start()], match.end()
        if match.group() == "{":
            around.append(part.rpartition(";")[2].strip())
        elif around:
            selectors = around.pop()
            if not selectors.startswith("@") and not any("print" in each.lower() for each in around):
                yield selectors, part, bool(around)


UNSAID = frozenset({"script", "style", "template", "noscript", "head"})
"""Elements whose words are never shown."""
_STRUCK = frozenset({"del", "s", "strike"})
_UNPLAYED = frozenset({"audio", "canvas", "iframe", "video"})
"""Elements whose words are a fallback for programs that cannot play or draw their content."""
_NEAR = 6
"""Largest difference of each of red, green and blue up to which two colours look the same."""
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_FAR, _TINY = -999.0, 1.0
_EDGES = ("left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True)
class _State:
    """What an element passes on to its children; None if unknown."""

    visible: bool = True
    size: float | None = 16.0
    colour: tuple[int, int, int] | None = _BLACK
    background: tuple[int, int, int] | None = _WHITE
    clear: bool = False

    @property
    def reason(self) -> HiddenReason | None:
        """Return why words here are not visible."""
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
    """Remove what a page does not show, and count its non-blank characters by `HiddenReason`."""
    sheet = Sheet.of(root)
    counted: Counter[str] = Counter()
    first = _State(background=None if sheet.is_partial else _WHITE)
    panels = open_panels(root, lambda element: _is_cut(element, sheet))
    open_: list[tuple[Element, _State]] = [(root, first)]
    while open_:
        element, above = open_.pop()
        tag = local_name(element).lower()
        if tag in UNSAID or not tag:
            continue
        style = sheet.style_of(element, tag)
        attributes = cast("Mapping[str, str]", element.attrib)
        if element in panels:
            style, attributes = {}, dict[str, str]()
        reason = _cut(tag, attributes, style)
        if reason is not None:
            counted[reason] += _nonblank_count(element)
            element.clear(keep_tail=True)
            continue
        state = _below(above, attributes, style, partial=sheet.is_partial)
        reason = state.reason
        if reason is not None:
            _blank(element, reason, counted)
        open_.extend((child, state) for child in element)
    return +counted


def _is_cut(element: Element, sheet: Sheet) -> bool:
    tag = local_name(element).lower()
    return _cut(tag, cast("Mapping[str, str]", element.attrib), sheet.style_of(element, tag)) is not None


def reason_of(tag: str, attributes: Mapping[str, str]) -> HiddenReason | None:
    """Return why an element without context is not visible, by its name and attributes; None if it is."""
    style = declarations(attributes.get("style", ""))
    return _cut(tag, attributes, style) or _below(_State(), attributes, style, partial=False).reason


def _cut(tag: str, attributes: Mapping[str, str], style: dict[str, str]) -> HiddenReason | None:
    """Return why an element is not visible with everything in it."""
    if attributes and ("hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true"):
        return HiddenReason.MARKED
    if tag in _UNPLAYED or (tag == "dialog" and "open" not in attributes):
        return HiddenReason.NOT_DISPLAYED
    drawn = style.get("text-decoration-line") or style.get("text-decoration") or ""
    if "line-through" in drawn or (tag in _STRUCK and not drawn):
        return HiddenReason.STRUCK
    if not style:
        return None
    if style.get("display") == "none":
        return HiddenReason.NOT_DISPLAYED
    if pixels(style.get("opacity", "1"), 1.0) == 0.0:
        return HiddenReason.TRANSPARENT
    if _is_clipped(style):
        return HiddenReason.CLIPPED
    moved = [style.get("text-indent"), style.get("margin-left")]
    if style.get("position") in {"absolute", "fixed"}:
        moved += [style.get(edge) for edge in _EDGES]
    places = [pixels(length, 16.0) for length in moved if length]
    return HiddenReason.OFF_PAGE if any(place is not None and place <= _FAR for place in places) else None


def _is_clipped(style: dict[str, str]) -> bool:
    placed = style.get("position") in {"absolute", "fixed"}
    clip = style.get("clip", "").replace("rect(", "").rstrip(")").replace(",", " ").split()
    if placed and len(clip) == 4 and all((pixels(edge, 16.0) or 0.0) <= _TINY and edge != "auto" for edge in clip):
        return True
    path = style.get("clip-path", "")
    if path.startswith("inset("):
        inset = path.removeprefix("inset(").rstrip(")").split()
        share = inset[0].removesuffix("%") if len(inset) == 1 and inset[0].endswith("%") else ""
        if share.isascii() and share.replace(".", "", 1).isdigit() and float(share) >= 50:
            return True
    sides = [pixels(style[side], 16.0) for side in ("width", "height", "max-width", "max-height") if side in style]
    tiny = any(side is not None and side <= _TINY for side in sides)
    return tiny and style.get("overflow", "") in {"hidden", "clip"}


def _below(above: _State, attributes: Mapping[str, str], style: dict[str, str], *, partial: bool) -> _State:
    """Return the state that an element passes on to its words and children."""
    if not attributes and not style:
        return above
    state = above
    if partial and (attributes.get("class") or attributes.get("id")):
        # an unknown rule may change its look
        state = _State(background=None)
    visibility = style.get("visibility")
    if visibility is not None:
        state = replace(state, visible=visibility not in {"hidden", "collapse"})
    if "font-size" in style:
        state = replace(state, size=pixels(style["font-size"], 16.0 if state.size is None else state.size))
    colour = style.get("color") or attributes.get("color") or attributes.get("text")
    if colour:
        got, clear = colour_of(colour)
        state = replace(state, colour=got, clear=clear)
    background = style.get("background-color") or attributes.get("bgcolor")
    if style.get("background-image") or attributes.get("background"):
        state = replace(state, background=None)
    elif background:
        got, clear = colour_of(background)
        state = state if clear else replace(state, background=got)
    return state


def _blank(element: Element, reason: HiddenReason, counted: Counter[str]) -> None:
    """Remove an element's own words; its children are judged separately."""
    for words in (element.text, *(child.tail for child in element)):
        counted[reason] += nonblank_length(words)
    element.text = None
    for child in element:
        child.tail = None
    if element.get("alt"):
        counted[reason] += nonblank_length(element.attrib.pop("alt"))


def _nonblank_count(element: Element) -> int:
    """Count the non-blank characters of an element."""
    count, open_ = 0, [element]
    while open_:
        here = open_.pop()
        if local_name(here).lower() in UNSAID:
            continue
        count += nonblank_length(here.text) + nonblank_length(here.get("alt"))
        for child in here:
            count += nonblank_length(child.tail)
            open_.append(child)
    return count


# ---- panels that a reader opens

_CONTROLS = frozenset({"a", "button", "summary", "li", "div", "span", "label", "h1", "h2", "h3", "h4", "h5", "h6"})
_TOGGLES = frozenset({"tab", "pill", "collapse", "accordion"})
_TARGETS = ("aria-controls", "data-bs-target", "data-target", "href")
_QUOTED = re.compile(r"['\"]#?([\w-]{1,100})['\"]")
_AROUND = frozenset({"nav", "header", "footer", "dialog", "aside", "form", "template"})
_AROUND_ROLES = frozenset(
    {"navigation", "menu", "menubar", "dialog", "alertdialog", "listbox", "search", "tooltip", "banner"}
)
_AROUND_NAMES = re.compile(
    r"cookie|consent|gdpr|menu|\bnav|modal|popup|dropdown|search|toc\b|login|share", re.IGNORECASE
)
_MOST_CONTROLS, _LONGEST_LABEL = 5_000, 200


def open_panels(root: Element, is_hidden: Callable[[Element], bool]) -> set[Element]:
    """Find the panels that can be opened, and put the label of its tab into each that does not begin with it.

    Args:
        root: the page.
        is_hidden: returns whether an element by itself is hidden.
    """
    named = {element.get("id"): element for element in root.iter("*") if element.get("id")}
    found = {element for element in root.iter("*") if (element.get("hidden") or "").lower() == "until-found"}
    for count, control in enumerate(root.iter("*")):
        if count > _MOST_CONTROLS and len(found) > _MOST_CONTROLS:
            break
        target = _target(control)
        panel = named.get(target) if target else None
        if panel is None or panel in found:
            continue
        words = words_of(control, " ")  # of controls only: for every element it would take quadratic time
        if not 0 < len(words) <= _LONGEST_LABEL:
            continue
        if _is_around(panel) or any(map(is_hidden, (control, *control.iterancestors()))):
            continue
        found.add(panel)
        if _is_tab(control):
            _label(panel, words)
    for bar in root.iter("*"):
        if _role(bar) == "tablist" and not any(map(is_hidden, (bar, *bar.iterancestors()))):
            found.update(_unnamed_panels(bar, found))
    return found


def _unnamed_panels(bar: Element, known: set[Element]) -> list[Element]:
    """Label the panels next to a tab bar with the same number of tabs, if the tabs do not name their panels."""
    around = bar.getparent()
    if around is None:
        return []
    tabs = [element for element in bar.iter("*") if _role(element) == "tab"]
    panels = [
        element for part in around if part is not bar for element in part.iter("*") if _role(element) == "tabpanel"
    ]
    panels = [panel for panel in panels if not any(above in panels for above in panel.iterancestors())]
    if len(tabs) != len(panels) or not known.isdisjoint(panels) or any(map(_is_around, panels)):
        return []
    for tab, panel in zip(tabs, panels, strict=True):
        _label(panel, words_of(tab, " ")[:_LONGEST_LABEL])
    return panels


def _role(element: Element) -> str:
    return (element.get("role") or "").lower()


def _target(control: Element) -> str:
    """Return the id of what a tab or a button opens, empty for anything else."""
    if local_name(control).lower() not in _CONTROLS:
        return ""
    toggle = (control.get("data-bs-toggle") or control.get("data-toggle") or "").lower()
    opens = (
        (control.get("role") or "").lower() == "tab" or toggle in _TOGGLES or control.get("aria-expanded") is not None
    )
    if opens:
        return next((value.removeprefix("#") for name in _TARGETS if (value := control.get(name))), "")
    called = _QUOTED.search(control.get("onclick") or "") if local_name(control).lower() == "button" else None
    return called.group(1) if called else ""


def _is_tab(control: Element) -> bool:
    """Return whether a control is a tab, which is next to others; the head of an accordion is above its panel."""
    toggle = (control.get("data-bs-toggle") or control.get("data-toggle") or "").lower()
    return (
        (control.get("role") or "").lower() == "tab" or toggle in {"tab", "pill"} or control.get("onclick") is not None
    )


def _is_around(panel: Element) -> bool:
    names = f"{panel.get('id') or ''} {panel.get('class') or ''}"
    if len(names) < 500 and _AROUND_NAMES.search(names):
        return True
    for element in (panel, *panel.iterancestors()):
        if local_name(element).lower() in _AROUND or (element.get("role") or "").lower() in _AROUND_ROLES:
            return True
    return False


def _label(panel: Element, words: str) -> None:
    first = words_of(panel, " ")[: len(words)]
    if first.casefold() == words.casefold():
        return
    label = panel.makeelement("p", {})
    strong = panel.makeelement("strong", {})
    strong.text = words
    label.append(strong)
    label.tail, panel.text = panel.text, None
    panel.insert(0, label)
