"""Finds duplicate and contradictory demands, and terms with two definitions; precision comes first.

Two sentences are about the same thing only if their words without force and limits are equal, or one has a few more.
The remaining difference is the conflict: the force, a limit, "not", or one word and its opposite.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.tracing.containing import ContainedBags
from knowledge_mcp.engine.tracing.differing_limits import differing_limit, is_stricter, permits_too_little, unit_of_day
from knowledge_mcp.engine.tracing.kinds import ConflictKind
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.language.demands import OWN_LABEL, without_limits
from knowledge_mcp.language.force import Convention, Force, detect_convention, forces_of, is_ban, strongest_of
from knowledge_mcp.language.multilingual.denial import DENIES_BEFORE, DENIES_BEHIND
from knowledge_mcp.language.printed import note_mark_places, places_in
from knowledge_mcp.language.quantities.bounds import BETWEEN_ENDS, Bound
from knowledge_mcp.language.quantities.dates import Day, days_in
from knowledge_mcp.language.quantities.limits import banned_values, denied, keeps_ban
from knowledge_mcp.language.quantities.ratings import is_exclusive, is_part_of_name, ratings_in
from knowledge_mcp.language.quantities.reading import Quantity, quantities
from knowledge_mcp.language.requirements.opposites import OPPOSITES, tells_apart
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.checkpoints import check_each

_RELATED = 0.5
"""Minimum share of common words, weighted by rarity, for one word and its opposite to be a conflict."""
_ALIKE = 0.8
"""Minimum share for one sentence to have a few more words; below it, pairs of real requirement sets differ in their
subject (`python -m benchmarks.conflicts`).
"""
MOST_ITEMS = 200_000
"""Maximum requirements in one comparison: 100,000 synthetic ones take less than 0.5 GB, so these less than 1 GB."""
MOST_FOUND = 100_000
"""Maximum pairs in one report: about 100 MB, and more than anybody reviews."""
_MOST_ALIKE = 20
"""Maximum sentences with the same words, force and names that others are compared with; only their limits differ."""
_REPORTED_EVERY = 1000
_FEWEST_WORDS = 3
"""A subject, a verb and an object; fewer words match anything. A limit with its unit counts for the last two."""
_LONGEST = 600
_POINTS = re.compile(
    r"\A\W*(?:it|they|he|she|the (?:same|above|following)"
    r"|the (?:value|field|parameter|attribute|element|property|member|entry) (?:shall|must|should|may|can|is|has))\b"
    r"|\A\W*[\w.-]{1,60}\W{0,3}[:=–-]\W{0,5}(?:required|optional|recommended|mandatory)\W*\Z"
    r"|\b(?:this|these|those|such|said)\s+(?!document|standard|specification|part|system|product)\w"
    r"|\b(?:if|when|where|that|because|before|after|once|while)\s+(?:it|they|this)\b|\b(?:above|following|former|latter)\b",
    re.IGNORECASE,
)
"""Phrases that refer to another sentence: such a sentence is compared only within its own place."""
_ENUMERATOR = re.compile(r"(?:\A\s{0,3}|(?<=:)\s{1,3})\(?(?:\d{1,3}|[a-z])[.)](?=\s)")
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|where|wherever|unless|until|while|during|except|before|after|in case|only|provided"
    r"|otherwise)\b",
    re.IGNORECASE,
)
_APART = frozenset(
    "other another than excluding ander andere anderen anderer anderes autre autres otro otra otros nobody nothing"
    " niemand nichts".split()
)
"""Words that set a special case apart from the other demand, as "non-" does, or deny a clause without force."""
_TURNS = frozenset("before after without above below".split())
"""Words that change what a demand is about if only one of two has them."""
_EMPHASIS = re.compile(r"(?<![\w*_])([*_]{1,3})([^\W\d_]{1,40}(?: [^\W\d_]{1,40})?)\1(?![\w*_])")
"""A word or two with Markdown emphasis: "_MUST NOT_"."""
_CODE = re.compile(
    r"`[^`\s]{1,80}`|https?://[^\s`]{1,200}|\b[A-Za-z]{1,40}(?:[_/][A-Za-z0-9]{1,40}){1,8}\b(?:-(?!\w))?"
    r"|\b[a-z]{1,30}[A-Z][A-Za-z]{0,30}\b|(?<=[a-z]\s)[A-HJ-Z](?![\w'’.-])"
)
"""Names rather than words: they must be equal."""
_DENIAL = re.compile(rf"{DENIES_BEHIND.pattern}|\b(?:not|never)\b|n['’]t\b", re.IGNORECASE)
_NEVER = re.compile(
    r"\s+(?:never|no longer|under no circumstances?|in no (?:case|event)|at no time|on no account)\b", re.I
)
"""English denials behind a word of force that are no function words."""
_FIGURES = re.compile(r"(?<=\s)\w*\d[\w:/.-]*\w|(?<=\s)\d(?!\w)")
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SEE = re.compile(r"\W*see\b.{0,80}\Z", re.IGNORECASE | re.DOTALL)
_OFFERS = re.compile(
    r"\b(?:(?:provid|offer|support|suppl|includ|contain|possess)\w{0,4}|(?:be|is|are) (?:able|capable)"
    r"|hav(?:e|ing) (?:an?|the)|(?:allow|enabl|permit|let)\w{0,3} (?:an?|the|to|any|each|all|users?|operators?))\b",
    re.IGNORECASE,
)
"""What a system offers, which may include the opposite: "shall provide a mechanism to disable"."""
_HAVE_OPPOSITES = frozenset[str]().union(*OPPOSITES)

Terms = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """One definition: the key of its term, the term and the text as printed, and its citation."""

    key: str
    term: str
    text: str
    citation: str


@dataclass(frozen=True, slots=True)
class Demand:
    """One sentence that demands something, or the definition of a term.

    Attributes:
        id: of its requirement; for a definition, the term.
        text: as printed.
        citation: its location.
        place: index of its item; for a definition, index of its meaning.
    """

    id: str
    text: str
    citation: str
    place: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two demands that contradict or repeat each other.

    Attributes:
        kind: what is wrong.
        one, other: the two, in the order given.
        why: what differs, as printed; for duplicates what they share.
        also_in: further places that say the same as one of them.
    """

    kind: ConflictKind
    one: Demand
    other: Demand
    why: str
    also_in: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True)
