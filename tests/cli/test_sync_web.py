"""Pages, sitemaps and WebDAV folders are kept in sync: what is unchanged is not fetched, a failure removes nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.servers.webdav_server import WebDavServer
from tests.sources.web_site import Authority, Handler, Line, Site, answer, redirect

DOORS = b"<html><title>Doors</title><body><h1>Doors</h1><p>Each door shall close within four seconds.</p></body></html>"
ROPES = b"<html><title>Ropes</title><body><h1>Ropes</h1><p>Each rope shall be greased once a year.</p></body></html>"


@pytest.fixture
def site(home: Path, real_ingest: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Serve an empty site whose authority the commands trust."""
    authority = Authority(home)
    (home / "authority.pem").write_text(authority.pem())
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "authority.pem"))
    monkeypatch.setenv("RAG_FETCH_ALLOWED_HOSTS", "127.0.0.1")
    with Site(authority.server("127.0.0.1"), {}) as made:
        yield made


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


def test_a_page_that_did_not_change_is_not_sent_again(site: Site, knowledge: Command) -> None:
    site.handlers["/doors"] = conditional(site, DOORS, '"one"')
    assert knowledge("sources", "add", url(site, "/doors"), "--name", "doors").code == 0
    assert of(knowledge("sync", "--json"), "doors")["stored"]
    assert of(knowledge("sync", "--json"), "doors")["unchanged"] == 1
    assert site.received[-1].headers["if-none-match"] == '"one"'
    site.handlers["/doors"] = conditional(site, ROPES, '"two"')
    assert of(knowledge("sync", "--json"), "doors")["passages_embedded"] == 1
    site.handlers["/doors"] = answer(b"gone", 404)
    gone = knowledge("sync", "--json")
    assert gone.code != 0
    assert "suddenly empty" in of(gone, "doors")["last_error"]
    assert set(held(knowledge)) == {url(site, "/doors")}


def test_a_page_that_is_gone_keeps_its_document_until_that_is_meant(site: Site, knowledge: Command) -> None:
    knowledge("sources", "add", url(site, "/doors"), "--name", "doors")
    done = knowledge("sync")
    assert done.code != 0
    assert "There is nothing at" in done.err
    site.handlers["/doors"] = answer(DOORS)
    assert knowledge("sync").code == 0
    site.handlers["/doors"] = answer(b"gone", 410)
    done = knowledge("sync")
    assert done.code != 0
    assert "suddenly empty" in done.err
    assert "--allow-empty" in done.err
    assert set(held(knowledge)) == {url(site, "/doors")}
    done = knowledge("sync", "--allow-empty")
    assert done.code == 0, done.err
    assert held(knowledge) == {}


def test_a_page_is_asked_by_its_date_where_it_has_no_tag(site: Site, knowledge: Command) -> None:
    site.handlers["/doors"] = answer(DOORS, Last_Modified="Tue, 03 Nov 2026 10:00:00 GMT")
    knowledge("sources", "add", url(site, "/doors"), "--name", "doors")
    knowledge("sync")
    knowledge("sync")
    assert site.received[-1].headers["if-modified-since"] == "Tue, 03 Nov 2026 10:00:00 GMT"


def test_a_sitemap_is_the_truth_of_its_pages(site: Site, knowledge: Command) -> None:
    site.handlers |= {
        "/sitemap.xml": sitemap(site, "/more.xml", kind="sitemapindex"),
        "/more.xml": sitemap(site, "/doors", "/ropes", "https://other.example.org/x"),
        "/doors": conditional(site, DOORS, '"d"'),
        "/ropes": conditional(site, ROPES, '"r"'),
    }
    assert "the sitemap" in knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki").out
    first = of(knowledge("sync", "--json"), "wiki")
    assert len(first["stored"]) == 2
    assert first["left_out"] == [{"what": "addresses of other sites", "count": 1}]
    ids = held(knowledge)
    site.handlers |= {"/more.xml": sitemap(site, "/gates"), "/gates": conditional(site, DOORS, '"g"')}
    second = of(knowledge("sync", "--json"), "wiki")
    assert [each["source_path"] for each in second["removed"]] == [url(site, "/ropes")]
    assert held(knowledge) == {url(site, "/gates"): ids[url(site, "/doors")]}, "a page that moved keeps its document"
    assert second["passages_embedded"] == 0


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (answer(b"nothing", 404), "There is nothing at"),
        (answer(b"later", 503), "cannot give"),
        (answer(b"<html>hello</html>"), "no list that can be read"),
        (answer(b'<!DOCTYPE a [<!ENTITY b "c">]><urlset>&b;</urlset>'), "suddenly empty"),
        (answer(b"<urlset></urlset>", kind="application/xml"), "suddenly empty"),
    ],
)
def test_a_sitemap_that_fails_or_is_empty_removes_nothing(
    site: Site, knowledge: Command, broken: Handler, said: str
) -> None:
    site.handlers |= {"/sitemap.xml": sitemap(site, "/doors"), "/doors": answer(DOORS)}
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    knowledge("sync")
    site.handlers["/sitemap.xml"] = broken
    done = knowledge("sync", "--json")
    assert done.code != 0
    assert said in of(done, "wiki")["last_error"]
    assert set(held(knowledge)) == {url(site, "/doors")}


