"""Both editions of a clause side by side, in rows of sentences with the changes marked."""

from __future__ import annotations

from collections.abc import Iterator

from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.inside.standing import STANDINGS
from knowledge_mcp.engine.changes.kinds import CUT, ChangeType
from knowledge_mcp.engine.changes.sentences import ALL_ALIKE, Weights, pair_sentences, sentences_of
from knowledge_mcp.engine.changes.wording import Marked, marked_words
from knowledge_mcp.support.matching import BoundedMatcher


def side_by_side(change: ClauseChange, weights: Weights = ALL_ALIKE) -> Iterator[tuple[Marked, Marked]]:
    """Yield a clause's sentences in both editions, row by row, in pieces that are marked if they changed.

    A sentence that is now in another clause, because of a merge or split, has not changed. If a clause became normative
    or informative, or the document states something else about itself, the first rows say so. `weights` are those of
    all clauses.
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
    matcher = BoundedMatcher(before, after)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(before[a:b], after[c:d], strict=True):
                yield ((one, False),), ((other, False),)
            continue
        for left, right in pair_sentences(before[a:b], after[c:d], weights):
            one, other = " ".join(before[a + each] for each in left), " ".join(after[c + each] for each in right)
            if (left and right) or (one or other) in texts:
                yield marked_words(one, other)
            else:
                yield ((one, False),) * bool(one), ((other, False),) * bool(other)
