"""Office equations as one line of text: fractions, roots, powers and indices written the way one types them."""

from __future__ import annotations

from knowledge_mcp.readers.docx.ooxml import Element, child, local, value

__all__ = ["equation_text"]

_MAX_DEPTH = 60
_PROPERTIES = frozenset(
    {"rPr", "ctrlPr", "fPr", "radPr", "sSupPr", "sSubPr", "sSubSupPr", "naryPr", "dPr", "accPr", "mPr"}
)


def equation_text(element: Element, depth: int = 0) -> str:
    """Write an `oMath` element, or any part of one, as text; "" where it has none."""
    if depth > _MAX_DEPTH:
        return ""
    name = local(element)
    if name == "t":
        return element.text or ""
    if name in _PROPERTIES:
        return ""
    if name in {"f", "rad", "sSup", "sSub", "sSubSup", "nary"}:
        return _construct(element, name, depth)
    inner = "".join(equation_text(part, depth + 1) for part in element)
    if name == "d":
        opening, closing = value(element, "dPr", "begChr"), value(element, "dPr", "endChr")
        return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"
    return f"{inner} " if name in {"mr", "oMathPara"} else inner


def _construct(element: Element, name: str, depth: int) -> str:
    if name == "f":
        return f"{_group(_part(element, 'num', depth))}/{_group(_part(element, 'den', depth))}"
    operand = _part(element, "e", depth)
    if name == "rad":
        return f"{_part(element, 'deg', depth)}√({operand})"
    if name == "nary":
        return f"{value(element, 'naryPr', 'chr') or '∫'}{_scripts(element, depth)} {operand}"
    return operand + _scripts(element, depth)


def _part(element: Element, name: str, depth: int) -> str:
    found = child(element, name)
    return equation_text(found, depth + 1) if found is not None else ""


def _scripts(element: Element, depth: int) -> str:
    low, high = _part(element, "sub", depth), _part(element, "sup", depth)
    return (f"_{_group(low)}" if low else "") + (f"^{_group(high)}" if high else "")


def _group(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"
