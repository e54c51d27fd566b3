"""Which clause of the new edition each clause of the old one became.

Every pair that may belong together is scored by what speaks for it: words in common, heading, number, and the clause
that holds it. Each is taken as evidence of its own, so that any of them may carry a pair, and several do it together.
The best pairs are joined first, each clause once; clauses that are left are looked for inside those that are joined.
"""

from __future__ import annotations

import functools
import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.engine.changes.pairs import ClausePairs
from knowledge_mcp.engine.changes.wording import holders, is_contained, plain, words_of
from knowledge_mcp.support.checkpoints import check_each

_HALF = 0.5
"""What heading, number and place each count for: as much as half of the words in common, and none is enough alone."""
_RARE = 40
"""Clauses of the other edition up to which a term is looked up to find candidates."""
_CANDIDATES = 12
_ROUNDS = 3
"""How often pairs are scored with what the round before joined: a clause's place is known only then."""

Terms = Callable[[str], Sequence[str]]


class LinkKind(StrEnum):
    """What became of a clause."""

    SAME = "same"
    EDITED = "edited"
    RENAMED = "renamed"
    RENUMBERED = "renumbered"
    MOVED = "moved"
    SPLIT = "split"
    MERGED = "merged"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ClauseLink:
    """Tell that an old clause became a new one; None where there is none."""

    kind: LinkKind
    old: Clause | None
    new: Clause | None


def align(old: Edition, new: Edition, terms: Terms) -> list[ClauseLink]:
    """Align the clauses of two editions; one entry a link, in the new edition's order, removed ones where they stood.

    Args:
        old: the earlier edition.
        new: the later one.
        terms: turns text into the terms that are compared, as `Analyser.document_terms`.
    """
    matcher = _Matcher(old, new, terms)
    pairs = matcher.joined()
    links = [ClauseLink(matcher.kind(one, other, pairs), one, other) for one, other in pairs.items_in_order()]
    links.extend(matcher.followed(pairs))
    links.extend(matcher.contained(pairs, links))
    gone = {id(link.old) for link in links if link.old is not None}
    come = {id(link.new) for link in links if link.new is not None}
    links += [
        ClauseLink(LinkKind.REMOVED, clause, None)
        for clause in old.clauses
        if id(clause) not in gone and not clause.is_only_a_note
    ]
    links += [
        ClauseLink(LinkKind.ADDED, None, clause)
        for clause in new.clauses
        if id(clause) not in come and not clause.is_only_a_note
    ]
    return _in_order(links, pairs)


