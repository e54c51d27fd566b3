"""Aligns the clauses of two editions: which new clause each old one became.

Every candidate pair is scored by its evidence: common words, heading, number, and parent clause. Each kind of evidence
counts independently, so one may be enough and several add up. The best pairs are joined first, each clause once; the
remaining clauses are then searched inside the joined ones.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.leftovers import Leftovers
from knowledge_mcp.engine.changes.sides import ClausePairs, EditionSide, Terms, rarity_of
from knowledge_mcp.engine.changes.wording import RARE, holders, is_contained, own_runs_in_common, plain, words_of
from knowledge_mcp.support.checkpoints import check_each

_HALF = 0.5
"""Weight of heading, number and position: half of the common words, so that none is enough alone."""
_ROUNDS = 3
"""Number of rounds; later rounds use the pairs of the previous one, because only then the position of a clause is
known.
"""


@dataclass(frozen=True, slots=True)
class ClauseLink:
    """Links an old clause to the new one that it became; one of them is None if there is no counterpart."""

    kind: LinkKind
    old: Clause | None
    new: Clause | None


def align(old: Edition, new: Edition, terms: Terms) -> list[ClauseLink]:
    """Align the clauses of two editions.

    Args:
        old: the earlier edition.
        new: the later one.
        terms: splits text into the terms that are compared, as `Analyser.document_terms`.

    Returns:
        The links in the new edition's order, with removed clauses at their old position.
    """
    matcher = _Matcher(old, new, terms)
    pairs = matcher.joined()
    links = [ClauseLink(matcher.kind(one, other, pairs), one, other) for one, other in pairs.items_in_order()]
    links = _with_changed_places(links)
    links.extend(matcher.followed(pairs))
    links.extend(matcher.contained(links))
    links = matcher.with_parts(links, pairs)
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


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The constant evidence for a pair: common words (None if neither has words), heading, number."""

    words: float | None
    same_head: bool
    like_head: float
    number: float


