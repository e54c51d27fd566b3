"""A file that was moved and edited between two syncs keeps its document where nothing else can be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.engine.ingest.syncing import sync
from knowledge_mcp.model.ingest import SyncReport
from knowledge_mcp.sources.synced.folders import FolderSource
from tests.engine.world import PUMPS, VALVES, World

EDITED = PUMPS.replace("within one minute", "within two minutes")


def synced(world: World, folder: Path) -> SyncReport:
    return sync(world.knowledge, FolderSource(folder))


def ids(world: World) -> dict[str, str]:
    return {Path(each.source_path).name: each.id for each in world.knowledge.documents()}


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "pumps.md").write_text(PUMPS)
    (tmp_path / "valves.md").write_text(VALVES)
    found = World(tmp_path)
    synced(found, tmp_path)
    return found


@pytest.mark.parametrize("place", ["below/pumps.md", "stations.md"])
def test_it_keeps_its_document_and_that_is_reported(world: World, tmp_path: Path, place: str) -> None:
    before = next(each for each in world.knowledge.documents() if each.id == ids(world)["pumps.md"])
    (tmp_path / "pumps.md").unlink()
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(EDITED)
    report = synced(world, tmp_path)
    assert report.removed == ()
    after = next(each for each in world.knowledge.documents() if each.source_path == str(tmp_path / place))
    assert (after.id, after.created_at) == (before.id, before.created_at)
    assert len(world.knowledge.documents()) == 2
    assert report.ingest.editions == (
        f"{tmp_path / place}: treated as '{before.id}', which was moved from {tmp_path / 'pumps.md'} and edited.",
    )
    again = synced(world, tmp_path)
    assert all(each.unchanged for each in again.ingest.documents)
    assert again.ingest.editions == ()


@pytest.mark.parametrize(
    ("name", "text", "beside"),
    [
        pytest.param("stations.md", VALVES.replace("Valve guide", "Pumping stations"), {}, id="other text"),
        pytest.param("stations.md", EDITED.replace("Pumping stations", "Boosters"), {}, id="another title"),
        pytest.param("pumps-2024.md", EDITED, {}, id="another year in its name"),
        pytest.param("stations.md", EDITED.replace("2nd edition", "3rd edition"), {}, id="another edition"),
        pytest.param("stations.md", EDITED, {"boosters.md": EDITED + "\nMore.\n"}, id="two that it may be"),
    ],
)
def test_what_may_be_another_document_is_one(
    world: World, tmp_path: Path, name: str, text: str, beside: dict[str, str]
) -> None:
    was = ids(world)["pumps.md"]
    (tmp_path / "pumps.md").unlink()
    for each, content in {name: text, **beside}.items():
        (tmp_path / each).write_text(content)
    report = synced(world, tmp_path)
    assert [each.id for each in report.removed] == [was]
    assert not any("moved from" in each for each in report.ingest.editions)


def test_of_two_that_are_gone_none_is_guessed(world: World, tmp_path: Path) -> None:
    (tmp_path / "pumps.md").unlink()
    (tmp_path / "valves.md").unlink()
    (tmp_path / "stations.md").write_text(EDITED)
    assert len(synced(world, tmp_path).removed) == 2
