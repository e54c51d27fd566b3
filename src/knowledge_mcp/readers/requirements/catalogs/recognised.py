"""Child process: whether a data file is a control catalogue; its items, and what else it contains."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias, cast

from knowledge_mcp.readers.requirements.catalogs.fields import MOST_FIELDS, FieldMaker, lines_by_id, singular, too_many
from knowledge_mcp.readers.requirements.catalogs.oscal import READ, oscal
from knowledge_mcp.readers.requirements.catalogs.xccdf import NAMESPACE, xccdf
from knowledge_mcp.readers.requirements.catalogs.xccdf import READ as READ_OF_XCCDF
from knowledge_mcp.readers.shared.containers import Element, corrupted, local_name

Items: TypeAlias = Sequence[dict[str, Any]]

_OSCAL = "{http://csrc.nist.gov/ns/oscal/"
"""How the names of elements begin, in all versions."""
_NESTED = frozenset({"modify"})
"""Parts of a document that hold some of what is read, and other things."""


def items_in_values(loaded: Any, text: str) -> tuple[Items, Any] | None:
    """Read OSCAL from parsed JSON or YAML.

    Args:
        loaded: the whole, with pairs for objects.
        text: of the file.

    Returns:
        The sections and items, and all values that are not part of them; None if it is another file.

    Raises:
        Refusal: it is nested too deeply, or has too many values.
    """
    pairs = _pairs(loaded)
    kinds = [(name, _pairs(value)) for name, value in pairs if name in READ]
    if len(kinds) != 1 or not any(key == "metadata" and _pairs(value) for key, value in kinds[0][1]):
        return None
    kind, content = kinds[0]
    items = list(oscal(FieldMaker().of_values(kind, content, lines_by_id(text))))
    if not any("id" in each for each in items):
        return None
    rest = tuple((name, _without(value, READ[kind]) if value is content else value) for name, value in pairs)
    return items, rest


def _pairs(value: Any) -> tuple[tuple[str, Any], ...]:
    """Return the pairs of an object; none of any other value."""
    return cast("tuple[tuple[str, Any], ...]", value) if isinstance(value, tuple) else ()


def _without(pairs: tuple[tuple[str, Any], ...], read: frozenset[str]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (key, _without(_pairs(value), read) if key in _NESTED and _pairs(value) else value)
        for key, value in pairs
        if not (singular(key) in read and (isinstance(value, list) or key in read))
    )


def items_in_element(root: Element) -> tuple[Items, AbstractSet[Element]]:
    """Read OSCAL, or the first XCCDF benchmark, from XML.

    Returns:
        The sections and items, and the elements that they are made of; nothing of another file.

    Raises:
        Refusal: it is nested too deeply, or has too much.
    """
    tag, name = str(root.tag), local_name(root)
    benchmark = next((each for each in root.iter("{*}Benchmark") if str(each.tag).startswith(NAMESPACE)), None)
    if tag.startswith(_OSCAL) and name in READ:
        found, read, items = root, READ[name], list(oscal(FieldMaker().of_element(root)))
    elif benchmark is not None:
        found, read, items = benchmark, READ_OF_XCCDF, list(xccdf(FieldMaker().of_element(benchmark)))
    else:
        return [], frozenset()
    if not any("id" in each for each in items):
        return [], frozenset()
    above = (found, *(each for each in found if local_name(each) in _NESTED))
    return items, {each for parent in above for each in parent if local_name(each) in read}


def yaml_values(text: str) -> Any:
    """Parse YAML to pairs for objects, with every scalar as written.

    Raises:
        Refusal: it is not YAML, a name is not a scalar, or aliases make too many values of it.
    """
    import yaml

    try:
        root: Any = yaml.compose(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        return YamlValues().made(root)[0] if root is not None else None
    except (yaml.YAMLError, RecursionError) as error:
        raise corrupted("a YAML file", error) from error


class YamlValues:
    """Make values of YAML nodes; what several aliases mean is made once, and counted as often as it occurs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int] | None] = {}

    def made(self, node: Any) -> tuple[Any, int]:
        """Return the value of a node, and how many values are in it, itself included.

        Raises:
            Refusal: as `yaml_values`, and for a value that contains itself.
        """
        inside = node.value
        if isinstance(inside, str):
            return inside, 1
        if id(node) in self._known:
            known = self._known[id(node)]
            if known is None:
                raise corrupted("a YAML file", "a value contains itself")
            return known
        self._known[id(node)] = None
        count = 1
        values: list[Any] = []
        is_object = node.id == "mapping"
        for each in inside:
            name, part = each if is_object else (None, each)
            if name is not None and not isinstance(name.value, str):
                raise corrupted("a YAML file", "the name of a value is a list or an object")
            value, inner = self.made(part)
            count += inner
            if count > MOST_FIELDS:
                raise too_many()
            values.append(value if name is None else (name.value, value))
        made = (tuple(values) if is_object else values, count)
        self._known[id(node)] = made
        return made
