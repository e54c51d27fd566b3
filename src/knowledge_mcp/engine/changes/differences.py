"""What changed inside a clause: force, numbers, definitions, references, words; what matters most comes first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from knowledge_mcp.engine.changes.aligning import ClauseLink, LinkKind, words_of
from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.language.demands import force_words, limits, without_limits
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.support.checkpoints import checked

__all__ = ["ChangeType", "ClauseChange", "Marked", "TextChange", "changes_of", "side_by_side"]

Marked = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it changed."""

_ALIKE = 0.5
"""Share of words that two sentences have in common from which on one is the other, edited."""
_SAME = 0.75
"""Share from which on it says the same but for what changed; below, force and numbers are part of a rewriting."""
_MOST_PAIRED = 400
"""Sentences left on either side up to which all are compared with all."""


class ChangeType(StrEnum):
    """What kind of change it is, the weightiest first."""

    FORCE = "force"
    NUMBER = "number"
    DEFINITION = "definition"
    REFERENCE = "reference"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class TextChange:
    """Describe one change inside a clause.

    Attributes:
        kind: what changed.
        before, after: the words, number, definition or reference that was, and that is; empty for none.
        old_text, new_text: the sentences they stand in, as printed; empty where there was or is none.
        requirement: "added" or "withdrawn" where the sentence obliges and has no counterpart.
    """

    kind: ChangeType
    before: str
    after: str
    old_text: str = ""
    new_text: str = ""
    requirement: str = ""


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """Tell what a clause became, and what changed inside it."""

    link: ClauseLink
    changes: tuple[TextChange, ...]


def changes_of(links: Sequence[ClauseLink], old: Edition, new: Edition) -> list[ClauseChange]:
    """Look into every aligned pair; what was added or removed as a whole has its obligations among its changes."""
    numbers = {
        link.old.number: link.new.number
        for link in links
        if link.old and link.new and link.old.number and link.kind not in {LinkKind.SPLIT, LinkKind.MERGED}
    }
    return [ClauseChange(link, tuple(_inside(link, old, new, numbers))) for link in checked(links)]


def _inside(link: ClauseLink, old: Edition, new: Edition, numbers: Mapping[str, str]) -> Iterator[TextChange]:
    if link.kind in {LinkKind.SPLIT, LinkKind.MERGED}:
        return  # its words are compared with those of the clause that it is joined with
    one, other = link.old, link.new
    before = _sentences(one) if one else []
    after = _sentences(other) if other else []
    if words_of(" ".join(before)) == words_of(" ".join(after)):
        if one and other:
            yield from _signs(before, after)
        return
    found = [
        *_of_sentences(before, after, old.convention, new.convention, numbers),
        *(_definitions(one, other) if one and other else ()),
        *(_references(one, other, numbers) if one and other else ()),
    ]
    order = list(ChangeType)
    yield from sorted(found, key=lambda change: order.index(change.kind))


# ---- sentences

_RULE = re.compile(r"\|[\s:|-]*")


def _sentences(clause: Clause) -> list[str]:
    """Cut a clause into what is compared: sentences, and the rows of tables and lines of code."""
    found: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", clause.text):
        lines = paragraph.split("\n")
        if any(line.lstrip().startswith("|") for line in lines):
            found.extend(line.strip() for line in lines if not _RULE.fullmatch(line.strip()))
        else:
            found.extend(" ".join(span.of(paragraph).split()) for span in sentence_spans(paragraph))
    return [each for each in found if each]


def _of_sentences(
    before: Sequence[str], after: Sequence[str], old: Convention, new: Convention, numbers: Mapping[str, str]
) -> Iterator[TextChange]:
    for one, other in _paired(before, after):
        if one is None or other is None:
            text = one or other or ""
            obliges = bool(force_words(text, old if other is None else new))
            kind = ("withdrawn" if other is None else "added") if obliges else ""
            yield TextChange(ChangeType.WORDS, one or "", other or "", one or "", other or "", kind)
            continue
        yield from _between(one, other, old, new, numbers)


