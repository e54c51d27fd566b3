"""Limits that a sentence sets, with its negations, its duties and its choices: "shall not run for more than 5 min"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.language.force import Force, forces_of, plain_in, strongest_of
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.quantities.bounds import DENIED, OTHER, Bound
from knowledge_mcp.language.quantities.reading import Quantity, quantities
from knowledge_mcp.model.chunk import Modality

_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|cannot|no(?! later| more| less| fewer)|none|nothing|neither|nicht|kein\w{0,2}|ne|pas"
    r"|jamais|aucune?|nunca)"
    r"|n['’]t|\bn['’]\w{1,6}|\b(?:sans qu(?:e\b|['’])|sin que|ohne dass))"
    r"(?:\s(?!(?:and|or|but|if|when|where|that|which|unless|so|und|oder|wenn|dass?|die|der"
    r"|et|ou|mais|si"
    r"|qu\w{0,3}|y|o|si|que|only|apply)\b)[^\s,;:.()\d]{1,30}){0,6}\s?\Z"
    r"|\b(?:do|does|did) not(?:\s(?!(?:and|or|but|if|when|where|that|which|unless|so)\b)[^\s,;:.()\d]{1,30}){0,12}\s\Z"
    r"|\b(?:no|kein\w{0,2}|aucune?)\s[^,;:.()\d]{1,40}\s(?:that|which|die|der|das|qui)\s\Z"
    r"|\b(?:without|sans|sin|(?:prevent|avoid)\w{0,3}(?: from)?)\s(?:[^\W\d]{1,20}\s)?\Z",
    re.IGNORECASE,
)
"""A negation in the clause before the words of a limit: "no spacing exceeds 5 m", "without exceeding 5 m"."""
_DEADLINE = re.compile(r"(?:within|innerhalb|binnen|dans|en|dentro)\b", re.IGNORECASE)
"""Words before a time that a denial does not turn: "if it is not completed within 10 min"."""
_UNLESS = re.compile(r"\b(?:unless|except|es sei denn|außer|sauf|salvo|excepto)\b", re.IGNORECASE)
_NOR = re.compile(r"nor\b", re.IGNORECASE)
_BANS = re.compile(
    r"permi|allow|acceptable|prohib|forbid|zulässig|verboten|untersagt|interdit|autoris|admis|admit", re.IGNORECASE
)


_NEAR = 120
"""Characters before a limit that are read for a negation."""


def _is_denied_before(text: str, limit: Quantity) -> bool:
    """Return whether the clause before the words of a limit denies it."""
    return _DENIED_BEFORE.search(text, max(0, limit.start - _NEAR), limit.start) is not None


def _is_banned(text: str, limit: Quantity, force: Force) -> bool:
    """Return whether a sentence bans what its subject says: "more than 45 m is not permitted"."""
    is_ban = force.negated and force.modality is Modality.REQUIREMENT and limit.end <= force.start
    between = text[limit.end : force.start]
    return is_ban and _BANS.search(text, force.start, force.end) is not None and not re.search(r"[,;:.]", between)


def _turned(limit: Quantity) -> Quantity:
    """Return the limit that denying another leaves: not more than 5 m is at most 5 m."""
    return replace(limit, bound=OTHER[limit.bound], strict=not (limit.strict or limit.recurs))


def denied(text: str, forces: Sequence[Force], printed: Sequence[Quantity]) -> tuple[bool, tuple[Quantity, ...]]:
    """Determine what a sentence negates: its statement, or its limits, which then change: "not wait more than 5 s".

    A limit is negated by the word of force before it: in "shall not run for more than 5 s and shall be at least 3 m
    long", only one is.

    Args:
        text: the sentence.
        forces: the forces of the sentence, in order.
        printed: its limits as printed.

    Returns:
        Whether its statement is negated, by its strongest force, and the limits that it sets.
    """
    strongest = strongest_of(forces)
    limits: list[Quantity] = []
    is_denied = strongest is not None and strongest.negated
    for limit in printed:
        force = next((each for each in reversed(forces) if each.start < limit.end), None)
        is_own = DENIED.search(text, limit.start, limit.end) is not None
        if limit.bound is Bound.EXACT or limit.settled:
            limits.append(limit)
            is_denied = is_denied and not limit.settled
            continue
        if force is None or not force.negated or limit.end <= force.end:
            is_turned = not (is_own or _DEADLINE.match(text, limit.start)) and _is_denied_before(text, limit)
            if strongest is not None and not is_turned and _is_banned(text, limit, strongest):
                is_turned, is_denied = True, False
            limits.append(_turned(limit) if is_turned else limit)
            continue
        if _UNLESS.search(text, force.end, limit.start) or _NOR.match(text, limit.start):
            limits.append(limit)
            continue
        if is_own and text[force.end : limit.start].strip():
            return True, tuple(printed)  # double negation: "not take no longer than 5 s"
        limits.append(limit if is_own else _turned(limit))
        is_denied = is_denied and force is not strongest
    return is_denied, tuple(limits)


def banned_values(text: str, limits: Sequence[Quantity]) -> list[Quantity]:
    """List the numbers that a ban names: "shall not be set to 5 bar" limits nothing, and 4 bar keeps it."""
    forces = forces_of(text, plain_in(language_of(text)))
    found: list[Quantity] = []
    for each in limits:
        force = next((force for force in reversed(forces) if force.end <= each.start), None)
        is_ban = force is not None and force.negated and force.modality is Modality.REQUIREMENT
        if is_ban and each.bound is Bound.EXACT and not each.settled:
            found.append(each)
    return found


def keeps_ban(banned: Sequence[Quantity], stated: Sequence[Quantity]) -> bool:
    """Return whether other values are stated than those that are banned: 4 bar, where 5 bar are."""
    alike = [(one, other) for one in banned for other in stated if one.unit == other.unit]
    return bool(alike) and not any(math.isclose(one.value, other.value) for one, other in alike)


def limits_in(sentence: str, language: str | None = None) -> tuple[Quantity, ...]:
    """List the limits that a sentence sets: "shall not run for more than 5 min" is at most 5 min.

    The arguments are those of `quantities`.
    """
    language = language_of(sentence) if language is None else language
    return limits_set(sentence, language, quantities(sentence, language))


def limits_set(sentence: str, language: str, printed: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """List the limits that a sentence sets, if its `quantities` and its language are known."""
    forces = forces_of(sentence, plain_in(language))
    found = denied(sentence, forces, printed)[1]
    return tuple(_of_choices(sentence, [each for each in found if not _is_free(sentence, each, forces)]))


_FREE = re.compile(
    r"(?:\bnot (?:necessary|needed|obliged|required|have to)|\bno (?:requirements?|need)"
    r"|\bneeds? not|\bnicht (?:erforderlich|notwendig|nötig)"
    r"|\bpas (?:nécessaire|tenue?s?|obligatoire)|\bno (?:es|será) (?:necesario|obligatorio))\b[^,;:.()\d]{0,60}\Z",
    re.IGNORECASE,
)


def _is_free(sentence: str, limit: Quantity, forces: Sequence[Force]) -> bool:
    """Return whether a sentence denies that there is a duty: what need not exceed 5 m may exceed it."""
    force = next((each for each in reversed(forces) if each.start < limit.end), None)
    is_free = force is not None and force.modality is Modality.PERMISSION and force.negated
    is_free = is_free and force is not None and not sentence.lower().startswith("may", force.start)
    return is_free or _FREE.search(sentence, max(0, limit.start - _NEAR), limit.start) is not None


_CHOICE = re.compile(
    r"\b(?:whichever(?: \w{1,12}){0,3}? (?:is |are |occurs |comes )?(?:the )?|(?P<ahead>the )(?=\w{5,8} of\b)"
    r"|je nachdem, \w{1,12}(?: \w{1,20}){0,2} |le plus |la plus |(?:el|la) (?:que sea )?)"
    r"(?:(?P<more>greate[rs]t?|large[rs]t?|highe[rs]t?|longe[rs]t?|later|last|größer|höher|länger|später|grande?|élevée?|tard"
    r"|mayor)|(?:lesser|less|least|smalle[rs]t?|lowe[rs]t?|shorte[rs]t?|earlie[rs]t?|sooner|first|kleiner|niedriger|kürzer|früher"
    r"|petite?|faible|tôt|menor))\b",
    re.IGNORECASE,
)
"""The choice between two values: "whichever is greater", "the lesser of"."""


def _of_choices(sentence: str, limits: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield the limits that hold although a sentence lets another value decide.

    Of "50 mm or 10 % of the span, whichever is greater", each is a minimum; of "whichever is less", neither is.
    """
    choice = _CHOICE.search(sentence)
    last: Quantity | None = None
    for each in limits:
        is_other = last is not None and sentence[last.end : each.start].strip(" ,") in _OR
        one = replace(each, bound=last.bound) if last and is_other and each.bound is Bound.EXACT else each
        last = one
        if choice is None or (each.start < choice.start()) is bool(choice["ahead"]):
            yield each
        elif one.bound is Bound.EXACT and choice["more"]:
            yield replace(one, bound=Bound.LEAST)
        elif one.bound is (Bound.LEAST if choice["more"] else Bound.MOST):
            yield one


_OR = frozenset({"or", "oder", "ou", "o"})
