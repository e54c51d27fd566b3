"""What a site allows robots: robots.txt as defined by RFC 9309, cached for a few minutes.

The longest matching rule decides, and `Allow` if two are equally long; `*` matches anything and `$` the end. A missing
robots.txt (4xx), or one that redirects to an address that must not be fetched, forbids nothing. One that cannot be
fetched (5xx, no connection) forbids everything for now.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.web.address import WebAddress

TOKEN = "knowledge-mcp"
"""The name of this program in a `User-agent` line."""

_EVERYBODY = "*"
_OURS = frozenset({TOKEN, _EVERYBODY})
_RULES_SECONDS = 300.0
_MOST_SITES = 256
_MOST_RULES = 100_000
"""Maximum rules cached for all sites together: half a MiB contains up to 50,000, and a site can have endless names."""
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_AGENT = re.compile(r"[A-Za-z_-]+|\*")


@dataclass(frozen=True, slots=True)
class Rules:
    """What one site allows this program.

    Attributes:
        rules: patterns, each with whether it allows; longest first, and of equals the allowing one.
    """

    rules: tuple[tuple[str, bool], ...] = ()

    def disallowing(self, target: str) -> str | None:
        """Return the pattern that forbids a path with its query; None if it may be fetched."""
        path = _same(target)
        for pattern, allows in self.rules:
            if _fits(pattern, path):
                return None if allows else pattern
        return None


def parse_rules(text: str) -> Rules:
    """Parse the rules of a robots.txt for this program: of its own groups, otherwise of those for all (`*`).

    Invalid lines are ignored, however many: any input gives rules.
    """
    groups: dict[str, set[tuple[str, bool]]] = {}
    agents: set[str] = set()
    naming = False
    for raw in text.removeprefix("\ufeff").splitlines():
        key, colon, value = raw.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent" and colon:
            if not naming:
                agents = set()
            naming = True
            agent = _AGENT.match(value)
            if agent is not None and agent[0].lower() in _OURS:  # groups for others are not stored for each of them
                agents.add(agent[0].lower())
                groups.setdefault(agent[0].lower(), set())
        elif key in {"allow", "disallow"} and colon:
            naming = False
            if value:
                rule = (_same(value), key == "allow")
                for agent in agents:
                    groups[agent].add(rule)
    rules = groups.get(TOKEN, groups.get(_EVERYBODY, ()))
    return Rules(tuple(sorted(rules, key=lambda rule: (-len(rule[0]), not rule[1]))))


def _same(text: str) -> str:
    """Normalise a path: non-ASCII escaped, unneeded escapes removed, hexadecimal digits in capitals."""
    escaped = quote(text, safe="/%:?#[]@!$&'()*+,;=-._~|")

    def plain(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in _UNRESERVED else match[0].upper()

    return _ESCAPED.sub(plain, escaped)


def _fits(pattern: str, path: str) -> bool:
    """Match without backtracking: the first place for each piece is enough, so the time is linear."""
    pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    to_the_end = pattern.endswith("$")
    if len(pieces) == 1:
        return not to_the_end or at == len(path)
    for piece in pieces[1:-1] if to_the_end else pieces[1:]:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return not to_the_end or (len(path) - len(pieces[-1]) >= at and path.endswith(pieces[-1]))


class Robots:
    """Cache the rules of sites; safe for many threads.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Rules]] = {}

    def check(self, address: WebAddress, read: Callable[[], str]) -> None:
        """Check that a site allows a fetch.

        Args:
            address: the address to fetch.
            read: fetches the site's robots.txt; called if it is not cached, and its errors are passed on.

        Raises:
            InvalidInputError: the site disallows it.
        """
        rules = self._recall(address.origin)
        if rules is None:
            rules = parse_rules(read())
            self._remember(address.origin, rules)
        pattern = rules.disallowing(address.target)
        if pattern is not None:
            raise InvalidInputError(
                f"robots.txt disallows {address.display_url}.",
                details=f"Disallow: {pattern[:200]}",
                suggestion="Respect the site's rules; if you may use the document, add it as a file.",
            )

    def _recall(self, origin: str) -> Rules | None:
        with self._lock:
            until, rules = self._known.get(origin, (0.0, None))
            return rules if self._clock() < until else None

    def _remember(self, origin: str, rules: Rules) -> None:
        with self._lock:
            self._known.pop(origin, None)
            self._known[origin] = (self._clock() + _RULES_SECONDS, rules)
            kept = sum(len(each.rules) for _, each in self._known.values())
            while len(self._known) > 1 and (len(self._known) > _MOST_SITES or kept > _MOST_RULES):
                _, oldest = self._known.pop(next(iter(self._known)))
                kept -= len(oldest.rules)
