"""Links between two sets of items: declared ones, proposed ones with a probability, and what has none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from knowledge_mcp.engine.tracing.naming import ItemNames, NamedItems
from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.language.requirements.denied import is_line_gone, is_said_gone, is_state_gone
from knowledge_mcp.language.requirements.matrices import is_crossed, related
from knowledge_mcp.language.sentences import cell_texts, is_row, sentence_spans
from knowledge_mcp.support.checkpoints import check_each

_OF_AN_EDITION = 0.75
"""Share of items that stand in the other set word for word from which on it is another edition of the document."""
_UNCERTAIN = 0.5
"""Share of the threshold's probability from which on a pair is still shown, as uncertain."""
_MOST_WORDS = 8
_LONGEST = 400
_MOST_SENTENCES = 200
_MOST_CACHED = 1_000_000
"""Words of sentences held at once: about 100 MB."""
_ENOUGH = 20
"""Items from which on it tells something that more than half of them have a word: of three, two may be the link."""
_SAMPLE = 200
"""Items that tell the language."""
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_RULE = re.compile(r"[\s|:+=-]*")
_NO_LINK = re.compile(
    r"\W*(?:none|n/?a|nil|tb[dc]|derived|not applicable|keine?|entfällt|aucune?|ningun[oa])?\W*", re.IGNORECASE
)
"""What stands in a list of links that is empty."""
_BETWEEN = re.compile(r"\s{0,3}[,;\n&]\s{0,3}|\s(?=\S{0,40}\d)")
_CLAUSE_WORD = re.compile(r"(?:clause|section|chapter|sect?\.|§|Abschnitt|Kapitel|Kap\.)\s*", re.IGNORECASE)


class Verdict(StrEnum):
    """How sure a link is."""

    DECLARED = "declared"
    LIKELY = "likely"
    UNCERTAIN = "uncertain"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TraceItem:
    """Hold one item that links begin or end at.

    Attributes:
        id: unique in its set.
        title: its heading; may be empty.
        text: its words.
        citation: where it stands: file and line, page, or the set's name.
        links: ids of other items that it declares itself linked to.
        attributes: what else its file says of it, by name.
        place: number of its clause, or its level, where that is known.
        kind: what its tool calls it.
        link_kinds: what its links are called there, in the order of `links`; empty where that is not known.
        name: its id within its document, by which links name it, where `id` has the document before it.
        beside: what stands with it in its document, and may name items of the other set: "Parent: SYS-3".
        informative: its file says that it obliges nobody, as a text between requirements.
    """

    id: str
    title: str
    text: str
    citation: str
    links: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    place: str = ""
    kind: str = ""
    link_kinds: tuple[str, ...] = ()
    name: str = ""
    beside: str = ""
    informative: bool = False

    @property
    def label(self) -> str:
        """Return what people call it: its name where the id is for programs, with the id behind it."""
        return self.id if self.id.endswith(self.name) else f"{self.name} ({self.id})"

    @property
    def words(self) -> str:
        """Return title and text, the title only where the text does not begin with it."""
        return self.text if self.text.startswith(self.title) else f"{self.title}\n{self.text}"


def own_ids(ids: Iterable[str]) -> list[str]:
    """Make ids that name one thing each: where several have one, or one has none, with a number behind it."""
    listed = list(ids)
    counts, seen = Counter(listed), Counter[str]()
    found: list[str] = []
    for each in listed:
        seen[each] += 1
        found.append(each if each and counts[each] == 1 else f"{each}#{seen[each]}")
    return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """Tell what speaks for a link: a sentence of each item, word for word, and the words that they share."""

    from_text: str
    to_text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceLink:
    """Tell that an item belongs to another, how sure that is, and why."""

    source: TraceItem
    target: TraceItem
    verdict: Verdict
    probability: float
    evidence: Evidence


class Proposer(Protocol):
    """Rate all pairs of two lists of texts."""

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[Sequence[tuple[int, int, float]], float, bool]:
        """Return the pairs by position with their probability, best first, and the probability to cut at.

        Pairs below `least` times that are left out. Last comes whether the two are about the same thing at all.
        """
        ...


