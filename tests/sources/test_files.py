"""Files as a source: what is found, in which order, and what is skipped with its reason."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import MEDIA_TYPES, OSCAL_YAML, SourceItem, media_type_of
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.sources.scan import files

NOBODY = 65534
PDF, DOCX, MARKDOWN = (MEDIA_TYPES[extension] for extension in (".pdf", ".docx", ".md"))
PDF_BYTES = b"%PDF-1.7\nwhatever"
DOCX_BYTES = b"PK\x03\x04whatever"
OLE_BYTES = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1whatever"


def found(source: FileSource) -> list[str]:
    return [Path(item.uri).name for item in source.items() if isinstance(item, SourceItem)]


def skipped(source: FileSource) -> list[tuple[str, str]]:
    return [(Path(item.source).name, item.reason) for item in source.items() if isinstance(item, SkippedFile)]


def write(path: Path, data: bytes = PDF_BYTES) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.requirement("A-REQ-INGEST-001")
def test_a_folder_gives_its_files_in_a_stable_order_then_the_folders_below(tmp_path: Path) -> None:
    write(tmp_path / "b.pdf")
    write(tmp_path / "a" / "z.md", b"# Z")
    write(tmp_path / "c.DOCX", DOCX_BYTES)
    write(tmp_path / "a.pdf")
    write(tmp_path / "picture.png")
    write(tmp_path / ".hidden" / "h.pdf")
    source = FileSource(tmp_path)
    assert found(source) == ["a.pdf", "b.pdf", "c.DOCX", "z.md"]
    assert found(source) == found(source)


def test_yaml_in_a_folder_is_a_document_only_if_it_holds_controls(tmp_path: Path) -> None:
    (tmp_path / "mill.yaml").write_text("catalog:\n  uuid: u\n")
    (tmp_path / "build.yaml").write_text("steps: 1\n")
    (item,) = FileSource(tmp_path).items()
    assert isinstance(item, SourceItem)
    assert (item.name, item.media_type) == ("mill.yaml", OSCAL_YAML)


def test_only_the_folder_itself_is_searched_where_it_is_asked(tmp_path: Path) -> None:
    write(tmp_path / "top.pdf")
    write(tmp_path / "below" / "deep.pdf")
    assert found(FileSource(tmp_path, recursive=False)) == ["top.pdf"]


def test_an_item_tells_size_hash_type_and_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.pdf")
    monkeypatch.chdir(tmp_path)
    (item,) = FileSource("a.pdf").items()
    assert isinstance(item, SourceItem)
    assert (item.uri, item.name, item.path) == (str(path), "a.pdf", path)
    assert (item.media_type, item.size) == (PDF, len(PDF_BYTES))
    assert item.sha256 == hashlib.sha256(PDF_BYTES).hexdigest()
    with item.open() as stream:
        assert stream.read() == PDF_BYTES


def test_patterns_match_without_regard_to_case(tmp_path: Path) -> None:
    for name in ("one.MDX", "two.markdown", "three.md", "four.pdf"):
        write(tmp_path / name, b"# text" if name != "four.pdf" else PDF_BYTES)
    assert found(FileSource(tmp_path, patterns=("*.mdx", "T*"))) == ["one.MDX", "three.md", "two.markdown"]


def test_a_file_given_by_itself_needs_to_fit_no_pattern(tmp_path: Path) -> None:
    assert found(FileSource(write(tmp_path / "notes.txt", b"text"))) == ["notes.txt"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.pdf", b"", "empty"),
        ("pointer.docx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "unsupported"),
    ],
)
def test_an_empty_file_and_a_pointer_are_skipped(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    write(tmp_path / name, data)
    source = FileSource(tmp_path)
    assert skipped(source) == [(name, reason)]
    assert found(source) == []


def test_a_pdf_header_may_come_a_little_late_and_an_encrypted_docx_is_left_to_its_reader(tmp_path: Path) -> None:
    write(tmp_path / "a.pdf", b"\n" * 900 + PDF_BYTES)
    write(tmp_path / "b.docx", OLE_BYTES)
    assert found(FileSource(tmp_path)) == ["a.pdf", "b.docx"]


def test_a_dangling_link_is_skipped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.pdf").symlink_to(tmp_path / "nowhere.pdf")
    assert skipped(FileSource(tmp_path)) == [("gone.pdf", "inaccessible")]
    assert skipped(FileSource(tmp_path / "gone.pdf")) == [("gone.pdf", "inaccessible")]


def test_a_file_that_vanishes_while_the_folder_is_read_is_skipped(tmp_path: Path) -> None:
    write(tmp_path / "a.pdf")
    last = write(tmp_path / "b.pdf")
    items = FileSource(tmp_path).items()
    next(items)
    last.unlink()
    (item,) = items
    assert isinstance(item, SkippedFile)
    assert item.reason == "inaccessible"


def test_a_pipe_is_no_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "queue.pdf")
    assert skipped(FileSource(tmp_path)) == [("queue.pdf", "unsupported")]
    with pytest.raises(InvalidInputError):
        FileSource(tmp_path / "queue.pdf")


def test_links_that_make_a_loop_or_lead_outside_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside" / "secret.pdf")
    root = tmp_path / "root"
    write(root / "a.pdf")
    write(root / "below" / "b.pdf")
    (root / "below" / "loop").symlink_to(root, target_is_directory=True)
    (root / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (root / "again").symlink_to(root / "below", target_is_directory=True)
    assert found(FileSource(root)) == ["a.pdf", "b.pdf"]


@contextlib.contextmanager
def as_somebody() -> Generator[None]:
    """Give up root's right to read everything for a while; anybody else has not got it."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_what_may_not_be_read_is_skipped_and_reported() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        locked = write(folder / "locked" / "a.pdf").parent
        secret = write(folder / "secret.pdf")
        locked.chmod(0)
        secret.chmod(0)
        with as_somebody():
            assert skipped(FileSource(folder)) == [("secret.pdf", "inaccessible"), ("locked", "inaccessible")]
        locked.chmod(0o700)


