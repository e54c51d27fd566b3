"""The form of the documents: decision records, the changelog, snippets, and the targets that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_RECORD = re.compile(r"\d{4}-[a-z0-9-]+\.md")
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_CHANGES = {"Added", "Changed", "Deprecated", "Fixed", "Removed", "Security"}


def documents(root: Path) -> list[Path]:
    """Return the project's documents: those at the root and all below docs/."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def unlinked_files(folder: Path) -> list[str]:
    """Return the Markdown files of a folder to which its README.md has no link, and the links that lead nowhere."""
    index = (folder / "README.md").read_text(encoding="utf-8")
    linked = {name for name in re.findall(r"\]\(([^)#]+\.md)\)", index) if "/" not in name}
    there = {path.name for path in folder.glob("*.md")} - {"README.md"}
    return sorted(
        [f"{name} is not linked" for name in there - linked]
        + [f"{name} is linked and not there" for name in linked if not (folder / name).is_file()]
    )


def wrong_with_records(folder: Path) -> list[str]:
    """Return what a decision record lacks: a numbered name, a title with the number, its three sections."""
    found: list[str] = []
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        text = path.read_text(encoding="utf-8")
        if not _RECORD.fullmatch(path.name):
            found.append(f"{path.name}: the name is not NNNN-words.md")
        if not text.startswith(f"# {path.name[:4]} "):
            found.append(f"{path.name}: the title does not begin with its number")
        sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
        if sections != ["Context", "Decision", "Consequences"]:
            found.append(f"{path.name}: its sections are not Context, Decision, Consequences")
    return found


def wrong_with_changelog(text: str) -> list[str]:
    """Return what is not as Keep a Changelog has it: title, Unreleased first, dated versions, six kinds of change."""
    found = [] if text.startswith("# Changelog\n") else ["the title is not Changelog"]
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if heads[:1] != ["[Unreleased]"]:
        found.append("the first section is not [Unreleased]")
    dated = [head for head in heads[1:] if re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", head)]
    found.extend(f"{head} is no version with its date" for head in heads[1:] if head not in dated)
    numbers = [tuple(int(part) for part in re.findall(r"\d+", head)[:3]) for head in dated]
    if numbers != sorted(numbers, reverse=True):
        found.append("the versions are not in order, newest first")
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
    found.extend(f"{kind} is no kind of change" for kind in kinds if kind not in _CHANGES)
    return found


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of code in a document, with the line on which it begins."""

    line: int
    code: str


def python_snippets(text: str) -> Iterator[Snippet]:
    """Yield the fenced blocks of Python; one whose fence says `python notest` is only to be read."""
    for match in _FENCE.finditer(text):
        if match["info"].strip() in {"py", "python"}:
            yield Snippet(text.count("\n", 0, match.start("code")) + 1, match["code"])


def unknown_targets(text: str, makefile: str) -> list[str]:
    """Return the make targets that a document's code names and the Makefile has not."""
    code = " \n ".join([match["code"] for match in _FENCE.finditer(text)] + re.findall(r"`([^`\n]+)`", text))
    named = set(re.findall(r"(?:^|[\s;&|])make ([a-z][a-z0-9-]*)", code, re.MULTILINE))
    return sorted(named - set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE)))
