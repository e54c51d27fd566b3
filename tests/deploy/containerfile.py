"""Read a Containerfile, and say what our rules find wrong with it."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

_BASE = re.compile(r"(?P<name>[a-z0-9.-]+\.[a-z]+(:\d+)?/[\w./-]+):(?P<tag>[\w.-]+)(@sha256:[0-9a-f]{64})?")
_COMPILERS = re.compile(r"\b(gcc|g\+\+|clang|build-essential|make|cmake|rustc|cargo|[\w.-]+-dev)\b")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Instruction:
    """Hold one instruction: its name in capitals, its text on one line, the line it begins on."""

    name: str
    text: str
    line: int


@dataclass(slots=True)
class Stage:
    """Hold one stage: what it is built on (build arguments filled in), what it is called, what it does."""

    base: str
    name: str
    steps: list[Instruction] = field(default_factory=list[Instruction])

    def last(self, name: str) -> str:
        """Return the text of the last instruction of a name, empty where there is none."""
        return next((step.text for step in reversed(self.steps) if step.name == name), "")

    def all(self, name: str) -> list[Instruction]:
        """Return the instructions of a name."""
        return [step for step in self.steps if step.name == name]


def _instructions(text: str) -> list[Instruction]:
    found: list[Instruction] = []
    parts: list[str] = []
    began = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        began = began if parts else number
        parts.append(line.rstrip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            name, _, rest = " ".join(part for part in parts if part).partition(" ")
            found.append(Instruction(name.upper(), rest.strip(), began))
            parts = []
    return found


def parse(text: str) -> list[Stage]:
    """Part a Containerfile into its stages."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for step in _instructions(text):
        if step.name == "ARG" and not stages:
            name, _, value = step.text.partition("=")
            arguments[name] = value
        elif step.name == "FROM":
            base, _, name = step.text.partition(" AS ")
            filled = re.sub(r"\$\{(\w+)\}", lambda match: arguments.get(match[1], match[0]), base)
            stages.append(Stage(filled, name))
        else:
            stages[-1].steps.append(step)
    return stages


def environment(stage: Stage) -> dict[str, str]:
    """Return the variables that a stage's ENV instructions set."""
    words = [word for step in stage.all("ENV") for word in shlex.split(step.text)]
    return dict(word.split("=", 1) for word in words)


def findings(text: str, context: Path) -> list[str]:
    """Say what is wrong: bases, sources of copies, user, compilers, root left writable, forms that need a shell."""
    stages = parse(text)
    final = stages[-1]
    return [
        *(problem for stage in stages for problem in _base(stage, {each.name for each in stages})),
        *(problem for stage in stages for problem in _copies(stage, context)),
        *_user(final),
        *_packages(final),
        *_starting(final),
        *_secrets(stages),
    ]


def _base(stage: Stage, names: set[str]) -> list[str]:
    if stage.base in names:
        return []
    match = _BASE.fullmatch(stage.base)
    if match is None:
        return [f"the base {stage.base} is not of the form registry/name:tag"]
    if match["tag"] == "latest" or not _VERSION.search(match["tag"]):
        return [f"the base {stage.base} names no version"]
    return []


def _copies(stage: Stage, context: Path) -> list[str]:
    problems = [f"line {step.line}: ADD; COPY says what it does" for step in stage.all("ADD")]
    for step in stage.all("COPY"):
        words = shlex.split(step.text)
        if any(word.startswith("--from=") for word in words):
            continue
        sources = [word for word in words if not word.startswith("--")][:-1]
        problems += [f"line {step.line}: {each} is not there" for each in sources if not (context / each).exists()]
        problems += [f"line {step.line}: {each} copies everything" for each in sources if each in {".", "./"}]
    return problems


def _user(final: Stage) -> list[str]:
    user = final.last("USER")
    if not re.fullmatch(r"[1-9]\d*:0", user):
        return [f"USER is {user!r}, not a number other than 0, in the group 0"]
    after = final.steps[final.steps.index(next(step for step in final.steps if step.name == "USER")) :]
    return [f"line {step.line}: a second USER" for step in after[1:] if step.name == "USER"]


def _packages(final: Stage) -> list[str]:
    problems: list[str] = []
    for step in final.all("RUN"):
        if found := _COMPILERS.search(step.text):
            problems.append(f"line {step.line}: {found[0]} in the final stage")
        if "apt-get install" in step.text:
            problems += [
                f"line {step.line}: apt-get install without {expected}"
                for expected in ("--no-install-recommends", "rm -rf /var/lib/apt/lists/*")
                if expected not in step.text
            ]
        if re.search(r"\b(pip|curl|wget)3? +(install|download|-|http)", step.text):
            problems.append(f"line {step.line}: the final stage downloads by itself")
        if re.search(r"chmod\s+(-R\s+)?(\S*o\+\S*w|0?777)", step.text):
            problems.append(f"line {step.line}: writable by everybody")
    return problems


def _starting(final: Stage) -> list[str]:
    result = [(name, final.last(name)) for name in ("CMD", "ENTRYPOINT")]
    problems = [f"{name} {text} needs a shell" for name, text in result if text and not _is_list(text)]
    if not final.last("CMD") or final.last("CMD") == "[]":
        problems.append("no CMD")
    check = final.last("HEALTHCHECK")
    if not _is_list(check.partition("CMD ")[2]):
        problems.append("no HEALTHCHECK that does without a shell")
    return problems


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def _secrets(stages: list[Stage]) -> list[str]:
    secret = re.compile(r"\b\w*(KEY|TOKEN|PASSWORD|SECRET|PAT)\b\s*=", re.IGNORECASE)
    return [
        f"line {step.line}: {step.name} holds a secret for ever"
        for stage in stages
        for step in stage.steps
        if step.name in {"ARG", "ENV", "LABEL"} and secret.search(step.text)
    ]