class _Matcher:
    def __init__(self, old: Edition, new: Edition, terms: Terms) -> None:
        self._old, self._new = EditionSide(old.clauses, terms), EditionSide(new.clauses, terms)
        everywhere = [*self._old.counts, *self._new.counts]
        rarity = rarity_of(everywhere)
        self._old.weigh(rarity)
        self._new.weigh(rarity)
        self._vocabulary_rarity = rarity_of(
            [side.vocabulary(place) for side in (self._old, self._new) for place in range(len(side.clauses))]
        )
        self._title_rarity = rarity_of([*self._old.titles, *self._new.titles])
        self._usual_old, self._usual_new = functools.cache(self._old.usual), functools.cache(self._new.usual)
        self._files = _same_files(old, new)
        self._by_name: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, clause in enumerate(new.clauses):
            for name in self._called(self._new, place, clause.file):
                self._by_name[name].append(place)
        self._notes = dict(self._explained(old, new))
        self._runs = own_runs_in_common(old.clauses, new.clauses)
        self._numbers_stay = self._most_numbers_stay()

    def _most_numbers_stay(self) -> bool:
        """Return whether clauses with a heading that is unique in both editions mostly kept their numbers."""
        headed = {
            head: self._new.clauses[place].number
            for place, head in enumerate(self._new.heads)
            if head and self._new.heads_like[head] == 1
        }
        pairs = [
            (clause.number, headed[head])
            for clause, head in zip(self._old.clauses, self._old.heads, strict=True)
            if clause.number and self._old.heads_like[head] == 1 and headed.get(head)
        ]
        return 2 * sum(one == other for one, other in pairs) >= len(pairs)

    # ---- joining

    def joined(self) -> ClausePairs:
        evidence = {
            (one, other): self._evidence(one, other)
            for one in check_each(range(len(self._old.clauses)))
            for other in self._near(one)
        }
        for one, other in self._runs:
            if self._runs[one, other][0] > _QUARTER and (one, other) not in evidence and self._may_join(one, other):
                evidence[one, other] = self._evidence(one, other)
        pairs: ClausePairs | None = None
        for _ in range(_ROUNDS):
            pairs = self._round(evidence, pairs)
            self._files |= self._files_that_went(pairs)
            for one, other in self._above(pairs):
                if (one, other) not in evidence:
                    evidence[one, other] = self._evidence(one, other)
        assert pairs is not None
        self._part_what_went_elsewhere(pairs, evidence)
        Leftovers(self._old, self._new, self._runs, self._may_join, self._has_rare_words).join(pairs)
        return pairs

    def _files_that_went(self, pairs: ClausePairs) -> dict[str, str]:
        """Map files that no longer exist to the new ones that contain more than half of their clauses."""
        sizes = [Counter(clause.file for clause in side.clauses) for side in (self._old, self._new)]
        went = Counter((one.file, other.file) for one, other in pairs.items_in_order())
        return {
            file: there
            for (file, there), count in went.items()
            if file not in sizes[1] and there not in sizes[0] and 2 * count > max(sizes[0][file], sizes[1][there])
        }

    def _above(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield the parents of joined clauses, which may belong together even without a common word."""
        for one, other in pairs.items_in_order():
            if one.parent is not None and other.parent is not None and self._may_join(one.parent, other.parent):
                yield one.parent, other.parent

    def _part_what_went_elsewhere(self, pairs: ClausePairs, evidence: Mapping[tuple[int, int], _Evidence]) -> None:
        """Separate clauses with different headings if the words of one are not in the other, but in another clause."""
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
            contained_in_joined = {clause.index for clause, _ in holders(asked, there.clauses, texts)}
            parted.update(contained_in_joined if side is self._old else (back[each] for each in contained_in_joined))
        for one in parted:
            pairs.part(one)

    @staticmethod
    def _called(side: EditionSide, place: int, file: str) -> Iterator[tuple[str, ...]]:
        """Yield the keys by which a clause may be found: its names, and whether it is the title of its document."""
        clause = side.clauses[place]
        yield ("path", file, *side.paths[place])
        if side.is_title(place):
            yield "title", file, str(min(clause.level, 1))
        yield from _names_of(clause)

    def _near(self, one: int) -> list[int]:
        """List the new clauses that an old one may have become; none if a note says what became of it."""
        clause = self._old.clauses[one]
        if self._is_explained(one):
            return []
        near = set(self._new.most_alike(self._old.weights[one]))
        for name in self._called(self._old, one, self._files.get(clause.file, clause.file)):
            near.update(self._by_name.get(name, ())[:RARE])
        return [place for place in sorted(near) if not self._new.clauses[place].is_only_a_note]

    def _is_explained(self, one: int) -> bool:
        """Return whether a note says what became of an old clause, or it is a note itself."""
        return self._old.clauses[one].is_only_a_note or bool(one in self._notes and self._notes[one].went_to)

    def _may_join(self, one: int, other: int) -> bool:
        return not self._is_explained(one) and not self._new.clauses[other].is_only_a_note

    def _evidence(self, one: int, other: int) -> _Evidence:
        old, new = self._old, self._new
        titles, others = old.titles[one], new.titles[other]
        shared, apart = (sum(self._title_rarity[term] for term in each) for each in (titles & others, titles ^ others))
        like = 2 * shared / (2 * shared + apart) if shared else 0.0
        number = old.clauses[one].number
        same_number = self._numbers_stay and bool(number) and number == new.clauses[other].number
        like /= max(old.heads_like[old.heads[one]], new.heads_like[new.heads[other]])
        return _Evidence(
            words=self._in_common(one, other, like),
            same_head=old.heads[one] == new.heads[other],
            like_head=like,
            number=(_HALF if _IDENTIFIER.search(number) else _QUARTER) if same_number else 0.0,
        )

    def _in_common(self, one: int, other: int, like_head: float) -> float | None:
        """Return how far the words of two clauses support the pair.

        The result is the maximum of the similarity beyond what clauses of the same edition have in common anyway, the
        similarity weighted by that of the headings, and the share of word sequences that no other clause has.
        """
        words = self._old.cosine(one, self._new, other)
        if words is None:
            return None
        usual = min(self._usual_old(one), self._usual_new(other))
        beyond = (words - usual) / (1 - usual) if usual < 1 else 0.0
        return max(beyond, words * like_head, self._runs.get((one, other), (0.0, 0.0))[0])

    def _round(self, evidence: Mapping[tuple[int, int], _Evidence], known: ClausePairs | None) -> ClausePairs:
        scored: list[tuple[bool, float, int, int, int]] = []
        for (one, other), first in evidence.items():
            each = self._with_parts_below(first, one, other, known)
            together = self._stand_together(one, other, known)
            in_place = together and self._is_named_alike(one, other, each)
            score = self._score(one, other, each, known, together=together, in_place=in_place)
            says_nothing = each.words is not None and each.words < _NOTHING
            says_little = each.words is not None and each.words < _QUARTER and not together
            is_named = in_place or each.number >= _HALF or (each.same_head and (together or self._has_rare_words(one)))
            if score > _HALF and (is_named or not (says_nothing or says_little)):  # insertions shift clause numbers
                scored.append((says_nothing or not in_place, -score, abs(one - other), one, other))
        pairs = ClausePairs(self._old.clauses, self._new.clauses)
        for _, _, _, one, other in sorted(scored):
            if one not in pairs.forward and other not in pairs.backward:
                pairs.join(one, other)
        return pairs

    def _with_parts_below(self, each: _Evidence, one: int, other: int, known: ClausePairs | None) -> _Evidence:
        """Use the clauses below two clauses as evidence if only one of the two has its own words."""
        if known is None or each.words is None or (self._old.counts[one] and self._new.counts[other]):
            return each
        return replace(each, words=max(each.words, known.share_below(one, other)))

    def _has_rare_words(self, one: int) -> bool:
        """Return whether a heading names its subject with rare words, unlike "Configuration" and "Overview"."""
        rarity = sum(self._title_rarity[term] for term in self._old.titles[one])
        return rarity > math.log(len(self._old.heads) + len(self._new.heads))

    def _stand_together(self, one: int, other: int, known: ClausePairs | None) -> bool:
        """Return whether the parents or the siblings of two clauses belong together; at first, by their path."""
        old, new = self._old.clauses[one], self._new.clauses[other]
        if known is not None:
            are_together = known.hold(old, new, self._files) or known.neighbours_went(old, new)
            return are_together or self._stands_at_the_top(old, new)
        paths = self._old.paths[one], self._new.paths[other]
        return paths[0][:-1] == paths[1][:-1] and self._files.get(old.file, old.file) == new.file

    def _is_named_alike(self, one: int, other: int, each: _Evidence) -> bool:
        """Return whether two clauses are the only ones of their name at their position, or titles of documents."""
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
        """Return what became of a joined clause: the first that applies of moved, renamed, …"""
        if not pairs.hold(old, new, self._files) and not self._stands_at_the_top(old, new):
            return LinkKind.MOVED
        if self._old.heads[old.index] != self._new.heads[new.index]:
            return LinkKind.RENAMED
        if old.number and new.number and old.number != new.number:
            return LinkKind.RENUMBERED
        return LinkKind.SAME if words_of(old.text) == words_of(new.text) else LinkKind.EDITED

    def with_parts(self, links: Sequence[ClauseLink], pairs: ClausePairs) -> list[ClauseLink]:
        """Mark a moved or renamed clause with another heading as part of a split or merge, if there are other parts.

        A clause with its own heading above the one that received its text is a part too.
        """
        apart = {id(link.old) for link in links if link.kind is LinkKind.SPLIT}
        together = {id(link.new) for link in links if link.kind is LinkKind.MERGED}
        come = {link.new.index for link in links if link.new is not None}
        gone = {link.old.index for link in links if link.old is not None}
        found: list[ClauseLink] = []
        for one, other in pairs.items_in_order():
            above = self._heading_above(self._new, other.index, self._old.heads[one.index])
            if above is not None and above not in come:
                come.add(above)
                apart.add(id(one))
                found.append(ClauseLink(LinkKind.SPLIT, one, self._new.clauses[above]))
            above = self._heading_above(self._old, one.index, self._new.heads[other.index])
            if above is not None and above not in gone:
                gone.add(above)
                together.add(id(other))
                found.append(ClauseLink(LinkKind.MERGED, self._old.clauses[above], other))
        return [replace(link, kind=self._kind_of_part(link, apart, together)) for link in links] + found

    def _kind_of_part(self, link: ClauseLink, apart: set[int], together: set[int]) -> LinkKind:
        assert link.old is not None
        assert link.new is not None
        alike = self._old.titles[link.old.index] == self._new.titles[link.new.index]
        if alike or link.kind not in {LinkKind.MOVED, LinkKind.RENAMED}:
            return link.kind
        return LinkKind.SPLIT if id(link.old) in apart else LinkKind.MERGED if id(link.new) in together else link.kind

    @staticmethod
    def _heading_above(side: EditionSide, place: int, head: str) -> int | None:
        """Find the ancestor of a clause with this heading."""
        above = side.clauses[place].parent if head else None
        while above is not None and side.heads[above] != head:
            above = side.clauses[above].parent
        return above

    def _stands_at_the_top(self, old: Clause, new: Clause) -> bool:
        """Return whether two clauses are at the top of one document, and only one edition has a title above."""
        in_one = self._files.get(old.file, old.file) == new.file
        tops = self._old.is_at_top(old) and self._new.is_at_top(new)
        return in_one and tops and (old.parent is None) != (new.parent is None)

    def _explained(self, old: Edition, new: Edition) -> Iterator[tuple[int, Clause]]:
        """Yield old clauses, by their index, with the note of the new edition that names them.

        A number alone is not enough, because every insertion shifts it: the heading must also be equal, or only say
        "Void".
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
        """Follow the notes of the new edition that say where a withdrawn clause went; an old note stays one."""
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

    def contained(self, links: Sequence[ClauseLink]) -> Iterator[ClauseLink]:
        """Find remaining clauses inside joined ones: merged into a new one, or split off an old one."""
        gone = {link.old.index for link in links if link.old is not None}
        come = {link.new.index for link in links if link.new is not None}
        lost = [clause for clause in self._old.clauses if clause.index not in gone and not clause.is_only_a_note]
        fresh = [clause for clause in self._new.clauses if clause.index not in come and not clause.is_only_a_note]
        known = [(each.old.index, each.new.index) for each in links if each.old is not None and each.new is not None]
        for clause, holder in self._containers(self._old, self._new, lost, known):
            yield ClauseLink(LinkKind.MERGED, clause, holder)
        for clause, holder in self._containers(self._new, self._old, fresh, [(other, one) for one, other in known]):
            yield ClauseLink(LinkKind.SPLIT, holder, clause)

    def _containers(
        self, side: EditionSide, there: EditionSide, clauses: Sequence[Clause], links: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[Clause, Clause]]:
        """Yield clauses with those of the other edition that contain them: word for word, or else in other words.

        Args:
            side, there: the clauses' edition, and the other one.
            clauses: those without a link.
            links: indexes of the clauses of both that are linked.
        """
        texts: dict[int, str] = {}
        known: defaultdict[int, set[str]] = defaultdict(set)
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
        self, side: EditionSide, there: EditionSide, clauses: Sequence[Clause], known: Mapping[int, set[str]]
    ) -> Iterator[tuple[Clause, Clause]]:
        """Yield clauses with the one of the other edition that contains them in other words.

        It gained more than half of the weight of those of their words that `known`, the linked clauses, did not have,
        and more of them than a clause gains by chance.
        """
        gained: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in check_each(known.items()):
            for term in there.vocabulary(place) - words:
                gained[term].append(place)
        for clause in clauses:
            if not side.counts[clause.index]:  # only a heading
                continue
            words = side.vocabulary(clause.index)
            near = {place for term in words if len(gained.get(term, ())) <= RARE for place in gained.get(term, ())}
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


