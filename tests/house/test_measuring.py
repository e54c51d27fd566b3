"""What the tests run is measured without tracing, and is what a tracer sees."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage
from coverage.python import PythonFileReporter

from tools import measuring
from tools.marks import PACKAGE, SOURCES, TABLE, VARIABLE

SAMPLE = '''"""A module."""
from __future__ import annotations
import contextlib
import enum

def twice(function):
    """Return it."""
    return function

class Kind(enum.Enum):
    """Kinds."""

    FIRST = 1

@twice
@twice
def run(n):
    global seen
    seen = n
    if n == 0:
        return "none"
    elif n < 0 and (
        n != -7
    ):
        out = "less"
    else:
        out = "more"
    for each in range(n):
        if each == 3:
            continue
        if each == 5:
            break
    else:
        out += "!"
    while n > 6:
        for _ in range(n):
            n -= 1
        if n < -20:
            return out
    try:
        with contextlib.suppress(KeyError):
            if n == 2:
                raise ValueError(n)
            if n == -1:
                raise KeyError(n)
            [][n]
    except (
        TypeError
    ):
        out = "type"
    except ValueError:
        @twice
        def inner():
            return 1
        out += str(inner())
    except IndexError:
        if n == 4:
            return "four"
    else:
        out += "kept"
    finally:
        if n == -2:
            out += "last"
    match [n, out]:
        case [1, str()] if n:
            out = "one"
        case [2, _] | [3, _]:
            pass
        case [-1, _]:
            if out:
                out += "m"
    match n:
        case -3:
            return sorted(-x for x in [1, 2])
        case _:
            ...
    while True:
        if out:
            break
    if n:
        @twice
        class Local:
            x = 1

async def later(n):
    async def numbers():
        for each in range(n):
            yield each
    async for each in numbers():
        if each:
            return each
'''


def _traced(path: Path, run: Callable[[], object]) -> set[tuple[int, int]]:
    tracing = Coverage(data_file=None, branch=True, config_file=False, include=[str(path)])
    tracing.start()
    try:
        run()
    finally:
        tracing.stop()
    return set(tracing.get_data().arcs(str(path)) or ())


def _ran(code: Any, values: tuple[int, ...], table: bytearray) -> None:
    names: dict[str, Any] = {
        "__name__": "sample",
        TABLE: table,
    }  # not among the builtins, where other threads set marks
    exec(code, names)
    for value in values:
        names["run"](value)
        later = names["later"](value)
        with pytest.raises(StopIteration):
            later.send(None)


def _reported(path: Path, arcs: set[tuple[int, int]]) -> tuple[set[int], set[tuple[int, int]]]:
    """Return what coverage would report as run: statements, and arcs that leave a branch."""
    reader = PythonFileReporter(str(path), Coverage(data_file=None, config_file=False))
    branches = {line for line, ways in reader.exit_counts().items() if ways > 1}
    lines = reader.translate_lines({line for arc in arcs for line in arc if line > 0}) & reader.lines()
    taken = reader.translate_arcs(arcs) & reader.arcs()
    return lines, {(start, end) for start, end in taken if start in branches}


@pytest.mark.parametrize("values", [(), *((n,) for n in range(-8, 10)), tuple(range(-8, 10))], ids=str)
def test_lines_and_branches_are_those_that_a_tracer_sees(
    values: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    monkeypatch.setattr(measuring, "meanings", meanings := [])
    plain, marked = compile(SAMPLE, str(path), "exec"), measuring.instrument(SAMPLE, str(path))
    table = bytearray(len(meanings))
    traced = _traced(path, lambda: _ran(plain, values, table))
    _ran(marked, values, table)
    possible = PythonFileReporter(str(path), Coverage(data_file=None, config_file=False)).arcs()
    run = {mark for was, (_, of_one) in zip(table, meanings, strict=True) if was for mark in of_one}
    arcs = measuring.run_arcs(possible, run)
    assert _reported(path, arcs) == _reported(path, traced)


def test_a_process_that_is_killed_has_left_what_it_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "meanings", [])
    package = Path(SOURCES) / PACKAGE
    module = package / "support" / "wording.py"
    modules = [package / "__init__.py", module.parent / "__init__.py", module]
    monkeypatch.setenv(VARIABLE, measuring.prepare(tmp_path / "marks", modules))
    script = """if True:
        import os, signal
        from knowledge_mcp.support.wording import how_many
        if input() == "run":
            how_many(2, "page")
        os.kill(os.getpid(), signal.SIGKILL)"""
    before: set[tuple[int, int, bool]] = set()
    for said in ("do not", "run"):
        killed = subprocess.run([sys.executable, "-W", "error", "-c", script], input=said, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL
        run = measuring.marks(tmp_path / "marks")[str(module)]
        assert before < run
        before = run
