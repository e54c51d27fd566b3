"""What one setting is: its variable and all that is told of it, and the kinds of value that settings have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

__all__ = [
    "FusionName",
    "ImageSkip",
    "LogFormat",
    "LogLevel",
    "OcrEngineName",
    "Provider",
    "Quantization",
    "RerankerName",
    "StoreName",
    "Switch",
    "Variable",
    "Variant",
    "Words",
    "platform_folder",
    "setting",
]


@dataclass(frozen=True, slots=True)
class Variable:
    """Describe one setting.

    Attributes:
        name: environment variable.
        text: what it does, one or two sentences.
        group: heading in the documentation.
        surface: whose specification names it: `standards`, `planning`, `repositories`, `rag`, or `all` for ours.
        config: dotted key in a `--config` file beside its own name, empty for none.
        example: written after the commented name in `.env.example` where there is no default.
        older: other variable names that mean the same; the first name wins.
        low: smallest value allowed, None for no range.
        high: largest value allowed, None for no range.
        key: variable of the secret that is sent to this address, or that this one adds to; empty for none.
        widens: whether it says who may come in, or what may be reached.
        field: attribute of `Settings`; this and what follows is known once `Settings` is declared.
        default: as one would write it; empty where unset means something of its own (then `text` says what).
        secret: never shown, never logged.
    """

    name: str
    text: str
    group: str
    surface: str = "all"
    config: str = ""
    example: str = ""
    older: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    key: str = ""
    widens: bool = False
    field: str = ""
    default: str = ""
    secret: bool = False


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _level(value: object) -> object:
    if not isinstance(value, str):
        return value
    name = value.strip().upper()
    return {"WARN": "WARNING", "CRITICAL": "ERROR"}.get(name, name)


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_level)]
LogFormat = Annotated[Literal["text", "json"], BeforeValidator(_lower)]
Provider = Annotated[Literal["local", "openai", "azure"], BeforeValidator(_lower)]
StoreName = Annotated[Literal["sqlite", "qdrant", "chromadb"], BeforeValidator(_lower)]
Variant = Annotated[Literal["int8", "fp32"], BeforeValidator(_lower)]
OcrEngineName = Annotated[Literal["auto", "tesseract"], BeforeValidator(_lower)]
FusionName = Annotated[Literal["auto", "ranks", "scores"], BeforeValidator(_lower)]
RerankerName = Annotated[Literal["none", "local", "api"], BeforeValidator(_lower)]
ImageSkip = Annotated[Literal["sample", "strict"], BeforeValidator(_lower)]
Quantization = Annotated[Literal["none", "scalar", "binary"], BeforeValidator(_lower)]
Switch = Annotated[Literal["auto", "on", "off"], BeforeValidator(_lower)]


def setting(
    name: str,
    default: Any,
    text: str,
    *,
    group: str,
    surface: str = "all",
    config: str = "",
    example: str = "",
    older: tuple[str, ...] = (),
    ge: float | None = None,
    le: float | None = None,
    key: str = "",
    widens: bool = False,
) -> Any:
    """Declare one field of `Settings` with what `Variable` tells of it."""
    about = Variable(name, text, group, surface, config, example, older, ge, le, key, widens)
    return Field(default, ge=ge, le=le, description=text, json_schema_extra={"variable": cast("Any", about)})


def platform_folder(kind: Literal["data", "cache"]) -> Path:
    """Name this product's folder of a kind; it may not exist yet."""
    import platformdirs

    found = platformdirs.user_data_path if kind == "data" else platformdirs.user_cache_path
    return found("knowledge-mcp", appauthor=False)
