"""List the files of the package whose types may differ on another system, for Pyright to check as it would be there.

    pyright --pythonplatform Windows $(python tools/platforms.py)

Such a file asks for the system itself; or it imports one of ours that does, or a module of another package that does;
or it imports a module of the standard library and uses a name that the stubs of that module give on some systems only.
All other files mean the same everywhere, and are checked once.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ASKS = re.compile(r"\bsys\.platform\b|\bos\.name\b")
_BEHIND = {
    "asyncio": ("asyncio.unix_events", "asyncio.windows_events"),
    "os": ("os.path", "_stat"),
    "socket": ("_socket",),
    "ssl": ("_socket", "_ssl", "socket"),
    "stat": ("_stat",),
}
"""Modules of the standard library that hand on what others declare."""


def conditional_names(stub: str) -> set[str]:
    """List what the text of a stub declares under a condition on the system, members of classes too."""
    if not _ASKS.search(stub):
        return set()
    return {
        name
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.If) and _ASKS.search(ast.unparse(node.test))
        for each in (*node.body, *node.orelse)
        for name in _declared(each)
        if not name.startswith("__")
    }


def _declared(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.asname == alias.name)


def differing(texts: Mapping[str, str], stub: Callable[[str], str]) -> list[str]:
    """List the modules that may differ.

    Args:
        texts: of our modules, by their dotted names.
        stub: gives the text of a module that is not ours, empty where there is none.
    """
    asking = {name for name, text in texts.items() if _ASKS.search(text)}

    @cache
    def known(name: str) -> set[str]:
        return conditional_names(stub(name))

    @cache
    def asks(name: str) -> bool:
        return _ASKS.search(stub(name)) is not None

    found: list[str] = []
    for name, text in texts.items():
        imported, used = _words(ast.parse(text))
        others = {each for each in imported if each not in texts}
        behind = {more for each in others for more in _BEHIND.get(each, ())}
        if (
            name in asking
            or imported & asking
            or any(asks(each) for each in others if not _is_standard(each))
            or any(used & known(each) for each in (*others, *behind, "builtins") if _is_standard(each))
        ):
            found.append(name)
    return found


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _words(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the modules that a file imports, with all that could be one, and the names that it uses."""
    imported: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Name):
            used.add(node.id)
    return imported, used


def _read(folders: Iterable[Path], name: str) -> str:
    """Read a module's stub, else the module, from the first folder that has it."""
    place = name.replace(".", "/")
    package, _, rest = place.partition("/")
    stubs = f"{package}-stubs/{rest or '__init__'}"
    forms = (f"{stubs}.pyi", f"{place}.pyi", f"{place}/__init__.pyi", f"{place}.py", f"{place}/__init__.py")
    for folder in folders:
        for form in forms:
            if (folder / form).is_file():
                return (folder / form).read_text("utf-8")
    return ""


def main() -> None:
    """Print the files, a path a line."""
    import pyright

    sources = _ROOT / "src"
    bundled = Path(pyright.__file__).parent / "dist" / "dist" / "typeshed-fallback" / "stdlib"
    if not (bundled / "os" / "__init__.pyi").is_file():
        raise FileNotFoundError(f"Pyright's stubs of the standard library are not in {bundled}")
    folders = (bundled, Path(pyright.__file__).parents[1])
    paths = {
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(sources.rglob("*.py"))
    }
    texts = {name: path.read_text("utf-8") for name, path in paths.items()}
    for name in differing(texts, lambda module: _read(folders, module)):
        print(paths[name].relative_to(_ROOT).as_posix())


if __name__ == "__main__":
    main()
