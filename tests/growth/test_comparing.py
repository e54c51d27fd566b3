"""Comparing editions takes twice the steps for twice the clauses, whatever became of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from knowledge_mcp.engine.changes import aligning, differences, sentences
from tests.engine.test_changes import compared
from tests.growth.counting import lines

SIZE = 100
MOST = 2.6


def word(number: int) -> str:
    return "w" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def rule(number: int) -> str:
    return f"{word(number)} {word(2 * number + 1)} {word(3 * number + 2)} {word(5 * number)} shall turn."


def clauses(size: int) -> str:
    return "# Rules\n\n" + "".join(f"## {n} {word(n)} title\n\n{rule(n)}\n\n" for n in range(1, size))


def one_clause(size: int) -> str:
    return "# Rules\n\n## 1 All\n\n" + "\n\n".join(map(rule, range(1, size)))


def items(name: str) -> Callable[[int], str]:
    def write(size: int) -> str:
        return "# Rules\n\n## 1 All\n\n" + "\n\n".join(f"- {name}{n}) {name}{word(n)}." for n in range(1, size))

    return write


def few(_size: int) -> str:
    return "# Rules\n\nThis text has only a few words."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (differences, one_clause, clauses),
        (differences, clauses, one_clause),
        (aligning, clauses, few),
        (sentences, items("a"), items("b")),
    ],
    ids=["split", "merged", "removed", "items of other names"],
)
def test_twice_the_clauses_take_twice_the_steps(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, old: Callable[[int], str], new: Callable[[int], str]
) -> None:
    monkeypatch.setattr(sentences, "_MOST_NEAR", 10)
    once, twice = (lines(lambda size=size: compared(old(size), new(size)), module) for size in (SIZE, 2 * SIZE))
    assert once > SIZE
    assert twice < MOST * once


@pytest.mark.parametrize("most", [3, 400])
def test_the_sentences_compared_are_the_nearest(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sentences, "_MOST_NEAR", most)
    old, new = ("# Rules\n\n" + " ".join(f"The {word(n)} shall {verb}." for n in range(9)) for verb in ("turn", "stop"))
    found = [(each.old_text, each.new_text) for change in compared(old, new) for each in change.changes]
    assert found == [(f"The {word(n)} shall turn.", f"The {word(n)} shall stop.") for n in range(9)]
