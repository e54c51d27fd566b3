"""Rows of tables as they are embedded: the cells without the pipes, every word kept, all else untouched."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import plain_rows

_ANALYSER = EnglishAnalyser()
_CELLS = st.text("ab1 -|:.$\\\n", max_size=8)


def test_rows_are_written_as_their_cells() -> None:
    table = "| Dues | 2021 | |\n| --- | ---: | --- |\n| Berth fees | $ | 17 |"
    rows = "Dues 2021;\nBerth fees $ 17;"
    assert plain_rows(f"As follows:\n\n{table}\n\nShips pay.") == f"As follows:\n\n{rows}\n\nShips pay."


def test_a_part_of_a_table_without_its_header_is_written_so_too() -> None:
    assert plain_rows("| Pilots | 4 |\n| Tugs | 5 |") == "Pilots 4;\nTugs 5;"


def test_a_pipe_inside_a_cell_and_one_inside_a_line_stay() -> None:
    assert plain_rows("| a \\| b | c |") == "a \\| b c;"
    assert plain_rows("cat a | sort\n| Some x -> x") == "cat a | sort\n| Some x -> x"


@settings(deadline=None)
@given(st.lists(st.lists(_CELLS, min_size=1, max_size=4), max_size=4))
def test_the_words_of_the_lexical_leg_are_the_same(rows: list[list[str]]) -> None:
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    assert _ANALYSER.document_terms(plain_rows(text)) == _ANALYSER.document_terms(text)


@settings(deadline=None)
@given(st.text("ab1 -:.;\n", max_size=60))
def test_text_without_tables_stays_as_it_is(text: str) -> None:
    assert plain_rows(text) == text
