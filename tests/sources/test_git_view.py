"""Working trees of others: nothing that their repositories name is run, and they are read as they are stored."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.attacks.git_folders import called, hostile_repository, plain_status
from knowledge_mcp.model.errors import InvalidInputError, TimedOutError
from knowledge_mcp.model.source import ChangeKind, FileChange
from knowledge_mcp.sources.git import process
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.support.checkpoints import watch_for_stop
from tests.machine import needs
from tests.servers.git_server import MadeRepository


def git(folder: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.defpath,
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "a@b.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def made(folder: Path, *options: str) -> str:
    """Make a repository of one commit with a change beside it; returns the commit."""
    needs("git")
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *options)
    (folder / "a.py").write_text("a = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    (folder / "a.py").write_text("a = 22\n")
    return git(folder, "rev-parse", "HEAD")


EDITED = (FileChange(ChangeKind.MODIFIED, "a.py"),)


def test_no_command_that_a_repository_names_is_run(tmp_path: Path) -> None:
    needs("git")
    hostile, canaries = tmp_path / "hostile", tmp_path / "canaries"
    canaries.mkdir()
    hostile_repository(hostile, canaries)
    clones = GitClones(tmp_path / "clones")
    found = clones.worktree(hostile)
    assert {each.path for each in found.dirty} == {"circle.py", "list.txt", "notes.md", "set.toml"}
    assert clones.changes(hostile, found.commit, found.commit) == ()
    assert called(canaries) == []
    plain_status(hostile)
    assert {"filter-clean", "fsmonitor", "included"} <= set(called(canaries)), "the canaries live"


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",), ("--separate-git-dir=../elsewhere",)])
def test_a_repository_is_read_however_it_is_stored(tmp_path: Path, options: tuple[str, ...]) -> None:
    commit = made(tmp_path / "project", *options)
    found = GitClones(tmp_path / "clones").worktree(tmp_path / "project")
    assert (found.commit, found.branch, found.dirty) == (commit, "main", EDITED)


def test_a_linked_working_tree_has_its_own_branch_and_changes(tmp_path: Path) -> None:
    commit = made(tmp_path / "project")
    git(tmp_path / "project", "worktree", "add", "-q", "-b", "side", "../linked")
    (tmp_path / "linked" / "new.py").write_text("n = 1\n")
    found = GitClones(tmp_path / "clones").worktree(tmp_path / "linked")
    assert (found.commit, found.branch) == (commit, "side")
    assert found.dirty == (FileChange(ChangeKind.ADDED, "new.py"),)


def test_packed_references_a_split_index_and_borrowed_objects_are_read(tmp_path: Path) -> None:
    commit = made(tmp_path / "project")
    git(tmp_path, "clone", "-q", "--shared", "project", "borrower")
    borrower = tmp_path / "borrower"
    git(borrower, "pack-refs", "--all")
    git(borrower, "update-index", "--split-index")
    (borrower / ".git" / "info" / "exclude").write_text("*.log\n")
    (borrower / "a.py").write_text("a = 22\n")
    (borrower / "noise.log").write_text("x")
    found = GitClones(tmp_path / "clones").worktree(borrower)
    assert (found.commit, found.dirty) == (commit, EDITED)


def test_a_head_that_is_a_symbolic_link_is_read_as_old_programs_wrote_it(tmp_path: Path) -> None:
    commit = made(tmp_path / "project")
    head = tmp_path / "project" / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    found = GitClones(tmp_path / "clones").worktree(tmp_path / "project")
    assert (found.commit, found.branch) == (commit, "main")


def test_settings_of_how_files_are_kept_still_hold(tmp_path: Path) -> None:
    made(tmp_path / "project")
    (tmp_path / "project" / "a.py").write_text("a = 1\n")
    (tmp_path / "project" / "a.py").chmod(0o755)
    clones = GitClones(tmp_path / "clones")
    assert clones.worktree(tmp_path / "project").dirty == EDITED
    git(tmp_path / "project", "config", "core.fileMode", "false")
    assert clones.worktree(tmp_path / "project").dirty == ()


@pytest.mark.parametrize("name", ["HEAD", "config"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    made(tmp_path / "project")
    file = tmp_path / "project" / ".git" / name
    file.unlink()
    os.mkfifo(file)
    found = GitClones(tmp_path / "clones").worktree(tmp_path / "project")
    assert found.branch == ("" if name == "HEAD" else "main")


@pytest.mark.parametrize("name", [".git/index", ".git/objects/info/alternates", ".gitignore"])
def test_a_pipe_that_git_opens_is_not_waited_for_any_longer_than_a_large_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made(tmp_path / "project")
    file = tmp_path / "project" / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    monkeypatch.setattr(process, "_FOREIGN_SECONDS", 1.0)
    with pytest.raises(TimedOutError, match="Git took more than 1 seconds"):
        GitClones(tmp_path / "clones").worktree(tmp_path / "project")


def test_who_does_not_wait_any_longer_ends_git(tmp_path: Path) -> None:
    made(tmp_path / "project")
    os.mkfifo(tmp_path / "project" / ".gitignore")

    def stop() -> None:
        raise TimedOutError("Nobody waits for it.")

    with watch_for_stop(stop), pytest.raises(TimedOutError, match="Nobody waits"):
        GitClones(tmp_path / "clones").worktree(tmp_path / "project")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "project")
    os.chown(tmp_path / "project" / ".git", 12345, 12345)
    with pytest.raises(InvalidInputError, match="another user"):
        GitClones(tmp_path / "clones").worktree(tmp_path / "project")


def test_what_changed_in_a_partial_clone_is_reported_without_the_contents_that_it_lacks(tmp_path: Path) -> None:
    clones = GitClones(tmp_path / "clones")
    outer = MadeRepository(tmp_path / "outer")
    outer.commit({"a.py": "a = 1\n"})
    many = "".join(f"line {number}\n" for number in range(50))
    old = outer.commit({"far/moved.txt": many, "near/a.py": "a = 1\n"})
    outer.git("config", "uploadpack.allowFilter", "true")
    partial = ["--quiet", "--filter=blob:none", "--sparse", "--no-local", f"file://{outer.folder}"]
    outer.git("clone", *partial, str(tmp_path / "partial"))
    outer.git("mv", "far/moved.txt", "far/there.txt")
    new = outer.commit({"far/there.txt": f"{many}more\n"})
    outer.git("-C", str(tmp_path / "partial"), "pull", "--quiet")
    changes = clones.changes(tmp_path / "partial", old, new)
    assert changes == (FileChange(ChangeKind.DELETED, "far/moved.txt"), FileChange(ChangeKind.ADDED, "far/there.txt"))


def test_repositories_inside_a_working_tree_are_reported_with_their_own_state(tmp_path: Path) -> None:
    clones = GitClones(tmp_path / "clones")
    outer = MadeRepository(tmp_path / "outer")
    outer.commit({"a.py": "a = 1\n"})
    other = MadeRepository(tmp_path / "other")
    other.commit({"o.py": "o = 1\n"})
    outer.git("submodule", "add", "--quiet", str(other.folder), "libs/other")
    outer.commit()
    inner = MadeRepository(outer.folder / "untracked")
    commit = inner.commit({"i.py": "i = 1\n"})
    inner.write({"i.py": "i = 2\n"})
    (outer.folder / "link").symlink_to(other.folder)
    outer.git("update-index", "--add", "--cacheinfo", f"160000,{commit},link")
    found = clones.worktree(outer.folder)
    assert [each.folder for each in found.nested] == [outer.folder / "untracked", outer.folder / "libs/other"]
    assert found.nested[0].commit == commit
    assert found.nested[0].dirty == (FileChange(ChangeKind.MODIFIED, "i.py"),)
    assert not any(change.path.endswith("/") for change in found.dirty)
