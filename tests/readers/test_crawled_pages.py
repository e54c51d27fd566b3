"""Crawled pages that may not be the document that was asked for."""

from __future__ import annotations

import pytest

from tests.readers.test_html import read


@pytest.mark.parametrize(
    ("page", "doubt"),
    [
        ("<form><input type=password name=p></form><p>Please sign in.</p>", "sign-in page"),
        ("<meta http-equiv=refresh content=\"0; url='/new.html'\"><p>Moved.</p>", "was not fetched: /new.html"),
        ("<meta http-equiv=refresh content=300><p>Tides.</p>", ""),
    ],
)
def test_a_crawled_page_that_may_not_be_what_was_asked_for_says_so(page: str, doubt: str) -> None:
    warnings = " ".join(read(page, uri="https://example.org/blog/post").warnings)
    assert doubt in warnings
    assert bool(doubt) is ("fetched" in warnings or "password" in warnings)
