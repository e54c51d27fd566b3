"""What has a name stays what it was, whatever became of its words; places and other columns limit nothing."""

from __future__ import annotations

import pytest

from tests.engine.test_changes import compared

NameChanges = list[tuple[str, str, str]]


def changed_names(old: str, new: str) -> NameChanges:
    """Tell what changed in a clause with more than what changes."""
    frame = "# Rules\n\n## 1 Terms\n\nThe words of this clause stay as they are in both editions.\n\n{}\n"
    return [
        (change.name, change.before, change.after)
        for each in compared(frame.format(old), frame.format(new))
        for change in each.changes
    ]


HEAD = "| # | Requirement | Level |\n|---|---|---|\n"


def test_a_row_of_the_same_name_is_the_same_however_much_of_it_was_rewritten() -> None:
    old, new = "| 1.2.1 | Check that files stay below a size. | 2 |", "| 1.2.1 | Quotas hold for everybody. | 2 |"
    assert changed_names(HEAD + old, HEAD + new) == [
        ("words", "Check that files stay below a size.", "Quotas hold for everybody.")
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| 1.2.1 | Check that files stay below a size. | 2 |", "| 1.2.1 | [DELETED, DUPLICATE OF 1.3.2] | |"),
        ("(2) The fee is due at the end of each year.", "(2) (repealed)"),
        ("5. Die Abgabe ist am Ende des Jahres fällig.", "5. (weggefallen)"),
        ("SRS-12: Each door has a lamp above it.", "SRS-12: Withdrawn."),
    ],
)
def test_what_the_edition_itself_says_is_gone_is_withdrawn_and_nothing_was_added(old: str, new: str) -> None:
    assert changed_names(old, new) == [("requirement withdrawn", old, new)]
    assert changed_names(new, old) == [("requirement added", new, old)]


def test_a_name_that_stood_alone_is_no_requirement_that_was_withdrawn() -> None:
    assert [
        name
        for name, _, _ in changed_names(
            "(4) Each door has a lamp.\n\n(5)", "(4) Each door has a lamp.\n\n(5) (repealed)"
        )
    ] == ["words"]
    names = ("| Anna Berg | Ron Perry | Tom Kis |", "| Tom Kis | | |")
    assert {name for name, _, _ in changed_names(HEAD + names[0], HEAD + names[1])} == {"words"}


def test_items_that_were_parted_bring_no_number_of_theirs() -> None:
    old = "5. any other change of the register, and the change of the entered name where the holder wishes so,"
    new = "6. any other change of the register,\n\n7. the change of the entered name where the holder wishes so,"
    assert "number" not in {name for name, _, _ in changed_names(old, new)}


def test_numbers_that_count_rows_and_items_are_no_names() -> None:
    old, new = "| 3 | Check that files stay below a size. | 2 |", "| 3 | Quotas hold for everybody. | 2 |"
    assert [name for name, before, after in changed_names(HEAD + old, HEAD + new) if not (before and after)] == [
        "requirement withdrawn",
        "words",
    ]
    gone, come = changed_names("2. Check that files stay small.", "2. Quotas hold for everybody.")
    assert (gone[2], come[1]) == ("", "")


def test_amounts_are_reported_in_their_order_though_their_decimals_are_alike() -> None:
    old = "The tax is\n\n- 7.50 Euro\n\n- 23.43 Euro\n\n- 42.18 Euro"
    new = "The tax is\n\n- 13.03 Euro\n\n- 33.01 Euro\n\n- 59.43 Euro"
    assert changed_names(old, new) == [
        ("number", "7.50", "13.03"),
        ("number", "23.43", "33.01"),
        ("number", "42.18", "59.43"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Die Frist nach § 5 Abs. 5 gilt für jedes Register.", "Die Frist nach § 5 Absatz 5 gilt für jedes Register."),
        ("Für den Zaun gilt Absatz 1 entsprechend.", "Für den Zaun gilt Absatz 1 Satz 1 und 3 bis 5 entsprechend."),
        ("Die §§ 3, 4 und 5 gelten auch für Boote.", "Die §§ 3, 4, 6 und 7 gelten auch für Boote."),
        ("Le délai de l'article 5 vaut pour tous.", "Le délai des articles 5 et 6 vaut pour tous."),
        ("It is kept as set out in version: 1 of the list.", "It is kept as set out in version: 2 of the list."),
        ("It is kept in future 4.x releases of the list.", "It is kept in future 5.x releases of the list."),
    ],
)
def test_places_in_any_language_and_versions_are_no_limits(old: str, new: str) -> None:
    assert "number" not in {name for name, _, _ in changed_names(old, new)}