def test_a_missing_path_is_not_found_and_no_pattern_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        FileSource(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError):
        FileSource(tmp_path, patterns=())


def test_media_types_follow_the_extension() -> None:
    types = [media_type_of(name) for name in ("a.PDF", "b.docx", "c.md", "d.mdx", "e.markdown", "f.bin")]
    assert types == [PDF, DOCX, MARKDOWN, MARKDOWN, MARKDOWN, "application/octet-stream"]


def test_a_repository_and_a_folder_call_the_same_file_by_the_same_media_type() -> None:
    of_repositories = {extension: files.media_type_of(f"a{extension}") for extension in MEDIA_TYPES}
    known = {extension: name for extension, name in of_repositories.items() if name != "text/plain"}
    assert {".md", ".json", ".html", ".xml"} <= known.keys()
    assert known == {extension: MEDIA_TYPES[extension] for extension in known}


@given(st.binary(min_size=0, max_size=40), st.sampled_from(["a.pdf", "a.docx", "a.md"]))
def test_every_file_is_either_an_item_or_skipped(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    path = write(tmp_path_factory.mktemp("any") / name, data)
    (item,) = FileSource(path).items()
    assert isinstance(item, SourceItem) or item.message


@pytest.mark.slow
def test_folders_nested_deeper_than_python_s_calls_are_walked_or_reported(tmp_path: Path) -> None:
    write(tmp_path / "top.pdf")
    steps, before = 2300, os.getcwd()  # noqa: PTH109 - made and removed step by step: no call takes a path that long
    os.chdir(tmp_path)
    for _ in range(steps):
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    try:
        items = list(FileSource(tmp_path).items())
    finally:
        for _ in range(steps):
            os.chdir("..")
            os.rmdir("d")  # noqa: PTH106
        os.chdir(before)
    assert [Path(item.uri).name for item in items if isinstance(item, SourceItem)] == ["top.pdf"]
    refused = [item for item in items if isinstance(item, SkippedFile)]
    assert [item.reason for item in refused] == ["inaccessible"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems take only names that are UTF-8")
def test_a_name_that_is_no_text_is_written_so_that_it_can_be_stored_and_shown(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"Pr\xfcfung.md", b"Pr\xf6fung.md", b"empty\xff.md"):
        with open(os.path.join(folder, name), "wb") as stream:  # noqa: PTH118, PTH123 - pathlib has no names of bytes
            stream.write(b"" if b"empty" in name else b"# Text")
    items = list(FileSource(tmp_path).items())
    read = [item for item in items if isinstance(item, SourceItem)]
    assert [item.name for item in read] == [r"Pr\xf6fung.md", r"Pr\xfcfung.md"]
    for item in read:
        assert item.uri.encode() == os.fsencode(tmp_path) + b"/" + item.name.encode()
        with item.open() as stream:
            assert stream.read() == b"# Text"
    (refused,) = (item for item in items if isinstance(item, SkippedFile))
    refused.source.encode()
    refused.message.encode()


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 3000])
def test_a_path_too_long_for_the_system_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError):
        FileSource(tmp_path / name)


def test_links_in_a_circle_are_reported_and_end_nothing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "long.md").symlink_to("z" * 300)
    write(tmp_path / "sound.pdf")
    source = FileSource(tmp_path)
    assert found(source) == ["sound.pdf"]
    assert [name for name, _ in skipped(source)] == ["long.md", "loop.md"]
