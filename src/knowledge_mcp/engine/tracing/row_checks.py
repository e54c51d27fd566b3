"""Deterministic checks: a number against its limit, a demanded section, a term, an edition, a force."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from knowledge_mcp.engine.core.designations import Designation, Directory, mentioned, mentions_at
from knowledge_mcp.engine.core.editions import Editions
from knowledge_mcp.engine.core.headings import heading_end, line_end
from knowledge_mcp.engine.tracing.conflicts import Meaning, Terms, conflicting_definitions
from knowledge_mcp.engine.tracing.differing_limits import DAY, days_as_limits
from knowledge_mcp.engine.tracing.obligations import RowObligation
from knowledge_mcp.engine.tracing.readings import ReadDocument, meanings_in
from knowledge_mcp.engine.tracing.tabled import row_limits
from knowledge_mcp.language.demands import is_condition, section_demanded
from knowledge_mcp.language.editions import edition_statement
from knowledge_mcp.language.force import Force, force_of, forces_of, is_ban, plain_in
from knowledge_mcp.language.multilingual.denial import is_limited
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.quantities.bounds import Bound
from knowledge_mcp.language.quantities.limits import banned_values, limits_in
from knowledge_mcp.language.quantities.measures import DIMENSIONS, distinctive_words, measured_in, words_about
from knowledge_mcp.language.quantities.ratings import is_rating, ratings_in
from knowledge_mcp.language.quantities.reading import Quantity, without_parts_of
from knowledge_mcp.language.quantities.subjects import are_apart, subjects_of, without_names
from knowledge_mcp.language.quantities.units import is_physical
from knowledge_mcp.language.requirements.reservations import ADDS_CLAUSE
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span


class CheckType(StrEnum):
    """What is compared."""

    LIMIT = "limit"
    SECTION = "section"
    TERM = "term"
    EDITION = "edition"
    CONFLICT = "conflict"
    FORCE = "force"


class RowResult(StrEnum):
    """The result of a check."""

    MET = "met"
    NOT_MET = "not met"
    NOT_STATED = "not stated"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One check.

    Attributes:
        asked: what the standard says, in short.
        found: what the document says; empty if it says nothing.
        citation: where the document says it.
    """

    kind: CheckType
    result: RowResult
    asked: str
    found: str = ""
    citation: str = ""


# ---- limits


def limit_checks(
    demand: str, evidence: Sequence[tuple[str, str]], tabled: RowObligation | None = None
) -> list[RowCheck]:
    """Compare every limit of a demand with the numbers of the same unit in its evidence.

    Args:
        demand: its text.
        evidence: quotes with their citations, best first.
        tabled: what makes the demand a table row, None if it is not one.
    """
    found: list[RowCheck] = []
    language = language_of(demand)  # also used for short quotes
    is_away = _AWAY.search(demand) is not None
    stated: list[_Stated] = []
    for quote, where in evidence:
        numbers = _numbers_in(quote, language_of(quote) or language)
        stated.append(([each for each in numbers if is_away or not _AWAY.match(quote, each.end)], quote, where))
    days = days_as_limits(demand)
    limits = without_parts_of(days, without_names(demand, limits_in(demand, language)))
    banned = banned_values(demand, limits)
    limits = [each for each in limits if each not in banned]
    ratings = list(ratings_in(demand))
    if tabled is None:
        asked = [(each, _of_this(distinctive_words(demand, limits, each), stated)) for each in limits]
        asked += [(each, stated) for each in (*ratings, *days)]
    else:
        asked = _asked_in_row(demand, limits, tabled.bound, stated)
    for limit, chosen in asked:
        if (
            not limit.unit
            or is_condition(demand, limit)
            or (limit.bound is Bound.EXACT and not is_physical(limit.unit) and not evidence)
        ):
            continue
        # the best quote with a number decides: a number of another quote may belong to something else
        measured = measured_in(demand, limit)
        is_share = limit.unit == "%" and "%" not in limit.printed and limit.bound is Bound.EXACT
        is_open = limit.bound is Bound.EXACT and (tabled is not None or limit.unit in _PERIODS or is_rating(limit))
        is_open = is_open or is_share  # who tests one in five where one in ten is demanded may do enough
        subjects = subjects_of(demand, limits, limit)
        alike = chosen if not subjects else [_of_same(subjects, *each) for each in chosen]
        check = next(filter(None, (_limit_check(limit, measured, is_open, *each) for each in alike)), None)
        if check is not None:
            found.append(replace(check, asked=_asked(demand, limit)))
        elif limit.bound is not Bound.EXACT or is_physical(limit.unit):
            found.append(RowCheck(CheckType.LIMIT, RowResult.NOT_STATED, _asked(demand, limit)))
    return _wider_differs(found)


