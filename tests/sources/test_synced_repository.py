"""A git repository of documents is kept in sync, and nothing of it leads out of its clone."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from knowledge_mcp.engine.ingest.syncing import sync
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.ingest import SourceKind, SourceSpec, SyncReport
from knowledge_mcp.sources.git import watching
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.sources.synced.building import spec_of
from knowledge_mcp.sources.synced.folders import FolderSource, RepositorySource
from knowledge_mcp.sources.synced.registered import SourceList
from knowledge_mcp.support.files import remove_folder
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

    def source(self) -> RepositorySource:
        return RepositorySource(self._spec, self._clones)

    def sync(self) -> SyncReport:
        return sync(self.world.knowledge, self.source())

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


def test_a_repository_without_an_owner_is_registered_and_synced(tmp_path: Path, server: GitServer) -> None:
    spec = spec_of("https://git.example.org/specs.git", None, SourceSpec("", SourceKind.PAGE, "", 86_400.0))
    assert (spec.kind, spec.name) == (SourceKind.GIT, "specs")
    MadeRepository(tmp_path / "served" / "specs").commit({"doors.md": DOORS})
    synced = Synced(tmp_path, server.url("specs.git"), below="")
    source = synced.source()
    sync(synced.world.knowledge, source)
    assert synced.held() == {"doors": "doors.md"}
    assert source.left_out == (), "what Git keeps beside the files is nobody's document"


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
    with pytest.raises(InvalidInputError, match="not a folder in"):
        Synced(tmp_path, server.url("someone/specs.git"), "../..").sync()


def test_what_git_keeps_elsewhere_is_reported_and_is_no_document(
    made: MadeRepository, server: GitServer, tmp_path: Path
) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    made.commit({"docs/large.md": pointer, "docs/large.pdf": pointer})
    other = MadeRepository(tmp_path / "other")
    other.commit({"masts.md": "# Masts\n\nStand upright.\n"})
    allowed = ("-c", "protocol.file.allow=always")
    made.git(*allowed, "submodule", "--quiet", "add", str(other.folder), "docs/masts")
    made.git(*allowed, "submodule", "--quiet", "add", str(other.folder), "elsewhere")
    made.commit()
    synced = Synced(tmp_path, server.url("someone/specs.git"))
    source = synced.source()
    report = sync(synced.world.knowledge, source)
    assert {each.message for each in report.ingest.skipped} == {
        "This is a Git LFS pointer; the file itself is stored elsewhere."
    }
    assert len(report.ingest.skipped) == 2
    assert [(each.count, each.examples) for each in source.left_out if each.what == "submodules"] == [
        (1, ("docs/masts",))
    ]


def test_a_tree_of_more_files_than_can_be_listed_is_refused_before_they_are_written(
    made: MadeRepository, synced: Synced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.sync()
    clone = tmp_path / "clones" / "specs"
    before = sorted(clone.rglob("*.md"))
    made.commit({f"docs/copy-{number}.md": DOORS for number in range(900)})
    monkeypatch.setattr(watching, "_MOST_OUTPUT", 10_000)
    for there in (True, False):
        with pytest.raises(InvalidInputError, match="more references or files than can be listed"):
            synced.sync()
        assert sorted(clone.rglob("*.md")) == (before if there else [])
        remove_folder(clone)
    assert set(synced.held()) == {"doors", "ropes"}


def test_a_document_whose_file_became_a_link_is_gone(made: MadeRepository, synced: Synced) -> None:
    synced.sync()
    (made.folder / "docs" / "doors.md").unlink()
    (made.folder / "docs" / "doors.md").symlink_to("ropes.md")
    made.commit()
    assert [each.id for each in synced.sync().removed] == ["doors"]
    assert synced.held() == {"ropes": "ropes.md"}


def test_what_lies_on_a_disk_that_is_not_mounted_is_not_gone(tmp_path: Path) -> None:
    world = World(tmp_path)
    folder = tmp_path / "standards"
    (folder / "iso").mkdir(parents=True)
    (folder / "doors.md").write_text(DOORS)
    (folder / "iso" / "ropes.md").write_text(ROPES)
    remembered: list[str] = []
    sync(world.knowledge, FolderSource(folder, remember=remembered.extend))
    assert any(os.path.ismount(each) and folder.is_relative_to(each) for each in remembered)
    (folder / "doors.md").unlink()
    (folder / "iso" / "ropes.md").unlink()
    (folder / "pits.md").write_text("# Pits\n\nThe pit shall be dry.\n")
    below = FolderSource(folder, mounts=[str(folder / "iso")], remember=remembered.extend)
    report = sync(world.knowledge, below)
    assert {each.id for each in world.knowledge.documents()} == {"doors", "pits", "ropes"}
    assert [each.id for each in report.kept] == ["doors"], "it may have moved to the disk"
    assert [each.source for each in report.ingest.skipped] == [str(folder / "iso")]
    assert str(folder / "iso") in remembered
    with pytest.raises(NotFoundError, match="not mounted"):
        sync(world.knowledge, FolderSource(folder, mounts=[str(folder)]))
    assert [each.id for each in sync(world.knowledge, FolderSource(folder)).removed] == ["doors", "ropes"]


def test_a_clone_goes_with_the_documents_of_its_source(made: MadeRepository, server: GitServer, tmp_path: Path) -> None:
    listed = SourceList(tmp_path / "sources", "knowledge")
    clones = GitClones(listed.clones, loopback_http=True)
    world = World(tmp_path)
    MadeRepository(tmp_path / "served" / "other" / "specs").commit({"docs/masts.md": "# Masts\n\nStand upright.\n"})
    for path, documents in (("someone/specs.git", {"doors", "ropes"}), ("other/specs.git", {"masts"})):
        spec = SourceSpec("specs", SourceKind.GIT, server.url(path), 86_400.0, below="docs")
        listed.add(spec)
        sync(world.knowledge, RepositorySource(spec, clones))
        assert {each.id for each in world.knowledge.documents()} == documents
        listed.forget("specs", clone=True)
        assert not list(listed.clones.glob("specs"))
