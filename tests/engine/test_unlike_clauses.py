"""Clauses that only look like each other are not joined, or have no changed limits."""

from __future__ import annotations

from collections import Counter

import pytest

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.differences import changes_of
from knowledge_mcp.engine.changes.kinds import LinkKind
from tests.engine.test_changes import became, compared, edition, inside


def _rules(clauses: list[tuple[str, str]]) -> str:
    return "# Law\n\n" + "\n\n".join(f"## {place} {head}\n\n{said}" for place, (head, said) in enumerate(clauses, 1))


_KEEPING = [
    (
        f"Rules of {noun}s",
        f"The {noun} is kept by the {who} for years. The {who} shall show the {noun} to any inspector.",
    )
    for noun, who in (("archive", "council"), ("register", "keeper"), ("vessel", "owner"), ("permit", "authority"))
]
_LEVY = (
    "Where there is transfer, the purchaser may retain the levy within 837 days. Where there is demolition, the holder "
    "may publish the levy within 36 months. The levy lapses upon demolition of the building."
)
_OTHER_LEVY = (
    "Where there is storage, the council may publish the levy within 765 days. Where there is neglect, the keeper may "
    "renew the levy within 155 months. The levy lapses upon death of the holder."
)


def test_a_clause_whose_words_stand_in_another_one_did_not_become_a_new_one_like_it() -> None:
    before = [*_KEEPING[:3], ("Levies on transfer", _LEVY), *_KEEPING[3:]]
    taken_up = (_KEEPING[2][0], f"{_KEEPING[2][1]} {_LEVY.replace('may retain', 'shall retain')}")
    after = [*_KEEPING[:2], taken_up, *_KEEPING[3:], ("Yearly levies", _OTHER_LEVY)]
    found = compared(_rules(before), _rules(after))
    assert became(found)["Levies on transfer"] == ("merged", "Rules of vessels")
    assert became(found)["Yearly levies"] == ("added", "Yearly levies")
    assert ("force", "may", "shall") in inside(found)
    back = compared(_rules(after), _rules(before))
    assert became(back)["Yearly levies"] == ("removed", "")
    assert (LinkKind.SPLIT, "Levies on transfer") in [
        (each.link.kind, each.link.new.heading) for each in back if each.link.new
    ]


@pytest.mark.parametrize(
    ("heading", "said", "limits"),
    [
        ("Yearly levies", "", 0),
        ("Levies on transfer", "", 1),
        ("Yearly levies", "The levy lapses upon demolition of the building.", 1),
    ],
)
def test_limits_of_clauses_that_nothing_but_a_pattern_joins_are_no_changed_ones(
    heading: str, said: str, limits: int
) -> None:
    old = edition(_rules([*_KEEPING, ("Levies on transfer", _LEVY)]))
    new = edition(_rules([*_KEEPING, (heading, f"{_OTHER_LEVY} {said}")]))
    links = [ClauseLink(LinkKind.RENAMED, *pair) for pair in zip(old.clauses, new.clauses, strict=True)]
    assert Counter(kind for kind, _, _ in inside(changes_of(links, old, new)))["number"] == limits
