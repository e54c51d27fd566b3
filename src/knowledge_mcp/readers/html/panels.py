"""In the child: panels of tabs and accordions, which a page shows when a reader opens them.

A panel is text of the page where something that is shown, a tab or a button, names it. Menus, dialogs and notices that
open so are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from knowledge_mcp.readers.shared.containers import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

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
    """Find the panels that can be opened, and put the words of its tab before each that does not stand below them.

    Args:
        root: the page.
        is_hidden: tells whether an element by itself is not shown.
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
        words = _words(control)  # of a control alone: those of every element would take the square of the page
        if not 0 < len(words) <= _LONGEST_LABEL:
            continue
        if _is_around(panel) or any(map(is_hidden, (control, *control.iterancestors()))):
            continue
        found.add(panel)
        if _is_tab(control):
            _label(panel, words)
    return found


def _words(element: Element) -> str:
    return " ".join(" ".join(map(str, element.itertext())).split())


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
    """Tell a tab, which stands beside the others, from the head of an accordion, which stands above its panel."""
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
    first = _words(panel)[: len(words)]
    if first.casefold() == words.casefold():
        return
    label = panel.makeelement("p", {})
    strong = panel.makeelement("strong", {})
    strong.text = words
    label.append(strong)
    label.tail, panel.text = panel.text, None
    panel.insert(0, label)
