"""Conditions and exceptions that a requirement gained or lost: they change whom and when it binds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from knowledge_mcp.engine.changes.kinds import CUT, ChangeType, TextChange
from knowledge_mcp.engine.changes.sentences import ALIKE, ALL_ALIKE, in_turn, likeness
from knowledge_mcp.engine.changes.wording import stem_of, words_and_signs
from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.language.requirements.conditions import (
    ConditionKind,
    ConditionPhrase,
    conditions_in,
    without_phrases,
)

NARROWED, WIDENED = "narrowed", "widened"
_DENIALS = frozenset("not no never nicht kein keine keinen keiner keinem pas".split())
_WORD = re.compile(r"\w+")
_SHORTEST_VERB = 4
"""Letters of a verb at the end of a sentence: "sein"."""
_OWN = 0.25
"""Share of the words of a condition that the other sentence may lack: "in case of" for "for"."""
_FEWEST_WORDS = 2
"""Words of a condition: "if" alone is none."""


def changed_conditions(one: str, other: str) -> tuple[list[TextChange], str, str]:
    """Compare the conditions of two paired sentences.

    Which way a change goes is certain if one side only has more conditions or exceptions, none of which depends on
    another.

    Args:
        one, other: the sentences.

    Returns:
        The changes, and both sentences without the conditions that changed.
    """
    before, after = conditions_in(one), conditions_in(other)
    if not (before or after):
        return [], one, other
    pairs = _pairs(before, after)
    turned = [pair for pair in pairs if _is_turned(*pair)]
    lost, gained = (_unpaired(before, [was for was, _ in pairs]), _unpaired(after, [now for _, now in pairs]))
    gone, come = _alone(lost, one, other), _alone(gained, other, one)
    # "soweit in A nichts anderes" may be "soweit in B nichts anderes" on one side only
    if bool(gone) is not bool(come):
        gone, come = gone or _begun_as(come, lost), come or _begun_as(gone, gained)
    changes = [TextChange(ChangeType.CONDITION, was.text, now.text, one, other) for was, now in turned]
    if gone or come:
        way = _direction(gone, come, after if come else before)
        was, now = (CUT.join(each.text for each in side) for side in (gone, come))
        changes.append(TextChange(ChangeType.CONDITION, was, now, one, other, way))
    left, right = [*gone, *(was for was, _ in turned)], [*come, *(now for _, now in turned)]
    return changes, without_phrases(one, left), without_phrases(other, right)


def _pairs(
    before: Sequence[ConditionPhrase], after: Sequence[ConditionPhrase]
) -> list[tuple[ConditionPhrase, ConditionPhrase]]:
    """Pair conditions that have at least half of their words in common, the most similar first."""
    bags, others = ([Counter(words_and_signs(each.text)) for each in side] for side in (before, after))
    scored = sorted(
        (-share, abs(at - to), at, to)
        for at, bag in enumerate(bags)
        for to, its in enumerate(others)
        if (share := likeness(bag, its, ALL_ALIKE)) >= ALIKE
    )
    return [(before[at], after[to]) for at, to in in_turn((at, to) for _, _, at, to in scored).items()]


def _is_turned(was: ConditionPhrase, now: ConditionPhrase) -> bool:
    """Return whether a condition became an exception, or the reverse, unless it is also denied: "if not", "unless"."""
    are_denied = [not _DENIALS.isdisjoint(words_and_signs(each.text)) for each in (was, now)]
    is_other = (was.kind is ConditionKind.EXCEPTION) is not (now.kind is ConditionKind.EXCEPTION)
    return is_other and are_denied[0] is are_denied[1]


def _unpaired(side: Sequence[ConditionPhrase], paired: Sequence[ConditionPhrase]) -> list[ConditionPhrase]:
    return [each for each in side if each not in paired]


def _begun_as(others: Sequence[ConditionPhrase], side: Sequence[ConditionPhrase]) -> list[ConditionPhrase]:
    """List the conditions that begin with the same word as one of the others."""
    begins = {each.text.split()[0].casefold() for each in others}
    return [each for each in side if each.text.split()[0].casefold() in begins]


def _alone(side: Sequence[ConditionPhrase], own: str, other: str) -> list[ConditionPhrase]:
    """List those of some conditions whose words the other sentence has not in another form."""
    words = Counter(map(stem_of, words_and_signs(other)))
    found = [_trimmed(each, own, other) for each in side]
    return [each for each in found if _is_new(words_and_signs(each.text), words)]


def _is_new(condition: Sequence[str], words: Counter[str]) -> bool:
    """Return whether another sentence, of which the stems are given, has not most words of a condition in any form."""
    content = [word for word in condition if not is_function_word(word)] or condition
    missing = (Counter(map(stem_of, content)) - words).total()
    return len(condition) >= _FEWEST_WORDS and missing > _OWN * len(content)


def _trimmed(phrase: ConditionPhrase, own: str, other: str) -> ConditionPhrase:
    """Leave out the end of a sentence that the other one has, too: German verbs follow the condition."""
    if own[phrase.end :].strip(" .;"):
        return phrase
    words, ends = list(_WORD.finditer(own, phrase.start, phrase.end)), _WORD.findall(other)
    kept = len(words)
    while kept > 1 and words[kept - 1][0] == (ends.pop() if ends else ""):
        kept -= 1
    is_verb = any(len(word[0]) >= _SHORTEST_VERB and word[0].isalpha() for word in words[kept:])
    end = words[kept - 1].end() if is_verb else phrase.end
    return phrase._replace(end=end, text=own[phrase.start : end].strip(" ,.;"))


def _direction(
    gone: Sequence[ConditionPhrase], come: Sequence[ConditionPhrase], side: Sequence[ConditionPhrase]
) -> str:
    """Return whether a requirement was narrowed or widened; empty if it is not certain.

    Args:
        gone, come: the conditions that it lost and gained.
        side: all conditions of the sentence with the changed ones.
    """
    ends = {each.end for each in gone or come}
    changed = [each for each in gone or come if each.start not in ends]  # "except A, when B" is one exception
    if (gone and come) or any(each.kind is ConditionKind.OPEN for each in changed):
        return ""
    before = [each for each in side if each.start < changed[0].start]
    if any(each.kind is ConditionKind.EXCEPTION for each in before):
        return ""  # it may depend on an exception: "except pumps, if they are small"
    return WIDENED if gone else NARROWED
