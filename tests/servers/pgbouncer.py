"""A real PgBouncer in transaction mode in front of a test's PostgreSQL server, on a free port of the loopback.

```python
with Pooler(server) as pooler:
    store = PostgresStore(pooler.through(server.url("test")), analyser)
```

A transaction gets whichever connection to the server is free, so whatever outlived one would be met by another.
PgBouncer refuses to run as root: there it runs as `nobody`.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

from tests.machine import needs
from tests.servers.postgres_server import PostgresServer, as_nobody, free_port
from tests.servers.running import ServerProcess

CONNECTIONS = 4
"""To each database: fewer than a store has threads in these tests, so that they share."""


class Pooler(ServerProcess):
    """Run PgBouncer until the end of a `with` block; leaves the test where the program is missing.

    Args:
        server: that it stands in front of.
        certificate: file of a key and its certificate; clients must speak TLS then.
        clients: certificate of the authority that must have signed the clients' own, in text; "" asks for none.
    """

    def __init__(self, server: PostgresServer, *, certificate: Path | None = None, clients: str = "") -> None:
        self._program = needs("pgbouncer")
        self._server = server
        self._port = free_port()
        self._certificate, self._clients = certificate, clients
        self._folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))

    def start(self) -> None:
        """Start it, again on the same port, and wait until it takes connections."""
        users = self._folder / "users"
        users.write_text('"postgres" ""\n')
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={self._server.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self._port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {users}\n"
            f"pool_mode = transaction\ndefault_pool_size = {CONNECTIONS}\nmax_client_conn = 200\n{self._tls()}"
        )
        if os.geteuid() == 0:
            for each in (self._folder, *self._folder.iterdir()):
                shutil.chown(each, "nobody")
        self._run_until_it_answers([self._program, str(settings)], self._folder / "log", **as_nobody())

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        shutil.rmtree(self._folder)

    def through(self, url: str) -> str:
        """Name a database of the server by way of the pooler."""
        return url.replace(f":{self._server.port}/", f":{self._port}/")

    def _tls(self) -> str:
        if self._certificate is None:
            return ""
        server, authority = self._folder / "server.pem", self._folder / "clients.pem"
        server.write_bytes(self._certificate.read_bytes())
        authority.write_text(self._clients)
        asked = f"verify-full\nclient_tls_ca_file = {authority}" if self._clients else "require"
        return f"client_tls_sslmode = {asked}\nclient_tls_key_file = {server}\nclient_tls_cert_file = {server}\n"

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
