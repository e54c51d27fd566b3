"""In the child: JSON, and lines of JSON, to sections and lines with their paths; numbers stay as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from knowledge_mcp.readers.data.tree import MOST_DEPTH, Node, tree_pieces
from knowledge_mcp.readers.html.job import text_of
from knowledge_mcp.readers.shared.pieces import Piece, facts, messages
from knowledge_mcp.support.sandbox_worker import Refusal

__all__ = ["tree"]

_WANTED = "a JSON file"
_MOST_BYTES = 32_000_000


def tree(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a JSON file.

    Raises:
        Refusal: it is no JSON, empty, too large or nested too deep.
    """
    text, warning = text_of(path, _WANTED, most=_MOST_BYTES)
    if not text.strip():
        raise Refusal("empty", "The file has no text.")
    loaded = _loaded(text)
    if check:
        yield {"pages": None}
        return
    yield from messages(_pieces(loaded, warning))


def _pieces(loaded: Any, warning: str) -> Iterator[Piece]:
    root = _node("", loaded, 0)
    yield from tree_pieces(root)
    named = {part.name.lower(): part.value for part in root.parts if part.value}
    yield facts(title=(named.get("title") or "")[:300], warnings=[warning] if warning else [])


def _loaded(text: str) -> Any:
    try:
        return _parsed(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        try:
            # one value in each line
            if len(lines) > 1 and error.msg == "Extra data":
                return [_parsed(line) for line in lines]
        except json.JSONDecodeError:
            pass
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise Refusal(
            "corrupted",
            f"It is no valid JSON ({where}).",
            details=where,
            suggestion="Mend it there, or give the file its right extension.",
        ) from error
    except RecursionError as error:
        raise _too_deep() from error


def _parsed(text: str) -> Any:
    # an object's pairs, for a name may come twice; numbers as written, whatever their size
    return json.loads(
        text, object_pairs_hook=tuple, parse_float=_as_written, parse_int=_as_written, parse_constant=_as_written
    )


def _as_written(number: str) -> str:
    return number


def _node(name: str, value: Any, depth: int) -> Node:
    if depth > MOST_DEPTH:
        raise _too_deep()
    if isinstance(value, tuple):
        pairs: tuple[tuple[str, Any], ...] = value  # pyright: ignore[reportUnknownVariableType] - JSON is of any type
        return Node(name, parts=[_node(key, inner, depth + 1) for key, inner in pairs])
    if isinstance(value, list):
        entries: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - JSON is of any type
        return Node(name, parts=[_node(f"[{k}]", inner, depth + 1) for k, inner in enumerate(entries)], is_list=True)
    if value is None:
        return Node(name, "null")
    if isinstance(value, bool):
        return Node(name, "true" if value else "false")
    return Node(name, str(value))


def _too_deep() -> Refusal:
    return Refusal("unsupported", f"It nests its values more than {MOST_DEPTH} levels deep.")
