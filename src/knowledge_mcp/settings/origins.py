"""Where settings that go together come from: an address never gets a key of another source.

A `.env` is found by walking upward from the working directory, so it may be somebody else's: a folder that was
unpacked, a repository that was cloned. It must not send a key that the user gave elsewhere to an address of its own,
and one above the working directory must not say who may come in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from knowledge_mcp.settings.variables import Variable

__all__ = ["borrowed_secrets", "misplaced"]

_LIKE_A_SECRET = re.compile(r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|PASSWORD|PASS|PAT|CREDENTIALS?)(?:_|$)")
_REMEDY = "Set both in one place: the environment, that file, or a file named by --config."


def misplaced(
    table: Collection[Variable], origins: Mapping[str, str], found: Collection[str], file: Path | None, folder: Path
) -> dict[str, str]:
    """Find the settings of a `.env` that it must not make.

    Args:
        table: all settings.
        origins: by field, where its value comes from; a field that is not set is missing.
        found: the fields whose value comes from the `.env`.
        file: the `.env`.
        folder: the working directory.

    Returns:
        By field, a sentence that says why it is refused; names both settings and both sources.
    """
    if file is None:
        return {}
    fields = {variable.name: variable.field for variable in table}
    refused: dict[str, str] = {}
    for variable in table:
        if variable.field not in found:
            continue
        origin = origins.get(fields[variable.key]) if variable.key else None
        if origin is not None and fields[variable.key] not in found:
            refused[variable.field] = (
                f"{variable.name} in {file} is refused, because {variable.key} comes from elsewhere ({origin}) and "
                f"would go with it. {_REMEDY}"
            )
        elif variable.widens and file.parent != folder:
            refused[variable.field] = (
                f"{variable.name} in {file} is refused, because that file lies above the working directory {folder} "
                f"and would let others in. Set it in the environment, or in a file named by --config."
            )
    return refused


def borrowed_secrets(text: str, own: Collection[str], environment: Collection[str]) -> list[str]:
    """List the variables of the environment that a value of a `.env` refers to and that look like secrets."""
    names = re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)", text)
    return [each for each in names if each in environment and each not in own and _LIKE_A_SECRET.search(each.upper())]
