"""Attacks by addresses: random ones in many spellings, to the fetcher of pages and to git."""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.attacks import Attack, Outcome
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.sources.git.url import parse_url
from knowledge_mcp.sources.web.address import Deadline, parse_address
from knowledge_mcp.sources.web.places import places_of

_RANDOM = 400_000
_PREFIXES = (
    "10.0.0.0", "127.0.0.0", "169.254.0.0", "172.16.0.0", "192.168.0.0", "100.64.0.0", "0.0.0.0", "224.0.0.0",
    "198.18.0.0", "192.0.2.0", "203.0.113.0", "240.0.0.0", "255.255.255.0", "192.88.99.0",
)  # fmt: skip


def _octal(address: IPv4Address) -> str:
    return ".".join(f"0{part:o}" for part in address.packed)


def _hexadecimal(address: IPv4Address) -> str:
    return ".".join(f"{part:#x}" for part in address.packed)


def _short(address: IPv4Address) -> str:
    first, *rest = address.packed
    return f"{first}.{int.from_bytes(bytes(rest), 'big')}"


SPELLINGS: tuple[Callable[[IPv4Address], str], ...] = (
    str,
    lambda address: str(int(address)),
    lambda address: hex(int(address)),
    _octal,
    _hexadecimal,
    _short,
    lambda address: f"{address}.",
    lambda address: f"[::ffff:{address}]",
    lambda address: f"[64:ff9b::{address}]",
    lambda address: f"[2002:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}::1]",
    lambda address: f"[::{address}]",
    lambda address: str(address).replace(".", "。"),
    lambda address: "".join(chr(0xFF10 + int(sign)) if sign.isdigit() else sign for sign in str(address)),
)


def _judged(url: str) -> list[IPv4Address | IPv6Address]:
    """List the addresses that the fetcher would connect to."""
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        del port
        asked.append(host)
        return [_understood(host)] if _understood(host) else []

    try:
        return list(places_of(parse_address(url), resolver, Deadline(60.0)))
    except KnowledgeError:
        return []


def _understood(host: str) -> str:
    """Read a host as a lenient C library does: decimal, octal and hexadecimal parts, fewer than four too."""
    parts = host.rstrip(".").split(".")
    try:
        bases = [16 if part.lower().startswith("0x") else 8 if part.startswith("0") else 10 for part in parts]
        numbers = [int(part, base) for part, base in zip(parts, bases, strict=True)]
        value = 0
        for number in numbers[:-1]:
            value = value << 8 | number
        return str(IPv4Address(value << 8 * (5 - len(numbers)) | numbers[-1]))
    except ValueError:
        return ""


def _reaches_within(found: IPv4Address | IPv6Address) -> bool:
    """Tell by the registry of Python's library, and by what is wrapped inside, whether an address is not public."""
    if isinstance(found, IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour
        if inside is None and int(found) >> 32 == 0x64FF9B << 64:
            inside = IPv4Address(int(found) & 0xFFFFFFFF)
        if inside is not None:
            return _reaches_within(inside)
    return not found.is_global or found.is_multicast or found.is_reserved


def _random_addresses(folder: Path) -> Outcome:
    del folder
    chance = random.Random(11)
    through: list[str] = []
    let = 0
    for number in range(_RANDOM):
        if number % 8 == 7:
            text = f"[{IPv6Address(chance.getrandbits(128))}]"
        else:
            base = int(ip_address(chance.choice(_PREFIXES))) if number % 2 else chance.getrandbits(32)
            address = IPv4Address(base | chance.getrandbits(8) if number % 2 else base)
            text = SPELLINGS[number % len(SPELLINGS)](address)
        found = _judged(f"https://{text}/")
        let += bool(found)
        through += [f"{text} leads to {each}" for each in found if _reaches_within(each)]
    return Outcome(_RANDOM, tuple(through[:20]), note=f"{let:,} of them public, and let through")


def _git_addresses(folder: Path) -> Outcome:
    """Metadata services and what no setting allows must be refused by git's rule, in every spelling."""
    del folder
    inside = ("169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255")
    hosts = [spell(IPv4Address(each)) for each in inside for spell in SPELLINGS]
    forms = [form for host in hosts for form in (f"https://{host}/a/b", f"http://{host}/a/b", f"ssh://git@{host}/a/b")]
    forms += [
        "ext::sh -c id", "file:///etc", "/etc/passwd", "-uhttps://example.org/a", "--upload-pack=id", "git@[::1]:a/b",
        "fd::17/a",
        "https://example.org/a\n/b", "https://a:b@example.org/a/b", "git://example.org/a/b", "ftp://example.org/a/b",
        "https://example.org/%2e%2e/%2e%2e", "transport::https://example.org/a",
    ]  # fmt: skip
    through: list[str] = []
    for form in forms:
        try:
            found = parse_url(form)
        except KnowledgeError:
            continue
        host = (urlsplit(found.text).hostname or "").strip("[]")
        understood = _understood(host) or host
        try:
            if _reaches_within(ip_address(understood)):
                through.append(f"{form} is taken for {found.text}")
        except ValueError:
            if not form.startswith("https://"):
                through.append(f"{form} is taken for {found.text}")
    return Outcome(len(forms), tuple(through))


ATTACKS: tuple[Attack, ...] = (
    Attack("addresses", "random addresses of pages, in 14 spellings", _random_addresses),
    Attack("addresses", "addresses of repositories that lead inside or run something", _git_addresses),
)
