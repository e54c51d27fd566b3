"""Commands that messages advise exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import knowledge_mcp
from knowledge_mcp.cli.knowledge.main import app

_ADVISED = re.compile(r"knowledge (documents|sources|collections|models|planning|config) ([a-z-]+)")


def _advised() -> set[tuple[str, str]]:
    package = Path(knowledge_mcp.__file__).parent
    texts = (path.read_text("utf-8") for path in package.rglob("*.py"))
    return {(found[1], found[2]) for text in texts for found in _ADVISED.finditer(text)}


@pytest.mark.parametrize(("group", "name"), sorted(_advised()))
def test_a_command_that_a_message_names_exists(group: str, name: str) -> None:
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    inner = command.commands[group]
    assert isinstance(inner, TyperGroup)
    assert name in inner.commands
