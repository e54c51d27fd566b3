"""The build is named by its commit, and by nothing where it is in no checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from knowledge_mcp.evals import commit_of_build


def _git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_a_checkout_is_named_by_its_commit_and_marked_where_files_differ(
    tmp_path: Path, needs: Callable[[str], str]
) -> None:
    needs("git")
    package = tmp_path / "package"
    package.mkdir()
    (package / "code.py").write_text("1")
    _git(tmp_path, "init", "-q")
    assert commit_of_build(package) == ""
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "one")
    commit = commit_of_build(package)
    assert len(commit) == 12
    (package / "code.py").write_text("2")
    assert commit_of_build(package) == f"{commit}+"
    untracked = tmp_path / "installed"
    untracked.mkdir()
    (untracked / "code.py").write_text("1")
    assert commit_of_build(untracked) == ""
