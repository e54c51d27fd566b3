"""Which hosts may be connected to: only public ones; the checked address is the one that is used.

A name is resolved once. All its addresses are checked, because a name with one public and one private address could
otherwise bypass the check. The connection then goes to one of these addresses, without resolving the name again.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from knowledge_mcp.model.errors import ConnectionFailedError, InternalError, InvalidInputError
from knowledge_mcp.sources.web.address import Deadline, IpAddress, WebAddress

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns the IP addresses of a host for a port; raises OSError if there are none."""

_MOST_ADDRESSES = 64
_MOST_LOOKUPS = 32
_lookups = threading.BoundedSemaphore(_MOST_LOOKUPS)
"""The system's resolver cannot be stopped: a name server that never answers may block this many threads and no more."""

_NEVER_4 = {
    "0.0.0.0/8": "this network",
    "100.100.100.200/32": "a cloud's metadata",
    "168.63.129.16/32": "a cloud's metadata",
    "169.254.0.0/16": "link-local or a cloud's metadata",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "for documentation",
    "192.88.99.0/24": "reserved",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_PRIVATE_4 = {
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "private (a provider's)",
    "127.0.0.0/8": "this machine",
    "172.16.0.0/12": "private",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "private (benchmarks)",
}
_NEVER_6 = {
    "64:ff9b:1::/48": "a local translation",
    "100::/64": "discarded",
    "2001::/23": "a tunnel or reserved",  # Teredo is 2001::/32
    "2001:db8::/32": "for documentation",
    "2002::/16": "a tunnel (6to4)",
    "3fff::/20": "for documentation",
    "fd00:ec2::/32": "a cloud's metadata",
    "fd20:ce::/64": "a cloud's metadata",
    "fe80::/10": "link-local",
    "ff00::/8": "multicast",
}
_PRIVATE_6 = {"::1/128": "this machine", "fc00::/7": "private", "fec0::/10": "private (site-local)"}

_NETWORKS_4 = tuple(
    (IPv4Network(text), why, private)
    for table, private in ((_NEVER_4, False), (_PRIVATE_4, True))
    for text, why in table.items()
)
_NETWORKS_6 = tuple(
    (IPv6Network(text), why, private)
    for table, private in ((_NEVER_6, False), (_PRIVATE_6, True))
    for text, why in table.items()
)
_PUBLIC_6 = IPv6Network("2000::/3")
_WRAPPING_6 = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4-mapped, and translated by NAT64 in networks without IPv4: equivalent to the IPv4 address inside."""
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def why_refused(address: IpAddress, *, private_accepted: bool = False) -> str | None:
    """Say briefly why an address must not be connected to; None if it may.

    Args:
        address: IPv4 or IPv6.
        private_accepted: whether private networks and this machine are allowed. Link-local, cloud metadata, multicast
            and reserved addresses never are.
    """
    if isinstance(address, IPv4Address):
        for network, why, private in _NETWORKS_4:
            if address in network:
                return None if private and private_accepted else why
        return None
    if any(address in network for network in _WRAPPING_6):
        return why_refused(_inside(address), private_accepted=private_accepted)
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        inside = why_refused(_inside(address), private_accepted=private_accepted)
        if inside is not None:
            return inside
    for network, why, private in _NETWORKS_6:
        if address in network:
            return None if private and private_accepted else why
    return None if address in _PUBLIC_6 else "reserved"


def _inside(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def system_resolver(host: str, port: int) -> list[str]:
    """Return a host's addresses from the system's resolver, in the order in which to try them."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def places_of(
    address: WebAddress, resolver: Resolver, deadline: Deadline, *, private_accepted: bool = False
) -> tuple[IpAddress, ...]:
    """Resolve a host once, and check all its addresses; return them in order, at least one.

    Raises:
        InvalidInputError: one of them must not be connected to; not which one, as that would reveal the network.
        ConnectionFailedError: the host has no address.
        TimedOutError: the deadline has passed.
    """
    if address.literal is not None:
        addresses: list[IpAddress] = [address.literal]
    else:
        if not private_accepted and _is_local(address.host):
            raise _refusal(address, "a name of a local network")
        addresses = [_read(text, address) for text in _resolve(address, resolver, deadline)]
    if not addresses:
        raise ConnectionFailedError(f"{address.host} has no address.", suggestion=_CHECK)
    for one in addresses:
        why = why_refused(one, private_accepted=private_accepted)
        if why is not None:
            raise _refusal(address, why)
    return tuple(addresses)


_CHECK = "Check the address; proxies are not used, so this machine itself must reach the site."
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".localdomain")


def _is_local(host: str) -> bool:
    return "." not in host or host.endswith(_LOCAL_ENDINGS)


def _refusal(address: WebAddress, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"{address.host} is not public: {why}.",
        suggestion="Give a public https address, or have the host listed in RAG_FETCH_ALLOWED_HOSTS.",
    )


def _read(text: str, address: WebAddress) -> IpAddress:
    try:
        ip = ip_address(text)
    except ValueError as error:
        raise ConnectionFailedError(f"{address.host} has no readable address.", details=text[:60]) from error
    inside = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return inside or ip


def _resolve(address: WebAddress, resolver: Resolver, deadline: Deadline) -> Sequence[str]:
    """Resolve on a separate thread, which is abandoned when the time is up."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(list(resolver(address.host, address.port))[:_MOST_ADDRESSES])
        except Exception as error:  # noqa: BLE001 - it is handed over, and raised where it is waited for
            answers.put(error)
        finally:
            _lookups.release()

    while not _lookups.acquire(timeout=deadline.pause()):
        deadline.check()
    try:
        threading.Thread(target=ask, name="web-resolve", daemon=True).start()
    except RuntimeError as error:
        _lookups.release()
        raise InternalError("No thread could be started to resolve a name.", recoverable=True) from error
    while True:
        deadline.check()
        try:
            answer = answers.get(timeout=deadline.pause())
        except queue.Empty:
            continue
        if isinstance(answer, OSError | UnicodeError):
            raise ConnectionFailedError(
                f"{address.host} could not be resolved.", details=str(answer), suggestion=_CHECK
            ) from answer
        if isinstance(answer, Exception):
            raise InternalError(f"Resolving {address.host} failed.", details=repr(answer)) from answer
        return answer
