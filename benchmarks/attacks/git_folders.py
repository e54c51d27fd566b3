"""Folders whose repository names commands: every way by which Git runs something, each with a canary of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from benchmarks.attacks import Attack, Outcome

_ENVIRONMENT = {
    "PATH": os.defpath,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
_HOOKS = (
    "post-checkout post-index-change post-merge pre-auto-gc pre-commit fsmonitor-watchman reference-transaction".split()
)
_KEYS = {
    "filter-clean": "filter.evil.clean",
    "filter-smudge": "filter.evil.smudge",
    "filter-process": "filter.worse.process",
    "textconv": "diff.evil.textconv",
    "diff-command": "diff.evil.command",
    "diff-external": "diff.external",
    "merge-driver": "merge.evil.driver",
    "fsmonitor": "core.fsmonitor",
    "ssh-command": "core.sshCommand",
    "git-proxy": "core.gitProxy",
    "ask-pass": "core.askPass",
    "pager": "core.pager",
    "pager-of-status": "pager.status",
    "editor": "core.editor",
    "sequence-editor": "sequence.editor",
    "alternate-refs": "core.alternateRefsCommand",
    "credential-helper": "credential.helper",
    "gpg": "gpg.program",
    "upload-pack": "remote.origin.uploadpack",
    "pack-hook": "uploadpack.packObjectsHook",
    "trailer": "trailer.evil.command",
    "man": "man.evil.cmd",
}
"""By the canary's name: a setting whose value Git runs."""


def hostile_repository(folder: Path, canaries: Path) -> None:
    """Make a repository that names a command in every way, and touch its files so that Git has to look at them.

    Args:
        folder: where; made.
        canaries: an empty folder, in which each command that runs leaves a file of its name.
    """
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    (folder / "circle.py").write_text("def circle_area(radius):\n    return 3.14159 * radius * radius\n")
    (folder / "notes.md").write_text("# Notes\n\nThe valve opens at 3 bar.\n")
    (folder / ".gitattributes").write_text(
        "*.py filter=evil diff=evil merge=evil\n*.md filter=worse\n*.txt filter=included\n*.toml filter=tree\n"
    )
    (folder / "list.txt").write_text("a list\n")
    (folder / "set.toml").write_text("a = 1\n")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "one")
    for name, key in _KEYS.items():
        _git(folder, "config", key, _canary(canaries, name))
    for name, key in {"alias-status": "alias.status", "alias-diff": "alias.diff-tree"}.items():
        _git(folder, "config", key, f"!{_canary(canaries, name)}")
    _git(folder, "config", "filter.evil.required", "true")
    _git(folder, "config", "submodule.sub.update", f"!{_canary(canaries, 'submodule')}")
    _git(folder, "config", "remote.origin.url", f"ext::{_canary(canaries, 'remote')}")
    _git(folder, "config", "remote.origin.promisor", "true")
    _git(folder, "config", f"url.ext::{_canary(canaries, 'instead-of')}.insteadOf", "https://")
    _include(folder, canaries)
    _hooks(folder, canaries)
    for name in ("circle.py", "notes.md", "list.txt", "set.toml"):  # the same size at another time: Git must read it
        content = (folder / name).read_text()
        (folder / name).write_text(content.replace("a", "b", 1))
        os.utime(folder / name, (1, 1))


def _include(folder: Path, canaries: Path) -> None:
    """Name further files of settings: an included one, one included on a condition, one of the working tree's."""
    own = folder / ".git"
    for name, driver in {"included": "included", "config.worktree": "tree"}.items():
        canary = _canary(canaries, name)
        (own / name).write_text(f'[filter "{driver}"]\n\tclean = {canary}\n\tprocess = {canary}\n')
    _git(folder, "config", "include.path", "included")
    _git(folder, "config", f"includeIf.gitdir:{folder}/.path", "included")
    _git(folder, "config", "extensions.worktreeConfig", "true")


def _hooks(folder: Path, canaries: Path) -> None:
    for place in (folder / ".git" / "hooks", folder / ".git" / "other-hooks"):
        place.mkdir(exist_ok=True)
        for name in _HOOKS:
            hook = place / name
            hook.write_text(f"#!/bin/sh\n{_canary(canaries, f'hook-{name}')}\n")
            hook.chmod(0o755)
    _git(folder, "config", "core.hooksPath", str(folder / ".git" / "other-hooks"))


def _canary(canaries: Path, name: str) -> str:
    return f"touch {canaries / name}"


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=_ENVIRONMENT, check=True, capture_output=True)


def plain_status(folder: Path) -> None:
    """Run `git status` and `git diff` as a user would, to show that the canaries live."""
    for command in (["status"], ["diff", "--stat"]):
        subprocess.run(["git", *command], cwd=folder, env=_ENVIRONMENT, check=False, capture_output=True, timeout=60)


def called(canaries: Path) -> list[str]:
    """List the commands that ran."""
    return sorted(each.name for each in canaries.iterdir())


# ---- the attack


def _commands(folder: Path) -> Outcome:
    hostile, canaries = folder / "hostile", folder / "canaries"
    canaries.mkdir()
    hostile_repository(hostile, canaries)
    plain_status(hostile)
    alive = called(canaries)
    for each in canaries.iterdir():
        each.unlink()
    environment = {**os.environ, "DATA_PATH": str(folder / "data"), "EMBEDDING_PROVIDER": "local"}
    name = ["index", str(hostile)]
    for arguments in (name, ["status"], ["search", "area of a circle"], name, ["index", str(hostile), "--fresh"]):
        _pk(environment, *arguments)
    anyio.run(_tools, environment)
    ways = len(_KEYS) + len(_HOOKS) + 7
    return Outcome(tried=8 * ways, through=tuple(called(canaries)), note=f"plain git calls {', '.join(alive)}")


def _pk(environment: Mapping[str, str], *arguments: str) -> None:
    command = [str(Path(sys.executable).parent / "pk-mcp"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"pk-mcp {arguments[0]}: {done.stderr[-1000:]}")


async def _tools(environment: dict[str, str]) -> None:
    program = str(Path(sys.executable).parent / "knowledge-mcp")
    server = StdioServerParameters(
        command=program, args=["--surface", "repositories", "--log-level", "ERROR"], env=environment
    )
    async with Client(server) as client:
        for tool, arguments in (
            ("list_indexed_repositories", {}),
            ("semantic_search", {"query": "area of a circle"}),
            ("refresh_repository", {"repository": "hostile"}),
        ):
            found = await client.call_tool(tool, arguments)
            if found.is_error:
                raise RuntimeError(f"{tool}: {found.content}")


ATTACKS = (Attack("git", "a folder's repository names a command in every way that Git knows", _commands),)
