"""Groups of command options, defined once as the fields of a dataclass."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any, cast, get_type_hints

import typer


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by options and arguments for its fields.

    Typer does not support such groups, so it gets the fields, after the command's own parameters. Fields that are not
    arguments of the constructor are not options. A path `-` is refused, since other programs write to stdout for it.
    """
    groups: dict[str, Any] = {}
    own: list[Parameter] = []
    grouped: list[Parameter] = []
    for each in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            groups[each.name] = each.annotation
            hints = get_type_hints(each.annotation, include_extras=True)
            grouped += [_parameter(one, hints[one.name]) for one in fields(each.annotation) if one.init]
        else:
            own.append(each.replace(kind=Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**values: Any) -> None:
        if Path("-") in (each for each in values.values() if isinstance(each, Path)):
            raise typer.BadParameter("'-' is not a file. Name a file; what is not written to one goes to stdout.")
        for name, group in groups.items():
            values[name] = group(**{one.name: values.pop(one.name) for one in fields(group) if one.init})
        command(**values)

    shown = cast("Any", run)
    shown.__signature__ = inspect.Signature([*own, *grouped])
    shown.__annotations__ = {each.name: each.annotation for each in (*own, *grouped)}
    return run


def _parameter(option: Field[Any], annotation: Any) -> Parameter:
    default = Parameter.empty if option.default is MISSING else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
