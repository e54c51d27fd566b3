"""Lines of a source: those of the very words, where the text has the lines of its file, else those of the block."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Block, BlockKind, Span
from knowledge_mcp.model.lines import LineRun, SourceLines, line_ends, line_runs

TEXT = "One\n\nTwo\nthree\n\nFour five\n\n| a |\n| - |\n| b |\n| c |"


def blocks(*lines: tuple[int, int] | None) -> list[Block]:
    """Make a block of each part between blank lines, the last one a table."""
    found: list[Block] = []
    start = 0
    for part, place in zip(TEXT.split("\n\n"), lines, strict=True):
        kind = BlockKind.TABLE if part.startswith("|") else BlockKind.PARAGRAPH
        found.append(Block(kind, Span(start, start + len(part)), lines=place))
        start += len(part) + 2
    return found


def lines_of(words: str, *lines: tuple[int, int] | None) -> tuple[int, int] | None:
    span = Span(TEXT.index(words), TEXT.index(words) + len(words))
    runs = line_runs(TEXT, blocks(*lines))
    found = SourceLines(TEXT, runs).of(span)
    assert found == SourceLines(TEXT, runs, line_ends(TEXT)).of(span)
    return found


def test_blocks_whose_lines_follow_one_another_are_one_stretch() -> None:
    assert line_runs(TEXT, blocks((1, 1), (3, 4), (6, 6), (8, 11))) == (LineRun(Span(0, len(TEXT)), 1, 11),)
    assert line_runs(TEXT, blocks(None, None, None, None)) == ()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("One", (2, 2)),
        ("Two", (7, 7)),
        ("three", (8, 8)),
        ("Two\nthree", (7, 8)),
        ("three\n\nFour", (8, 22)),
        ("five", (20, 22)),  # three lines of the file that are one of the text
        ("| a |", (30, 30)),
        ("| b |", (31, 31)),  # the rule above it is none of the sheet
        ("| c |", (32, 32)),
    ],
)
def test_words_have_their_own_lines_where_the_text_has_those_of_its_file(words: str, found: tuple[int, int]) -> None:
    assert lines_of(words, (2, 2), (7, 8), (20, 22), (30, 32)) == found


def test_words_without_lines_have_none() -> None:
    assert lines_of("Two", (2, 2), None, (20, 22), None) is None
