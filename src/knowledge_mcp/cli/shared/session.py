"""Shared by the `knowledge` commands: common options, an open knowledge base, error handling, JSON output."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

import typer
from typer.core import TyperGroup
from typer.main import get_command

from knowledge_mcp import __version__
from knowledge_mcp.cli.shared.failures import ExitCode, confirm, exit_code_of, in_commands, print_failure
from knowledge_mcp.cli.shared.logs import set_up_logging
from knowledge_mcp.cli.shared.output import say, write_json
from knowledge_mcp.model.collection import GIVEN, StoreName
from knowledge_mcp.model.errors import (
    ConfigError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    reason_of,
)
from knowledge_mcp.support.retry import without_retries

if TYPE_CHECKING:
    from pydantic import BaseModel

    from knowledge_mcp.ports import Knowledge, Store
    from knowledge_mcp.settings import Reading, Settings
    from knowledge_mcp.surfaces.contract import Response

_Model = TypeVar("_Model", bound="BaseModel")
_BROKEN = re.compile("[\ud800-\udfff]")
"""What Python makes of the bytes of an argument that are not UTF-8."""
CONTEXT = {"help_option_names": ["--help", "-h"], "max_content_width": 120}
"""Settings of every command: its help options, and the width of the help."""


def _show_version(context: typer.Context, requested: bool) -> None:
    if requested:
        typer.echo(f"{context.find_root().info_name} {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


def run_command(app: typer.Typer, name: str) -> None:
    """Run a command under its name; ends the process with its exit code.

    Letters that the encoding of stdout lacks are written as escapes, so that no answer fails because of them.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and sys.stdout.errors == "strict":
        reconfigure(errors="backslashreplace")
    try:
        sys.exit(cast("int | None", _build_command(app)(prog_name=name, standalone_mode=False)))
    except UsageError as exc:
        exc.message = exc.message.removeprefix("Value error, ")  # pydantic, which checks the values, puts it there
        exc.show()
        sys.exit(exc.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(ExitCode.INTERRUPTED)
    except OSError as exc:
        with suppress(OSError):  # stderr may be on a full disk too
            print_failure(_refused_by_system(exc))
        sys.exit(ExitCode.FAILURE)


UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""Base class of typer's errors of arguments and options; typer exports only `BadParameter`."""


@cache
def _build_command(app: typer.Typer) -> Callable[..., object]:
    """Build a command with its subcommands, once per process: typer takes 0.15 s for it."""
    return get_command(app)


_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_LONGEST = 500
"""Maximum characters of a value, as in front matter."""


def parse_pairs(values: Sequence[str] | None) -> dict[str, str]:
    """Parse `KEY=VALUE` pairs; the values of a repeated key are joined by commas.

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


def parse_labels(values: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Parse the pairs for ingested documents, and list their names, so that later versions keep them.

    Raises:
        typer.BadParameter: as for `parse_pairs`, or a name is set by the ingest itself.
    """
    from knowledge_mcp.engine.ingest.plan import NOT_ITS_OWN

    pairs = parse_pairs(values)
    for name in NOT_ITS_OWN & pairs.keys():
        raise typer.BadParameter(f"'{name}' is set by the ingest itself.", param_hint="--meta")
    return (*pairs.items(), (GIVEN, ", ".join(pairs))) if pairs else ()


R = TypeVar("R", bound="Response")
_logger = logging.getLogger(__name__)

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show INFO logs and the technical details of errors.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="JSON or YAML file with settings; the environment and .env take precedence."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm_removal(question: str, *, yes: bool, otherwise: str = "Nothing was removed") -> None:
    """Ask for confirmation, unless it was given by `--yes`.

    Raises:
        typer.Exit: it was not given.
    """
    if not yes and not confirm(question, otherwise):
        raise typer.Exit(ExitCode.FAILURE)


DocumentId = Annotated[str, typer.Argument(metavar="DOCUMENT_ID", help="Id, as shown by `knowledge documents list`.")]


class GroupWithDefault(TyperGroup):
    """Treat arguments that do not begin with a command name as arguments of the default command."""

    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command's name before its arguments."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def command_group(help: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Create a group of commands that shows its help if no command is given."""
    return typer.Typer(cls=cls, no_args_is_help=True, help=help, rich_markup_mode=None, pretty_exceptions_enable=False)


@contextmanager
def guard(*, verbose: bool = False, as_json: bool = False) -> Generator[None]:
    """Turn every failure inside into a clear message on stderr and an exit code.

    With `as_json` the error object `{"error": {...}}` goes to stdout as well.
    """
    try:
        yield
    except KnowledgeError as exc:
        report_failure(exc, verbose=verbose, as_json=as_json)
        raise typer.Exit(exit_code_of(exc)) from exc
    except KeyboardInterrupt as exc:
        sys.stderr.write("Interrupted.\n")
        raise typer.Exit(ExitCode.INTERRUPTED) from exc
    except BrokenPipeError as exc:
        sys.stderr.close()
        raise typer.Exit(ExitCode.FAILURE) from exc
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as exc:
        _logger.debug("command failed", exc_info=True)
        error: KnowledgeError = InternalError(f"The command failed. {reason_of(exc)}")
        if isinstance(exc, OSError):
            error = _refused_by_system(exc)
        elif isinstance(exc, UnicodeEncodeError) and (broken := [each for each in sys.argv if _BROKEN.search(each)]):
            error = InvalidInputError(f"An argument is not valid Unicode text: {broken[0]}")
        report_failure(error, verbose=verbose, as_json=as_json)
        raise typer.Exit(ExitCode.FAILURE) from exc


def _refused_by_system(error: OSError) -> InternalError:
    return InternalError(
        f"{error.filename or 'The output or a file'} cannot be written or read: {error.strerror or error}.",
        suggestion="Check the free disk space and the permissions, then try again.",
    )


def report_failure(error: KnowledgeError, *, verbose: bool, as_json: bool) -> None:
    """Write an error to stderr, and with `as_json` as an object to stdout too."""
    print_failure(error, verbose=verbose)
    if as_json:
        from knowledge_mcp.surfaces.answers import render_error

        rendered = render_error(error)
        rendered["error"]["suggestion"] = in_commands(rendered["error"]["suggestion"])
        write_json(rendered)


def reading_of(config: Path | None) -> Reading:
    """Read the settings with all their errors."""
    from knowledge_mcp.settings import read_settings

    return read_settings(config)


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of most commands, with the error handling, settings and knowledge base that depend on them.

    Attributes:
        as_json: write JSON, for errors too.
        collection: instead of the configured one.
        config: a settings file.
        verbose: show technical details, and log from INFO if the settings have no level.
    """

    as_json: AsJson = False
    collection: Annotated[
        str | None, typer.Option("--collection", help="Collection to use. Default: QDRANT_COLLECTION.")
    ] = None
    config: ConfigFile = None
    verbose: Verbose = False

    def guard(self) -> AbstractContextManager[None]:
        """Handle every failure inside."""
        return guard(verbose=self.verbose, as_json=self.as_json)

    def settings(self, *, surface: str = "standards", quiet: str = "WARNING") -> Settings:
        """Read the settings and set up logging.

        Args:
            surface: the surface to check the settings for.
            quiet: the level without `verbose` if the settings have none.

        Raises:
            ConfigError: one for all errors in the settings.
        """
        from knowledge_mcp.settings import load_settings

        reading = reading_of(self.config)
        has_level = any(value.variable.field == "log_level" and value.origin != "default" for value in reading.values)
        level = reading.settings.log_level if has_level else "INFO" if self.verbose else quiet
        set_up_logging(level, reading.settings.log_format)
        settings = load_settings(self.config, surface=surface)
        return settings if self.collection is None else settings.model_copy(update={"collection": self.collection})

    @contextmanager
    def open_settings(self) -> Generator[Settings]:
        """Read the settings for one command, and handle its errors."""
        with self.guard():
            yield self.settings()

    @contextmanager
    def open_knowledge(self) -> Generator[Knowledge]:
        """Open the knowledge base for one command, handle its errors, and close it."""
        with self.open_settings() as settings:
            from knowledge_mcp import wiring

            with closing(wiring.build_knowledge(settings)) as knowledge:
                yield knowledge

    def tell(self, values: Mapping[str, Any], text: str) -> None:
        """Report what was done, as JSON or as a sentence."""
        if self.as_json:
            write_json(values)
        else:
            say(text)

    def show(self, answer: R, how: Callable[[R], object]) -> None:
        """Write a tool's answer, as JSON or formatted for people."""
        if self.as_json:
            write_json(answer.sent())
        else:
            how(answer)


@dataclass(frozen=True, kw_only=True)
class StoreOptions(CommandOptions):
    """The same for a command that is not about one collection."""

    collection: str | None = field(default=None, init=False)


@dataclass(frozen=True, kw_only=True)
class TextOptions(CommandOptions):
    """The same for a command with its own output format instead of JSON."""

    as_json: bool = field(default=False, init=False)


def load(model: type[_Model], **values: Any) -> _Model:
    """Build a tool's request from a command's arguments; None leaves a field at its default.

    Raises:
        InvalidInputError: the tool does not allow a value; lists all of these.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as exc:
        wrong = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
            for each in exc.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise InvalidInputError(f"Invalid arguments: {'; '.join(wrong)}.") from exc


def open_store(
    settings: Settings, backend: str, path: Path | None = None, *, existing: bool = False, untouched: bool = False
) -> Store:
    """Open a store as configured in the settings, and check that it answers.

    Args:
        settings: the settings; the store they select is ignored.
        backend: a name of the registry.
        path: folder of an embedded store, instead of DATA_PATH or CHROMADB_PATH.
        existing: refuse an embedded store without a file, instead of creating an empty one.
        untouched: return an empty store in memory instead of an embedded one without a file.

    Raises:
        NotFoundError: the store's file does not exist.
        ConfigError: this build does not include the store, or its settings are incomplete.
        InvalidInputError: a folder was given for a store that is a server.
        ConnectionFailedError, TimedOutError, AuthError: it does not answer.
    """
    from knowledge_mcp import registry, wiring
    from knowledge_mcp.settings import contradictions

    if backend not in registry.STORES:
        raise ConfigError(
            f"This build does not include the store '{backend}'.",
            suggestion=f"Available: {', '.join(each for each in get_args(StoreName) if each in registry.STORES)}.",
        )
    chosen = settings.model_copy(update={"vector_store": backend, **_at(backend, path)})
    problems = contradictions(chosen)
    if problems:
        raise ConfigError(
            problems[0],
            details="\n".join(problems),
            suggestion="Set the missing values, then run the same command again.",
        )
    file, variable = _file_of(chosen)
    if file is not None and not file.exists():
        if existing:
            raise NotFoundError(f"There is no store at '{file}'.", suggestion=f"Set {variable}, or pass its folder.")
        if untouched:
            return wiring.build_store(chosen, "memory")
    store = wiring.build_store(chosen, backend)
    try:
        with without_retries():
            store.collections()
    except BaseException:
        store.close()
        raise
    return store


def _file_of(settings: Settings) -> tuple[Path | None, str]:
    """Return the file of an embedded store (None for a server) and the variable that sets its location."""
    if settings.vector_store == "sqlite":
        return settings.store_file, "DATA_PATH"
    if settings.vector_store == "chromadb" and settings.chromadb_host is None:
        return settings.chromadb_path / "chroma.sqlite3", "CHROMADB_PATH"
    return None, ""


def _at(backend: str, path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    if backend == "sqlite":
        return {"data_path": path.absolute()}
    if backend == "chromadb":
        return {"chromadb_path": path.absolute(), "chromadb_host": None}
    raise InvalidInputError(
        f"A folder was passed for '{backend}', which is a server.",
        suggestion="Set its address in the settings instead.",
    )
