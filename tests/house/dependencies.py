"""What the project declares, what it imports and what it explains of its dependencies."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.house.source import PACKAGE, imported_modules, package_modules

# Import names that are not the distribution's own name.
IMPORT_NAMES = {
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "google": "protobuf",
    "grpc": "grpcio",
    "jwt": "pyjwt",
    "pil": "pillow",
    "quicktok": "quicktok-v1",
    "markdown_it": "markdown-it-py",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
    "stemmer": "pystemmer",
    "yaml": "pyyaml",
}

# Packages that several distributions share, by the longest beginning of what is imported.
SHARED = {
    "opentelemetry.exporter": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry": "opentelemetry-api",
}


def normal(name: str) -> str:
    """Return a distribution's name in the one form in which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _names(requirements: Iterable[str]) -> set[str]:
    return {normal(re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]) for requirement in requirements}


def declared(root: Path, *, extras: bool = True) -> set[str]:
    """Return the distributions that pyproject.toml asks for at run time, with those of the extras or without."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = _names(project.get("dependencies", []))
    if extras:
        names |= {name for extra in project.get("optional-dependencies", {}).values() for name in _names(extra)}
    return names - {normal(project["name"])}


def imported(root: Path) -> dict[str, str]:
    """Return the distributions that the package imports, each with a place where it does."""
    found: dict[str, str] = {}
    for module in package_modules(root):
        for name, line in imported_modules(module.tree):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top != PACKAGE:
                found.setdefault(_distribution(name), f"{module.path}:{line}")
    return found


def _distribution(name: str) -> str:
    """Name the distribution that brings an import."""
    for beginning, distribution in SHARED.items():
        if f"{name}.".startswith(f"{beginning}."):
            return distribution
    top = name.split(".", maxsplit=1)[0]
    return normal(IMPORT_NAMES.get(top.lower(), top))


def unexplained(root: Path, record: Path) -> list[str]:
    """Return the declared distributions for which the record has no line of its own, such as "- `numpy`: why"."""
    explained = {
        normal(name) for name in re.findall(r"^- `([^`]+)`:", record.read_text(encoding="utf-8"), re.MULTILINE)
    }
    expected = declared(root)
    return sorted(
        [f"{name} is declared and not explained" for name in expected - explained]
        + [f"{name} is explained and not declared" for name in explained - expected]
    )