def test_while_a_page_cannot_be_had_no_document_is_removed(site: Site, knowledge: Command) -> None:
    site.handlers |= {
        "/sitemap.xml": sitemap(site, "/doors", "/ropes"),
        "/doors": answer(DOORS),
        "/ropes": answer(ROPES),
    }
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    knowledge("sync")
    site.handlers |= {"/sitemap.xml": sitemap(site, "/gates", "/ropes"), "/gates": answer(b"later", 503)}
    done = knowledge("sync", "--json")
    assert done.code == 1
    assert [each["source_path"] for each in of(done, "wiki")["kept"]] == [url(site, "/doors")]
    assert of(done, "wiki")["stale"] is True
    site.handlers["/gates"] = answer(DOORS)
    assert knowledge("sync").code == 0
    assert set(held(knowledge)) == {url(site, "/gates"), url(site, "/ropes")}


def test_robots_are_respected_and_a_site_that_asks_to_wait_is_left_alone(site: Site, knowledge: Command) -> None:
    site.handlers |= {
        "/robots.txt": answer(b"User-agent: *\nDisallow: /private\n", kind="text/plain"),
        "/sitemap.xml": sitemap(site, "/private/doors", "/busy", "/ropes"),
        "/private/doors": answer(DOORS),
        "/busy": answer(b"wait", 429),
        "/ropes": answer(ROPES),
    }
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    skipped = of(knowledge("sync", "--json"), "wiki")["skipped"]
    assert "robots.txt disallows" in skipped[0]["message"]
    assert site.paths == ["/sitemap.xml", "/busy"], "neither what is disallowed nor what comes after 429 is asked for"


