"""Read the project's Python files as syntax trees, for the rules of the house."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDERS = ("src", "tests", "benchmarks", "examples", "tools")
PACKAGE = "knowledge_mcp"


@dataclass(frozen=True, slots=True)
class Module:
    """One file: where it is below the root, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Dotted name of a module of the package, such as `knowledge_mcp.model.chunk`."""
        return self.path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def room(self) -> str:
        """First name below the package: `model` for `knowledge_mcp.model.chunk`, empty for the package itself."""
        return [*self.name.split("."), ""][1]


def modules(root: Path, *folders: str) -> Iterator[Module]:
    """Yield the Python files of `folders` below `root` (all of the project's by default), in order."""
    for folder in folders or FOLDERS:
        for file in sorted((root / folder).rglob("*.py")):
            stat = file.stat()
            yield parsed(file, file.relative_to(root).as_posix(), (stat.st_mtime_ns, stat.st_size))


@cache
def parsed(file: Path, path: str, stamp: tuple[int, int]) -> Module:
    """Read and parse a file, once for all rules while its `stamp` of time and size stays; nobody changes the tree."""
    text = file.read_text(encoding="utf-8")
    return Module(path, text, ast.parse(text, path))


def forget() -> None:
    """Free all trees and what was worked out from them."""
    for known in (parsed, nodes, imported_modules, lines_of_code):
        known.cache_clear()


def package_modules(root: Path) -> Iterator[Module]:
    """Yield the modules of the package itself."""
    return modules(root, f"src/{PACKAGE}")


def modules_of_tests(root: Path) -> Iterator[Module]:
    """Yield the test files, without their helpers."""
    return (module for module in modules(root, "tests") if Path(module.path).name.startswith("test_"))


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """List all nodes of a file, walked once for all rules."""
    return tuple(ast.walk(tree))


@cache
def imported_modules(tree: ast.Module) -> tuple[tuple[str, int], ...]:
    """List each absolute module name that is imported anywhere in the file, with its line.

    `from a.b import c` gives `a.b` and `a.b.c`, since c may be a module.
    """
    return tuple(_imports(tree))


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@cache
def lines_of_code(module: Module) -> int:
    """Count the lines that hold code: blank lines, comments and docstrings are not counted."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    found = {line for token in tokens if token.type not in _LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    return len(found - set(_lines_of_docstrings(module.tree)))


def _lines_of_docstrings(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of every string that stands as a statement, which is where a docstring stands."""
    for node in nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
