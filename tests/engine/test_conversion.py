"""Files of this machine as Markdown, and their way to a library."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knowledge_mcp.engine.convert.conversion import ConversionService, path_of
from knowledge_mcp.engine.core.confinement import PathNotAllowedError
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.model.errors import (
    CancelledError,
    ConfigError,
    ConnectionFailedError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnreadableDocumentError,
    UnreadableReason,
)
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem
from knowledge_mcp.ports import Library, Reader
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from tests.fakes.library import FakeLibrary
from tests.readers.docx_files import docx_bytes, heading, p
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import standard

PNG = MEDIA_TYPES[".png"]


class SlideReader:
    """Read a text of lines as slides, one a line, and tell its progress; `%` in a line is what goes wrong."""

    def __init__(self) -> None:
        self.read_names: list[str] = []
        self.closed = 0
        self.broken: Exception | None = None

    @property
    def version(self) -> str:
        return "slides-1"

    def check(self, item: SourceItem) -> Inspection:
        return Inspection(None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        self.read_names.append(item.name)
        if self.broken is not None:
            raise self.broken
        with item.open() as stream:
            slides = stream.read().decode().splitlines()
        builder = DocumentBuilder()
        for number, slide in enumerate(slides, 1):
            if progress is not None:
                progress(number, len(slides))
            builder.page(number)
            builder.block(BlockKind.PARAGRAPH, slide, pages=(number,))
        builder.warn("Pictures are left out.")
        return builder.build(item, metadata={"author": "A. Writer", "title": "inner", "source": "elsewhere"})

    def close(self) -> None:
        self.closed += 1


class World:
    """A service over one folder with real readers, a reader of slides, and a library in memory."""

    def __init__(self, folder: Path, *, roots: tuple[Path, ...] | None = None) -> None:
        self.folder = folder
        self.slides = SlideReader()
        self.library = FakeLibrary()
        self.opened = 0
        readers: dict[str, Reader] = {
            MEDIA_TYPES[".pdf"]: PdfReader(sandbox=InProcessSandbox()),
            MEDIA_TYPES[".docx"]: DocxReader(sandbox=HERE),
            MEDIA_TYPES[".md"]: MarkdownReader(sandbox=HERE),
            MEDIA_TYPES[".pptx"]: self.slides,
            PNG: self.slides,
        }
        self.service = ConversionService(readers, roots=roots or (folder,), library=self.open)

    def open(self) -> Library:
        self.opened += 1
        return self.library

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


# ---- which file


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.pdf", "/a/b.pdf"),
        ("FILE://localhost/a/b.pdf", "/a/b.pdf"),
        ("file:/a/b.pdf", "/a/b.pdf"),
        ("/a/b.pdf", "/a/b.pdf"),
        ("  /a/b c.pdf ", "/a/b c.pdf"),
        ("file:///a/b%20c%23%25.pdf", "/a/b c#%.pdf"),
        ("file:///a/%C3%A9.pdf", "/a/é.pdf"),
        ("/a/b%20c.pdf", "/a/b%20c.pdf"),
        ("/a/x:y.pdf", "/a/x:y.pdf"),
        ("a/b.pdf", "a/b.pdf"),
    ],
)
def test_uris_and_paths_name_the_same_file(uri: str, path: str) -> None:
    assert path_of(uri) == path


@pytest.mark.requirement("D-REQ-1.3", "D-REQ-9.1")
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("https://example.org/a.pdf", "ingest_url"),
        ("HTTP://example.org/a.pdf", "ingest_url"),
        ("ftp://example.org/a.pdf", "file:///"),
        ("data:text/plain,x", "file:///"),
        ("file://server/share/a.pdf", "three slashes"),
        ("file:///a/%FF.pdf", "path instead"),
    ],
)
def test_other_addresses_are_refused_with_advice(uri: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        path_of(uri)
    assert words in caught.value.suggestion


@pytest.mark.parametrize("uri", ["notes.md", "file:notes.md", "../x.md", "/etc/\0passwd", ""])
def test_a_path_that_is_not_absolute_is_refused(world: World, uri: str) -> None:
    with pytest.raises(InvalidInputError, match="absolute"):
        world.service.convert(uri)


def test_files_outside_the_allowed_folders_are_refused_whether_or_not_they_exist(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    world = World(tmp_path / "inside")
    world.folder.mkdir()
    outside.mkdir()
    secret = outside / "secret.md"
    secret.write_text("secret")
    (world.folder / "link.md").symlink_to(secret)
    for uri in (
        secret.as_uri(),
        (outside / "missing.md").as_uri(),
        f"file://{world.folder}/%2e%2e/outside/secret.md",
        (world.folder / "link.md").as_uri(),
        str(world.folder / ".." / "outside" / "secret.md"),
    ):
        with pytest.raises(PathNotAllowedError) as caught:
            world.service.convert(uri)
        assert "secret" not in caught.value.message


# ---- converting


@pytest.mark.requirement("D-REQ-1.1", "D-REQ-1.2")
def test_a_pdf_becomes_markdown_with_its_pages(world: World) -> None:
    path = world.file("sub dir/Sample standard.pdf", standard(bookmarks=True))
    messages: list[str] = []
    converted = world.service.convert(path.as_uri(), on_progress=lambda done, of, words: messages.append(words))
    assert converted.text.startswith("<!-- page 1 -->\n\n# 1 Scope\n\n")
    assert "<!-- page 6 -->" in converted.text
    assert "## 3.1 General" in converted.text
    assert converted.title == "Sample recorders - Requirements"
    assert (converted.filename, converted.media_type, converted.pages) == ("Sample standard.pdf", "application/pdf", 6)
    assert dict(converted.metadata)["author"] == "A. Writer"
    assert messages[0] == "reading Sample standard.pdf"
    assert messages[-1] == "reading page 6 of 6"


@pytest.mark.requirement("D-REQ-1.1")
def test_a_word_document_becomes_markdown(world: World) -> None:
    path = world.file("plan.docx", docx_bytes(heading(1, "Scope") + p("All pumps.")))
    converted = world.service.convert(str(path))
    assert converted.text == "# 1 Scope\n\nAll pumps.\n"
    assert converted.pages == 0


def test_only_the_pages_that_are_asked_for_come(world: World) -> None:
    path = world.file("deck.pptx", "one\ntwo\nthree\nfour")
    assert world.service.convert(str(path), pages=(2, 3)).text == "<!-- page 2 -->\n\ntwo\n\n<!-- page 3 -->\n\nthree\n"
    with pytest.raises(InvalidInputError, match="contain no text") as caught:
        world.service.convert(str(path), pages=(5, 6))
    assert "4 pages" in caught.value.details
    unpaged = world.file("plain.md", "text")
    with pytest.raises(InvalidInputError, match="has no pages"):
        world.service.convert(str(unpaged), pages=(1, 1))


def test_a_file_is_read_once_while_its_bytes_stay_the_same(world: World) -> None:
    path = world.file("deck.pptx", "one\ntwo")
    first = world.service.convert(str(path))
    assert world.service.convert(path.as_uri()) == first
    assert world.slides.read_names == ["deck.pptx"]
    world.file("deck.pptx", "one\n222")
    assert "222" in world.service.convert(str(path)).text
    copy = world.file("copy/deck.pptx", "one\n222")
    assert world.service.convert(str(copy)).filename == "deck.pptx"
    assert world.slides.read_names == ["deck.pptx"] * 2
    for number in range(5):
        world.service.convert(str(world.file(f"{number}.pptx", f"slide {number}")))
    world.service.convert(str(path))
    assert len(world.slides.read_names) == 8  # the oldest were forgotten


@pytest.mark.requirement("D-REQ-1.3", "D-REQ-9.1")
def test_a_failed_conversion_says_why(world: World) -> None:
    cases: list[tuple[Path, type[KnowledgeError], str]] = [
        (world.folder / "missing.pdf", NotFoundError, "missing.pdf"),
        (world.folder, InvalidInputError, "folder"),
        (world.file("broken.pdf", b"%PDF-1.7 and nothing else"), UnreadableDocumentError, "broken.pdf"),
        (world.file("wrong.pdf", b"PK\3\4"), UnreadableDocumentError, "wrong.pdf"),
        (world.file("empty.md", ""), UnreadableDocumentError, "empty"),
        (world.file("music.mp3", "x"), UnreadableDocumentError, "mp3"),
        (world.file("noextension", "x"), UnreadableDocumentError, "no extension"),
    ]
    for path, kind, words in cases:
        with pytest.raises(kind) as caught:
            world.service.convert(path.as_uri())
        assert words in caught.value.message
        assert caught.value.suggestion


def test_a_kind_whose_reader_is_not_installed_names_the_extra(world: World) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        world.service.convert(str(world.file("table.xlsx", "x")))
    assert caught.value.reason is UnreadableReason.UNSUPPORTED
    assert "clausewise[office]" in caught.value.suggestion
    assert ".pdf" in caught.value.details
    assert ".xlsx" not in caught.value.details


@pytest.mark.requirement("D-REQ-1.3")
def test_a_conversion_without_any_text_is_a_failure(world: World) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        world.service.convert(str(world.file("blank.pptx", "\n\n")))
    assert caught.value.reason is UnreadableReason.EMPTY


@pytest.mark.requirement("D-REQ-9.1")
def test_what_a_reader_did_not_foresee_becomes_an_error_of_ours(world: World) -> None:
    path = world.file("deck.pptx", "one")
    world.slides.broken = ZeroDivisionError("by zero")
    with pytest.raises(InternalError, match=r"deck\.pptx") as caught:
        world.service.convert(str(path))
    assert "ZeroDivisionError" in caught.value.details
    world.slides.broken = PermissionError(13, "Permission denied")
    with pytest.raises(UnreadableDocumentError) as refused:
        world.service.convert(str(path))
    assert refused.value.reason is UnreadableReason.INACCESSIBLE


def test_a_file_that_may_not_be_read_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.file("closed.md", "text")

    def refuse(*_: object, **__: object) -> None:  # what the system does, for everybody but root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("knowledge_mcp.engine.core.confinement.open_beneath", refuse)
    with pytest.raises(UnreadableDocumentError, match="cannot be opened"):
        world.service.convert(str(path))


def test_a_conversion_stops_between_two_pages_when_it_is_cancelled(world: World) -> None:
    path = world.file("deck.pptx", "one\ntwo\nthree")
    reported: list[float] = []
    with pytest.raises(CancelledError):
        world.service.convert(
            str(path),
            on_progress=lambda done, of, words: reported.append(done),
            cancelled=lambda: bool(reported) and reported[-1] >= 2,
        )
    assert reported == [0, 1, 2]
    assert world.service.convert(str(path)).pages == 3


# ---- sending


@pytest.mark.requirement("D-REQ-1A.1", "D-REQ-1A.2")
def test_the_text_goes_to_the_library_with_its_metadata(world: World) -> None:
    content = "one\ntwo"
    path = world.file("Quarter 3.pptx", content)
    deposited = world.service.convert_and_ingest(path.as_uri(), "project-alpha")
    (deposit,) = world.library.deposits
    assert deposit.collection == "project-alpha"
    assert deposit.filename == "Quarter 3.pptx"
    assert deposit.text == "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo\n"
    assert dict(deposit.metadata) == {
        "filename": "Quarter 3.pptx",
        "source": path.as_uri(),
        "title": "Quarter 3",
        "pages": "2",
        "media_type": MEDIA_TYPES[".pptx"],
        "sha256": hashlib.sha256(content.encode()).hexdigest(),
        "converter": "slides-1",
        "author": "A. Writer",
        "document_title": "inner",
        "document_source": "elsewhere",
    }
    assert deposited.chunks == 2
    assert deposited.collection == "project-alpha"
    assert "Pictures are left out." in deposited.warnings
    assert not deposit.force
    world.service.convert_and_ingest(str(path), force=True)
    assert world.library.deposits[-1].force
    assert world.library.deposits[-1].collection == "default"
    assert world.opened == 1


@pytest.mark.requirement("D-REQ-1A.5", "D-REQ-10.1")
def test_without_an_api_the_missing_setting_is_named_before_anything_is_read(tmp_path: Path) -> None:
    slides = SlideReader()
    service = ConversionService({PNG: slides}, roots=None, library=None)
    path = tmp_path / "a.png"
    path.write_text("one")
    with pytest.raises(ConfigError, match="RAG_API_URL"):
        service.convert_and_ingest(str(path))
    assert slides.read_names == []
    assert service.convert(str(path)).text


@pytest.mark.requirement("D-REQ-1A.4")
def test_a_failed_ingestion_says_why_and_the_next_try_does_not_read_again(world: World) -> None:
    failures: list[KnowledgeError] = [ConnectionFailedError("The RAG API does not answer.")]

    def refuse(method: str) -> None:
        if failures:
            raise failures.pop()

    world.library = FakeLibrary(before=refuse)
    path = world.file("deck.pptx", "one")
    with pytest.raises(ConnectionFailedError, match="does not answer") as caught:
        world.service.convert_and_ingest(str(path))
    assert caught.value.code is ErrorCode.CONNECTION_ERROR
    assert world.service.convert_and_ingest(str(path)).chunks == 1
    assert world.slides.read_names == ["deck.pptx"]


def test_progress_of_reading_and_ingesting_is_one_rise(world: World) -> None:
    path = world.file("deck.pptx", "one\ntwo\nthree")
    reported: list[tuple[float, float | None]] = []
    world.service.convert_and_ingest(str(path), on_progress=lambda done, of, words: reported.append((done, of)))
    assert [of for _, of in reported] == [100.0] * len(reported)
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported[-1][0] < 100.0


def test_closing_frees_each_reader_once_and_the_library(world: World) -> None:
    world.service.warm_up()
    world.service.convert_and_ingest(str(world.file("deck.pptx", "one")))
    world.service.close()
    assert world.slides.closed == 1
    assert world.library.closed