def _paired(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Pair the sentences that differ, in reading order: each with the most alike that is left, or with none."""
    keys, others = [tuple(words_of(each)) for each in before], [tuple(words_of(each)) for each in after]
    left, right = _unmatched(keys, others)
    joined: dict[int, int] = {}
    if len(left) <= _MOST_PAIRED and len(right) <= _MOST_PAIRED:
        bags = {place: Counter(keys[place]) for place in left}
        other_bags = {place: Counter(others[place]) for place in right}
        scored = sorted(
            (-likeness, abs(one - other), one, other)
            for one in checked(left)
            for other in right
            if (likeness := _likeness(bags[one], other_bags[other])) >= _ALIKE
        )
        taken: set[int] = set()
        for _, _, one, other in scored:
            if one not in joined and other not in taken:
                joined[one] = other
                taken.add(other)
    alone = [other for other in right if other not in joined.values()]
    for one in left:
        while alone and one in joined and alone[0] < joined[one]:
            yield None, after[alone.pop(0)]
        yield before[one], after[joined[one]] if one in joined else None
    for other in alone:
        yield None, after[other]


def _unmatched(keys: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]) -> tuple[list[int], list[int]]:
    """List the sentences that the other side has not word for word, as often as it has them."""
    here, there = Counter(keys), Counter(others)
    common = here & there
    spent, other_spent = Counter(common), Counter(common)
    left: list[int] = []
    right: list[int] = []
    for place, key in enumerate(keys):
        if spent[key]:
            spent[key] -= 1
        elif key:
            left.append(place)
    for place, key in enumerate(others):
        if other_spent[key]:
            other_spent[key] -= 1
        elif key:
            right.append(place)
    return left, right


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


# ---- between two sentences

_CLAUSE_NUMBER = re.compile(r"(?<![\w.])[A-Z]?(?:\.?\d{1,3})(?:\.\d{1,3})*(?![\w]|\.\d)")


def _between(
    one: str, other: str, old: Convention, new: Convention, numbers: Mapping[str, str]
) -> Iterator[TextChange]:
    """Tell what changed from one sentence to another; words are a change of their own only where more changed.

    In a sentence that was written again, force and numbers are no changes of their own.
    """
    found: list[TextChange] = []
    rest, other_rest = words_of(without_limits(one)), words_of(without_limits(other))
    if _likeness(Counter(rest), Counter(other_rest)) < _SAME:
        yield TextChange(ChangeType.WORDS, *_parted(one, other), one, other)
        return
    for was, now in _replaced(force_words(one, old), force_words(other, new)):
        found.append(TextChange(ChangeType.FORCE, was, now, one, other))
    for was, now in _replaced(limits(one), limits(other)):
        if any(sign.isdigit() for sign in was + now) or (was and now):  # "two" that came or went counts no limit
            found.append(TextChange(ChangeType.NUMBER, was, now, one, other))
    yield from found
    if rest != other_rest or (not found and words_of(_redirected(one, numbers)) != words_of(other)):
        yield TextChange(ChangeType.WORDS, *_parted(one, other), one, other)


def _replaced(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what stands in place of what, as printed; an empty text for nothing."""
    matcher = SequenceMatcher(None, [key for key, _ in before], [key for key, _ in after], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        was, now = [printed for _, printed in before[a:b]], [printed for _, printed in after[c:d]]
        for place in range(max(len(was), len(now))):
            yield was[place] if place < len(was) else "", now[place] if place < len(now) else ""


def _redirected(sentence: str, numbers: Mapping[str, str]) -> str:
    """Put the new numbers of clauses in place of the old ones."""
    return _CLAUSE_NUMBER.sub(lambda match: numbers.get(match.group(), match.group()), sentence)


def _parted(one: str, other: str) -> tuple[str, str]:
    """Cut two sentences down to what differs, whole words, with an ellipsis between pieces."""
    words, others = one.split(), other.split()
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    was = " … ".join(" ".join(words[a:b]) for _, a, b, _, _ in codes if b > a)
    now = " … ".join(" ".join(others[c:d]) for _, _, _, c, d in codes if d > c)
    return was, now


def _signs(before: Sequence[str], after: Sequence[str]) -> Iterator[TextChange]:
    """Tell of limits whose sign alone changed, which letters and digits do not show: "≥ 5" and "≤ 5"."""
    for one, other in zip(before, after, strict=False):
        for was, now in _replaced(limits(one), limits(other)):
            yield TextChange(ChangeType.NUMBER, was, now, one, other)


# ---- definitions and references


def _definitions(old: Clause, new: Clause) -> Iterator[TextChange]:
    before = {" ".join(words_of(each.term)): each for each in old.definitions}
    after = {" ".join(words_of(each.term)): each for each in new.definitions}
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        was, now = one.text if one else "", other.text if other else ""
        if words_of(was) != words_of(now):
            yield TextChange(ChangeType.DEFINITION, was, now, one.term if one else "", other.term if other else "")


def _references(old: Clause, new: Clause, numbers: Mapping[str, str]) -> Iterator[TextChange]:
    """Tell which references lead elsewhere; one whose clause only got another number leads where it did."""
    own = {ReferenceKind.CLAUSE, ReferenceKind.ANNEX}
    before = [
        (numbers.get(each.target, each.target) if each.kind in own else each.target, each.target)
        for each in old.references
    ]
    after = [(each.target, each.target) for each in new.references]
    kept = Counter(key for key, _ in before) & Counter(key for key, _ in after)
    for was, now in _replaced(_without(before, kept), _without(after, kept)):
        yield TextChange(ChangeType.REFERENCE, was, now)


def _without(found: Sequence[tuple[str, str]], kept: Counter[str]) -> list[tuple[str, str]]:
    spent = Counter(kept)
    left: list[tuple[str, str]] = []
    for key, printed in found:
        if spent[key]:
            spent[key] -= 1
        else:
            left.append((key, printed))
    return left


# ---- side by side


def side_by_side(link: ClauseLink) -> Iterator[tuple[Marked, Marked]]:
    """Yield a clause's sentences in both editions, row by row, in pieces that are marked where they changed."""
    before = _sentences(link.old) if link.old else []
    after = _sentences(link.new) if link.new else []
    keys, others = [tuple(words_of(each)) for each in before], [tuple(words_of(each)) for each in after]
    matcher = SequenceMatcher(None, keys, others, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(before[a:b], after[c:d], strict=True):
                yield ((one, False),), ((other, False),)
            continue
        for one, other in _paired(before[a:b], after[c:d]):
            yield _marked_words(one or "", other or "")


def _marked_words(one: str, other: str) -> tuple[Marked, Marked]:
    words, others = one.split(), other.split()
    codes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    was = tuple((" ".join(words[a:b]), tag != "equal") for tag, a, b, _, _ in codes if b > a)
    now = tuple((" ".join(others[c:d]), tag != "equal") for tag, _, _, c, d in codes if d > c)
    return was, now
