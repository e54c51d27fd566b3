"""`knowledge-ingest --allow`: said once it holds, said again it changes, without anything being embedded again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Command


def allowed(knowledge: Command, document: str) -> str:
    shown: dict[str, Any] = json.loads(knowledge("documents", "show", document, "--json").out)
    return str(dict(shown.get("metadata", {})).get("allowed_groups", ""))


def test_the_groups_of_a_document_are_kept_until_somebody_says_otherwise(
    home: Path, real_ingest: Command, knowledge: Command
) -> None:
    folder = home / "docs"
    folder.mkdir()
    file = folder / "contract.md"
    file.write_text("# Contract\n\n## 1 Price\n\nThe price shall be paid.\n")
    assert real_ingest("--allow", "legal", "--allow", "board", str(folder)).code == 0
    assert allowed(knowledge, "contract") == "board, legal"
    assert real_ingest(str(folder)).code == 0
    assert allowed(knowledge, "contract") == "board, legal"
    changed = real_ingest("--allow", "legal", str(folder), "--json")
    assert json.loads(changed.out)["chunks_created"] == 1
    assert allowed(knowledge, "contract") == "legal"
    file.write_text("# Contract\n\n## 1 Price\n\nThe price shall be paid at once.\n")
    assert real_ingest(str(folder)).code == 0
    assert allowed(knowledge, "contract") == "legal"
    assert real_ingest("--allow", "*", str(folder)).code == 0
    assert allowed(knowledge, "contract") == "*"
    refused = real_ingest("--allow", "a,b", str(folder))
    assert refused.code != 0
    assert "without a comma" in refused.err