def _numbers_in(quote: str, language: str) -> list[Quantity]:
    days = days_as_limits(quote)
    return [*without_parts_of(days, without_names(quote, limits_in(quote, language))), *ratings_in(quote), *days]


def _asked(demand: str, limit: Quantity) -> str:
    """Return a limit in short, and a day with its words: "by 1 May 2026"."""
    return demand[limit.start : limit.end] if limit.unit.startswith(DAY) else str(limit)


def _wider_differs(checks: Sequence[RowCheck]) -> list[RowCheck]:
    """Let a range that exceeds a demanded range at both ends differ: to operate at more temperatures may be better."""
    found = list(checks)
    for place, (one, other) in enumerate(pairwise(checks)):
        is_range = one.asked.startswith(Bound.LEAST.value) and other.asked.startswith(Bound.MOST.value)
        if is_range and one.result is other.result is RowResult.NOT_MET and one.found != other.found:
            found[place : place + 2] = [replace(each, result=RowResult.DIFFERS) for each in (one, other)]
    return found


_Stated = tuple[Sequence[Quantity], str, str]
"""Numbers of a quote, the quote, and its citation."""


def _asked_in_row(
    row: str, limits: Sequence[Quantity], bound: Bound, stated: Sequence[_Stated]
) -> list[tuple[Quantity, Sequence[_Stated]]]:
    """List the limits of a table row, each with the numbers of its column if several columns have its unit."""
    columns = row_limits(row, limits)
    found: list[tuple[Quantity, Sequence[_Stated]]] = []
    for limit, column in columns:
        is_alone = {above for each, above in columns if each.unit == limit.unit} == {column}
        own = stated if is_alone else [_near(column, limit.unit, *each) for each in stated]
        found.append((replace(limit, bound=bound) if limit.bound is Bound.EXACT else limit, own))
    return found


def _of_same(subjects: Mapping[str, frozenset[str]], numbers: Sequence[Quantity], quote: str, where: str) -> _Stated:
    """Leave out the numbers of another numbered kind or item: "Type 20" says nothing about "Type 2"."""
    found = (*limits_in(quote, language_of(quote)), *ratings_in(quote))
    return [each for each in numbers if not are_apart(subjects, subjects_of(quote, found, each))], quote, where


def _near(column: str, unit: str, numbers: Sequence[Quantity], quote: str, where: str) -> _Stated:
    """Keep the numbers nearest to the name of a column; none if a quote does not contain it."""
    alike = [each for each in numbers if each.unit == unit]
    names = re.finditer(rf"(?<!\w){re.escape(column)}(?!\w)", quote, re.IGNORECASE) if alike else ()
    spans = [match.span() for match in names]
    nearest = [min(alike, key=lambda each: max(start - each.end, each.start - end)) for start, end in spans]
    return nearest, quote, where


def _of_this(apart: tuple[frozenset[str], frozenset[str]], stated: Sequence[_Stated]) -> Sequence[_Stated]:
    """Choose the numbers that belong to a limit if a demand has several of one unit: "suction 1.5, discharge 2.5".

    Args:
        apart: words that occur only with this limit, and only with the other limits.
        stated: the numbers of all quotes.
    """
    ours, theirs = apart
    if not theirs:
        return stated
    own: list[_Stated] = []
    neutral: list[_Stated] = []
    for numbers, quote, where in stated:
        described = [(each, words_about(quote, numbers, each)) for each in numbers]
        own.append(([each for each, words in described if words & ours and not words & theirs], quote, where))
        neutral.append(([each for each, words in described if words & ours or not words & theirs], quote, where))
    return own if any(numbers for numbers, _, _ in own) else neutral


_AWAY = re.compile(
    r"\s{1,3}(?:(?:is|are|being|may be|can be|was|were)\s)?(?:out of (?:service|operation|order|use)"
    r"|not in (?:service|operation|use)|(?:on|in|as) (?:an? )?(?:stand-?by|reserve|maintenance|spare|backup)|stand-?by"
    r"|failed|stopped|außer Betrieb|in Reserve|hors service|en réserve|fuera de servicio|de reserva)\b",
    re.IGNORECASE,
)
"""Text after the number of things that do not count: "with one pump out of service"."""


