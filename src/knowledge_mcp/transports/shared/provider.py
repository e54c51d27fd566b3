"""One service for each surface: created on first use, warmed up in the background, closed at the end."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from knowledge_mcp.model.errors import AuthError, InternalError, KnowledgeError
from knowledge_mcp.model.rights import Rights

logger = logging.getLogger(__name__)


class SurfaceService(Protocol):
    """The service behind one surface's tools: a Knowledge, a Library, or another."""

    def warm_up(self) -> None:
        """Load what the first call needs."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


D = TypeVar("D", bound=SurfaceService)


class KnowledgeProvider(Generic[D]):
    """Hold one service; thread-safe.

    Args:
        factory: creates it, called once; if it fails, the next call tries again.
    """

    def __init__(self, factory: Callable[[], D]) -> None:
        self._factory = factory
        self._lock = threading.Lock()
        self._knowledge: D | None = None
        self._warming: threading.Thread | None = None
        self._closed = False

    def get(self) -> D:
        """Return it, created on first use; blocking.

        Raises:
            KnowledgeError: it cannot be created, or was already closed.
        """
        with self._lock:
            if self._closed:
                raise InternalError("The server is shutting down.", recoverable=True, suggestion="Start it again.")
            if self._knowledge is None:
                self._knowledge = self._factory()
            return self._knowledge

    def start_warm_up(self, *, delay: float = 0.0) -> None:
        """Create it and load what the first query needs, on a separate thread; only the first call has an effect.

        Args:
            delay: seconds to wait first, so that it does not compete with a response about to be sent.
        """
        with self._lock:
            if self._warming is not None or self._closed:
                return
            self._warming = threading.Timer(delay, self._warm_up) if delay else threading.Thread(target=self._warm_up)
            self._warming.daemon = True
            self._warming.name = "knowledge warm-up"
            self._warming.start()

    def close(self, *, patience: float = 10.0) -> None:
        """Close the service; waits at most `patience` seconds for a running warm-up. Idempotent."""
        warming = self._warming
        if isinstance(warming, threading.Timer):
            warming.cancel()
        if warming is not None and warming is not threading.current_thread():
            warming.join(patience)
        if not self._lock.acquire(timeout=patience):
            logger.warning("the knowledge base is still being opened; it will be closed when the process ends")
            return
        try:
            self._closed = True
            knowledge, self._knowledge = self._knowledge, None
        finally:
            self._lock.release()
        if knowledge is not None:
            try:
                knowledge.close()
            except KnowledgeError as exc:
                logger.warning("the knowledge base did not close cleanly: %s", exc.message)

    def _warm_up(self) -> None:
        try:
            self.get().warm_up()
        except KnowledgeError as exc:
            # The first caller gets the same error in full; a warm-up has nobody to report to.
            logger.warning("warm-up failed: %s", exc.message)
        except Exception:
            logger.exception("warm-up crashed")


class KnowledgeProviders:
    """Hold one provider for each surface: every surface has its own collection and way of reading.

    Args:
        factory: creates the service of a surface by name.
        surfaces: their names.
    """

    def __init__(self, factory: Callable[[str], SurfaceService], surfaces: Sequence[str]) -> None:
        self._providers = {name: KnowledgeProvider(partial(factory, name)) for name in surfaces}

    def get(self, surface: str) -> Any:
        """Return one surface's service, created on first use; blocking; errors as for the provider."""
        return self._providers[surface].get()

    def start_warm_up(self, *, delay: float = 0.0) -> None:
        """Warm up all; only the first call has an effect."""
        for provider in self._providers.values():
            provider.start_warm_up(delay=delay)

    def close(self, *, patience: float = 10.0) -> None:
        """Close all; idempotent."""
        for provider in self._providers.values():
            provider.close(patience=patience)


def restrict_service(service: Any, rights: Rights) -> Any:
    """Return the service behind a surface's tools, restricted to what a caller may read.

    Args:
        service: a Library, a Knowledge, or the repository service.
        rights: the read permissions.

    Raises:
        AuthError: it cannot apply permissions: it is remote and would receive this server's key, or has no collections.
    """
    if rights.are_full:
        return service
    seen_by = getattr(service, "seen_by", None)
    if seen_by is None:
        raise AuthError(
            "This server cannot filter documents by the rights of a key.",
            suggestion="Use a key with all rights, or connect to the server that stores the documents.",
        )
    return seen_by(rights)


def crash(what: str, exc: BaseException) -> InternalError:
    """Log an unexpected exception under an incident number; return an error with only that number."""
    incident = secrets.token_hex(4)
    logger.error("%s crashed (incident %s)", what, incident, exc_info=exc)
    return InternalError(
        "The server failed to answer.",
        details=f"incident {incident}",
        suggestion="Report the incident number; the server's log has the cause.",
    )
