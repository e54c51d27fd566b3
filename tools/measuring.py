"""Measure which lines and branches of the package the tests run, in the test processes themselves.

Tracing makes all Python of a process two to three times as slow (coverage before Python 3.14). Here each module of the
package is compiled with a mark before each statement and at both ways out of a condition. What was marked becomes data
of coverage, which reports it, together with what it traced in child processes.

    python -m pytest -p tools.measuring …    leaves marks in build/marks, one file a process
    python -m tools.measuring                turns them and what was traced into one data file of coverage
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast
from uuid import uuid4

import pytest
from coverage import Coverage
from coverage.python import PythonFileReporter

__all__ = ["instrument", "main", "marks", "meanings", "run_arcs", "table"]

_ROOT = Path(__file__).parents[1]
_PACKAGE = "knowledge_mcp"
_MARKS = _ROOT / "build" / "marks"
_TABLE = "__marks__"

Mark = tuple[int, int, bool]
"""From a line (-1: any) to a line, and whether this way was taken, or else the other one that leaves the line."""

table: list[int] = []
meanings: list[tuple[str, tuple[Mark, ...]]] = []


class _Marking(ast.NodeTransformer):
    """Put marks into a module. Each mark has a number; `meanings` says what it stands for."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.meanings: list[tuple[Mark, ...]] = []

    def _number(self, marks: Iterable[Mark]) -> int:
        self.meanings.append(tuple(marks))
        return self.first + len(self.meanings) - 1

    def _statement(self, marks: Iterable[Mark], line: int) -> ast.stmt:
        slot = ast.Subscript(ast.Name(_TABLE, ast.Load()), ast.Constant(self._number(marks)), ast.Store())
        made = ast.Assign([slot], ast.Constant(1))
        for node in ast.walk(made):
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        return made

    def _expression(self, marks: Iterable[Mark], before: ast.expr) -> ast.expr:
        """Mark that this expression is evaluated."""
        table = ast.Attribute(ast.Name(_TABLE, ast.Load()), "__setitem__", ast.Load())
        call = ast.Call(table, [ast.Constant(self._number(marks)), ast.Constant(1)], [])
        made = ast.BoolOp(ast.Or(), [call, before])
        for node in (made, call, *ast.walk(table), *call.args):
            ast.copy_location(node, before)
        return made

    def body(self, statements: Sequence[ast.stmt], entry: Sequence[Mark] = ()) -> list[ast.stmt]:
        """Return the statements with a mark before each; `entry` is marked where they begin."""
        made: list[ast.stmt] = []
        kept_first: list[Mark] = list(entry)
        for place, each in enumerate(statements):
            lines = [(-1, line, True) for line in _lines(each)]
            docstring = place == 0 and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if docstring or (isinstance(each, ast.ImportFrom) and each.module == "__future__"):
                kept_first += lines  # nothing may stand before these
                made.append(each)
                continue
            made.append(self._statement([*kept_first, *lines], each.lineno))
            kept_first = []
            made.append(cast("ast.stmt", self.visit(each)))
        if kept_first:
            made.append(self._statement(kept_first, statements[-1].lineno))
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, name, None), list) and statements:
                setattr(node, name, self.body(cast("list[ast.stmt]", statements)))
        before = -1
        for handler in cast("list[ast.ExceptHandler]", getattr(node, "handlers", [])):
            looked_at: list[Mark] = [(-1, handler.lineno, True), (before, handler.lineno, True)]
            if handler.type is not None:
                handler.type = self._expression(looked_at, handler.type)
            into = min(_lines(handler.body[0]))
            handler.body = self.body(handler.body, [*looked_at, (handler.lineno, into, True)])
            before = handler.lineno
        return node

    def _both_ways(self, node: ast.If | ast.For | ast.AsyncFor | ast.While) -> ast.AST:
        into = min(_lines(node.body[0]))
        out = (node.lineno, into, False)
        node.body = self.body(node.body, [(node.lineno, into, True)])
        node.orelse = self.body(node.orelse, [out]) if node.orelse else [self._statement([out], node.lineno)]
        return node

    def visit(self, node: ast.AST) -> ast.AST:
        return (
            self._both_ways(node)
            if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While))
            else super().visit(node)
        )

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Mark the cases that were looked at: the one whose body runs and those before it, or all."""
        looked_at: list[Mark] = []
        before, into = node.lineno, 0
        for case in node.cases:
            looked_at += [(-1, case.pattern.lineno, True), (before, case.pattern.lineno, True)]
            before = case.pattern.lineno
            into = min(_lines(case.body[0]))
            case.body = self.body(case.body, [*looked_at, (case.pattern.lineno, into, True)])
        last = node.cases[-1]
        if last.guard is not None or not _takes_all(last.pattern):
            none = self._statement([*looked_at, (last.pattern.lineno, into, False)], last.pattern.lineno)
            node.cases.append(ast.match_case(ast.MatchAs(), None, [none]))
        return node


def _takes_all(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(_takes_all(each) for each in pattern.patterns)
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _takes_all(pattern.pattern))


def _lines(statement: ast.stmt) -> Iterator[int]:
    """Lines that begin when a statement does: its own, and those of its decorators."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield from (each.lineno for each in statement.decorator_list)
    yield statement.lineno