def _limit_check(
    limit: Quantity, measured: str, is_open: bool, numbers: Sequence[Quantity], quote: str, where: str
) -> RowCheck | None:
    """Check a limit against the numbers of its unit in a quote; None if they say nothing about it.

    If it is unknown whether the limit is a minimum or a maximum (`is_open`), another number only differs. If the quote
    has numbers of the measured quantity, only these count: in "850 mm wide and 2100 mm high" one is a width. A height
    says nothing about a width.
    """
    comparable = ((each, _in_unit_of(limit, each)) for each in numbers)
    alike = [(same, measured_in(quote, each)) for each, same in comparable if same is not None]
    of_this = [each for each, of in alike if measured and of == measured]
    others = [each for each, of in alike if not {of, measured} <= DIMENSIONS]
    same = [(_satisfies(limit, each), each) for each in of_this or others]
    for is_kept, result in ((True, RowResult.MET), (False, RowResult.NOT_MET)):
        for kept, each in same:
            if kept is is_kept:
                words = each.printed if each.bound is Bound.EXACT else quote[each.start : each.end].strip()
                outcome = RowResult.DIFFERS if is_open and not is_kept else result
                return RowCheck(CheckType.LIMIT, outcome, str(limit), words, where)
    return None


_MONTH = 30.4375 * 86400
"""Average seconds of a month."""
_ABOUT_A_MONTH = 0.04
"""Maximum relative difference between lengths of months; 30 days and a month are neither more nor less."""


def _in_unit_of(limit: Quantity, stated: Quantity) -> Quantity | None:
    """Convert a number to the unit of a limit, also weeks to months; None for other units and about equal times."""
    if stated.unit == limit.unit:
        return stated
    if {stated.unit, limit.unit} != {"s", "month"}:
        return None
    value = stated.value / _MONTH if limit.unit == "month" else stated.value * _MONTH
    is_about = math.isclose(value, limit.value, rel_tol=_ABOUT_A_MONTH)
    return None if is_about else replace(stated, value=value, unit=limit.unit, also=None)


_PERIODS = frozenset({"s", "month", "working day"})
"""Units of time: 6 satisfies "every 12 months", and 12 satisfies "for 10 years", without words that say so."""


def _satisfies(limit: Quantity, stated: Quantity) -> bool | None:
    """Return whether a number satisfies a limit, in one of its printed units; None if it says nothing about it."""
    found = [_keeps(value, limit, stated) for value in limit.values]
    return True if any(found) else found[0]


def _keeps(value: float, limit: Quantity, stated: Quantity) -> bool | None:
    equal = any(math.isclose(value, each) for each in stated.values)
    more = stated.value > value and not equal
    if limit.bound is Bound.EXACT:
        return equal
    if equal and limit.strict and stated.bound is Bound.EXACT:
        return False
    if limit.bound is Bound.MOST:
        if stated.bound is Bound.LEAST:
            return False if more else None
        return not more
    if stated.bound is Bound.MOST:
        return None if more or equal else False
    return more or equal


# ---- force


def force_check(demand: str, quote: str, where: str) -> RowCheck | None:
    """Report that evidence only recommends, permits or leaves free what is required: "should", "may", "need not".

    Args:
        demand: its text.
        quote: the evidence.
        where: its citation.
    """
    asked, stated = _strongest(demand), _strongest(quote)
    if asked is None or stated is None or asked.modality is not Modality.REQUIREMENT:
        return None
    if not _is_weaker(stated, demand, quote):
        return None
    words = demand[asked.start : asked.end], quote[stated.start : stated.end]
    return RowCheck(CheckType.FORCE, RowResult.DIFFERS, *words, where)


def requires(text: str) -> bool:
    """Return whether a text has a word of force that requires: "shall"."""
    force = _strongest(text)
    return force is not None and force.modality is Modality.REQUIREMENT


def _is_weaker(force: Force, demand: str, quote: str) -> bool:
    """Return whether a word of force recommends something, frees from it, or permits it under no condition.

    The demand has no word of this force itself, which evidence would only repeat.
    """
    if any(each.modality is force.modality for each in forces_of(demand, plain_in(language_of(demand)))):
        return False
    if force.modality is not Modality.PERMISSION or force.negated:
        return force.modality in {Modality.RECOMMENDATION, Modality.PERMISSION} and not is_ban(force, quote)
    if not ADDS_CLAUSE.isdisjoint(quote[: force.start].lower().split()[-1:]):
        return False  # "is informed, and may object"
    return not (is_limited(quote, language_of(f"{demand}\n{quote}")) or _ENABLES.search(demand))


_ENABLES = re.compile(
    r"(?:\b(?:able|right|free|possible) to|allow|permit|enabl|entitle|ermöglich|erlaub|gestatte|Recht auf|permet|droit"
    r"|permiti|derecho)",
    re.IGNORECASE,
)
"""Words of a demand that asks for a permission: evidence that permits it meets the demand."""


def _strongest(text: str) -> Force | None:
    return force_of(text, plain_in(language_of(text)))


