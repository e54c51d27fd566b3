"""Read the surfaces' resources by address: match, fetch, and hand long texts out in parts.

A client takes an answer of any size into memory at once, and several refuse a message of more than a megabyte. So a
text longer than one part is given from its start, and its metadata names the address of the next part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from mcp.server.lowlevel.helper_types import ReadResourceContents

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.surfaces.contract import Resource, Surface
from knowledge_mcp.transports.provider import KnowledgeProviders

__all__ = ["META_PREFIX", "PART_CHARACTERS", "ResourceReader"]

META_PREFIX = "io.github.knowledge-mcp/"
"""Put before the names in a resource's `_meta`, as the protocol asks of whoever adds to it."""

PART_CHARACTERS = 200_000
"""Most characters of one part, about 50,000 tokens."""

_START = re.compile(r"\?start=([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class _Address:
    uri: str
    resource: Resource
    parameter: str
    start: int


class ResourceReader:
    """Read the resources of all surfaces, each over its own Knowledge."""

    def __init__(self, providers: KnowledgeProviders, surfaces: Sequence[Surface]) -> None:
        self._providers = providers
        self.resources = {resource.uri: resource for surface in surfaces for resource in surface.resources}
        self._owners = {resource.uri: surface.name for surface in surfaces for resource in surface.resources}

    def knows(self, uri: str) -> bool:
        """Tell whether the address, apart from what its parameter names, is one of ours."""
        return self._match(uri) is not None

    def read(self, uri: str) -> ReadResourceContents:
        """Read an address that is known; blocking.

        Raises:
            KnowledgeError: it leads nowhere, or cannot be read.
        """
        address = self._match(uri)
        assert address is not None
        content = address.resource.read(self._providers.get(self._owners[address.resource.uri]), address.parameter)
        meta: dict[str, Any] = dict(content.meta)
        text = content.text
        if content.media_type.startswith("text/") and (address.start or len(text) > PART_CHARACTERS):
            text = _part(address, text, meta)
        named = {META_PREFIX + name: value for name, value in meta.items()}
        return ReadResourceContents(content=text, mime_type=content.media_type, meta=named or None)

    def _match(self, uri: str) -> _Address | None:
        start = 0
        bare = uri
        if found := _START.search(uri):
            if found.end() != len(uri):
                return None
            bare, start = uri[: found.start()], int(found[1])
        for resource in self.resources.values():
            rest = bare.removeprefix(resource.prefix)
            if resource.parameter:
                if rest and rest != bare and not set(rest) & set("/?#"):
                    return _Address(bare, resource, unquote(rest), start)
            elif bare == resource.uri:
                return _Address(bare, resource, "", start)
        return None


def _part(address: _Address, text: str, meta: dict[str, Any]) -> str:
    if address.start >= len(text):
        raise InvalidInputError(f"The text ends at character {len(text)}; there is nothing from {address.start} on.")
    end = min(address.start + PART_CHARACTERS, len(text))
    meta.update({"start": address.start, "end": end, "total_characters": len(text)})
    if end < len(text):
        meta["next_uri"] = f"{address.uri}?start={end}"
    return text[address.start : end]
