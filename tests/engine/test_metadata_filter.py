"""Searches among the documents whose metadata say what is asked: values, tags, dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.model.collection import GIVEN
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.query import Equals, SearchMode, SearchQuery
from knowledge_mcp.sources.files import FileSource, LabelledSource
from tests.engine.world import World

_FRONT = {
    "wind.md": "author: Ada\ntags: [wind, steel]\ndate: 2019-05-02\nproject-no: 7\n",
    "snow.md": "author: Ada\nkeywords: snow, steel\npublished: 2021-11\n",
    "bolts.md": "author: Bob\ntags: steel\n",
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    for name, front in _FRONT.items():
        world.write(name, f"---\n{front}---\n# Loads of {name}\n\n## 1 Loads\n\nThe frame shall carry the load.\n")
    world.ingest()
    return world


def _found(world: World, *where: tuple[str, str], mode: SearchMode = SearchMode.HYBRID) -> set[str]:
    answer = world.knowledge.search(SearchQuery("frame load", mode=mode, where=where))
    return {hit.chunk.document_id for hit in answer.hits}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ((("author", "ada"),), {"wind", "snow"}),
        ((("Author", "Ada"), ("tags", "wind")), {"wind"}),
        ((("tags", "steel"),), {"wind", "snow", "bolts"}),
        ((("tags", "steel"), ("tags", "snow")), {"snow"}),
        ((("project_no", "7"),), {"wind"}),
        ((("date", "2019"),), {"wind"}),
        ((("date", "2020..2023"),), {"snow"}),
        ((("date", "..2019-05"),), {"wind"}),
        ((("date", "2019-05-02.."),), {"wind", "snow"}),
    ],
)
@pytest.mark.parametrize("mode", SearchMode)
def test_only_documents_answer_whose_metadata_say_so(
    world: World, where: tuple[tuple[str, str], ...], found: set[str], mode: SearchMode
) -> None:
    assert _found(world, *where, mode=mode) == found


def test_other_filters_hold_beside_it(world: World) -> None:
    query = SearchQuery("frame load", where=(("author", "Ada"),), filter=Equals("document_id", "snow"))
    assert {hit.chunk.document_id for hit in world.knowledge.search(query).hits} == {"snow"}


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ((("autor", "Ada"),), "author"),
        ((("author", "Cy"),), "Ada, Bob"),
        ((("author", "Bob"), ("tags", "wind")), ""),
    ],
)
def test_what_no_document_says_is_an_error_that_tells_what_there_is(
    world: World, where: tuple[tuple[str, str], ...], said: str
) -> None:
    with pytest.raises(InvalidInputError) as failed:
        _found(world, *where)
    assert said in failed.value.suggestion


def test_what_is_given_at_the_ingest_is_kept_when_the_file_changes_and_changed_when_it_is_given_again(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    path = world.write("a.md", "# A\n\n## 1 Loads\n\nThe frame shall carry the load.\n")
    files = FileSource(tmp_path, patterns=("*.md",))
    world.knowledge.ingest(LabelledSource(files, (("project", "bridge"), (GIVEN, "project"))), IngestOptions())
    assert _found(world, ("project", "bridge")) == {"a"}
    path.write_text("# A\n\n## 1 Loads\n\nThe frame shall carry the load of snow.\n")
    world.ingest()
    assert _found(world, ("project", "bridge")) == {"a"}
    world.knowledge.ingest(LabelledSource(files, (("project", "tower"), (GIVEN, "project"))), IngestOptions())
    assert _found(world, ("project", "tower")) == {"a"}
