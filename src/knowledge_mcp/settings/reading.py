"""Read the settings once: environment over `.env` over the `--config` file over defaults.

The only module that reads `os.environ`. All problems are collected and reported together.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr, ValidationError

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.settings.fields import Settings, contradictions, variables
from knowledge_mcp.settings.groups import Variable
from knowledge_mcp.support.files import read_whole_text

_LIKE_A_SECRET = re.compile(r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|PASSWORD|PASS|PAT|CREDENTIALS?)(?:_|$)")
_MISSPELT = 0.9
"""Likeness from which a name is taken for a typing error: one wrong or missing letter in nine or more."""
_REMEDY = "Set both in one place: the environment, that file, or a file named by --config."


def find_misplaced(
    table: Collection[Variable], origins: Mapping[str, str], found: Collection[str], file: Path | None, folder: Path
) -> dict[str, str]:
    """Find settings of a `.env` file that are not allowed there.

    Args:
        table: all settings.
        origins: the origin of each field's value; unset fields are missing.
        found: the fields whose value comes from the `.env`.
        file: the `.env`.
        folder: the working directory.

    Returns:
        By field, a sentence with the reason for the refusal; names both settings and both sources.
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
                f"would be sent there. {_REMEDY}"
            )
        elif variable.widens and file.parent != folder:
            refused[variable.field] = (
                f"{variable.name} in {file} is refused, because that file is above the working directory {folder} "
                "and would give others access. Set it in the environment, or in a file named by --config."
            )
    return refused


def find_borrowed_secrets(text: str, defined: Collection[str], environment: Collection[str]) -> list[str]:
    """List the environment variables that a value of a `.env` refers to and that look like secrets."""
    names = re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)", text)
    return [
        each for each in names if each in environment and each not in defined and _LIKE_A_SECRET.search(each.upper())
    ]


UNUSED_CONFIG_KEYS = frozenset({"server.name", "server.version"})
"""Keys of a configuration file that are accepted but have no effect: the names are fixed."""

_NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE",
)  # fmt: skip

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<rest>:-?(?P<default>[^}]*))?\}")
_MOST_CONFIG = 1 << 20
"""Maximum bytes of a configuration file; YAML takes a second for this much."""
_PASSED = re.compile(r"/dev/fd/\d{1,9}")
_MASK = "********"
_FOLDER_FIELDS = frozenset(
    {
        "data_path", "chromadb_path", "embedding_model_path", "models_path", "mcp_api_keys_file", "repo_clone_path",
        "audit_log", "rag_api_keys_file", "reranker_model_path", "document_passwords_file",
        "allowed_roots",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting for display: its value as text (secrets masked, empty if unset), its origin, and its problem."""

    variable: Variable
    text: str
    origin: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading the settings.

    Attributes:
        settings: usable even with problems: an invalid value is replaced by its default.
        values: every setting with its origin, for `knowledge config show`.
        problems: one sentence each.
        env_file: the `.env` that was read, None for none.
    """

    settings: Settings
    values: tuple[SettingValue, ...]
    problems: tuple[str, ...]
    env_file: Path | None


def network_environment() -> dict[str, str]:
    """List the variables for proxies and certificates, for programs that we start."""
    return {name: os.environ[name] for name in _NETWORK if os.environ.get(name)}


@dataclass(frozen=True, slots=True)
class _RawValue:
    value: str | tuple[str, ...]
    origin: str
    folder: Path


def load_settings(
    config: Path | None = None,
    *,
    surface: str = "standards",
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read the settings, or report all problems with them.

    Args:
        config: a JSON or YAML file; overrides only the defaults.
        surface: the surface whose embedding provider is checked.
        environ: used instead of the process's environment.
        folder: where the search for `.env` starts, the working directory by default.

    Raises:
        ConfigError: one for all problems; `details` has one line for each.
    """
    reading = read_settings(config, surface=surface, environ=environ, folder=folder)
    problems = reading.problems
    if problems:
        message = f"{len(problems)} settings are invalid." if len(problems) != 1 else problems[0]
        raise ConfigError(
            message,
            details="\n".join(problems),
            suggestion="Correct the settings listed above; `knowledge config show` shows where each value comes from.",
        )
    return reading.settings


def read_settings(
    config: Path | None = None,
    *,
    surface: str = "standards",
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Reading:
    """Read the settings with the origin of each value and every problem; never raises for an invalid value."""
    environment = os.environ if environ is None else environ
    here = (folder or Path.cwd()).absolute()
    table = variables()
    problems: list[str] = []
    env_file = find_env_file(here)
    layers = [
        _from_names(environment, table, "environment", here),
        _from_env_file(env_file, environment, table, problems),
        _from_config(config, environment, table, here, problems),
    ]
    raw: dict[str, _RawValue] = {}
    for layer in reversed(layers):
        raw.update(layer)
    found = {field for field, value in raw.items() if layers[1].get(field) is value}
    refused = find_misplaced(table, {field: value.origin for field, value in raw.items()}, found, env_file, here)
    problems.extend(refused.values())
    located = {field: _locate(field, value) for field, value in raw.items() if field not in refused}
    for variable in table:
        if variable.field in _FOLDER_FIELDS and variable.default and variable.field not in located:
            located[variable.field] = _absolute(variable.default, here)
    settings, wrong = _validate(located, table)
    problems.extend(wrong.values())
    wrong |= refused
    problems.extend(contradictions(settings, surface))
    values = tuple(_describe(variable, settings, raw.get(variable.field), wrong) for variable in table)
    return Reading(settings, values, tuple(problems), env_file)


def find_misspelt(env_file: Path | None) -> dict[str, str]:
    """Map names in the environment and the `.env` that are no settings to the setting that they nearly spell."""
    from dotenv import dotenv_values

    known = [name for variable in variables() for name in (variable.name, *variable.older)]
    given = {*os.environ, *(dotenv_values(env_file, interpolate=False) if env_file else ())}
    found: dict[str, str] = {}
    for name in sorted(given.difference(known)):
        near = difflib.get_close_matches(name, known, 1, _MISSPELT)
        if near and not name.startswith("OTEL_"):  # OpenTelemetry has settings of its own
            found[name] = near[0]
    return found


def find_env_file(folder: Path) -> Path | None:
    """Find the nearest `.env` in a folder or one above it."""
    for candidate in (folder, *folder.parents):
        path = candidate / ".env"
        try:
            if path.is_file():
                return path
        except OSError:
            return None
    return None


def _from_names(
    values: Mapping[str, str], table: tuple[Variable, ...], origin: str, folder: Path
) -> dict[str, _RawValue]:
    found: dict[str, _RawValue] = {}
    for variable in table:
        for name in (variable.name, *variable.older):
            value = values.get(name, "").strip()
            if value:
                source = origin if name == variable.name else f"{origin} ({name})"
                found[variable.field] = _RawValue(value, source, folder)
                break
    return found


def _from_env_file(
    path: Path | None, environment: Mapping[str, str], table: tuple[Variable, ...], problems: list[str]
) -> dict[str, _RawValue]:
    if path is None:
        return {}
    from dotenv import dotenv_values

    try:
        pairs = dotenv_values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        problems.append(f"{path} could not be read: {_why(exc)}.")
        return {}
    defined = {**{name: value or "" for name, value in pairs.items()}, **environment}
    names = {name for variable in table for name in (variable.name, *variable.older)}
    values: dict[str, str] = {}
    for name, value in pairs.items():
        if not value or name not in names:
            continue
        borrowed = find_borrowed_secrets(value, pairs, environment)
        if borrowed:
            problems.append(
                f"{name} in {path} is refused, because it refers to {', '.join(borrowed)} in the environment. Set "
                f"{name} in the environment, or in a file named by --config."
            )
        else:
            values[name] = _fill(value, defined, f"{name} in {path}", problems)
    return _from_names(values, table, str(path), path.parent)


def _from_config(
    path: Path | None, environment: Mapping[str, str], table: tuple[Variable, ...], folder: Path, problems: list[str]
) -> dict[str, _RawValue]:
    if path is None:
        return {}
    content = _parse(path, problems)
    by_key = {variable.config: variable for variable in table if variable.config}
    by_key.update({name: variable for variable in table for name in (variable.name, *variable.older)})
    found: dict[str, _RawValue] = {}
    for key, value in _leaves(content):
        variable = by_key.get(key)
        if variable is None:
            if key not in UNUSED_CONFIG_KEYS:
                near = difflib.get_close_matches(key, [*by_key, *UNUSED_CONFIG_KEYS], 1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                problems.append(f"{path} has an unknown key '{key}'.{hint}")
            continue
        if isinstance(value, list):
            items = tuple(
                _fill(_text(item), environment, f"{key} in {path}", problems) for item in cast("list[Any]", value)
            )
            found[variable.field] = _RawValue(items, str(path), folder)
            continue
        text = _fill(_text(value), environment, f"{key} in {path}", problems)
        if text:
            found[variable.field] = _RawValue(text, str(path), folder)
    return found


@functools.cache
def _read_passed(path: Path) -> str:
    """Read what a shell passes as `<(command)`: unlike another pipe it ends with the command; it can be read once."""
    with path.open(encoding="utf-8-sig") as stream:
        return stream.read(_MOST_CONFIG)


def _parse(path: Path, problems: list[str]) -> dict[str, Any]:
    content: object = None
    try:
        text = _read_passed(path) if _PASSED.fullmatch(str(path)) else read_whole_text(path, most=_MOST_CONFIG)
        if path.suffix.lower() in {".yaml", ".yml"}:
            import yaml

            try:
                content = yaml.safe_load(text)
            except yaml.YAMLError as exc:
                problems.append(f"{path} is not valid YAML: {_first_line(exc)}.")
                return {}
        else:
            import json

            content = json.loads(text)
    except (OSError, UnicodeDecodeError) as exc:
        problems.append(f"The configuration file {path} could not be read: {_why(exc)}.")
        return {}
    except ValueError as exc:
        problems.append(f"{path} is not valid JSON: {_first_line(exc)}.")
        return {}
    except RecursionError:
        problems.append(f"{path} is nested too deeply to be a file of settings.")
        return {}
    if not isinstance(content, dict):
        problems.append(f"{path} must contain an object of settings.")
        return {}
    return cast("dict[str, Any]", content)


def _leaves(content: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            found.extend(_leaves(cast("dict[str, Any]", value), f"{name}."))
        elif value is not None:
            found.append((name, value))
    return found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _fill(text: str, defined: Mapping[str, str], where: str, problems: list[str]) -> str:
    def substitute(match: re.Match[str]) -> str:
        value = defined.get(match["name"], "")
        if value or match["rest"] is not None:
            return value or match["default"]
        problems.append(f"{where} refers to ${{{match['name']}}}, which is not set and has no default.")
        return ""

    return _REFERENCE.sub(substitute, text).strip()


def _locate(field: str, raw: _RawValue) -> str | tuple[str, ...]:
    """Make a path absolute: relative to the folder of the `.env`, otherwise to the working directory."""
    if field not in _FOLDER_FIELDS:
        return raw.value
    if field == "allowed_roots":
        parts = raw.value.split(",") if isinstance(raw.value, str) else raw.value
        return tuple(_absolute(part.strip(), raw.folder) for part in parts if part.strip())
    return _absolute(raw.value, raw.folder) if isinstance(raw.value, str) else raw.value


def _absolute(text: str, folder: Path) -> str:
    path = Path(text)
    try:
        path = path.expanduser()
    except RuntimeError:
        return text
    return os.path.normpath(folder / path)


def _validate(values: dict[str, Any], table: tuple[Variable, ...]) -> tuple[Settings, dict[str, str]]:
    names = {variable.field: variable for variable in table}
    try:
        return Settings.model_validate(values), {}
    except ValidationError as exc:
        wrong = {
            field: _sentence(names[field], values, error)
            for field, error in ((str(error["loc"][0]), error) for error in exc.errors(include_url=False))
        }
    return Settings.model_validate({field: value for field, value in values.items() if field not in wrong}), wrong


def _sentence(variable: Variable, values: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    kind = str(error["type"])
    if kind == "literal_error":
        expected = f"one of {error['ctx']['expected']}".replace(" or ", ", ").replace("'", "")
    elif kind.startswith(("greater", "less")) and variable.low is not None and variable.high is not None:
        expected = f"from {variable.low:.12g} to {variable.high:.12g}"
    else:
        expected = {"int": "a whole number", "bool": "true or false", "float": "a number"}.get(
            kind.split("_", maxsplit=1)[0], "in a different format"
        )
    value = "" if variable.secret else f" is '{values[variable.field]}' but"
    return f"{variable.name}{value} must be {expected}."


def _describe(variable: Variable, settings: Settings, raw: _RawValue | None, wrong: dict[str, str]) -> SettingValue:
    origin = raw.origin if raw is not None else "default"
    problem = wrong.get(variable.field, "")
    value: object = getattr(settings, variable.field)
    if raw is not None and problem:
        value = raw.value
    if raw is not None and (variable.secret or isinstance(value, SecretStr)):
        return SettingValue(variable, _MASK, origin, problem)
    if isinstance(value, tuple):
        return SettingValue(variable, ", ".join(map(str, cast("tuple[object, ...]", value))), origin, problem)
    if isinstance(value, bool):
        value = str(value).lower()
    return SettingValue(variable, "" if value is None else str(value), origin, problem)


def _why(exc: Exception) -> str:
    return exc.strerror or type(exc).__name__ if isinstance(exc, OSError) else "it is not UTF-8 text"


def _first_line(exc: Exception) -> str:
    return str(exc).partition("\n")[0]
