"""Names of this machine, as they stand in addresses and as one listens on them."""

from __future__ import annotations

import ipaddress

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Tell whether a host, a name or an address without brackets, is reached from this machine only.

    Of names only `localhost` is: `127.example.org` is a name as any other, whose owner says where it leads.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
