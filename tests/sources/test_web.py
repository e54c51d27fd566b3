"""Fetching from well-behaved sites: what is asked, what comes back, what errors mean."""

from __future__ import annotations

import email.utils
import gzip
import socket
import ssl
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from knowledge_mcp import __version__
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.sources.web.fetcher import WebFetcher, from_options
from knowledge_mcp.support.events import EVENT_FIELDS
from tests.sources.web_site import HOST, OTHER, Handler, Line, Names, World, answer, raw, redirect

PAGE = "<!doctype html><title>Brücken</title><p>Ein Satz.</p>".encode("latin-1")
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.requirement("D-REQ-2.2")
def test_a_page_comes_as_the_bytes_that_it_is(world: World) -> None:
    found = world.fetch("/bridges", answer(PAGE, kind="text/html"))
    assert found.content == PAGE
    assert (found.media_type, found.filename) == ("text/html", "bridges.html")
    assert found.url == world.url("/bridges")


FORM = b"<html><form action=x><input name=u><input type='password' name=p></form></html>"


@pytest.mark.parametrize(
    ("leads_to", "page"),
    [
        ("/login.action?os_destination=%2Fpages%2Fdoors", FORM),
        ("/users/sign_in", FORM),
        ("/auth/realms/x?redirect_uri=https%3A%2F%2Fsite.example.org%2Fpages%2Fdoors", FORM),
        ("/sso?RelayState=%252Fpages%252Fdoors", b"<html><body><script>go()</script></body></html>"),
    ],
)
def test_a_page_to_sign_in_is_no_document(world: World, leads_to: str, page: bytes) -> None:
    world.site.handlers |= {"/pages/doors": redirect(leads_to), leads_to.partition("?")[0]: answer(page)}
    with pytest.raises(AuthError, match=r"/pages/doors redirects to .*, a sign-in page") as refused:
        world.fetch("/pages/doors")
    assert "add the document as a file" in refused.value.suggestion


@pytest.mark.parametrize(
    ("asked", "leads_to", "page"),
    [
        ("/doors", "/en/doors", FORM),  # a form at the head of each page
        ("/login-guide", "/login-guide/", b"<html><p>How to sign in.</p></html>"),
        ("/doors", "/search?q=/doors", b"<html><p>The door shall close.</p></html>"),
        ("/users/sign_in", "/users/sign_in", FORM),  # whoever asks for it gets it
    ],
)
def test_other_pages_are_documents_although_they_mention_signing_in(
    world: World, asked: str, leads_to: str, page: bytes
) -> None:
    if asked != leads_to:
        world.site.handlers[asked] = redirect(leads_to)
    world.site.handlers[leads_to.partition("?")[0]] = answer(page)
    assert world.fetch(asked).content == page


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (PAGE, "text/html; charset=latin-1"),
        (PAGE.replace(b"<title>", b"<meta charset=utf-8><title>"), 'text/html;Charset="ISO-8859-1"'),
        ("Brücken €".encode("cp1252"), "text/plain; charset=iso-8859-1"),
        ("a;Brücken".encode("cp1252"), "text/csv; charset=windows-1252; header=absent"),
        ("# Brücken 橋①".encode("cp932", "ignore").replace(b"Br", "Brü".encode()), "text/markdown; charset=utf-8"),
        ("Brücken 橋①".encode(), "text/plain; charset=shift_jis"),
    ],
)
def test_the_encoding_that_a_header_names_is_the_one_of_the_text(world: World, sent: bytes, kind: str) -> None:
    found = world.fetch("/bridges", answer(sent, kind=kind))
    assert "Brü" in found.content.decode("utf-8", "replace")


@pytest.mark.parametrize("said", ["text/html", "text/plain", "text/csv; charset=utf-8"])
def test_a_pdf_that_is_called_text_is_one(world: World, said: str) -> None:
    found = world.fetch("/report", answer(PDF, kind=said))
    assert (found.media_type, found.filename, found.content) == ("application/pdf", "report.pdf", PDF)


def test_a_site_is_told_who_asks_and_nothing_else(world: World) -> None:
    world.site.handlers["/a%20b/%C3%BC"] = answer(PAGE)
    found = world.fetch("/a b/ü?q=ä&r=%20#part")
    asked = world.site.received[-1]
    assert asked.path == "/a%20b/%C3%BC?q=%C3%A4&r=%20"
    assert found.url.endswith(asked.path)
    assert asked.sni == HOST
    assert asked.headers["host"] == f"{HOST}:{world.site.port}"
    assert asked.headers["user-agent"].startswith(f"knowledge-mcp/{__version__} (+")
    assert set(asked.headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


def _in_chunks(*parts: bytes) -> Handler:
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts)
    return raw(CHUNKED + chunks + b"0\r\nTrailer: x\r\n\r\n")


def _until_the_end(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE)
    line.say_goodbye()


HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE)


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(answer(gzip.compress(PAGE), Content_Encoding="gzip"), id="gzip"),
        pytest.param(
            answer(gzip.compress(PAGE[:9]) + gzip.compress(PAGE[9:]) + b"\0\0", Content_Encoding="x-gzip"),
            id="gzip in two parts, padded",
        ),
        pytest.param(answer(zlib.compress(PAGE), Content_Encoding="deflate"), id="deflate"),
        pytest.param(answer(zlib.compress(PAGE)[2:-4], Content_Encoding="Deflate"), id="bare deflate"),
        pytest.param(answer(PAGE, Content_Encoding="identity"), id="identity"),
        pytest.param(_in_chunks(PAGE[:1], PAGE[1:30], PAGE[30:]), id="chunked"),
        pytest.param(raw(HINTS + HINTS + WHOLE), id="early hints"),
        pytest.param(_until_the_end, id="until the connection ends"),
    ],
)
def test_a_body_is_the_same_however_it_is_sent(world: World, handler: Handler) -> None:
    assert world.fetch("/page", handler).content == PAGE


@pytest.mark.requirement("D-REQ-2.5")
@pytest.mark.parametrize(
    ("path", "handler", "media_type", "filename"),
    [
        ("/", answer(PAGE), "text/html", f"{HOST}.html"),
        ("/report.pdf", answer(PDF, kind="application/pdf"), "application/pdf", "report.pdf"),
        ("/get?id=7", answer(PDF, kind="Application/PDF;x=y"), "application/pdf", "get.pdf"),
        ("/report.pdf", answer(PDF, kind="application/octet-stream"), "application/pdf", "report.pdf"),
        ("/get", answer(PDF, kind=None), "application/pdf", "get.pdf"),
        ("/notes.md", answer(b"# Notes", kind="text/plain"), "text/markdown", "notes.md"),
        ("/report.pdf", answer(PDF, kind="text/plain"), "application/pdf", "report.pdf"),
        ("/list.aspx", answer(b"a,b", kind="text/csv"), "text/csv", "list.aspx.csv"),
        ("/api/7", answer(b"{}", kind="application/ld+json"), "application/json", "7.json"),
        ("/feed", answer(b"<rss/>", kind="application/rss+xml"), "application/xml", "feed.xml"),
        (
            "/dl/1",
            answer(
                PDF, kind="application/pdf", Content_Disposition="attachment; filename*=UTF-8''Pr%C3%BCfung%201.pdf"
            ),
            "application/pdf",
            "Prüfung 1.pdf",
        ),
    ],
)
def test_a_document_has_the_kind_and_the_name_that_the_server_gives_it(
    world: World, path: str, handler: Handler, media_type: str, filename: str
) -> None:
    found = world.fetch(path, handler)
    assert (found.media_type, found.filename) == (media_type, filename)


@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize("kind", ["video/mp4", "application/x-msdownload", "image/svg+xml", "application/octet-stream"])
def test_a_kind_that_cannot_be_read_is_refused_by_its_name(world: World, kind: str) -> None:
    with pytest.raises(InvalidInputError, match=kind.replace("+", r"\+")):
        world.fetch("/thing", answer(b"\x7fELF\0\0", kind=kind))


@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, NotFoundError),
        (410, NotFoundError),
        (401, AuthError),
        (403, AuthError),
        (408, TimedOutError),
        (429, RateLimitedError),
        (500, ConnectionFailedError),
        (503, ConnectionFailedError),
        (418, InvalidInputError),
        (204, InvalidInputError),
        (206, InvalidInputError),
        (302, InvalidInputError),
        (304, InvalidInputError),
    ],
)
def test_a_status_has_its_error(world: World, status: int, error: type[KnowledgeError]) -> None:
    with pytest.raises(KnowledgeError) as caught:
        world.fetch("/gone?key=secret", answer(b"" if status in {204, 304} else PAGE, status))
    assert type(caught.value) is error
    assert "secret" not in f"{caught.value.message} {caught.value.details}"


@pytest.mark.parametrize(
    ("write", "low", "high"),
    [
        (lambda: "7", 7.0, 7.0),
        (lambda: email.utils.formatdate(time.time() + 100, usegmt=True), 60.0, 101.0),
        (lambda: email.utils.formatdate(time.time() - 100, usegmt=True), 0.0, 0.0),
    ],
    ids=["seconds", "a moment to come", "a moment gone"],
)
def test_a_site_that_asks_to_wait_says_how_long(
    world: World, write: Callable[[], str], low: float, high: float
) -> None:
    said = write()
    with pytest.raises(RateLimitedError) as caught:
        world.fetch("/busy", answer(status=429, Retry_After=said))
    assert caught.value.retry_after is not None
    assert low <= caught.value.retry_after <= high


