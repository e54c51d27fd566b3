"""Fetch documents of the public web over https; implements `ports.Fetcher`.

Whoever may name an address may try to make this machine connect to hosts that only it can reach (SSRF). Therefore:

- An address is parsed once (`sources.web.address`), its host is resolved once per fetch and all its addresses are
  checked (`sources.web.places`); the connection goes to one of those (`sources.web.exchange`), for the host's name and
  certificate. The name is never resolved a second time, so a changed answer has no effect.
- A redirect is a new address: checked from the start, https again, at most five.
- Nothing is sent except the request: no cookie, no credential, no header of the caller. A registered source with a
  login sends it only to its own origin, and redirects to another origin are not followed.
- Proxies are not used, whatever the environment says: a proxy resolves names itself, and would connect to unchecked
  addresses. A machine that reaches the web only through a proxy cannot fetch; give it files instead.
- One deadline applies to everything, and there are limits for transferred and decompressed bytes.

Why not `httpx`: its time limits are per read, so a server that sends slowly blocks a fetch for ever; it decompresses a
whole piece whatever its size becomes; and connecting to a checked address means replacing its network layer anyway.
`h11` does the rest.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp import __version__
from knowledge_mcp.model.errors import AuthError, ConfigError, ConnectionFailedError, InvalidInputError
from knowledge_mcp.model.library import Fetched
from knowledge_mcp.model.source import UNKNOWN
from knowledge_mcp.sources.web.address import Deadline, IpAddress, WebAddress, host_matches, parse_address, redirected
from knowledge_mcp.sources.web.content import (
    PLAIN,
    REDIRECTS,
    file_name,
    in_utf8,
    kind_by_content,
    kind_by_header,
    refused_kind,
    sign_in_error,
    status_error,
    with_extension,
)
from knowledge_mcp.sources.web.exchange import Exchange, ResponseHead, WebRequest, Wire, open_wire
from knowledge_mcp.sources.web.places import Resolver, places_of, system_resolver
from knowledge_mcp.sources.web.robots import TOKEN, Robots
from knowledge_mcp.support.events import log_event

if TYPE_CHECKING:
    import ssl

AGENT = f"{TOKEN}/{__version__} (+robots.txt: {TOKEN})"
"""The `User-Agent`; it contains the token for sites that want to exclude this program in their robots.txt."""

_MOST_REDIRECTS = 5
_ROBOTS = "/robots.txt"
_UNCHANGED, _MULTI_STATUS = 304, 207
_NO_SUCH_METHOD = frozenset({405, 501})
"""The server does not support a method other than GET: the caller decides what that means."""
_ETAG = re.compile(r'(?:W/)?"[!#-~\x80-\xff]{0,512}"')
_DATE = re.compile(r"[A-Za-z0-9:, +-]{1,64}")
_PATH = re.compile(r"(https://[^/\s]+)/\S*")
_TEXTS = frozenset({PLAIN, "text/csv", "text/html", "text/markdown", "application/xhtml+xml"})
"""Kinds whose encoding is stated by the header, as servers also use them for uploaded files; XML states its own."""
_MOST_ROBOTS = 512 * 1024
_BESIDE = 512 * 1024
"""Maximum bytes transferred in addition to a document: certificates, headers, chunk markers."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The response of an address to one request.

    Attributes:
        url: the final address, after redirects.
        status: of HTTP: 200, 207, 304 if nothing changed, or 405 and 501 for another method than GET.
        body: empty if nothing changed.
        media_type, name: of a document, as in `Fetched`; empty if the kind was not asked for.
        etag, last_modified: validators, empty if there are none.
    """

    url: str
    status: int
    body: bytes = b""
    media_type: str = ""
    name: str = ""
    etag: str = ""
    last_modified: str = ""


class WebFetcher:
    """Fetch documents of the public web; implements `ports.Fetcher`. Safe for many threads.

    Args:
        max_bytes: maximum size of a document, transferred and decompressed.
        timeout: seconds for one whole fetch, from name resolution to the last byte, including robots.txt and redirects.
        allowed_hosts: hosts whose private addresses are accepted; `*.example.org` for all below it. Their certificates
            are checked as usual, and link-local and metadata addresses stay refused.
        resolver: returns a host's addresses; by default the system's.
        ssl_context: the trusted certificates; by default the system's.

    Raises:
        ConfigError: a context that does not check certificates and names.
    """

    def __init__(
        self,
        *,
        max_bytes: int = 50 * 1024 * 1024,
        timeout: float = 60.0,
        allowed_hosts: tuple[str, ...] = (),
        resolver: Resolver = system_resolver,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._allowed = allowed_hosts
        self._resolver = resolver
        self._context = _require_verification(ssl_context) if ssl_context is not None else None
        self._making = threading.Lock()
        self._robots = Robots()

    def fetch(self, url: str, *, cancelled: Callable[[], bool] | None = None) -> Fetched:
        found = self.ask(url, WebRequest(), as_document=True, cancelled=cancelled)
        return Fetched(found.url, found.body, found.media_type, found.name)

    def ask(
        self,
        url: str,
        question: WebRequest,
        *,
        as_document: bool = False,
        login: str = "",
        cancelled: Callable[[], bool] | None = None,
    ) -> WebAnswer:
        """Request one https address, like `fetch` and with its errors; "not modified" is a valid response too.

        Args:
            url: the address.
            question: the request.
            as_document: whether the kind must be readable; otherwise the bytes are returned unchanged.
            login: value of `Authorization`; sent only to the origin of the address. robots.txt is then not checked, as
                it is meant for robots of the public web.
            cancelled: called from time to time; returns whether to stop.

        Raises:
            AuthError: the login was refused, or the address redirects to a login page.
            KnowledgeError: as for `fetch`.
        """
        headers = (*question.headers, *([("Authorization", login)] if login else []))
        began = time.monotonic()
        fetch = _RedirectedFetch(
            deadline=Deadline(self._timeout, cancelled),
            max_bytes=self._max_bytes,
            allowed=self._allowed,
            resolver=self._resolver,
            trust=self._trust,
            robots=None if login else self._robots,
            signed_in=bool(login),
        )
        try:
            address = parse_address(url)
            request = WebRequest(question.method, headers, question.body)
            found = fetch.answer(address, request, _document if as_document else _plain_answer)
            if as_document and (failed := sign_in_error(address, parse_address(found.url), found.body)) is not None:
                raise failed
        except InvalidInputError as error:
            # A path may be a secret as well: some addresses give access to whoever knows them.
            log_event(logger, logging.WARNING, "web_fetch_refused", reason=_PATH.sub(r"\1/…", error.message))
            raise
        took = round((time.monotonic() - began) * 1000)
        log_event(logger, logging.INFO, "web_fetched", host=address.host, bytes=len(found.body), took_ms=took)
        return found

    def destination(self, url: str, *, cancelled: Callable[[], bool] | None = None) -> str:
        """Return the address to which one redirects, for a program that must not follow redirects itself.

        Only heads of responses are read. robots.txt is not checked: that program is no robot.

        Raises:
            KnowledgeError: as for `fetch`, if no server answers or an address is not accepted.
        """
        deadline = Deadline(self._timeout, cancelled)
        fetch = _RedirectedFetch(deadline, self._max_bytes, self._allowed, self._resolver, self._trust, robots=None)
        return fetch.answer(parse_address(url), WebRequest(), lambda _, address, __: WebAnswer(address.url, 0)).url

    def _trust(self) -> ssl.SSLContext:
        with self._making:
            if self._context is None:
                self._context = _system_trust()
            return self._context


@dataclass(frozen=True, slots=True)
class _RedirectedFetch:
    """One fetch with all its redirects: each host is resolved once, and there is one deadline."""

    deadline: Deadline
    max_bytes: int
    allowed: tuple[str, ...]
    resolver: Resolver
    trust: Callable[[], ssl.SSLContext]
    robots: Robots | None
    signed_in: bool = False
    places: dict[WebAddress, tuple[IpAddress, ...]] = field(default_factory=dict[WebAddress, tuple[IpAddress, ...]])

    def answer(
        self, address: WebAddress, question: WebRequest, take: Callable[[Exchange, WebAddress, int], WebAnswer]
    ) -> WebAnswer:
        for _ in range(_MOST_REDIRECTS + 1):
            if address.path != _ROBOTS and self.robots is not None:
                self.robots.check(address, functools.partial(self._robots_text, address))
            with self._line(address, self.max_bytes) as wire:
                exchange = Exchange(wire, address, AGENT, question)
                location = exchange.head.first("location")
                if exchange.head.status not in REDIRECTS or not location:
                    if self.signed_in and exchange.head.status in {401, 403}:
                        raise _login_refused(address, exchange.head.status)
                    if exchange.head.status == _UNCHANGED and question.is_conditional:
                        return WebAnswer(address.url, _UNCHANGED)
                    if exchange.head.status in _NO_SUCH_METHOD and question.method != "GET":
                        return WebAnswer(address.url, exchange.head.status)
                    return take(exchange, address, self.max_bytes)
            origin, address = address.origin, redirected(address, location)
            if self.signed_in and address.origin != origin:
                raise InvalidInputError(
                    f"{origin} redirects to another site, to which its login is not sent.",
                    suggestion="Register the address to which it redirects.",
                )
        raise InvalidInputError(
            f"{address.host} redirects more than {_MOST_REDIRECTS} times.",
            suggestion="Give the final address of the document.",
        )

    def _robots_text(self, site: WebAddress) -> str:
        """Fetch a site's robots.txt, at most its first half MiB; empty if there is none to respect."""
        address = WebAddress(site.host, site.port, _ROBOTS, literal=site.literal)
        for _ in range(_MOST_REDIRECTS + 1):
            with self._line(address, _MOST_ROBOTS) as wire:
                exchange = Exchange(wire, address, AGENT)
                status, location = exchange.head.status, exchange.head.first("location")
                if status >= 500:
                    raise ConnectionFailedError(
                        f"robots.txt of {site.host} is not available now, so nothing may be fetched from there.",
                        details=f"HTTP status {status}",
                        suggestion="This is a problem of the site; try again later.",
                    )
                if status not in REDIRECTS or not location:
                    return self._readable(exchange) if status == 200 else ""
            try:
                address = redirected(address, location)
                self._addresses_of(address)
            except InvalidInputError:
                return ""
        return ""

    def _readable(self, exchange: Exchange) -> str:
        try:
            return exchange.body(_MOST_ROBOTS, cut=True).decode("utf-8", "replace")
        except InvalidInputError:  # compressed in a way that cannot be decompressed
            return ""

    def _line(self, address: WebAddress, most: int) -> Wire:
        return open_wire(
            address, self._addresses_of(address), self.trust(), self.deadline, most=most + most // 8 + _BESIDE
        )

    def _addresses_of(self, address: WebAddress) -> tuple[IpAddress, ...]:
        """Resolve and check a host; cached."""
        place = WebAddress(address.host, address.port, "/", literal=address.literal)
        if place not in self.places:
            accepted = host_matches(address.host, self.allowed)
            self.places[place] = places_of(place, self.resolver, self.deadline, private_accepted=accepted)
        return self.places[place]


