"""Opens the PostgreSQL store from the settings; importing this module does not need the client library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.model.errors import ConfigError, needing
from knowledge_mcp.ports import Analyser
from knowledge_mcp.support.distribution import Secret

if TYPE_CHECKING:
    from knowledge_mcp.stores.postgres.store import PostgresStore


class PostgresOptions(Protocol):
    """The settings that this store needs."""

    @property
    def database_url(self) -> Secret | None: ...


def from_options(options: PostgresOptions, analyser: Analyser, _: object = None) -> PostgresStore:
    """Create the store that the settings specify; it connects on first use.

    Raises:
        ConfigError: the connection string is missing or invalid, or the client is not installed.
    """
    if options.database_url is None:
        raise ConfigError("VECTOR_STORE=postgres needs DATABASE_URL, which is not set.")
    with needing("postgres", "The PostgreSQL client is not installed."):
        from knowledge_mcp.stores.postgres.store import PostgresStore
    return PostgresStore(options.database_url.get_secret_value(), analyser)
