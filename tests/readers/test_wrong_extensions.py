"""A file under the extension of another kind is called what it is, with the extension that it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.plain.reader import PlainTextReader
from tests.readers.docx_files import content_item, docx_bytes, p, run
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import standard

_READERS: dict[str, Callable[[], Any]] = {
    "a.pdf": lambda: PdfReader(sandbox=InProcessSandbox()),
    "a.docx": lambda: DocxReader(sandbox=HERE),
    "a.html": lambda: HtmlReader(sandbox=InProcessSandbox()),
    "a.md": lambda: MarkdownReader(sandbox=HERE),
    "a.txt": lambda: PlainTextReader(sandbox=InProcessSandbox()),
}


@pytest.mark.parametrize(
    ("name", "kind", "what", "advice"),
    [
        ("a.pdf", "word", "a Word document", "Rename it so that it ends in .docx."),
        ("a.pdf", "page", "a web page", "Rename it so that it ends in .html."),
        ("a.docx", "pdf", "a PDF", "Rename it so that it ends in .pdf."),
        ("a.docx", "page", "a web page", "Rename it so that it ends in .html."),
        ("a.docx", "text", "plain text", "Give the file the correct extension."),
        ("a.html", "word", "a Word document", "Rename it so that it ends in .docx."),
        ("a.md", "word", "a Word document", "Rename it so that it ends in .docx."),
        ("a.md", "pdf", "a PDF", "Rename it so that it ends in .pdf."),
        ("a.txt", "word", "a Word document", "Rename it so that it ends in .docx."),
        ("a.txt", "pdf", "a PDF", "Rename it so that it ends in .pdf."),
    ],
)
@pytest.mark.requirement("CLARIFY-001")
def test_a_file_is_called_what_it_is(name: str, kind: str, what: str, advice: str) -> None:
    kinds = {
        "word": docx_bytes(p(run("Words."))),
        "page": b"<!doctype html><p>Words.",
        "pdf": standard(bookmarks=False),
        "text": b"Just words.",
    }
    with pytest.raises(UnreadableDocumentError) as caught:
        _READERS[name]().check(content_item(kinds[kind], name))
    error = caught.value
    assert (error.reason, error.suggestion) == (UnreadableReason.MISLABELLED, advice)
    assert error.message.endswith(f"but {what}.")
