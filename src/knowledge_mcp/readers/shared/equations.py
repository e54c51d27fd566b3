"""Equations as text, from Office files (OMML) and from MathML.

Positions become operators, so that numbers do not run together: a fraction is "a/b", a superscript "x^2", a subscript
"x_i", a row of a matrix ends with ";".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from knowledge_mcp.readers.shared.containers import Element, child, local_name, value, words_of

_MAX_DEPTH = 60
_PROPERTIES = frozenset(
    "rPr ctrlPr fPr radPr sSupPr sSubPr sSubSupPr sPrePr naryPr dPr accPr barPr mPr eqArrPr funcPr limLowPr limUppPr"
    " groupChrPr boxPr borderBoxPr phantPr argPr oMathParaPr del moveFrom annotation annotation-xml".split()
)
_OPEN, _CLOSE = "(", ")"


def equation_text(element: Element, depth: int = 0) -> str:
    """Return an `oMath` or `math` element, or any part of one, as text; "" if it has none."""
    name = local_name(element)
    if depth > _MAX_DEPTH or name in _PROPERTIES:
        return ""
    if name == "t":
        return element.text or ""
    if name == "mtext":
        return f" {words_of(element)} "
    if name in _LETTERS or (not len(element) and name not in _FORMS):
        return words_of(element)
    written = _FORMS.get(name)
    if written is not None:
        return written(element, depth + 1)
    inner = "".join(_inside(element, depth + 1))
    return f"{inner} " if name == "oMathPara" else inner


def write_equations(root: Element) -> None:
    """Replace each `math` element of a tree by its text: what it shows, else its annotation or alternative text."""
    for element in list(root.iter("math", "{*}math")):
        text = equation_text(element).strip()
        if not text:
            named = next((part.text for part in element.iter("{*}annotation", "annotation") if part.text), None)
            text = (named or element.get("alttext") or "").strip()
        if not text:
            continue
        tail = element.tail
        for part in list(element):
            element.remove(part)
        element.text, element.tail = text, tail


_LETTERS = frozenset({"mi", "mn", "mo", "ms"})


def _inside(element: Element, depth: int) -> list[str]:
    return [equation_text(part, depth) for part in element]


def _group(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _part(element: Element, name: str, depth: int) -> str:
    found = child(element, name)
    return equation_text(found, depth) if found is not None else ""


def _scripted(base: str, low: str, high: str) -> str:
    return base + (f"_{_group(low)}" if low.strip() else "") + (f"^{_group(high)}" if high.strip() else "")


# ---- Office ---------------------------------------------------------------------------------------------------------


def _fraction(element: Element, depth: int) -> str:
    return f"{_group(_part(element, 'num', depth))}/{_group(_part(element, 'den', depth))}"


def _root(element: Element, depth: int) -> str:
    return f"{_part(element, 'deg', depth)}√({_part(element, 'e', depth)})"


def _operator(element: Element, depth: int) -> str:
    sign = value(element, "naryPr", "chr")
    low, high = _part(element, "sub", depth), _part(element, "sup", depth)
    return f"{_scripted('∫' if sign is None else sign, low, high)} {_part(element, 'e', depth)}"


def _scripts(element: Element, depth: int) -> str:
    return _scripted(_part(element, "e", depth), _part(element, "sub", depth), _part(element, "sup", depth))


def _scripts_before(element: Element, depth: int) -> str:
    before = _scripted("", _part(element, "sub", depth), _part(element, "sup", depth))
    return f"{before} {_part(element, 'e', depth)}"


def _limit(element: Element, depth: int) -> str:
    mark = "_" if local_name(element) == "limLow" else "^"
    return f"{_part(element, 'e', depth)}{mark}{_group(_part(element, 'lim', depth))}"


def _function(element: Element, depth: int) -> str:
    return f"{_part(element, 'fName', depth)} {_part(element, 'e', depth)}"


def _brackets(element: Element, depth: int) -> str:
    opening, closing = value(element, "dPr", "begChr"), value(element, "dPr", "endChr")
    between = value(element, "dPr", "sepChr")
    parts = [equation_text(part, depth) for part in element if local_name(part) == "e"]
    inner = ("|" if between is None else between).join(parts)
    return f"{_OPEN if opening is None else opening}{inner}{_CLOSE if closing is None else closing}"


def _accent(element: Element, depth: int) -> str:
    base = _part(element, "e", depth)
    if local_name(element) == "bar":
        is_above = value(element, "barPr", "pos") == "top"
        return base + ("\u0305" if is_above else "\u0332") if len(base) == 1 else base
    sign = value(element, "accPr", "chr")
    return base + ("\u0302" if sign is None else sign) if len(base) == 1 else base


def _matrix(element: Element, depth: int) -> str:
    rows = [" ".join(_inside(row, depth)) for row in element if local_name(row) == "mr"]
    return "; ".join(rows)


def _lines(element: Element, depth: int) -> str:
    return "; ".join(equation_text(part, depth) for part in element if local_name(part) == "e")


# ---- MathML ---------------------------------------------------------------------------------------------------------


def _parts(element: Element, depth: int) -> list[str]:
    """Return the children as text, padded to at least four, so that a damaged formula loses only a part."""
    found = [equation_text(part, depth) for part in element if isinstance(part.tag, str)]
    return [*found, *([""] * (4 - len(found)))]


def _m_fraction(element: Element, depth: int) -> str:
    over, under, *_ = _parts(element, depth)
    return f"{_group(over)}/{_group(under)}"


def _m_root(element: Element, depth: int) -> str:
    if local_name(element) == "msqrt":
        return f"√({''.join(_inside(element, depth))})"
    base, index, *_ = _parts(element, depth)
    return f"{index}√({base})"


def _m_scripts(element: Element, depth: int) -> str:
    name = local_name(element)
    base, first, second, *_ = _parts(element, depth)
    if name in {"msub", "munder"}:
        return _scripted(base, first, "")
    if name == "msup" or (name == "mover" and first not in _ACCENTS):
        return _scripted(base, "", first)
    if name == "mover":
        return base + _ACCENTS.get(first, "") if len(base) == 1 else base
    return _scripted(base, first, second)


_ACCENTS = {"¯": "\u0305", "‾": "\u0305", "^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "˙": "\u0307",
            "¨": "\u0308", "→": "\u20d7", "⃗": "\u20d7", "_": "\u0305", "―": "\u0305", "ˇ": "\u030c"}  # fmt: skip


def _m_fenced(element: Element, depth: int) -> str:
    between = (element.get("separators") or ",").strip()[:1]
    opening, closing = element.get("open", _OPEN), element.get("close", _CLOSE)
    return f"{opening}{between.join(_inside(element, depth))}{closing}"


def _m_table(element: Element, depth: int) -> str:
    rows: Sequence[Element] = [row for row in element if local_name(row) in {"mtr", "mlabeledtr"}]
    return "; ".join(" ".join(_inside(row, depth)) for row in rows)


def _m_meaning(element: Element, depth: int) -> str:
    first = next((part for part in element if isinstance(part.tag, str)), None)
    return equation_text(first, depth) if first is not None else ""


def _m_applied(element: Element, depth: int) -> str:
    """Write an operator of content MathML with its arguments."""
    operator, *others = [part for part in element if isinstance(part.tag, str)] or [element]
    name = equation_text(operator, depth) or local_name(operator)
    return f"{name}({', '.join(equation_text(part, depth) for part in others)})"


def _nothing(_element: Element, _depth: int) -> str:
    return ""


def _space(element: Element, depth: int) -> str:
    return f" {''.join(_inside(element, depth))}"  # if the page is not XML, what follows is inside this element


_FORMS: dict[str, Callable[[Element, int], str]] = {
    "f": _fraction,
    "rad": _root,
    "nary": _operator,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _scripts_before,
    "limLow": _limit,
    "limUpp": _limit,
    "func": _function,
    "d": _brackets,
    "acc": _accent,
    "bar": _accent,
    "m": _matrix,
    "eqArr": _lines,
    "mfrac": _m_fraction,
    "msqrt": _m_root,
    "mroot": _m_root,
    **dict.fromkeys(("msub", "msup", "msubsup", "munder", "mover", "munderover"), _m_scripts),
    "mfenced": _m_fenced,
    "mtable": _m_table,
    "semantics": _m_meaning,
    "apply": _m_applied,
    "mphantom": _nothing,
    "mspace": _space,
}
