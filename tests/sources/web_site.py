"""HTTPS sites on loopback, well-behaved and hostile, with certificates of an authority of the tests' own."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from knowledge_mcp.model.library import Fetched
from knowledge_mcp.sources.web.fetcher import WebFetcher

HOST, OTHER = "site.example.org", "other.example.org"
"""Names of the site on loopback; its certificate is for all below example.org, and for both loopback addresses."""

_DAY = dt.timedelta(days=1)


class Authority:
    """Sign certificates; `trusting` gives what a client needs to accept them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        self._certificate = self._sign(name, self._key.public_key(), [], ca=True)
        self._name = name

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.pem())

    def pem(self) -> str:
        """Give the certificate that a client needs to trust, as a file has it."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")

    def server(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """Make the context of a server that is called so."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certified(*names, expired=expired))
        return context

    def certified(self, *names: str, expired: bool = False) -> Path:
        """Write key and certificate of somebody who is called so into one file."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = self._sign(subject, key.public_key(), names, expired=expired)
        file = self._folder / f"{names[0].replace('*', 'any').replace(':', '-')}-{expired}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return file

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        names: Sequence[str],
        *,
        ca: bool = False,
        expired: bool = False,
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if ca else self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 3 * _DAY)
            .not_valid_after(now - _DAY if expired else now + _DAY)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), False)
        return builder.sign(self._key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass(frozen=True)
class Received:
    """One request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    sni: str | None


class GoneError(Exception):
    """Say that the other side hung up, or the site closes."""


class Line:
    """What a handler writes to."""

    def __init__(self, connection: ssl.SSLSocket, closing: threading.Event) -> None:
        self._connection = connection
        self._closing = closing

    def send(self, data: bytes) -> None:
        if self._closing.is_set():
            raise GoneError
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise GoneError from error

    def pause(self, seconds: float = 0.02) -> None:
        """Let time pass, unless the site closes."""
        if self._closing.wait(seconds):
            raise GoneError

    def say_goodbye(self) -> None:
        """End TLS as one should."""
        try:
            self._connection.settimeout(2)
            self._connection.unwrap()
        except OSError as error:
            raise GoneError from error


Handler = Callable[[Line], None]


def answer(body: bytes = b"", status: int = 200, kind: str | None = "text/html", **headers: str) -> Handler:
    """Answer properly; underscores in names of headers are dashes."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind is not None else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return raw("\r\n".join([*lines, "", ""]).encode("utf-8") + body)


def redirect(to: str, status: int = 302) -> Handler:
    return answer(status=status, Location=to)


def raw(data: bytes) -> Handler:
    return lambda line: line.send(data)


class Site:
    """Serve handlers by path until closed; use it in a `with`. Paths that it does not know are 404, robots.txt too."""

    def __init__(self, context: ssl.SSLContext, handlers: Mapping[str, Handler], host: str = "127.0.0.1") -> None:
        self.handlers = dict(handlers)
        self.received: list[Received] = []
        self._context = context
        self._closing = threading.Event()
        self._listening = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port: int = self._listening.getsockname()[1]
        self._names: dict[ssl.SSLObject | ssl.SSLSocket, str] = {}
        context.sni_callback = self._heard
        self._threads = [threading.Thread(target=self._accept, name="site")]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(20)
        self._listening.close()

    @property
    def paths(self) -> list[str]:
        """What was asked for, but for robots.txt."""
        return [one.path for one in self.received if one.path != "/robots.txt"]

    def _heard(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        del context
        self._names[connection] = name or ""

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="site-line")
            self._threads.append(thread)
            thread.start()

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(10)
        try:
            with self._context.wrap_socket(plain, server_side=True) as connection:
                self._talk(connection)
        except (OSError, GoneError):
            plain.close()

    def _talk(self, connection: ssl.SSLSocket) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            piece = connection.recv(65536)
            if not piece:
                return
            asked += piece
        first, *lines = asked.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
        path = first.split(" ")[1]
        self.received.append(Received(path, headers, self._names.get(connection)))
        handler = self.handlers.get(path.partition("?")[0], answer(b"nothing here", 404))
        handler(Line(connection, self._closing))


@dataclass
class Names:
    """A resolver of the tests: each answer in its turn, the last one for ever; it counts the questions."""

    answers: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list[str])

    def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        turn = self.asked.count(host)
        self.asked.append(host)
        answers = self.answers.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return answers[min(turn, len(answers) - 1)]


@dataclass
class World:
    """A site under names of its own, and what it takes to fetch from it."""

    site: Site
    authority: Authority
    trust: ssl.SSLContext

    def fetcher(
        self,
        *,
        names: Names | None = None,
        allowed: tuple[str, ...] = ("*.example.org",),
        timeout: float = 10.0,
        max_bytes: int = 1_000_000,
    ) -> WebFetcher:
        return WebFetcher(
            max_bytes=max_bytes,
            timeout=timeout,
            allowed_hosts=allowed,
            resolver=names or Names({HOST: [["127.0.0.1"]], OTHER: [["127.0.0.1"]]}),
            ssl_context=self.trust,
        )

    def fetch(self, path: str, handler: Handler | None = None) -> Fetched:
        """Fetch a path of the site, which answers as told."""
        if handler is not None:
            self.site.handlers[path.partition("?")[0]] = handler
        return self.fetcher().fetch(self.url(path))

    def url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.site.port}{path}"

    def forget(self) -> None:
        """Take back what a test had the site answer."""
        self.site.handlers.clear()
        self.site.received.clear()


@contextlib.contextmanager
def world_in(folder: Path) -> Generator[World]:
    """Open a world for some tests."""
    authority = Authority(folder)
    with Site(authority.server("*.example.org", "127.0.0.1", "::1"), {}) as site:
        yield World(site, authority, authority.trusting())
