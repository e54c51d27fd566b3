"""Measure which lines and branches of the package the tests run, in all processes and without tracing.

Tracing makes all Python of a process two to three times as slow (coverage before Python 3.14). Here each module of the
package is compiled with a mark before each statement and at both ways out of a condition, once for all processes
(`tools/marks.py` lets them run that). What was marked becomes data of coverage, which reports it.

    python -m pytest -p tools.measuring …    leaves marks in build/marks
    python -m tools.measuring                turns them into a data file of coverage, and reports on it in JSON
"""

from __future__ import annotations

import ast
import builtins
import gc
import json
import marshal
import multiprocessing
import os
import shutil
import sys
import sysconfig
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import CodeType
from typing import cast

import pytest
from coverage import Coverage
from coverage.python import PythonFileReporter

from tools.marks import PACKAGE, RUN, SOURCES, TABLE, VARIABLE, begin

_ROOT = Path(__file__).parents[1]
_SETTINGS = str(_ROOT / "pyproject.toml")
_MARKS = _ROOT / "build" / "marks"
_MEANINGS = "meanings"

Mark = tuple[int, int, bool]
"""From a line (-1: any) to a line, and whether this way was taken, or else the other one that leaves the line."""

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
        slot = ast.Subscript(ast.Name(TABLE, ast.Load()), ast.Constant(self._number(marks)), ast.Store())
        made = ast.Assign([slot], ast.Constant(1))
        for node in ast.walk(made):
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        return made

    def _expression(self, marks: Iterable[Mark], before: ast.expr) -> ast.expr:
        """Mark that this expression is evaluated."""
        table = ast.Attribute(ast.Name(TABLE, ast.Load()), "__setitem__", ast.Load())
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
    marking = _Marking(len(meanings))
    tree.body = marking.body(tree.body) if tree.body else []
    ast.fix_missing_locations(tree)
    code = compile(tree, path, "exec", dont_inherit=True)
    meanings.extend((path, each) for each in marking.meanings)
    return code


def prepare(folder: Path = _MARKS, modules: Iterable[Path] | None = None) -> str:
    """Mark the modules of the package, all or some, and let Python processes begin with `tools/marks.py`.

    Returns:
        The folder for `begin`; what was there before is gone.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    meanings.clear()
    for path in sorted(modules or (Path(SOURCES) / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        (folder / name).write_bytes(marshal.dumps(instrument(path.read_bytes(), str(path))))
    (folder / _MEANINGS).write_text(json.dumps(meanings), encoding="utf-8")
    (folder / RUN).write_bytes(bytes(len(meanings)))
    hook = Path(sysconfig.get_path("purelib")) / "marks.pth"
    path = begin.__code__.co_filename
    first = f"with open({path!r}, 'rb') as file:\n exec(file.read(), {{'__name__': 'marks', '__file__': {path!r}}})"
    line = f"import os; exec({first!r} if {VARIABLE!r} in os.environ else '')\n"
    if not hook.is_file() or hook.read_text("utf-8") != line:  # else a process may just be reading it
        hook.write_text(line, encoding="utf-8")
    return str(folder)


def marks(folder: Path = _MARKS) -> dict[str, set[Mark]]:
    """Return what was marked, by file."""
    run: dict[str, set[Mark]] = {}
    meant: list[tuple[str, list[Mark]]] = json.loads((folder / _MEANINGS).read_text("utf-8"))
    for was, (path, of_one) in zip((folder / RUN).read_bytes(), meant, strict=True):
        run.setdefault(path, set()).update((start, end, taken) for start, end, taken in of_one if was)
    return run


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
    if PACKAGE in sys.modules:
        raise ImportError(f"{PACKAGE} is imported before it can be measured")
    if VARIABLE not in os.environ:
        begin(folder := prepare())
        os.environ[VARIABLE] = folder


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Set the marks of this process in a list, which takes half as long, and hand them on at the end."""
    shared: memoryview = getattr(builtins, TABLE)
    own = [0] * len(shared)
    setattr(builtins, TABLE, own)
    try:
        return (yield)
    finally:
        for number, was in enumerate(own):
            if was:
                shared[number] = 1


def main() -> None:
    """Make a data file of coverage of what was marked, and the report of `coverage json`."""
    gc.disable()  # which goes through the trees of all modules again and again: a fifth of the time
    measured = Coverage(config_file=_SETTINGS, data_file=str(_ROOT / ".coverage"))
    measured.erase()
    data = measured.get_data()
    run = marks()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:  # a module takes 25 ms to read
        for path, possible in zip(run, pool.map(_possible_arcs, run, chunksize=16), strict=True):
            data.add_arcs({path: run_arcs(possible, run[path])})
            data.touch_file(path)
    measured.save()
    measured.json_report(ignore_errors=True)


def _possible_arcs(path: str) -> set[tuple[int, int]]:
    gc.disable()
    return PythonFileReporter(path, Coverage(config_file=_SETTINGS, data_file=None)).arcs()


if __name__ == "__main__":
    main()
