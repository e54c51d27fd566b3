"""The rules hold for the project, and each of them fails on a sample that breaks it.

What looks at all files of the package is here too, as they are parsed once for each file of tests.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.readers.code.parse import GRAMMARS
from tests.house.adapters import leaning_on_a_sibling
from tests.house.dependencies import declared, imported, normal
from tests.house.rules import RULES
from tests.house.samples import SAMPLES
from tests.house.source import FOLDERS, modules

ROOT = Path(__file__).resolve().parent.parent.parent

# Needed though nothing imports it by name: grammars are imported by their name in a table.
USED_UNSEEN = {normal(grammar.module) for grammar in GRAMMARS.values()}

Lay = Callable[[dict[str, str]], Path]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Return a function that lays a sample below a fresh root."""

    def write(files: dict[str, str]) -> Path:
        for path, text in files.items():
            file = tmp_path / path.replace("@", "src/knowledge_mcp")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule: Callable[[Path], list[str]]) -> None:
    broken = rule(ROOT)
    assert not broken, "\n".join([f"{rule.__name__.replace('_', ' ')}: {rule.__doc__}", *broken])


CASES = [
    pytest.param(rule, *sample, id=f"{rule.__name__}-{number}")
    for rule in RULES
    for number, sample in enumerate(SAMPLES[rule.__name__])
]


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES)
def test_each_rule_finds_what_breaks_it(
    rule: Callable[[Path], list[str]], wrong: dict[str, str], right: dict[str, str], lay: Lay
) -> None:
    assert len(rule(lay(wrong))) >= 1


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES)
def test_each_rule_lets_pass_what_only_comes_near(
    rule: Callable[[Path], list[str]], wrong: dict[str, str], right: dict[str, str], lay: Lay
) -> None:
    assert rule(lay(right)) == []


def test_there_are_samples_for_every_rule_and_for_no_other() -> None:
    assert {rule.__name__ for rule in RULES} == SAMPLES.keys()


def test_the_rules_read_the_files_of_the_project() -> None:
    seen = {module.path.split("/", maxsplit=1)[0] for module in modules(ROOT)}
    assert seen >= {"src", "tests", "tools"}
    assert seen <= set(FOLDERS)


def test_no_adapter_of_the_project_leans_on_a_sibling() -> None:
    assert leaning_on_a_sibling(ROOT) == []


def test_everything_imported_by_the_package_is_declared() -> None:
    expected = declared(ROOT)
    assert {name: place for name, place in imported(ROOT).items() if name not in expected} == {}


def test_everything_declared_is_imported_somewhere() -> None:
    assert declared(ROOT) - imported(ROOT).keys() - USED_UNSEEN == set()