@dataclass(frozen=True, slots=True)
class Trace:
    """Hold the links, each item's best first, and the items of both sets without a declared or likely one.

    Attributes:
        links: in the order of the first set.
        untraced_sources: of the first set.
        untraced_targets: of the second.
        threshold: probability from which on a proposed link is likely.
        related: False where the two sets have next to nothing to do with each other: proposed links mean nothing then.
        lost: items with the declared links of theirs that lead to no item of either set, or to several.
        withdrawn_sources, withdrawn_targets: items that say that they hold no longer ("Status: Rejected"): they are
            neither linked nor missed.
        copies: items of the second set that quote one of the first, by its id and word for word: they meet nothing.
        refining_sources, refining_targets: items that declare a link to one of their own set that declares, by itself
            or so too, one to the other set: they have a link through that.
    """

    links: tuple[TraceLink, ...]
    untraced_sources: tuple[TraceItem, ...]
    untraced_targets: tuple[TraceItem, ...]
    threshold: float
    related: bool = True
    lost: tuple[tuple[TraceItem, str], ...] = ()
    withdrawn_sources: tuple[TraceItem, ...] = ()
    withdrawn_targets: tuple[TraceItem, ...] = ()
    copies: tuple[TraceItem, ...] = ()
    refining_sources: tuple[TraceItem, ...] = ()
    refining_targets: tuple[TraceItem, ...] = ()


def trace(
    sources: Sequence[TraceItem],
    targets: Sequence[TraceItem],
    propose: Proposer,
    decided: Mapping[tuple[str, str], bool] | None = None,
) -> Trace:
    """Link two sets: what they declare, what a person decided, then what is proposed.

    Args:
        sources: the first set.
        targets: the second.
        propose: rates pairs.
        decided: links by ids that a person accepted (True) or rejected (False); accepted ones count as declared.
    """
    decided = decided or {}
    stated = _Declared(sources, targets)
    sources, targets = map(stated.without_asides, (sources, targets))
    withdrawn = [tuple(each for each in side if is_withdrawn(each)) for side in (sources, targets)]
    copies = _copies(sources, targets)
    gone = ({each.id for each in withdrawn[0]}, {each.id for each in (*withdrawn[1], *copies)})
    sources, targets = (
        [each for each in side if each.id not in left] for side, left in zip((sources, targets), gone, strict=True)
    )
    declared = {pair for pair in stated.meant if decided.get(pair, True)}
    declared |= {pair for pair, accepted in decided.items() if accepted}
    pairs, threshold, related = propose([each.words for each in sources], [each.words for each in targets], _UNCERTAIN)
    denied = stated.denied - declared
    proposed = {(sources[one].id, targets[other].id): share for one, other, share in pairs}
    proposed = {pair: share for pair, share in proposed.items() if pair not in denied}
    by_id = ({each.id: each for each in sources}, {each.id: each for each in targets})
    witness = _Witness([*sources, *targets])
    found: list[TraceLink] = []
    for one, other in check_each(sorted(declared | proposed.keys())):
        if one not in by_id[0] or other not in by_id[1] or decided.get((one, other)) is False:
            continue
        share = 1.0 if (one, other) in declared else proposed[one, other]
        likely = Verdict.LIKELY if share >= threshold else Verdict.UNCERTAIN
        verdict = Verdict.DECLARED if (one, other) in declared else likely
        pair = (by_id[0][one], by_id[1][other])
        found.append(TraceLink(*pair, verdict, share, witness.evidence(*pair)))
    order = {each.id: place for place, each in enumerate(sources)}
    found.sort(key=lambda link: (order[link.source.id], -link.probability))
    sure = [link for link in found if link.verdict in {Verdict.DECLARED, Verdict.LIKELY}]
    begun, ended = {link.source.id for link in sure}, {link.target.id for link in sure}
    refining = (stated.refining(0, sources, begun), stated.refining(1, targets, ended))
    begun |= {each.id for each in refining[0]}
    ended |= {each.id for each in refining[1]}
    return Trace(
        tuple(found),
        tuple(each for each in sources if each.id not in begun),
        tuple(each for each in targets if each.id not in ended),
        threshold,
        related or bool(declared),
        tuple(stated.lost),
        withdrawn[0],
        withdrawn[1],
        copies,
        *refining,
    )


def _copies(sources: Sequence[TraceItem], targets: Sequence[TraceItem]) -> tuple[TraceItem, ...]:
    """List what of the second set quotes items of the first; none where most ids are the same: of another edition."""
    known = {each.name or each.id: _said(each) for each in sources}
    found = tuple(each for each in targets if each.text and known.get(each.name or each.id) == _said(each))
    return found if len(found) < _OF_AN_EDITION * len(targets) else ()


def _said(item: TraceItem) -> list[str]:
    """List the words of an item without its own id, to tell whether another says the same."""
    own = item.name or item.id
    place = item.text.find(own) if own else -1
    is_led = place >= 0 and _WORD.search(item.text[:place]) is None
    return _WORD.findall((item.text[place + len(own) :] if is_led else item.text).lower())


def is_withdrawn(item: TraceItem) -> bool:
    """Tell whether an item says that it holds no longer: by its state, its words, or what stands with it."""
    return (
        any(is_state_gone(name, value) for name, value in item.attributes.items())
        or is_said_gone(item.text, item.name or item.id)
        or is_line_gone(item.beside, item.text)
    )


