"""Web sources of the tests of `knowledge sync`: pages, sitemaps, and what became of them."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.sources.web_site import Handler, Line, Site, answer

DOORS = b"<html><title>Doors</title><body><h1>Doors</h1><p>Each door shall close within four seconds.</p></body></html>"
ROPES = b"<html><title>Ropes</title><body><h1>Ropes</h1><p>Each rope shall be greased once a year.</p></body></html>"


def url(site: Site, path: str) -> str:
    """Return an address of the site."""
    return f"https://127.0.0.1:{site.port}{path}"


def sitemap(site: Site, *paths: str, kind: str = "urlset") -> Handler:
    """Answer with a sitemap of some pages, or an index of some sitemaps."""
    tag = "url" if kind == "urlset" else "sitemap"
    entries = "".join(f"<{tag}><loc>{url(site, path) if path[0] == '/' else path}</loc></{tag}>" for path in paths)
    text = f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'
    return answer(text.encode(), kind="application/xml")


def conditional(site: Site, body: bytes, etag: str) -> Handler:
    """Answer with a page, or that it is what the asker has."""

    def handle(line: Line) -> None:
        asked = site.received[-1].headers.get("if-none-match")
        (answer(b"", 304, kind=None) if asked == etag else answer(body, ETag=etag))(line)

    return handle


def of(done: Finished, name: str) -> dict[str, Any]:
    """Read what `sync --json` says of one source."""
    return next(each for each in json.loads(done.out)["sources"] if each["name"] == name)


def held(knowledge: Command) -> dict[str, str]:
    """Map the places of all documents to their ids."""
    documents = json.loads(knowledge("documents", "list", "--json").out)["documents"]
    return {each["source_path"]: each["document_id"] for each in documents}
