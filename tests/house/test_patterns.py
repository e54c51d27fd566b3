"""No pattern and no splitter of words lets a text hold the process: twice the text takes about twice the time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.patterns import BUILT, collected
from tests.house.pumping import BOUNDED

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 240.0
"""Seconds that the child gets; it needs a tenth of that."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the child; its coverage is not measured, which would be most of the time that it takes."""
    command = [sys.executable, "-m", "tests.house.pumping", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=LIMIT, check=False)


@pytest.mark.slow
def test_every_pattern_of_the_package_takes_time_in_proportion_to_its_text() -> None:
    ended = run()
    assert [line for line in ended.stdout.splitlines() if line.startswith("TOO SLOW")] == [], ended.stderr
    assert ended.stdout.endswith("done\n"), f"{ended.stdout[-200:]}{ended.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        r"(?=.*\d)\w+(?:[-_.]\w+)*",
        r"(?:a+)+b",
        r"\s+$",
        r"a.*b",
        r"“[^”]*”",
        r"(?:\.[ .]*){3,}\d",
        r"[^\w\s](?:[^\w\s]|\s|[\w\s]{1,3}(?=[^\w\s]))*",
    ],
    ids=["the pattern that froze the server", "exponential", "blanks", "two ends", "quotation", "leaders", "drawing"],
)
def test_a_pattern_that_is_slower_than_that_is_found(words: str) -> None:
    ended = run(words)
    assert ended.returncode == 1
    assert "TOO SLOW" in ended.stdout


@pytest.mark.parametrize("words", [r"\w+", r"(?<!\s)\s++$", r"“[^”]{0,100}”", r"(?<![ab])(?:a|b)++c"])
def test_a_pattern_that_only_looks_slow_passes(words: str) -> None:
    assert run(words).returncode == 0


@pytest.mark.slow
def test_patterns_are_found_wherever_they_are_written() -> None:
    found, _ = collected(ROOT)
    written = {each.pattern.pattern for each in found}
    assert r"\s+" in written  # of a module
    assert r"^means(?:\s+|\s?[:—–]\s*)" in written  # inside a function
    assert any(each.place.endswith("(built)") for each in found)
    assert len(found) > 400
    assert all(name.startswith("knowledge_mcp.") for name in (*BUILT, *BOUNDED))


@pytest.mark.slow
def test_every_splitter_takes_time_in_proportion_to_its_text() -> None:
    ended = run("--splitters")
    slow = [line for line in ended.stdout.splitlines() if line.startswith("TOO SLOW")]
    assert ended.stdout.endswith("done\n"), f"{ended.stdout[-200:]}{ended.stderr[-2000:]}"
    assert [line for line in slow if "careless" not in line] == []
    assert len(slow) == 1, "one that looks back at every word is found"
