"""Convert every file of a folder by the product's own service, and print the answers as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from knowledge_mcp import wiring
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.settings import read_settings


def main(folder: Path) -> None:
    """Print what became of each file: its text, or why there is none."""
    service = wiring.build_service(read_settings().settings, surface="convert", roots=(folder,))
    answers: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        try:
            answers[path.name] = service.convert(str(path)).text[:2000]
        except KnowledgeError as error:
            answers[path.name] = f"{error.code.value}: {error.message}"
    service.close()
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
