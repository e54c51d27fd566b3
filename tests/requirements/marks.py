"""Read the requirement marks out of the tests' source, so that it does not matter which tests are run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.requirements.model import Requirement, Status


@dataclass(frozen=True, slots=True)
class Mark:
    """One id in one mark, and where it stands; None where the id cannot be read from the source."""

    id: str | None
    place: str


def _is_requirement_mark(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "requirement"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "mark"
    )


def marks_in(source: str, name: str) -> Iterator[Mark]:
    """Yield the marks of one test file: decorators, `pytestmark` and parameters alike."""
    for node in ast.walk(ast.parse(source, name)):
        if not isinstance(node, ast.Call) or not _is_requirement_mark(node.func):
            continue
        place = f"{name}:{node.lineno}"
        if not node.args:
            yield Mark(None, place)
        for argument in node.args:
            literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            yield Mark(str(argument.value) if literal and isinstance(argument, ast.Constant) else None, place)


def marks_under(folder: Path) -> list[Mark]:
    """Return the marks of all `test_*.py` under `folder`."""
    files = sorted(folder.rglob("test_*.py"))
    return [mark for file in files for mark in marks_in(file.read_text("utf-8"), str(file.relative_to(folder)))]


def findings(requirements: Iterable[Requirement], marks: Iterable[Mark]) -> list[str]:
    """Say what does not agree: built and unshown, marked and unknown, unreadable, doubled."""
    by_id: dict[str, Requirement] = {}
    found: list[str] = []
    for requirement in requirements:
        if requirement.id in by_id:
            found.append(f"{requirement.id} stands twice in the manifest")
        by_id[requirement.id] = requirement
    shown: set[str] = set()
    for mark in marks:
        if mark.id is None:
            found.append(f"{mark.place}: a requirement mark needs its ids as plain strings")
        elif mark.id not in by_id:
            found.append(f"{mark.place}: {mark.id} is no requirement")
        else:
            shown.add(mark.id)
    found.extend(
        f"{requirement.id} is built, but no test is marked with it: {requirement.title}"
        for requirement in by_id.values()
        if requirement.status is Status.BUILT and requirement.id not in shown
    )
    return found
