"""Measure `knowledge compare`: alignment of clauses, and the changes found inside them.

Usage: `python -m benchmarks.editions [--data FOLDER] [--made N] [--rows FILE]`

Two tables. The first are pairs of real editions below `$KNOWLEDGE_EVAL_DATA/editions` (else `../shared/data/editions`,
left out loudly where there are none), scored against their gold: links that are judged, without `covered` ones. The
second are pairs that are made here: a standard of numbered clauses, edited at random, every edit known. Beside the
product stand two plain ways: the lines of both texts put side by side by `difflib` (a heading line that is equal, or in
a block of replaced ones, joins its clauses), and every clause joined with the one that has most words in common, where
that is so both ways (TF-IDF cosine of at least .3).
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from pathlib import Path
from typing import Any

from knowledge_mcp.cli.knowledge.review.compare import compared, edition_at
from knowledge_mcp.engine.changes.clauses import Clause, Edition
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

    def __str__(self) -> str:
        """Print precision, recall and F1."""
        precision = self.hit / (self.hit + self.false) if self.hit + self.false else 1.0
        recall = self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0
        total = precision + recall
        return f"{precision:.3f} {recall:.3f} {2 * precision * recall / total if total else 0.0:.3f}"


# ---- plain ways


def by_lines(old: Edition, new: Edition, texts: tuple[Mapping[str, str], Mapping[str, str]]) -> Iterator[_Pair]:
    """Join clauses whose heading lines `difflib` puts side by side, file by file."""
    for file in texts[0].keys() & texts[1].keys():
        heads, others = ({each.line: each for each in edition.clauses if each.file == file} for edition in (old, new))
        matcher = difflib.SequenceMatcher(None, texts[0][file].split("\n"), texts[1][file].split("\n"), autojunk=False)
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

    def judged(self, pairs: Iterable[_Pair]) -> set[_Pair]:
        """Name pairs as the gold does; those that it does not judge are left out."""
        found: set[_Pair] = set()
        for one, other in pairs:
            names = (self._named(0, one), self._named(1, other))
            if "" in names or names[0] in self.unjudged[0] or names[1] in self.unjudged[1]:
                continue
            if self.kinds.get(names) != "covered":
                found.add(names)
        return found

    def _named(self, side: int, key: str | None) -> str | None:
        return None if key is None else self.names[side].get(key, "")


def gold_of(pair: Path, editions: tuple[Edition, Edition]) -> Gold:
    """Read what is right; units without a line are found by the number of their clause."""
    found = json.loads((pair / "gold.json").read_text())
    names: list[dict[str, str]] = []
    for side, edition in zip(("old", "new"), editions, strict=True):
        numbered = {each.number.lower().replace("(", ".").replace(")", ""): each for each in edition.clauses}
        by_key: dict[str, str] = {}
        for line in (pair / f"units.{side}.jsonl").read_text().splitlines():
            unit = json.loads(line)
            if "line" in unit:
                by_key[f"{unit['file']}:{unit['line']}"] = unit["id"]
            elif unit["id"] in numbered:
                by_key[key_of(numbered[unit["id"]]) or ""] = unit["id"]
        names.append(by_key)
    kinds = {(each["old"], each["new"]): each["kind"] for each in found["align"]}
    unjudged = (frozenset(found["unjudged"].get("old", ())), frozenset(found["unjudged"].get("new", ())))
    return Gold((names[0], names[1]), kinds, unjudged)


def real(data: Path) -> Iterator[dict[str, Any]]:
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
            changes = compared(*editions)
            links = [(key_of(each.link.old), key_of(each.link.new)) for each in changes]
            ways: dict[str, Iterable[_Pair]] = {
                "ours": [link for link in links if None not in link],
                "difflib over lines": by_lines(*editions, (texts[0], texts[1])),
                "words in common": by_words(*editions),
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

_NOUNS = "valve pump gate sensor panel motor brake cable filter switch alarm guard ladder hoist drum relay tank".split()
_PARTS = "housing cover seal bearing shaft bolt handle lamp plate hose frame spring lever coil lid rail base".split()
_VERBS = "withstand indicate limit prevent record isolate support protect monitor release".split()
_THINGS = "vibration overload leakage corrosion impact condensation dust heat noise wear radiation tampering".split()
_FORCES = ("shall", "should", "may", "shall not", "should not")
_UNITS = ("mm", "s", "V", "kg", "%", "dB", "Hz")


@dataclass(slots=True)
class Made:
    """Hold one clause that is made; `was` is the key of the old clause it came from."""

    heading: str
    sentences: list[str]
    was: int | None = None
    changes: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])


def made_standard(dice: random.Random, clauses: int) -> list[Made]:
    """Make a standard: clauses of two to five sentences, some of which oblige and state limits."""
    found: list[Made] = []
    for place in range(clauses):
        noun, part = dice.choice(_NOUNS), dice.choice(_PARTS)
        sentences = [_sentence(dice, noun) for _ in range(dice.randint(2, 5))]
        found.append(Made(f"{noun.capitalize()} {part} {dice.choice(_THINGS)}", sentences, place))
    return found


def _sentence(dice: random.Random, noun: str) -> str:
    if dice.random() < 0.4:
        part, thing, other = dice.choice(_PARTS), dice.choice(_THINGS), dice.choice(_THINGS)
        return f"The {part} of each {noun} is kept free of {thing} and {other}."
    limit = f"{dice.randint(2, 900)} {dice.choice(_UNITS)}"
    return (
        f"The {noun} {dice.choice(_FORCES)} {dice.choice(_VERBS)} {dice.choice(_THINGS)} at the {dice.choice(_PARTS)} "
        f"up to {limit} in {dice.choice(_THINGS)} tests."
    )


def edited(dice: random.Random, old: Sequence[Made]) -> list[Made]:
    """Edit a standard at random; what is done to each clause is written down with it."""
    new = [Made(each.heading, list(each.sentences), each.was) for each in old]
    for each in new:
        if dice.random() < 0.3:
            _edit(dice, each)
        if dice.random() < 0.08:
            each.heading = f"{each.heading.split()[0]} {dice.choice(_PARTS)} {dice.choice(_VERBS)}"
    new = [each for each in new if dice.random() > 0.06]
    for _ in range(max(len(old) // 15, 1)):
        new.insert(dice.randrange(len(new)), Made(f"New {dice.choice(_NOUNS)}", made_standard(dice, 1)[0].sentences))
    for _ in range(max(len(old) // 20, 1)):
        new.insert(dice.randrange(len(new)), new.pop(dice.randrange(len(new))))
    return new


def _edit(dice: random.Random, clause: Made) -> None:
    place = dice.randrange(len(clause.sentences))
    sentence = clause.sentences[place]
    force = re.search(r" (shall not|should not|shall|should|may) ", sentence)
    number = re.search(r"\d+ \S+", sentence)
    if force is None or number is None:
        clause.sentences[place] = sentence.replace("is kept free of", "remains clear of all")
        clause.changes.append(("words", "", ""))
    elif dice.random() < 0.5:
        after = dice.choice([each for each in _FORCES if each != force[1]])
        clause.sentences[place] = sentence.replace(force[0], f" {after} ")
        clause.changes.append(("force", force[1], after))
    else:
        was = number[0].removesuffix(".")
        after = f"{int(was.split()[0]) + dice.randint(1, 50)} {was.split()[1]}"
        clause.sentences[place] = sentence.replace(was, after)
        clause.changes.append(("number", was, after))


def written(clauses: Sequence[Made]) -> tuple[str, dict[int, int]]:
    """Write a standard as Markdown, clauses numbered; with the line of each clause's heading."""
    lines = ["# Standard for machines", ""]
    places: dict[int, int] = {}
    for number, each in enumerate(clauses, 1):
        places[number - 1] = len(lines) + 1
        lines += [f"## {number} {each.heading}", "", " ".join(each.sentences), ""]
    return "\n".join(lines), places


