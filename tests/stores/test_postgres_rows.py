"""Row security as docs/postgres.md writes it: a role sees its collections, nothing of the others, and may not write."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConfigError, NotFoundError
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.testing.store_search import expect, put, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from tests.stores.test_postgres import rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "postgres.md"


def test_a_role_sees_its_collections_only_and_writes_nothing(database: Callable[[], str]) -> None:
    url = database()
    (statements,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    with closing(PostgresStore(url, EnglishAnalyser())) as owner:
        for name in ("team-a-pumps", "team-b-valves"):
            owner.create_collection(name, SPACE)
            put(
                owner, f"d of {name}", [SamplePassage("alpha words", terms=(("alpha",),))], text="text", collection=name
            )
        before = owner.open("team-a-pumps").search(vector=unit_vector("x"), text="alpha", filter=None, limit=9)
        rows(url, statements)
        with closing(PostgresStore(url.replace("postgres@", "team_a@"), EnglishAnalyser())) as reader:
            assert [each.name for each in reader.collections()] == ["team-a-pumps"]
            mine = reader.open("team-a-pumps")
            assert mine.search(vector=unit_vector("x"), text="alpha", filter=None, limit=9) == before
            assert text_of(mine, "d of team-a-pumps") == "text"
            assert len(mine.chunks("term", ["alpha"])) == len(mine.chunks("document", ["d of team-a-pumps"])) == 1
            assert mine.verify() == []
            expect(NotFoundError, lambda: reader.open("team-b-valves").documents())
            for table in ("documents", "chunks", "payloads", "postings", "definitions"):
                seen = rows(url.replace("postgres@", "team_a@"), f"SELECT count(*) FROM knowledge_mcp.{table}")
                every = rows(url, f"SELECT count(*) FROM knowledge_mcp.{table}")
                assert str(every) != str(seen), table
            for write in (
                lambda: put(reader, "new", ["words"], collection="team-a-pumps"),
                lambda: mine.delete("d of team-a-pumps"),
                lambda: reader.drop_collection("team-a-pumps"),
                lambda: reader.create_collection("team-a-new", SPACE),
            ):
                assert "rights" in expect(ConfigError, write).message
        put(owner, "more", ["beta words"], collection="team-b-valves")
        assert len(owner.open("team-b-valves").documents()) == 2
    rows(url, "DROP OWNED BY team_a; DROP ROLE team_a")
