"""`knowledge show`: the page as a picture, the passage marked where its words are, and why there may be no picture."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image

from knowledge_mcp import wiring
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.cli.knowledge.inspect import inspect
from knowledge_mcp.cli.knowledge.show import show
from knowledge_mcp.engine.ingest.facts import structure_of
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.document import Box, Span
from knowledge_mcp.model.evidence import (
    Excerpt,
    Locator,
    QuoteAnswer,
    QuotePlace,
    QuoteQuery,
    QuoteVerdict,
    ReadAnswer,
    ReadQuery,
)
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.rendering import mark
from knowledge_mcp.settings import Settings
from knowledge_mcp.support import sandbox
from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.fakes.documents import PieceMeasure
from tests.fakes.knowledge import FakeKnowledge
from tests.readers.in_process import InProcessSandbox
from tests.readers.page_words import page_words, turned
from tests.readers.pdf_files import item_of, sheet, standard

Run = Callable[..., Finished]
QUOTE = "The store shall hold the samples of thirty days."
DATA = standard(bookmarks=True)
DPI = 72


class _Held(FakeKnowledge):
    """A knowledge base with one PDF, and answers about places that a test decides."""

    def __init__(self, path: Path) -> None:
        super().__init__(())
        path.write_bytes(DATA)
        self.path = path
        document = PdfReader(sandbox=InProcessSandbox()).read(item_of(DATA, "standard.pdf"))
        self.chunks = ClauseChunker().chunk(document, "standard", PieceMeasure())
        self.text = document.text
        self.structure = structure_of(document)
        base = FakeKnowledge().documents()[0]
        self.record = replace(
            base, id="standard", source_path=str(path), sha256=hashlib.sha256(DATA).hexdigest(), pages=6,
            media_type="application/pdf",
        )  # fmt: skip
        self.verdict = QuoteVerdict.EXACT

    def document(self, document_id: str) -> DocumentRecord:
        return self.record if document_id == self.record.id else super().document(document_id)

    def document_structure(self, document_id: str) -> DocumentStructure:
        assert document_id == self.record.id
        return self.structure

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        return next(each for each in self.chunks if each.id == chunk_id), "cited"

    def holding(self, words: str) -> Chunk:
        """Return the chunk that holds some words."""
        return next(each for each in self.chunks if words in each.content)

    def passage(self, chunk: Chunk, text: str) -> Excerpt:
        """Make the passage of some words of a chunk."""
        start = self.text.index(text)
        span = Span(start, start + len(text))
        return Excerpt(text, Locator("standard", span, "", chunk.page_numbers, boxes=chunk.boxes), "Standard, 3.2.1")

    def read(self, query: ReadQuery) -> ReadAnswer:
        assert (query.document_id, query.clause) == ("standard", "3.2.2")
        chunk = self.holding("as long as the")
        passage = self.passage(chunk, chunk.content)
        if query.cursor is None:
            return ReadAnswer("standard", "Standard", (passage,), 9, chunk.span, 7)
        boxes = tuple(replace(box, top=box.top + 3, bottom=box.bottom + 20) for box in chunk.boxes)
        shared = replace(passage, locator=replace(passage.locator, boxes=boxes))
        return ReadAnswer("standard", "Standard", (shared,), 9, chunk.span)

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        assert query.document_id == "standard"
        if query.quote not in self.text:
            return QuoteAnswer(QuoteVerdict.NOT_FOUND, (), 1)
        place = QuotePlace(query.quote, self.passage(self.holding(query.quote), query.quote))
        return QuoteAnswer(self.verdict, (place,), 1)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Held:
    """Put a knowledge base with one PDF in place of the real one."""
    made = _Held(tmp_path / "standard.pdf")

    def build(_settings: Settings) -> _Held:
        return made

    monkeypatch.setattr(wiring, "build_knowledge", build)
    return made


@pytest.fixture
def run(call: Command, held: _Held, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `knowledge show` with some arguments; it draws in this process."""
    monkeypatch.setattr(sandbox, "Sandbox", InProcessSandbox)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(inspect)
    app.command()(show)
    return functools.partial(call, app, "show", "standard", "--dpi", str(DPI))


def colours(path: Path, box: Box) -> set[tuple[int, int, int]]:
    """List the colours of a place on the picture that are no greys."""
    with Image.open(path) as image:
        part = image.convert("RGB").crop((int(box.left), int(box.top), int(box.right) + 1, int(box.bottom) + 1))
        found: Any = part.getcolors(1 << 20)
    return {rgb for _, rgb in found if max(rgb) - min(rgb) > 40}


def is_painted(path: Path, box: Box) -> bool:
    """Tell whether the paper of a place is yellow."""
    return any(red > 240 and green > 220 and blue < 160 for red, green, blue in colours(path, box))