@pytest.mark.parametrize("said", ["soon", "nan", "inf", "Mon, 99 Foo 2020"])
def test_a_wait_that_cannot_be_read_is_not_reported(world: World, said: str) -> None:
    with pytest.raises(RateLimitedError) as caught:
        world.fetch("/busy", answer(status=429, Retry_After=said))
    assert caught.value.retry_after is None


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_with_each_host_resolved_once(world: World, status: int) -> None:
    names = Names({HOST: [["127.0.0.1"]], OTHER: [["127.0.0.1"]]})
    world.site.handlers |= {
        "/1": redirect("2/./x?y#part", status),
        "/2/x": redirect(f"//{OTHER}:{world.site.port}/3", status),
        "/3": redirect(world.url("/4"), status),
        "/4": redirect("/%C3%A4"),
        "/%C3%A4": redirect(world.url("/ü", OTHER)),
        "/%C3%BC": answer(PAGE),
    }
    found = world.fetcher(names=names).fetch(world.url("/1"))
    assert found.url == world.url("/%C3%BC", OTHER)
    assert world.site.paths == ["/1", "/2/x?y", "/3", "/4", "/%C3%A4", "/%C3%BC"]
    assert sorted(names.asked) == [OTHER, HOST]


def test_cookies_are_not_kept_from_one_answer_to_the_next(world: World) -> None:
    world.site.handlers |= {
        "/1": answer(status=302, Location="/2", Set_Cookie="session=1; Path=/"),
        "/2": answer(PAGE),
    }
    world.fetch("/1")
    assert all("cookie" not in one.headers for one in world.site.received)


def test_nobody_resolves_a_name_but_the_resolver(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the system was asked for a name")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "create_connection"):
        monkeypatch.setattr(socket, name, asked)
    assert world.fetch("/page", answer(PAGE)).content == PAGE


def test_the_second_address_is_tried_where_the_first_does_not_answer(world: World) -> None:
    fetcher = world.fetcher(names=Names({HOST: [["::1", "127.0.0.2", "127.0.0.1"]]}))
    world.site.handlers["/page"] = answer(PAGE)
    assert fetcher.fetch(world.url("/page")).content == PAGE


def test_an_address_in_numbers_is_fetched_where_it_is_allowed(world: World) -> None:
    world.site.handlers["/page"] = answer(PAGE)
    fetcher = world.fetcher(names=Names({}), allowed=("127.0.0.1",))
    assert fetcher.fetch(world.url("/page", "127.0.0.1")).filename == "page.html"


def test_proxies_of_the_environment_are_not_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert world.fetch("/page", answer(PAGE)).content == PAGE


def test_one_fetcher_serves_many_threads_at_once(world: World) -> None:
    for number in range(24):
        world.site.handlers[f"/{number}"] = answer(b"<p>%d</p>" % number)
    fetcher = world.fetcher()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fetcher.fetch, [world.url(f"/{number}") for number in range(24)]))
    assert [one.content for one in found] == [b"<p>%d</p>" % number for number in range(24)]


def test_a_fetch_that_is_cancelled_ends_at_once(world: World) -> None:
    asked = iter([False] * 5)
    world.site.handlers["/robots.txt"] = _never
    began = time.monotonic()
    with pytest.raises(TimedOutError, match="cancelled"):
        world.fetcher(timeout=60.0).fetch(world.url("/page"), cancelled=lambda: next(asked, True))
    assert time.monotonic() - began < 30, "the fetch itself has sixty seconds"


def _never(line: Line) -> None:
    while True:
        line.pause(0.05)


def test_a_document_may_have_just_the_bytes_that_are_allowed(world: World) -> None:
    world.site.handlers["/page"] = answer(b"<" * 1000)
    assert len(world.fetcher(max_bytes=1000).fetch(world.url("/page")).content) == 1000
    with pytest.raises(InvalidInputError, match="999"):
        world.fetcher(max_bytes=999).fetch(world.url("/page"))


def test_a_refusal_is_logged_without_the_path_and_the_query(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidInputError):
        world.fetch("/hidden?key=secret", answer(PAGE, kind="video/mp4"))
    with pytest.raises(InvalidInputError):
        world.fetch("/hidden", answer(PAGE, 418))
    with pytest.raises(InvalidInputError):
        world.fetcher().fetch("https://user:secret@example.org/hidden")
    logged = [record.__dict__ for record in caplog.records]
    assert [one["msg"] for one in logged] == ["web_fetch_refused"] * 3
    assert "hidden" not in str([one[EVENT_FIELDS] for one in logged])
    assert "secret" not in str([one[EVENT_FIELDS] for one in logged])


def test_settings_without_checks_of_certificates_are_not_taken() -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    with pytest.raises(ConfigError, match="certificates"):
        WebFetcher(ssl_context=context)


@dataclass
class _Options:
    rag_fetch_max_bytes: int = 10
    rag_fetch_timeout: float = 0.5
    rag_fetch_allowed_hosts: tuple[str, ...] = ("127.0.0.1",)


def test_a_fetcher_of_the_settings_trusts_what_the_system_trusts(world: World) -> None:
    world.site.handlers["/page"] = answer(PAGE)
    with pytest.raises(ConnectionFailedError, match="certificate") as caught:
        from_options(_Options()).fetch(world.url("/page", "127.0.0.1"))
    assert not caught.value.recoverable
    assert world.site.received == []
    with pytest.raises(InvalidInputError, match="not public"):
        from_options(_Options(rag_fetch_allowed_hosts=())).fetch(world.url("/page", "127.0.0.1"))
