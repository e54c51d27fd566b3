"""The check of what an embedding service answered: every vector whole, in its place, and of unit norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from knowledge_mcp.embedders.services.service import Service, known_name
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import ConfigError, InternalError

if TYPE_CHECKING:
    from openai.types import CreateEmbeddingResponse

__all__ = ["billed_tokens", "vectors_of"]


def vectors_of(response: CreateEmbeddingResponse, count: int, service: Service) -> list[Vector]:
    """Put the vectors into the order of the texts, by the index that each carries, and normalise them.

    Args:
        response: as the library read it, which checks no types.
        count: how many texts were sent.
        service: whom to name.

    Raises:
        InternalError: there are too few or too many, an index is missing or doubled, or a vector has the wrong number
            of components, a component that is no finite number, or nothing but zeros.
        ConfigError: another model answered than the one configured.
    """
    answered = known_name(str(response.model or ""))
    if answered is not None and answered != service.model.name and known_name(service.model.name) is not None:
        raise ConfigError(
            f"{service.name} answered with {answered}, but {service.model.name} is configured.",
            suggestion=f"Set EMBEDDING_MODEL to {answered}, or change {service.model_setting}.",
        )
    data: Sequence[object] = response.data
    if len(data) != count:
        raise _wrong(service, f"{len(data)} vectors for {count} texts")
    placed: dict[int, Vector] = {}
    for item in response.data:
        index = cast("object", item.index)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise _wrong(service, f"a vector with the index {index!r} among {count} texts")
        if index in placed:
            raise _wrong(service, f"two vectors with the index {index}")
        placed[index] = _unit(item.embedding, index, service)
    return [placed[index] for index in range(count)]


def billed_tokens(response: CreateEmbeddingResponse) -> int | None:
    """Tell how many tokens the service bills for the request, None where it does not say."""
    tokens: object = getattr(response.usage, "total_tokens", None) or getattr(response.usage, "prompt_tokens", None)
    return tokens if isinstance(tokens, int) and tokens >= 0 else None


def _unit(components: Sequence[float], index: int, service: Service) -> Vector:
    try:
        vector = np.asarray(components, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise _wrong(service, f"a vector for text {index} that holds no numbers") from exc
    wanted = service.model.dimensions
    if vector.shape != (wanted,):
        found = str(vector.shape[0]) if vector.ndim == 1 else f"a shape of {vector.shape} instead of"
        raise _wrong(
            service,
            f"a vector of {found} components for text {index}, not {wanted}",
            "Set EMBEDDING_DIMENSIONS to what the model gives, or choose another EMBEDDING_MODEL.",
        )
    if not np.isfinite(vector).all():
        raise _wrong(service, f"a vector for text {index} with a component that is no finite number")
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(vector))
    if not norm > 0.0 or not np.isfinite(norm):
        raise _wrong(service, f"a vector for text {index} that has no direction")
    return (vector / norm).astype("<f4").tobytes()


def _wrong(service: Service, what: str, suggestion: str | None = None) -> InternalError:
    return InternalError(f"{service.name} answered wrongly: {what}.", suggestion=suggestion)