def made(pairs: int, clauses: int) -> dict[str, Any]:
    """Score pairs that are made: links, what was added and removed, and changes of force and number."""
    settings = load_settings()
    scores = {name: Score() for name in ("links", "added", "removed", "force", "number", "difflib over lines")}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(pairs):
            dice = random.Random(seed)
            old = made_standard(dice, clauses)
            new = edited(dice, old)
            (old_text, old_lines), (new_text, new_lines) = written(old), written(new)
            paths = [Path(folder, name) for name in ("old.md", "new.md")]
            for path, text in zip(paths, (old_text, new_text), strict=True):
                path.write_text(text)
            editions = (edition_at(settings, str(paths[0])), edition_at(settings, str(paths[1])))
            changes = compared(*editions)
            lines = ({line: key for key, line in old_lines.items()}, {line: key for key, line in new_lines.items()})
            _score_made(scores, changes, new, lines)
            texts = ({"old.md": old_text}, {"old.md": new_text})
            renamed = Edition(
                editions[1].name,
                tuple(_in(each, "old.md") for each in editions[1].clauses),
                editions[1].convention,
                ("old.md",),
            )
            right = {(each.was, key) for key, each in enumerate(new) if each.was is not None}
            joined = {
                (lines[0].get(_line(one)), lines[1].get(_line(other)))
                for one, other in by_lines(editions[0], renamed, texts)
            }
            scores["difflib over lines"].add({pair for pair in joined if None not in pair}, right)
    return {"pair": f"{pairs} made, {clauses} clauses each", **{name: str(score) for name, score in scores.items()}}


