"""Sitemaps and answers to PROPFIND are read whole, in the forms that servers give them; what is none is refused."""

from __future__ import annotations

import gzip

import pytest

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.synced.listing import list_in_child
from tests.readers.in_process import InProcessSandbox

_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def entries(function: str, body: bytes) -> list[dict[str, str]]:
    return list_in_child(InProcessSandbox(), function, body, "https://example.org/list")


def sitemap_of(*locations: str, root: str = "urlset", tag: str = "url") -> bytes:
    listed = "".join(f"<{tag}><loc>{each}</loc><lastmod>2026-01-01</lastmod></{tag}>" for each in locations)
    return f'<?xml version="1.0"?><!-- made --><{root} xmlns="{_SITEMAP}">{listed}</{root}>'.encode()


def response(href: str, *properties: str) -> str:
    return f"<d:response><d:href>{href}</d:href>{''.join(properties)}</d:response>"


def properties(inside: str, status: str = "<d:status>HTTP/1.1 200 OK</d:status>") -> str:
    return f"<d:propstat><d:prop>{inside}</d:prop>{status}</d:propstat>"


def multistatus(*responses: str) -> bytes:
    return f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{"".join(responses)}</d:multistatus>'.encode()


def test_a_sitemap_gives_its_pages_and_an_index_its_sitemaps() -> None:
    pages = ["https://example.org/a", "https://example.org/b"]
    assert entries("sitemap", sitemap_of(*pages)) == [{"kind": "url", "loc": page} for page in pages]
    index = sitemap_of(" https://example.org/1.xml\n", root="sitemapindex", tag="sitemap")
    assert entries("sitemap", index) == [{"kind": "sitemap", "loc": "https://example.org/1.xml"}]


def test_a_packed_sitemap_of_thousands_of_pages_is_whole() -> None:
    pages = [f"https://example.org/{number}" for number in range(2_500)]
    assert [each["loc"] for each in entries("sitemap", gzip.compress(sitemap_of(*pages)))] == pages


def test_entries_without_an_address_are_left_out() -> None:
    assert entries("sitemap", sitemap_of("", "  ", "https://example.org/a")) == [
        {"kind": "url", "loc": "https://example.org/a"}
    ]
    other = sitemap_of("https://example.org/a").replace(b"<url>", b"<image>").replace(b"</url>", b"</image>")
    assert entries("sitemap", other) == []


@pytest.mark.parametrize(
    ("function", "body", "expected"),
    [
        ("sitemap", b"<html><body>Sign in</body></html>", "not a sitemap"),
        ("sitemap", b"<urlset", "not XML"),
        ("sitemap", b"\x1f\x8b broken", "not compressed as stated"),
        ("sitemap", gzip.compress(sitemap_of("https://example.org/a"))[:-9], "cut off"),
        ("sitemap", gzip.compress(b" " * (50 * 1024 * 1024 + 1), 1), "larger than a sitemap may be"),
        ("propfind_answer", b"<html/>", "not a WebDAV response"),
    ],
)
def test_what_is_no_list_is_refused_with_the_reason(function: str, body: bytes, expected: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        entries(function, body)
    assert expected in f"{caught.value.details}"
    assert "https://example.org/list" in caught.value.message


def test_webdav_tells_folders_and_files_with_their_tags() -> None:
    body = multistatus(
        response("/docs/", properties("<d:resourcetype><d:collection/></d:resourcetype>")),
        response("/docs/a.pdf", properties('<d:getetag>"one"</d:getetag><d:resourcetype/>')),
        response("/docs/b.pdf", properties("<d:getetag>two</d:getetag>", status="")),
        response("/docs/c.pdf", properties('<d:getetag>W/"three"</d:getetag>')),
        response("/docs/d.pdf", properties("<d:getetag>not a tag</d:getetag>")),
        response("  "),
    )
    assert [tuple(each.values()) for each in entries("propfind_answer", body)] == [
        ("/docs/", "yes", ""),
        ("/docs/a.pdf", "", '"one"'),
        ("/docs/b.pdf", "", '"two"'),
        ("/docs/c.pdf", "", 'W/"three"'),
        ("/docs/d.pdf", "", ""),
    ]


def test_properties_that_a_server_could_not_tell_count_for_nothing() -> None:
    missing = "<d:status>HTTP/1.1 404 Not Found</d:status>"
    body = multistatus(
        response(
            "/docs/a.pdf",
            properties('<d:getetag>"one"</d:getetag>'),
            properties("<d:resourcetype><d:collection/></d:resourcetype><d:getetag>two</d:getetag>", missing),
        )
    )
    assert entries("propfind_answer", body) == [{"href": "/docs/a.pdf", "folder": "", "etag": '"one"'}]
