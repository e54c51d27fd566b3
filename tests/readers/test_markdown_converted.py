"""Markdown that a program made of print: levels that numbers correct, printed contents, and marks of pages."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.convert.markdown import as_markdown
from tests.readers.shown import outline
from tests.readers.test_markdown_pages import placed
from tests.readers.test_markdown_structure import read

_HYPHENS = "-" * 48
_ROWS = "| 1 | Scope | 5 |\n|---|---|---|\n| 2 | Loads | 6 |\n| 2.1 | Wind loads |  |\n| | 2.2 Snow<br> | 12 |\n"
_BODY = "# 1 Scope\n\nText.\n\n# 2 Loads\n\n## 2.1 Wind loads\n\nText.\n\n## 2.2 Snow\n\nText.\n"


def levels(text: str) -> list[tuple[int, str | None, str]]:
    return outline(read(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # the level of 2 is that of 1, which does not contain it
            "# 1 Scope\n\n## 1.1 General\n\n### 2 Loads\n\n### 2.1 Wind\n\n# 3 Tests\n",
            [(1, "1", "Scope"), (2, "1.1", "General"), (1, "2", "Loads"), (2, "2.1", "Wind"), (1, "3", "Tests")],
        ),
        (  # all have two marks; what has no number is inside the clause that goes on
            "## 4 Loads\n\n## 4.1 Wind\n\n## Example\n\n## 4.2 Snow\n\n## Literature\n",
            [(2, "4", "Loads"), (3, "4.1", "Wind"), (4, None, "Example"), (3, "4.2", "Snow"), (2, None, "Literature")],
        ),
        (  # 5 and 5.4 were not read as headings
            "# 4 Loads\n\n## 4.3 Wind\n\n### 5.1 Snow\n\n### 5.1.1 Roofs\n\n#### 5.5.2 Ice\n\n##### 5.5.3 Rain\n",
            [(1, "4", "Loads"), (2, "4.3", "Wind"), (1, "5.1", "Snow"), (2, "5.1.1", "Roofs"), (1, "5.5.2", "Ice"),
             (1, "5.5.3", "Rain")],
        ),
    ],
    ids=["level of the section before", "one level for all", "lost headings"],
)  # fmt: skip
def test_numbers_correct_wrong_levels(text: str, expected: list[tuple[int, str | None, str]]) -> None:
    assert levels(text) == expected
    assert outline(read(as_markdown(read(text)))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## 1. Start\n\n### 1. Open\n\n### 2. Close\n\n## 2. End\n", [2, 3, 3, 2]),
        ("# 00 Start\n\n#### 1. Open\n\n#### 2. Close\n", [1, 4, 4]),
        ("# Part 1 Rules\n\n## § 1 Aim\n\n## § 2 Words\n\n# Part 2 Fees\n\n## § 3 Rates\n", [1, 2, 2, 1, 2]),
        ("## Work\n\n### 4.0 Prepare\n\n### 4.1 Do\n\n### 4.2 Check\n", [2, 3, 3, 3]),
        ("# A\n\n## 1 One\n\n### 1.1 Two\n\n# B\n\n## 1 One\n\n### 1.1 Two\n", [1, 2, 3, 1, 2, 3]),
        ("## Chapter 1\n\n## Loads\n\n## 1.1 Wind\n", [2, 3]),
    ],
    ids=["steps", "steps below zero", "paragraphs below parts", "a first of zero", "parts", "title of a chapter"],
)
def test_levels_that_numbers_do_not_contradict_stay(text: str, expected: list[int]) -> None:
    assert [level for level, _, _ in levels(text)] == expected


@pytest.mark.parametrize(
    "contents",
    [
        _ROWS,
        f"# Contents\n\n{_ROWS}",
        "# Contents\n\n1 Scope\n\n2 Loads\n\n2.1 Wind loads ..... 7\n\n2.2 Snow ..... 12\n\n",
        "# Contents\n\n- 1 Scope 5\n- 2 Loads 6\n  - 2.1 Wind loads7\n  - 2.2 Snow12\n",
        "# Contents\n\n| | 1 | |\n|---|---|---|\n| 2 | | |\n| | 2.1 | |\n| | 2.2 | 12 |\n",
    ],
    ids=["a table", "below a title", "paragraphs", "a list", "numbers alone"],
)
def test_printed_contents_are_left_out(contents: str) -> None:
    body = _BODY.replace("2.1", '<span id="page-6-0"></span>2.1')
    document = read(f"{contents}\n{body}")
    assert document.text.removeprefix("Contents\n\n") == read(body).text


@pytest.mark.parametrize(
    "kept",
    [
        "| Clause | Result |\n|---|---|\n| 1 Scope | met |\n| 2 Loads | met |\n| 2.1 Wind loads | open |\n"
        "| 2.2 Snow | met |\n",
        "| 1 | Scope |\n|---|---|\n| 2 | Loads |\n| 2.1 | Wind loads |\n| 2.2 | Snow |\n",
        "# Contents\n\nThis part says what loads are.\n\nIt does not say how they are measured.\n",
        "# Contents\n\n| Date | Change |\n|---|---|\n| 2025 | Snow |\n| 2024 | first |\n\n",
    ],
)
def test_what_only_names_headings_is_kept(kept: str) -> None:
    lines = [word for word in ("met", "Scope", "measured", "first") if word in kept]
    document = read(f"{kept}\n{_BODY}")
    assert all(document.text.count(word) >= kept.count(word) for word in lines)
    assert len(document.text) > len(read(_BODY).text) + 20


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        (f"\n{{0}}{_HYPHENS}\n\nOne.\n\n{{1}}{_HYPHENS}\n\nTwo.\n", [(1,), (2,)]),
        ("One.\n\n--- end of page=0 ---\n\nTwo.\n\n--- end of page=1 ---\n", [(1,), (2,)]),
        ("One.\n\n--- end of page.page_number=4 ---\n", [(4,)]),
        ('One.\n\n<!-- PageNumber="iv" -->\n<!-- PageBreak -->\n\n<!-- PageHeader="X" -->\nTwo.\n', [(1,), (2,)]),
        ("<!-- InputPageNumber: 3 -->\n\nOne.\n", [(3,)]),
        ("One.\n\n<!-- PageBreak -->\n\nTwo.\n", [(), ()]),
    ],
    ids=["before", "behind", "behind, from 1", "between", "named", "a break for the printer"],
)
def test_marks_of_programs_begin_pages(text: str, pages: list[tuple[int, ...]]) -> None:
    document = read(text)
    assert placed(document) == list(zip(("One.", "Two."), pages, strict=False))
    assert [page.number for page in document.pages] == [number for each in pages for number in each]


def test_a_mark_in_code_is_code() -> None:
    document = read(f"```\n{{0}}{_HYPHENS}\n```\n\n{{1}}{_HYPHENS}\n\nTwo.\n")
    assert placed(document) == [(f"{{0}}{_HYPHENS}", ()), ("Two.", (2,))]


def test_formulas_that_a_program_did_not_read_are_counted() -> None:
    document = read("# Loads\n\n<!-- formula-not-decoded -->\n\nText.\n\n<!-- formula-not-decoded -->\n")
    (warning,) = document.warnings
    assert warning.startswith("2 formulas are missing: the program that wrote this file did not read them.")


_LEADERS = " . . . . . . . . "
_CLAUSES = [
    "3.1 Scope. This part says what loads are.", "3.2 Loads. The tower shall carry all loads.",
    "3.2.1 Wind loads. The tower shall carry wind\nfrom all sides.", "3.2.2 Snow", "Snow lies on roofs.",
    "3.3 Tests. Each tower shall be tested.", "3.3.1 Methods. See ABC 12.", "3.3.2 Reports. A report is written.",
]  # fmt: skip


def test_titles_that_begin_paragraphs_are_those_of_clauses() -> None:
    document = read("# Towers\n\n" + "\n\n".join(_CLAUSES) + "\n\nSee 3.2.1 of the other part.\n")
    assert [(section.number, section.title) for section in document.sections if section.number] == [
        ("3.1", "Scope"), ("3.2", "Loads"), ("3.2.1", "Wind loads"), ("3.2.2", "Snow"), ("3.3", "Tests"),
        ("3.3.1", "Methods"), ("3.3.2", "Reports"),
    ]  # fmt: skip
    assert "The tower shall carry wind" in document.text


@pytest.mark.parametrize(
    "paragraphs",
    [
        [f"1.{number} Verify that lamp {number} is lit, and that the clerk of the tower has seen it burn at night."
         for number in range(1, 12)] + ["1.12 Look. It burns."],
        ["3.1 Scope. What loads are.", "2.7 Mass. In tons.", "3.2 Loads. Of towers.", "1.4 Wind. In knots.",
         "9.9 Snow. On roofs.", "1.1 Ice. On masts.", "7.2 Rain. At night."],
        _CLAUSES[:4],
        ["## 3.9 Fire", *_CLAUSES],
    ],
    ids=["clauses without titles", "amounts", "too few", "headings have numbers"],
)  # fmt: skip
def test_paragraphs_that_only_begin_with_numbers_have_no_titles(paragraphs: list[str]) -> None:
    document = read("# Towers\n\n" + "\n\n".join(paragraphs) + "\n")
    assert not [section.title for section in document.sections if section.title in {"Look", "Mass", "Scope", "Loads"}]


def test_lines_with_leaders_are_contents_also_without_a_title_and_over_pages() -> None:
    lines = [f"{clause.partition('.')[0]}.{number} Item {number}{_LEADERS}{number + 3}" for number, clause in
             enumerate(_CLAUSES, start=1)]  # fmt: skip
    before = "\n".join(lines[:5]) + "\n\niv\n\nTOWERS, PART 3\n\n" + "\n\n".join(lines[5:])
    document = read(f"# Towers\n\n{before}\n\nText of the first page.\n\nMore text.\n")
    assert document.text == "Towers\n\nText of the first page.\n\nMore text."


def test_data_with_leaders_are_no_contents() -> None:
    data = "\n\n".join(f"{name}{_LEADERS}{value}" for name, value in
                        zip("mass length width height power".split(), (900, 12, 480, 7, 55), strict=True))  # fmt: skip
    assert "length" in read(f"# Towers\n\n{data}\n").text
