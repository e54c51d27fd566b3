"""Many repositories: searched at once, by threads over servers, of one name, inside each other, removed meanwhile."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from knowledge_mcp.engine.repositories.state import workers_over
from knowledge_mcp.engine.repositories.values import CodeQuery
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import StoreIdentity
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.source import Checkout
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.stores.memory import MemoryStore
from tests.engine.overridden import OverriddenStore
from tests.repositories.world import World
from tests.servers.git_server import GitServer, MadeRepository

QUESTION = CodeQuery("check the signature and the expiry of a token", limit=20, threshold=0.0)


class Served(OverriddenStore):
    """Be taken for a server; say on which threads snapshots were taken, and lose a collection just before one."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self.threads: set[int] = set()
        self.lost = ""

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("qdrant", "a server")

    def enter(self, collection: str) -> None:
        self.threads.add(threading.get_ident())
        if collection == self.lost:
            self.drop_collection(collection)
        super().enter(collection)


def filled(folder: Path, store: MemoryStore) -> World:
    world = World(folder, store=store)
    for name in ("team/one", "team/two", "team/three"):
        world.index(world.repository(name).folder)
    return world


def test_a_served_store_is_searched_by_threads_with_the_same_answer(tmp_path: Path) -> None:
    served = Served()
    by_threads = filled(tmp_path / "a", served).service
    alone = filled(tmp_path / "b", MemoryStore(EnglishAnalyser())).service
    served.threads.clear()
    one, other = by_threads.search_code(QUESTION), alone.search_code(QUESTION)
    assert threading.get_ident() not in served.threads
    assert [(hit.chunk.id, hit.similarity) for hit in one.hits] == [
        (hit.chunk.id, hit.similarity) for hit in other.hits
    ]
    assert [info.name for info in one.searched] == ["one", "three", "two"]
    assert one.total_matches == other.total_matches
    assert workers_over(served).width > workers_over(MemoryStore(EnglishAnalyser())).width == 1
    for service in (by_threads, alone):
        service.close()


def test_a_repository_that_goes_amid_a_search_is_left_out_unless_it_was_the_one_asked_for(tmp_path: Path) -> None:
    store = Served()
    service = filled(tmp_path, store).service
    infos = {info.name: info for info in service.repositories()}
    store.lost = infos["two"].collection
    answer = service.search_code(QUESTION)
    assert [info.name for info in answer.searched] == ["one", "three"]
    assert {hit.repository.name for hit in answer.hits} == {"one", "three"}
    assert answer.degraded == ()
    store.lost = infos["one"].collection
    with pytest.raises(NotFoundError):
        service.search_code(CodeQuery(QUESTION.text, threshold=0.0, repository="one"))
    service.close()


def test_a_repository_never_takes_the_place_of_another_of_its_name(world: World, server: GitServer) -> None:
    for owner in ("one", "two"):
        world.repository(f"{owner}/utils", {f"{owner}.py": f"def of_{owner}(): pass\n"})
    world.index(server.url("one/utils"))
    with pytest.raises(InvalidInputError, match="already called utils"):
        world.index(server.url("two/utils"), fresh=True)
    shutil.rmtree(world.folder / "repos" / "utils")
    with pytest.raises(InvalidInputError, match="already called utils"):
        world.index(server.url("two/utils"))
    assert world.service.refresh("utils").files_unchanged == 1
    assert world.listed()["utils"]["url"] == server.url("one/utils")
    assert world.index(server.url("one/utils.git"), fresh=True).files_processed == 1


@pytest.mark.parametrize("tracked", [True, False])
def test_files_of_repositories_inside_a_folder_do_not_grow_stale(
    world: World, monkeypatch: pytest.MonkeyPatch, tracked: bool
) -> None:
    monkeypatch.setattr("knowledge_mcp.engine.repositories.state._REMEMBERED", 0.0)
    outer = world.repository("team/outer")
    outer.git("remote", "add", "origin", "https://github.com/team/outer.git")
    inner = outer.folder / "inner"
    if tracked:
        outer.git(
            "submodule", "add", "--quiet", str(world.repository("team/lib", {"i.py": "one = 1\n"}).folder), "inner"
        )
        outer.commit()
    made = MadeRepository(inner)
    made.commit({"i.py": "def first_version():\n    return 1\n"})
    world.index(outer.folder)
    assert world.listed()["outer"]["stale"] is False
    made.commit({"i.py": "def second_version():\n    return 2\n"})
    assert world.listed()["outer"]["stale"] is True
    assert world.call("refresh_repository", repository="outer", check_only=True)["status"] == "stale"
    assert world.call("refresh_repository", repository="outer")["files_processed"] == 1
    assert world.listed()["outer"]["stale"] is False
    (found,) = world.search("second_version", symbol="second_version")["results"]
    assert "commit" not in found, "no commit of the outer repository has these lines"
    assert "permalink" not in found
    assert "permalink" not in world.search("validate_token")["results"][0], "its commit is not pushed"
    outer.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert "permalink" in world.search("validate_token")["results"][0]
    shutil.rmtree(inner)
    assert world.call("refresh_repository", repository="outer")["files_removed"] == 1


def test_a_repository_removed_amid_a_refresh_stays_removed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.repository()
    world.index(made.folder)
    made.commit({"new.py": "x = 1\n"})
    look = GitClones.worktree

    def remove_then_look(clones: GitClones, path: Path, *, name: str = "") -> Checkout:
        found = look(clones, path, name=name)
        world.service.remove("my-api")
        return found

    monkeypatch.setattr(GitClones, "worktree", remove_then_look)
    with pytest.raises(NotFoundError, match="removed in the meantime"):
        world.service.refresh("my-api")
    assert world.listed() == {}
