"""Pages and sitemaps are kept in sync: what is unchanged is not fetched, a failure removes nothing."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path

import pytest

from knowledge_mcp.sources.synced import listing
from tests.cli.conftest import Command
from tests.cli.web_sources import DOORS, ROPES, conditional, held, of, sitemap, url
from tests.sources.web_site import Handler, Site, answer, redirect


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
    assert "There is no document at" in done.err
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
        (answer(b"nothing", 404), "There is no document at"),
        (answer(b"later", 503), "cannot deliver"),
        (answer(b"<html>hello</html>"), "not return a readable list"),
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
    assert "is not public" in knowledge("sync").err
    assert site.received == []
    assert "not https" in knowledge("sources", "add", "http://example.org/x").err


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
    assert of(first, "wiki")["left_out"] == [{"what": "listed pages that do not exist", "count": 1}]
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
    assert of(again, "wiki")["left_out"] == [{"what": "listed pages that do not exist", "count": 2}]
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
    assert "contains no document" in knowledge("sync").out


def test_pages_that_send_on_to_one_place_are_no_documents_and_overwrite_none(site: Site, knowledge: Command) -> None:
    site.handlers |= {
        "/sitemap.xml": sitemap(site, "/doors", "/ropes", "/old", "/signs"),
        "/doors": answer(DOORS),
        "/ropes": answer(ROPES),
        "/old": redirect("/doors", 301),
        "/signs": redirect("/new/signs"),
        "/new/signs": answer(DOORS.replace(b"door", b"sign")),
    }
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    first = of(knowledge("sync", "--json"), "wiki")
    assert first["left_out"] == [{"what": "pages that redirect to the same page as others", "count": 1}]
    stored = held(knowledge)
    assert set(stored) == {url(site, path) for path in ("/doors", "/ropes", "/signs")}
    site.handlers |= {"/sign-in": answer(b"<html><body><p>Sign in to read this page.</p></body></html>")}
    site.handlers |= dict.fromkeys(("/doors", "/ropes", "/signs"), redirect("/sign-in"))
    done = knowledge("sync")
    assert done.code == 1
    assert "It redirects to" in done.err
    assert held(knowledge) == stored
    assert "sign in" not in knowledge("documents", "show", stored[url(site, "/doors")], "--text").out.lower()


def test_a_page_that_asks_to_sign_in_keeps_its_document(site: Site, knowledge: Command) -> None:
    site.handlers["/doors"] = answer(DOORS)
    knowledge("sources", "add", url(site, "/doors"), "--name", "page")
    assert knowledge("sync").code == 0
    stored = held(knowledge)
    form = b"<html><form><input type=password></form><p>Sign in.</p></html>"
    site.handlers |= {"/doors": redirect("/login?next=/doors"), "/login": answer(form)}
    done = knowledge("sync")
    assert done.code == 3
    assert "a sign-in page" in f"{done.out}{done.err}".replace("\n", " ")
    assert held(knowledge) == stored


def test_a_sitemap_may_name_its_pages_by_http_or_by_their_paths(site: Site, knowledge: Command) -> None:
    site.handlers |= {
        "/sitemap.xml": sitemap(site, url(site, "/doors").replace("https:", "http:"), "ropes"),
        "/doors": answer(DOORS),
        "/ropes": answer(ROPES),
    }
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    assert knowledge("sync").code == 0
    assert set(held(knowledge)) == {url(site, "/doors"), url(site, "/ropes")}


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
    for handler, result in (
        (answer(bomb, kind="application/gzip"), "not return a readable list"),
        (sitemap(site, "/sitemap.xml", kind="sitemapindex"), "suddenly empty"),
    ):
        site.handlers["/sitemap.xml"] = handler
        done = knowledge("sync", "--json")
        assert done.code != 0
        assert result in done.err
        assert len(held(knowledge)) == 1


def test_a_full_disk_ends_the_sync_of_one_source_and_says_so(
    site: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.handlers |= {"/doors": answer(DOORS), "/ropes": answer(ROPES)}
    for name in ("doors", "ropes"):
        knowledge("sources", "add", url(site, f"/{name}"), "--name", name)
    write = Path.write_bytes

    def write_if_room(path: Path, content: bytes) -> int:
        if content == DOORS:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_if_room)
    done = knowledge("sync", "--json")
    assert done.code == 1
    assert "No space left on device" in of(done, "doors")["last_error"]
    assert of(done, "doors")["stale"]
    assert len(of(done, "ropes")["stored"]) == 1
    assert "TMPDIR" in done.err


def test_a_sitemap_that_does_not_end_is_refused_before_its_addresses_fill_the_memory(
    site: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_MOST_PLACES", 5)
    site.handlers["/sitemap.xml"] = sitemap(site, *(f"/more{n}.xml" for n in range(9)), kind="sitemapindex")
    for number in range(9):
        pages = (f"/page{number}", f"https://other.example.org/{number}")
        site.handlers[f"/more{number}.xml"] = sitemap(site, *pages)
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    assert "lists more than 5 addresses" in knowledge("sync").err
    assert len([each for each in site.paths if each.startswith("/more")]) == 3


def test_a_sitemap_of_endless_addresses_is_refused_however_few_there_are(
    site: Site, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_MOST_CHARACTERS", 20_000)
    site.handlers["/sitemap.xml"] = sitemap(site, *(f"/more{n}.xml" for n in range(9)), kind="sitemapindex")
    for number in range(9):
        site.handlers[f"/more{number}.xml"] = sitemap(site, f"https://other.example.org/{number}{'a' * 9_000}")
    knowledge("sources", "add", url(site, "/sitemap.xml"), "--name", "wiki")
    assert "lists addresses of more than 20,000 characters" in knowledge("sync").err
    assert len([each for each in site.paths if each.startswith("/more")]) == 3
