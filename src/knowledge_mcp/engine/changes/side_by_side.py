"""Both editions of a clause side by side, in rows of sentences with the changes marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.inside.standing import STANDINGS
from knowledge_mcp.engine.changes.inside.tables import PairedTables
from knowledge_mcp.engine.changes.kinds import CUT, ChangeType
from knowledge_mcp.engine.changes.sentences import ALL_ALIKE, Weights, pair_sentences, sentences_of
from knowledge_mcp.engine.changes.wording import Marked, marked_words
from knowledge_mcp.support.matching import BoundedMatcher

Pair = tuple[Marked, Marked]
"""A line of the old and the new edition."""


def side_by_side(change: ClauseChange, weights: Weights = ALL_ALIKE) -> Iterator[Pair]:
    """Yield a clause's sentences in both editions, row by row, in pieces that are marked if they changed.

    A sentence that is now in another clause, because of a merge or split, has not changed. If a clause became normative
    or informative, or the document states something else about itself, the first rows say so. Of a table row that
    changed, each changed cell is a row. `weights` are those of all clauses.
    """
    old, new = change.link.old, change.link.new
    before, after = (sentences_of(side) if side else [] for side in (old, new))
    parts = {text for each in change.changes if each.requirement for text in (each.before, each.after)}
    texts = {text for each in change.changes for text in (each.old_text, each.new_text)}.union(
        (part for text in parts for part in text.split(CUT)),
        before if new is None else (),
        after if old is None else (),
        set(before) & set(after),
    )
    for each in change.changes:
        if {each.before, each.after} == set(STANDINGS) and new is not None and each.new_text == new.label:
            yield ((each.before, True),), ((each.after, True),)
        if each.kind is ChangeType.PROPERTY:
            yield marked_words(each.old_text, each.new_text)
    clauses = ([old] if old else [], [new] if new else [])
    tables = PairedTables(clauses, (before, after), (before, after), weights)
    shown = _shown_rows(tables, before, after)
    lone = [{at for each in tables.cells if not all(each.places) for at in each.places[side]} for side in (0, 1)]
    for one, other in tables.rows:
        before[one] = after[other] = f"{_ROW} {one}"
    matcher = BoundedMatcher(before, after)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(before[a:b], after[c:d], strict=True):
                yield from shown.get(one, [(((one, False),), ((other, False),))])
            continue
        ones, theirs = (
            [side[at] for at in range(start, end) if at not in alone and _ROW not in side[at]]
            for side, start, end, alone in ((before, a, b, lone[0]), (after, c, d, lone[1]))
        )
        for left, right in pair_sentences(ones, theirs, weights):
            one, other = " ".join(ones[each] for each in left), " ".join(theirs[each] for each in right)
            if (left and right) or (one or other) in texts:
                yield marked_words(one, other)
            else:
                yield ((one, False),) * bool(one), ((other, False),) * bool(other)
        yield from ((((before[at], True),), ()) for at in range(a, b) if at in lone[0])
        for at in range(c, d):
            yield from [((), ((after[at], True),))] if at in lone[1] else shown.get(after[at], ())


_ROW = "\0"
"""Begins what stands for a row of a table; no text contains it."""


def _shown_rows(tables: PairedTables, before: Sequence[str], after: Sequence[str]) -> dict[str, list[Pair]]:
    """Map what stands for a row of a table to its changed cells, or else to the row."""
    cells: dict[tuple[int, ...], list[Pair]] = {}
    for each in tables.cells:
        if each.column:
            label = ((f"{each.row} · {each.column}:", False),)
            was, now = marked_words(each.texts[0][0].strip("| "), each.texts[1][0].strip("| "))
            cells.setdefault(each.places[0], []).append(((*label, *was), (*label, *now)))
    found: dict[str, list[Pair]] = {}
    for one, other in tables.rows:
        is_head = any((each.old_text, each.new_text) == (before[one], after[other]) for each, _ in tables.columns)
        whole = ((before[one], False),), ((after[other], False),)
        line = marked_words(before[one], after[other]) if is_head else whole
        found[f"{_ROW} {one}"] = cells.get((one,), [line])
    return found
