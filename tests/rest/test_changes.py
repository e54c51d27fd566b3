"""What changed between two editions over REST: side by side, of a kind, in pages; and what that touches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.transports.shared.keys import KeyRing
from tests.rest.test_viewing import NEW, OLD, two
from tests.rest.world import KEY, keys_file, make_world

pytestmark = pytest.mark.anyio


async def test_changes_stand_side_by_side_with_their_passages() -> None:
    async with make_world() as world:
        old, new = await two(world)
        answer = (await world.client.get("/changes", params={"old": old, "new": new})).json()
        assert answer.get("total") == 1, answer
        (clause,) = answer["clauses"]
        assert clause["old"]["passage"] == 0
        assert {"force", "number"} <= set(clause["kinds"])
        before, after = clause["rows"][0]
        assert "should" in "".join(text for text, changed in before if changed)
        assert "shall" in "".join(text for text, changed in after if changed)
        same = await world.client.get("/changes", params={"old": old, "new": old})
        assert (same.status_code, same.json()["error"]) == (422, "validation_error")
        none = await world.client.get("/changes", params={"old": old, "new": new, "offset": 5})
        assert (none.json()["total"], none.json()["clauses"]) == (1, [])


PARTS = "".join(f"\n## {number} Part {number}\n\nThe part {number} is laid by hand.\n" for number in range(2, 9))


async def test_changes_are_selected_by_kind_and_the_summary_stays_whole() -> None:
    async with make_world() as world:
        old = (await world.bring(OLD + PARTS, filename="old.md"))["doc_id"]
        text = (
            NEW
            + PARTS.replace("by hand", "by machine").replace("\n## 5 Part 5", "\n## 5 Element")
            + "\nIt shall last.\n"
        )
        new = (await world.bring(text, filename="new.md"))["doc_id"]

        async def ask(*kinds: str, **more: int) -> dict[str, Any]:
            answer = await world.client.get("/changes", params={"old": old, "new": new, "kinds": list(kinds), **more})
            assert answer.status_code == 200, answer.text
            return answer.json()

        whole = await ask()
        summary = whole["summary"]
        assert (whole["total"], summary["edited"], summary["renamed"]) == (8, 7, 1)
        assert (summary["force"], summary["words"], summary["requirements_added"]) == (1, 7, 1)
        assert [each["became"] for each in (await ask("renamed"))["clauses"]] == ["renamed"]
        added = await ask("requirements_added")
        assert [(each["obligations"], each["kinds"]) for each in added["clauses"]] == [(["added"], ["words"])]
        both = await ask("force", "Renamed")
        assert [each["new"]["label"] for each in both["clauses"]] == ["1 Crossing", "5 Element"]
        none = await ask("definition")
        assert (none["total"], none["clauses"]) == (0, [])
        words = [await ask("words", limit=3, offset=offset) for offset in (0, 3, 6)]
        assert [len(each["clauses"]) for each in words] == [3, 3, 1]
        assert [each for page in words for each in page["clauses"]] == [
            each for each in whole["clauses"] if "words" in each["kinds"]
        ]
        assert {each["total"] for each in words} == {7}
        assert all(each["summary"] == summary for each in (added, both, none, *words))


async def test_a_kind_of_change_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    async with make_world() as world:
        old, new = await two(world)
        for kinds in (["force", "colour"], ["same"]):
            answer = await world.client.get("/changes", params={"old": old, "new": new, "kinds": kinds})
            response = answer.json()
            assert (answer.status_code, response["error"]) == (422, "validation_error")
            assert response["detail"] == f"Unknown kind of change: '{kinds[-1]}'."
            for name in ("force", "requirements_withdrawn", "renumbered", "merged"):
                assert name in response["suggestion"]
        (described,) = [
            each
            for each in (await world.client.get("/openapi.json")).json()["paths"]["/changes"]["get"]["parameters"]
            if each["name"] == "kinds"
        ]
        assert {"force", "requirements_added", "renamed"} <= set(described["schema"]["items"]["enum"])


LIFTS = """# ACME 100:{} Lifts

## 1 Doors

The landing door {} close within {} s. The lock is tested as the maker of the door says.

## 2 Ropes

Ropes are greased with oil that is free of acid once a year.
"""
MANUAL = """# Hoist manual

## 1 Doors

Each door shall be built as ACME 100, clause 1, demands of doors.

## 2 Ropes

The rope is cared for as ACME 100:2018, clause 2, says.

## 3 All

Hoists shall comply with ACME 100:2018.
"""


async def test_what_a_new_edition_touches_is_reported_with_what_became_of_the_clause(tmp_path: Path) -> None:
    names = {"keys": [{"name": "team", "key": "team-key", "read": ["team"], "write": []}]}
    async with make_world(keys=KeyRing(KEY, keys_file(tmp_path, json.dumps(names)))) as world:
        editions = [(2012, "can", 6), (2018, "should", 5), (2023, "shall", 4)]
        ids = [
            (await world.bring(LIFTS.format(*each), filename=f"lifts-{each[0]}.md", collection="team"))["doc_id"]
            for each in editions
        ]
        manual = (await world.bring(MANUAL, filename="manual.md", collection="manuals"))["doc_id"]
        asked = {"old": ids[1], "new": ids[2]}
        answer = (await world.client.get("/impact", params=asked)).json()
        assert (answer["old"]["edition"], answer["new"]["edition"]) == ("2018", "2023")
        assert (answer["total"], answer["untouched"], answer["degraded"]) == (2, 1, [])
        doors, whole = answer["places"]
        assert (doors["doc_id"], doors["passage"], doors["clause"], doors["dated"]) == (manual, 0, "1", "")
        assert (doors["became"], doors["kinds"]) == ("edited", ["force", "number"])
        assert doors["text"] == "Each door shall be built as ACME 100, clause 1, demands of doors."
        assert (whole["passage"], whole["clause"], whole["dated"], whole["became"]) == (2, "", "2018", "")
        page = (await world.client.get("/impact", params={**asked, "limit": 1, "offset": 1})).json()
        assert (page["total"], page["places"]) == (2, [whole])
        limited = await world.client.get("/impact", params=asked, headers={"Authorization": "Bearer team-key"})
        assert (limited.status_code, limited.json()["places"], limited.json()["untouched"]) == (200, [], 0)
        same = await world.client.get("/impact", params={"old": ids[0], "new": ids[0]})
        assert same.status_code == 422


async def test_documents_are_listed_with_their_edition() -> None:
    async with make_world() as world:
        await world.bring("# ACME 100:2018 Lifts\n\nA door.\n", filename="a.md", collection="team")
        await world.bring("# Notes\n\nA note.\n", filename="b.md", collection="team")
        listed = (await world.client.get("/documents", params={"collection": "team"})).json()["documents"]
        assert [(each["title"], each["edition"]) for each in listed] == [("ACME 100:2018 Lifts", "2018"), ("Notes", "")]