_IDENTIFIER = re.compile(r"[A-Za-z]\W?\d|\d\W?[A-Za-z]")
_QUARTER = 0.25
_NOTHING = 0.1
"""Similarity below which two texts have almost nothing in common."""


def _names_of(clause: Clause) -> Iterator[tuple[str, ...]]:
    """Yield the keys by which a clause may be found in the other edition: its number and its heading."""
    if clause.number:
        yield "number", clause.number
    if clause.heading:
        yield "heading", plain(clause.heading)


def _same_files(old: Edition, new: Edition) -> dict[str, str]:
    """Map the old edition's files to those of the new one: with the same path, the same name, or both the only file."""
    if len(old.files) == len(new.files) == 1:
        return {old.files[0]: new.files[0]}
    found = {file: file for file in old.files if file in new.files}
    names = [_by_name(file for file in edition.files if file not in found) for edition in (old, new)]
    moved = {name: files for name, files in names[0].items() if len(files) == len(names[1].get(name, ())) == 1}
    return found | {files[0]: names[1][name][0] for name, files in moved.items()}


def _by_name(files: Iterable[str]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in files:
        found[file.rpartition("/")[2]].append(file)
    return found


_IN_PLACE = frozenset({LinkKind.SAME, LinkKind.EDITED})


def _with_changed_places(links: Sequence[ClauseLink]) -> list[ClauseLink]:
    """Mark clauses as moved whose order below the same heading changed: as few as possible."""
    below: defaultdict[tuple[str, int | None, int | None], list[ClauseLink]] = defaultdict(list)
    for link in links:
        if link.old is not None and link.new is not None and link.kind in _IN_PLACE:
            below[link.new.file, link.old.parent, link.new.parent].append(link)
    moved: set[int] = set()
    for beside in below.values():
        beside.sort(key=lambda link: link.new.index if link.new is not None else 0)
        places = [link.old.index if link.old is not None else 0 for link in beside]
        kept = set(_longest_rise(places))
        moved.update(id(link) for place, link in zip(places, beside, strict=True) if place not in kept)
    return [replace(link, kind=LinkKind.MOVED) if id(link) in moved else link for link in links]


def _longest_rise(places: Sequence[int]) -> Iterator[int]:
    """Yield a longest increasing subsequence of different numbers, starting from its last element."""
    ends: list[int] = []  # the smallest last number of an increasing subsequence of each length
    lengths: list[int] = []
    for place in places:
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        lengths.append(length)
    due = len(ends) - 1
    for place, length in zip(reversed(places), reversed(lengths), strict=True):
        if length == due:
            yield place
            due -= 1


def _in_order(links: Iterable[ClauseLink], pairs: ClausePairs) -> list[ClauseLink]:
    """Sort links in the new edition's order; a removed clause follows the one that preceded it."""
    joined = sorted(pairs.forward)

    def place(link: ClauseLink) -> tuple[float, int]:
        if link.new is not None:
            return link.new.index, link.old.index if link.old is not None else -1
        assert link.old is not None
        before = bisect_left(joined, link.old.index)
        return (pairs.forward[joined[before - 1]] if before else -1) + 0.5, link.old.index

    return sorted(links, key=place)
