"""What is said of the tools is what the surfaces say, and the page on serving names every route and guard."""

from __future__ import annotations

import pytest

from knowledge_mcp.surfaces.standards import SURFACE
from tools.generate_tool_docs import LISTS, PAGE, tool_lists, tools_page


def test_the_reference_of_the_tools_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == tools_page(), "run `python -m tools.generate_tool_docs`"


def test_the_lists_that_the_server_sends_are_up_to_date() -> None:
    assert LISTS.read_text(encoding="utf-8") == tool_lists(), "run `python -m tools.generate_tool_docs`"


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in (*SURFACE.tools, *SURFACE.prompts)])
def test_every_tool_and_prompt_stands_in_the_reference(name: str) -> None:
    assert f"`{name}`" in tools_page()


def test_the_first_page_names_every_tool_of_the_standards() -> None:
    page = (PAGE.parent.parent / "README.md").read_text(encoding="utf-8")
    assert [tool.name for tool in SURFACE.tools if f"`{tool.name}`" not in page] == [], "name it in README.md"


def test_the_page_on_serving_names_every_route() -> None:
    page = (PAGE.parent / "serving.md").read_text(encoding="utf-8")
    for route in ("/mcp", "/sse", "/messages/", "/health"):
        assert f"`{route}`" in page
