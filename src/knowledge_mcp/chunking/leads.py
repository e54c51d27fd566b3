"""What a list item depends on: the sentences above it that lead into its list and into those around that."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge_mcp.analysis.sentences import sentence_spans
from knowledge_mcp.model.document import Block, BlockKind

__all__ = ["LEADS", "Above"]

LEADS = re.compile(r"(?:[:—][*_]*|\b(?:as follows|the following)\s*\.?)\Z", re.IGNORECASE)
"""The end of a sentence that leads into a list."""


@dataclass(slots=True)
class _Lead:
    """A block above, with the lead-ins down to its own; None while nobody asked for them."""

    block: Block
    chain: list[str] | None = None


class Above:
    """Walk down the blocks of a passage, and know at each list item what leads into it; every block is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Lead] = []
        """The paragraph above the list, and the items around the place, outermost first."""

    def take(self, block: Block) -> list[str]:
        """Go on to the next block, and return the sentences that it depends on; none for what is no list item."""
        if block.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
            self._open = [_Lead(block)] if block.kind is BlockKind.PARAGRAPH else []
            return []
        if block.kind is not BlockKind.LIST_ITEM:
            return []
        while self._open and self._is_item(self._open[-1]) and self._open[-1].block.depth >= block.depth:
            self._open.pop()
        found = self._chain()
        self._open.append(_Lead(block))
        return found

    @staticmethod
    def _is_item(lead: _Lead) -> bool:
        return lead.block.kind is BlockKind.LIST_ITEM

    def _chain(self) -> list[str]:
        """List the lead-ins of what is open."""
        found: list[str] = []
        for lead in self._open:
            if lead.chain is None:
                own = self._sentence(lead.block)
                lead.chain = [*found, own] if own else found
            found = lead.chain
        return found

    def _sentence(self, block: Block) -> str:
        """Return the last sentence of a block where it leads into what follows, else nothing."""
        sentences = sentence_spans(self._text, block.span.start, block.span.end)
        last = sentences[-1].of(self._text) if sentences else ""
        return " ".join(last.split()) if LEADS.search(last) else ""