def _in(clause: Clause, file: str) -> Clause:
    clause.file = file
    return clause


def _line(key: str | None) -> int:
    return int((key or ":0").rpartition(":")[2])


def _score_made(
    scores: Mapping[str, Score], changes: Sequence[Any], new: Sequence[Made], lines: Sequence[Mapping[int, int]]
) -> None:
    found: set[tuple[int, int]] = set()
    gone: set[int] = set()
    come: set[int] = set()
    inside: dict[str, Counter[tuple[int, str, str]]] = {"force": Counter(), "number": Counter()}
    for each in changes:
        one = lines[0].get(each.link.old.line) if each.link.old else None
        other = lines[1].get(each.link.new.line) if each.link.new else None
        if one is not None and other is not None:
            found.add((one, other))
        elif one is not None:
            gone.add(one)
        elif other is not None:
            come.add(other)
        for change in each.changes:
            if change.kind.value in inside and other is not None:
                inside[change.kind.value][other, change.before, change.after] += 1
    kept = {each.was for each in new if each.was is not None}
    scores["links"].add(found, {(each.was, key) for key, each in enumerate(new) if each.was is not None})
    scores["added"].add(come, {key for key, each in enumerate(new) if each.was is None})
    scores["removed"].add(gone, set(lines[0].values()) - kept)
    for kind, seen in inside.items():
        right = {(key, was, now) for key, each in enumerate(new) for name, was, now in each.changes if name == kind}
        scores[kind].add(set(seen), right)


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
    parser.add_argument("--made", type=int, default=20, help="pairs to make")
    parser.add_argument("--rows", type=Path, help="write the rows as JSON lines")
    arguments = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    if (arguments.data / "editions").is_dir():
        rows += real(arguments.data / "editions")
        _table(rows)
    else:
        print(f"SKIPPED: there are no real editions at {arguments.data / 'editions'}.")
    rows += (fresh := [made(arguments.made, clauses) for clauses in (20, 60)])
    _table(fresh)
    if arguments.rows:
        arguments.rows.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    main()
