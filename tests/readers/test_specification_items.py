"""Specification items of OpenFastTrace are items: their ids, texts and declared links are kept."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import DeclaredLink, Document
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

MARKDOWN = """\
# Crane

This page is about `req~stop~2` and others.

## Stop
`req~stop~2`

The crane stops.

* at the end of the rail
* on request

Rationale: It may fall.

Covers:

* [feat~safe~1](#safe)
* `feat~quick~1`

Needs: dsn, impl
Tags: rail

More about stopping, which is still part of it.

## Guards

Guards are described elsewhere.

`req~guard~1`

The guard is closed.
"""
RST = """\
Crane
=====

Stop
----

`req~stop~2`

The crane stops.

Covers:

* `feat~safe~1`

Needs: dsn
"""


def read(text: str, name: str) -> Document:
    reader = (MarkdownReader if name.endswith(".md") else MarkupReader)(sandbox=InProcessSandbox())
    return reader.read(item_of(text.encode(), name))


def test_an_id_alone_on_a_line_begins_an_item_with_the_heading_above_it() -> None:
    document = read(MARKDOWN, "crane.md")
    stop, guard = document.items
    assert (stop.id, stop.kind, stop.title, stop.line) == ("req~stop~2", "req", "Stop", 6)
    assert stop.text.startswith("The crane stops.")
    assert "on request" in stop.text
    assert "fall" not in stop.text
    assert stop.text.endswith("still part of it.")
    assert stop.links == (DeclaredLink("feat~safe~1", "covers"), DeclaredLink("feat~quick~1", "covers"))
    assert dict(stop.attributes) == {"Rationale": "It may fall.", "Needs": "dsn, impl", "Tags": "rail"}
    assert stop.span.of(document.text).startswith("Stop\n")
    assert (guard.id, guard.title, guard.text) == ("req~guard~1", "", "The guard is closed.")
    assert guard.span.of(document.text).startswith("req~guard~1")


@pytest.mark.parametrize("text", ["# A\n\n`req~stop`\n\nIt stops.\n", "# A\n\nSee\n`req~a~1` there.\n"])
def test_other_words_with_tildes_are_no_items(text: str) -> None:
    assert read(text, "a.md").items == ()


def test_items_in_restructuredtext_are_read_too() -> None:
    (stop,) = read(RST, "crane.rst").items
    assert (stop.id, stop.title, stop.text) == ("req~stop~2", "Stop", "The crane stops.")
    assert stop.links == (DeclaredLink("feat~safe~1", "covers"),)