def instrument(source: bytes | str, path: str) -> CodeType:
    """Compile a module with marks."""
    tree = ast.parse(source)
    marking = _Marking(len(table))
    tree.body = marking.body(tree.body) if tree.body else []
    ast.fix_missing_locations(tree)
    code = compile(tree, path, "exec", dont_inherit=True)
    table.extend([0] * len(marking.meanings))
    meanings.extend((path, each) for each in marking.meanings)
    return code


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return instrument(self.get_data(self.path), self.path)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def run_arcs(possible: Iterable[tuple[int, int]], marked: Collection[Mark]) -> set[tuple[int, int]]:
    """Return the arcs of coverage that these marks stand for, those within the code among the possible ones."""
    ends: dict[int, set[int]] = {}
    for start, end in possible:
        ends.setdefault(start, set()).add(end)
    arcs = {(start, end) for start, end, taken in marked if taken}
    begun = {end for _, end in arcs}
    for start, end, taken in marked:
        others = ends.get(start, set()) - {end}
        if not taken and len(others) == 1:  # the line that follows is not begun where a `finally` ends in an exception
            arcs |= {(start, other) for other in others if other < 0 or other in begun}
    return arcs


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Begin to measure, before anything imports the package."""
    if _PACKAGE in sys.modules:
        raise ImportError(f"{_PACKAGE} is imported before it can be measured")
    setattr(builtins, _TABLE, table)
    sys.meta_path.insert(0, _Finder())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let coverage trace what a test starts, but where it says that it only repeats others."""
    if not item.get_closest_marker("no_cover"):
        os.environ["COVERAGE_PROCESS_START"] = str(_ROOT / "pyproject.toml")
        os.environ["COVERAGE_FILE"] = str(_ROOT / ".coverage")
    try:
        return (yield)
    finally:
        os.environ.pop("COVERAGE_PROCESS_START", None)


def marks() -> dict[str, list[Mark]]:
    """Return what was marked in this process, by file."""
    run: dict[str, list[Mark]] = {}
    for (path, of_one), was in zip(meanings, table, strict=True):
        if was:
            run.setdefault(path, []).extend(of_one)
    return run


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Leave what was marked in this process to `main`."""
    _MARKS.mkdir(parents=True, exist_ok=True)
    (_MARKS / f"{uuid4()}.json").write_text(json.dumps(marks()), encoding="utf-8")


def main() -> None:
    """Make one data file of coverage of all marks and traces that were left, and delete these."""
    run: dict[str, set[Mark]] = {str(path): set() for path in (_ROOT / "src" / _PACKAGE).rglob("*.py")}
    left = list(_MARKS.glob("*.json"))
    for each in left:
        for path, of_one in json.loads(each.read_text(encoding="utf-8")).items():
            if path in run:
                run[path].update((start, end, taken) for start, end, taken in of_one)
    measured = Coverage(config_file=str(_ROOT / "pyproject.toml"), data_file=str(_ROOT / ".coverage"))
    measured.combine()  # what was traced in processes
    data = measured.get_data()
    for path, of_one in run.items():
        data.add_arcs({path: run_arcs(PythonFileReporter(path, measured).arcs(), of_one)})
        data.touch_file(path)
    measured.save()
    for each in left:
        each.unlink()


if __name__ == "__main__":
    main()
