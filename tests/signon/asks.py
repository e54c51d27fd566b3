"""Every way to ask a knowledge base, by name: methods of the engine, tools, resources, completions.

`CALLS` names all of them; a test holds it against what the product publishes, so that nothing new is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.evidence import QuoteQuery, ReadQuery, ReferenceQuery
from knowledge_mcp.model.query import Equals, Filter, In, NotIn, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.surfaces.comparing import comparisons
from knowledge_mcp.surfaces.contract import load_surfaces

NOUNS = ("pump", "valve", "outage", "merger", "bonus", "battery", "salary", "audit")
(SURFACE,) = load_surfaces(["standards"])
Ask = Callable[[LocalKnowledge], Any]


@dataclass(frozen=True)
class Drawn:
    """What a call is about, drawn among all that is stored, whoever may see it.

    Attributes:
        ident, other: ids or titles of documents, also of none.
        chunk: a passage.
        text: what is asked in words.
    """

    draw: random.Random
    ident: str
    other: str
    chunk: Chunk
    text: str

    @property
    def query(self) -> SearchQuery:
        """Draw a search."""
        draw = self.draw
        kept: list[Filter | None] = [
            None, Equals("document_id", self.ident), In("document_id", (self.ident, self.other)),
            NotIn("document_id", (self.ident,)), Equals("normative", True),
        ]  # fmt: skip
        return SearchQuery(
            self.text, draw.choice((1, 3, 20)), draw.choice(list(SearchMode)), draw.choice((None, 0.5)),
            draw.choice(kept), edition=draw.choice(("", "all", "2018")),
        )  # fmt: skip

    @property
    def word(self) -> str:
        """Draw a term, also one with a slip."""
        return self.draw.choice((*NOUNS, "meger", "pumps"))

    @property
    def edition(self) -> str:
        """Draw an edition."""
        return self.draw.choice(("", "all", "2018"))

    @property
    def clause(self) -> str:
        """Draw a number of a clause."""
        return str(self.draw.randint(1, 4))

    def some(self, **values: Any) -> dict[str, Any]:
        """Leave out arguments, each as often as not."""
        return {name: value for name, value in values.items() if self.draw.random() < 0.5}


def _pair(drawn: Drawn) -> dict[str, Any]:
    return {"document": drawn.ident, **drawn.some(**{"from": drawn.other, "to": drawn.edition or drawn.ident})}


def _narrowed(drawn: Drawn) -> dict[str, Any]:
    some = drawn.some(
        document_id=drawn.ident, clause_number=drawn.clause, edition=drawn.edition or "all", normative_only=True,
        max_per_document=1, cursor=1,
    )  # fmt: skip
    return {"query": drawn.text, "n_results": drawn.draw.choice((1, 20)), **some}


ARGUMENTS: Mapping[str, Callable[[Drawn], dict[str, Any]]] = {
    "knowledge_search": _narrowed,
    "knowledge_keyword_search": _narrowed,
    "knowledge_lookup": lambda at: {"term": at.word, **at.some(edition=at.edition or "all")},
    "knowledge_requirements": lambda at: {"topic": at.text, **at.some(standard=at.ident, edition="all")},
    "knowledge_stats": lambda _: {},
    "knowledge_health": lambda _: {},
    "knowledge_read": lambda at: at.draw.choice(
        (
            {"document_id": at.ident, **at.some(clause=at.clause, parents=True)},
            {"chunk_id": at.chunk.id, **at.some(before=1, after=1)},
        )
    ),
    "knowledge_outline": lambda at: {"document_id": at.ident, **at.some(clause=at.clause, coverage=True)},
    "knowledge_references": lambda at: at.draw.choice(
        ({"document_id": at.ident, **at.some(clause=at.clause)}, {"chunk_id": at.chunk.id})
    ),
    "knowledge_verify_quote": lambda at: {"quote": at.text, **at.some(document_id=at.ident)},
    "knowledge_changes": _pair,
    "knowledge_impact": _pair,
    "knowledge_trace": lambda at: {
        "from": at.ident, "to": at.draw.choice((at.other, "*")), "gaps": at.draw.random() < 0.5
    },
    "knowledge_check": lambda at: {"document": at.ident, "standard": at.other},
    "knowledge_conflicts": lambda at: at.some(documents=[at.ident, at.other]),
}  # fmt: skip


def _tool(name: str) -> Callable[[Drawn], Ask]:
    tool = next(each for each in SURFACE.tools if each.name == name)

    def made(drawn: Drawn) -> Ask:
        request = tool.request.model_validate(ARGUMENTS[name](drawn))
        return lambda base: tool.run(base, request).sent()

    return made


def _resource(uri: str) -> Callable[[Drawn], Ask]:
    resource = next(each for each in SURFACE.resources if each.uri == uri)

    def made(drawn: Drawn) -> Ask:
        parameter = {"": "", "document_id": drawn.ident, "chunk_id": drawn.chunk.id}[resource.parameter]
        return lambda base: resource.read(base, parameter)

    return made


def _completer(name: str) -> Callable[[Drawn], Ask]:
    completer = (SURFACE.completers or {})[name]

    def made(drawn: Drawn) -> Ask:
        typed = drawn.draw.choice(("", drawn.ident[:3], drawn.word))
        return lambda base: list(completer(base, typed))

    return made


def _method(ask: Callable[[LocalKnowledge, Drawn], Any]) -> Callable[[Drawn], Ask]:
    def made(drawn: Drawn) -> Ask:
        state = drawn.draw.getstate()

        def again(base: LocalKnowledge) -> Any:
            drawn.draw.setstate(state)  # whoever is asked, the same is drawn
            return ask(base, drawn)

        return again

    return made


def _read(base: LocalKnowledge, at: Drawn) -> Any:
    one = ReadQuery(at.ident, clause=at.clause)
    return base.read(at.draw.choice((one, ReadQuery(chunk_id=at.chunk.id, before=1, after=1))))


_METHODS: Mapping[str, Callable[[LocalKnowledge, Drawn], Any]] = {
    "search": lambda base, at: base.search(at.query),
    "lookup": lambda base, at: base.lookup(at.word, at.edition),
    "requirements": lambda base, at: base.requirements(
        RequirementQuery(at.text, at.draw.choice((None, "plant", at.ident)))
    ),
    "stats": lambda base, _: base.stats(),
    "health": lambda base, _: base.health(),
    "documents": lambda base, _: base.documents(),
    "document": lambda base, at: base.document(at.ident),
    "document_text": lambda base, at: base.document_text(at.ident),
    "document_structure": lambda base, at: base.document_structure(at.ident),
    "document_chunks": lambda base, at: base.document_chunks(at.ident),
    "chunk": lambda base, at: base.chunk(at.chunk.id),
    "read": _read,
    "verify_quote": lambda base, at: base.verify_quote(QuoteQuery(at.text, at.draw.choice(("", at.ident)))),
    "references": lambda base, at: base.references(
        at.draw.choice((ReferenceQuery(at.ident), ReferenceQuery(chunk_id=at.chunk.id)))
    ),
    "embed": lambda base, at: base.embed([at.text]),
    "warm_up": lambda base, _: base.warm_up(),
    "code_passages": lambda base, at: base.code_passages(at.text),
}
"""The methods that read."""

CALLS: Mapping[str, Callable[[Drawn], Ask]] = {
    **{name: _method(ask) for name, ask in _METHODS.items()},
    **{name: _tool(name) for name in ARGUMENTS},
    **{
        uri: _resource(uri)
        for uri in (
            "knowledge://documents",
            "knowledge://documents/{document_id}",
            "knowledge://outlines/{document_id}",
            "knowledge://chunks/{chunk_id}",
        )
    },
    **{
        f"completes {name}": _completer(name)
        for name in ("chunk_type", "document", "document_id", "document_type", "first", "second", "standard")
    },
}
"""By name: what makes a call of what was drawn."""


def forget_results() -> None:
    """Forget what tools keep of earlier calls, so that a second world is not answered by the first one's results."""
    comparisons.cache_clear()  # one for the process, as in a server