class _Parsed:
    demand: Demand
    text: str
    forces: tuple[Force, ...]
    negated: bool
    limits: tuple[Quantity, ...]
    printed: tuple[Quantity, ...]
    sequence: tuple[str, ...]
    codes: frozenset[str]
    words: frozenset[str]
    unlimited: frozenset[str]
    context: str

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(self.sequence)

    @property
    def force(self) -> Force | None:
        return strongest_of(self.forces)

    @property
    def modality(self) -> Modality | None:
        return self.force.modality if self.force else None

    @property
    def is_denied_as_printed(self) -> bool:
        """Whether its force is negated by a word: "must not apply one or more" sets a limit, and is negated as well."""
        return self.force is not None and self.force.negated

    @property
    def key(self) -> tuple[object, ...]:
        """The key that is equal for two sentences with the same meaning."""
        limits = tuple(sorted((each.unit, each.bound, each.value) for each in self.limits))
        others = sorted((each.modality, each.negated) for each in self.forces if each is not self.force)
        is_turned = "not" in self.unlimited and not any(each.negated for each in self.forces)
        return (
            self.context,
            (_normal_rotation(self.sequence), self.words & _CURRENTS),
            self.modality,
            self.negated,
            tuple(others),
            limits,
            self.codes,
            self.unlimited & _TURNING,
            is_turned,
        )


_TURNING = frozenset("before after without above below off on no never only all any or oder ou to from in out".split())
"""Words that an analyser may drop, but that change the meaning of a sentence."""


_CURRENTS = frozenset({"ac", "dc"})
"""Kinds of current, which may stand inside a limit: "24 V DC ± 10 %"."""


def _normal_rotation(sequence: tuple[str, ...]) -> tuple[str, ...]:
    """Return the smallest rotation: "if A, B" equals "B if A", but "A to B" does not equal "B to A"."""
    return min((sequence[at:] + sequence[:at] for at in range(len(sequence))), default=())


