"""A git repository of documents is kept in sync, and nothing of it leads out of its clone."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from knowledge_mcp.engine.ingest.syncing import sync
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.ingest import SourceKind, SourceSpec, SyncReport
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.sources.synced.folders import RepositorySource
from tests.engine.world import World
from tests.servers.git_server import GitServer, MadeRepository

DOORS = "# Doors\n\nEach door shall close within four seconds.\n"
ROPES = "# Ropes\n\nEach rope shall be greased once a year.\n"


@pytest.fixture
def made(tmp_path: Path) -> MadeRepository:
    repository = MadeRepository(tmp_path / "served" / "someone" / "specs")
    repository.commit({"docs/doors.md": DOORS, "docs/ropes.md": ROPES, "README.md": "# Readme\n\nRead this.\n"})
    return repository


@pytest.fixture
def server(tmp_path: Path) -> Generator[GitServer]:
    with GitServer(tmp_path / "served") as running:
        yield running


class Synced:
    """One registered repository and the knowledge base that it goes to."""

    def __init__(self, folder: Path, url: str, below: str = "docs") -> None:
        self.world = World(folder)
        self._clones = GitClones(folder / "clones", loopback_http=True)
        self._spec = SourceSpec("specs", SourceKind.GIT, url, 86_400.0, below=below)

    def sync(self) -> SyncReport:
        return sync(self.world.knowledge, RepositorySource(self._spec, self._clones))

    def held(self) -> dict[str, str]:
        return {each.id: Path(each.source_path).name for each in self.world.knowledge.documents()}


@pytest.fixture
def synced(tmp_path: Path, server: GitServer) -> Synced:
    return Synced(tmp_path, server.url("someone/specs.git"))


def test_a_branch_is_the_truth_of_its_documents(made: MadeRepository, synced: Synced) -> None:
    assert len(synced.sync().ingest.documents) == 2
    made.git("mv", "docs/doors.md", "docs/gates.md")
    made.git("rm", "--quiet", "docs/ropes.md")
    commit = made.commit({"docs/pits.md": "# Pits\n\nThe pit shall be dry.\n"})
    report = synced.sync()
    assert synced.held() == {"doors": "gates.md", "pits": "pits.md"}
    assert [each.id for each in report.removed] == ["ropes"]
    assert synced.world.knowledge.document("pits").label("commit") == commit
    assert synced.world.knowledge.document("pits").label("repository").endswith("someone/specs.git")


def test_a_host_that_fails_or_a_folder_that_is_gone_removes_nothing(
    made: MadeRepository, server: GitServer, synced: Synced
) -> None:
    synced.sync()
    server.behaviour.status = 503
    with pytest.raises(KnowledgeError):
        synced.sync()
    server.behaviour.status = 0
    made.git("mv", "docs", "texts")
    made.commit()
    with pytest.raises(NotFoundError, match="no folder 'docs'"):
        synced.sync()
    assert set(synced.held()) == {"doors", "ropes"}


def test_links_of_a_repository_lead_nowhere(made: MadeRepository, synced: Synced, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nNobody shall read this.\n")
    (made.folder / "docs" / "linked.md").symlink_to(tmp_path / "secret.md")
    (made.folder / "docs" / "all").symlink_to(tmp_path)
    made.commit()
    synced.sync()
    assert set(synced.held()) == {"doors", "ropes"}


def test_a_folder_that_is_a_link_is_refused(made: MadeRepository, server: GitServer, tmp_path: Path) -> None:
    (made.folder / "away").symlink_to(tmp_path)
    made.commit()
    with pytest.raises(InvalidInputError, match="is a link"):
        Synced(tmp_path, server.url("someone/specs.git"), "away").sync()
    with pytest.raises(InvalidInputError, match="no folder inside"):
        Synced(tmp_path, server.url("someone/specs.git"), "../..").sync()