def words_of(data: bytes, page: int, *expected: str) -> list[Box]:
    """Find words on a page."""
    return [word.box for word in page_words(data) if word.box.page == page and word.text in expected]


def test_a_quote_is_coloured_where_its_words_are_and_nowhere_else(run: Run, tmp_path: Path) -> None:
    done = run("--page", "2", "--quote", QUOTE)
    place = tmp_path / "standard-page-2.png"
    assert (done.code, done.err) == (0, "")
    assert f"Wrote {place}: page 2 of standard, the quote marked" in done.out
    thirty, capacity = words_of(DATA, 2, "thirty", "Capacity")
    assert is_painted(place, thirty if thirty.top > capacity.top else capacity)
    assert not is_painted(place, capacity if thirty.top > capacity.top else thirty)
    with Image.open(place) as image:
        assert (image.format, image.size) == ("PNG", (595, 842))


def test_a_chunk_is_framed_and_its_first_page_is_the_one_drawn(run: Run, held: _Held, tmp_path: Path) -> None:
    chunk = held.holding("thirty days")
    done = run("--chunk", chunk.id, "--out", "place/marked.png", "--json")
    assert done.code == 0
    output = json.loads(done.out)
    assert (output["page"], output["width"], output["height"]) == (2, 595, 842)
    assert output["file"] == str(tmp_path / "place" / "marked.png")
    assert output["boxes"] == [[box.left, box.top, box.right, box.bottom] for box in chunk.boxes if box.page == 2]
    (box,) = [box for box in chunk.boxes if box.page == 2]
    edge = replace(box, bottom=box.top + 1)
    assert colours(Path(output["file"]), edge)


def test_a_clause_over_two_pages_says_where_it_continues(run: Run, tmp_path: Path) -> None:
    done = run("--page", "3", "--clause", "3.2.2")
    assert done.code == 0
    assert "clause 3.2.2 marked (continues on: pages 2)" in done.out
    (operator,) = words_of(DATA, 3, "operator")
    assert is_painted(tmp_path / "standard-page-3.png", operator)


def test_passages_of_a_clause_that_overlap_are_one_place(run: Run, held: _Held) -> None:
    output = json.loads(run("--page", "3", "--clause", "3.2.2", "--json").out)
    (box,) = [box for box in held.holding("as long as the").boxes if box.page == 3]
    assert output["boxes"] == [[box.left, box.top, box.right, box.bottom + 20]]


def test_pages_are_drawn_in_a_child_process(call: Command, held: _Held, tmp_path: Path) -> None:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(show)
    assert call(app, "standard", "--page", "2", "--quote", QUOTE).code == 0
    (thirty,) = words_of(DATA, 2, "thirty")
    with Image.open(tmp_path / "standard-page-2.png") as image:
        assert image.size == (1240, 1755)
        assert image.getpixel((round(thirty.left * 150 / 72) - 1, round(thirty.top * 150 / 72) + 4)) == (255, 236, 130)


def test_without_a_passage_the_page_is_drawn_as_it_is(run: Run, tmp_path: Path) -> None:
    done = run("-p", "1")
    assert done.code == 0
    assert colours(tmp_path / "standard-page-1.png", Box(1, 0, 0, 594, 841)) == set()


