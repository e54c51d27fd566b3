"""Clones: made, reused, brought up to date, whatever happened on the other side."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    NotFoundError,
    TimedOutError,
)
from knowledge_mcp.model.source import ChangeKind, FileChange
from knowledge_mcp.settings import load_settings
from knowledge_mcp.sources.git.process import GitCall, GitProgram
from knowledge_mcp.sources.git.source import GitClones, from_options
from tests.servers.git_server import GitServer, MadeRepository

PATH = "someone/project"


@pytest.fixture
def made(tmp_path: Path) -> MadeRepository:
    repository = MadeRepository(tmp_path / "served" / PATH)
    repository.commit({"a.py": "def first():\n    return 1\n", "b.py": "value = 1\n" * 30})
    return repository


@pytest.fixture
def server(tmp_path: Path) -> Generator[GitServer]:
    with GitServer(tmp_path / "served") as running:
        yield running


@pytest.fixture
def clones(tmp_path: Path) -> GitClones:
    return GitClones(tmp_path / "clones", loopback_http=True)


def visible(clones: GitClones) -> list[str]:
    return sorted(path.name for path in clones.place("x").parent.iterdir() if not path.name.startswith("."))


@pytest.mark.requirement("C-6.4-clone")
@pytest.mark.requirement("C-6.4-shallow")
@pytest.mark.requirement("C-6.4-name")
@pytest.mark.requirement("C-10.4-isolation")
def test_a_clone_is_shallow_and_lies_in_a_folder_of_its_name(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    commit = made.commit({"a.py": "def first():\n    return 2\n"})
    found = clones.clone(server.url(f"{PATH}.git"))
    assert (found.name, found.branch, found.commit) == ("project", "main", commit)
    assert found.shallow
    assert found.folder == clones.place("project")
    assert (found.folder / "a.py").read_text() == "def first():\n    return 2\n"
    assert visible(clones) == ["project"]
    full = clones.clone(server.url(PATH), name="whole", shallow=False)
    assert not full.shallow
    parent = made.git("rev-parse", "HEAD~1")
    assert clones.changes(found.folder, parent, commit) is None
    assert clones.changes(full.folder, parent, commit) == (FileChange(ChangeKind.MODIFIED, "a.py"),)


@pytest.mark.requirement("C-6.4-branch")
def test_a_branch_is_cloned_when_it_is_named(made: MadeRepository, server: GitServer, clones: GitClones) -> None:
    made.git("checkout", "--quiet", "-b", "work/new")
    commit = made.commit({"c.py": "new = True\n"})
    made.git("checkout", "--quiet", "main")
    found = clones.clone(server.url(PATH), branch="work/new")
    assert (found.branch, found.commit) == ("work/new", commit)
    assert clones.clone(server.url(PATH), branch="main").branch == "main"
    assert clones.remote_head(server.url(PATH), branch="work/new").commit == commit
    assert clones.remote_head(server.url(PATH)).branch == "main"


@pytest.mark.requirement("C-6.4-reuse")
def test_a_clone_that_is_there_is_used_and_replaced_only_when_asked(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    old = clones.clone(server.url(PATH))
    new = made.commit({"a.py": "changed = 1\n"})
    assert clones.clone(server.url(f"{PATH}.git")).commit == old.commit
    assert clones.clone(server.url(PATH), fresh=True).commit == new
    assert visible(clones) == ["project"]


def test_another_repository_does_not_take_over_a_name(
    made: MadeRepository, server: GitServer, clones: GitClones, tmp_path: Path
) -> None:
    MadeRepository(tmp_path / "served" / "other" / "project").commit({"z.py": "z = 1\n"})
    clones.clone(server.url(PATH))
    with pytest.raises(InvalidInputError, match="already called project"):
        clones.clone(server.url("other/project"))
    assert clones.clone(server.url("other/project"), name="second").folder.name == "second"


def test_an_update_follows_changes_renames_and_deletions(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    old = clones.clone(server.url(PATH))
    made.git("mv", "b.py", "moved.py")
    (made.folder / "a.py").unlink()
    new = made.commit({"new\nline.py": "odd = 1\n"})
    found = clones.update("project")
    assert found.commit == new
    assert clones.changes(found.folder, old.commit, new) == (
        FileChange(ChangeKind.DELETED, "a.py"),
        FileChange(ChangeKind.RENAMED, "moved.py", "b.py"),
        FileChange(ChangeKind.ADDED, "new\nline.py"),
    )
    assert not (found.folder / "a.py").exists()
    assert clones.changes(found.folder, new, new) == ()


def test_a_rename_with_an_edit_is_a_rename_of_other_bytes(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    old = clones.clone(server.url(PATH))
    made.git("mv", "b.py", "moved.py")
    new = made.commit({"moved.py": "value = 1\n" * 29 + "other = 2\n"})
    found = clones.update("project")
    assert clones.changes(found.folder, old.commit, new) == (FileChange(ChangeKind.RENAMED, "moved.py", "b.py"),)


def test_a_forced_push_is_followed_and_the_difference_still_reported(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    old = clones.clone(server.url(PATH))
    made.git("checkout", "--quiet", "--orphan", "rewritten")
    made.commit({"a.py": "rewritten = 1\n"})
    made.git("branch", "--force", "main", "rewritten")
    made.git("checkout", "--quiet", "main")
    found = clones.update("project")
    assert found.commit == made.git("rev-parse", "main")
    assert clones.changes(found.folder, old.commit, found.commit) == (FileChange(ChangeKind.MODIFIED, "a.py"),)


def test_a_removed_branch_is_reported_when_it_was_chosen_and_left_for_the_default_one_when_not(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    clones.clone(server.url(PATH))
    made.git("branch", "--move", "main", "trunk")
    commit = made.commit({"a.py": "on_trunk = 1\n"})
    with pytest.raises(NotFoundError, match="no branch main"):
        clones.update("project", branch="main")
    found = clones.update("project")
    assert (found.branch, found.commit) == ("trunk", commit)


def test_what_was_changed_by_hand_in_a_clone_is_undone_by_an_update(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    found = clones.clone(server.url(PATH))
    (found.folder / "a.py").write_text("scribbled\n")
    (found.folder / "left.py").write_text("left over\n")
    (found.folder / ".git" / "index.lock").touch()
    clones.update("project")
    assert (found.folder / "a.py").read_text() == "def first():\n    return 1\n"
    assert not (found.folder / "left.py").exists()


@pytest.mark.parametrize("damage", ["index", "HEAD", "config", "objects"])
def test_a_damaged_clone_is_made_again(made: MadeRepository, server: GitServer, clones: GitClones, damage: str) -> None:
    found = clones.clone(server.url(PATH))
    commit = made.commit({"a.py": "newer = 1\n"})
    place = found.folder / ".git" / damage
    if damage == "objects":
        for path in [path for path in place.rglob("*") if path.is_file()]:
            path.unlink()
    elif damage == "config":
        place.unlink()
        assert clones.clone(server.url(PATH)).commit == commit
        return
    else:
        place.write_bytes(b"broken")
    assert clones.update("project").commit == commit
    assert visible(clones) == ["project"]


def test_a_clone_is_opened_and_removed_by_its_name(made: MadeRepository, server: GitServer, clones: GitClones) -> None:
    made.commit()
    found = clones.clone(server.url(PATH))
    assert clones.open("project") == found
    assert clones.remove("project")
    assert not clones.remove("project")
    assert visible(clones) == []
    for asked in (clones.open, clones.update):
        with pytest.raises(NotFoundError):
            asked("project")


@pytest.mark.skipif(sys.platform == "win32", reason="a path there has at most 260 characters")
def test_a_clone_of_thousands_of_folders_inside_each_other_is_removed(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    folder = clones.clone(server.url(PATH)).folder
    (folder / "1").mkdir()
    deepest = os.open(folder / "1", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("1", dir_fd=deepest)
        upper, deepest = deepest, os.open("1", os.O_RDONLY, dir_fd=deepest)
        os.close(upper)
    os.close(deepest)
    assert clones.remove("project")
    assert visible(clones) == []
    assert clones.clone(server.url(PATH)).commit == made.git("rev-parse", "HEAD")


@pytest.mark.requirement("C-10.4-traversal")
@pytest.mark.requirement("C-10.4-names")
@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden", "-x", "a\nb", "x" * 101, ".."])
def test_no_name_leads_out_of_the_folder_of_clones(clones: GitClones, name: str) -> None:
    with pytest.raises(InvalidInputError):
        clones.place(name)
    with pytest.raises(InvalidInputError):
        clones.remove(name)


@pytest.mark.parametrize("branch", ["--upload-pack=evil", "a b", "a..b", "x.lock", "a\nb", "/a", "a~1"])
def test_a_branch_that_git_could_not_have_is_refused_before_git_runs(tmp_path: Path, branch: str) -> None:
    clones = GitClones(tmp_path, git=GitProgram(program="there-is-no-such-program"))
    with pytest.raises(InvalidInputError, match="branch"):
        clones.clone("https://github.com/owner/name", branch=branch)


def test_a_repository_without_a_commit_is_reported(tmp_path: Path, server: GitServer, clones: GitClones) -> None:
    MadeRepository(tmp_path / "served" / "someone" / "empty")
    with pytest.raises(InvalidInputError, match="no commit"):
        clones.clone(server.url("someone/empty"))
    with pytest.raises(InvalidInputError, match="no commit"):
        clones.remote_head(server.url("someone/empty"))
    assert visible(clones) == []


def test_a_default_branch_that_is_not_there_is_not_reported_as_an_empty_repository(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    clones.clone(server.url(PATH))
    made.git("branch", "--move", "main", "trunk")
    made.git("symbolic-ref", "HEAD", "refs/heads/main")
    for ask in (
        lambda: clones.update("project"),
        lambda: clones.remote_head(server.url(PATH)),
        lambda: clones.clone(server.url(PATH), name="new"),
    ):
        with pytest.raises(NotFoundError, match="default branch that does not exist") as raised:
            ask()
        assert "--branch" in raised.value.suggestion
        assert "trunk" in raised.value.suggestion
    assert clones.update("project", branch="trunk").branch == "trunk"


def test_a_tag_and_a_remote_without_a_branch_are_followed(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    old = made.git("rev-parse", "HEAD")
    made.git("tag", "--annotate", "--message=x", "v1")
    assert clones.clone(server.url(PATH), branch="v1").commit == old
    new = made.commit({"a.py": "tagged = 1\n"})
    assert clones.update("project", branch="v1").commit == old
    made.git("tag", "--annotate", "--force", "--message=x", "v1")
    assert clones.remote_head(server.url(PATH), branch="v1").commit == new
    assert (clones.update("project", branch="v1").commit, clones.open("project").branch) == (new, "")
    made.git("checkout", "--quiet", "--detach")
    detached = made.commit({"a.py": "detached = 1\n"})
    assert clones.update("project").commit == detached
    made.git("checkout", "--quiet", "main")
    assert (clones.update("project").commit, clones.open("project").branch) == (new, "main")


def test_a_branch_below_the_name_of_the_one_before_is_followed(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    clones.clone(server.url(PATH))
    made.git("branch", "--move", "main", "tmp")
    made.git("branch", "--move", "tmp", "main/new")
    assert clones.update("project").branch == "main/new"


def test_hooks_filters_and_submodules_of_a_repository_are_not_run(
    made: MadeRepository, server: GitServer, clones: GitClones, tmp_path: Path
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    made.write({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n*.py filter=evil\n", "x.bin": pointer})
    made.write({".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = {server.url(PATH)}\n'})
    made.commit()
    commit = made.git("rev-parse", "HEAD")
    made.git("update-index", "--add", "--cacheinfo", f"160000,{commit},s")
    made.git("commit", "--quiet", "--message=submodule")
    found = clones.clone(server.url(PATH))
    assert (found.folder / "x.bin").read_text() == pointer
    assert not list((found.folder / "s").iterdir())
    hook = found.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    clones.update("project")
    assert not (tmp_path / "ran").exists()


def test_two_that_want_the_same_clone_make_one(made: MadeRepository, server: GitServer, clones: GitClones) -> None:
    commit = made.git("rev-parse", "HEAD")
    found: list[str] = []
    workers = [threading.Thread(target=lambda: found.append(clones.clone(server.url(PATH)).commit)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [commit] * 3
    assert len([line for line, _ in server.behaviour.seen if "git-upload-pack" in line and "GET" in line]) == 1


def test_what_an_interrupted_run_left_is_removed_by_the_next(
    made: MadeRepository, server: GitServer, clones: GitClones
) -> None:
    made.commit()
    clones.clone(server.url(PATH), name="project.two")
    folder = clones.place("project").parent
    (folder / ".project.0123abcd.partial" / "objects").mkdir(parents=True)
    (folder / ".project.two.0123abcd.partial").mkdir()
    clones.clone(server.url(PATH))
    left = sorted(path.name for path in folder.iterdir() if path.name.endswith(".partial"))
    assert left == [".project.two.0123abcd.partial"]


# ---- working trees


def test_a_working_tree_is_described_with_what_is_not_committed_and_never_altered(
    made: MadeRepository, clones: GitClones
) -> None:
    made.write({".gitignore": "*.log\n"})
    commit = made.commit()
    made.git("remote", "add", "origin", "https://someone:sec@ret@github.com/someone/project.git?token=secret")
    made.write({"a.py": "edited = 1\n", "new folder/ü.py": "new = 1\n", "noise.log": "x"})
    (made.folder / "b.py").unlink()
    before = {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")}
    found = clones.worktree(made.folder)
    assert (found.commit, found.branch, found.local) == (commit, "main", True)
    assert found.url == "https://github.com/someone/project.git"
    assert found.dirty == (
        FileChange(ChangeKind.MODIFIED, "a.py"),
        FileChange(ChangeKind.DELETED, "b.py"),
        FileChange(ChangeKind.ADDED, "new folder/ü.py"),
    )
    assert {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")} == before
    inner = clones.worktree(made.folder / "new folder", name="inner")
    assert (inner.name, inner.dirty) == ("inner", (FileChange(ChangeKind.ADDED, "ü.py"),))


def test_a_folder_that_is_no_repository_is_described_too(tmp_path: Path, clones: GitClones) -> None:
    (tmp_path / "plain").mkdir()
    found = clones.worktree(tmp_path / "plain")
    assert (found.name, found.commit, found.branch, found.dirty) == ("plain", "", "", ())
    with pytest.raises(NotFoundError):
        clones.worktree(tmp_path / "nowhere")


def test_a_command_in_a_working_trees_configuration_is_not_run(
    made: MadeRepository, clones: GitClones, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "credential.helper"):
        made.git("config", name, str(script))
    made.write({"a.py": "edited = 1\n"})
    assert clones.worktree(made.folder).dirty == (FileChange(ChangeKind.MODIFIED, "a.py"),)
    assert not (tmp_path / "ran").exists()


def test_a_commit_that_is_no_hash_is_refused(made: MadeRepository, clones: GitClones) -> None:
    commit = made.git("rev-parse", "HEAD")
    for wrong in ("HEAD", "--output=/tmp/x", commit[:12], ""):
        with pytest.raises(InvalidInputError):
            clones.changes(made.folder, wrong, commit)
    assert clones.changes(made.folder, "0" * 40, commit) is None


# ---- the program


class Recording(GitProgram):
    """Keep where Git would have connected to, and stop there."""

    place = ""

    def run(self, arguments: object, call: GitCall, **_: object) -> tuple[int, bytes]:
        assert call.place is not None
        self.place = call.place()
        raise ConnectionError


def test_a_missing_program_is_a_matter_of_configuration(tmp_path: Path) -> None:
    clones = GitClones(tmp_path, git=GitProgram(program="there-is-no-such-program"))
    with pytest.raises(ConfigError, match="not installed"):
        clones.clone("https://github.com/owner/name")


def test_a_folder_that_cannot_be_written_is_reported(made: MadeRepository, server: GitServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    clones = GitClones(tmp_path / "file" / "clones", loopback_http=True)
    with pytest.raises(Exception, match="cannot be written") as caught:
        clones.clone(server.url(PATH))
    assert "REPO_CLONE_PATH" in caught.value.suggestion  # type: ignore[attr-defined]


def test_another_that_holds_the_clone_for_long_is_reported(monkeypatch: pytest.MonkeyPatch, clones: GitClones) -> None:
    import fcntl

    monkeypatch.setattr("knowledge_mcp.sources.git.folder._LOCK_SECONDS", 0.0)
    folder = clones.place("project").parent
    folder.mkdir()
    descriptor = os.open(folder / ".project.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(TimedOutError, match="Another process"):
            clones.remove("project")
    finally:
        os.close(descriptor)
    assert not clones.remove("project")


@pytest.mark.parametrize(
    ("addresses", "accepted"),
    [
        (["10.1.2.3"], True), (["93.184.216.34", "192.168.1.1"], True), (["::ffff:127.0.0.1"], True),
        (["169.254.169.254"], False), (["fe80::1"], False), (["fd00:ec2::254"], False),
    ],
)  # fmt: skip
def test_a_host_with_an_address_that_is_not_public_is_refused_before_git_connects(
    tmp_path: Path, addresses: list[str], accepted: bool
) -> None:
    def resolver(host: str, port: int) -> list[str]:
        assert (host, port) == ("git.example.com", 443)
        return addresses

    clones = GitClones(tmp_path, git=GitProgram(program="true"), resolver=resolver)
    with pytest.raises(InvalidInputError, match="not public"):
        clones.clone("https://git.example.com/owner/name")
    own = GitClones(tmp_path, git=Recording(), resolver=resolver, tokens={"git.example.com": "t0ken"})
    with pytest.raises(ConnectionError if accepted else InvalidInputError):
        own.remote_head("https://git.example.com/owner/name")


def test_a_host_that_cannot_be_resolved_may_be_behind_a_proxy(tmp_path: Path) -> None:
    def resolver(host: str, port: int) -> list[str]:
        raise OSError(f"unknown: {host}:{port}")

    with pytest.raises(ConnectionFailedError, match="could not be resolved") as failed:
        GitClones(tmp_path, resolver=resolver).clone("https://git.example.com/owner/name")
    assert "a proxy (HTTPS_PROXY)" in failed.value.suggestion


def test_git_connects_to_the_address_that_was_checked(tmp_path: Path) -> None:
    def resolver(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "2606:2800:220:1::1"]

    git = Recording()
    clones = GitClones(tmp_path, git=git, resolver=resolver)
    with pytest.raises(ConnectionError):
        clones.remote_head("https://git.example.com:8443/owner/name")
    assert git.place == "git.example.com:8443:93.184.216.34,[2606:2800:220:1::1]"


def test_where_a_proxy_connects_names_are_left_to_it(tmp_path: Path) -> None:
    settings = load_settings(environ={"REPO_CLONE_PATH": str(tmp_path)})
    clones = from_options(settings, environment={"HTTPS_PROXY": "http://127.0.0.1:9"})
    with pytest.raises(ConnectionFailedError):
        clones.remote_head("https://git.invalid/owner/name")
    with pytest.raises(InvalidInputError):
        clones.remote_head("https://10.0.0.1/owner/name")


@pytest.mark.requirement("C-8.1-REPO_CLONE_PATH")
def test_the_settings_say_where_clones_lie(tmp_path: Path) -> None:
    settings = load_settings(environ={"REPO_CLONE_PATH": str(tmp_path / "there"), "GITHUB_PAT": "ghp_x"})
    assert from_options(settings).place("name") == tmp_path / "there" / "name"


@pytest.mark.parametrize("given", ["just-a-token", "a.example=", "=t0ken", "a.example=1,b.example"])
def test_tokens_of_a_wrong_form_are_refused_without_being_shown(given: str) -> None:
    settings = load_settings(environ={"GIT_TOKENS": given})
    with pytest.raises(ConfigError) as caught:
        from_options(settings)
    assert "host=token" in caught.value.message
    assert given not in f"{caught.value.message} {caught.value.details} {caught.value.suggestion}"
