"""Folders of WebDAV servers are kept in sync: what is unchanged is not fetched, a failure removes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from knowledge_mcp.sources.synced import listing
from tests.cli.conftest import Command
from tests.cli.web_sources import DOORS, ROPES, held, of
from tests.servers.webdav_server import WebDavServer
from tests.sources.web_site import Authority, Handler, Line, Site, answer, redirect


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
    assert "is already registered as 'specs'" in again.err, "a slash makes it no other folder"
    done = knowledge("sync", "--json")
    assert "Reading röpes #1.md..." in done.err, "a name is shown as people write it"
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
    assert "cannot deliver" in knowledge("sync").err
    server.failing.clear()
    monkeypatch.setenv("SOURCE_LOGINS", f"{server.place}=reader:wrong")
    refused = knowledge("sync")
    assert "refused the login" in refused.err
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
    assert "does not support WebDAV" in done.err


def test_what_was_not_taken_is_reported_with_the_next_step_and_counted_wherever_the_source_is(
    folder: Site, knowledge: Command
) -> None:
    folder.handlers["/docs/"] = dav(("/docs/", ""), ("/docs/doors.html", '"1"'), ("/docs/lines.html", '"1"'))
    folder.handlers["/docs/lines.html"] = answer(b"", 401)
    done = knowledge("sync")
    assert done.code == 1
    assert "lines.html is not publicly accessible" in done.err
    assert "Next: " in done.err
    assert "1 not ingested" in knowledge("sources", "list").out
    assert "1 not ingested" in knowledge("stats").out
    assert "1 not ingested" in knowledge("doctor").out


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


def test_entries_that_lead_out_of_the_folder_are_reported_and_not_asked_for(folder: Site, knowledge: Command) -> None:
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
    assert done["left_out"] == [{"what": "entries outside of the folder", "count": len(out)}]
    assert folder.paths == ["/docs/"]


def test_a_server_that_calls_its_folder_otherwise_is_refused_with_that_name(folder: Site, knowledge: Command) -> None:
    folder.handlers["/docs/"] = dav(("/backend/docs/", ""), ("/backend/docs/doors.html", '"1"'))
    refused = knowledge("sync")
    assert "lists nothing below itself, only /backend/docs/" in refused.err
    assert len(held(knowledge)) == 2


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (dav(before='<!DOCTYPE m [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'), "suddenly empty"),
        (dav(("/docs/&x;", '"1"'), before="<!DOCTYPE m [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"), "suddenly empty"),
        (answer(b'<multistatus xmlns="DAV:"><response>', 207), "not return a readable list"),
        (answer(b"<html></html>", 200), "does not support WebDAV"),
        (redirect("https://10.0.0.1/docs/"), "is not public"),
        (redirect("http://127.0.0.1/docs/"), "not https"),
        (answer(b"x" * 3_000_000, 207), "more than 2000000 bytes"),
    ],
)
def test_a_list_that_means_harm_removes_nothing(
    folder: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch, handler: Handler, message: str
) -> None:
    monkeypatch.setenv("RAG_FETCH_MAX_BYTES", "2000000")
    folder.handlers["/docs/"] = handler
    refused = knowledge("sync")
    assert message in refused.err
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
    assert "did not deliver its document" in knowledge("sync").err
    assert len(held(knowledge)) == 2


def test_a_server_whose_list_does_not_end_is_refused(
    served: tuple[WebDavServer, Path], knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = served
    monkeypatch.setattr(listing, "_MOST_PLACES", 1)
    knowledge("sources", "add", f"davs://{server.place}/docs/", "--name", "specs")
    assert "lists more than 1 addresses" in knowledge("sync").err
