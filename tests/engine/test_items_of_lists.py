"""Items of lists that a question names: "condition 7" stands with its word, below a heading, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.engine.search.by_name import NAMED_FROM
from knowledge_mcp.language.names import Exactness, exactness, names_in_question
from knowledge_mcp.model.query import SearchQuery
from tests.engine.world import World

NOWHERE = "was not found in the searched documents; the results match other words or parts of it."

NOTICE = """# Decision notice

Permission is granted subject to the following conditions:

1. The development shall begin within three years.

2. Works shall be limited to weekdays, see condition 1.

## Informatives

2. The sewers belong to the utility.
"""

REPORT = """# Report on the culvert

## 2 Survey

The culvert was looked at from both ends.

## 3 What is to be done

Recommendation 2: The grating should be cleaned.

Recommendation 3: As recommendation 2 says, for the trash screen.
"""


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents whose items are counted, with the word before the number and without."""
    return World(tmp_path_factory.mktemp("listed")).holding({"notice.md": NOTICE, "report.md": REPORT})


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("condition 2", "Permission is granted"),
        ("What does condition 2 say?", "Permission is granted"),
        ("recommendation 2", "Recommendation 2: The grating"),
        ("What does recommendation 2 say of the grating?", "Recommendation 2: The grating"),
    ],
)
def test_the_item_of_a_list_is_found_by_what_it_is_and_its_number(listed: World, question: str, opening: str) -> None:
    assert opening in listed.knowledge.search(SearchQuery(question)).hits[0].chunk.content


@pytest.mark.parametrize("question", ["condition 4", "What does condition 4 of the decision say?"])
def test_an_item_below_a_heading_for_its_kind_comes_before_a_line_with_its_number(
    tmp_path: Path, question: str
) -> None:
    world = World(tmp_path).holding(
        {
            "decision.md": "# Appeal decision\n\n## Reasons\n\n3. Speeds are low, as condition 2 presumes.\n\n"
            "4. The condition of the lane is no reason.\n\n## Schedule of conditions\n\n3) Hours are limited.\n\n"
            "4) Floors are set at 21 m.\n",
            "traffic.md": "# Traffic\n\n2 Existing conditions\n\nThe lane is narrow.\n\n4 Trips\n\nFew are made.\n",
        }
    )
    assert "Floors are set" in world.knowledge.search(SearchQuery(question)).hits[0].chunk.content


def test_an_item_found_by_its_number_alone_is_said_to_be(tmp_path: Path) -> None:
    world = World(tmp_path).holding(
        {"statement.md": "# Statement\n\nWork goes on in steps:\n\n12. Trees are planted.\n"}
    )
    answer = world.knowledge.search(SearchQuery("condition 12"))
    assert answer.hits[0].chunk.document_id == "statement"
    assert answer.notes == (
        "condition 12 is not named in the results; the first of them only begin a line with its number.",
    )


def test_a_row_of_a_table_is_no_item_unless_its_kind_is_named(tmp_path: Path) -> None:
    rows = "".join(f"| {number} | T{number} | 71 |\n" for number in range(1, 9))
    table = f"# {{}}\n\n| No. | Type | Text |\n| --- | --- | --- |\n{rows}"
    world = World(tmp_path).holding(
        {
            "plots.md": table.format("Plots"),
            "letter.md": "# Letter\n\nPlease discharge condition 7 of the permission.\n",
        }
    )
    first = world.knowledge.search(SearchQuery("condition 7")).hits[0]
    assert first.chunk.document_id == "letter"
    world = World(tmp_path / "named").holding({"conditions.md": table.format("Planning conditions")})
    assert world.knowledge.search(SearchQuery("condition 7")).hits[0].score > NAMED_FROM


def test_an_item_that_is_only_like_the_one_asked_for_is_not_put_first_and_one_that_stands_nowhere_is_reported(
    listed: World,
) -> None:
    (name,) = names_in_question("condition 2").names
    bears = {
        each.content.split()[0]: exactness(each, name)
        for each in listed.store.open("kb").chunks("document", ["report"])
    }
    assert set(bears.values()) == {Exactness.ABSENT, Exactness.OPENING}  # clause 2 of another document
    assert listed.knowledge.search(SearchQuery("condition 2")).notes == ()
    assert listed.knowledge.search(SearchQuery("condition 9")).notes == (f"condition 9 {NOWHERE}",)
