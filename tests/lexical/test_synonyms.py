"""Lists of synonyms: what a question says, what is asked for beside it, and lines that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.lexical.synonyms import SHIPPED, SynonymList, from_options
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.model.query import Wording
from knowledge_mcp.ports import Synonyms

ANALYSER = EnglishAnalyser()


def made(text: str) -> Synonyms:
    """Read one list."""
    return SynonymList(ANALYSER, {"words.txt": text})


def asked(text: str, question: str) -> dict[str, tuple[str, ...]]:
    """Say what a list finds in a question."""
    return {each.phrase: each.synonyms for each in made(text).wordings(question)}


def test_alike_phrases_stand_for_each_other_in_any_case_and_number() -> None:
    rule = "duty pump, working pump, lead pump\n"
    assert asked(rule, "How many DUTY PUMPS are there?") == {"duty pump": ("working pump", "lead pump")}
    assert asked(rule, "the lead pump’s bearing") == {"lead pump": ("duty pump", "working pump")}
    assert asked(rule, "a pump on duty") == {}


def test_an_arrow_points_one_way_only() -> None:
    rule = "quick ratio, acid test => current assets, current liabilities"
    assert asked(rule, "the acid test") == {"acid test": ("current assets", "current liabilities")}
    assert asked(rule, "the current assets") == {}


def test_what_the_question_says_already_is_not_asked_for_again() -> None:
    rule = "capex => capital expenditures, spending"
    assert asked(rule, "capex, that is capital expenditure") == {"capex": ("spending",)}
    assert asked("capex, spending", "capex spending") == {}


def test_the_longest_phrase_is_the_one_that_is_meant() -> None:
    rules = "turnover => sales\nfixed asset turnover => property\n"
    assert asked(rules, "its fixed asset turnover and its turnover") == {
        "fixed asset turnover": ("property",),
        "turnover": ("sales",),
    }


def test_lines_about_one_phrase_add_up() -> None:
    rules = "# two lines\n\ncapex => spending\nCapex, capital expenditure\n"
    assert asked(rules, "the capex") == {"capex": ("spending", "capital expenditure")}
    rules = "ICD => interface document\nicd, interface control document\n"
    assert asked(rules, "the ICD") == {"ICD": ("interface document",), "icd": ("interface control document",)}


def test_what_is_written_in_capitals_is_found_in_capitals_only() -> None:
    rules = "DIO => days inventory outstanding\nebit, operating profit\n"
    assert asked(rules, "its DIO, please") == {"DIO": ("days inventory outstanding",)}
    assert asked(rules, "¿Quién dio el nombre?") == {}
    assert asked(rules, "EBIT or Ebit") == {"ebit": ("operating profit",)}
    assert asked("NET SALES => revenue", "the NET  SALES of 2023") == {"NET SALES": ("revenue",)}
    assert made(rules).contains_phrase("the DIO is 12", "DIO")
    assert not made(rules).contains_phrase("se lo dio", "DIO")


def test_an_ampersand_is_part_of_a_phrase() -> None:
    rules = "r&d => research\nm&a => mergers\n"
    assert asked(rules, "what was spent on R&D?") == {"r&d": ("research",)}
    assert asked(rules, "r d 12 and 5 m") == {}
    assert made(rules).contains_phrase("Our R&D grew.", "r&d")
    assert not made(rules).contains_phrase("Section R, part D", "R&D")


def test_a_comma_within_a_phrase_is_marked() -> None:
    assert asked(r"PPNE => property\, plant and equipment", "PPNE") == {"PPNE": ("property, plant and equipment",)}


def test_other_scripts_are_compared_as_they_are_searched() -> None:
    assert asked("größe, abmessung", "die GROSSE") == {"größe": ("abmessung",)}
    assert asked("東京都 => 首都", "東京都の人口") == {"東京都": ("首都",)}


def test_phrases_that_are_not_searched_are_reported_and_harm_nothing() -> None:
    words = made("IT, information technology\nnot => never\n")
    assert words.unsearched == ("IT", "not")
    assert words.wordings("is it not so?") == ()
    assert words.wordings("information technology") == (Wording("information technology", ("IT",)),)
    assert not words.contains_phrase("it", "IT"), "nobody can tell it from the pronoun"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("capex", "one phrase only"),
        ("capex,", "empty phrase"),
        ("=> sales", "empty phrase"),
        ("capex =>", "empty phrase"),
        (", capex", "empty phrase"),
    ],
)
def test_a_line_that_says_nothing_is_refused_with_its_place(line: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"line 2 of words.txt has (an )?{problem}"):
        made(f"# words\n{line}\n")


@given(st.text(max_size=80))
def test_no_question_breaks_it_and_all_that_is_found_comes_from_the_lists(question: str) -> None:
    words = from_options(SHIPPED, ANALYSER)
    for each in words.wordings(question):
        assert words.contains_phrase(question, each.phrase)
        assert each.synonyms
        assert not any(words.contains_phrase(question, other) for other in each.synonyms)


def test_the_shipped_list_answers_with_what_reports_print() -> None:
    words: Synonyms = from_options(("finance",), ANALYSER)
    assert words.size > 40
    assert words.unsearched == ()
    (found,) = words.wordings("Did the quick ratio improve?")
    assert found.phrase == "quick ratio"
    assert "current liabilities" in found.synonyms


def test_own_files_are_read_beside_shipped_lists(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("\ufeffSyRS, system requirements specification\n", encoding="utf-8")
    words = from_options(("finance", str(tmp_path / "mine.txt")), ANALYSER)
    assert [each.phrase for each in words.wordings("the quick ratio in the SyRS")] == ["quick ratio", "SyRS"]


def test_a_file_that_cannot_be_read_is_a_configuration_error_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as missing:
        from_options((str(tmp_path / "gone.txt"),), ANALYSER)
    assert "finance" in missing.value.suggestion
    (tmp_path / "latin.txt").write_bytes("größe, maß".encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        from_options((str(tmp_path / "latin.txt"),), ANALYSER)
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    with pytest.raises(ConfigError, match="more than 4 MiB"):
        from_options((str(tmp_path / "huge.txt"),), ANALYSER)
