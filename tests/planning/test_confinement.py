"""Paths that callers give: links are resolved first, and nothing outside the allowed folders is read or reported."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.confinement import PathNotAllowedError, allowed_path, look_at
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import MOST_BYTES
from knowledge_mcp.support import files
from knowledge_mcp.surfaces.planning.shapes import render_error
from tests.planning.world import REF, World, paper


def test_a_file_below_an_allowed_folder_is_resolved(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "a.pdf").touch()
    (root / "link.pdf").symlink_to(root / "deep" / "a.pdf")
    assert allowed_path(str(root / "deep" / "a.pdf"), [root]) == root / "deep" / "a.pdf"
    assert allowed_path(str(root / "link.pdf"), [root]) == root / "deep" / "a.pdf"
    assert allowed_path(f"{root}/deep/../deep/./a.pdf", [tmp_path / "other", root]) == root / "deep" / "a.pdf"
    (tmp_path / "alias").symlink_to(root)
    assert allowed_path(str(root / "deep" / "a.pdf"), [tmp_path / "alias"]) == root / "deep" / "a.pdf"


def test_nothing_leads_out_of_the_allowed_folders(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "rootless").mkdir()
    secret = tmp_path / "secret.pdf"
    secret.touch()
    (root / "link.pdf").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    (root / "loop.pdf").symlink_to(root / "loop.pdf")
    for given in (
        secret,
        root / "link.pdf",
        root / "folder" / "secret.pdf",
        f"{root}/../secret.pdf",
        tmp_path / "rootless" / "a.pdf",
        "/etc/passwd",
        "/proc/self/environ",
    ):
        with pytest.raises(PathNotAllowedError):
            allowed_path(str(given), [root])
        assert allowed_path(str(given), None)
    for given in ("a.pdf", "~/a.pdf", "", f"{root}/a\0.pdf"):
        with pytest.raises(InvalidInputError):
            allowed_path(given, [root])


def test_whether_something_stands_outside_is_not_reported(tmp_path: Path) -> None:
    world = World(tmp_path)
    there, nowhere = paper(tmp_path / "secret.pdf"), tmp_path / "nowhere.pdf"
    answers: list[dict[str, str]] = []
    for path in (there, nowhere, tmp_path, tmp_path / "x.exe"):
        with pytest.raises(InvalidInputError) as caught:
            world.ingest(str(path))
        answers.append(render_error(caught.value))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["error_type"] == "path_not_allowed"
    world.service.close()


def test_without_any_allowed_folder_no_path_is_read_and_the_setting_is_named(tmp_path: Path) -> None:
    world = World(tmp_path, roots=())
    with pytest.raises(PathNotAllowedError, match="may not read any file") as caught:
        world.ingest(world.paper("a.pdf"))
    assert "ALLOWED_ROOTS" in caught.value.suggestion
    world.service.close()


def test_a_link_out_that_takes_a_file_s_place_while_it_is_read_is_noticed(world: World) -> None:
    path = Path(world.paper("a.pdf"))
    secret = paper(world.folder / "secret.pdf", "Nobody may read this.")

    def swap(page: int) -> None:
        if page == 1:
            path.unlink()
            path.symlink_to(secret)

    world.reader.hooks.append(swap)
    with pytest.raises(InvalidInputError) as caught:
        world.ingest(str(path))
    assert render_error(caught.value)["error_type"] == "extraction_failed"
    assert world.call("list_ingested_documents", application_ref=REF)["document_count"] == 0


@pytest.mark.parametrize("way", ["at once", "step by step"])
def test_a_folder_that_turns_into_a_link_again_and_again_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "step by step":
        monkeypatch.setattr(files, "_system_call", lambda: None)
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "folder").mkdir(parents=True)
    outside.mkdir()
    (root / "folder" / "a.pdf").write_bytes(b"inside")
    (outside / "a.pdf").write_bytes(b"outside")
    (root / "link").symlink_to(outside)
    inside = hashlib.sha256(b"inside").hexdigest()
    enough = threading.Event()

    def swap() -> None:
        while not enough.is_set():
            (root / "folder").rename(root / "real")
            (root / "link").rename(root / "folder")
            (root / "folder").rename(root / "link")
            (root / "real").rename(root / "folder")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: list[str] = []
    refused = 0
    try:
        while len(seen) + refused < 2000:
            try:
                file = look_at(allowed_path(str(root / "folder" / "a.pdf"), [root]), [root])
                with file.open() as stream:
                    seen.append(hashlib.sha256(stream.read()).hexdigest())
            except (KnowledgeError, OSError):
                refused += 1
    finally:
        enough.set()
        swapping.join()
    assert set(seen) == {inside}
    assert refused


def test_a_file_of_holes_is_refused_by_its_size_before_its_content_is_read(tmp_path: Path) -> None:
    path = tmp_path / "holes.pdf"
    with path.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    blocks: list[None] = []
    with pytest.raises(UnreadableDocumentError) as caught:
        look_at(path, [tmp_path], lambda: blocks.append(None))
    assert caught.value.reason is UnreadableReason.TOO_LARGE
    assert not blocks


def test_a_file_of_holes_is_refused_by_the_tool(world: World) -> None:
    path = Path(world.paper("a.pdf"))
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(InvalidInputError, match="more than 1024 MiB"):
        world.ingest(str(path))


def test_a_pipe_and_a_device_are_no_files(world: World) -> None:
    path = Path(world.paper("a.pdf"))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InvalidInputError, match="not found"):
        world.ingest(str(path))
