"""A Hypothesis state machine: any sequence of operations gives the same results as on the memory store.

```python
TestMyStore = store_machine(lambda analyser: MyStore(analyser)).TestCase
```

Needs `hypothesis`, which is a dependency of tests only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentStructure
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import And, Equals, Filter, In, NotIn, Prefix
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.store_search import make_document, same_ranking, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, record, structure, unit_vector

WORDS = ("alpha", "beta", "gamma", "REQ-12", "5.3.1", "東京", "naïve", "shall")
documents = st.sampled_from(("a", "b", "c"))
structures = st.sampled_from((NO_STRUCTURE, structure(1), structure(7, pages=2)))
queries = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
passages = st.builds(
    SamplePassage,
    text=st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    direction=st.sampled_from(("north", "south", "")),
    document_type=st.sampled_from(("standard", "guide")),
    chunk_type=st.sampled_from((ChunkType.REQUIREMENT, ChunkType.ANNEX)),
    normative=st.booleans(),
    clause_number=st.sampled_from((None, "5", "5.3", "5.30", "A.1")),
    terms=st.sampled_from(((), (("alpha",),), (("Alphas", "beta"), ("gamma",)))),
    context=st.sampled_from(("", "gamma heading")),
)
simple: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Equals, st.just("document_id"), documents),
    st.builds(Equals, st.just("normative"), st.booleans()),
    st.builds(In, st.just("chunk_type"), st.sampled_from((("annex",), ("annex", "requirement"), ()))),
    st.builds(In, st.just("document_type"), st.just(("guide", "unknown"))),
    st.builds(NotIn, st.just("document_id"), st.lists(documents, max_size=2).map(tuple)),
    st.builds(Prefix, st.just("clause_number"), st.sampled_from(("5", "5.3", "A"))),
)
filters: st.SearchStrategy[Filter | None] = st.one_of(
    st.none(), simple, st.builds(And, st.lists(simple, max_size=3).map(tuple))
)


class StoreMachine(RuleBasedStateMachine):
    """Runs the same operations on a store and on the memory store, and compares; `store_machine` supplies the store."""

    tolerance: ClassVar[float] = 1e-6
    analyser: ClassVar[Analyser] = EnglishAnalyser()

    def __init__(self) -> None:
        super().__init__()
        self.oracle: Store = MemoryStore(self.analyser)
        self.store = self.make_store()
        for each in (self.oracle, self.store):
            each.create_collection("c", SPACE)

    def make_store(self) -> Store:
        """Return an empty store."""
        raise TypeError(f"{type(self).__name__} does not say how its store is made")

    def open_again(self) -> Store | None:
        """Return a second handle on the store, or None if that is not possible."""
        return None

    def both(self, call: Callable[[Store], Any]) -> tuple[Any, Any]:
        """Call both stores; an error is returned as its code."""
        results: list[Any] = []
        for each in (self.store, self.oracle):
            try:
                results.append(call(each))
            except KnowledgeError as exc:
                results.append(exc.code)
        return results[0], results[1]

    def agree(self, call: Callable[[Store], Any]) -> None:
        """Check that both stores return the same."""
        actual, expected = self.both(call)
        assert actual == expected, f"the store says {actual!r}, the memory store {expected!r}"

    @rule(document=documents, found=st.lists(passages, max_size=8), shape=structures)
    def publish(self, document: str, found: list[SamplePassage], shape: DocumentStructure) -> None:
        made = make_document(document, found, text="one", structure=shape)
        self.agree(lambda store: store.open("c").publish([made], lambda _: None))

    @rule(document=documents, found=st.lists(passages, max_size=3), announced=st.integers(0, 3))
    def publish_as_announced(self, document: str, found: list[SamplePassage], announced: int) -> None:
        made = make_document(document, found, text=f"text {announced}", structure=structure(announced))
        published = replace(made, record=record(document, embedded(document, ["x"] * announced)))
        self.agree(lambda store: store.open("c").publish([published], lambda _: None))

    @rule(found=st.dictionaries(documents, st.lists(passages, max_size=4), min_size=1), shape=structures)
    def publish_several(self, found: dict[str, list[SamplePassage]], shape: DocumentStructure) -> None:
        made = [make_document(document, each, text="several", structure=shape) for document, each in found.items()]
        reported: list[str] = []
        self.agree(lambda store: store.open("c").publish(made, reported.append))
        assert reported == [*found, *found], "each store tells of each document"

    @rule(document=documents)
    def delete(self, document: str) -> None:
        self.agree(lambda store: store.open("c").delete(document))

    @rule()
    def drop(self) -> None:
        self.agree(lambda store: store.drop_collection("c"))
        self.agree(lambda store: store.create_collection("c", SPACE).space)

    @rule()
    def reopen(self) -> None:
        second = self.open_again()
        if second is not None:
            self.store.close()
            self.store = second

    @rule(
        text=queries, direction=st.sampled_from(("north", "south", "alpha")), condition=filters, limit=st.integers(0, 6)
    )
    def search(self, text: str, direction: str, condition: Filter | None, limit: int) -> None:
        actual, expected = self.both(
            lambda store: store.open("c").search(
                vector=unit_vector(direction), text=text, filter=condition, limit=limit
            )
        )
        assert same_ranking(actual.dense, expected.dense, self.tolerance), (actual.dense, expected.dense)
        assert same_ranking(actual.lexical, expected.lexical, self.tolerance), (actual.lexical, expected.lexical)

    @rule(term=st.sampled_from(("alpha", "beta", "gamma", "none")))
    def define(self, term: str) -> None:
        self.agree(lambda store: store.open("c").chunks("term", [self.analyser.term_key(term)]))
        self.agree(lambda store: store.open("c").defined_terms())

    @rule(document=documents)
    def read(self, document: str) -> None:
        self.agree(lambda store: store.open("c").chunks("document", [document]))
        self.agree(lambda store: text_of(store.open("c"), document))
        self.agree(lambda store: structure_of(store.open("c"), document))
        chunks = self.oracle.open("c").chunks("document", [document])
        self.agree(lambda store: store.open("c").chunks("id", [each.id for each in reversed(chunks)]))
        self.agree(lambda store: store.open("c").chunks("content", [each.content_hash for each in chunks]))

    @invariant()
    def records_and_counts_agree(self) -> None:
        self.agree(lambda store: store.open("c").documents())
        self.agree(lambda store: store.open("c").documents(["b", "a"]))
        actual, expected = self.both(lambda store: counts_of(store.open("c")))
        assert (actual.documents, actual.chunks, actual.tokens) == (
            expected.documents,
            expected.chunks,
            expected.tokens,
        )

    def teardown(self) -> None:
        findings = self.store.open("c").verify()
        self.store.close()
        assert findings == []


def store_machine(
    make_store: Callable[[Analyser], Store],
    *,
    open_again: Callable[[Store, Analyser], Store] | None = None,
    tolerance: float = 1e-6,
) -> type[StoreMachine]:
    """Create the state machine for one kind of store.

    Args:
        make_store: returns an empty store; the machine closes it.
        open_again: returns a second handle on the same store; if given, the store is closed and reopened at random
            during a run.
        tolerance: allowed difference of scores from the memory store's.
    """

    class Machine(StoreMachine):
        def make_store(self) -> Store:
            return make_store(self.analyser)

        def open_again(self) -> Store | None:
            return None if open_again is None else open_again(self.store, self.analyser)

    Machine.tolerance = tolerance
    return Machine
