"""Pages of originals: drawn of the very bytes that were read, from a kept copy or from where the file stands."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.engine.library.originals import Originals
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.engine.shelf import PUMPS, VALVES, Shelf
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import standard

DATA, OTHER = standard(bookmarks=True), standard(bookmarks=False)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def pdf() -> PdfReader:
    """Return a reader of PDF that works in this process."""
    return PdfReader(sandbox=InProcessSandbox())


def kept(folder: Path) -> list[Path]:
    """List the copies that are kept."""
    return sorted((folder / "originals").glob("*"))


def test_a_page_of_what_was_uploaded_is_drawn_and_a_passage_marked(tmp_path: Path, pdf: PdfReader) -> None:
    assert DATA != OTHER
    service = Shelf(tmp_path).open(pdf=pdf)
    done = service.deposit(Deposit("plans", "standard.pdf", content=DATA))
    passage = next(chunk for chunk in service.find(done.document_id).chunks if chunk.boxes)
    page = passage.boxes[0].page
    plain = service.page_image(done.document_id, page)
    marked = service.page_image(done.document_id, page, passage.index)
    assert plain.startswith(PNG)
    assert marked.startswith(PNG)
    assert plain != marked
    assert len(service.page_image(done.document_id, page, dpi=40)) < len(plain)


def test_what_cannot_be_drawn_says_why(tmp_path: Path, pdf: PdfReader) -> None:
    service = Shelf(tmp_path).open(pdf=pdf)
    note = service.deposit(Deposit("plans", "pumps.md", PUMPS)).document_id
    file = service.deposit(Deposit("plans", "standard.pdf", content=DATA))
    for document, page, passage, result in (
        (note, 1, None, "has no pages that can be drawn"),
        (file.document_id, 0, None, f"has {file.pages} pages; there is no page 0"),
        (file.document_id, file.pages + 1, None, "no page"),
        (file.document_id, 1, 999, "has no passage 1000"),
        ("0123456789abcdef", 1, None, "not found"),
    ):
        with pytest.raises((NotFoundError, InvalidInputError), match=result):
            service.page_image(document, page, passage)
    for each in kept(tmp_path):
        each.unlink()
    with pytest.raises(NotFoundError, match=r"There is no copy of standard\.pdf here") as caught:
        service.page_image(file.document_id, 1)
    assert "Add the file again" in caught.value.suggestion
    service.deposit(Deposit("plans", "standard.pdf", content=DATA))
    assert service.page_image(file.document_id, 1).startswith(PNG)


def test_a_copy_goes_with_its_document_and_with_its_version(tmp_path: Path, pdf: PdfReader) -> None:
    service = Shelf(tmp_path).open(pdf=pdf)
    first = service.deposit(Deposit("plans", "standard.pdf", content=DATA)).document_id
    assert [each.read_bytes() for each in kept(tmp_path)] == [DATA]
    assert [each.stat().st_mode & 0o777 for each in kept(tmp_path)] == [0o600]
    service.deposit(Deposit("plans", "standard.pdf", content=OTHER))
    assert [each.read_bytes() for each in kept(tmp_path)] == [OTHER]
    service.deposit(Deposit("more", "standard.pdf", content=DATA))
    assert len(kept(tmp_path)) == 2
    service.remove_document(first)
    assert [each.read_bytes() for each in kept(tmp_path)] == [DATA]
    service.drop_collection("more")
    assert kept(tmp_path) == []


def record_of(path: Path, data: bytes) -> DocumentRecord:
    """Make the record of a file as `knowledge-ingest` keeps it."""
    return DocumentRecord(
        id="one", title="One", document_type="standard", source_path=str(path), sha256=hashlib.sha256(data).hexdigest(),
        pipeline="", size=len(data), pages=1, chunk_count=0, token_count=0, embedding_model="", created_at="",
        updated_at="", media_type="application/pdf",
    )  # fmt: skip


def test_a_file_is_opened_where_it_stands_below_the_allowed_folders_while_it_is_the_same(tmp_path: Path) -> None:
    root, secret = tmp_path / "allowed", tmp_path / "secret.pdf"
    root.mkdir()
    secret.write_bytes(DATA)
    file = root / "one.pdf"
    file.write_bytes(DATA)
    originals = Originals(tmp_path / "copies", [root])
    with originals.find(record_of(file, DATA)).open() as stream:
        assert stream.read() == DATA
    uri = replace(record_of(file, DATA), source_path=file.as_uri())
    assert originals.find(uri).size == len(DATA)
    (root / "link.pdf").symlink_to(secret)
    for record, kind, result in (
        (record_of(secret, DATA), NotFoundError, "not in a folder"),
        (record_of(root / "link.pdf", DATA), NotFoundError, "not in a folder"),
        (record_of(root / ".." / "secret.pdf", DATA), NotFoundError, "not in a folder"),
        (record_of(root / "gone.pdf", DATA), NotFoundError, "is no longer at its location"),
        (record_of(file, OTHER), InvalidInputError, "has changed since"),
        (replace(record_of(file, DATA), source_path="https://a.example/one.pdf"), NotFoundError, "There is no copy"),
    ):
        with pytest.raises(kind, match=result):
            originals.find(record)


def test_a_file_that_is_replaced_between_look_and_use_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "one.pdf"
    file.write_bytes(DATA)
    found = Originals(tmp_path / "copies", [tmp_path]).find(record_of(file, DATA))
    file.unlink()
    file.write_bytes(OTHER)
    with pytest.raises(OSError, match="replaced or changed"):
        found.open()


def test_what_another_part_fills_is_read_and_searched_and_never_changed(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    writer, service = shelf.open(), shelf.open(shelf="standards")
    known = writer.deposit(Deposit("standards", "pumps.md", PUMPS)).document_id
    reserving = shelf.open(shelf="application_docs")
    assert [(each.name, each.read_only) for each in service.collections()] == [("default", False), ("standards", True)]
    assert service.find(known).collection == "standards"
    with pytest.raises(InvalidInputError, match="filled by knowledge-ingest"):
        service.remove_document(known)
    for act in (
        lambda: reserving.deposit(Deposit("application_docs", "a.md", PUMPS)),
        lambda: reserving.submit(Deposit("application_docs", "a.md", PUMPS)),
        lambda: reserving.drop_collection("application_docs"),
    ):
        with pytest.raises(KnowledgeError, match="another part"):
            act()


def test_every_collection_is_asked_and_one_that_fails_is_reported(tmp_path: Path) -> None:
    service = Shelf(tmp_path).open()
    service.deposit(Deposit("pumps", "pumps.md", PUMPS))
    service.deposit(Deposit("valves", "valves.md", VALVES))
    answer = service.search_all(SearchQuery("valve turned once a year", 5))
    places = [hit.collection for hit in answer.hits]
    assert places[0] == "valves"
    assert set(places) == {"pumps", "valves"}
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
    assert answer.searched_documents == 2
    seen = service.seen_by(Rights(("pumps",))).search_all(SearchQuery("valve", 5))
    assert {hit.collection for hit in seen.hits} == {"pumps"}
    with pytest.raises(InvalidInputError, match="empty"):
        service.search_all(SearchQuery("  ", 5))


def test_jobs_are_listed_to_who_may_reach_their_collections(tmp_path: Path) -> None:
    service = Shelf(tmp_path).open()
    for name in ("pumps", "valves"):
        service.submit(Deposit(name, "a.md", PUMPS))
    assert sorted(job.collection for job in service.jobs()) == ["pumps", "valves"]
    assert [job.collection for job in service.seen_by(Rights(("pumps",))).jobs()] == ["pumps"]
