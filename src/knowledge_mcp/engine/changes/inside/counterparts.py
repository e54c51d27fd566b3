"""Requirements without counterpart in their clause: they may have moved to another one, or been split or merged."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.inside.paired import obliges
from knowledge_mcp.engine.changes.kinds import CUT, ChangeType, TextChange
from knowledge_mcp.engine.changes.marking import number_marks
from knowledge_mcp.engine.changes.sentences import Weights, own_text
from knowledge_mcp.engine.changes.wording import RARE, plain, stem_of, words_and_signs, words_of
from knowledge_mcp.language.demands import force_words
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.support.checkpoints import check_each

Found = dict[int, list[TextChange]]
"""Changes by the index of their link."""

_LEAST_BLANKS = 6
"""Minimum blanks in a requirement that is searched in others; shorter ones, "REQUIRED if it is given", are too common.
"""
_FEWEST_COMMON = 3
"""Words that two requirements have in common at least, apart from function words: "pump", "relief", "valve"."""
_MOST_OF = 0.75
"""Minimum share of what a requirement lost that its part says."""
_MOST_WORDS = 0.9
"""Minimum share if both have words of their own: "easy to learn" and "easy to use" are two requirements."""
_ALL_OF = 0.95
"""Minimum share if the other one only has more words: the rest of a word may differ."""
_HALF = 0.5
_APART = 0.1
"""Minimum distance to the next similar requirement: of twins nobody knows which one moved."""
_DOER = re.compile(r"\b(?:by|durch|vom|von)\s", re.IGNORECASE)
_POINTS = re.compile(r"\b(?:this|these|that|those|such|it|they|dies(?:e[rnms]?)?|jene[rnms]?)\b", re.IGNORECASE)
"""Words of a subject that point to the text before it."""
_INSIDE = (ChangeType.FORCE, ChangeType.NUMBER, ChangeType.WORDS)
_CODE = re.compile(r"(?<![\w-])(?:(?=[\w.-]{0,20}\d)(?=[\w.-]{0,20}[A-Za-z])[A-Za-z\d][\w.-]{1,20}|[Nn]on-\w{2,20})")
"""A name with a digit, or a denied one: "P-101", "non-clinical"."""
_CITED = re.compile(r"\s?\([A-Z]{1,3}-?\d{1,3}(?:, ?[A-Z]{1,3}-?\d{1,3}){0,9}\)")
"""What a requirement cites at its end: "(C5, C7)"."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A change, by the index of its link and of itself."""

    link: int
    at: int


@dataclass(frozen=True, slots=True)
class _Content:
    """What a requirement says.

    Attributes:
        words: stems with their weights, without numbers, force and function words.
        subject: the stems before its word of force.
        denied: whether it forbids.
        codes: names with digits.
        values: its numbers.
        names_doer: it is passive and says who does it: "shall be checked by the server".
        is_bound: what it is about depends on its place: "This value shall …".
    """

    words: Mapping[str, float]
    subject: frozenset[str]
    denied: bool
    codes: frozenset[str]
    values: frozenset[str]
    names_doer: bool
    is_bound: bool

    def share_in(self, other: _Content) -> float:
        """Return the weighted share of its words that another one has, 0..1."""
        return self.weight(self.words.keys() & other.words.keys()) / (self.weight(self.words.keys()) or 1.0)

    def weight(self, stems: AbstractSet[str]) -> float:
        """Return the weight of some of its words."""
        return sum(self.words[stem] for stem in stems)


