"""Measure `knowledge conflicts`: requirements of real sets, edited so that every conflict is known.

Usage: `python -m benchmarks.conflicts [--data FOLDER] [--show N]`

The sets are those below `$KNOWLEDGE_EVAL_DATA` (else `../shared/data`; left out loudly where there are none), in
`req/*` and `trace/req2req-*`. Requirements get twins that are denied, weaker, have another limit, or say the same in
other function words. A planted pair counts as found where it is reported with its kind. What is reported between two
requirements as they are is for a person to judge: `--show N` prints N of each kind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from knowledge_mcp.engine.tracing.conflicts import Conflict, conflicts
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.language.demands import OWN_LABEL
from knowledge_mcp.language.force import Convention, detect_convention, force_of
from knowledge_mcp.language.quantities.reading import quantities
from knowledge_mcp.lexical.analyser import EnglishAnalyser

_WEAKER = {"shall": "should", "must": "should", "will": "may", "should": "may"}
_SAME = {"shall": "must", "must": "shall"}
_LONGEST = 500


def main() -> None:
    """Print one row a set, and what is found among the requirements as they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N unplanted ones of each kind")
    chosen = parser.parse_args()
    sets = dict(_sets(chosen.data))
    if not sets:
        print(f"SKIPPED: no requirements below {chosen.data}")
        return
    kinds = ("contradiction", "limit", "force", "duplicate")
    print("| set | items | " + " | ".join(f"{kind}: found of planted" for kind in kinds) + " | as they are |")
    print("|---|---|" + "---|" * (len(kinds) + 1))
    for name, items in sets.items():
        found, planted, own = _measure(items, random.Random(name))
        counts = Counter(each.kind.value for each in own)
        result = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"
        cells = " | ".join(f"{found[kind]} of {planted[kind]}" for kind in kinds)
        print(f"| {name} | {len(items)} | {cells} | {result} |")
        shown: Counter[str] = Counter()
        for each in own:
            shown[each.kind.value] += 1
            if shown[each.kind.value] <= chosen.show:
                print(f"    {each.kind.value}: {each.why}\n        {each.one.text}\n        {each.other.text}")


def _sets(data: Path) -> Iterator[tuple[str, list[TraceItem]]]:
    for file in sorted(data.glob("req/*/*.jsonl")) + sorted(data.glob("trace/req2req-*/*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if rows and "text" in rows[0]:
            name = f"{file.parent.name}/{file.stem}"
            yield name, [TraceItem(f"{name}:{place}", "", row["text"], name) for place, row in enumerate(rows)]


def _measure(items: list[TraceItem], chance: random.Random) -> tuple[Counter[str], Counter[str], list[Conflict]]:
    """Plant twins and count which are found."""
    terms = EnglishAnalyser().document_terms
    convention = detect_convention("\n".join(each.text for each in items))
    twins: list[tuple[str, TraceItem, TraceItem]] = []
    for each in items:
        made = _twin(each.text, convention, chance)
        if made is not None:
            kind, text = made
            twins.append((kind, each, TraceItem(f"twin of {each.id}", "", text, each.citation)))
    reported: dict[tuple[str, str], set[str]] = defaultdict(set)
    for conflict in conflicts([*items, *(twin for _, _, twin in twins)], terms):
        ids = [conflict.one.id, conflict.other.id, *(each.id for each in conflict.also_in)]
        for one in ids:
            for other in ids:
                reported[one, other].add(conflict.kind.value)
    found = Counter(kind for kind, one, other in twins if kind in reported[one.id, other.id])
    return found, Counter(kind for kind, _, _ in twins), conflicts(items, terms)


def _twin(text: str, convention: Convention, chance: random.Random) -> tuple[str, str] | None:
    force = force_of(text, convention)
    word = text[force.start : force.end] if force else ""
    if force is None or word.lower() not in _WEAKER or len(text) > _LONGEST or force.negated:
        return None

    def put(other: str) -> str:
        return text[: force.start] + (other.upper() if word.isupper() else other) + text[force.end :]

    kind = chance.choice(("contradiction", "limit", "force", "duplicate"))
    if kind == "contradiction":
        return kind, put(f"{word.lower()} not")
    if kind == "force":
        return kind, put(_WEAKER[word.lower()])
    if kind == "duplicate":
        return kind, re.sub(r"\bthe\b", "a", put(_SAME.get(word.lower(), word.lower())), count=1)
    label = OWN_LABEL.match(text)
    for each in quantities(text):
        digits = re.search(r"\d+", text[each.start : each.end])
        if digits and (label is None or each.start >= label.end()):
            start, end = each.start + digits.start(), each.start + digits.end()
            return kind, f"{text[:start]}{int(digits.group()) * 3 + 1}{text[end:]}"
    return None


if __name__ == "__main__":
    main()