def test_what_is_counted_behind_a_place_is_a_limit() -> None:
    old, new = "Es gelten § 5 und 30 Tage Frist für alle.", "Es gelten § 5 und 40 Tage Frist für alle."
    assert changed_names(old, new) == [("number", "30", "40")]
    assert changed_names("The dew point -40 °C is kept.", "The dew point -30 °C is kept.") == [
        ("number", "-40 °C", "-30 °C")
    ]


def test_sums_in_german_words_are_numbers() -> None:
    old = "Die Tat wird mit bis zu fünfzehntausend Euro, sonst mit zweitausendfünfhundert Euro geahndet."
    new = "Die Tat wird mit bis zu dreißigtausend Euro, sonst mit fünftausend Euro geahndet."
    assert changed_names(old, new) == [
        ("number", "fünfzehntausend", "dreißigtausend"),
        ("number", "zweitausendfünfhundert", "fünftausend"),
    ]


def test_a_cell_of_another_column_is_no_changed_limit() -> None:
    old = "| 5.1 | Check that mails are cleaned of what a user sent, for at least 30 days. | ✓ | ✓ | 147 |"
    new = "| 5.1 | Check that mails are cleaned of what a user sent, for at least 40 days. | 2 |"
    assert [each for each in changed_names(old, new) if each[0] == "number"] == [("number", "30", "40")]


def test_not_recommended_is_reported_as_such() -> None:
    rule = 'The key words "MUST", "RECOMMENDED" and "MAY" are to be interpreted as described in RFC 2119.\n\n'
    old, new = "The kernel field (OPTIONAL) sets a limit.", "The kernel field (OPTIONAL, NOT RECOMMENDED) sets a limit."
    assert ("force", "", "NOT RECOMMENDED") in changed_names(rule + old, rule + new)


def test_a_row_that_became_an_item_of_a_list_keeps_its_limits() -> None:
    rows = "| Valve | Pressure (bar) |\n|---|---|\n| Inlet of the station | 12 |\n| Outlet of the station | 14 |"
    items = "- Inlet of the station: 12\n- Outlet of the station: {}"
    assert "number" not in {name for name, _, _ in changed_names(rows, items.format(14))}
    assert ("number", "14", "16") in changed_names(rows, items.format(16))


def test_a_row_is_compared_with_the_row_of_its_name_and_not_with_a_new_one_that_has_more_of_its_words() -> None:
    rest = "\n\n".join(f"Gate {name} MUST close and SHALL lock." for name in ("one", "two", "three", "four", "five"))
    head = f"# Forms\n\n{rest}\n\n| form | type | schema |\n| --- | --- | --- |\n"
    reference = "be set to a reference that identifies the schema which the data adheres to"
    old = f"{head}| plain | text | MAY be left out |\n| packed | binary | SHOULD {reference} |\n"
    new = f"{head}| plain | text | MAY be left out |\n| other | - | MAY {reference} |\n"
    new += "| packed | 2 | SHOULD be a name |\n"
    told = [change for each in compared(old, new) for change in each.changes]
    assert "force" not in {each.name for each in told}
    assert [(each.column, each.new_text) for each in told if each.row == "packed"] == [
        ("schema", "SHOULD be a name"),
        ("type", "2"),
    ]
    assert [each.old_text for each in told if each.row == "other"] == [""]