class CounterpartFinder:
    """Find the counterparts of requirements, in two editions, that have none in their clause.

    Args:
        found: all changes; modified in place.
        links: the linked clauses.
        convention: how the editions mark force.
        weights: of words.
        compare: returns the changes between two sentences.
    """

    def __init__(
        self,
        found: Found,
        links: Sequence[ClauseLink],
        convention: Convention,
        weights: Weights,
        compare: Callable[[str, str], Sequence[TextChange]],
    ) -> None:
        self._found, self._links, self._convention = found, links, convention
        self._weights, self._compare = weights, compare
        self._read: dict[str, _Content] = {}
        self._dropped: set[_Place] = set()

    def follow(self) -> None:
        """Report requirements as moved, split or merged that were withdrawn in one place and added in another."""
        self._move_equal()
        self._take_up()
        self._part()
        self._move_changed()
        for link, changes in self._found.items():
            changes[:] = [each for at, each in enumerate(changes) if _Place(link, at) not in self._dropped]

    def _all(self, requirement: str) -> list[tuple[_Place, TextChange]]:
        return [
            (_Place(link, at), each)
            for link, changes in self._found.items()
            for at, each in enumerate(changes)
            if each.requirement == requirement and _Place(link, at) not in self._dropped
        ]

    def _label(self, link: int, *, is_old: bool) -> str:
        clauses = (self._links[link].old, self._links[link].new)
        clause = clauses[0 if is_old else 1] or clauses[1 if is_old else 0]
        return clause.label if clause is not None else ""

    def _move(self, gone: _Place, come: _Place) -> TextChange:
        """Mark a withdrawn and an added requirement as one that moved; it is told at its new place."""
        was, now = self._found[gone.link][gone.at], self._found[come.link][come.at]
        there, here = self._label(come.link, is_old=False), self._label(gone.link, is_old=True)
        self._found[gone.link][gone.at] = replace(was, requirement="", elsewhere=there)
        moved = replace(now, before=was.before, old_text=was.old_text, requirement="moved", elsewhere=here)
        self._found[come.link][come.at] = moved
        return moved

    def _move_equal(self) -> None:
        """Find requirements that are in another clause in the same words."""
        waiting: defaultdict[tuple[str, ...], list[_Place]] = defaultdict(list)
        for place, each in self._all("added"):
            waiting[tuple(words_and_signs(each.new_text))].append(place)
        for place, each in self._all("withdrawn"):
            if same := waiting[tuple(words_and_signs(each.old_text))]:
                self._move(place, same.pop(0))

    def _take_up(self) -> None:
        """Do not count requirements as withdrawn that a longer one of the same clause contains."""
        for changes in self._found.values():
            taken = [f" {plain(each.after)} " for each in changes if each.requirement == "added"]
            for at, each in enumerate(changes):
                words = plain(each.before)
                is_long = words.count(" ") >= _LEAST_BLANKS
                if each.requirement == "withdrawn" and is_long and any(f" {words} " in other for other in taken):
                    changes[at] = replace(each, requirement="")

    # ---- moved and changed

    def _move_changed(self) -> None:
        """Find requirements that are in another clause in other words, if nothing else can be meant."""
        gone, come = dict(self._all("withdrawn")), dict(self._all("added"))
        scored: defaultdict[_Place, list[tuple[float, _Place]]] = defaultdict(list)
        back: defaultdict[_Place, list[float]] = defaultdict(list)
        for one, other in self._near(gone, come):
            ours, theirs = self._content(gone[one].old_text), self._content(come[other].new_text)
            score = _sameness(ours, theirs)
            if score:
                scored[one].append((score, other))
                back[other].append(score)
        for one, others in scored.items():
            others.sort(key=lambda pair: -pair[0])
            score, other = others[0]
            rivals = [each for each, _ in others[1:2]] + sorted(back[other])[-2:-1]
            if score < max(back[other]) or any(score - each < _APART for each in rivals):
                continue
            was, now = gone[one].old_text, come[other].new_text
            self._move(one, other)
            more = [each for each in self._compare(was, now) if each.kind is not ChangeType.WORDS and _is_change(each)]
            here = self._label(one.link, is_old=True)
            self._found[other.link] += [replace(each, elsewhere=here) for each in more]

    def _near(
        self, gone: Mapping[_Place, TextChange], come: Mapping[_Place, TextChange]
    ) -> Iterator[tuple[_Place, _Place]]:
        """Yield requirements that share a word that few of them have."""
        places: defaultdict[str, list[_Place]] = defaultdict(list)
        for place, each in come.items():
            for stem in self._content(each.new_text).words:
                places[stem].append(place)
        for one, each in check_each(gone.items()):
            near = {
                other
                for stem in self._content(each.old_text).words
                for other in (places.get(stem, ()) if len(places.get(stem, ())) <= RARE else ())
            }
            yield from ((one, other) for other in sorted(near, key=lambda place: (place.link, place.at)))

    def _content(self, text: str) -> _Content:
        if (known := self._read.get(text)) is None:
            known = self._read[text] = self._content_of(_CITED.sub("", own_text(text)))
        return known

    def _content_of(self, text: str) -> _Content:
        forces = force_words(text, self._convention)
        start = min((each.start for each in forces), default=0)
        numbers, _ = number_marks(text)
        bare = text
        for each in sorted((*forces, *numbers), key=lambda mark: -mark.start):
            bare = f"{bare[: each.start]} {bare[each.end :]}"
        words = [each for each in words_of(bare) if each.isalpha() and len(each) > 2 and not is_function_word(each)]
        return _Content(
            {stem_of(each): self._weights.get(each, 1.0) for each in words},
            frozenset(map(stem_of, words_of(text[:start]))) & frozenset(map(stem_of, words)),
            any(each.key.endswith(" not") for each in forces),
            frozenset(found.casefold() for found in _CODE.findall(text)),
            frozenset(each.key for each in numbers),
            _DOER.search(text) is not None,
            _POINTS.search(text[:start]) is not None,
        )

    # ---- split and merged

    def _part(self) -> None:
        """Find requirements of which a part became an own one, or that took one up."""
        for requirement, name in (("added", "split"), ("withdrawn", "merged")):
            changed = self._edited(is_split=name == "split")
            for place, each in self._all(requirement):
                part = each.new_text or each.old_text
                near = {at for stem in self._content(part).words for at in changed.get(stem, ())}
                for link, whole, rest in sorted(near, key=lambda it: (it[0] != place.link, it)):
                    if self._is_part(part, whole, rest):
                        self._report_parts(place, link, (whole, rest), name)
                        break

    def _edited(self, *, is_split: bool) -> dict[str, list[tuple[int, str, str]]]:
        """Map the words that edited sentences lost or gained to their link, the longer and the shorter text.

        Words of many sentences are left out.
        """
        found: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)
        pairs = {
            (link, *((each.old_text, each.new_text) if is_split else (each.new_text, each.old_text)))
            for link, changes in self._found.items()
            for each in changes
            if each.kind in _INSIDE and each.old_text and each.new_text and not each.requirement
        }
        for link, whole, rest in check_each(pairs):
            for stem in self._content(whole).words.keys() - self._content(rest).words.keys():
                found[stem].append((link, whole, rest))
        return {stem: each for stem, each in found.items() if len(each) <= RARE}

    def _is_part(self, part: str, whole: str, rest: str) -> bool:
        """Return whether a requirement says what another one lost or gained, and nothing else."""
        if not (obliges(whole, self._convention) and obliges(rest, self._convention)):
            return False
        one, all_of, left = self._content(part), self._content(whole), self._content(rest)
        lost = all_of.words.keys() - left.words.keys()
        is_in = one.share_in(all_of) >= _ALL_OF and left.share_in(all_of) >= _MOST_OF
        return is_in and bool(lost) and all_of.weight(lost & one.words.keys()) >= _MOST_OF * all_of.weight(lost)

    def _report_parts(self, place: _Place, link: int, texts: tuple[str, str], name: str) -> None:
        """Report a split or merged requirement once, with its changes, and its part without counterpart as words."""
        part = self._found[place.link][place.at]
        whole, rest = texts
        is_split = name == "split"
        both = (rest, part.new_text or part.old_text)
        was, now = (whole, " ".join(both)) if is_split else (" ".join(both), whole)
        shown = (whole, CUT.join(both)) if is_split else (CUT.join(both), whole)
        there = self._label(place.link, is_old=not is_split) if place.link != link else ""
        here = self._label(link, is_old=not is_split) if place.link != link else ""
        self._found[place.link][place.at] = replace(part, requirement="", elsewhere=here)
        sides = (whole, rest) if is_split else (rest, whole)
        is_same = place.link == link
        self._dropped |= {
            _Place(link, at)
            for at, each in enumerate(self._found[link])
            if (each.old_text, each.new_text) == sides or (is_same and at == place.at)
        }
        changes = self._compare(was, now)
        more = [each for each in changes if each.kind in _INSIDE[:2] and _is_change(each)]
        self._found[link] += [*more, TextChange(ChangeType.WORDS, *shown, was, now, name, there)]


