"""Changes between paired sentences: force, numbers, conditions, words; and what a sentence without counterpart is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from knowledge_mcp.engine.changes.inside.columns import changed_figures
from knowledge_mcp.engine.changes.inside.conditions import NARROWED, WIDENED, changed_conditions
from knowledge_mcp.engine.changes.inside.standing import NORMATIVE, changed_standing, denied_aside, is_denied_otherwise
from knowledge_mcp.engine.changes.kinds import CUT, ChangeType, TextChange
from knowledge_mcp.engine.changes.marking import (
    FORCE_KEY,
    NUMBER_KEY,
    MarkedWord,
    PrintedPlaces,
    has_other_bounds,
    has_tolerance,
    is_only_denied,
    joined_items,
    marked_up,
    marks_of,
    number_marks,
    other_limits,
    without_misread,
    words_with_bounds,
)
from knowledge_mcp.engine.changes.replaced import is_row_of, replaced
from knowledge_mcp.engine.changes.sentences import (
    ALIKE,
    ALL_ALIKE,
    SAME,
    Weights,
    is_gone,
    likeness,
    lone_sentences,
    without_sentences,
)
from knowledge_mcp.engine.changes.wording import marked_words, words_and_signs, words_of
from knowledge_mcp.language.demands import force_words, says_what_to_verify
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.language.printed import PrintedMark, without_note_marks
from knowledge_mcp.language.quantities.bounds import NAMED
from knowledge_mcp.language.requirements.conditions import is_exception
from knowledge_mcp.language.sentences import BAR, cell_texts, is_row


def edited(
    ones: Sequence[str],
    theirs: Sequence[str],
    convention: Convention,
    places: PrintedPlaces,
    numbers: Mapping[str, str],
    weights: Weights,
) -> list[TextChange]:
    """List the changes between paired sentences."""
    one, other = " ".join(ones), " ".join(theirs)
    if is_gone(one) is not is_gone(other):
        return [TextChange(ChangeType.WORDS, one, other, one, other, "withdrawn" if is_gone(other) else "added")]
    gone, come = lone_sentences(one, other)
    found = [lone(each, "", convention) for each in gone] + [lone("", each, convention) for each in come]
    was, now = without_sentences(one, gone), without_sentences(other, come)
    if was == now:
        return found
    cells = [len(BAR.split(each)) for each in (one, other)]
    is_recast = 1 < min(cells) < max(cells)  # a table row that became list items has its numbers in other words
    sides = (was if gone else joined_items(ones), now if come else joined_items(theirs))
    conditions, *rest = _conditions(*sides, convention)
    if conditions:
        found += [replace(each, old_text=one, new_text=other) for each in conditions]
        was, now = sides = rest[0], rest[1]
        if words_and_signs(was) == words_and_signs(now):
            return found
    before, after = (marked_up(each, convention, places, is_recast=is_recast) for each in sides)
    if has_tolerance(before) is not has_tolerance(after):
        before, after = (marked_up(each, convention, places, is_recast=is_recast, whole_ranges=True) for each in sides)
    if is_only_denied(before, after):
        before, after = (marked_up(each, convention, places, is_recast=is_recast, as_printed=True) for each in sides)
    before, after = without_misread((before, after), sides)
    others = list(_between(before, after, was, now, numbers, weights))
    return found + [replace(each, old_text=one, new_text=other) if conditions else each for each in others]


def _conditions(one: str, other: str, convention: Convention) -> tuple[list[TextChange], str, str]:
    """Compare the conditions of two sentences that demand or permit something, unless the rest was rewritten.

    Which way a change goes is only certain if the rest says the same; words that moved out of the condition do not
    count.
    """
    sides = (one, other)
    if not all(any(it.counts and it.key not in _POSSIBLE for it in force_words(each, convention)) for each in sides):
        return [], one, other
    changes, *rest = changed_conditions(one, other)
    said = {word for each in changes for word in words_of(f"{each.before} {each.after}")}
    bags = [Counter(word for word in words_of(each) if word not in said) for each in rest]
    is_rewritten = likeness(bags[0], bags[1], ALL_ALIKE) < SAME or not all(
        force_words(each, convention) for each in rest
    )
    if not changes or is_rewritten:
        return [], one, other
    apart = {word for word in (bags[0] - bags[1]) + (bags[1] - bags[0]) if not is_function_word(word)}
    is_sure = all(obliges(each, convention) for each in sides) and not _words_alone(apart, rest, convention)
    return [each if is_sure else replace(each, requirement="") for each in changes], rest[0], rest[1]


def _words_alone(words: Iterable[str], sentences: Sequence[str], convention: Convention) -> set[str]:
    """Return the words that are neither words of force nor parts of numbers of some sentences."""
    marked = {
        word
        for each in sentences
        for mark in (*force_words(each, convention), *number_marks(each)[0])
        for word in words_of(mark.limit or f"{mark.text} {mark.unit}")
    }
    return set(words) - marked


_POSSIBLE = frozenset({"can", "cannot", "can not", "possibility", "possibility not"})
_FREE = frozenset({"may", "need not", "can", "cannot", "permission", "possibility", "possibility not"})
"""Words of force that are not binding: permissions and possibilities."""


def turned(
    ones: Sequence[str], theirs: Sequence[str], found: Sequence[TextChange], convention: Convention
) -> list[TextChange]:
    """Report a note that became normative, or the reverse, unless a change of its force says so.

    Text without a word of force, except "can", or a limit binds nobody in either place.
    """
    states = changed_standing(ones[0], theirs[0])
    if states is None or any(each.kind is ChangeType.FORCE or each.requirement for each in found):
        return []
    normative = " ".join(ones if states[0] == NORMATIVE else theirs)
    is_forceful = any(word.key not in _POSSIBLE for word in force_words(normative, convention))
    if not is_forceful and not any(mark.limit and mark.counts for mark in number_marks(normative)[0]):
        return []
    return [TextChange(ChangeType.FORCE, *states, " ".join(ones), " ".join(theirs))]


def lone(
    one: str, other: str, convention: Convention, *, is_item: bool = False, is_excepted: bool = False
) -> TextChange:
    """Report a sentence that was added or removed; the other text is empty.

    Args:
        one, other: the sentence, and an empty text.
        convention: how its document marks force.
        is_item: a binding sentence before it demands it.
        is_excepted: it is an item of a list of exceptions.
    """
    if is_excepted or is_exception(one or other):
        return TextChange(ChangeType.CONDITION, one, other, one, other, NARROWED if other else WIDENED)
    kind = ("added" if other else "withdrawn") if is_item or obliges(one or other, convention) else ""
    return TextChange(ChangeType.WORDS, one, other, one, other, kind)


def obliges(sentence: str, convention: Convention) -> bool:
    """Return whether a sentence has a binding word of force, or is a row that says what to verify."""
    if any(word.counts and word.key not in _FREE for word in force_words(sentence, convention)):
        return True
    return is_row(sentence) and any(map(says_what_to_verify, cell_texts(sentence)))


_COPULAS = frozenset("be is are betragen beträgt sein ist être est ser es".split())
"""Verbs that only join a limit to what it limits."""
_KINDS = {FORCE_KEY: ChangeType.FORCE, NUMBER_KEY: ChangeType.NUMBER}
_DIGITS = re.compile(r"\d+")
_CLAUSE_NUMBER = re.compile(r"(?<![\w.])[A-Z]?(?:\.?\d{1,3})(?:\.\d{1,3})*(?![\w]|\.\d)")


def _between(
    before: Sequence[MarkedWord],
    after: Sequence[MarkedWord],
    one: str,
    other: str,
    numbers: Mapping[str, str],
    weights: Weights,
) -> Iterator[TextChange]:
    """Yield the changes between two sentences; words are a separate change only if more changed.

    In a rewritten sentence, force and a limit are separate changes only if each side has one of the same kind. If one
    side is the other with more words, a binding word of force among them makes these a requirement that was added or
    withdrawn. With `weights` of words, for clauses that are not linked otherwise, the sentences must be similar, and
    force is not a separate change either.
    """
    rest, other_rest = ([word for word, mark in side if mark is None] for side in (before, after))
    are_figures = not rest and not other_rest and is_row_of(before, after)
    ours, theirs = Counter(rest), Counter(other_rest)
    bounded, its_bounded = (Counter(words_with_bounds(side)) for side in (before, after))
    alike = 1.0 if are_figures else likeness(bounded, its_bounded, weights)
    if len(marks_of(before, NUMBER_KEY)) == len(marks_of(after, NUMBER_KEY)):
        alike = max(alike, likeness(ours, theirs, weights))  # the kinds of limits may be what changed
    if alike < SAME:
        was, now = (marks_of(side, FORCE_KEY) for side in (before, after))
        if not weights and len(was) == len(now) == 1 and _differ(was[0], now[0]):
            yield TextChange(ChangeType.FORCE, was[0].text, now[0].text, one, other)
        limits = [] if weights else other_limits(before, after)
        if not limits and is_row(one) and is_row(other):
            limits = list(changed_figures(one, other))
        yield from (TextChange(ChangeType.NUMBER, *texts, one, other) for texts in limits)
        requirement = ""
        if ours <= theirs or theirs <= ours:
            more = _binding(now) - _binding(was) if ours <= theirs else _binding(was) - _binding(now)
            requirement = ("added" if ours <= theirs else "withdrawn") if more and not weights else ""
        elif alike < ALIKE and _binding((*was, *now)):
            requirement = "rewritten"
        texts = (one, other) if requirement == "rewritten" else _parted(one, other)
        yield TextChange(ChangeType.WORDS, *texts, one, other, requirement)
        return
    found = [TextChange(_KINDS[key], was, now, one, other) for key, was, now in replaced(before, after)]
    found = [] if _is_respaced(one, other) else found
    yield from found
    if has_other_bounds(before, after):
        rest, other_rest = ([word for word in side if not NAMED.fullmatch(word)] for side in (rest, other_rest))
    if any(each.kind is ChangeType.NUMBER for each in found):  # "not exceed 5 mm" and "be at most 4 mm"
        rest, other_rest = ([word for word in side if word not in _COPULAS] for side in (rest, other_rest))
    is_bound = all(_binding(marks_of(side, FORCE_KEY)) for side in (before, after))
    asides = denied_aside(one, other)
    is_denied = is_denied_otherwise(ours - asides[0], theirs - asides[1])
    if is_bound and is_denied and not any(each.kind is ChangeType.FORCE for each in found):
        yield TextChange(ChangeType.FORCE, *_parted(one, other), one, other)
    elif rest != other_rest or (not found and _redirected(one, numbers) != words_and_signs(without_note_marks(other))):
        yield as_words(one, other)


def _differ(was: PrintedMark, now: PrintedMark) -> bool:
    """Return whether two words of force differ, and not only what they are read to say."""
    return was.text != now.text and (was.key, was.counts) != (now.key, now.counts)


def as_words(one: str, other: str) -> TextChange:
    """Report the words that differ between two sentences."""
    return TextChange(ChangeType.WORDS, *_parted(one, other), one, other)


def _binding(marks: Iterable[PrintedMark]) -> Counter[str]:
    """Count the binding words of force."""
    return Counter(mark.key for mark in marks if mark.counts and mark.key not in _FREE)


def _is_respaced(one: str, other: str) -> bool:
    """Return whether only blanks differ, and none between digits: "SHALLbe" results from a lost blank on a page."""
    return "".join(one.split()) == "".join(other.split()) and _DIGITS.findall(one) == _DIGITS.findall(other)


def _redirected(sentence: str, numbers: Mapping[str, str]) -> list[str]:
    """List the words with the new clause numbers instead of the old ones, and without footnote marks."""
    redirected = _CLAUSE_NUMBER.sub(lambda match: numbers.get(match.group(), match.group()), sentence)
    return words_and_signs(without_note_marks(redirected))


def _parted(one: str, other: str) -> tuple[str, str]:
    """Reduce two sentences to the whole words that differ, with an ellipsis between pieces."""
    was, now = (CUT.join(words for words, is_changed in side if is_changed) for side in marked_words(one, other))
    return was, now
