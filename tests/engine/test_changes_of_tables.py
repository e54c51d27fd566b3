"""Tables in two editions: what changed is named by its row and column, and a row is what its identifier says."""

from __future__ import annotations

import csv
import io

from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.side_by_side import side_by_side
from knowledge_mcp.surfaces import redline
from tests.engine.test_changes import compared

CellChange = tuple[str, str, str, str, str]
"""Row, column, name, old and new words."""
SAME = "Somebody else does this, or it is a matter of design."
LOGS = "The unit keeps its logs for 90 days. Nobody may change them. They are signed each day."


def table(*rows: str) -> str:
    head, *others = rows
    rule = "|---" * (head.count("|") - 1)
    frame = "# Matrix\n\n## 1 Controls\n\nThe words of this clause stay as they are in both editions.\n\n{}\n"
    return frame.format("\n".join((head, f"{rule}|", *others)))


def changed(old: str, new: str) -> list[ClauseChange]:
    return compared(old, new)


def cells(old: str, new: str) -> list[CellChange]:
    found = [change for each in changed(old, new) for change in each.changes]
    return [(each.row, each.column, each.name, each.before, each.after) for each in found]


HEAD = "| Control | Text | Coverage | Response |"
ROWS = (
    f"| 7(c) | Keep the logs of the unit. | Meets | {LOGS} |",
    f"| 7(d) | Train all people on site. | Contributes | {SAME} |",
    f"| 7(e) | Lock the doors at night. | Not Applicable | {SAME} |",
)
OLD = table(HEAD, *ROWS)


def test_a_change_is_named_by_the_identifier_of_its_row_and_by_its_column() -> None:
    new = table(HEAD, ROWS[0].replace("90 days", "60 days"), ROWS[1].replace("Contributes", "Meets"), ROWS[2])
    assert cells(OLD, new) == [
        ("7(c)", "Response", "number", "90", "60"),
        ("7(d)", "Coverage", "words", "Contributes", "Meets"),
    ]


def test_the_changed_words_of_a_long_cell_are_one_change_beside_the_whole_cell() -> None:
    new = table(HEAD, ROWS[0].replace("its logs", "all its logs").replace(" They are signed each day.", ""), *ROWS[1:])
    (found,) = (change for each in changed(OLD, new) for change in each.changes)
    assert (found.row, found.column, found.old_text) == ("7(c)", "Response", LOGS)
    assert (found.before, found.after) == ("They are signed each day.", "all")


def test_rows_are_added_and_removed_by_their_identifier_however_alike_they_are() -> None:
    other = f"| 7(f) | Count the keys each week. | Not Applicable | {SAME} |"
    assert cells(OLD, table(HEAD, *ROWS[:2], other)) == [
        ("7(e)", "", "words", ROWS[2], ""),
        ("7(f)", "", "words", "", other),
    ]


def test_an_identifier_is_the_same_with_other_zeros_and_another_point() -> None:
    old, new = (table("| Id | Text |", *(f"| {name} | {each} |" for name, each in rows)) for rows in (
        (("AC-1", "Lock the doors."), ("AC-2(1)", "Count the keys."), ("AC-10.", "Close the gate.")),
        (("AC-01", "Shut all windows."), ("AC-02(01)", "Count the keys."), ("AC-10", "Close the gate.")),
    ))  # fmt: skip
    assert ("AC-01", "Text", "words", "Lock the doors.", "Shut all windows.") in cells(old, new)
    assert not [each for each in cells(old, new) if not each[1]]


def test_columns_are_added_removed_and_moved_and_their_cells_are_not_changes() -> None:
    new = table(
        "| Control | Coverage | Site | Text |",
        "| 7(c) | Meets | North | Keep the logs of the unit. |",
        "| 7(d) | Contributes | South | Train all people on site. |",
        "| 7(e) | Meets | Yard | Lock the doors at night. |",
    )
    assert cells(OLD, new) == [
        ("", "Response", "requirement withdrawn", "Response", "")
        if "shall" in LOGS
        else ("", "Response", "words", "Response", ""),
        ("", "Site", "words", "", "Site"),
        ("7(e)", "Coverage", "words", "Not Applicable", "Meets"),
    ]


def test_an_added_column_with_demands_is_an_added_requirement() -> None:
    rows = [f"{each} Each site shall {what}. |" for each, what in zip(ROWS, ("log", "train", "lock"), strict=True)]
    assert cells(OLD, table(f"{HEAD} Demand |", *rows)) == [("", "Demand", "requirement added", "", "Demand")]


def test_a_renamed_column_is_the_first_of_those_with_the_same_values() -> None:
    old = [f"| C-{at} | Step {at}. | {'Meets' if at % 2 else 'None'} | {SAME} |" for at in range(6)]
    rows = [each.replace("| Meets |", "| Meets | Meets | Meets |") for each in old]
    rows = [each.replace("| None |", "| None | None | Meets |") for each in rows]
    rows[0] = rows[0].replace("| None |", "| Meets |", 1)
    new = table("| Control | Text | Aggregate Coverage | Own Coverage | Other Coverage | Own Response |", *rows)
    assert cells(table(HEAD, *old), new) == [
        ("", "Aggregate Coverage", "words", "Coverage", "Aggregate Coverage"),
        ("", "Own Response", "words", "Response", "Own Response"),
        ("", "Own Coverage", "words", "", "Own Coverage"),
        ("", "Other Coverage", "words", "", "Other Coverage"),
        ("C-0", "Aggregate Coverage", "words", "None", "Meets"),
    ]


def test_an_identifier_need_not_be_in_the_first_column_and_is_no_value() -> None:
    head = "| Chapter | Id | Text | Limit |"
    rows = (
        "| Doors | V1.1 | Lock them. | 5 mm |",
        "| Doors | V1.2 | Paint them. | 7 mm |",
        "| Keys | V2.1 | Count. | 9 mm |",
    )
    changes = cells(
        table(head, *rows), table(head, rows[0].replace("5", "6"), rows[1].replace("Doors", "Gates"), rows[2])
    )
    assert changes == [("V1.1", "Limit", "number", "5 mm", "6 mm"), ("V1.2", "Chapter", "words", "Doors", "Gates")]
    parts = ("| frame | 281 V | it may hum |", "| lid | 10 kg | it may rest |", "| frame | 60 dB | it may hum |")
    head = "| part | limit | behaviour |"
    assert cells(table(head, *parts), table(head, parts[0].replace("281", "297"), *parts[1:])) == [
        ("frame", "limit", "number", "281 V", "297 V")
    ]


def test_the_redline_has_a_line_for_each_changed_cell_and_files_name_the_cell() -> None:
    new = table(HEAD, ROWS[0], ROWS[1].replace("Contributes", "Meets"))
    found = changed(OLD, new)
    lines = [
        pair for each in found for pair in side_by_side(each) if any(changed for _, changed in (*pair[0], *pair[1]))
    ]
    label = ("7(d) · Coverage:", False)
    assert lines == [((label, ("Contributes", True)), (label, ("Meets", True))), (((ROWS[2], True),), ())]
    (row,) = (each for each in csv.DictReader(io.StringIO(redline.as_csv(found))) if each["column"])
    assert (row["row"], row["column"], row["from"], row["to"]) == ("7(d)", "Coverage", "Contributes", "Meets")
    values = [each for one in redline.as_values("1", "2", found)["alignment"] for each in one["changes"]]
    assert [(each["row"], each.get("column")) for each in values] == [("7(d)", "Coverage"), ("7(e)", None)]
