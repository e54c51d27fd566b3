"""Two editions as files: what is read in them decides what is the same clause, and what changed in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.cli.knowledge.review.compare import compare_editions, edition_at
from knowledge_mcp.cli.knowledge.review.files import files_below
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.settings import load_settings
from knowledge_mcp.support.files import remove_folder

Read = Callable[..., list[ClauseChange]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def both(old: str, new: str, suffix: str = ".md") -> list[ClauseChange]:
        sides: list[str] = []
        for name, text in (("old", old), ("new", new)):
            (tmp_path / f"{name}{suffix}").write_text(text)
            sides.append(str(tmp_path / f"{name}{suffix}"))
        settings = load_settings()
        return compare_editions(edition_at(settings, sides[0]), edition_at(settings, sides[1]))

    return both


def kinds(found: list[ClauseChange]) -> dict[str, LinkKind]:
    shown = ((each.link.new or each.link.old, each.link.kind) for each in found)
    return {clause.label: kind for clause, kind in shown if clause is not None}


def changes_in(found: list[ClauseChange]) -> list[tuple[str, str, str]]:
    return [(change.kind.value, change.before, change.after) for each in found for change in each.changes]


TEXT = "A pump is kept free of dust and of oil by the people who run it."


def test_a_chapter_without_text_is_found_by_its_heading_below_a_title_that_says_the_year(read: Read) -> None:
    old = f"# Pumps 2018\n\n## 1 Scope\n\n{TEXT}\n\n## 2 Requirements\n\n### 2.1 Wear\n\nRings wear out.\n\n"
    old += "### 2.2 Age\n\nHoses age.\n"
    new = old.replace("2018", "2023").replace("## 2 Req", "## 2 Safety\n\nGuards protect hands.\n\n## 3 Req")
    new = new.replace("2.1", "3.1").replace("### 2.2 Age\n\nHoses age.", "### 3.2 Noise\n\nFans are loud at night.")
    assert kinds(read(old, new))["3 Requirements"] is LinkKind.RENUMBERED


def test_a_definition_belongs_to_the_term_that_is_its_heading(read: Read) -> None:
    old = f"# Pumps\n\n## 1 Scope\n\n{TEXT}\n\n## 2 Terms and definitions\n\n### 2.1 outage\n\n"
    old += "period in which no water moves\n"
    found = read(old, old.replace("no water moves", "little water moves"))
    assert changes_in(found)[0] == (
        "definition",
        "period in which no water moves",
        "period in which little water moves",
    )
    assert kinds(found)["2.1 outage"] is LinkKind.EDITED


def test_a_definition_in_other_words_altogether_is_reported_once_and_an_obligation_behind_it_too(read: Read) -> None:
    old = f"# Pumps\n\n## 1 Scope\n\n{TEXT}\n\n## 2 Terms and definitions\n\n### 2.1 outage\n\n"
    old += "period in which no water moves\n"
    new = old.replace("period in which no water moves", "any stop above 0.5 h, for whatever reason")
    assert [kind for kind, _, _ in changes_in(read(old, new))] == ["definition"]
    obliging = new + "\nThe owner shall report every one.\n"
    assert sorted(kind for kind, _, _ in changes_in(read(old, obliging))) == ["definition", "words"]


def test_a_reference_by_number_alone_that_was_only_renumbered_is_no_limit(read: Read) -> None:
    old = f"# Pumps\n\n## 2 Tests\n\n{TEXT}\n\n### 2.1 Flow\n\nFlow is measured as 2.2.1 says, see 2.2.1.\n\n"
    old += "### 2.2 Heat\n\n#### 2.2.1 Oil\n\nOil is warm.\n"
    new = old.replace("# Pumps\n", "# Pumps\n\n## 2 Safety\n\nHands are kept off.\n").replace(
        "## 2 Tests", "## 3 Tests"
    )
    new = new.replace("2.1 F", "3.1 F").replace("2.2 H", "3.2 H").replace("2.2.1", "3.2.1")
    assert [each for each in changes_in(read(old, new)) if each[0] != "words"] == []
    assert [each for each in changes_in(read(old, new)) if "2.2.1" in each[1]] == []


def test_sections_of_four_digits_are_numbers_and_years_are_none(read: Read) -> None:
    old = f"# Code\n\n## Chapter 9 Ways out\n\n### 901 General\n\n{TEXT}\n\n### 902 Doors\n\nDoors open outwards.\n"
    new = old.replace("Chapter 9", "Chapter 10").replace("901", "1001").replace("902", "1002")
    assert kinds(read(old, new))["1002 Doors"] is LinkKind.RENUMBERED
    years = "# Reports\n\n## 2023 Results\n\nSales rose.\n\n## 2024 Results\n\nSales fell.\n"
    assert {each.link.new.number for each in read(years, years) if each.link.new} == {""}


def test_what_every_chapter_says_is_not_moved_from_one_that_is_gone_to_one_that_is_new(read: Read) -> None:
    general = "### General\n\nThis chapter applies in addition to the first.\n"
    first = f"# Code\n\n## Scope\n\n{TEXT}\n\n## Stairs\n\n{general}\n### Treads\n\nTreads are flat and even.\n"
    first += f"\n## Doors\n\n{general}\n### Hinges\n\nHinges turn without noise.\n"
    old = f"{first}\n## Chimneys\n\n{general}\n### Soot\n\nSoot is swept away in autumn.\n"
    new = f"{first}\n## Balconies\n\n{general}\n### Rails\n\nRails carry plants in boxes.\n"
    found = read(old, new)
    assert [
        each.link.kind for each in found if each.link.new and each.link.new.path[-2:] == ("Balconies", "General")
    ] == [LinkKind.ADDED]


def test_sentences_of_one_pattern_about_other_things_are_not_one_that_changed(read: Read) -> None:
    filler = "".join(
        f"## {noun}\n\nThe {noun} shall be fitted so that the {part} is clean.\n\n" for noun, part in _PARTS
    )
    old = f"# Parts\n\n{filler}## Other\n\nThe boiler shall be fitted so that the flue is clean. "
    old += "Paint is blue, as the buyer wants it to be.\n"
    new = old.replace("The boiler shall be fitted so that the flue", "The ladder should be fitted so that the rung")
    assert [each[0] for each in changes_in(read(old, new))] == ["words", "words"]


_PARTS = tuple(
    zip(
        "valve gate sensor panel motor brake cable filter".split(),
        "cover seal bearing shaft bolt handle lamp plate".split(),
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("at 78 kPa", "at 78 bar", ("number", "78 kPa", "78 bar")),
        ("over 3 m² of roof", "over 4 m² of roof", ("number", "3 m²", "4 m²")),
        ("until 1 May 2025", "until 1 July 2026", ("number", "1 May 2025", "1 July 2026")),
        ("may be opened", "may only be opened", ("force", "may", "may only")),
        ("within two days", "within 2 days", ("words", "two", "2")),
        ("within seventy days", "within eighty days", ("number", "seventy", "eighty")),
    ],
)
def test_limits_are_reported_with_their_units_and_as_they_are_written(
    read: Read, before: str, after: str, expected: tuple[str, str, str]
) -> None:
    text = f"# Tanks\n\n## 1 Lids\n\n{TEXT}\n\n"
    text += "The lid of the tank is shut {} by the keeper, who shall tell the others.\n"
    assert changes_in(read(text.format(before), text.format(after))) == [expected]


def test_the_year_of_an_edition_is_no_limit(read: Read) -> None:
    text = f"# Tanks\n\n## 1 Lids\n\n{TEXT}\n\nLids are made as ACME 4711:{{}} says.\n"
    found = changes_in(read(text.format(2018), text.format(2023)))
    assert [kind for kind, _, _ in found] == ["reference"]


def test_a_reference_and_a_definition_are_reported_once_and_the_own_editions_are_none(read: Read) -> None:
    text = (
        "# HST 101:{0} Ladders\n\nHST 101:{0} replaces HST 101:{1}.\n\n## 1 Scope\n\nThis covers ladders. "
        "It is read with HST 4301:{2}, clause 5.\n\n## 2 Terms\n\n### 2.1 rung\n\n"
        "bar of a ladder on which a person {3}\n"
    )
    found = changes_in(read(text.format(2018, 2012, 2016, "stands"), text.format(2023, 2018, 2020, "sits")))
    assert sorted(found) == [
        ("definition", "bar of a ladder on which a person stands", "bar of a ladder on which a person sits"),
        ("reference", "HST 4301:2016 5", "HST 4301:2020 5"),
        ("words", "101:2018 … 101:2012.", "101:2023 … 101:2018."),
    ]


@pytest.mark.slow
def test_chapters_on_a_typewriter_are_headings_though_no_clause_is_below_them(read: Read) -> None:
    chapters = ("Scope", "Terms", "Wear", "Tests", "Marking")
    text = "Pumps\n\n" + "".join(f"{place} {each}\n\n{TEXT}\n{TEXT}\n\n" for place, each in enumerate(chapters, 1))
    found = read(text, text, ".txt")
    assert [each.link.new.heading for each in found if each.link.new and each.link.new.number] == list(chapters)
    listed = "Tools\n\nThese are needed:\n\n1 Hammer\n\n2 Saw\n\n3 File\n\n4 Drill\n\n5 Vice\n\n" + TEXT + "\n"
    assert not any(each.link.new and each.link.new.number for each in read(listed, listed, ".txt"))


def test_the_line_of_a_first_part_is_known_only_where_lines_are(read: Read) -> None:
    page = f"<html><body>\n<p>{TEXT}</p>\n<h1>Pumps</h1>\n<p>{TEXT}</p></body></html>"
    assert [each.link.new.line for each in read(page, page, ".html") if each.link.new] == [1, 3]
    values = json.dumps({"pumps": TEXT})
    assert [each.link.new.line for each in read(values, values, ".json") if each.link.new] == [None]
    assert read(f"{TEXT}\n\n# Pumps\n\n{TEXT}\n", f"{TEXT}\n\n# Pumps\n\n{TEXT}\n")[0].link.new.line == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("suffix", [".md", ".txt", ".html"])
def test_words_behind_the_number_of_a_clause_that_has_no_title_are_compared(read: Read, suffix: str) -> None:
    clauses = (
        "Doors in escape routes shall be 815 mm wide.",
        "Ramps of the building shall have a slope of 1:12.",
        "Rails are set at a height of at least 34 in. (865 mm) and are fixed.",
        "The exits shall be marked by signs.",
        "Lamps of the stairs shall be lit.\nThey shall burn for 2 h.",
    )
    old = "\n\n".join(["1 Ways out", *(f"1.{place} {words}" for place, words in enumerate(clauses, 1))])
    if suffix != ".txt":
        old = f"# {old}" if suffix == ".md" else f"<h1>{old.replace(chr(10) * 2, '</h1><p>', 1)}</p>"
        old = old.replace("\n\n", "</p><p>") if suffix == ".html" else old
    new = old.replace("815", "850").replace("865", "875").replace("2 h", "3 h")
    found = read(old, new, suffix)
    changed = [("number", "815 mm", "850 mm"), ("number", "865 mm", "875 mm"), ("number", "2 h", "3 h")]
    assert changes_in(found) == changed
    assert {each.link.new.number for each in found if each.link.kind is LinkKind.EDITED and each.link.new} == {
        "1.1",
        "1.3",
        "1.5",
    }


def test_words_behind_the_number_of_an_article_are_compared(read: Read) -> None:
    old = "# Law on pumps\n\nArticle 1 The owner shall report pumps within 30 days.\n\nArticle 2 Pumps are tested.\n\n"
    old += "Article 3 The fee is 500 euro.\n\nArticle 4 Whoever fails shall pay 5 000 euro.\n"
    found = read(old, old.replace("30 days", "60 days").replace("5 000", "9 000"))
    assert changes_in(found) == [("number", "30", "60"), ("number", "5 000", "9 000")]


def test_a_letter_above_a_line_of_hyphens_is_text(read: Read) -> None:
    letter = (
        "Dear Mr. Smith:\nThe term is two years.\nYou shall keep it safe.\nYours sincerely,\n--------------\nA. Jones\n"
    )
    found = read(letter, letter.replace("two years", "four years"))
    assert changes_in(found) == [("number", "two", "four")]


def test_definitions_and_sentences_of_a_contract_in_plain_text_are_no_titles(read: Read) -> None:
    old = (
        'AGREEMENT\n\n1. DEFINITIONS\n\n1.1 "Business Day" means a day other than a Sunday in England.\n\n'
        '1.2 "Charges" means the charges set out in Schedule 2.\n\n2. LIABILITY\n\n'
        "2.1 Nothing in this Agreement limits liability for death.\n\n2.2 Neither party pays for any loss of profit.\n"
    )
    new = old.replace("in England", "in Scotland").replace("for death", "for fraud")
    assert changes_in(read(old, new, ".txt")) == [
        ("definition", "a day other than a Sunday in England.", "a day other than a Sunday in Scotland."),
        ("words", "death.", "fraud."),
    ]


def test_a_changed_definition_is_reported_once_though_its_term_and_number_stand_in_its_sentence(read: Read) -> None:
    old = '# Code\n\n## 2 Definitions\n\n2.2 "escape route" means a path of travel from any point to an exit.\n'
    found = read(old, old.replace("an exit", "a place of safety"))
    assert [kind for kind, _, _ in changes_in(found)] == ["definition"]


def test_a_reference_whose_edition_and_clause_changed_is_reported_once(read: Read) -> None:
    old = "# WS 900 Doors\n\n## 4 Pumps\n\nPumps shall comply with WS 200:2015, 5.3.\n"
    found = changes_in(read(old, old.replace("2015, 5.3", "2021, 5.4")))
    assert found == [("reference", "WS 200:2015 5.3", "WS 200:2021 5.4")]


def test_files_below_more_folders_than_python_s_calls_are_compared_or_named(tmp_path: Path) -> None:
    before = os.getcwd()  # noqa: PTH109 - made step by step: no call takes the path of the last one
    skipped: list[str] = []
    os.chdir(tmp_path)
    try:
        for name in ["d"] * 1_100 + ["f" * 240] * 10:
            Path("here.md").write_text(TEXT)
            Path(name).mkdir()
            os.chdir(name)
        found = [name for _, name in files_below(tmp_path, skipped)]
    finally:
        os.chdir(before)
        remove_folder(tmp_path)
    assert "d/" * 1_100 + "here.md" in found
    assert len(skipped) == 1
    assert "too long" in skipped[0]
