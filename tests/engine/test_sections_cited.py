"""How a passage is named: its section with its own number or behind the numbered one around it, and its file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge_mcp.engine.core.citing import cite, section_of
from knowledge_mcp.testing.store_values import full_chunk


@pytest.mark.parametrize(
    ("hierarchy", "title", "number", "named"),
    [
        (("5 Tests", "5.3 Verification"), "Verification", "5.3", "5.3 Verification"),
        (("5.3 Verification", "Details"), "Details", "5.3", "5.3 Verification, Details"),
        (("Part 1", "Details"), "Details", "1", "1 Details"),  # nothing around it says that it is 1
        (("A Annex A",), "Annex A", "A", "Annex A"),
        (("Foreword",), "Foreword", None, "Foreword"),
        ((), "Foreword", None, "Foreword"),
    ],
)
def test_a_section_without_a_number_is_named_behind_the_numbered_one(
    hierarchy: tuple[str, ...], title: str, number: str | None, named: str
) -> None:
    chunk = replace(full_chunk("d").chunk, section_hierarchy=hierarchy, section_title=title, clause_number=number)
    assert section_of(chunk) == named


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/docs/wind\\xffloads.md", "wind\\xffloads.md"),  # a name that is not UTF-8
        ("/docs/wind\\loads 50%25.md", "wind\\loads 50%25.md"),
        ("C:\\docs\\loads.md", "loads.md"),
        ("\\\\server\\docs\\loads.md", "loads.md"),
        ("https://example.org/docs/wind%5Cloads.md", "example.org/wind\\loads.md"),
    ],
)
def test_a_file_is_cited_by_its_whole_name(source: str, name: str) -> None:
    assert cite(replace(full_chunk("d").chunk, source_path=source), None).endswith(f" [{name}]")
