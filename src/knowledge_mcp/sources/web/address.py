"""Web addresses: which are accepted, in one normal form, and which parts may be shown.

If two programs read an address differently, the check and the connection may disagree. Therefore everything ambiguous
is refused here (user names, backslashes, control characters, hosts in hexadecimal), and all later code uses the parsed
parts and never the text again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from knowledge_mcp.model.errors import InvalidInputError, TimedOutError

IpAddress: TypeAlias = IPv4Address | IPv6Address

_LONGEST = 4096
_MOST_DISPLAYED = 200
_HTTPS = 443
_PLACE = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\[\]:@%]{1,1000}))(?::([0-9]{0,5}))?")
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}):")
_PATH_SAFE = "/%:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?[]|"

_NO_WEB_PORTS = frozenset(
    {
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162, 179),
        *(389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636),
        *(873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659),
        *(4045, 4190, 5060, 5061, 5432, 5672, 5900, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697),
        *(9042, 10080, 10250, 11211, 27017),
    }
)
"""Refused ports: those that browsers block (mail, files, databases, remote control), and those of clusters."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A checked https address, in parts.

    Attributes:
        host: ASCII, lower case, no trailing dot; an IPv6 address without brackets.
        port: 1..65535.
        path: percent-encoded, begins with `/`.
        query: percent-encoded, without `?`.
        literal: the host, if it is an IP address.
    """

    host: str
    port: int
    path: str
    query: str = ""
    literal: IpAddress | None = None

    @property
    def place(self) -> str:
        """Host and port in URL form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _HTTPS else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The address without path."""
        return f"https://{self.place}"

    @property
    def target(self) -> str:
        """Path and query, as sent to the server."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def url(self) -> str:
        """The whole address; it never has a fragment."""
        return self.origin + self.target

    @property
    def display_url(self) -> str:
        """The address for messages and logs: without its query, which may contain a key, and shortened."""
        text = self.origin + self.path
        return text if len(text) <= _MOST_DISPLAYED else text[: _MOST_DISPLAYED - 1] + "…"


def parse_address(text: str) -> WebAddress:
    """Check and parse an https address; the fragment and surrounding whitespace are dropped.

    Any port is accepted except those known for other uses than the web.

    Raises:
        InvalidInputError: it is invalid or ambiguous. A user name in it is not repeated.
    """
    text = text.strip(" ")
    if not text:
        raise _refusal("It is empty.")
    if len(text) > _LONGEST:
        raise _refusal(f"It is longer than {_LONGEST} characters.")
    if not text.isprintable() or "\\" in text:
        raise _refusal("It has characters that are not allowed in an address.")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise _refusal("It cannot be read.") from error
    if parts.scheme != "https":
        scheme = _SCHEME.match(text)
        raise _refusal(f"{scheme[1]}: is not https." if scheme else "It does not begin with https://.")
    if "@" in parts.netloc:
        raise _refusal("It contains a user name or a password.", "Omit it; nothing is fetched with credentials.")
    place = _PLACE.fullmatch(parts.netloc)
    if place is None:
        raise _refusal("Its host cannot be read.")
    port = int(place[3]) if place[3] else _HTTPS
    if port > 65535 or port in _NO_WEB_PORTS:
        raise _refusal(f"Port {port} is not allowed.")
    host, literal = _literal(place[1], IPv6Address) if place[1] else _host(place[2])
    path = quote(parts.path, safe=_PATH_SAFE) or "/"
    return WebAddress(host, port, path, quote(parts.query, safe=_QUERY_SAFE), literal)


def redirected(address: WebAddress, location: str) -> WebAddress:
    """Return the target of a redirect from `address`, checked like in `parse_address`.

    Raises:
        InvalidInputError: the target is not accepted, for example http.
    """
    if not location.isprintable() or len(location) > _LONGEST:
        raise InvalidInputError(
            f"{address.display_url} redirects to something that is not an address.", suggestion=_ELSEWHERE
        )
    try:
        return parse_address(urljoin(address.url, location.strip(" ")))
    except (InvalidInputError, ValueError) as error:
        why = error.message.partition("accepted. ")[2] if isinstance(error, InvalidInputError) else "It cannot be read."
        raise InvalidInputError(
            f"{address.display_url} redirects to an address that is not accepted. {why}", suggestion=_ELSEWHERE
        ) from error


_ELSEWHERE = "Find another public https address of the document, or add it as a file."


def host_matches(host: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a host matches one of the names: exactly, or below the name of a `*.name`."""
    for pattern in patterns:
        name = pattern.strip().lower().rstrip(".").removeprefix("[").removesuffix("]")
        if name.startswith("*.") and len(name) > 2:
            if host.endswith(name[1:]) and len(host) >= len(name):
                return True
        elif host == name:
            return True
    return False


def _refusal(
    why: str, suggestion: str = "Give an address such as https://example.org/document.pdf."
) -> InvalidInputError:
    return InvalidInputError(f"The address is not accepted. {why}", suggestion=suggestion)


def _host(text: str) -> tuple[str, IpAddress | None]:
    name = (text if text.isascii() else _in_ascii(text)).lower().removesuffix(".")
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise _refusal("Its host is not a public host name.")
    if _NUMBER.fullmatch(name):  # a host that ends with a number is an IPv4 address, in any notation
        return _literal(name, IPv4Address)
    return name, None


def _literal(text: str, kind: type[IPv4Address | IPv6Address]) -> tuple[str, IpAddress]:
    try:
        address = kind(text)
    except ValueError as error:
        raise _refusal("Its host is a number that is not a plain IP address.") from error
    return str(address), address


def _in_ascii(text: str) -> str:
    """Convert a host to ASCII as browsers do (UTS 46): what looks like `127.0.0.1` or a dot becomes that."""
    import idna

    try:
        return idna.encode(text.removesuffix("."), uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise _refusal("Its host is not a public host name.") from error


_POLL = 0.1
"""Seconds between two checks of a wait for cancellation."""


class Deadline:
    """The remaining time of a fetch; every wait checks it.

    Args:
        seconds: for everything together.
        cancelled: called from time to time; returns whether to stop.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        seconds: float,
        cancelled: Callable[[], bool] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._cancelled = cancelled
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Remaining seconds, 0 once the time is up."""
        return max(0.0, self._end - self._clock())

    def pause(self) -> float:
        """Return the maximum seconds to wait before the next check."""
        return min(_POLL, self.left)

    def check(self) -> None:
        """Check that there is time left and no cancellation.

        Raises:
            TimedOutError: the time is up, or it was cancelled.
        """
        if self._cancelled is not None and self._cancelled():
            raise TimedOutError("The fetch was cancelled.", suggestion="Start it again if you still need it.")
        if self.left <= 0:
            raise TimedOutError(
                f"The address did not deliver its document within {self._seconds:g} seconds.",
                suggestion="Try again later; RAG_FETCH_TIMEOUT sets the time for one fetch.",
            )