class _Declared:
    """Find the links that items declare: in lists of links, in words, and in tables that name items of both sets."""

    def __init__(self, sources: Sequence[TraceItem], targets: Sequence[TraceItem]) -> None:
        self.meant: set[tuple[str, str]] = set()
        self.denied: set[tuple[str, str]] = set()
        self.lost: list[tuple[TraceItem, str]] = []
        self._listing: tuple[set[str], set[str]] = (set(), set())  # what lists links to the other set
        self._inside: dict[tuple[int, str], set[str]] = {}  # by side and id, what it lists of its own set
        self._sides = (sources, targets)
        self._known = (_by_name(sources), _by_name(targets))
        self._names = ItemNames(self._known)
        for side in (0, 1):
            own = _Cells(self._sides[side], self._known[side])
            for each in check_each(self._sides[side]):
                self._take(each, side, own)

    def _take(self, item: TraceItem, side: int, own: _Cells) -> None:
        prose, tables = _parted(item.words)
        for table in tables:
            rows = list(map(cell_texts, table))
            said = related(rows, own.named_in)
            relates = {name: self._names.in_text("\n".join(lines), 1 - side) for name, lines in said.items()}
            if any(name != item.id and found.meant for name, found in relates.items()):
                for name, found in relates.items():
                    self._link(side, name, found)
            else:
                prose += [*table, ""]
        own_lines: list[str] = []
        for line in (*prose, *item.beside.splitlines()):
            owners, rest = self._names.opening(line, side)
            if owners <= {item.id}:
                own_lines.append(line)
            else:
                found = self._names.in_text(rest, 1 - side)
                for owner in owners:
                    self._link(side, owner, found)
        own_names = {item.id, item.name}
        stated = [said for each in item.attributes.items() if (said := self._stated(*each, 1 - side))]
        found = self._names.in_text(" |\n".join(("\n".join(own_lines), *stated)), 1 - side)
        listed = [(link, self._names.in_list(link, 1 - side)) for link in item.links]
        if any(ids for _, ids in listed):
            self._listing[side].add(item.id)
        self._inside[side, item.id] = set[str]().union(*(self._names.in_list(link, side) for link in item.links))
        meant = (found.meant - own_names).union(*(ids for _, ids in listed))
        self._link(side, item.id, NamedItems(meant, found.denied - own_names))
        # "SYS-3, 5" and "SYS-12a, b" in parts, unless all are numbers
        goes_on = [link for link in item.links if link.isdecimal() or len(link) == 1]
        skipped = goes_on if len(goes_on) < len(item.links) else []
        self.lost += [
            (item, link)
            for link, ids in listed
            if not (ids or link in skipped or _NO_LINK.fullmatch(link) or self._names.in_list(link, side))
            and not self._names.in_text(link, 1 - side).denied
        ]

    def without_asides(self, side: Sequence[TraceItem]) -> Sequence[TraceItem]:
        """Leave out what obliges nobody, unless a link names it."""
        named = {name for pair in self.meant for name in pair}
        return [each for each in side if not each.informative or each.id in named]

    def refining(self, side: int, items: Sequence[TraceItem], linked: set[str]) -> tuple[TraceItem, ...]:
        """List the items without a link that have one through an item of their own set that they list."""
        reached = self._listing[side] & linked
        while more := {each.id for each in items if each.id not in reached and self._inside[side, each.id] & reached}:
            reached |= more
        return tuple(each for each in items if each.id in reached - linked)

    def _stated(self, name: str, value: str, side: int) -> str:
        """Say an attribute with its name, "Not covered: SYS-3"; one that is called as an item says it where crossed."""
        if not self._names.in_text(name, side).meant:
            return f"{name}: {value}"
        return name if is_crossed(value) else value

    def _link(self, side: int, name: str, found: NamedItems) -> None:
        for pairs, others in ((self.meant, found.meant), (self.denied, found.denied)):
            pairs.update((other, name) if side else (name, other) for other in others)


class _Cells:
    """Tell which items of a set a cell of a table names that holds nothing else: by id, title, or both."""

    def __init__(self, items: Sequence[TraceItem], ids: Mapping[str, str]) -> None:
        ends = Counter(each.rpartition("/")[2] for each in ids)
        titles = Counter(_plain(each.title) for each in items if each.title)
        self._known = {_plain(each.title): each.id for each in items if titles[_plain(each.title)] == 1}
        self._known |= {_plain(f"{each.id} {each.title}"): each.id for each in items}
        self._known |= {end: one for name, one in ids.items() if ends[end := name.rpartition("/")[2]] == 1}
        self._known |= ids

    def named_in(self, cell: str) -> list[str]:
        whole = self._known.get(_plain(cell)) or self._known.get(cell)
        if whole is not None:
            return [whole]
        found = [self._known.get(each) or self._known.get(_plain(each)) for each in _BETWEEN.split(cell) if each]
        return [each for each in found if each is not None] if found and all(found) else []