# ---- sections


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """A heading of the document with its terms, its part and its span."""

    part: int
    span: Span
    terms: frozenset[str]


def headings_of(parts: Sequence[ReadDocument], terms: Terms) -> list[SectionHeading]:
    """List the headings of all parts of a document."""
    found: list[SectionHeading] = []
    for number, part in enumerate(parts):
        for each in part.structure.sections:
            end = heading_end(part.text, each)
            end = end if end > each.span.start else line_end(part.text, each)
            span = Span(each.span.start, end).trimmed(part.text)
            if len(span):
                found.append(SectionHeading(number, span, frozenset(terms(each.title))))
    return found


def section_check(
    demand: str, headings: Sequence[SectionHeading], parts: Sequence[ReadDocument], terms: Terms
) -> tuple[RowCheck, SectionHeading | None] | None:
    """Find the section that a demand asks for: a heading with all of its words; None if it asks for none."""
    demanded = section_demanded(demand)
    demanded_terms = frozenset(terms(demanded))
    if not demanded_terms:
        return None
    fitting = [each for each in headings if demanded_terms <= each.terms]
    if not fitting:
        return RowCheck(CheckType.SECTION, RowResult.NOT_MET, demanded), None
    best = min(fitting, key=lambda each: len(each.terms))
    part = parts[best.part]
    met = RowCheck(CheckType.SECTION, RowResult.MET, demanded, best.span.of(part.text), part.cited(best.span))
    return met, best


# ---- terms


def terms_otherwise(
    standard: Iterable[Meaning], parts: Sequence[ReadDocument], key_of: Callable[[str], str]
) -> dict[str, RowCheck]:
    """Return the terms of a standard that a document defines in other words, by the term in lower case."""
    ours = list(standard)
    theirs = [each for part in parts for each in meanings_in(part, key_of)]
    mine = {(each.term, each.text, each.citation) for each in ours}
    found: dict[str, RowCheck] = {}
    for each in conflicting_definitions([*ours, *theirs]):
        one, other = each.one, each.other
        if ((one.id, one.text, one.citation) in mine) == ((other.id, other.text, other.citation) in mine):
            continue
        standard_term, document_term = (one, other) if (one.id, one.text, one.citation) in mine else (other, one)
        check = RowCheck(
            CheckType.TERM,
            RowResult.DIFFERS,
            f"{standard_term.id}: {standard_term.text}",
            f"{document_term.id}: {document_term.text}",
            document_term.citation,
        )
        found.setdefault(standard_term.id.lower(), check)
    return found


# ---- editions


class EditionsKnown:
    """Knows which editions are not current: of ingested documents, and of those that a standard refers to.

    Args:
        records: of all ingested documents.
        standard: its text, which with the title determines the editions that it refers to, its own, and what it
            replaces.
        title: of the standard.
    """

    def __init__(self, records: Sequence[DocumentRecord], standard: str, title: str) -> None:
        self._directory = Directory(records)
        self._editions = Editions(records)
        self._required: dict[tuple[frozenset[str], tuple[str, ...]], Designation] = {}
        for each in (*mentioned(title), *mentioned(standard)):
            if each.edition and self._required.setdefault((each.bodies, each.core), each).edition < each.edition:
                self._required[each.bodies, each.core] = each
        self._replaced = {
            (each.bodies, each.core, each.edition)
            for replaced in edition_statement(standard).replaces
            for each in mentioned(replaced)
        }

    def checks(self, text: str, citation: str) -> list[RowCheck]:
        """Check every dated reference in a text."""
        found: dict[str, RowCheck] = {}
        for each, start, end in mentions_at(text):
            instead = self._instead(each) if each.edition else ""
            if instead:
                printed = text[start:end]
                found.setdefault(printed, RowCheck(CheckType.EDITION, RowResult.DIFFERS, instead, printed, citation))
        return list(found.values())

    def _instead(self, designation: Designation) -> str:
        """Return the objection to a named edition; empty if there is none."""
        for like in self._directory.alike(designation):
            family = self._editions.family_of(like.record.id)
            is_same = not (like.is_other_edition or like.is_part) and like.edition
            if is_same and family is not None and like.record.id in {each.id for each in family.older}:
                return f"the current edition is {', '.join(each.title for each in family.current)}"
        if (designation.bodies, designation.core, designation.edition) in self._replaced:
            return "the standard replaces this edition"
        required = self._required.get((designation.bodies, designation.core))
        if (
            required is not None
            and required.edition > designation.edition
            and len(required.edition) == len(designation.edition)
        ):
            return f"the standard refers to {required.words.upper()}:{required.edition.upper()}"
        return ""
