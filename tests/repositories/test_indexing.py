"""Indexing: what is stored, what is looked at again, what is kept, and what the store says meanwhile and afterwards."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.repositories.manifest import collection_name
from knowledge_mcp.engine.repositories.values import IndexRequest
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import (
    CancelledError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    SpaceMismatchError,
)
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.repositories.world import FILES, World, make_service, sqlite, stopping
from tests.servers.git_server import GitServer, MadeRepository


@pytest.mark.requirement(
    "C-2.4-index_flow", "C-4.4-index", "C-4.4-result", "C-3.3-repository_info", "C-3.3-summary", "C-6.4-clone",
    "C-6.4-name", "C-6.4-shallow", "C-5.1-collection_name", "C-15.4-public",
)  # fmt: skip
def test_a_repository_is_cloned_indexed_and_listed(world: World, server: GitServer) -> None:
    commit = world.repository().commit()
    done = world.index(server.url("team/my-api.git"))
    assert (done.status, done.files_processed, done.errors) == ("success", len(FILES), ())
    assert done.chunks_created == done.chunks_embedded > len(FILES)
    answer = world.call("list_indexed_repositories")
    (entry,) = answer["repositories"]
    assert entry["name"] == "my-api"
    assert entry["url"] == server.url("team/my-api.git")
    assert (entry["file_count"], entry["chunk_count"]) == (len(FILES), done.chunks_created)
    assert entry["status"] == "ready"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["last_indexed"])
    assert entry["index_duration_ms"] == done.duration_ms
    assert (entry["indexed_commit"], entry["stale"]) == (commit, False)
    assert answer["summary"] == {
        "total_repositories": 1,
        "total_files_indexed": len(FILES),
        "total_chunks": done.chunks_created,
    }
    assert [each.name for each in world.store.collections()] == ["repo_my_api"]
    assert (world.folder / "repos" / "my-api" / ".git" / "shallow").exists()


@pytest.mark.requirement("C-11.2-unchanged", "C-11.3-embeddings", "C-6.4-reuse")
def test_only_files_that_a_commit_changed_are_read_again(world: World, server: GitServer) -> None:
    made = world.repository()
    world.index(server.url("team/my-api.git"))
    embedded = len(world.embedder.documents)
    second = made.commit({"config.yaml": "retries: 5\n"})
    done = world.service.refresh("my-api")
    assert (done.method, done.files_processed, done.files_unchanged) == ("commit_diff", 1, len(FILES) - 1)
    assert len(world.embedder.documents) == embedded + 1
    assert world.listed()["my-api"]["indexed_commit"] == second
    assert world.service.refresh("my-api").method == "unchanged"
    assert world.index(server.url("team/my-api")).method == "unchanged"


def test_files_that_are_gone_or_newly_ignored_are_taken_out(world: World) -> None:
    made = world.repository()
    world.index(made.folder)
    made.git("rm", "--quiet", "config.yaml")
    made.commit()
    assert world.service.refresh("my-api").files_removed == 1
    made.commit({".gitignore": "docs/\n"})
    done = world.service.refresh("my-api")
    assert (done.method, done.files_removed) == ("content_hash", 1)
    paths = {each["file_path"] for each in world.search("deployment token circle", limit=50)["results"]}
    assert paths == set(FILES) - {"config.yaml", "docs/deploy.md"}


def test_a_renamed_file_keeps_its_vectors(world: World) -> None:
    made = world.repository()
    world.index(made.folder)
    embedded = len(world.embedder.documents)
    made.git("mv", "src/auth", "src/security")
    made.commit()
    done = world.service.refresh("my-api")
    assert (done.files_processed, done.files_removed, done.chunks_embedded) == (1, 1, 0)
    assert done.chunks_reused == done.chunks_created == 2
    assert len(world.embedder.documents) == embedded
    found = world.search("validate_token")["results"][0]
    assert found["file_path"] == "src/security/tokens.py"


def test_a_folder_that_is_no_repository_is_compared_by_hashes(world: World) -> None:
    folder = world.folder / "plain"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("def alpha():\n    return 1\n")
    (folder / "sub" / "b.py").write_text("def beta():\n    return 2\n")
    assert world.index(folder).files_processed == 2
    embedded = len(world.embedder.documents)
    (folder / "moved.py").write_text((folder / "a.py").read_text())
    (folder / "a.py").unlink()
    done = world.index(folder)
    assert (done.method, done.files_processed, done.files_removed) == ("content_hash", 1, 1)
    assert len(world.embedder.documents) == embedded
    assert "stale" not in world.listed()["plain"]
    checked = world.call("refresh_repository", repository="plain", check_only=True)
    assert (checked["status"], "stale" in checked) == ("unknown", False)
    shutil.rmtree(folder)
    with pytest.raises(NotFoundError, match="There is no folder"):
        world.call("refresh_repository", repository="plain", check_only=True)


def test_a_working_tree_is_indexed_with_its_uncommitted_changes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.repository()
    world.index(made.folder)
    assert world.listed()["my-api"]["stale"] is False
    made.write({"src/draft.py": "def half_done_idea():\n    return 42\n"})
    monkeypatch.setattr("knowledge_mcp.engine.repositories.state._REMEMBERED", 0.0)
    entry = world.listed()["my-api"]
    assert (entry["stale"], entry["dirty_files"]) == (True, 1)
    world.service.refresh("my-api")
    found = world.search("half_done_idea")
    assert found["results"][0]["uncommitted"] is True
    assert "permalink" not in found["results"][0]
    assert found["metadata"]["freshness"][0]["stale"] is False
    (made.folder / "src/draft.py").unlink()
    assert world.service.refresh("my-api").files_removed == 1
    assert not any(each["file_path"] == "src/draft.py" for each in world.search("half_done_idea")["results"])


def test_what_was_edited_during_the_indexing_and_then_undone_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.engine.repositories.index._SCANNED_AT_ONCE", 1)
    made = world.repository(files={"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return 2\n"})

    def edit(done: float, total: float | None, message: str) -> None:
        del done, total
        if message.startswith("found 1"):
            made.write({"b.py": "def gamma():\n    return 3\n"})

    assert world.service.index(IndexRequest(str(made.folder)), Call(edit, lambda: False)).status == "success"
    assert "gamma" in str(world.search("gamma")["results"][0])
    made.git("checkout", "b.py")
    done = world.service.refresh("my-api")
    assert (done.method, done.files_processed) == ("content_hash", 1)
    assert "beta" in str(world.search("beta")["results"][0])
    assert world.service.refresh("my-api").method == "unchanged"


def test_a_folder_with_very_many_uncommitted_files_is_not_stale_once_it_is_indexed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.engine.repositories.index._MOST_DIRTY", 3)
    made = world.repository()
    commit = made.git("rev-parse", "HEAD")
    made.write({f"new/f{number}.py": f"def draft_{number}(): pass\n" for number in range(5)})
    world.index(made.folder)
    entry = world.listed()["my-api"]
    assert (entry["stale"], entry["indexed_commit"], entry["dirty_files"]) == (False, commit, 5)
    found = world.search("draft_3")["results"][0]
    assert (found.get("commit"), found.get("uncommitted")) == (None, True)
    assert world.search("validate_token")["results"][0]["commit"] == commit
    (made.folder / "new/f3.py").unlink()
    assert world.call("refresh_repository", repository="my-api")["files_removed"] == 1


def test_a_folder_is_not_indexed_in_place_of_a_branch_that_it_does_not_show(world: World) -> None:
    made = world.repository()
    made.git("branch", "topic")
    with pytest.raises(InvalidInputError, match="is on main, not on topic"):
        world.index(str(made.folder), branch="topic")
    assert world.listed() == {}
    assert world.index(str(made.folder), branch="main").files_processed


@pytest.mark.requirement("C-6.4-branch", "C-4.4-options", "C-5.2-settings")
def test_branch_extensions_and_excludes_are_chosen_and_kept(world: World, server: GitServer) -> None:
    made = world.repository()
    made.git("switch", "--quiet", "--create", "develop")
    made.commit({"src/extra.py": "def on_develop_only():\n    pass\n", "src/skip.py": "x = 1\n"})
    made.git("switch", "--quiet", "main")
    world.index(
        server.url("team/my-api.git"),
        name="api",
        branch="develop",
        include_extensions=(".py",),
        exclude_patterns=("skip.py",),
    )
    entry = world.listed()["api"]
    assert (entry["branch"], entry["file_count"]) == ("develop", 2)
    made.git("switch", "--quiet", "develop")
    made.commit({"src/more.py": "y = 2\n", "src/more.ts": "let y = 2;\n"})
    assert world.service.refresh("api").files_processed == 1
    kept = json.loads((world.folder / "data" / "repositories.json").read_text())["repositories"]["api"]
    assert kept["branch"] == "develop"
    assert kept["includeExtensions"] == [".py"]
    assert "skip.py" in kept["excludePatterns"]


def test_a_force_push_and_a_removed_branch_recover(world: World, server: GitServer) -> None:
    made = world.repository()
    world.index(server.url("team/my-api.git"), shallow=False)
    made.git("checkout", "--quiet", "--orphan", "rewritten")
    made.git("rm", "-r", "--quiet", "--force", ".")
    made.commit({"only.py": "def rewritten_history():\n    pass\n"})
    made.git("branch", "--quiet", "--move", "--force", "rewritten", "main")
    done = world.service.refresh("my-api")
    assert (done.files_processed, done.files_removed) == (1, len(FILES))
    made.git("branch", "--quiet", "--move", "main", "trunk")
    head = made.commit({"only.py": "def renamed_branch():\n    pass\n"})
    world.service.refresh("my-api")
    entry = world.listed()["my-api"]
    assert (entry["branch"], entry["indexed_commit"], entry["status"]) == ("trunk", head, "ready")


@pytest.mark.requirement("C-4.4-reindex")
def test_reindexing_embeds_everything_beside_the_index_that_answers(world: World) -> None:
    made = world.repository()
    first = world.index(made.folder)
    embedded = len(world.embedder.documents)
    seen: list[int] = []
    world.service.refresh(
        "my-api",
        Call(lambda done, total, message: seen.append(len(world.search("token")["results"])), lambda: False),
        fresh=True,
    )
    assert seen
    assert all(seen)
    assert len(world.embedder.documents) == embedded + first.chunks_created
    assert [each.name for each in world.store.collections()] == ["repo_my_api"]
    assert world.listed()["my-api"]["status"] == "ready"


def test_another_embedding_model_is_refused_until_the_repository_is_indexed_again(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "code")
    made.commit(FILES)
    old = make_service(tmp_path, store=sqlite(tmp_path))
    old.index(IndexRequest(str(made.folder)))
    old.close()
    world = World(tmp_path, store=sqlite(tmp_path), embedder=HashingEmbedder(model="another", dimensions=256))
    made.commit({"new.py": "z = 1\n"})
    with pytest.raises(SpaceMismatchError):
        world.service.refresh("code")
    assert world.listed()["code"]["status"] == "ready"
    found = world.search("token")
    assert found["results"] == []
    assert "not searched" in found["metadata"]["degraded"][0]
    world.service.refresh("code", fresh=True)
    assert world.search("token")["results"]
    world.service.close()


@pytest.mark.requirement("C-4.4-remove", "C-4.5-repositories")
def test_removing_takes_index_clone_and_entry_and_leaves_folders_of_others(world: World, server: GitServer) -> None:
    made = world.repository()
    world.index(server.url("team/my-api.git"))
    world.index(made.folder, name="working-tree")
    assert set(world.listed()) == {"my-api", "working-tree"}
    assert world.service.remove("my-api") > 0
    assert not (world.folder / "repos" / "my-api").exists()
    assert set(json.loads((world.folder / "data" / "repositories.json").read_text())["repositories"]) == {
        "working-tree"
    }
    world.service.remove("working-tree")
    assert (made.folder / "config.yaml").exists()
    assert world.listed() == {}
    assert world.store.collections() == []
    with pytest.raises(NotFoundError):
        world.service.remove("my-api")


def test_two_names_that_look_alike_have_two_collections(world: World) -> None:
    made = world.repository()
    for name in ("my-api", "my_api", "my.api"):
        world.index(made.folder, name=name)
    assert set(world.listed()) == {"my-api", "my_api", "my.api"}
    names = [each.name for each in world.store.collections()]
    assert len(names) == 3
    assert all(re.fullmatch(r"repo_my_api(_[0-9a-f]{6})?", name) for name in names)


def test_a_name_that_another_repository_has_is_refused(world: World) -> None:
    first, second = world.repository("a/same"), world.repository("b/same")
    world.index(first.folder)
    with pytest.raises(InvalidInputError, match="already called same"):
        world.index(second.folder)
    assert world.listed()["same"]["local_path"] == str(first.folder)


@pytest.mark.parametrize("name", ["my-api", "a.b_c", "x" * 100, "über", "9"])
def test_collection_names_are_valid_for_every_store(name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9._-]{3,512}", collection_name(name))


def test_a_cancelled_indexing_is_reported_as_such_and_resumes(world: World) -> None:
    files = {f"src/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(450)}
    made = world.repository(files=files)
    with pytest.raises(CancelledError):
        world.service.index(IndexRequest(str(made.folder)), stopping(1))
    entry = world.listed()["my-api"]
    assert entry["status"] == "error"
    assert "cancelled" in entry["error_message"]
    done_before = len(world.embedder.documents)
    assert 0 < done_before < 450
    assert world.index(made.folder).status == "success"
    assert len(world.embedder.documents) == 450
    assert world.listed()["my-api"]["status"] == "ready"


def test_a_failure_of_the_embedder_is_reported_and_resumed(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(150)}
    world = World(tmp_path, embedder=HashingEmbedder(failure=InternalError("The model broke."), fail_after=70))
    made = world.repository(files=files)
    with pytest.raises(InternalError):
        world.index(made.folder)
    entry = world.listed()["my-api"]
    assert (entry["status"], entry["error_message"]) == ("error", "The model broke.")
    world.embedder.failure = None
    world.service.refresh("my-api")
    assert world.listed()["my-api"]["file_count"] == 150
    world.service.close()


@pytest.mark.requirement("C-11.2-binary", "C-6.5-gitignore", "C-6.5-extensions", "C-11.4-maxFileSize")
def test_files_left_out_are_reported_with_their_reasons(world: World) -> None:
    made = world.repository(
        files={
            "ok.py": "x = 1\n",
            "big.json": "[" + "1, " * 600_000 + "1]",
            "data.txt": b"\x89PNG\x00\x01\x02" * 50,
            "ignored.py": "y = 1\n",
            ".gitignore": "ignored.py\n",
            "pic.bmp": b"BM",
        }
    )
    done = world.index(made.folder)
    assert (done.status, done.files_processed, done.files_skipped) == ("success", 1, 2)
    assert any("big.json" in each for each in done.skipped)
    assert any("data.txt" in each for each in done.skipped)
    made.commit({"later.py": "z = 1\n"})
    assert world.call("refresh_repository", repository="my-api")["method"] == "commit_diff"
    assert [each.partition(":")[0] for each in world.listed()["my-api"]["problems"]] == ["big.json", "data.txt"]
    with pytest.raises(NotFoundError) as refused:
        world.service.file("my-api", "big.json")
    assert "more than 1,048,576" in refused.value.details
    made.commit({"big.json": "[1]\n"})
    assert world.call("refresh_repository", repository="my-api")["files_processed"] == 1
    assert [each.partition(":")[0] for each in world.listed()["my-api"]["problems"]] == ["data.txt"]
    assert {each.what: each.count for each in done.left_out} == {
        "files of other extensions (no extension 1, .bmp 1)": 2,
        "files and folders that a .gitignore excludes": 1,
    }


def test_what_is_not_in_the_index_is_reported_with_the_file(world: World, server: GitServer) -> None:
    broken = "def bad(:\n    ((\n"
    made = world.repository(files={"a.py": broken, "b.py": "x = 1\n"})
    lib = world.repository("team/lib")
    made.git("submodule", "add", "--quiet", str(lib.folder), "libs/lib")
    made.commit()
    syntax = "The file has syntax errors; some symbols may be missing."
    absent = "Submodules without files: libs/lib. Index their own repositories."
    assert world.index(server.url("team/my-api")).warnings == (f"a.py: {syntax}", absent)
    made.commit({"a.py": broken + "\n", "c.py": broken})
    refreshed = world.call("refresh_repository", repository="my-api")
    assert refreshed["warnings"] == [f"{syntax} (2 files, e.g. a.py)", absent]
    assert refreshed["files_skipped"] == 0
    there = world.index(made.folder, name="there")
    assert (there.files_processed, absent in there.warnings) == (3 + len(FILES), False)


def test_a_search_of_a_repository_without_an_indexed_file_says_so(world: World) -> None:
    world.index(world.repository("team/blank", {"pic.bmp": b"BM"}).folder)
    assert world.search("anything", repository="blank")["message"] == "No file of blank is indexed."


def test_a_repository_without_its_files_is_refused(world: World, tmp_path: Path) -> None:
    made = world.repository()
    made.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    for folder in (tmp_path / "bare.git", made.folder / ".git"):
        with pytest.raises(InvalidInputError, match="without files"):
            world.index(folder)


def test_a_file_that_cannot_be_read_makes_the_indexing_partial_and_is_named(world: World) -> None:
    made = world.repository(files={"ok.py": "x = 1\n", "odd.py": b"\xef\xbb\xbf# caf\xff\xfe\n" * 40})
    done = world.index(made.folder)
    assert done.status == "partial"
    assert any("odd.py" in each for each in done.errors)
    assert any("odd.py" in each for each in world.listed()["my-api"]["problems"])


@pytest.mark.requirement("C-4.4-status", "C-5.2-repositories_json")
def test_while_it_is_indexed_everybody_hears_that_and_how_far_it_is(world: World) -> None:
    made = world.repository()
    states: list[dict[str, Any]] = []

    def look(done: float, total: float | None, message: str) -> None:
        del total, message
        if done:
            states.append(world.listed()["my-api"])
            file = json.loads((world.folder / "data" / "repositories.json").read_text())
            assert file["repositories"]["my-api"]["status"] == "indexing"

    world.service.index(IndexRequest(str(made.folder)), Call(look, lambda: False))
    assert {each["status"] for each in states} == {"indexing"}
    assert states[0]["files_total"] >= 0
    assert world.listed()["my-api"]["status"] == "ready"


def test_a_refresh_tells_what_it_does_before_the_first_file_and_rises_each_time(
    world: World, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.engine.repositories.index._SCANNED_AT_ONCE", 2)
    made = world.repository()
    world.index(server.url("team/my-api.git"))
    made.commit({f"more{number}.py": f"more = {number}\n" for number in range(5)})
    reported: list[tuple[float, str]] = []

    def hear(done: float, total: float | None, message: str) -> None:
        del total
        reported.append((done, message))

    world.call("refresh_repository", repository="my-api", line=Call(progress=hear))
    assert [message for _, message in reported][:3] == [
        "fetching my-api", "found 2 files to index", "found 4 files to index"
    ]  # fmt: skip
    assert reported[-1][1].startswith("indexed more")
    assert all(later[0] > earlier[0] for earlier, later in pairwise(reported))


def test_the_file_of_repositories_is_exactly_as_specified(world: World, server: GitServer) -> None:
    world.repository()
    done = world.index(server.url("team/my-api.git"))
    content = json.loads((world.folder / "data" / "repositories.json").read_text())
    assert set(content) == {"version", "repositories"}
    assert content["version"] == "1.0"
    entry = content["repositories"]["my-api"]
    assert list(entry) == [
        "name", "url", "localPath", "collectionName", "fileCount", "chunkCount", "lastIndexedAt", "indexDurationMs",
        "status", "branch", "includeExtensions", "excludePatterns",
    ]  # fmt: skip
    assert entry["collectionName"] == "repo_my_api"
    assert entry["localPath"] == str(world.folder / "repos" / "my-api")
    assert (entry["fileCount"], entry["chunkCount"]) == (len(FILES), done.chunks_created)
    (world.folder / "data" / "repositories.json").write_text("{broken")
    assert set(world.listed()) == {"my-api"}
    world.service.refresh("my-api")
    assert json.loads((world.folder / "data" / "repositories.json").read_text()) == content
