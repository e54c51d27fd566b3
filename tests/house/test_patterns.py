"""No pattern and no splitter of words lets a text hold the process: twice the text takes about twice the time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.analysis.entries import expansion_fits, split_term
from knowledge_mcp.analysis.identifiers import requirement_identifier
from knowledge_mcp.analysis.modality import detect_convention, force_of
from knowledge_mcp.analysis.references import find_references
from knowledge_mcp.analysis.sentences import sentence_spans
from knowledge_mcp.engine.code_symbols import names_in, words_worth
from knowledge_mcp.engine.names import Name, asked_for
from knowledge_mcp.engine.quote_words import read_words
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from tests.house.patterns import BUILT, collected
from tests.house.pumping import BOUNDED, grows_too_fast

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 120.0
"""Seconds that the child gets; it needs a tenth of that."""

PUMPS = tuple(
    ("", body, "\x00")
    for body in (
        *"_a.1()[]{|`\"'“”‘*<>-:;,!…é \n\t",
        *(".\n", "a_", "a.", "1.", "(a", "a)", "[a", "`a", '"a', "“a", "1-a", "a::", "a/", "|a\n", "-\n", "\n\n"),
        *("shall ", "e.g. ", "a b", "key words ", "(a) ", " \n", "5.1 ", "and 5.4 "),
    )
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.house.pumping", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)


@pytest.mark.slow
def test_every_pattern_of_the_package_takes_time_in_proportion_to_its_text() -> None:
    ended = run()
    assert [line for line in ended.stdout.splitlines() if line.startswith("TOO SLOW")] == [], ended.stderr
    assert ended.stdout.endswith("done\n"), f"{ended.stdout[-200:]}{ended.stderr[-2000:]}"


@pytest.mark.parametrize(
    "words",
    [r"(?=.*\d)\w+(?:[-_.]\w+)*", r"(?:a+)+b", r"\s+$", r"a.*b", r"“[^”]*”", r"(?:\.[ .]*){3,}\d"],
    ids=["the pattern that froze the server", "exponential", "blanks", "two ends", "quotation", "leaders"],
)
def test_a_pattern_that_is_slower_than_that_is_found(words: str) -> None:
    ended = run(words)
    assert ended.returncode == 1
    assert "TOO SLOW" in ended.stdout


@pytest.mark.parametrize("words", [r"\w+", r"(?<!\s)\s++$", r"“[^”]{0,100}”", r"(?<![ab])(?:a|b)++c"])
def test_a_pattern_that_only_looks_slow_passes(words: str) -> None:
    assert run(words).returncode == 0


def test_patterns_are_found_wherever_they_are_written() -> None:
    found, _ = collected(ROOT)
    written = {each.pattern.pattern for each in found}
    assert r"\s+" in written  # of a module
    assert r"^means\s+" in written  # inside a function
    assert any(each.place.endswith("(built)") for each in found)
    assert len(found) > 400
    assert all(name.startswith("knowledge_mcp.") for name in (*BUILT, *BOUNDED))


SPLITTERS: dict[str, Callable[[str], object]] = {
    "names": asked_for.__wrapped__,
    "the pattern of a name": lambda text: Name("a0-0-0", "a0-0-0", is_clause=False).pattern.search(f"a{text}"),
    "sentences": sentence_spans,
    "analyser": EnglishAnalyser().document_terms,
    "quotes": read_words,
    "symbols": names_in,
    "worth of words": words_worth,
    "identifiers": requirement_identifier,
    "references": find_references,
    "force": force_of,
    "convention": detect_convention,
    "terms": split_term,
    "expansions": lambda text: expansion_fits("API", text),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTERS)
def test_every_splitter_takes_time_in_proportion_to_its_text(name: str) -> None:
    slow = [pump for pump in PUMPS if grows_too_fast(SPLITTERS[name], pump)]
    assert slow == []


def test_a_splitter_that_looks_back_at_every_word_is_found() -> None:
    assert grows_too_fast(
        lambda text: [text[: each.start()].count("a") for each in re.finditer("a", text)], ("", "a", "")
    )