def test_a_private_address_is_not_synced_unless_it_is_allowed(
    site: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAG_FETCH_ALLOWED_HOSTS")
    knowledge("sources", "add", url(site, "/doors"), "--name", "doors")
    assert "not a public place" in knowledge("sync").err
    assert site.received == []
    assert "not https" in knowledge("sources", "add", "http://example.org/x").err


@pytest.fixture
def served(home: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[WebDavServer, Path]]:
    """Serve a folder by WebDAV, with a login that is in the settings."""
    folder = home / "served"
    (folder / "deep er").mkdir(parents=True)
    (folder / "doors.md").write_text("# Doors\n\nEach door shall close within four seconds.\n")
    (folder / "deep er" / "röpes #1.md").write_text("# Ropes\n\nEach rope shall be greased once a year.\n")
    (folder / ".hidden.md").write_text("# Hidden\n\nNobody shall read this.\n")
    (folder / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    (folder / "tool.bin").write_bytes(b"\x00")
    authority = Authority(home)
    (home / "authority.pem").write_text(authority.pem())
    monkeypatch.delenv("RAG_FETCH_ALLOWED_HOSTS")
    with WebDavServer(folder, authority.server("127.0.0.1")) as server:
        monkeypatch.setenv("SOURCE_LOGINS", f"elsewhere.example.org=token,{server.login}")
        yield server, folder


@pytest.mark.slow
def test_a_webdav_folder_is_the_truth_of_its_files(served: tuple[WebDavServer, Path], knowledge: Command) -> None:
    server, folder = served
    added = knowledge("sources", "add", f"davs://{server.place}/docs", "--name", "specs")
    assert "the WebDAV folder" in added.out
    again = knowledge("sources", "add", f"davs://{server.place}/docs/", "--name", "again")
    assert "is registered already, as 'specs'" in again.err, "a slash makes it no other folder"
    done = knowledge("sync", "--json")
    assert "Reading röpes #1.md..." in done.err, "a name is told as people write it"
    first = of(done, "specs")
    assert len(first["stored"]) == 2
    assert [each["reason"] for each in first["skipped"]] == ["unsupported"]
    assert {each["what"] for each in first["left_out"]} == {"hidden files and folders", ".bin files"}
    (folder / "old.doc").unlink()
    server.asked.clear()
    (folder / ".hidden.md").unlink()
    again = of(knowledge("sync", "--json"), "specs")
    assert again["unchanged"] == 2
    assert again["left_out"] == [{"what": ".bin files", "count": 1}]
    assert server.fetched() == [], "a file whose tag is the same is not asked for"
    ids = held(knowledge)
    (folder / "deep er" / "röpes #1.md").rename(folder / "lines.md")
    # of another size: the server's tags are made of that and of the second
    (folder / "doors.md").write_text("# Doors\n\nEach door shall close within ten seconds.\n")
    done = knowledge("sync", "--json")
    assert done.code == 0
    root = f"https://{server.place}/docs/"
    moved = next(value for place, value in ids.items() if "deep%20er" in place)
    assert held(knowledge) == {f"{root}doors.md": ids[f"{root}doors.md"], f"{root}lines.md": moved}
    assert "four seconds" not in knowledge("documents", "show", ids[f"{root}doors.md"], "--text").out
    (folder / "lines.md").unlink()
    assert len(of(knowledge("sync", "--json"), "specs")["removed"]) == 1


def test_a_webdav_server_that_fails_or_refuses_removes_nothing(
    served: tuple[WebDavServer, Path], knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, folder = served
    (folder / "old.doc").unlink()
    knowledge("sources", "add", f"davs://{server.place}/docs/", "--name", "specs")
    knowledge("sync")
    server.failing.add("/docs/deep er/")
    assert "cannot give" in knowledge("sync").err
    server.failing.clear()
    monkeypatch.setenv("SOURCE_LOGINS", f"{server.place}=reader:wrong")
    refused = knowledge("sync")
    assert "refuses the login" in refused.err
    assert "wrong" not in refused.err
    monkeypatch.setenv("SOURCE_LOGINS", "reader:secret")
    malformed = knowledge("sync")
    assert "Entry 1 of SOURCE_LOGINS" in malformed.err
    assert "secret" not in malformed.err
    assert len(held(knowledge)) == 2


def test_no_login_stands_in_the_list(served: tuple[WebDavServer, Path], knowledge: Command, home: Path) -> None:
    server, _ = served
    knowledge("sources", "add", f"davs://{server.place}/docs", "--name", "specs")
    knowledge("sync")
    kept = [path.read_bytes() for path in (home / ".local").rglob("*") if path.is_file() and "sources" in path.parts]
    assert kept
    assert not any(b"se,cret%" in each or b"reader" in each for each in kept)


def test_a_page_that_its_sitemap_still_names_is_gone_once_two_syncs_found_nothing(
    site: Site, knowledge: Command
) -> None:
    site.handlers |= {
        "/sitemap.xml": sitemap(site, "/doors", "/ropes", "/never"),
        "/doors": conditional(site, DOORS, '"d"'),
        "/ropes": conditional(site, ROPES, '"r"'),
    }
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    first = knowledge("sync", "--json")
    assert first.code == 0, "a page that never was there is no failure of ours"
    assert of(first, "wiki")["left_out"] == [{"what": "pages that are named and not there", "count": 1}]
    ropes = site.handlers.pop("/ropes")
    missed = knowledge("sync")
    assert missed.code == 1
    assert "/ropes" in missed.err
    site.handlers["/ropes"] = ropes
    assert knowledge("sync").code == 0
    assert len(held(knowledge)) == 2
    del site.handlers["/ropes"]
    assert knowledge("sync").code == 1, "it was there in between"
    again = knowledge("sync", "--json")
    assert again.code == 0
    assert [each["source_path"] for each in of(again, "wiki")["removed"]] == [url(site, "/ropes")]
    assert of(again, "wiki")["left_out"] == [{"what": "pages that are named and not there", "count": 2}]
    assert knowledge("sync").code == 0
    del site.handlers["/doors"]
    assert knowledge("sync").code == 1
    emptied = knowledge("sync")
    assert emptied.code == 1
    assert "suddenly empty" in emptied.err
    assert set(held(knowledge)) == {url(site, "/doors")}


def test_a_sitemap_none_of_whose_pages_is_there_is_no_empty_success(site: Site, knowledge: Command) -> None:
    site.handlers["/sitemap.xml"] = sitemap(site, "/a", "/b")
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    for done in (knowledge("sync"), knowledge("sync")):
        assert done.code == 1
        assert "None of the 2 pages" in done.err
        assert "/a" in done.err
    assert "None of the 2 pages" in knowledge("doctor").out.replace("\n", " ")
    site.handlers["/sitemap.xml"] = sitemap(site)
    assert "holds no document" in knowledge("sync").out


@pytest.mark.parametrize("status", [401, 403])
def test_a_webdav_folder_that_wants_a_login_says_where_it_goes(site: Site, knowledge: Command, status: int) -> None:
    site.handlers["/docs/"] = answer(b"", status)
    knowledge("sources", "add", f"davs://127.0.0.1:{site.port}/docs", "--name", "specs")
    done = knowledge("sync")
    assert done.code != 0
    assert f"Set SOURCE_LOGINS=127.0.0.1:{site.port}=USER:PASSWORD" in done.err


@pytest.mark.parametrize("status", [200, 405, 501])
def test_a_server_without_webdav_is_named_so(site: Site, knowledge: Command, status: int) -> None:
    site.handlers["/docs/"] = answer(b"", status)
    knowledge("sources", "add", f"davs://127.0.0.1:{site.port}/docs", "--name", "specs")
    done = knowledge("sync")
    assert done.code == 1
    assert "does not speak WebDAV" in done.err


def test_what_was_not_taken_is_told_with_the_next_step_and_counted_wherever_the_source_is(
    folder: Site, knowledge: Command
) -> None:
    folder.handlers["/docs/"] = dav(("/docs/", ""), ("/docs/doors.html", '"1"'), ("/docs/lines.html", '"1"'))
    folder.handlers["/docs/lines.html"] = answer(b"", 401)
    done = knowledge("sync")
    assert done.code == 1
    assert "lines.html is not open to everyone" in done.err
    assert "Next: " in done.err
    assert "1 not taken" in knowledge("sources", "list").out
    assert "1 not taken" in knowledge("stats").out
    assert "1 not taken" in knowledge("doctor").out


# ---- servers that mean harm or are mistaken: a sync ends, says what it did not take, and removes nothing


def dav(*entries: tuple[str, str], before: str = "") -> Handler:
    """Answer with a folder's list: addresses, and the entity tag of each; none for folders."""
    listed = "".join(
        f"<response><href>{escape(href)}</href><propstat><prop>"
        f"{f'<getetag>{escape(tag)}</getetag><resourcetype/>' if tag else '<resourcetype><collection/></resourcetype>'}"
        "</prop><status>HTTP/1.1 200 OK</status></propstat></response>"
        for href, tag in entries
    )
    body = f'<?xml version="1.0"?>{before}<multistatus xmlns="DAV:">{listed}</multistatus>'
    return answer(body.encode(), 207, "application/xml")


@pytest.fixture
def folder(site: Site, knowledge: Command) -> Site:
    """Register a folder of two documents, and sync it."""
    site.handlers["/docs/"] = dav(("/docs/", ""), ("/docs/doors.html", '"1"'), ("/docs/ropes.html", '"1"'))
    site.handlers["/docs/doors.html"] = answer(DOORS, ETag='"1"')
    site.handlers["/docs/ropes.html"] = answer(ROPES, ETag='"1"')
    knowledge("sources", "add", f"davs://127.0.0.1:{site.port}/docs", "--name", "specs")
    assert knowledge("sync").code == 0
    assert len(held(knowledge)) == 2
    site.received.clear()
    return site


def test_entries_that_lead_out_of_the_folder_are_told_and_not_asked_for(folder: Site, knowledge: Command) -> None:
    out = [
        "/secret.md",
        "/docs/../secret.md",
        "/docs/%2e%2e/secret.md",
        "/docs/..%2fsecret.md",
        "//example.org/docs/a.md",
    ]
    inside = [(f"http://127.0.0.1/docs/{name}.html", '"1"') for name in ("doors", "ropes")]
    folder.handlers["/docs/"] = dav(("/docs/", ""), *inside, *((href, '"1"') for href in out))
    done = of(knowledge("sync", "--json"), "specs")
    assert (done["unchanged"], done["removed"], done["last_error"]) == (2, [], "")
    assert done["left_out"] == [{"what": "entries that lie outside of the folder", "count": len(out)}]
    assert folder.paths == ["/docs/"]


def test_a_server_that_calls_its_folder_otherwise_is_refused_with_that_name(folder: Site, knowledge: Command) -> None:
    folder.handlers["/docs/"] = dav(("/backend/docs/", ""), ("/backend/docs/doors.html", '"1"'))
    refused = knowledge("sync")
    assert "lists nothing below itself, but /backend/docs/" in refused.err
    assert len(held(knowledge)) == 2


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (dav(before='<!DOCTYPE m [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'), "suddenly empty"),
        (dav(("/docs/&x;", '"1"'), before="<!DOCTYPE m [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"), "suddenly empty"),
        (answer(b'<multistatus xmlns="DAV:"><response>', 207), "gives no list"),
        (answer(b"<html></html>", 200), "does not speak WebDAV"),
        (redirect("https://10.0.0.1/docs/"), "not a public place"),
        (redirect("http://127.0.0.1/docs/"), "not https"),
        (answer(b"x" * 3_000_000, 207), "more than 2000000 bytes"),
    ],
)
def test_a_list_that_means_harm_removes_nothing(
    folder: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch, handler: Handler, told: str
) -> None:
    monkeypatch.setenv("RAG_FETCH_MAX_BYTES", "2000000")
    folder.handlers["/docs/"] = handler
    refused = knowledge("sync")
    assert told in refused.err
    assert refused.code != 0
    assert len(held(knowledge)) == 2


def test_a_document_is_taken_once_however_often_it_is_listed(folder: Site, knowledge: Command) -> None:
    often = [
        ("/docs/doors.html", 'W/"1"'),
        ("/docs/%64oors.html", "1"),
        ("doors.html", '"1"'),
    ]
    folder.handlers["/docs/"] = dav(("/docs/", ""), *often, ("/docs/ropes.html", "1"))
    done = of(knowledge("sync", "--json"), "specs")
    assert (done["unchanged"], done["stored"], done["removed"]) == (2, [], [])


@pytest.mark.slow
def test_a_server_that_hangs_is_given_up_after_three_documents(
    folder: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(line: Line) -> None:
        while True:
            line.pause(0.2)

    monkeypatch.setenv("RAG_FETCH_TIMEOUT", "1")
    names = [f"/docs/{number}.html" for number in range(20)]
    folder.handlers |= dict.fromkeys(names, hang)
    folder.handlers["/docs/"] = dav(("/docs/", ""), *((name, '"1"') for name in names))
    done = of(knowledge("sync", "--json"), "specs")
    assert len([path for path in folder.paths if path != "/docs/"]) == 3
    assert len(done["skipped"]) == 20
    assert (done["removed"], done["stale"], len(done["kept"])) == ([], True, 2)
    folder.handlers["/docs/"] = hang
    assert "did not give its document" in knowledge("sync").err
    assert len(held(knowledge)) == 2


@pytest.mark.slow
def test_a_sitemap_that_means_harm_ends_and_removes_nothing(site: Site, knowledge: Command) -> None:
    site.handlers["/doors"] = answer(DOORS)
    site.handlers["/sitemap.xml"] = sitemap(site, "/doors", "http://127.0.0.1/ropes", "https://example.org/x")
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "map")
    first = of(knowledge("sync", "--json"), "map")
    assert first["left_out"] == [{"what": "addresses of other sites", "count": 2}]
    bomb = gzip.compress(b"<urlset>" + b" " * 60_000_000 + b"</urlset>")
    lead_out = redirect("https://10.0.0.1/doors")
    site.handlers["/doors"] = lead_out
    kept = of(knowledge("sync", "--json"), "map")
    assert (kept["removed"], len(kept["skipped"])) == ([], 1)
    for handler, told in (
        (answer(bomb, kind="application/gzip"), "gives no list"),
        (sitemap(site, "/sitemap.xml", kind="sitemapindex"), "suddenly empty"),
    ):
        site.handlers["/sitemap.xml"] = handler
        done = knowledge("sync", "--json")
        assert done.code != 0
        assert told in done.err
        assert len(held(knowledge)) == 1
