"""Names of this machine, in addresses and for listening."""

from __future__ import annotations

import ipaddress

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Return whether a host (a name, or an address without brackets) is reachable only from this machine.

    The only such name is `localhost`: `127.example.org` is an ordinary name that its owner can point anywhere.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