def _document(exchange: Exchange, address: WebAddress, most: int) -> WebAnswer:
    """Return a document of a readable kind."""
    failed = status_error(exchange.head, address)
    if failed is not None:
        raise failed
    name = file_name(exchange.head.first("content-disposition"), address)
    content_type = exchange.head.first("content-type")
    kind = kind_by_header(content_type, name)
    content = exchange.body(most)
    if kind == UNKNOWN or kind in _TEXTS:
        kind = kind_by_content(content, declared=kind)
        if kind == UNKNOWN:
            raise refused_kind(content_type)
    if kind in _TEXTS:
        content = in_utf8(content, content_type)
    return _with_validators(address, exchange.head, content, kind, with_extension(name, kind))


def _plain_answer(exchange: Exchange, address: WebAddress, most: int) -> WebAnswer:
    """Return any content."""
    head = exchange.head
    if head.status != _MULTI_STATUS and (failed := status_error(head, address)) is not None:
        raise failed
    return _with_validators(address, head, exchange.body(most))


def _with_validators(
    address: WebAddress, head: ResponseHead, body: bytes, media_type: str = "", name: str = ""
) -> WebAnswer:
    """Add the validators for later conditional requests; malformed ones are left out."""
    etag, modified = head.first("etag"), head.first("last-modified")
    return WebAnswer(
        address.url,
        head.status,
        body,
        media_type,
        name,
        etag if _ETAG.fullmatch(etag) else "",
        modified if _DATE.fullmatch(modified) else "",
    )


