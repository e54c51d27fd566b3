"""Requirement files to `RequirementSet`: each is read in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.isolation import SandboxedReader, run_isolated, unreadable


@dataclass(frozen=True, slots=True)
class DeclaredLink:
    """Tell that an item names another: its id, and what the link is called there ("Parent", "implements")."""

    target: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RequirementItem:
    """Hold one item of a requirements file.

    Attributes:
        id: as its tool refers to it: a UID, or the identifier of the ReqIF object.
        title: its heading; may be empty.
        text: what it states, as plain text; may be empty for a heading.
        level: its place among the others, as written ("1.10"), else counted; empty where there is none.
        kind: what its tool calls it: the type of the object, the directive, the tag.
        attributes: everything that its file says of it, by name, in order: title, text, and what is unknown to us.
        links: to other items, here or elsewhere.
        line: where it begins; 0 where lines mean nothing.
    """

    id: str
    title: str
    text: str
    level: str = ""
    kind: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    links: tuple[DeclaredLink, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """Hold the items of one file in its order."""

    title: str
    items: tuple[RequirementItem, ...]


_HERE = "knowledge_mcp.readers.requirements"
SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".reqif": f"{_HERE}.reqif:reqif",
        ".reqifz": f"{_HERE}.reqif:reqif",
        ".sdoc": f"{_HERE}.texts:strictdoc",
        ".yml": f"{_HERE}.texts:doorstop",
        ".rst": f"{_HERE}.texts:sphinx_needs",
        ".json": f"{_HERE}.texts:needs_json",
        ".xlsx": f"{_HERE}.workbooks:workbook",
    }
)
"""The job for each extension."""


class RequirementReader(SandboxedReader):
    """Read requirement files. Thread-safe.

    Args:
        sandbox, limits: as `SandboxedReader`.
    """

    def read(self, item: SourceItem, columns: Mapping[str, str] | None = None) -> RequirementSet:
        """Read a file; one that is of the right kind and holds no items gives none.

        Args:
            item: the file.
            columns: of a workbook: what the columns of `id`, `title`, `text` and `links` are called.

        Raises:
            UnreadableDocumentError: it is not what its extension says, damaged, too large, or a library is missing.
        """
        suffix = item.name[item.name.rfind(".") :].lower()
        job = SUFFIXES.get(suffix)
        if job is None:
            raise unreadable(item, UnreadableReason.UNSUPPORTED, f"Requirements are not read from {suffix} files.")
        arguments: dict[str, Any] = {"columns": dict(columns or {})} if suffix == ".xlsx" else {}
        title, items = "", list[RequirementItem]()
        for message in run_isolated(self._sandbox, job, item, arguments, limits=self._limits):
            if "title" in message and "id" not in message:
                title = message["title"]
            else:
                items.append(_item(message, item.name))
        return RequirementSet(title or item.name, tuple(items))


def _item(message: Mapping[str, Any], name: str) -> RequirementItem:
    """Make an item of what a job tells; one without an id has the file's name, as Doorstop has it."""
    links = tuple(DeclaredLink(target, kind) for target, kind in message.get("links", ()))
    return RequirementItem(
        message["id"] or name[: name.rfind(".")],
        message.get("heading", ""),
        message.get("text", ""),
        message.get("level", ""),
        message.get("kind", ""),
        message.get("attributes", {}),
        links,
        message.get("line", 0),
    )