def _is_change(change: TextChange) -> bool:
    """Return whether a change is one of the rule: a word of force that came with other words is none."""
    return change.kind is not ChangeType.FORCE or bool(change.before and change.after)


def _sameness(one: _Content, other: _Content) -> float:
    """Return how surely two requirements in different clauses are one, 0 if they may be two."""
    common = one.words.keys() & other.words.keys()
    is_little = len(common) + len(one.values & other.values) < _FEWEST_COMMON
    is_other = one.denied is not other.denied or one.codes != other.codes
    if is_little or is_other or one.is_bound or other.is_bound:
        return 0.0
    is_turned = not one.subject & other.subject and one.names_doer is other.names_doer
    if is_turned and (one.subject or other.subject):
        return 0.0  # "The client shall check the server" turned around
    shares = sorted((one.share_in(other), other.share_in(one)))
    is_equal = shares[0] >= _MOST_WORDS
    is_longer = shares[1] >= _ALL_OF and shares[0] >= _HALF
    are_named = one.subject <= other.words.keys() and other.subject <= one.words.keys()
    return sum(shares) / 2 if is_equal or (is_longer and are_named) else 0.0


def as_parts(
    ones: Sequence[str], theirs: Sequence[str], changes: Sequence[TextChange], convention: Convention
) -> list[TextChange]:
    """Report a requirement that became several, or the reverse, beside each other, instead of its changed words.

    Sentences that were only joined or cut say the same.
    """
    counts = (len(ones), len(theirs))
    if 1 not in counts or counts == (1, 1) or not all(obliges(each, convention) for each in (*ones, *theirs)):
        return list(changes)
    before, after = (Counter(words_of(" ".join(side))) for side in (ones, theirs))
    if all(is_function_word(word) for word in (before - after) + (after - before)):
        return list(changes)
    name = "split" if counts[0] == 1 else "merged"
    others = [each for each in changes if each.requirement or each.kind is not ChangeType.WORDS]
    texts = (CUT.join(ones), CUT.join(theirs), " ".join(ones), " ".join(theirs))
    return [*others, TextChange(ChangeType.WORDS, *texts, name)]
