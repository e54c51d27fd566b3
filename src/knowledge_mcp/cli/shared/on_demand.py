"""A group of commands whose modules are loaded on demand, so that a command does not wait for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


class CommandPlace(NamedTuple):
    """Say where a command is, and what the list of commands says of it.

    `place` is `module:name` below `knowledge_mcp.cli`; the name is a function, or the `typer.Typer` of a group.
    `whole` names a constant of that module with the help text, if it is not the docstring.
    """

    place: str
    help: str
    whole: str = ""


class Commands(Mapping[str, Any]):
    """Load a command when it is looked up by its name."""

    def __init__(self, places: Mapping[str, CommandPlace]) -> None:
        self._places = places
        self._loaded = dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._places[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class GroupOnDemand(TyperGroup):
    """List commands from a table; subclasses say `places`."""

    places: Mapping[str, CommandPlace]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("MutableMapping[str, Any]", Commands(self.places))  # nothing is added to it

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.help) for name, each in self.places.items()])


def _load(name: str, place: CommandPlace) -> Any:
    """Import a command's module, and make the command."""
    path, _, attribute = place.place.partition(":")
    module = import_module(f"knowledge_mcp.cli.{path}")
    found = getattr(module, attribute)
    if isinstance(found, typer.Typer):
        return get_group(found)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, help=getattr(module, place.whole) if place.whole else None)(found)
    return get_command(app)
