"""What the embedding models of OpenAI can do and cost, whoever serves them: OpenAI itself or Azure."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.errors import ConfigError

__all__ = ["DEFAULT_MODEL", "MODELS", "RemoteModel", "choose_model", "known_name"]

DEFAULT_MODEL = "text-embedding-3-small"
FEWEST_DIMENSIONS = 256


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """Describe a model as it is used.

    Attributes:
        name: as the provider spells it.
        dimensions: components of the vectors that are wanted.
        asked: dimensions to name in each request; None where the model gives them anyway or takes no such parameter.
        price: USD for a million tokens, None where it is not known.
    """

    name: str
    dimensions: int
    asked: int | None
    price: float | None


@dataclass(frozen=True, slots=True)
class _Ability:
    dimensions: int
    shortens: bool
    price: float


MODELS = {
    "text-embedding-3-small": _Ability(1536, shortens=True, price=0.02),
    "text-embedding-3-large": _Ability(3072, shortens=True, price=0.13),
    "text-embedding-ada-002": _Ability(1536, shortens=False, price=0.10),
}
"""Components of the whole vector, whether shorter ones may be asked for, and the list price in USD."""


def choose_model(name: str, dimensions: int | None, price: float | None = None) -> RemoteModel:
    """Check the wanted dimensions against what the model gives.

    Args:
        name: the model.
        dimensions: as wanted, None for the model's own.
        price: USD for a million tokens where it differs from the list.

    Raises:
        ConfigError: the model cannot give so many, or it is not known and its dimensions are not told.
    """
    ability = MODELS.get(name)
    if ability is None:
        if dimensions is None:
            raise ConfigError(
                f"How many components the vectors of '{name}' have is not known.",
                details=f"Known models: {', '.join(MODELS)}.",
                suggestion="Set EMBEDDING_DIMENSIONS to what the model gives, or choose a known EMBEDDING_MODEL.",
            )
        return RemoteModel(name, dimensions, None, price)
    wanted = ability.dimensions if dimensions is None else dimensions
    if not ability.shortens and wanted != ability.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {wanted}, but {name} always gives {ability.dimensions}.",
            suggestion="Unset EMBEDDING_DIMENSIONS, or choose text-embedding-3-small or text-embedding-3-large.",
        )
    if not FEWEST_DIMENSIONS <= wanted <= ability.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {wanted}, but {name} gives {FEWEST_DIMENSIONS} to {ability.dimensions}.",
            suggestion="Choose a number in that range, or unset EMBEDDING_DIMENSIONS.",
        )
    asked = None if wanted == ability.dimensions else wanted
    return RemoteModel(name, wanted, asked, ability.price if price is None else price)


def known_name(answered: str) -> str | None:
    """Find the known model that a service means by a name such as `text-embedding-ada-002-v2`; None if it is none."""
    return next((name for name in MODELS if answered == name or answered.startswith(f"{name}-")), None)
