"""Arguments of the convert tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.library import COLLECTION_NAME, DEFAULT_COLLECTION
from knowledge_mcp.surfaces.arguments import WHOLE, Text
from knowledge_mcp.surfaces.contract import Request

__all__ = ["ConvertAndIngestRequest", "ConvertRequest"]

Uri = Annotated[
    Text,
    Field(min_length=1, max_length=4096, description="The file, as file:///path/to/document.pdf or its absolute path."),
]


class ConvertRequest(Request):
    """Arguments of `convert_to_text` (D-REQ-1)."""

    uri: Uri
    pages: Annotated[str, Field(pattern=r"^[1-9]\d{0,5}(-[1-9]\d{0,5})?$")] | None = Field(
        default=None, description="Only these pages or slides, e.g. 12 or 12-20; leave it out for all."
    )
    offset: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = Field(
        default=0, description="Begin at this character of the text."
    )
    max_chars: Annotated[int, Field(ge=1000, le=1_000_000), WHOLE] | None = Field(
        default=None, description="Return at most so many characters; next_offset tells where to go on."
    )

    def page_range(self) -> tuple[int, int] | None:
        """Return first and last page, None for all.

        Raises:
            InvalidInputError: the last comes before the first.
        """
        if self.pages is None:
            return None
        first, _, last = self.pages.partition("-")
        found = (int(first), int(last or first))
        if found[1] < found[0]:
            raise InvalidInputError(f"The pages end before they begin: {self.pages}", suggestion="Write 12-20.")
        return found

    def filters(self) -> dict[str, Any]:
        """List the pages, where they were given."""
        return {} if self.pages is None else {"pages": self.pages}

    def subject(self) -> str:
        """Return the uri."""
        return self.uri


class ConvertAndIngestRequest(Request):
    """Arguments of `convert_and_ingest` (D-REQ-1A)."""

    uri: Uri
    collection: Annotated[str, Field(pattern=f"^{COLLECTION_NAME}$")] = Field(
        default=DEFAULT_COLLECTION, description="Collection that the document goes to; it is made where it is new."
    )
    force: bool = Field(default=False, description="Take it in again even where the same document is there already.")

    def filters(self) -> dict[str, Any]:
        """List the collection."""
        return {"collection": self.collection}

    def subject(self) -> str:
        """Return the uri."""
        return self.uri