class _Side:
    """Hold the weighted terms of one edition's clauses."""

    def __init__(self, clauses: Sequence[Clause], terms: Terms) -> None:
        self.clauses = clauses
        self.counts = [Counter(terms(clause.text)) for clause in check_each(clauses)]
        self.titles = [frozenset(terms(clause.heading)) for clause in clauses]
        self.heads = [_own_head(clause, clauses) for clause in clauses]
        self.heads_like = Counter(self.heads)
        self.siblings = Counter(
            (clause.file, clause.parent, head) for clause, head in zip(clauses, self.heads, strict=True)
        )
        self.tops = Counter(clause.file for clause in clauses if clause.parent is None and clause.level)
        self.paths: list[tuple[str, ...]] = []
        for place, clause in enumerate(clauses):  # without the document's title, which says the edition
            above = self.paths[clause.parent] if clause.parent is not None else ()
            self.paths.append(() if self.is_title(place) else (*above, plain(clause.heading)))
        self.weights: list[dict[str, float]] = []
        self.lengths: list[float] = []
        self.by_term: defaultdict[str, list[int]] = defaultdict(list)
        for place, counted in enumerate(self.counts):
            for term in counted:
                self.by_term[term].append(place)

    def weigh(self, rarity: Mapping[str, float]) -> None:
        for counted in self.counts:
            weights = {term: (1 + math.log(count)) * rarity[term] for term, count in counted.items()}
            self.weights.append(weights)
            self.lengths.append(math.sqrt(sum(weight * weight for weight in weights.values())))

    def most_alike(self, weights: Mapping[str, float]) -> list[int]:
        """List the clauses that share most of a text's weightier terms, in reading order."""
        found: defaultdict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            places = self.by_term.get(term, ())
            if len(places) <= _RARE:
                for place in places:
                    found[place] += weight * self.weights[place][term] / self.lengths[place]
        return sorted(heapq.nlargest(_CANDIDATES, found, key=lambda place: (found[place], -place)))

    def cosine(self, place: int, other: _Side, there: int) -> float | None:
        """Tell how many words two clauses have in common; None where neither has any."""
        weights, others = self.weights[place], other.weights[there]
        if not weights and not others:
            return None
        if not weights or not others:
            return 0.0
        if len(weights) > len(others):
            weights, others = others, weights
        shared = sum(weight * others[term] for term, weight in weights.items() if term in others)
        return shared / (self.lengths[place] * other.lengths[there])

    def usual(self, place: int) -> float:
        """Tell how much a clause has in common with the clause of its own edition that is most like it."""
        near = (other for other in self.most_alike(self.weights[place]) if other != place)
        return max((self.cosine(place, self, other) or 0.0 for other in near), default=0.0)

    def vocabulary(self, place: int) -> frozenset[str]:
        """Return the terms of a clause's text and of its heading."""
        return self.titles[place].union(self.counts[place])

    def is_title(self, place: int) -> bool:
        """Tell whether a clause is its document's title, or what stands before its first heading."""
        clause = self.clauses[place]
        if clause.level == 0 or clause.parent is not None:
            return clause.level == 0
        is_first = place == 0 or self.clauses[place - 1].file != clause.file
        return self.tops[clause.file] == 1 or (is_first and not clause.text)

    def is_at_top(self, clause: Clause) -> bool:
        """Tell whether nothing stands above a clause, or only its document's title."""
        return clause.parent is None or self.is_title(clause.parent)

    def is_only_sibling(self, place: int) -> bool:
        clause = self.clauses[place]
        return self.siblings[clause.file, clause.parent, self.heads[place]] == 1


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Hold what speaks for a pair and does not change: words in common (None without words), heading, number."""

    words: float | None
    same_head: bool
    like_head: float
    number: float


class _Matcher:
    def __init__(self, old: Edition, new: Edition, terms: Terms) -> None:
        self._old, self._new = _Side(old.clauses, terms), _Side(new.clauses, terms)
        everywhere = [*self._old.counts, *self._new.counts]
        rarity = _rarity(everywhere)
        self._old.weigh(rarity)
        self._new.weigh(rarity)
        self._vocabulary_rarity = _rarity(
            [side.vocabulary(place) for side in (self._old, self._new) for place in range(len(side.clauses))]
        )
        self._title_rarity = _rarity([*self._old.titles, *self._new.titles])
        self._usual_old, self._usual_new = functools.cache(self._old.usual), functools.cache(self._new.usual)
        self._files = _same_files(old, new)
        self._by_name: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, clause in enumerate(new.clauses):
            for name in self._called(self._new, place, clause.file):
                self._by_name[name].append(place)
        self._notes = dict(self._told(old, new))

    # ---- joining

    def joined(self) -> ClausePairs:
        evidence = {
            (one, other): self._evidence(one, other)
            for one in check_each(range(len(self._old.clauses)))
            for other in self._near(one)
        }
        pairs: ClausePairs | None = None
        for _ in range(_ROUNDS):
            pairs = self._round(evidence, pairs)
        assert pairs is not None
        self._part_what_went_elsewhere(pairs, evidence)
        self._join_same_words(pairs)
        return pairs

    def _part_what_went_elsewhere(self, pairs: ClausePairs, evidence: Mapping[tuple[int, int], _Evidence]) -> None:
        """Part clauses of different headings where the words of one are not in the other, but in another clause."""
        unsure = {
            one: other
            for one, other in pairs.forward.items()
            if not evidence[one, other].same_head and not evidence[one, other].number
        }
        back = {other: one for one, other in unsure.items()}
        parted: set[int] = set()
        for side, there, all_pairs, some in (
            (self._old, self._new, pairs.forward, unsure),
            (self._new, self._old, pairs.backward, back),
        ):
            texts = {other: side.clauses[one].text for one, other in all_pairs.items()}
            asked = [
                side.clauses[one]
                for one, other in some.items()
                if not is_contained(side.clauses[one].text, there.clauses[other].text)
            ]
            held = {clause.index for clause, _ in holders(asked, there.clauses, texts)}
            parted.update(held if side is self._old else (back[each] for each in held))
        for one in parted:
            pairs.part(one)

    def _join_same_words(self, pairs: ClausePairs) -> None:
        """Join what is left with what has the very same words, as twins have that each moved elsewhere.

        What every chapter says is not taken from a chapter that is gone to one that is new.
        """
        olds, news = (
            _by_words(clause for clause in side.clauses if clause.index not in joined and not clause.is_only_a_note)
            for side, joined in ((self._old, pairs.forward), (self._new, pairs.backward))
        )
        said = Counter(_said(clause) for side in (self._old, self._new) for clause in side.clauses)
        for words, places in olds.items():
            if len(places) == len(news.get(words, ())) == 1 and not (
                places[0] in self._notes and self._notes[places[0]].went_to
            ):
                one, other = self._old.clauses[places[0]], self._new.clauses[news[words][0]]
                is_common = said[words] > 2
                is_above_joined = one.parent is None or other.parent is None
                is_above_joined = is_above_joined or one.parent in pairs.forward or other.parent in pairs.backward
                if is_above_joined or not is_common:
                    pairs.join(one.index, other.index)

    @staticmethod
    def _called(side: _Side, place: int, file: str) -> Iterator[tuple[str, ...]]:
        """Yield what a clause may be found by: its names, and that it is the title of its document."""
        clause = side.clauses[place]
        yield ("path", file, *side.paths[place])
        if side.is_title(place):
            yield "title", file, str(min(clause.level, 1))
        yield from _names_of(clause)

    def _near(self, one: int) -> list[int]:
        """List the clauses of the new edition that an old one may have become; none where a note says what it did."""
        clause = self._old.clauses[one]
        if clause.is_only_a_note or (one in self._notes and self._notes[one].went_to):
            return []
        near = set(self._new.most_alike(self._old.weights[one]))
        for name in self._called(self._old, one, self._files.get(clause.file, clause.file)):
            near.update(self._by_name.get(name, ())[:_RARE])
        return [place for place in sorted(near) if not self._new.clauses[place].is_only_a_note]

    def _evidence(self, one: int, other: int) -> _Evidence:
        old, new = self._old, self._new
        titles, others = old.titles[one], new.titles[other]
        shared, apart = (sum(self._title_rarity[term] for term in each) for each in (titles & others, titles ^ others))
        like = 2 * shared / (2 * shared + apart) if shared else 0.0
        number = old.clauses[one].number
        same_number = bool(number) and number == new.clauses[other].number
        like /= max(old.heads_like[old.heads[one]], new.heads_like[new.heads[other]])
        return _Evidence(
            words=self._in_common(one, other, like),
            same_head=old.heads[one] == new.heads[other],
            like_head=like,
            number=(_HALF if _IDENTIFIER.search(number) else _QUARTER) if same_number else 0.0,
        )

    def _in_common(self, one: int, other: int, like_head: float) -> float | None:
        """Tell how far the words of two clauses speak for the pair.

        Words count beyond what clauses of their own editions have in common anyway; as they are, where the headings
        belong together.
        """
        words = self._old.cosine(one, self._new, other)
        if words is None:
            return None
        usual = min(self._usual_old(one), self._usual_new(other))
        beyond = (words - usual) / (1 - usual) if usual < 1 else 0.0
        return max(beyond, words * like_head)

    def _round(self, evidence: Mapping[tuple[int, int], _Evidence], known: ClausePairs | None) -> ClausePairs:
        scored: list[tuple[bool, float, int, int, int]] = []
        for (one, other), each in evidence.items():
            together = self._stand_together(one, other, known)
            in_place = together and self._is_named_alike(one, other, each)
            score = self._score(one, other, each, known, together=together, in_place=in_place)
            says_nothing = each.words is not None and each.words < _NOTHING
            is_named = in_place or each.same_head or each.number >= _HALF
            if score > _HALF and (is_named or not says_nothing):  # a clause number alone is shifted by every insertion
                scored.append((says_nothing or not in_place, -score, abs(one - other), one, other))
        pairs = ClausePairs(self._old.clauses, self._new.clauses)
        for _, _, _, one, other in sorted(scored):
            if one not in pairs.forward and other not in pairs.backward:
                pairs.join(one, other)
        return pairs

    def _stand_together(self, one: int, other: int, known: ClausePairs | None) -> bool:
        """Tell whether what holds two clauses belongs together, or what stands beside them; at first, by their path."""
        old, new = self._old.clauses[one], self._new.clauses[other]
        if known is not None:
            return known.hold(old, new, self._files) or known.neighbours_went(old, new)
        paths = self._old.paths[one], self._new.paths[other]
        return paths[0][:-1] == paths[1][:-1] and self._files.get(old.file, old.file) == new.file

    def _is_named_alike(self, one: int, other: int, each: _Evidence) -> bool:
        """Tell whether two clauses are the only ones of their name where they stand, as two titles of documents are."""
        alone = self._old.is_only_sibling(one) and self._new.is_only_sibling(other)
        titles = self._old.is_title(one) and self._new.is_title(other)
        return titles or (each.same_head and alone)

    def _score(
        self, one: int, other: int, each: _Evidence, known: ClausePairs | None, *, together: bool, in_place: bool
    ) -> float:
        words = each.words
        if words is None:
            words = known.share_below(one, other) if known is not None else 0.0
        likeness = 1.0 if in_place else each.like_head
        against = (1 - _HALF * likeness) * (1 - each.number) * (1 - (_QUARTER if together else 0.0))
        return 1 - (1 - words) * against

    # ---- what became of it

    def kind(self, old: Clause, new: Clause, pairs: ClausePairs) -> LinkKind:
        """Tell what became of a clause that is joined with another; the first that holds of moved, renamed …"""
        if not pairs.hold(old, new, self._files) and not self._stands_at_the_top(old, new):
            return LinkKind.MOVED
        if self._old.heads[old.index] != self._new.heads[new.index]:
            return LinkKind.RENAMED
        if old.number != new.number:
            return LinkKind.RENUMBERED
        return LinkKind.SAME if words_of(old.text) == words_of(new.text) else LinkKind.EDITED

    def _stands_at_the_top(self, old: Clause, new: Clause) -> bool:
        """Tell whether two clauses stand at the top of one document, of which only one is read with a title above."""
        in_one = self._files.get(old.file, old.file) == new.file
        tops = self._old.is_at_top(old) and self._new.is_at_top(new)
        return in_one and tops and (old.parent is None) != (new.parent is None)

    def _told(self, old: Edition, new: Edition) -> Iterator[tuple[int, Clause]]:
        """Yield old clauses, by their place, with the note of the new edition that names them.

        A number alone is shifted by every insertion: beside it the heading is the same, or only says "Void" too.
        """
        numbered: defaultdict[str, list[Clause]] = defaultdict(list)
        headed: defaultdict[str, list[Clause]] = defaultdict(list)
        for clause in old.clauses:
            numbered[clause.number].append(clause)
            headed[plain(clause.title)].append(clause)
        for note in new.clauses:
            if note.is_only_a_note:
                head = plain(note.title)
                is_sure = not head or _IDENTIFIER.search(note.number)
                found = [
                    clause
                    for clause in (numbered[note.number] if note.number else ())
                    if is_sure or plain(clause.title) == head
                ]
                found = found or (headed[head] if head else [])
                if len(found) == 1:
                    yield found[0].index, note

    def followed(self, pairs: ClausePairs) -> Iterator[ClauseLink]:
        """Follow the notes of the new edition that say where a withdrawn clause went; one that was a note stays one."""
        by_number = {clause.number: clause for clause in self._new.clauses if clause.number}
        for place, note in self._notes.items():
            found = self._old.clauses[place]
            if found.is_only_a_note:
                yield ClauseLink(self.kind(found, note, pairs), found, note)
                continue
            for name in note.went_to or ():
                target = by_number.get(name) or by_number.get(name.rstrip("abcdefghijklmnopqrstuvwxyz"))
                if target is not None:
                    yield ClauseLink(LinkKind.MOVED if note.has_moved else LinkKind.MERGED, found, target)

    def contained(self, pairs: ClausePairs, links: Sequence[ClauseLink]) -> Iterator[ClauseLink]:
        """Find clauses that are left inside such as are joined: merged into a new one, or split off an old one."""
        gone = {link.old.index for link in links if link.old is not None}
        come = {link.new.index for link in links if link.new is not None}
        lost = [clause for clause in self._old.clauses if clause.index not in gone and not clause.is_only_a_note]
        fresh = [clause for clause in self._new.clauses if clause.index not in come and not clause.is_only_a_note]
        known = [(each.old.index, each.new.index) for each in links if each.old is not None and each.new is not None]
        for clause, holder in self._held(self._old, self._new, lost, known):
            yield ClauseLink(LinkKind.MERGED, clause, holder)
        for clause, holder in self._held(self._new, self._old, fresh, [(other, one) for one, other in known]):
            yield ClauseLink(LinkKind.SPLIT, holder, clause)

    def _held(
        self, side: _Side, there: _Side, clauses: Sequence[Clause], links: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[Clause, Clause]]:
        """Yield clauses with those of the other edition that hold them: word for word, else in other words.

        Args:
            side, there: the clauses' edition, and the other one.
            clauses: those that are in no link.
            links: clauses of both, by their place, that are in one.
        """
        texts: dict[int, str] = {}
        known: defaultdict[int, frozenset[str]] = defaultdict(frozenset)
        for one, other in links if clauses else ():
            texts.setdefault(other, side.clauses[one].text)
            known[other] |= side.vocabulary(one)
        indexes: set[int] = set()
        for clause, holder in holders(clauses, there.clauses, texts):
            indexes.add(clause.index)
            known[holder.index] |= side.vocabulary(clause.index)
            yield clause, holder
        yield from self._taken_up(side, there, [each for each in clauses if each.index not in indexes], known)

    def _taken_up(
        self, side: _Side, there: _Side, clauses: Sequence[Clause], known: Mapping[int, frozenset[str]]
    ) -> Iterator[tuple[Clause, Clause]]:
        """Yield clauses with the one of the other edition that took them up in other words.

        It gained more than half of the weight of those of their words that `known`, what it is linked with, did not
        have, and more of them than one of as many clauses gains by chance.
        """
        gained: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in check_each(known.items()):
            for term in there.vocabulary(place) - words:
                gained[term].append(place)
        for clause in clauses:
            words = side.vocabulary(clause.index)
            near = {place for term in words if len(gained.get(term, ())) <= _RARE for place in gained.get(term, ())}
            best = (_HALF, -1)
            for place in sorted(near):
                own = words - known[place]
                taken = own & there.vocabulary(place)
                chance = sum(math.log(len(known) / len(gained[term])) for term in taken)
                if chance > math.log(len(known)):
                    best = max(best, (self._weight(taken) / self._weight(own), place))
            if best[1] >= 0:
                yield clause, there.clauses[best[1]]

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(self._vocabulary_rarity[term] for term in terms)


def _rarity(texts: Sequence[Iterable[str]]) -> dict[str, float]:
    frequency = Counter(term for text in texts for term in text)
    return {term: math.log(1 + len(texts) / count) for term, count in frequency.items()}


_IDENTIFIER = re.compile(r"[A-Za-z]\W?\d|\d\W?[A-Za-z]")
_QUARTER = 0.25
_NOTHING = 0.1
"""Likeness below which two texts have next to nothing in common."""


def _own_head(clause: Clause, clauses: Sequence[Clause]) -> str:
    """Return a heading as it is compared, without the heading above it where it repeats that."""
    head = plain(clause.heading)
    above = plain(clauses[clause.parent].heading) if clause.parent is not None else ""
    return head.removeprefix(f"{above} ") if above else head


def _names_of(clause: Clause) -> Iterator[tuple[str, ...]]:
    """Yield what a clause may be found by in the other edition: its number and its heading."""
    if clause.number:
        yield "number", clause.number
    if clause.heading:
        yield "heading", plain(clause.heading)


def _same_files(old: Edition, new: Edition) -> dict[str, str]:
    """Map the old edition's files to those of the new one: of the same name, or the only one of each."""
    if len(old.files) == len(new.files) == 1:
        return {old.files[0]: new.files[0]}
    return {file: file for file in old.files if file in new.files}


def _by_words(clauses: Iterable[Clause]) -> dict[tuple[str, ...], list[int]]:
    """Map heading and words of clauses that have any to their places."""
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for clause in clauses:
        if words_of(clause.text):
            found[_said(clause)].append(clause.index)
    return found


def _said(clause: Clause) -> tuple[str, ...]:
    return plain(clause.heading), *words_of(clause.text)


def _in_order(links: Iterable[ClauseLink], pairs: ClausePairs) -> list[ClauseLink]:
    """Put links in the new edition's order; what was removed stands behind what stood before it."""

    def place(link: ClauseLink) -> tuple[float, int]:
        if link.new is not None:
            return link.new.index, link.old.index if link.old is not None else -1
        assert link.old is not None
        before = next((pairs.forward[one] for one in range(link.old.index, -1, -1) if one in pairs.forward), -1)
        return before + 0.5, link.old.index

    return sorted(links, key=place)
