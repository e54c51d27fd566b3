"""In the child: what a page shows in another way than as words of its tree becomes words: equations, readings, frames.

Links of a place to itself, which are there to be copied ("¶"), say nothing. An equation of MathML would run into one
number ("12" for a half), a reading beside a character into one word, and a page within the page stands in an attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from knowledge_mcp.readers.shared.containers import local_name
from knowledge_mcp.readers.shared.equations import write_equations

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_MOST_FRAMES = 50
"""Pages within a page; no document that was seen has more than a few."""


def complete(root: Element, parse: Callable[[str], Element]) -> None:
    """Write equations, readings and pages within the page where they are shown; `parse` reads such a page."""
    write_equations(root)
    for ruby in root.iter("ruby", "{*}ruby"):
        names = [local_name(part).lower() for part in ruby.iter() if isinstance(part.tag, str)]
        for reading in ruby.iter("rt", "{*}rt") if "rp" not in names else ():
            words = "".join(map(str, reading.itertext()))
            for part in list(reading):
                reading.remove(part)
            reading.text = f"({words})"
    for frame in list(root.iter("iframe", "{*}iframe"))[:_MOST_FRAMES]:
        page = frame.get("srcdoc", "")
        if page.strip():
            tail = frame.tail
            frame.clear()
            frame.tag, frame.tail = "div", tail
            frame.extend(list(next(parse(page).iter("body", "{*}body"), ())))
    for link in root.iter("a", "{*}a"):
        if _leads_to_itself(link):
            link.clear(keep_tail=True)


def _leads_to_itself(link: Element) -> bool:
    """Tell a link without letters or digits to the element in which it stands, or to one right beside it."""
    name = (link.get("href") or "")[1:]
    if not name or not (link.get("href") or "").startswith("#"):
        return False
    above = link.getparent()
    if above is None or len(link) or any(map(str.isalnum, link.text or "")):
        return False
    beside = [each for each in (link.getprevious(), link.getnext()) if each is not None]
    return any(each.get("id") == name for each in (link, *beside, above, *above.iterancestors()))
