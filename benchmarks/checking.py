"""Measure `knowledge check`: whether evidence that is there is found, none where there is none, and the right sentence.

Usage: `python -m benchmarks.checking [--data FOLDER]`

Sets below `$KNOWLEDGE_EVAL_DATA` (else `../shared/data`, told loudly where there are none): `compliance/*`, contracts
and what they say, contradict or do not mention; and `trace/req2req-*` and `trace/obj2control-*`, where the items of one
side are a document and those of the other are demanded of it. What says a demand is known; to have demands without
evidence, where a set has hardly any, each is also asked of its document without the items that say it ("hidden"), and
all are asked of the documents of other sets ("foreign").

The first table leaves one set out at a time: the constants come from the others alone. P and R are of the verdict
`evidence found` against what the set says, `partial or better` is R at the lower cut, agreement is the share of rows
whose verdict is `evidence found` where there is evidence and another where there is none. `best` and `in three` tell
whether the best sentence, or one of three, is one that says it. The constants fitted on all sets are what
`ranking/linking.py` holds. The last lines run the whole product over `compliance/*`, with the constants that it has.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp import wiring
from knowledge_mcp.engine.tracing import checking
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.obligations import obligations_of_items
from knowledge_mcp.engine.tracing.readings import ReadDocument
from knowledge_mcp.engine.tracing.row_checks import EditionsKnown
from knowledge_mcp.language.demands import without_own_label
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.evidence import QuoteVerdict
from knowledge_mcp.ranking import linking
from knowledge_mcp.settings import load_settings

Table = NDArray[np.float64]
_FOREIGN = 40
"""Demands of a set that are asked of the document of another."""
_RIDGE = 0.01
"""Without it the foreign documents, which are easy to tell, decide: mean agreement is .604 instead of .620."""
_FEW = 0.2
"""Share of demands without evidence below which the evidence of the others is hidden once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold one document with what is demanded of it.

    Attributes:
        sentences: what of the document is looked at.
        labels: of each demand, "there" or "none".
        saying: of each demand, the places of the sentences that say it.
    """

    reading: ReadDocument
    sentences: tuple[str, ...]
    demands: tuple[str, ...]
    labels: tuple[str, ...]
    saying: tuple[frozenset[int], ...]


@dataclass(slots=True)
class Rows:
    """Gather share, cosine, whether there is evidence, and which kind of row it is."""

    features: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    right: list[bool] = field(default_factory=list[bool])
    kinds: list[str] = field(default_factory=list[str])
    best: list[tuple[bool, bool]] = field(default_factory=list[tuple[bool, bool]])

    def add(self, share: Table, cosine: Table, kind: str, saying: frozenset[int] = frozenset()) -> None:
        """Add the row of the best sentence."""
        order = np.argsort(-(share + cosine), kind="stable")[:3]
        self.features.append((float(share[order[0]]), float(cosine[order[0]])))
        self.right.append(kind == "there")
        self.kinds.append(kind)
        if kind == "there" and saying:
            self.best.append((int(order[0]) in saying, bool(saying & {int(each) for each in order})))

    def table(self) -> Table:
        """Return 1, share and cosine of each row."""
        return np.column_stack([np.ones(len(self.right)), np.array(self.features)])

    def weights(self) -> Table:
        """Weigh rows with evidence as much as all others, and each kind of these alike."""
        counts = Counter(self.kinds)
        others = len(counts) - 1
        return np.array([1 / counts[kind] / (1 if kind == "there" else others) for kind in self.kinds])


# ---- sets


def contracts(folder: Path) -> Iterator[Asked]:
    """Read a set of contracts; what contradicts a hypothesis is evidence too."""
    hypotheses = {each["_id"]: each["hypothesis"] for each in _rows(folder / "hypotheses.jsonl")}
    gold: dict[str, list[dict[str, Any]]] = {}
    for each in _rows(folder / "gold.jsonl"):
        gold.setdefault(each["doc"], []).append(each)
    for each in _rows(folder / "documents.jsonl"):
        reading = ReadDocument(each["_id"], each["text"])
        stated = list(checking.stated_in(reading))
        judged = gold.get(each["_id"], [])
        saying: list[frozenset[int]] = []
        for one in judged:
            spans = [each["spans"][place] for place in one["evidence"]]
            saying.append(
                frozenset(
                    place
                    for place, (span, _) in enumerate(stated)
                    if any(span.start < end and start < span.end for start, end in spans)
                )
            )
        yield Asked(
            reading,
            tuple(said for _, said in stated),
            tuple(hypotheses[one["hypothesis"]] for one in judged),
            tuple("none" if one["label"] == "NotMentioned" else "there" for one in judged),
            tuple(saying),
        )


def traced(folder: Path) -> Iterator[Asked]:
    """Read a set of links: its corpus is one document, its queries are demanded."""
    linked: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        source, target, grade = line.split("\t")
        if int(grade) > 0:
            linked.setdefault(source, set()).add(target)
    sentences: list[str] = []
    owners: list[str] = []
    for row in _rows(folder / "corpus.jsonl"):
        reading = ReadDocument(row["_id"], f"{row.get('title', '')}\n\n{row['text']}".strip())
        said = [words for _, words in checking.stated_in(reading)]
        sentences += said
        owners += [row["_id"]] * len(said)
    queries = list(_rows(folder / "queries.jsonl"))
    saying = [
        frozenset(place for place, owner in enumerate(owners) if owner in linked.get(each["_id"], ()))
        for each in queries
    ]
    yield Asked(
        ReadDocument(folder.name, ""),
        tuple(sentences),
        tuple(without_own_label(each["text"]) for each in queries),
        tuple("there" if places else "none" for places in saying),
        tuple(saying),
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def sets_of(data: Path) -> dict[str, list[Asked]]:
    """Read all sets."""
    found = {path.name: list(contracts(path)) for path in sorted(data.glob("compliance/*")) if path.is_dir()}
    for pattern in ("trace/req2req-*", "trace/obj2control-*"):
        found |= {path.name: list(traced(path)) for path in sorted(data.glob(pattern))}
    return found


# ---- leaving one out


def rated(sets: Mapping[str, Sequence[Asked]], terms: linking.Terms, embed: linking.Embed) -> dict[str, Rows]:
    """Rate every demand of every set in its document, in what is left of it, and in documents of other sets."""
    found: dict[str, Rows] = {}
    for name, documents in sets.items():
        rows = found[name] = Rows()
        labels = Counter(label for each in documents for label in each.labels)
        hides = labels["none"] < _FEW * labels.total()
        for each in documents:
            shares, cosines = map(
                np.stack, zip(*linking.shares(each.demands, each.sentences, terms, embed), strict=True)
            )
            for place, (label, saying) in enumerate(zip(each.labels, each.saying, strict=True)):
                rows.add(shares[place], cosines[place], label, saying)
                if hides and label == "there" and len(saying) < len(each.sentences):
                    kept = [other for other in range(len(each.sentences)) if other not in saying]
                    rows.add(shares[place][kept], cosines[place][kept], "hidden")
        asked = documents[0].demands[:_FOREIGN]
        for other, foreign in sets.items():
            if other != name:
                shares, cosines = map(
                    np.stack, zip(*linking.shares(asked, foreign[0].sentences, terms, embed), strict=True)
                )
                for place in range(len(asked)):
                    rows.add(shares[place], cosines[place], "foreign")
    return found


def fitted(sets: Sequence[Rows]) -> Table:
    """Fit the regression by Newton's method; all sets weigh the same, and the constants are held small."""
    columns = np.concatenate([each.table() for each in sets])
    right = np.concatenate([np.array(each.right) for each in sets])
    weights = np.concatenate([each.weights() for each in sets])
    found = np.zeros(columns.shape[1])
    held = np.array([0, _RIDGE, _RIDGE])
    for _ in range(40):
        chances = 1 / (1 + np.exp(-(columns @ found)))
        slope = columns.T @ (weights * (right - chances)) - held * found
        bend = (columns * (weights * chances * (1 - chances))[:, None]).T @ columns
        found += np.linalg.solve(bend + np.diag(held), slope)
    return found