def conflicts(
    items: Iterable[TraceItem], terms: Terms, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> list[Conflict]:
    """Find contradictions and duplicates, sorted by kind, contradictions first, then in the order of the items.

    Of many sentences with the same words, as in lists of limits, each is compared only with the first few.

    Args:
        items: requirements.
        terms: splits text into stems without stop words, as `Analyser.document_terms`.
        progress: called occasionally with the number of compared sentences and the total.

    Raises:
        InvalidInputError: there are too many items, or too many conflicting pairs.
    """
    items = list(itertools.islice(items, MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        raise InvalidInputError(
            f"There are more than {MOST_ITEMS:,} requirements, the most that can be compared at once.",
            suggestion="List the documents, folders or files to compare.",
        )
    convention = detect_convention("\n".join(each.text for each in items))
    groups: dict[tuple[object, ...], list[_Parsed]] = {}
    for place, item in enumerate(check_each(items)):
        for parsed in _demands(place, item, terms, convention):
            groups.setdefault(parsed.key, []).append(parsed)
    found = [_duplicate(same) for same in groups.values() if len({each.demand.place for each in same}) > 1]
    heads = [same[0] for same in groups.values()]
    pairs: list[tuple[int, int, Conflict]] = []
    for one, other in _alike(heads, progress):
        judged = _judge(heads[one], heads[other])
        if judged is not None:
            kind, why = judged
            also = [each.demand for head in (heads[one], heads[other]) for each in groups[head.key][1:]]
            pairs.append((other, one, Conflict(kind, heads[one].demand, heads[other].demand, why, tuple(also))))
            if len(found) + len(pairs) > MOST_FOUND:
                raise InvalidInputError(
                    f"More than {MOST_FOUND:,} pairs conflict, one of them “{heads[one].demand.text[:80]}”.",
                    suggestion="Compare a part at a time: a chapter, a folder, a document.",
                )
    found += [conflict for _, _, conflict in sorted(pairs, key=lambda pair: pair[:2])]
    order = list(ConflictKind)
    return sorted(found, key=lambda each: order.index(each.kind))


def conflicting_definitions(meanings: Iterable[Meaning]) -> list[Conflict]:
    """Find terms with different definitions in two places; each wording is paired with the first."""
    by_key: dict[str, list[Demand]] = defaultdict(list)
    for place, each in enumerate(meanings):
        if not _SEE.match(each.text):
            by_key[each.key].append(Demand(each.term, each.text, each.citation, place))
    found: list[Conflict] = []
    for same in by_key.values():
        wordings: dict[tuple[str, ...], list[Demand]] = {}
        for each in same:
            wordings.setdefault(tuple(_TOKEN.findall(each.text.lower())), []).append(each)
        first, *others = wordings.values()
        for other in others:
            why = f"'{first[0].id}' is defined in different words"
            found.append(Conflict(ConflictKind.DEFINITION, first[0], other[0], why, (*first[1:], *other[1:])))
    return found


# ---- reading demands


def _demands(place: int, item: TraceItem, terms: Terms, convention: Convention) -> Iterator[_Parsed]:
    """Yield the sentences of an item that have force; the whole item if none has."""
    plain = _EMPHASIS.sub(lambda found: f"{' ' * len(found[1])}{found[2]}{' ' * len(found[1])}", item.text)
    for start, end in (*note_mark_places(plain), *(mark.span() for mark in _ENUMERATOR.finditer(plain))):
        plain = f"{plain[:start]}{' ' * (end - start)}{plain[end:]}"  # "The server shall: 1. stop" is one sentence
    sentences = [(span, tuple(forces_of(span.of(plain), convention))) for span in sentence_spans(plain)]
    forced = [(span, forces) for span, forces in sentences if forces]
    for span, forces in forced or ([(Span(0, len(plain)), ())] if plain else []):
        text = span.of(plain)
        if len(text) > _LONGEST:
            continue
        blank = [match.span() for match in (OWN_LABEL.match(text),) if match]
        dates = [_date(text, each) for each in days_in(text)]
        blank += [(each.start, each.end) for each in dates]
        begun = min((force.end for force in forces), default=0)
        ratings = list(ratings_in(text))
        named = [each for each in ratings if each.start < begun]  # in "IP54 cabinets shall" it is the subject
        rated = [each for each in ratings if each.start >= begun and is_exclusive(each)]
        blank += [(each.start, each.end) for each in (*named, *rated)]
        numbers = [
            each for each in quantities(text) if not any(start < each.end and each.start < end for start, end in blank)
        ]
        parts = [each for each in numbers if is_part_of_name(text, each, begun)]
        named += parts
        blank += [(each.start, each.end) for each in parts]
        numbers = [each for each in numbers if each not in parts]
        printed = tuple(sorted((*numbers, *dates, *rated), key=lambda each: each.start))
        subject = tuple(terms(_subject(text, item.id, printed, forces)))
        if len(set(subject)) + 2 * len(printed) < _FEWEST_WORDS:
            continue
        negated, limits = denied(text, forces, printed)
        demand = Demand(item.id, " ".join(span.of(item.text).split()), item.citation, place)
        words = frozenset(word.lower() for word in _TOKEN.findall(text))
        codes = frozenset(
            (
                *_CODE.findall(_without(text, printed)),
                *(mark.key for mark in places_in(text) if mark.end not in {each.end for each in dates}),
                *_figures(text, printed, blank),
            )
        ) | {each.printed.lower() for each in named}
        context = item.citation if _POINTS.search(text) else ""
        unlimited = frozenset(word.lower() for word in _TOKEN.findall(_without(text, printed)))
        yield _Parsed(demand, text, forces, negated, limits, printed, subject, codes, words, unlimited, context)


def _without(text: str, limits: Sequence[Quantity]) -> str:
    """Blank the limits of a sentence, and what joins the ends of a range."""
    signs = list(text)
    done = -BETWEEN_ENDS - 1
    for each in limits:
        start = done if 0 < each.start - done <= BETWEEN_ENDS else each.start
        signs[start : each.end] = " " * (each.end - start)
        done = each.end
    return "".join(signs)


def _figures(text: str, printed: Sequence[Quantity], blank: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield text with digits that is not a limit, such as "22:30": it must be equal."""
    ends = [(each.start, each.end) for each in printed] + list(blank)
    for found in _FIGURES.finditer(text):
        if not any(start < found.end() and found.start() < end for start, end in ends):
            yield found[0].lower()


def _date(text: str, day: Day) -> Quantity:
    printed = " ".join(text[day.start : day.end].split())
    return Quantity(day.number, unit_of_day(day, printed), Bound.EXACT, day.start, day.end, printed)


def _subject(text: str, own_id: str, limits: Sequence[Quantity], forces: Sequence[Force]) -> str:
    """Return the subject of a sentence: without limits, words of force, their "not", and the requirement's own id."""
    signs = list(text)
    for each in (*limits, *forces):
        signs[each.start : each.end] = " " * (each.end - each.start)
    for each in forces:
        if each.negated:
            around = (
                DENIES_BEFORE.search(text, 0, each.start),
                _NEVER.match(text, each.end) or DENIES_BEHIND.search(text, each.end),
            )
            for found in filter(None, around):
                signs[found.start() : found.end()] = " " * len(found[0])
    left = without_limits("".join(signs))
    return re.sub(rf"(?<!\w){re.escape(own_id)}(?!\w)", " ", left) if own_id and own_id in left else left


# ---- pairs


class _DistinctSentences:
    """The first sentence of each group of equal ones; of many with the same words, a few represent all."""

    def __init__(self, heads: Sequence[_Parsed]) -> None:
        self.heads = heads
        frequency = Counter(term for head in heads for term in head.terms)
        self.weight = {term: math.log(1 + len(heads) / count) for term, count in frequency.items()}
        alike = Counter[tuple[object, ...]]()
        self._is_compared: list[bool] = []
        for head in heads:
            kin = (head.context, head.terms, head.codes, head.modality, head.negated)
            alike[kin] += 1
            self._is_compared.append(alike[kin] <= _MOST_ALIKE)

    def weighed(self, terms: Iterable[str]) -> float:
        return math.fsum(self.weight[term] for term in terms)

    def is_opposed(self, one: int, other: int) -> bool:
        """Return whether each of two has a word that the other lacks, and they share enough others."""
        mine, its = self.heads[one].terms, self.heads[other].terms
        shared = 2 * self.weighed(mine & its)
        return not mine <= its and not its <= mine and shared >= _RELATED * (self.weighed(mine) + self.weighed(its))

    def compared(self, places: Iterable[int]) -> list[int]:
        return [place for place in places if self._is_compared[place]]

    def crossed(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of both in the order of the items; the first of a pair represents all similar ones."""
        for firsts, others in ((ours, theirs), (theirs, ours)) if ours is not theirs else ((ours, ours),):
            for one in self.compared(firsts):
                for other in others[bisect.bisect_right(others, one) :]:
                    if self.heads[one].demand.place != self.heads[other].demand.place:
                        yield one, other


def _alike(heads: Sequence[_Parsed], progress: Callable[[int, int], None]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that can differ in one thing: with the same words, with a few more, or with an opposite."""
    known = _DistinctSentences(heads)
    by_words: dict[tuple[str, frozenset[str]], dict[frozenset[str], list[int]]] = defaultdict(dict)
    by_rest: dict[tuple[object, ...], dict[str, list[int]]] = defaultdict(dict)
    for place, head in enumerate(heads):
        by_words[head.context, head.codes].setdefault(head.terms, []).append(place)
        for word in head.words & _HAVE_OPPOSITES:
            by_rest[head.context, *head.key[2:], head.words - {word}].setdefault(word, []).append(place)
    done = 0
    for same in by_words.values():
        bags = [bag for bag in same if bag]
        poorer = ContainedBags(bags, known.weight)
        for bag in check_each(bags):
            for _ in same[bag]:
                if done % _REPORTED_EVERY == 0:
                    progress(done, len(heads))
                done += 1
            yield from known.crossed(same[bag], same[bag])
            for inner in poorer.within(bag, known.weighed(bag) * (1 - _ALIKE / (2 - _ALIKE))):
                yield from known.crossed(same[bags[inner]], same[bag])
    for rest in check_each(by_rest.values()):
        for one, other in itertools.combinations(rest, 2):
            if frozenset((one, other)) in OPPOSITES:
                yield from (pair for pair in known.crossed(rest[one], rest[other]) if known.is_opposed(*pair))


def _judge(one: _Parsed, other: _Parsed) -> tuple[ConflictKind, str] | None:
    """Return how two demands that may be about the same thing conflict; None if they do not."""
    more, less = one.terms - other.terms, other.terms - one.terms
    if more and less:
        return _opposite_word(one, other)
    special, general = (one, other) if more else (other, one)
    is_other = (more or less) and _conditions(one) != _conditions(other)
    is_apart = any(word in _APART or word.startswith("non-") for word in one.unlimited ^ other.unlimited)
    if is_other or is_apart or (one.words ^ other.words) & _TURNS:
        return None
    if not (more or less) and (force := _force_difference(one, other)) is not None:
        return force
    is_denied = one.negated != other.negated and one.is_denied_as_printed != other.is_denied_as_printed
    denied, affirmed = (one, other) if one.negated else (other, one)
    if is_denied and keeps_ban(banned_values(denied.text, denied.printed), affirmed.printed):
        return None
    if is_denied and _excludes(one, other) and not _frees(denied):
        return ConflictKind.CONTRADICTION, f"one is denied: “{_printed_force(denied)}”"
    are_like = one.modality == other.modality or _is_too_little(one, other)
    limit = differing_limit(one.text, one.limits, other.limits) if are_like else None
    if limit is not None and not ((more or less) and is_stricter(special.limits, general.limits)):
        return ConflictKind.LIMIT, limit
    is_forced = one.force is not None and other.force is not None
    if is_forced and one.negated == other.negated and one.modality != other.modality and not (more or less):
        return ConflictKind.FORCE, f"“{_printed_force(one)}” and “{_printed_force(other)}”"
    return None


def _force_difference(one: _Parsed, other: _Parsed) -> tuple[ConflictKind, str] | None:
    """Return the only word of force that differs, if everything else is equal; None if more or nothing differs."""
    same_limits = [(each.unit, each.bound, each.value) for each in one.printed] == [
        (each.unit, each.bound, each.value) for each in other.printed
    ]
    if not same_limits or len(one.forces) != len(other.forces):
        return None
    differ = [
        (mine, its)
        for mine, its in zip(one.forces, other.forces, strict=True)
        if (mine.modality, mine.negated) != (its.modality, its.negated)
    ]
    if len(differ) != 1:
        return None
    mine, its = differ[0]
    denied = (one, mine) if mine.negated else (other, its)
    if mine.negated != its.negated and _excludes(mine, its) and not _frees(*denied):
        return ConflictKind.CONTRADICTION, f"one is denied: “{_printed_force(*denied)}”"
    is_free = any(each.negated and each.modality is Modality.PERMISSION for each in (mine, its))  # "need not"
    if mine.negated == its.negated or (is_free and Modality.REQUIREMENT in {mine.modality, its.modality}):
        return ConflictKind.FORCE, f"“{_printed_force(one, mine)}” and “{_printed_force(other, its)}”"
    return None


def _excludes(one: _Parsed | Force, other: _Parsed | Force) -> bool:
    """Return whether negating only one makes it impossible to follow both; "should" and "need not" are compatible."""
    denied, affirmed = (one, other) if one.negated else (other, one)
    if denied.modality is Modality.REQUIREMENT:
        return affirmed.modality is not None
    return affirmed.modality is denied.modality


def _frees(parsed: _Parsed, force: Force | None = None) -> bool:
    """Return whether a negated word of force bans nothing: "need not", "shall not be required to"."""
    force = force or parsed.force
    return force is not None and force.modality is Modality.PERMISSION and not is_ban(force, parsed.text)


def _printed_force(parsed: _Parsed, force: Force | None = None) -> str:
    force = force or parsed.force
    if force is None:
        return ""
    word = parsed.text[force.start : force.end]
    found = _DENIAL.search(parsed.text, force.start) if force.negated else None
    if found is None or found.start() < force.end:
        return word
    between = "" if found.start() <= force.end + 1 else " …"
    return f"{word}{between} {found[0]}"


def _conditions(parsed: _Parsed) -> frozenset[str]:
    return frozenset(match.lower() for match in _CONDITION.findall(parsed.demand.text))


def _opposite_word(one: _Parsed, other: _Parsed) -> tuple[ConflictKind, str] | None:
    """Return a word and its opposite, if everything else is equal and they follow the words of force."""
    if one.key[2:] != other.key[2:] or len(one.terms ^ other.terms) != 2 or not _is_duty(one):
        return None
    mine, its = one.words - other.words, other.words - one.words
    if len(mine) != 1 or len(its) != 1 or frozenset(mine | its) not in OPPOSITES:
        return None
    word, opposite = next(iter(mine)), next(iter(its))
    if _OFFERS.search(one.text, 0, one.text.lower().find(word)):
        return None  # what can open can also close
    begun = min((force.end for force in one.forces), default=0)
    if tells_apart(word, one.text, begun):
        return None
    return ConflictKind.CONTRADICTION, f"“{word}” and “{opposite}”"


def _is_duty(one: _Parsed) -> bool:
    """Return whether a sentence is binding: what "may" be accepted may also be rejected."""
    return one.modality not in {Modality.PERMISSION, Modality.POSSIBILITY}


def _is_too_little(one: _Parsed, other: _Parsed) -> bool:
    """Return whether one permits less than the other requires: "may be at most 5 mm", "shall be at least 8 mm"."""
    if {one.modality, other.modality} != {Modality.REQUIREMENT, Modality.PERMISSION} or one.negated or other.negated:
        return False
    free, bound = (one, other) if one.modality is Modality.PERMISSION else (other, one)
    return permits_too_little(free.limits, bound.limits)


def _duplicate(same: Sequence[_Parsed]) -> Conflict:
    distinct = list({each.demand.place: each for each in same}.values())
    one, other, *rest = (each.demand for each in distinct)
    return Conflict(ConflictKind.DUPLICATE, one, other, "they demand the same", tuple(rest))
