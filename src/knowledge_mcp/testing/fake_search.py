"""How the fakes search: by shared words, and by filters as every store understands them."""

from __future__ import annotations

import re

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix

__all__ = ["keeps", "words_of"]


def keeps(wanted: Filter, chunk: Chunk) -> bool:
    """Tell whether a chunk fits a filter."""
    match wanted:
        case Equals(field, value):
            return getattr(chunk, field) == value
        case In(field, values):
            return getattr(chunk, field) in values
        case Prefix(_, value):
            number = chunk.clause_number or ""
            return number == value.rstrip(".") or number.startswith(value.rstrip(".") + ".")
        case And(parts):
            return all(keeps(part, chunk) for part in parts)


def words_of(text: str) -> set[str]:
    """Return the words of a text, in lower case; numbers of clauses stay whole."""
    return set(re.findall(r"\w[\w.-]*\w|\w", text.casefold()))
