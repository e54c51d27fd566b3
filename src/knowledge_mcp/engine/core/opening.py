"""Choose the store of a run: the configured one, otherwise its fallback, once at the start (clarification 5).

There is no in-memory fallback, no read-only start, and no queue for later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, KnowledgeError, TimedOutError
from knowledge_mcp.ports import Store
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import without_retries

_logger = logging.getLogger(__name__)

_UNAVAILABLE = (ConnectionFailedError, TimedOutError)
"""Failures that select the fallback; a refused key or a wrong setting must be fixed by the operator."""


@dataclass(frozen=True, slots=True)
class StoreCandidate:
    """A store that may be used.

    Attributes:
        backend: its name, as in `VECTOR_STORE`.
        open: creates it; nothing is connected before its first call.
        variables: settings to check if it cannot be reached.
    """

    backend: str
    open: Callable[[], Store]
    variables: tuple[str, ...]


def open_first(candidates: Sequence[StoreCandidate], collection: str) -> tuple[Store, str]:
    """Open the first store that responds; return it and why an earlier one was skipped, empty for the first.

    Args:
        candidates: in order of preference.
        collection: read to see whether the store responds.

    Raises:
        ConnectionFailedError: none responds; names those tried, the reasons and the variables to check.
        KnowledgeError: the first one fails for another reason (credentials, layout, settings).
    """
    failures: list[tuple[StoreCandidate, KnowledgeError]] = []
    for candidate in candidates:
        store: Store | None = None
        try:
            store = candidate.open()
            with without_retries() if candidate is not candidates[-1] else nullcontext():  # retry only the last one
                store.open(collection).info()
        except KnowledgeError as exc:
            if store is not None:
                store.close()
            # a fallback that is not installed or misconfigured is just not available
            if not isinstance(exc, _UNAVAILABLE) and not (failures and isinstance(exc, ConfigError)):
                raise
            failures.append((candidate, exc))
            continue
        if not failures:
            return store, ""
        first, error = failures[0]
        reason = f"{first.backend} does not answer ({error.message}); {store.identity.backend} is used instead."
        log_event(
            _logger, logging.WARNING, "vector_store_fallback",
            configured=first.backend, used=store.identity.backend, reason=error.message,
        )  # fmt: skip
        return store, reason
    raise _none_answers(failures)


def _none_answers(failures: Sequence[tuple[StoreCandidate, KnowledgeError]]) -> ConnectionFailedError:
    names = " and ".join(candidate.backend for candidate, _ in failures)
    lines = [
        f"{candidate.backend}: {error.message} {error.details}".rstrip() + f" (check {', '.join(candidate.variables)})"
        for candidate, error in failures
    ]
    variables = list(dict.fromkeys(name for candidate, _ in failures for name in candidate.variables))
    return ConnectionFailedError(
        f"No vector store answers: {names} {'were' if len(failures) > 1 else 'was'} tried.",
        details="\n".join(lines),
        suggestion=f"Start one of them, or check {', '.join(variables)}.",
    )
