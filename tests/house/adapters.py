"""Which adapters there are, as the registry names them, and whether one leans on its sibling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.house.source import PACKAGE, Module, imported_modules, package_modules

_TARGET = re.compile(rf"^{PACKAGE}(?:\.\w+)+:\w+$")


def adapters(root: Path) -> set[str]:
    """Return the modules that registry.py names, and of a store its whole folder: what it writes only it may read."""
    registry = root / "src" / PACKAGE / "registry.py"
    if not registry.is_file():
        return set()
    named = (
        node.value.split(":")[0].split(".")
        for node in ast.walk(ast.parse(registry.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _TARGET.match(node.value)
    )
    return {".".join(parts[:3] if parts[1] == "stores" else parts) for parts in named}


def leaning_on_a_sibling(root: Path) -> list[str]:
    """Return what an adapter imports, directly or through helpers, of another adapter of the same room."""
    known = adapters(root)
    imports = _imports({module.name: module for module in package_modules(root)})
    found: list[str] = []
    for adapter in sorted(known):
        room = adapter.rsplit(".", 1)[0]
        siblings = {other for other in known if other.rsplit(".", 1)[0] == room and other != adapter}
        reached = _reached({name for name in imports if _within(name, adapter)}, imports, room)
        found.extend(
            f"{adapter} leans on {name}" for name in sorted(reached) if any(_within(name, other) for other in siblings)
        )
    return found


def _imports(by_name: Mapping[str, Module]) -> dict[str, set[str]]:
    return {
        name: {target for target, _ in imported_modules(module.tree) if target in by_name}
        for name, module in by_name.items()
    }


def _reached(starts: Iterable[str], imports: Mapping[str, set[str]], room: str) -> set[str]:
    """Follow the imports inside one room; the room's own `__init__` is a door, not an adapter."""
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting.extend(target for target in imports[name] if target != room and _within(target, room))
    return seen


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
