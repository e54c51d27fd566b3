"""robots.txt: how its rules are read, and what a site's answer for it means (RFC 9309)."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError, KnowledgeError, TimedOutError
from knowledge_mcp.sources.web import robots
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.robots import Robots, Rules, parse_rules
from tests.sources.web_site import HOST, OTHER, Handler, Line, Names, World, answer, raw, redirect

PAGE = b"<!doctype html><p>A sentence.</p>"
NOBODY = b"User-agent: *\nDisallow: /\n"


@pytest.fixture
def world(opened: World) -> World:
    opened.forget()
    opened.site.handlers["/page"] = answer(PAGE)
    return opened


def _allows(text: str, path: str) -> bool:
    return parse_rules(text).disallowing(path) is None


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("user-AGENT : *  # all\n\tdisallow : /a # this\n", "/ab", False),
        ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", "/a", False),
        ("Disallow: /", "/a", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: other\nUser-agent: knowledge-mcp\nDisallow: /", "/a", False),
        ("User-agent: Knowledge-MCP/0.1\nDisallow: /", "/a", False),
        ("User-agent: knowledge\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\nUser-agent: knowledge-mcp\nDisallow: /b", "/a", True),
        ("User-agent: knowledge-mcp\nAllow: /\nUser-agent: *\nDisallow: /", "/a", True),
        ("User-agent: knowledge-mcp\nDisallow:\nUser-agent: *\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\nSitemap: https://x/y\nDisallow: /a", "/a", False),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: b\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf.pdf", False),
        ("User-agent: *\nDisallow: /*a*b$", "/aba", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: *\nDisallow: *secret", "/x/secret/y", False),
        ("User-agent: *\nDisallow: /*?", "/a", True),
        ("User-agent: *\nDisallow: /*?", "/a?b", False),
        ("User-agent: *\nDisallow: /ä", "/%c3%a4/x", False),
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("<!doctype html><p>User-agent: *</p>\nDisallow: /", "/a", True),
    ],
)
def test_rules_are_read_as_the_standard_has_them(text: str, path: str, *, allowed: bool) -> None:
    assert _allows(text, path) is allowed


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    rules = parse_rules("User-agent: *\nDisallow: /" + "a*" * 200 + "b$\n" * 500)
    began = time.monotonic()
    assert rules.disallowing("/" + "a" * 4000) is None
    assert time.monotonic() - began < 30, "no time where it is linear, days where it is not"


@given(st.text(max_size=300))
def test_rules_come_of_whatever_is_given(text: str) -> None:
    assert isinstance(parse_rules("User-agent: *\n" + text), Rules)


@given(st.text("ab*$", max_size=8), st.text("ab", max_size=8))
def test_a_pattern_fits_where_the_slow_way_says_so(pattern: str, path: str) -> None:
    def fits(pieces: str, rest: str) -> bool:
        if not pieces:
            return True
        if pieces == "$":
            return not rest
        if pieces[0] == "*":
            return any(fits(pieces[1:], rest[skip:]) for skip in range(len(rest) + 1))
        return bool(rest) and rest[0] == pieces[0] and fits(pieces[1:], rest[1:])

    ends = pattern.endswith("$")
    cleaned = pattern.replace("$", "") + ("$" if ends else "")
    assert _allows(f"User-agent: *\nDisallow: /{cleaned}", "/" + path) is not fits("/" + cleaned, "/" + path)


@pytest.mark.requirement("D-REQ-2.4")
def test_what_a_site_disallows_is_not_asked_for(world: World) -> None:
    world.site.handlers["/robots.txt"] = answer(NOBODY, kind="text/plain")
    with pytest.raises(InvalidInputError, match=r"robots\.txt disallows"):
        world.fetch("/page")
    assert world.site.paths == []


def test_rules_hold_for_where_a_redirect_leads(world: World) -> None:
    world.site.handlers |= {
        "/robots.txt": answer(b"User-agent: knowledge-mcp\nDisallow: /private", kind="text/plain"),
        "/start": redirect("/private/page"),
        "/private/page": answer(PAGE),
    }
    with pytest.raises(InvalidInputError, match=r"robots\.txt disallows"):
        world.fetch("/start")
    assert world.site.paths == ["/start"]


def test_rules_are_asked_for_once_and_again_after_some_minutes(world: World) -> None:
    now = [1000.0]
    robots = Robots(clock=lambda: now[0])
    asked: list[str] = []

    def read() -> str:
        asked.append("robots")
        return ""

    page, elsewhere = parse_address("https://example.org/page"), parse_address("https://example.org:8443/page")
    robots.check(page, read)
    now[0] += 299
    robots.check(parse_address("https://example.org/other"), read)
    assert len(asked) == 1
    robots.check(elsewhere, read)
    assert len(asked) == 2
    now[0] += 2
    robots.check(page, read)
    assert len(asked) == 3
    fetcher = world.fetcher()
    for _ in range(3):
        fetcher.fetch(world.url("/page"))
    assert [one.path for one in world.site.received] == ["/robots.txt", "/page", "/page", "/page"]


def test_rules_of_many_sites_are_forgotten_in_their_turn() -> None:
    robots = Robots(clock=lambda: 0.0)
    asked: list[int] = []

    def read(number: int) -> str:
        asked.append(number)
        return ""

    for number in (*range(300), 299, 0):
        robots.check(parse_address(f"https://s{number}.example.org/"), lambda number=number: read(number))
    assert asked == [*range(300), 0]


def test_robots_txt_itself_may_be_fetched_and_changes_no_rule(world: World) -> None:
    world.site.handlers["/robots.txt"] = answer(NOBODY, kind="text/plain")
    fetcher = world.fetcher()
    assert fetcher.fetch(world.url("/robots.txt")).content == NOBODY
    with pytest.raises(InvalidInputError, match=r"robots\.txt disallows"):
        fetcher.fetch(world.url("/page"))


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(answer(NOBODY, 404), id="none"),
        pytest.param(answer(NOBODY, 403), id="forbidden"),
        pytest.param(answer(NOBODY, 429), id="busy"),
        pytest.param(redirect("http://site.example.org/robots.txt"), id="sent on to http"),
        pytest.param(redirect("https://10.0.0.1/robots.txt"), id="sent on to a private place"),
        pytest.param(redirect("/robots.txt"), id="sent on without end"),
        pytest.param(answer(NOBODY, 302), id="sent on to nowhere"),
        pytest.param(answer(NOBODY, Content_Encoding="br"), id="packed as nobody asked"),
        pytest.param(answer(NOBODY, Content_Encoding="gzip"), id="not packed as it says"),
        pytest.param(answer(PAGE), id="a page"),
        pytest.param(answer(gzip.compress(bytes(20_000_000)), Content_Encoding="gzip"), id="a bomb"),
        pytest.param(answer(b"#" * 600_000 + b"\n" + NOBODY), id="rules after half a MiB"),
    ],
)
def test_a_robots_txt_that_says_nothing_forbids_nothing(world: World, handler: Handler) -> None:
    world.site.handlers["/robots.txt"] = handler
    assert world.fetch("/page").content == PAGE


def test_a_robots_txt_that_was_moved_is_followed_there(world: World) -> None:
    world.site.handlers |= {
        "/robots.txt": redirect(f"https://{OTHER}:{world.site.port}/rules.txt", 301),
        "/rules.txt": answer(gzip.compress(NOBODY), kind="text/plain", Content_Encoding="gzip"),
    }
    with pytest.raises(InvalidInputError, match=r"robots\.txt disallows"):
        world.fetch("/page")


def _drips(line: Line) -> None:
    while True:
        line.send(b"H")
        line.pause(0.02)


def _never_ends(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\n\r\n" + NOBODY)
    while True:
        line.send(b"#" * 4096)


@pytest.mark.parametrize("agent", ["a{}", "knowledge-mcp"])
def test_rules_are_kept_once_however_many_agents_they_are_said_to(agent: str) -> None:
    """Half a MiB of agents and rules took 4 GB: each rule was kept for each agent."""
    text = "".join(f"User-agent: {agent.format(number)}\n" for number in range(3_000))
    rules = "".join(f"Disallow: /{number % 10}\n" for number in range(3_000))
    tracemalloc.start()
    found = parse_rules(f"{text}{rules}User-agent: *\nDisallow: /z")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.rules) == (10 if agent == "knowledge-mcp" else 1)
    assert most < 4_000_000  # bytes; it took 72,000,000


def test_the_rules_of_many_names_of_a_site_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_MOST_RULES", 5)
    known, asked = Robots(), list[str]()

    def read(host: str) -> str:
        asked.append(host)
        return "User-agent: *\nDisallow: /x\nDisallow: /y"

    for host in ("a", "b", "c", "c", "b", "a"):
        known.check(parse_address(f"https://{host}.example.org/page"), lambda host=host: read(host))
    assert asked == ["a", "b", "c", "a"]  # of three sites two fit


@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize(
    ("handler", "error", "timeout"),
    [
        pytest.param(answer(b"", 500), ConnectionFailedError, 5.0, id="a fault"),
        pytest.param(answer(b"", 503), ConnectionFailedError, 5.0, id="out of order"),
        pytest.param(raw(b""), ConnectionFailedError, 5.0, id="a hang-up"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n#"), ConnectionFailedError, 5.0, id="cut off"),
        pytest.param(_drips, TimedOutError, 0.3, id="drips"),
        pytest.param(_never_ends, InvalidInputError, 5.0, id="never ends, and its beginning forbids"),
    ],
)
def test_a_robots_txt_that_cannot_be_had_forbids_everything_for_now(
    world: World, handler: Handler, error: type[KnowledgeError], timeout: float
) -> None:
    world.site.handlers["/robots.txt"] = handler
    fetcher = world.fetcher(timeout=timeout)
    with pytest.raises(KnowledgeError) as caught:
        fetcher.fetch(world.url("/page"))
    assert type(caught.value) is error
    assert world.site.paths == []


def test_a_robots_txt_that_comes_back_is_read_again(world: World) -> None:
    fetcher = world.fetcher(names=Names({HOST: [["127.0.0.1"]]}))
    world.site.handlers["/robots.txt"] = answer(b"", 503)
    with pytest.raises(ConnectionFailedError, match=r"robots\.txt"):
        fetcher.fetch(world.url("/page"))
    world.site.handlers["/robots.txt"] = answer(b"", 404)
    assert fetcher.fetch(world.url("/page")).content == PAGE
