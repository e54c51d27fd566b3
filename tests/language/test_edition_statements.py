"""What the cover of a document says about its own edition."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.editions import edition_statement


@pytest.mark.parametrize(
    ("line", "edition", "published"),
    [
        ("Version 910-20260623-01", "Version 910-20260623-01", ""),
        ("Version 1.2.3-rc1", "Version 1.2.3-rc1", ""),
        ("Edition 3", "Edition 3", ""),
        ("Version 2 - January 2020", "Version 2", "2020"),
        ("Version 1.0-2020", "Version 1.0-2020", "2020"),
        ("Version 2.1 (2019-05)", "Version 2.1", "2019-05"),
        ("Version2 x", "Version2", ""),
    ],
)
def test_an_edition_is_named_as_printed(line: str, edition: str, published: str) -> None:
    stated = edition_statement(f"Companion Guide\n\n{line}\n\nText.\n")
    assert (stated.edition, stated.published) == (edition, published)
