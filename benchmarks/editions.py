"""Measure `knowledge compare`: alignment of clauses, and the changes found inside them.

Usage: `python -m benchmarks.editions [--data FOLDER] [--made N] [--no-embedding] [--rows FILE]`

Two tables. The first are pairs of real editions below `$KNOWLEDGE_EVAL_DATA/editions` (else `../shared/data/editions`,
left out loudly where there are none), scored against their gold: links that are judged, without `covered` ones. The
second are pairs that are made by `made_editions`: documents that are made, and real ones, edited at random, and such as
are written again in the manners of `edition_manners`. Beside the product stand three plain ways: the lines of both
texts put side by side by `difflib` (a heading line that is equal, or in a block of replaced ones, joins its clauses),
every clause joined with the one that has most words in common, where that is so both ways (TF-IDF cosine of at least
.3), and the same by the embeddings of the default model alone.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

from benchmarks.edition_manners import MANNERS, Manner, as_it_is, printed
from benchmarks.made_editions import KINDS, Made, edited, made_document, read_document, written
from knowledge_mcp.cli.knowledge.review.compare import compare_editions, edition_at
from knowledge_mcp.embedders.local.embedder import from_options
from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.ports import Embedder
from knowledge_mcp.ranking.linking import embed_as_matrix
from knowledge_mcp.settings import load_settings

_LEAST = 0.3
_Pair = tuple[str | None, str | None]


@dataclass(slots=True)
class Score:
    """Count hits, misses and false alarms."""

    hit: int = 0
    missed: int = 0
    false: int = 0

    def add(self, found: set[Any], right: set[Any]) -> None:
        """Count what was found against what is right."""
        self.hit += len(found & right)
        self.missed += len(right - found)
        self.false += len(found - right)

    def all(self) -> int:
        """Count what is right."""
        return self.hit + self.missed

    def __str__(self) -> str:
        """Print precision, recall and F1."""
        precision = self.hit / (self.hit + self.false) if self.hit + self.false else 1.0
        recall = self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0
        total = precision + recall
        return f"{precision:.3f} {recall:.3f} {2 * precision * recall / total if total else 0.0:.3f}"


# ---- plain ways


def by_lines(old: Edition, new: Edition, texts: Sequence[Mapping[str, str]]) -> Iterator[_Pair]:
    """Join clauses whose heading lines `difflib` puts side by side, file by file; two single files belong together."""
    single = len(texts[0]) == len(texts[1]) == 1
    for file, later in zip(texts[0], texts[1], strict=True) if single else ((each, each) for each in texts[0]):
        if later not in texts[1]:
            continue
        heads = {each.line: each for each in old.clauses if each.file == file}
        others = {each.line: each for each in new.clauses if each.file == later}
        matcher = difflib.SequenceMatcher(None, texts[0][file].split("\n"), texts[1][later].split("\n"), autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            before = [heads[line] for line in range(a + 1, b + 1) if line in heads]
            after = [others[line] for line in range(c + 1, d + 1) if line in others]
            if tag in {"equal", "replace"}:
                for one, other in zip(before, after, strict=False):
                    yield key_of(one), key_of(other)


def by_words(old: Edition, new: Edition) -> Iterator[_Pair]:
    """Join clauses that have most words in common, both ways, by TF-IDF cosine."""
    bags = [[Counter(re.findall(r"\w+", f"{c.heading} {c.text}".lower())) for c in e.clauses] for e in (old, new)]
    frequency = Counter(word for side in bags for bag in side for word in bag)
    count = sum(map(len, bags))
    vectors = [[_unit(bag, frequency, count) for bag in side] for side in bags]
    postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, vector in enumerate(vectors[1]):
        for word, weight in vector.items():
            postings[word].append((place, weight))
    best: dict[int, tuple[float, int]] = {}
    back: dict[int, tuple[float, int]] = {}
    for place, vector in enumerate(vectors[0]):
        scores: defaultdict[int, float] = defaultdict(float)
        for word, weight in vector.items():
            for other, its in postings.get(word, ()):
                scores[other] += weight * its
        for other, score in scores.items():
            best[place] = max(best.get(place, (0.0, -1)), (score, other))
            back[other] = max(back.get(other, (0.0, -1)), (score, place))
    for place, (score, other) in best.items():
        if score >= _LEAST and back[other][1] == place:
            yield key_of(old.clauses[place]), key_of(new.clauses[other])


def _unit(bag: Counter[str], frequency: Counter[str], count: int) -> dict[str, float]:
    weights = {word: (1 + log(times)) * log(1 + count / frequency[word]) for word, times in bag.items()}
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {word: weight / length for word, weight in weights.items()}


def by_vectors(old: Edition, new: Edition, embedder: Embedder) -> Iterator[_Pair]:
    """Join clauses whose embeddings are nearest, both ways; there is no least likeness."""
    embedded = embed_as_matrix(embedder.embed_documents)
    texts = [
        [f"{each.heading}\n{each.text}".strip() or "(empty)" for each in edition.clauses] for edition in (old, new)
    ]
    sides = [embedded(each) for each in texts]
    likeness = sides[0] @ sides[1].T
    back: list[int] = likeness.argmax(axis=0).tolist()
    best: list[int] = likeness.argmax(axis=1).tolist()
    for place, other in enumerate(best):
        if back[other] == place:
            yield key_of(old.clauses[place]), key_of(new.clauses[other])


# ---- real editions


def key_of(clause: Clause | None) -> str | None:
    """Name a clause by file and line of its heading."""
    return None if clause is None else f"{clause.file}:{clause.line or 1}"


@dataclass(frozen=True, slots=True)
class Gold:
    """Hold what is right of a pair: links and, for clauses without one, `None` on the other side."""

    names: tuple[Mapping[str, str], Mapping[str, str]]
    kinds: Mapping[_Pair, str]
    unjudged: tuple[frozenset[str], frozenset[str]]
    withdrawn: tuple[frozenset[str], frozenset[str]]

    def judged(self, pairs: Iterable[_Pair]) -> set[_Pair]:
        """Name pairs as the gold does; those that it does not judge are left out."""
        found: set[_Pair] = set()
        for one, other in pairs:
            names = (self._named(0, one), self._named(1, other))
            if "" in names or names[0] in self.unjudged[0] or names[1] in self.unjudged[1]:
                continue
            if names[0] in self.withdrawn[0] and names[1] in self.withdrawn[1]:
                continue  # a note in both editions: the gold says nothing of it
            if self.kinds.get(names) != "covered":
                found.add(names)
        return found

    def _named(self, side: int, key: str | None) -> str | None:
        return None if key is None else self.names[side].get(key, "")


def gold_of(pair: Path, editions: tuple[Edition, Edition]) -> Gold:
    """Read what is right; units without a line are found by the number of their clause."""
    found = json.loads((pair / "gold.json").read_text())
    names: list[dict[str, str]] = []
    withdrawn: list[frozenset[str]] = []
    for side, edition in zip(("old", "new"), editions, strict=True):
        numbered = {each.number.lower().replace("(", ".").replace(")", ""): each for each in edition.clauses}
        by_key: dict[str, str] = {}
        units = [json.loads(line) for line in (pair / f"units.{side}.jsonl").read_text().splitlines()]
        withdrawn.append(frozenset(unit["id"] for unit in units if unit.get("withdrawn")))
        for unit in units:
            if "line" in unit:
                by_key[f"{unit['file']}:{unit['line']}"] = unit["id"]
            elif unit["id"] in numbered:
                by_key[key_of(numbered[unit["id"]]) or ""] = unit["id"]
        names.append(by_key)
    kinds = {(each["old"], each["new"]): each["kind"] for each in found["align"]}
    unjudged = (frozenset(found["unjudged"].get("old", ())), frozenset(found["unjudged"].get("new", ())))
    return Gold((names[0], names[1]), kinds, unjudged, (withdrawn[0], withdrawn[1]))


def real(data: Path, embedder: Embedder | None) -> Iterator[dict[str, Any]]:
    """Score every pair, with and without the notes that withdrawn clauses leave."""
    settings = load_settings()
    for pair in sorted(path for path in data.iterdir() if (path / "gold.json").exists()):
        for side in sorted(path.name for path in pair.glob("new*") if path.is_dir()):
            editions = (edition_at(settings, str(pair / "old")), edition_at(settings, str(pair / side)))
            gold = gold_of(pair, editions)
            texts = tuple(
                {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
                for folder in (pair / "old", pair / side)
            )
            changes = compare_editions(*editions)
            links = [(key_of(each.link.old), key_of(each.link.new)) for each in changes]
            ways: dict[str, Iterable[_Pair]] = {
                "ours": [link for link in links if None not in link],
                "difflib over lines": by_lines(*editions, (texts[0], texts[1])),
                "words in common": by_words(*editions),
                "embedding alone": by_vectors(*editions, embedder) if embedder else (),
            }
            right = {link for link, kind in gold.kinds.items() if None not in link and kind != "covered"}
            row: dict[str, Any] = {"pair": f"{pair.name} {side}".removesuffix(" new")}
            for name, pairs in ways.items():
                score = Score()
                score.add(gold.judged(pairs), right)
                row[name] = str(score)
            for name, place in (("added", 1), ("removed", 0)):
                mine = gold.judged(link for link in links if link[1 - place] is None)
                joined = {link[place] for link in right}
                row[f"{name}, wrongly"] = f"{sum(link[place] in joined for link in mine)} of {len(mine)}"
            yield row


# ---- made editions

_INSIDE = ("force", "number")
_REAL = (
    "docs/md/rfc9114_http3.md",
    "docs/md/jsonschema_core.md",
    "docs/md/nist_800-63b_sec5_authenticators.md",
    "docs/md/mcp_2025-11-25_authorization.mdx",
    "docs/gold/mil_std_498_did_srs.md",
    "docs/gold/sarif_v2.2_draft.md",
    "editions/cloudevents-0.3-1.0.2/old/spec.md",
    "editions/nist80053-r4-r5/old/ac.md",
)
"""Documents that are edited at random, below the folder of data."""


def made(pairs: int, clauses: int, embedder: Embedder | None) -> Iterator[dict[str, Any]]:
    """Score pairs of each kind that is made: links, what was added and removed, and changes of force and number."""
    for kind in KINDS:

        def pair(seed: int, kind: str = kind) -> tuple[list[Made], list[Made]]:
            dice = random.Random(f"{kind} {seed}")
            old = made_document(dice, kind, clauses)
            return old, edited(dice, old, lambda: made_document(dice, kind, 2)[1])

        yield _scored(kind, kind, map(pair, range(pairs)), embedder)


def made_in_manners(pairs: int, clauses: int, embedder: Embedder | None) -> Iterator[dict[str, Any]]:
    """Score pairs that are written as revised standards are, in each manner."""
    for name, (kind, written_again) in MANNERS.items():

        def pair(seed: int, kind: str = kind, written_again: Manner = written_again) -> tuple[list[Made], list[Made]]:
            dice = random.Random(f"{written_again.__name__} {seed}")
            old = made_document(dice, kind, clauses)
            new = edited(dice, old, lambda: made_document(dice, kind, 2)[1])
            return old, written_again(dice, old, new)

        yield _scored(name, "printed" if written_again is as_it_is else kind, map(pair, range(pairs)), embedder)


def made_of_real(data: Path, pairs: int, embedder: Embedder | None) -> Iterator[dict[str, Any]]:
    """Score pairs made of real documents; what is put in comes from the others."""
    there = [data / name for name in _REAL if (data / name).exists()]
    for path in there:
        prose = [
            each
            for other in there
            if other != path
            for each in read_document(other)
            if each.text and not any(part.startswith(("|", "<", "`", "~", " ")) for part in each.text)
        ]

        def pair(seed: int, path: Path = path, prose: Sequence[Made] = prose) -> tuple[list[Made], list[Made]]:
            dice = random.Random(f"{path.name} {seed}")
            old = read_document(path)
            return old, edited(dice, old, lambda: dice.choice(prose))

        yield _scored(path.name, "real", map(pair, range(pairs)), embedder)


def _scored(
    name: str, kind: str, pairs: Iterable[tuple[list[Made], list[Made]]], embedder: Embedder | None
) -> dict[str, Any]:
    settings = load_settings()
    scores = {
        each: Score()
        for each in ("links", "added", "removed", *_INSIDE, "difflib over lines", "words in common", "embedding alone")
    }
    suffix = ".txt" if kind in {"protocol", "printed"} else ".md"
    with tempfile.TemporaryDirectory() as folder:
        for old, new in pairs:
            if kind == "printed":
                sides = (printed(old, "ACME 100:2018 Parts", 84), printed(new, "ACME 100:2023 Parts of plants", 66))
            else:
                sides = (written(old, kind), written(new, kind))
            paths = (Path(folder, f"old{suffix}"), Path(folder, f"new{suffix}"))
            for path, (text, _) in zip(paths, sides, strict=True):
                path.write_text(text)
            editions = (edition_at(settings, str(paths[0])), edition_at(settings, str(paths[1])))
            lines = tuple({line: key for key, line in places.items()} for _, places in sides)
            right = {(was, key) for key, each in enumerate(new) for was in each.was}
            score_made(scores, compare_editions(*editions), (old, new), [_by_line(places) for places in lines])
            texts = tuple({path.name: text} for path, (text, _) in zip(paths, sides, strict=True))
            ways: dict[str, Iterable[_Pair]] = {
                "difflib over lines": by_lines(*editions, texts),
                "words in common": by_words(*editions),
                "embedding alone": by_vectors(*editions, embedder) if embedder else (),
            }
            for way, joined in ways.items():
                found = {(lines[0].get(_line(one)), lines[1].get(_line(other))) for one, other in joined}
                scores[way].add({link for link in found if None not in link}, right)
    return {
        "pairs": name,
        **{each: str(score) for each, score in scores.items()},
        "edits": " + ".join(f"{scores[kind].all()} {kind}" for kind in _INSIDE),
    }


def _by_line(places: Mapping[int, int]) -> Callable[[Clause], int | None]:
    return lambda clause: places.get(clause.line or 1)


def _line(key: str | None) -> int:
    return int((key or ":0").rpartition(":")[2])


def score_made(
    scores: Mapping[str, Score],
    changes: Sequence[ClauseChange],
    made: tuple[Sequence[Made], Sequence[Made]],
    place_of: Sequence[Callable[[Clause], int | None]],
) -> None:
    """Count links, what was added and removed, and changes of force and number, of a pair that was made.

    Args:
        scores: of each.
        changes: what was found.
        made: what both editions were made of.
        place_of: for either edition, tells which of these a clause is; None for none.
    """
    old, new = made
    right = {(was, key) for key, each in enumerate(new) for was in each.was}
    found: set[tuple[int, int]] = set()
    gone: set[int] = set()
    come: set[int] = set()
    inside: dict[str, set[tuple[int, str, str]]] = {kind: set() for kind in _INSIDE}
    for each in changes:
        one = place_of[0](each.link.old) if each.link.old else None
        other = place_of[1](each.link.new) if each.link.new else None
        if one is not None and other is not None:
            found.add((one, other))
        elif one is not None:
            gone.add(one)
        elif other is not None:
            come.add(other)
        for change in each.changes:
            # a clause that leaves an informative annex is normative: reported correctly, and no edit of its words
            is_standing = {change.before, change.after} == {"normative", "informative"}
            if change.kind.value in inside and other is not None and not is_standing:
                inside[change.kind.value].add((other, _bare(change.before), _bare(change.after)))
    scores["links"].add(found, right)
    scores["added"].add(come, {key for key, each in enumerate(new) if not each.was and not each.is_stub})
    scores["removed"].add(gone, set(range(len(old))) - {was for was, _ in right})
    for kind, seen in inside.items():
        right_inside = {
            (key, was, now) for key, each in enumerate(new) for name, was, now in each.changes if name == kind
        }
        scores[kind].add(seen, right_inside)


def _bare(printed: str) -> str:
    """Leave the unit of a number out: what is written down of an edit has none."""
    number = re.match(r"\d+", printed)
    return number.group() if number else printed


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=180).print(table)


def main(argv: Sequence[str] | None = None) -> None:
    """Run both tables; figures are precision, recall and F1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--made", type=int, default=10, help="pairs to make of each kind, and of each real document")
    parser.add_argument("--clauses", type=int, default=60, help="clauses of a document that is made")
    parser.add_argument("--rows", type=Path, help="write the rows as JSON lines")
    parser.add_argument(
        "--no-embedding", action="store_true", help="leave out the column that takes a model and minutes"
    )
    arguments = parser.parse_args(argv)
    embedder = None if arguments.no_embedding else from_options(load_settings())
    rows: list[dict[str, Any]] = []
    if (arguments.data / "editions").is_dir():
        rows += real(arguments.data / "editions", embedder)
        _table(rows)
    else:
        print(f"SKIPPED: there are no real editions at {arguments.data / 'editions'}.")
    fresh = [
        *made(arguments.made, arguments.clauses, embedder),
        *made_in_manners(arguments.made, arguments.clauses, embedder),
        *made_of_real(arguments.data, arguments.made, embedder),
    ]
    _table(fresh)
    rows += fresh
    if arguments.rows:
        arguments.rows.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    main()
