"""What became normative, what was said in other words, and what only went to another clause, is reported as such."""

from __future__ import annotations

from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.side_by_side import side_by_side
from tests.engine.test_changes import OLD, compared, inside


def test_an_annex_that_became_normative_is_a_changed_force_once_for_all_below_it() -> None:
    annex = "\n# ANX-1 Guidance (informative)\n\nIt guides.\n\n## Doors\n\nA door shall close.\n"
    annex += "\n## Locks\n\nA lock shall hold.\n"
    old = f"{OLD}{annex}"
    found = compared(old, old.replace("informative", "normative"))
    assert inside(found) == [("force", "informative", "normative")]
    assert [change.new_text for each in found for change in each.changes] == ["ANX-1 Guidance (normative)"]
    rows = [row for each in found if each.changes for row in side_by_side(each)]
    assert rows[0] == ((("informative", True),), (("normative", True),))
    moved = f"{OLD}\n## 9 Locks\n\nA lock shall hold.\n{annex.partition(chr(10) + '## Locks')[0]}\n"
    assert inside(compared(old, moved)) == [("force", "informative", "normative")]


def test_force_that_changed_in_a_sentence_in_other_words_is_reported_where_each_has_it_once() -> None:
    old = "Every guard of a press shall be locked while the ram moves at full speed."
    new = "Each cover of a press should be locked while the hammer moves at top speed."
    rest = "Presses are loaded by hand.\n\nThe table of the press is made of steel and stands level."
    found = inside(compared(f"# Guards\n\n{rest}\n\n{old}\n", f"# Guards\n\n{rest}\n\n{new}\n"))
    assert [each[0] for each in found] == ["force", "words"]
    assert found[0] == ("force", "shall", "should")
    both = new.replace("moves", "may move")
    result = inside(compared(f"# Guards\n\n{rest}\n\n{old}\n", f"# Guards\n\n{rest}\n\n{both}\n"))
    assert {each[0] for each in result} == {"words"}, "which word stands for which is not known"


def test_what_stands_in_another_clause_after_a_split_is_not_marked() -> None:
    parts = ("The rope of a lift shall be greased once a year.", "A mechanic inspects the pulley every spring.")
    old = f"# Lifts\n\n## 1 Ropes\n\n{parts[0]}\n\n{parts[1]}\n"
    new = f"# Lifts\n\n## 1 Ropes\n\n{parts[0]}\n\n## 2 Pulleys\n\n{parts[1]}\n"
    found = compared(old, new)
    assert LinkKind.SPLIT in {each.link.kind for each in found}
    pieces = [piece for each in found for row in side_by_side(each) for side in row for piece in side]
    assert [text for text, is_marked in pieces if is_marked] == []
    shorter = compared(old, new.replace("A mechanic", "A trained mechanic").replace(parts[0], "Ropes are of steel."))
    marked = [text for each in shorter for row in side_by_side(each) for side in row for text, mark in side if mark]
    assert sorted(set(marked)) == sorted(["Ropes are of steel.", parts[0], "trained"])
