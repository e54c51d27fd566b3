"""`--meta KEY=VALUE`, as commands take it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import typer

from knowledge_mcp.model.collection import GIVEN

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_LONGEST = 500
"""Characters of a value that are kept, as of front matter."""


def pairs_of(values: Sequence[str] | None) -> dict[str, str]:
    """Read `KEY=VALUE` pairs; a key that comes twice lists its values by comma.

    Raises:
        typer.BadParameter: one has another form.
    """
    pairs: dict[str, str] = {}
    for each in values or ():
        name, _, value = (part.strip() for part in each.partition("="))
        name = name.lower().replace("-", "_")
        if not _NAME.fullmatch(name) or not value or len(value) > _LONGEST or "\n" in value:
            raise typer.BadParameter(f"'{each[:80]}' is not KEY=VALUE.", param_hint="--meta")
        pairs[name] = f"{pairs[name]}, {value}" if name in pairs else value
    return pairs


def given_labels(values: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Read pairs for documents that are ingested, and their names, so that later versions keep them.

    Raises:
        typer.BadParameter: as `pairs_of`, or a name is the ingest's own.
    """
    from knowledge_mcp.engine.ingest.plan import NOT_ITS_OWN

    pairs = pairs_of(values)
    for name in NOT_ITS_OWN & pairs.keys():
        raise typer.BadParameter(f"'{name}' is what the ingest itself says of a document.", param_hint="--meta")
    return (*pairs.items(), (GIVEN, ", ".join(pairs))) if pairs else ()
