"""Write docs/settings.md, docs/cli.md and .env.example from the settings and commands themselves.

`python tools/generate_docs.py` writes them; with `--check` it only says which are out of date (exit code 1).
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer.main

from knowledge_mcp.cli.ingest import app as ingest
from knowledge_mcp.cli.knowledge.main import app as admin
from knowledge_mcp.cli.repositories.repositories import app as repositories
from knowledge_mcp.cli.serve import mcp, rest
from knowledge_mcp.model.collection import ProviderName, StoreName
from knowledge_mcp.settings import Variable, variables

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by tools/generate_docs.py; edit the settings and commands, not this page. -->"

SETTINGS_HEAD = """\
# Settings

Every setting is an environment variable. The first value found in this order is used:

1. the environment;
2. the nearest `.env` file, from the working directory upwards (relative paths in it are relative to the file);
3. the file given with `--config`, JSON or YAML, where `${NAME:default}` takes the value of a variable;
4. the default.

An empty value counts as unset. `knowledge config show` shows each current value and where it comes from, with secrets
masked; `knowledge doctor` checks the values, and finds misspelt names. All problems are reported together, with exit
code 3. `.env.example` lists every setting.
"""

COMMANDS_HEAD = """\
# Commands

`knowledge-ingest` ingests documents, `knowledge-mcp` serves them to assistants and `rag-api` to programs, `knowledge`
searches and manages them, and `pk-mcp` indexes and searches git repositories.
Results go to stdout; progress, questions, logs and errors go to stderr.
"""


def settings_page() -> str:
    """Write the reference of all settings, one table a group."""
    parts = [NOTE, "", SETTINGS_HEAD, _adapters(), ""]
    for group, found in _groups().items():
        parts += [f"## {group}", "", "| Setting | Default | Allowed | What it does |", "|---|---|---|---|"]
        parts += [_settings_row(each) for each in found]
        parts.append("")
    parts += ["## Keys of a configuration file", "", "Each setting's own name works as a key, and these names too:", ""]
    parts += ["| Key | Setting |", "|---|---|"]
    parts += [f"| `{each.config}` | `{each.name}` |" for each in variables() if each.config]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"


def _groups() -> dict[str, list[Variable]]:
    """Gather the settings by group, in the order in which the groups first appear."""
    found: dict[str, list[Variable]] = {}
    for each in variables():
        found.setdefault(each.group, []).append(each)
    return found


def _adapters() -> str:
    """Say which stores and embedding providers the settings can select in this version."""
    stores, providers = (
        ", ".join(f"`{name}`" for name in sorted(get_args(names))) for names in (StoreName, ProviderName)
    )
    return (
        f"This version has these vector stores: {stores}; and these embedding providers: {providers}.\n"
        "Selecting any other one, by name, address or key, is an error at startup: there is no fallback."
    )


def _settings_row(each: Variable) -> str:
    names = ", ".join(f"`{name}`" for name in (each.name, *each.older))
    allowed = f"{each.low:.12g} to {each.high:.12g}" if each.low is not None and each.high is not None else ""
    text = each.text + (" Secret." if each.secret else "")
    return f"| {names} | {f'`{each.default}`' if each.default else ''} | {allowed} | {text.replace('|', '/')} |"


def env_example() -> str:
    """Write a template with every setting commented out."""
    lines = [
        "# Copy this file to .env and remove the # from the settings you want to change. All settings are optional.",
        "# Environment variables take precedence over this file. docs/settings.md explains each setting.",
    ]
    for group, found in _groups().items():
        lines += ["", f"# ---- {group}"]
        for each in found:
            lines += ["", *(f"# {line}" for line in textwrap.wrap(each.text, 100))]
            value = each.default or each.example
            lines.append(f"# {each.name}={value}")
            for name in each.older:
                lines += ["# or, under another name,", f"# {name}={value}"]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Write the reference of all commands with every option."""
    parts = [NOTE, "", COMMANDS_HEAD]
    parts += _command("knowledge-ingest", typer.main.get_command(ingest), 2)
    parts += _server("knowledge-mcp", mcp.build_parser())
    parts += _server("rag-api", rest.build_parser())
    parts += _command("knowledge", typer.main.get_command(admin), 2)
    parts += _command("pk-mcp", typer.main.get_command(repositories), 2)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip("\n") + "\n"


def _command(name: str, command: Any, level: int) -> Iterator[str]:
    children: dict[str, Any] = getattr(command, "commands", {})
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join([name, "COMMAND" if children else "[OPTIONS]", *(each.metavar or each.name for each in arguments)])
    yield from ("#" * level + f" `{name}`", "", "```text", usage, "```", "", *_help(command), "")
    if arguments or options:
        yield from ("| Option | Default | What it does |", "|---|---|---|")
        yield from (_row(each.metavar or each.name, each) for each in arguments)
        yield from (_row(", ".join([*each.opts, *each.secondary_opts]), each) for each in options)
        yield ""
    for child, its in children.items():
        yield from _command(f"{name} {child}", its, level + 1)


def _help(command: Any) -> Iterator[str]:
    """Turn a help text into Markdown: text that must not be wrapped becomes a code block."""
    for paragraph in str(command.help or "").split("\n\n"):
        text = paragraph.strip("\n")
        if text.startswith("\b"):
            head, *lines = text.removeprefix("\b").strip("\n").split("\n")
            yield head
            if lines:
                yield from ("", "```sh", *(line.strip() for line in lines), "```")
        elif text.startswith("Example: "):
            yield from ("```sh", text.removeprefix("Example: "), "```")
        else:
            yield text
        yield ""


def _row(name: str, parameter: Any) -> str:
    default = parameter.default
    if isinstance(default, Enum):
        default = default.value
    shown = "" if default in {None, False} or callable(default) or parameter.required else f"`{default}`"
    if parameter.secondary_opts:
        shown = f"`{parameter.opts[0] if default else parameter.secondary_opts[0]}`"
    return f"| `{name}` | {shown} | {str(parameter.help or '').replace('|', '/')} |"


def _server(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from (f"## `{name}`", "", "```text", f"{name} [OPTIONS]", "```", "", parser.description or "", "")
    yield from ("| Option | Default | What it does |", "|---|---|---|")
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to list them
        names = ", ".join(action.option_strings)
        default = f"`{action.default}`" if action.default and action.default != argparse.SUPPRESS else ""
        yield f"| `{names}` | {default} | {_sentence(action.help or '')} |"
    examples, _, rest = (parser.epilog or "").partition("\n\n")
    yield from (
        "",
        "```sh",
        *(line.strip() for line in examples.splitlines()[1:]),
        "```",
        "",
        _sentence(rest.strip()),
        "",
    )


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def generated() -> dict[Path, str]:
    """Return the content of each generated file, by path."""
    return {
        ROOT / "docs" / "settings.md": settings_page(),
        ROOT / "docs" / "cli.md": commands_page(),
        ROOT / ".env.example": env_example(),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files that differ, or with `--check` only list them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = bool(parser.parse_args(arguments).check)
    stale = [
        path for path, text in generated().items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(generated()[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
