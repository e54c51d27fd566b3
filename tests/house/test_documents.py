"""The documents keep their form, and what they show really runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.source import MEDIA_TYPES
from tests.house.documents import (
    documents,
    python_snippets,
    unknown_targets,
    unlinked_files,
    wrong_with_changelog,
    wrong_with_records,
)

ROOT = Path(__file__).resolve().parent.parent.parent
DECISIONS = ROOT / "docs" / "decisions"
DOCUMENTS = documents(ROOT)
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- x\n\n## [0.2.0] - 2026-11-21\n\n## [0.1.0] - 2026-11-01\n"


def run_snippets(text: str, name: str) -> None:
    """Run a document's Python in order, in one namespace, as a reader would type it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for snippet in python_snippets(text):
        code = compile("\n" * (snippet.line - 1) + snippet.code, name, "exec")
        exec(code, namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_in_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_snippets(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_make_targets_in_a_document_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert unknown_targets(path.read_text(encoding="utf-8"), makefile) == []


def test_every_page_and_every_decision_record_is_linked_from_its_index() -> None:
    assert unlinked_files(DECISIONS) == []
    assert unlinked_files(DECISIONS.parent) == []


def test_the_page_on_the_architecture_names_every_room() -> None:
    page = (DECISIONS.parent / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in (ROOT / "src" / "knowledge_mcp").glob("*/__init__.py")]
    assert len(rooms) > 10
    assert [room for room in rooms if f"`{room}/" not in page] == []


def test_the_page_on_formats_names_every_kind_of_file() -> None:
    page = (DECISIONS.parent / "formats.md").read_text(encoding="utf-8")
    assert [extension for extension in MEDIA_TYPES if f"`{extension}`" not in page] == []


def test_every_decision_record_has_its_three_parts() -> None:
    assert wrong_with_records(DECISIONS) == []


def test_the_changelog_keeps_to_its_form() -> None:
    assert wrong_with_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) == []


def test_a_snippet_that_fails_is_reported_with_its_own_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_snippets("text\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n", "sample.md")
    assert caught.traceback[-1].lineno == 7


def test_a_snippet_that_is_only_to_be_read_is_not_run() -> None:
    assert list(python_snippets("```python notest\n1 / 0\n```\n```sh\nls\n```\n")) == []


def test_a_record_without_a_link_and_a_link_without_a_record_are_found(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("[one](0001-one.md) [three](0003-three.md)", encoding="utf-8")
    for name in ("0001-one.md", "0002-two.md"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert unlinked_files(tmp_path) == ["0002-two.md is not linked", "0003-three.md is linked and not there"]


def test_a_record_without_form_is_found_three_times(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\n## Context\n", encoding="utf-8")
    assert len(wrong_with_records(tmp_path)) == 3


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("# Changelog", "# History"),
        ("## [Unreleased]", "## [Next]"),
        ("[0.2.0] - 2026-11-21", "0.2.0"),
        ("[0.2.0]", "[0.0.9]"),
        ("### Added", "### New"),
    ],
)
def test_a_changelog_that_leaves_its_form_is_found(right: str, wrong: str) -> None:
    assert wrong_with_changelog(CHANGELOG) == []
    assert len(wrong_with_changelog(CHANGELOG.replace(right, wrong))) == 1


def test_a_make_target_that_is_not_there_is_found() -> None:
    text = "Run `make tea`, then\n```sh\nmake test && make coffee\n```\nto make sense.\n"
    assert unknown_targets(text, "test: x\n") == ["coffee", "tea"]
