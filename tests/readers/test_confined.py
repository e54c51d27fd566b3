"""Word files and Markdown in a real child: the same as here, and within its memory and time."""

from __future__ import annotations

import dataclasses
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.errors import CancelledError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.shared import pieces
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.readers.shared.isolation import ConvertingReader
from knowledge_mcp.support.checkpoints import watch_for_stop
from knowledge_mcp.support.sandbox import Limits, Sandbox
from tests.readers.docx_files import content_item, docx_bytes, heading, p, table
from tests.readers.in_process import HERE

PAGE = """---
title: Pumps
document_type: standard
---

# 1 Scope {#scope}

<!-- page 3 -->
See [the limits](#limits) and [the web](https://example.org).[^1]

| Part | Limit |
|---|---|
| Pump | 3 bar |

## 1.1 Limits {#limits}

1. A pump shall stop.

[^1]: A note.
"""
_CELLS = "".join(
    f"<w:tr><w:tc>{p(one)}</w:tc><w:tc>{p(other)}</w:tc></w:tr>" for one, other in [("Part", "Limit"), ("Pump", "3")]
)
WORD = docx_bytes(
    heading(1, "Scope") + p("See the limits.") + table(_CELLS) + heading(2, "Limits") + p("A pump shall stop.")
)
READERS: dict[str, tuple[type[ConvertingReader], bytes]] = {
    "pumps.md": (MarkdownReader, PAGE.encode()),
    "pumps.docx": (DocxReader, WORD),
}


LONG = b"* [a](b) *c* `d` <b>e</b>\n\n" * 60_000


def item_named(name: str, data: bytes) -> SourceItem:
    return content_item(data, name, MEDIA_TYPES[f".{name.rpartition('.')[2]}"])


@pytest.mark.parametrize("name", READERS)
def test_a_child_reads_what_this_process_does(sandbox: Sandbox, name: str) -> None:
    reader, data = READERS[name]
    item = item_named(name, data)
    confined = reader(sandbox=sandbox)
    document = confined.read(item)
    assert document == reader(sandbox=HERE).read(item)
    assert [section.title for section in document.sections] == ["Scope", "Limits"]
    assert confined.check(item) == reader(sandbox=HERE).check(item)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_needs_more_memory_than_it_may_have_is_refused_and_the_next_one_is_read(name: str) -> None:
    reader, data = READERS[name]
    words = "A pump shall stop when the pressure is above three bar. " * 20
    large = docx_bytes(p(words) * 12_000) if name.endswith(".docx") else f"# Pumps\n\n{words}\n\n".encode() * 20_000
    made = Sandbox()
    try:
        with pytest.raises(UnreadableDocumentError) as caught:
            reader(sandbox=made, limits=Limits(memory=12 << 20)).read(item_named(name, large))
        assert caught.value.reason is UnreadableReason.TOO_LARGE
        assert reader(sandbox=made).read(item_named(name, data)).text
    finally:
        made.close()


def test_a_file_that_takes_too_long_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        MarkdownReader(sandbox=sandbox, limits=Limits(seconds=0.3)).read(item_named("a.md", LONG))
    assert caught.value.reason is UnreadableReason.TOO_SLOW


def test_a_machine_without_room_for_a_child_says_so_and_does_not_blame_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    made = Sandbox()
    with pytest.raises(UnreadableDocumentError, match="could not read the file: No such file or directory") as caught:
        MarkdownReader(sandbox=made).read(item_named("a.md", PAGE.encode()))
    assert "TMPDIR" in caught.value.suggestion
    made.close()


def test_a_stop_ends_the_reading_of_a_file_that_is_under_way(sandbox: Sandbox) -> None:
    result = threading.Event()
    threading.Timer(0.5, result.set).start()

    def stop() -> None:
        if result.is_set():
            raise CancelledError("told to")

    with watch_for_stop(stop), pytest.raises(CancelledError):
        MarkdownReader(sandbox=sandbox).read(item_named("a.md", LONG))


def test_what_a_child_says_of_a_place_outside_the_text_is_not_believed() -> None:
    def laid(*calls: Any) -> None:
        assembly = pieces.DocumentAssembly(DocumentBuilder())
        assembly.take({"calls": [("block", ["paragraph", "Words."], {}), *calls]})

    laid(("reference", [["Words", "link", "x", 0, 5]], {}), ("anchor", [["x"], 3], {}))
    outside: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("reference", [["Words", "link", "x", 3, 900]], {}),
        ("reference", [["Words", "link", "x", -2, 3]], {}),
        ("anchor", [["x"], 900], {}),
        ("build", [None], {}),
    ]
    for call in outside:
        with pytest.raises(ValueError, match=call[0]):
            laid(call)


def test_calls_within_calls_are_sent_once() -> None:
    builder = pieces.RecordingBuilder()
    builder.heading("Terms and definitions", level=1, number="3", source=pieces.HeadingSource.MARKUP)
    builder.block(pieces.BlockKind.PARAGRAPH, "3.1 pump: a machine that moves liquids")
    (message,) = builder.taken()
    assert [name for name, _, _ in message["calls"]] == ["heading", "block"]
    assert list(builder.taken()) == []


def test_an_item_is_read_by_its_name_where_its_type_is_not_known() -> None:
    item = dataclasses.replace(item_named("pumps.md", PAGE.encode()), media_type="application/octet-stream")
    assert MarkdownReader(sandbox=HERE).read(item).title == "Pumps"