def test_a_quote_that_is_not_exact_is_marked_and_reported(run: Run, held: _Held) -> None:
    held.verdict = QuoteVerdict.ALTERED
    done = run("--quote", QUOTE)
    assert done.code == 0
    assert "not exact (altered)" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Which page?"),
        (("--page", "7"), "has 6 pages"),
        (("--page", "1", "--clause", "3.2.2", "--quote", "x"), "cannot be used together"),
        (("--page", "5", "--quote", QUOTE), "It is on page 2."),
        (("--quote", "The moon is made of cheese."), "were not found in"),
        (("--page", "1", "--out", "/proc/none/at.png"), "cannot be written"),
    ],
)
def test_what_cannot_be_shown_is_reported(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.code == 1
    assert message in done.err


def test_a_page_with_another_number_printed_on_it_is_named_by_both(run: Run, held: _Held) -> None:
    pages = tuple(replace(page, label=f"A-{page.number}") for page in held.structure.pages)
    held.structure = replace(held.structure, pages=pages)
    assert "It is on page 2 (printed: A-2)." in run("--page", "5", "--quote", QUOTE).err


def test_a_file_that_is_gone_or_changed_is_not_drawn(run: Run, held: _Held, tmp_path: Path) -> None:
    held.path.write_bytes(DATA + b"\n%")
    changed_file = run("--page", "1")
    assert changed_file.code == 1
    assert "has changed since it was ingested" in changed_file.err
    assert "knowledge-ingest" in changed_file.err
    held.path.unlink()
    gone = run("--page", "1")
    assert gone.code == 1
    assert "is gone" in gone.err
    assert not list(tmp_path.glob("*.png"))


def test_only_pdf_files_of_this_machine_are_drawn(run: Run, held: _Held) -> None:
    held.record = replace(held.record, source_path="https://example.org/standard.pdf")
    assert "not on this machine" in run("--page", "1").err
    held.record = replace(held.record, source_path="/a/note.md", media_type="text/markdown")
    assert "no pages that can be drawn" in run("--page", "1").err


def test_a_passage_without_known_places_says_how_to_get_them(run: Run, held: _Held) -> None:
    held.chunks = [replace(chunk, boxes=()) for chunk in held.chunks]
    done = run("--chunk", held.chunks[0].id)
    assert done.code == 1
    assert "knowledge-ingest" in done.err


def test_a_chunk_of_another_document_is_refused(run: Run, held: _Held) -> None:
    held.chunks = [replace(held.chunks[0], document_id="other")]
    assert "belongs to 'other'" in run("--chunk", held.chunks[0].id).err


@pytest.mark.parametrize("degrees", [90, 180, 270])
@pytest.mark.parametrize("upright", [True, False])
def test_words_are_found_however_the_page_lies(tmp_path: Path, degrees: int, *, upright: bool) -> None:
    data = turned(DATA, degrees, upright=upright)
    path = tmp_path / "turned.pdf"
    path.write_bytes(data)
    (word,) = words_of(data, 2, "Capacity")
    facts, png = mark(str(path), page=2, boxes=[], words="3.2.1 Capacity", dpi=72)
    assert isinstance(facts, dict)
    assert isinstance(png, bytes)
    assert facts["words"] == 1
    (tmp_path / "page.png").write_bytes(png)
    assert is_painted(tmp_path / "page.png", word)
    facts, _ = mark(str(path), page=2, boxes=[], words="no such words", dpi=72)
    assert isinstance(facts, dict)
    assert facts["words"] == 0


def test_words_over_two_lines_are_two_places_and_stand_inside_the_box(tmp_path: Path) -> None:
    path = tmp_path / "standard.pdf"
    path.write_bytes(DATA)
    words = "has read it. It should do so at any"
    facts, _ = mark(str(path), page=2, boxes=[[60, 60, 540, 400]], words=words, dpi=72)
    assert isinstance(facts, dict)
    assert facts["words"] == 2
    facts, _ = mark(str(path), page=2, boxes=[[60, 700, 540, 800]], words=words, dpi=72)
    assert isinstance(facts, dict)
    assert facts["words"] == 0


def found(path: Path, page: int, words: str, boxes: list[list[float]]) -> int:
    """Count the places where words are found on a page."""
    facts, _ = mark(str(path), page=page, boxes=boxes, words=words, dpi=36)
    assert isinstance(facts, dict)
    return int(facts["words"])


def test_of_a_paragraph_over_two_pages_the_part_of_each_is_found(tmp_path: Path) -> None:
    path = tmp_path / "standard.pdf"
    path.write_bytes(DATA)
    words = (
        "Samples shall be kept until they have been read, and then for as long as the operator wishes, but no longer "
        "than a year."
    )
    whole: list[list[float]] = [[0, 0, 595, 842]]
    assert [found(path, page, words, whole) for page in (1, 2, 3, 4)] == [0, 1, 1, 0]
    assert found(path, 3, words, [[60, 600, 500, 800]]) == 0
    assert found(path, 3, f"3.2.2 Retention\n\n{words}\n\n4 Marking", whole) == 2


def test_a_table_is_found_cell_by_cell_and_what_is_not_found_is_coloured_as_a_whole(tmp_path: Path) -> None:
    pages = sheet()
    pages.paragraph("Table 1 - Limits of storage")
    pages.grid([["Class", "Samples", "Days"], ["Alpha", "1000", "30"], ["Beta", "50|00", "365"]], [120, 120, 120])
    path = tmp_path / "table.pdf"
    path.write_bytes(pages.done())
    rows = "| Class | Days | Samples |\n| --- | --- | --- |\n| Alpha | 365 | 1000 |\n| Beta | x | 50\\|00 |"
    assert found(path, 1, rows, [[60, 60, 500, 300]]) == 8
    _, png = mark(str(path), page=1, boxes=[[72, 80, 300, 95], [72, 400, 300, 420]], words="Limits of storage", dpi=72)
    assert isinstance(png, bytes)
    (tmp_path / "page.png").write_bytes(png)
    assert is_painted(tmp_path / "page.png", Box(1, 74, 402, 298, 418))
    assert not is_painted(tmp_path / "page.png", Box(1, 240, 82, 298, 92))
