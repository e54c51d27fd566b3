"""Addresses of the web: which are read, in which one spelling, and which places they may lead to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.web.address import WebAddress, host_matches, parse_address, redirected
from knowledge_mcp.sources.web.fetcher import WebFetcher
from knowledge_mcp.sources.web.places import why_refused
from tests.sources.web_site import Names

SPELLED_WRONGLY = [
    "",
    "   ",
    "example.org/page",
    "//example.org/page",
    "http://example.org/",
    "HTTP://example.org/",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "ftp://example.org/file",
    "sftp://example.org/file",
    "gopher://example.org:70/_x",
    "data:text/html,<p>x",
    "javascript:alert(1)",
    "jar:https://example.org/x.jar!/x",
    "view-source:https://example.org/",
    "ws://example.org/",
    "ldap://example.org/",
    "dict://example.org:11211/stats",
    "https:example.org",
    "https:/example.org/",
    "https:///etc/passwd",
    "https://",
    "https://:443/",
    "https://?x",
    "https://user@example.org/",
    "https://user:secret@example.org/",
    "https://example.org@127.0.0.1/",
    "https://@example.org/",
    "https://example.org\\@127.0.0.1/",
    "https:\\\\example.org/",
    "https://example.org/a\\..\\b",
    "https://example.org\\.evil.example/",
    "https://exam\tple.org/",
    "https://example.org/\r\nHost: inside",
    "https://example.org/\x00",
    "https://example.org/\x7f",
    "https://exam\u200bple.org/",
    "https://example.org/\u202efdp.exe",
    "https://exam ple.org/",
    "https://127.0.0.1%00.example.org/",
    "https://%31%32%37.0.0.1/",
    "https://example.org%2f.evil.example/",
    "https://example.org℀/",
    "https://example..org/",
    "https://.example.org/",
    "https://example.org../",
    "https://-example.org/",
    "https://" + "a" * 64 + ".org/",
    "https://" + "a.b" * 100 + ".org/",
    "https://exa$mple.org/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://127.0.0.01/",
    "https://127.0.0.256/",
    "https://1.2.3.4.5/",
    "https://example.1/",
    "https://example.0x1/",
    "https://4294967297/",
    "https://[::1/",
    "https://::1/",
    "https://[::1]evil.example/",
    "https://evil.example[::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[v1.fe80]/",
    "https://[127.0.0.1]/",
    "https://[example.org]/",
    "https://[]/",
    "https://example.org:22/",
    "https://example.org:6379/",
    "https://example.org:0/",
    "https://example.org:65536/",
    "https://example.org:99999999/",
    "https://example.org:-1/",
    "https://example.org:4 43/",
    "https://example.org:٤٤٣/",
    "https://example.org:443:443/",
    "https://example.org/" + "x" * 5000,
]
"""Refused as they stand: nobody is asked for a name."""

PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "::1",
    "fc00::1",
    "fdff:ffff::1",
    "fec0::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "::ffff:c0a8:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
]
NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:10.0.0.1",
    "::ffff:0.0.0.0",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:0a00:0001::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::5efe:10.0.0.1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "223.255.255.255",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450::1",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
    "2a00:1450::5efe:93.184.216.34",
]
LOCAL_NAMES = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "sub.localhost",
    "metadata",
    "kubernetes",
    "metadata.google.internal",
    "printer.local",
    "nas.home.arpa",
    "ｌｏｃａｌｈｏｓｔ",
    "printer。local",
]


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize("url", SPELLED_WRONGLY)
def test_a_hostile_address_is_refused_before_anybody_is_asked(url: str) -> None:
    names = Names({})
    with pytest.raises(InvalidInputError) as caught:
        WebFetcher(resolver=names).fetch(url)
    assert names.asked == []
    assert "secret" not in f"{caught.value} {caught.value.details} {caught.value.suggestion}"


def test_who_gives_a_password_is_told_that_it_goes_nowhere() -> None:
    with pytest.raises(InvalidInputError, match="user name or a password") as caught:
        parse_address("https://user:secret@example.org/")
    assert "credentials" in caught.value.suggestion


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize("host", LOCAL_NAMES)
def test_a_name_of_a_local_network_is_not_even_asked_for(host: str) -> None:
    names = Names({})
    with pytest.raises(InvalidInputError, match="local network"):
        WebFetcher(resolver=names).fetch(f"https://{host}/")
    assert names.asked == []


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize("place", PRIVATE + NEVER)
def test_neither_a_private_place_nor_a_name_for_it_is_connected_to(place: str) -> None:
    fetcher = WebFetcher(resolver=Names({"name.example.org": [[place]]}), timeout=5.0)
    with pytest.raises(InvalidInputError, match="not public"):
        fetcher.fetch("https://name.example.org/")
    if "%" not in place:
        with pytest.raises(InvalidInputError, match="not public"):
            fetcher.fetch(f"https://[{place}]/" if ":" in place else f"https://{place}/")


@pytest.mark.parametrize("place", ["１２７.０.０.１", "127。0。0。1", "127.0.0.1.", "①②⑦.0.0.1"])
def test_digits_and_dots_in_other_scripts_are_read_as_browsers_read_them(place: str) -> None:
    with pytest.raises(InvalidInputError, match=r"127\.0\.0\.1 is not public"):
        WebFetcher(resolver=Names({})).fetch(f"https://{place}/")


@pytest.mark.parametrize("place", PUBLIC)
def test_a_public_place_is_not_refused(place: str) -> None:
    assert why_refused(ip_address(place)) is None


@pytest.mark.parametrize("place", PRIVATE)
def test_a_private_place_will_do_for_a_host_that_is_allowed(place: str) -> None:
    assert why_refused(ip_address(place), private_accepted=True) is None


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize("place", NEVER)
def test_metadata_and_reserved_places_do_not_even_do_for_a_host_that_is_allowed(place: str) -> None:
    fetcher = WebFetcher(resolver=Names({"name.example.org": [[place]]}), allowed_hosts=("name.example.org",))
    with pytest.raises(InvalidInputError, match="not public"):
        fetcher.fetch("https://name.example.org/")


@given(st.integers(0, 2**32 - 1))
def test_an_address_within_another_is_judged_as_itself(number: int) -> None:
    plain = IPv4Address(number)
    for prefix in (0xFFFF << 32, 0x0064_FF9B << 96):
        assert why_refused(IPv6Address(prefix | number)) == why_refused(plain)


@given(st.ip_addresses())
def test_what_python_calls_private_is_refused(address: IPv4Address | IPv6Address) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        inside = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        translated = isinstance(address, IPv6Address) and int(address) >> 32 == 0x0064_FF9B << 64
        assert why_refused(address) is not None or inside is not None or translated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.org", WebAddress("example.org", 443, "/")),
        (" https://EXAMPLE.org./a ", WebAddress("example.org", 443, "/a")),
        ("HTTPS://example.org:443/a?b#c", WebAddress("example.org", 443, "/a", "b")),
        ("https://example.org:8443#x", WebAddress("example.org", 8443, "/")),
        ("https://example.org:/?", WebAddress("example.org", 443, "/")),
        ("https://example.org/ä b/%C3?q=a b&r", WebAddress("example.org", 443, "/%C3%A4%20b/%C3", "q=a%20b&r")),
        ("https://bücher.example/", WebAddress("xn--bcher-kva.example", 443, "/")),
        ("https://faß.de/", WebAddress("xn--fa-hia.de", 443, "/")),
        ("https://ex_a.example.org/", WebAddress("ex_a.example.org", 443, "/")),
        ("https://1.1.1.1/", WebAddress("1.1.1.1", 443, "/", literal=IPv4Address("1.1.1.1"))),
        ("https://[2606:0::11]:8443/", WebAddress("2606::11", 8443, "/", literal=IPv6Address("2606::11"))),
    ],
)  # fmt: skip
def test_an_address_has_one_spelling(text: str, expected: WebAddress) -> None:
    assert parse_address(text) == expected


def test_letters_that_look_alike_stay_apart() -> None:
    assert parse_address("https://аpple.example/").host == "xn--pple-43d.example"


@given(st.text(max_size=80).map("https://".__add__) | st.text(max_size=80))
def test_whatever_is_given_is_refused_or_keeps_its_spelling(text: str) -> None:
    try:
        found = parse_address(text)
    except InvalidInputError:
        return
    assert parse_address(found.url) == found
    assert found.url.isascii()
    assert found.url.isprintable()
    assert not set(found.url) & set(' \\#"<>')
    assert "@" not in found.place


@given(st.text(max_size=80))
def test_wherever_an_answer_sends_it_is_refused_or_https(text: str) -> None:
    try:
        found = redirected(parse_address("https://example.org/a/b"), text)
    except InvalidInputError:
        return
    assert found.url.startswith("https://")


def test_an_address_is_shown_without_its_query_and_not_too_long() -> None:
    shown = parse_address("https://example.org/" + "x" * 500 + "?key=secret").display_url
    assert len(shown) == 200
    assert "secret" not in parse_address("https://example.org/a?key=secret").display_url


@pytest.mark.parametrize(
    ("host", "patterns", "expected"),
    [
        ("wiki.corp.example", ("wiki.corp.example",), True),
        ("wiki.corp.example", ("WIKI.corp.example.",), True),
        ("wiki.corp.example", ("*.corp.example",), True),
        ("a.b.corp.example", ("x", "*.corp.example"), True),
        ("corp.example", ("*.corp.example",), False),
        ("evilcorp.example", ("*.corp.example",), False),
        ("wiki.corp.example.evil.example", ("wiki.corp.example",), False),
        ("wiki", ("*", "*.", ""), False),
        ("::1", ("[::1]",), True),
        ("wiki", (), False),
    ],
)
def test_an_allowed_host_is_named_whole_or_by_what_it_is_below(
    host: str, patterns: tuple[str, ...], *, expected: bool
) -> None:
    assert host_matches(host, patterns) is expected