def row_of(rows: Rows, constants: Table) -> list[str]:
    """Measure one set with given constants."""
    chances = 1 / (1 + np.exp(-(rows.table() @ constants)))
    right, kinds = np.array(rows.right), np.array(rows.kinds)
    own = kinds != "foreign"
    cells: list[float] = []
    sure, partly = chances >= checking.FOUND, chances >= checking.PARTIAL
    hits = (sure & right & own).sum()
    cells += [hits / max((sure & own).sum(), 1), hits / max(right.sum(), 1), (partly & right).sum() / right.sum()]
    cells += [(sure == right)[own].mean(), float((chances >= checking.PARTIAL)[~own].mean())]
    cells += [float(each) for each in np.mean(rows.best, 0)]
    return [f"{each:.3f}" for each in cells] + [f"{each:.2f}" for each in constants]


# ---- the whole product


def whole(documents: Sequence[Asked], seek: checking.EvidenceSearch, terms: linking.Terms) -> str:
    """Check every contract as the command does."""
    verdicts: Counter[tuple[str, str]] = Counter()
    quotes = verified = 0
    for each in documents:
        items = [TraceItem(str(place), "", demand, str(place)) for place, demand in enumerate(each.demands)]
        report = checking.check(obligations_of_items(items), [each.reading], seek, terms, EditionsKnown([], "", ""), {})
        for label, row in zip(each.labels, report.rows, strict=True):
            verdicts[label, row.verdict.value] += 1
            quotes += len(row.evidence)
            verified += sum(one.verified is not QuoteVerdict.NOT_FOUND for one in row.evidence)
    result = "; ".join(f"{label} → {verdict}: {count}" for (label, verdict), count in sorted(verdicts.items()))
    right = sum(
        count for (label, verdict), count in verdicts.items() if (label == "there") == (verdict == "evidence found")
    )
    return f"{result}. Agreement {right / sum(verdicts.values()):.3f}. {verified} of {quotes} quotes verified."


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    asked = options.parse_args()
    sets = sets_of(asked.data)
    if not sets:
        print(f"SKIPPED: no sets below {asked.data}.")
        return
    terms = EnglishAnalyser().document_terms
    linker = wiring.build_linker(load_settings())
    rows = rated(sets, terms, linker.embed)
    print("| left out | P | R | partial or better | agreement | foreign found | best | in three | constants | | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, own in rows.items():
        constants = fitted([each for other, each in rows.items() if other != name])
        print(f"| {name} | {' | '.join(row_of(own, constants))} |")
    print(f"\nAll sets: {', '.join(f'{each:.2f}' for each in fitted(list(rows.values())))}; used: {linking.ODDS}\n")
    seek = wiring.build_evidence_finder(load_settings())
    for path in sorted(asked.data.glob("compliance/*")):
        if path.name in sets:
            print(f"{path.name}, as the command does it: {whole(sets[path.name], seek, terms)}")


if __name__ == "__main__":
    main()