def _login_refused(address: WebAddress, status: int) -> AuthError:
    return AuthError(
        f"{address.host} refused the login.",
        details=f"HTTP status {status}",
        suggestion="Check its entry in SOURCE_LOGINS: host=user:password.",
    )


def _system_trust() -> ssl.SSLContext:
    import ssl

    try:
        context = ssl.create_default_context()
    except (OSError, ValueError) as error:
        raise ConfigError(
            "The certificates that this system trusts cannot be read.",
            details=str(error),
            suggestion="Check SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _require_verification(context: ssl.SSLContext) -> ssl.SSLContext:
    import ssl

    if not context.check_hostname or context.verify_mode != ssl.CERT_REQUIRED:
        raise ConfigError(
            "The fetcher was given TLS settings that check no certificates.",
            suggestion="Trust the authority in question in place of all.",
        )
    return context


# ---- settings -------------------------------------------------------------------------------------------------------


class WebOptions(Protocol):
    """The settings for fetching."""

    rag_fetch_max_bytes: int
    rag_fetch_timeout: float
    rag_fetch_allowed_hosts: tuple[str, ...]


def from_options(options: WebOptions) -> WebFetcher:
    """Create the fetcher from the settings; nothing is connected or read before the first use."""
    return WebFetcher(
        max_bytes=options.rag_fetch_max_bytes,
        timeout=options.rag_fetch_timeout,
        allowed_hosts=options.rag_fetch_allowed_hosts,
    )
