"""Random worlds of groups, documents and calls: what a reader is answered, with hidden documents there and without."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.model.chunk import EmbeddedChunk, embedding_key
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, WholeDocument
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.rights import ALLOWED, Rights, allowed_label, may_see
from knowledge_mcp.ports import Store
from knowledge_mcp.sources.files import FileSource, LabelledSource
from tests.engine.world import World
from tests.signon.asks import CALLS, NOUNS, Ask, Drawn, forget_results

GROUPS = ("legal", "board", "eng")
_SLOW = 600_000
"""Milliseconds after which a check counts as slow: a busy machine is no difference between two worlds."""
VERBS = ("start", "stop", "report", "record", "pay")


class RandomWorld:
    """Draw documents, some of them for some groups, and ingest them by the real stages.

    Args:
        seed: another one is another world.
        folder: an empty folder.
        store: an empty store.
    """

    def __init__(self, seed: str, folder: Path, store: Store) -> None:
        self._random = random.Random(seed)
        self.world = World(folder, store, health_threshold_ms=_SLOW)
        self.names: list[str] = []
        for number in range(self._random.randint(2, 5)):
            self._write(number)

    def _write(self, number: int) -> None:
        draw = self._random
        family = draw.choice(("Plant", "Office"))
        name = f"{family.lower()}-{draw.choice(('2018', '2021', 'a', 'b'))}-{number}.md"
        edition = draw.choice(("", "edition: '2018'\n", "edition: '2021'\n"))
        lines = [f"---\ntitle: {family} rules\n{edition}---\n# {family} rules\n"]
        if draw.random() < 0.6:
            lines.append("\n## 9 Terms and definitions\n")
            for place, noun in enumerate(draw.sample(NOUNS, 2), 1):
                lines.append(f"\n### 9.{place} {noun}\n\nthing that does {draw.choice(VERBS)}\n")
        for clause in range(1, draw.randint(2, 5)):
            lines.append(f"\n## {clause} {draw.choice(NOUNS).title()}\n")
            lines.extend(f"\n{self.sentence()}\n" for _ in range(draw.randint(1, 3)))
        where = self.world.folder / f"d{number}"
        where.mkdir()
        (where / name).write_text("".join(lines))
        source: Any = FileSource(where, patterns=("*.md",))
        if draw.random() < 0.6:
            allowed = allowed_label(draw.sample(GROUPS, draw.randint(1, 2)))
            source = LabelledSource(source, ((ALLOWED, allowed),))
        self.world.knowledge.ingest(source, IngestOptions())
        self.names.append(name)

    def sentence(self) -> str:
        """Draw one with force, and sometimes with a reference."""
        draw = self._random
        one, other, verb = draw.choice(NOUNS), draw.choice(NOUNS), draw.choice(VERBS)
        more = draw.choice(("", f", see {draw.randint(1, 4)}", f" within {draw.randint(1, 9)} minutes"))
        return f"The {one} {draw.choice(('shall', 'should', 'shall not', 'may'))} {verb} the {other}{more}."

    @property
    def records(self) -> list[DocumentRecord]:
        """List all records."""
        return self.world.base.opened.documents()

    def without(self, groups: Sequence[str], folder: Path, store: Store) -> World:
        """Make the world in which nothing was ever stored that these groups may not see."""
        there, here = self.world.base.opened, World(folder, store, health_threshold_ms=_SLOW)
        seen = [each for each in self.records if may_see(each, frozenset(groups))]
        if seen:
            store.create_collection("kb", self.world.embedder.space)
        for record in seen:
            parts = there.parts(record.id)
            assert parts is not None
            chunks = there.chunks("document", [record.id])
            vectors = there.vectors([embedding_key(each) for each in chunks])
            embedded = [EmbeddedChunk(each, vectors[embedding_key(each)], embedding_key(each)) for each in chunks]
            whole = WholeDocument(record, parts.text or "", embedded, parts.structure or NO_STRUCTURE)
            store.open("kb").publish([whole], lambda _: None)
        return here

    def calls(self, count: int) -> list[Ask]:
        """Draw calls, many of them about what not everybody may see."""
        return [self._call() for _ in range(count)]

    def drawings(self, count: int) -> list[Drawn]:
        """Draw what calls are about."""
        return [self._drawn() for _ in range(count)]

    def _drawn(self) -> Drawn:
        draw = self._random
        ids = [each.id for each in self.records]
        named = [*ids, "plant-2018-9", "nowhere", "Plant rules"]
        chunk = draw.choice(self.world.base.opened.chunks("document", ids))
        ident, word = draw.choice(named), draw.choice(NOUNS)
        text = draw.choice((self.sentence(), word, f'"{word}"', chunk.content[:200], ident))
        return Drawn(draw, ident, draw.choice(named), chunk, text)

    def _call(self) -> Ask:
        drawn, draw = self._drawn(), self._random
        # a search every fourth time: it has the most ways to tell
        name = "search" if draw.random() < 0.25 else draw.choice(sorted(CALLS))
        return CALLS[name](drawn)


def asked(base: Any, call: Ask) -> str:
    """Ask, and write down all of the answer or of the failure, but times and the last digits of scores."""
    forget_results()
    try:
        result = repr(call(base))
    except KnowledgeError as exc:
        result = repr((type(exc).__name__, exc.code, exc.message, exc.details, exc.suggestion, exc.recoverable))
    result = re.sub(r"latency_ms(': |=)[\d.]+|timestamp(': |=)'[^']+'", "", result)
    return re.sub(r"\d+\.\d{9,}(?:e-?\d+)?", lambda found: f"{float(found[0]):.9f}", result)


READERS = ((), ("legal",), ("eng", "elsewhere"), ("board", "legal"))


def leaks(seed: str, folder: Path, make: Callable[[Path], Store], calls: int) -> int:
    """Compare every call of every reader with the world in which what they may not see was never stored."""
    compared = 0
    (folder / "all").mkdir(parents=True)
    drawn = RandomWorld(seed, folder / "all", make(folder / "all"))
    asks = drawn.calls(calls)
    for number, groups in enumerate(READERS):
        rights = Rights(groups=groups)
        (folder / str(number)).mkdir()
        without = drawn.without(groups, folder / str(number), make(folder / str(number)))
        here, there = drawn.world.knowledge.seen_by(rights), without.knowledge.seen_by(rights)
        for place, call in enumerate(asks):
            assert asked(here, call) == asked(there, call), (seed, groups, place)
            compared += 1
    return compared