def _plain(words: str) -> str:
    return " ".join(_CLAUSE_WORD.sub("", words.strip(" *_`[]()"), count=1).casefold().split())


def _parted(words: str) -> tuple[list[str], list[list[str]]]:
    """Part the rows of tables from other lines; rules below heads are left out."""
    prose: list[str] = []
    tables: list[list[str]] = []
    is_behind = False
    for line in words.splitlines():
        if not is_row(line):
            prose.append(line)
        elif not is_behind:
            tables.append([line])
        elif not _RULE.fullmatch(line):
            tables[-1].append(line)
        is_behind = is_row(line)
    return prose, tables


def _by_name(items: Sequence[TraceItem]) -> dict[str, str]:
    """Map ids, and names that one item alone has, to ids."""
    counts = Counter(each.name for each in items)
    return {each.name: each.id for each in items if each.name and counts[each.name] == 1} | {
        each.id: each.id for each in items
    }


# ---- evidence


class _Witness:
    """Find what speaks for links: weighs words, the rarer among the items, the more; keeps sentences for the next.

    Words of grammar and of force, and those that most items have, speak for none.
    """

    def __init__(self, items: Sequence[TraceItem]) -> None:
        frequency = Counter(
            word for each in check_each(items) for word in {found.lower() for found in _WORD.findall(each.words)}
        )
        sample = "\n".join(each.words for each in items[:_SAMPLE])
        silent = FUNCTION_WORDS.get(language_of(sample), FUNCTION_WORDS["en"])
        most = len(items) / 2 if len(items) >= _ENOUGH else len(items)
        self._convention = detect_convention(sample)
        self._weights = {
            word: math.log((len(items) + 1) / times)
            for word, times in frequency.items()
            if times <= most and word not in silent
        }
        self._cache: dict[int, list[tuple[str, dict[str, str]]]] = {}
        self._words = 0

    def evidence(self, source: TraceItem, target: TraceItem) -> Evidence:
        """Choose the two sentences that share the weightiest words; stems stand for words that differ in their ends."""
        ours, theirs = self._sentences(source), self._sentences(target)
        if not ours or not theirs:
            return Evidence(ours[0][0] if ours else "", theirs[0][0] if theirs else "", ())
        best, pair = -1.0, (ours[0], theirs[0])
        for one in ours:
            for other in theirs:
                shared = one[1].keys() & other[1].keys()
                likeness = sum(self._weights[one[1][stem].lower()] for stem in shared)
                likeness /= 1 + math.log(1 + len(one[1]) + len(other[1]))
                if likeness > best:
                    best, pair = likeness, (one, other)
        (here, ours_by), (there, theirs_by) = pair
        forced = self._forced(here) | self._forced(there)
        words = sorted(
            {ours_by[stem] for stem in ours_by.keys() & theirs_by.keys() if ours_by[stem].lower() not in forced},
            key=lambda word: (-self._weights[word.lower()], word),
        )
        return Evidence(here, there, tuple(words[:_MOST_WORDS]))

    def _forced(self, sentence: str) -> set[str]:
        """Return the words that give a sentence its force: what two demands have in common anyhow."""
        force = force_of(sentence, self._convention)
        return set() if force is None else {word.lower() for word in _WORD.findall(sentence[force.start : force.end])}

    def _sentences(self, item: TraceItem) -> list[tuple[str, dict[str, str]]]:
        """Cut an item's words into sentences, each a part of it word for word, none overlong, with words by stem."""
        sentences = self._cache.get(id(item))
        if sentences is None:
            texts = [span.of(item.words)[:_LONGEST] for span in sentence_spans(item.words)][:_MOST_SENTENCES]
            sentences = [(text, self._stems(text)) for text in texts]
            self._words += sum(len(words) for _, words in sentences)
            if self._words > _MOST_CACHED:
                self._cache.clear()
                self._words = sum(len(words) for _, words in sentences)
            self._cache[id(item)] = sentences
        return sentences

    def _stems(self, text: str) -> dict[str, str]:
        # a sentence that is cut may end within a word, which then stands nowhere
        return {_stem(word): word for word in _WORD.findall(text) if word.lower() in self._weights}


def _stem(word: str) -> str:
    lowered = word.lower()
    return lowered if len(lowered) <= 4 else lowered[: max(4, len(lowered) - 2)]
