"""Print what the project needs, a requirement a line, for pip to install with the hashes of requirements.lock.

    python tools/requirements.py              the project itself
    python tools/requirements.py api qdrant   with these extras

pip checks hashes of packages, never of a folder, so the project itself is installed without its needs afterwards.
Uses the standard library alone: it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SELF = re.compile(r"\[(?P<extras>[^\]]*)\]")


def needed(project: dict[str, Any], extras: list[str]) -> Iterator[str]:
    """Yield the requirements of a `[project]` table and of some of its extras; what names the project is followed.

    Raises:
        KeyError: there is no such extra.
    """
    yield from project["dependencies"]
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            if requirement.startswith(f"{project['name']}["):
                inner = _SELF.search(requirement)
                yield from needed(project | {"dependencies": []}, inner["extras"].split(",") if inner else [])
            else:
                yield requirement


if __name__ == "__main__":
    here = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(dict.fromkeys(needed(here, sys.argv[1:]))))
