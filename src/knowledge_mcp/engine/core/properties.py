"""What a document states about itself beside its text: front matter, and properties that a person sets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.model.collection import STATED, DocumentRecord
from knowledge_mcp.model.source import MEDIA_TYPES

_SET_BY_PEOPLE = re.compile(
    r"(?:^|[_. ])(?:status|state|version|revision|edition|issue|effective|valid|expir|review|approv"
    r"|publi(?:shed|cation)|owner|responsible|classification|confidential|category|identifier|number|supersede|replace)",
    re.IGNORECASE,
)
"""Names of such properties; programs write the others, which differ whenever a file is saved."""


def stated_properties(media_type: str, metadata: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a document's metadata that belong to its content: all front matter of Markdown, else some."""
    is_front_matter = media_type == MEDIA_TYPES[".md"]
    return tuple(pair for pair in metadata if is_front_matter or _SET_BY_PEOPLE.search(pair[0]))


def properties_of(record: DocumentRecord) -> tuple[tuple[str, str], ...]:
    """Return the pairs that the file of an ingested document stated."""
    names = filter(None, record.label(STATED).split(", "))
    return tuple((name, record.label(name)) for name in names)
