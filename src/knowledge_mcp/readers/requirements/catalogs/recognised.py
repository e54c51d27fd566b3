"""Child process: whether a data file is a control catalogue; its items, and what else it contains."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias, cast

from knowledge_mcp.readers.requirements.catalogs.fields import FieldMaker, lines_by_id, singular
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
        Refusal: it is not YAML.
    """
    import yaml

    base = cast("type[yaml.BaseLoader]", getattr(yaml, "CBaseLoader", yaml.BaseLoader))

    class Pairs(base):
        """Make pairs of a mapping, because a name may occur twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            del deep
            return tuple((str(self._made(key)), self._made(value)) for key, value in node.value)

        def _made(self, node: Any) -> Any:
            return self.construct_object(node, deep=True)  # pyright: ignore[reportUnknownMemberType] - untyped

    try:
        return Pairs(text).get_single_data()
    except (yaml.YAMLError, RecursionError) as error:
        raise corrupted("a YAML file", error) from error
