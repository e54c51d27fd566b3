"""Boxes in Markdown, as the makers of sites write them: their words are read, as what the box says they are."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Block, BlockKind, Document
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE


def read(source: str) -> Document:
    return MarkdownReader(sandbox=HERE).read(content_item(source.encode(), "page.md", "text/markdown"))


def blocks_of(source: str) -> list[tuple[str, str]]:
    """List the kinds and words of a page's blocks."""
    document = read(source)
    return [(block.kind.value, block.span.of(document.text)) for block in document.blocks]


WARNING = [("paragraph", "Warning: Hot"), ("paragraph", "Gloves shall be worn."), ("list_item", "1. Wait.")]


@pytest.mark.parametrize(
    "source",
    [
        '!!! warning "Hot"\n    Gloves shall be worn.\n\n    1. Wait.\n',
        '??? warning "Hot"\n\n    Gloves shall be worn.\n\n\n    1. Wait.\n',
        '???+ warning inline end "Hot"\n    Gloves shall be worn.\n\n    1. Wait.\n',
        ":::warning Hot\nGloves shall be worn.\n\n1. Wait.\n:::\n",
        ":::warning[Hot]\n\nGloves shall be worn.\n\n1. Wait.\n\n:::\n",
        '::: {.callout-warning title="Hot"}\nGloves shall be worn.\n\n1. Wait.\n:::\n',
        ":::{warning} Hot\nGloves shall be worn.\n\n1. Wait.\n:::\n",
        "```{warning} Hot\n:class: wide\nGloves shall be worn.\n\n1. Wait.\n```\n",
    ],
    ids=["mkdocs", "closed", "beside", "docusaurus", "in brackets", "quarto", "colons of MyST", "fence of MyST"],
)
def test_a_warning_has_its_title_and_its_blocks(source: str) -> None:
    assert blocks_of(source) == WARNING


def test_without_a_title_the_label_begins_the_text() -> None:
    assert blocks_of("!!! danger\n    Stop.\n") == [("paragraph", "Warning: Stop.")]
    assert blocks_of(":::tip\nRest.\n\nSleep.\n:::\n\nAfter.") == [
        ("note", "Note: Rest."),
        ("note", "Sleep."),
        ("paragraph", "After."),
    ]
    assert blocks_of("!!! example\n    One.\n") == [("example", "Example: One.")]
    assert blocks_of("!!! quote\n    One.\n") == [("quote", "Quote: One.")]


def test_tabs_and_layout_have_no_label_and_their_headings_are_sections() -> None:
    tabs = '=== "Linux"\n\n    # 1 Start\n\n    Run it.\n\n=== "Windows"\n\n    Click.\n\n'
    source = f"{tabs}::: {{#id .column}}\n## 1.1 Stop\n:::\n"
    assert blocks_of(source) == [
        ("paragraph", "Linux"),
        ("heading", "1 Start"),
        ("paragraph", "Run it."),
        ("paragraph", "Windows"),
        ("paragraph", "Click."),
        ("heading", "1.1 Stop"),
    ]


def test_a_heading_in_a_labelled_box_is_no_section() -> None:
    document = read("# 1 Scope\n\n::: {.callout-tip}\n## Hint\nWords.\n:::\n\n## 1.1 Limits\n")
    assert [section.title for section in document.sections] == ["Scope", "Limits"]
    assert "Hint" in document.text


def test_boxes_stand_in_boxes_and_in_lists() -> None:
    assert blocks_of("::::note\nOuter.\n\n:::warning\nInner.\n:::\n\nOuter again.\n::::\n") == [
        ("note", "Note: Outer."),
        ("note", "Warning: Inner."),
        ("note", "Outer again."),
    ]
    assert blocks_of("- item\n\n    !!! warning\n        Within.\n\n- next\n") == [
        ("list_item", "• item"),
        ("list_item", "Warning: Within."),
        ("list_item", "• next"),
    ]


def test_lines_are_those_of_the_file() -> None:
    document = read('# A\n\n!!! note "T"\n    One.\n\n    Two.\n\n```{tip}\n:x: y\nThree.\n```\n')

    def lines(words: str) -> tuple[int, int] | None:
        found: Block = next(block for block in document.blocks if words in block.span.of(document.text))
        return found.lines

    assert [lines(words) for words in ("Note: T", "One.", "Two.", "Three.")] == [(3, 3), (4, 4), (6, 6), (10, 10)]


@pytest.mark.parametrize(
    "source",
    [
        "!!! really\n\nNo box.",
        "!!!\n    code",
        ":::note\nThe box has no end.",
        ':::image type="content" source="a.png":::',
        "::: mermaid\ngraph\n:::",
        "```{code-block} python\nx = 1\n```",
        "```text\n:::note\n:::\n```",
        "    !!! note\n        In code.",
    ],
)
def test_what_is_no_box_is_read_as_before(source: str) -> None:
    words = " ".join(text for _, text in blocks_of(source))
    assert not words.startswith(("Note", "Really"))
    assert "box_open" not in words
    for word in ("No box.", "The box has no end.", "graph", "x = 1", "In code."):
        assert (word in words) is (word in source)


def test_code_in_a_box_is_code() -> None:
    assert blocks_of("!!! note\n    Run:\n\n    ```sh\n    tool :::\n    ```\n")[1] == (
        BlockKind.CODE.value,
        "tool :::",
    )
