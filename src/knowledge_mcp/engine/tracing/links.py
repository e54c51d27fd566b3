"""Links between two sets of items: declared ones, proposed ones with a probability, and the items without any."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from knowledge_mcp.engine.core.designations import Designation
from knowledge_mcp.engine.tracing.applied import AppliedClauses
from knowledge_mcp.engine.tracing.id_mentions import ItemNames, NamedItems
from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.identifiers import identifier_key
from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.language.requirements.denied import has_withdrawn_text, is_line_gone, is_state_gone
from knowledge_mcp.language.requirements.matrices import is_crossed, related
from knowledge_mcp.language.requirements.mentions import is_aside
from knowledge_mcp.language.sentences import TABLE_RULE, cell_texts, is_row, sentence_spans
from knowledge_mcp.support.checkpoints import check_each

_OF_AN_EDITION = 0.75
"""Minimum share of items that occur word for word in the other set for it to be another edition of the document."""
_UNCERTAIN = 0.5
"""Minimum share of the threshold's probability for a pair to be shown as uncertain."""
_MOST_WORDS = 8
_LONGEST = 400
_MOST_SENTENCES = 200
_MOST_CACHED = 1_000_000
"""Words of sentences held at once: about 100 MB."""
_ENOUGH = 20
"""Minimum items for ignoring a word that more than half of them have; of three, two may be the link."""
_SAMPLE = 200
"""Number of items used to detect the language."""
_WORD = re.compile(r"[^\W_]+(?:(?:[-'’]|(?<=\d)[.,](?=\d))[^\W_]+)*")
"""A word, or a number as it is measured: "1,3"."""
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=(?:\d{1,2}|\d{4,20})\Z)")
"""A comma before three digits may separate thousands."""
_NO_LINK = re.compile(
    r"\W*+(?:(?:none|n/?a|nil|tb[dc]|derived|not applicable|keine?|entfällt|aucune?|ningun[oa])\W*+)?", re.IGNORECASE
)
"""What an empty list of links contains."""
_BETWEEN = re.compile(r"\s{0,3}[,;\n&]\s{0,3}|\s(?=\S{0,40}\d)")
_CLAUSE_WORD = re.compile(r"(?:clause|section|chapter|sect?\.|§|Abschnitt|Kapitel|Kap\.)\s*", re.IGNORECASE)


_TEST_CASE, _RESULT = "test case", "Result"
"""The kind of the items of a test report, and their attribute with the result."""
_PASSED = frozenset({"passed", "success", ""})


class Verdict(StrEnum):
    """How certain a link is; an item is covered by declared and likely links only.

    One that is mentioned is named without a claim that it is met, tested or refined: "see SYS-4".
    """

    DECLARED = "declared"
    LIKELY = "likely"
    MENTIONED = "mentioned"
    UNCERTAIN = "uncertain"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One item at an end of links.

    Attributes:
        id: unique in its set.
        title: its heading; may be empty.
        text: its text.
        citation: its location: file and line, page, or the set's name.
        links: ids of other items to which it declares links.
        attributes: its other attributes in the file, by name.
        place: number of its clause, or its level, if known.
        kind: its type in its tool.
        link_kinds: the types of its links there, in the order of `links`; empty if unknown.
        name: its id within its document, used by links, if `id` starts with the document.
        beside: the text next to it in its document, which may name items of the other set: "Parent: SYS-3".
        informative: its file says that it is not binding, as a text between requirements.
        designations: of its document.
        is_file: its text is that of a whole file, line by line.
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
    designations: tuple[Designation, ...] = ()
    is_file: bool = False

    def cite(self, words: str) -> str:
        """Cite the place of some of its words: in a file also their lines."""
        place = self.text.find(words) if self.is_file and words else -1
        if place < 0:
            return self.citation
        first, more = self.text.count("\n", 0, place) + 1, words.count("\n")
        return f"{self.citation}:{first}-{first + more}" if more else f"{self.citation}:{first}"

    @property
    def label(self) -> str:
        """The label for people: its id, or its name followed by the id if the id is for programs."""
        is_same = self.id.endswith(self.name) or identifier_key(self.id) == identifier_key(self.name)
        return self.id if is_same else f"{self.name} ({self.id})"

    @property
    def words(self) -> str:
        """Title and text, without the title if the text starts with it."""
        return self.text if self.text.startswith(self.title) else f"{self.title}\n{self.text}"


def own_ids(ids: Iterable[str]) -> list[str]:
    """Make ids unique: a number is appended if several are equal, or one is empty."""
    listed = list(ids)
    counts, seen = Counter(listed), Counter[str]()
    found: list[str] = []
    for each in listed:
        seen[each] += 1
        found.append(each if each and counts[each] == 1 else f"{each}#{seen[each]}")
    return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a link: a sentence of each item, word for word, and the words that they share.

    If one item only mentions the other, its sentence is the one that does, and is given for the words too.
    """

    from_text: str
    to_text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceLink:
    """A link between two items, with its verdict, probability and evidence."""

    source: TraceItem
    target: TraceItem
    verdict: Verdict
    probability: float
    evidence: Evidence

    @property
    def citations(self) -> tuple[str, str]:
        """The places of the evidence in both items."""
        return self.source.cite(self.evidence.from_text), self.target.cite(self.evidence.to_text)


class Proposer(Protocol):
    """Rates all pairs of two lists of texts."""

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[Sequence[tuple[int, int, float]], float, bool]:
        """Return the pairs by index with their probability, best first, and the probability threshold.

        Pairs below `least` times the threshold are left out. The last value is whether the two lists are related at
        all.
        """
        ...


@dataclass(frozen=True, slots=True)
class Trace:
    """The links, each item's best first, and the items of both sets without a declared or likely one.

    Attributes:
        links: in the order of the first set.
        untraced_sources: of the first set.
        untraced_targets: of the second.
        threshold: minimum probability of a likely proposed link.
        related: False if the two sets have almost nothing in common; proposed links are then meaningless.
        lost: items with their declared links that match no item of either set, or several.
        withdrawn_sources, withdrawn_targets: items that say that they are withdrawn ("Status: Rejected"); they are
        neither linked nor missing.
        copies: items of the second set that quote one of the first, by its id and word for word; they meet nothing.
        outdated: declared links, or those that a person accepted, of a withdrawn item and one that is not.
        unproven: items of the first set that only test cases without success are linked to, each with their results.
        refining_sources, refining_targets: items that declare a link to one of their own set that declares, directly or
        in the same way, one to the other set; they are linked through it.
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
    outdated: tuple[tuple[TraceItem, TraceItem], ...] = ()
    unproven: tuple[tuple[TraceItem, str], ...] = ()


def trace(
    sources: Sequence[TraceItem],
    targets: Sequence[TraceItem],
    propose: Proposer,
    decided: Mapping[tuple[str, str], bool] | None = None,
) -> Trace:
    """Link two sets: by declared links, by a person's decisions, then by proposals.

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
    declared = {pair for pair in stated.meant if decided.get(pair, True)}
    declared |= {pair for pair, accepted in decided.items() if accepted}
    outdated = _outdated(declared, sources, targets, withdrawn)
    sources, targets = (
        [each for each in side if each.id not in left] for side, left in zip((sources, targets), gone, strict=True)
    )
    pairs, threshold, related = propose([each.words for each in sources], [each.words for each in targets], _UNCERTAIN)
    mentions = {pair: sentence for pair, sentence in stated.mentions.items() if pair not in declared}
    denied = stated.denied - declared
    proposed = {(sources[one].id, targets[other].id): share for one, other, share in pairs}
    proposed = {pair: share for pair, share in proposed.items() if pair not in denied}
    found = _links((sources, targets), declared, proposed, mentions, threshold, decided)
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
        outdated,
        _unproven(sure),
    )


def _links(
    sides: tuple[Sequence[TraceItem], Sequence[TraceItem]],
    declared: AbstractSet[tuple[str, str]],
    proposed: Mapping[tuple[str, str], float],
    mentions: Mapping[tuple[str, str], tuple[int, str]],
    threshold: float,
    decided: Mapping[tuple[str, str], bool],
) -> list[TraceLink]:
    """Build the links that nobody rejected, each with its verdict and evidence."""
    by_id = tuple({each.id: each for each in side} for side in sides)
    witness = _LinkEvidence([*sides[0], *sides[1]])
    found: list[TraceLink] = []
    for named in check_each(sorted(declared | proposed.keys() | mentions.keys())):
        if named[0] not in by_id[0] or named[1] not in by_id[1] or decided.get(named) is False:
            continue
        share = 1.0 if named in declared else proposed.get(named, 0.0)
        doubtful = Verdict.MENTIONED if named in mentions else Verdict.UNCERTAIN
        likely = Verdict.LIKELY if named in proposed and share >= threshold else doubtful
        verdict = Verdict.DECLARED if named in declared else likely
        pair = (by_id[0][named[0]], by_id[1][named[1]])
        evidence = witness.evidence(*pair)
        if verdict is Verdict.MENTIONED:
            side, sentence = mentions[named]
            evidence = replace(evidence, words=(sentence,), **{"to_text" if side else "from_text": sentence})
        found.append(TraceLink(*pair, verdict, share, evidence))
    return found


def _outdated(
    declared: AbstractSet[tuple[str, str]],
    sources: Sequence[TraceItem],
    targets: Sequence[TraceItem],
    withdrawn: Sequence[Sequence[TraceItem]],
) -> tuple[tuple[TraceItem, TraceItem], ...]:
    """List the declared links of which one end is withdrawn."""
    ones, others = {each.id: each for each in sources}, {each.id: each for each in targets}
    return tuple(
        (ones[one], others[other])
        for one, other in sorted(declared)
        if one in ones and other in others and (ones[one] in withdrawn[0]) is not (others[other] in withdrawn[1])
    )


def _unproven(links: Sequence[TraceLink]) -> tuple[tuple[TraceItem, str], ...]:
    """List the items that only test cases are linked to, none of which passed, with their results."""
    items = {link.source.id: link.source for link in links}
    results: dict[str, set[str]] = {}
    for link in links:
        result = link.target.attributes.get(_RESULT, "") if link.target.kind == _TEST_CASE else ""
        results.setdefault(link.source.id, set()).add(result)
    return tuple((items[one], ", ".join(sorted(found))) for one, found in results.items() if not found & _PASSED)


def _copies(sources: Sequence[TraceItem], targets: Sequence[TraceItem]) -> tuple[TraceItem, ...]:
    """List items of the second set that quote items of the first; none if most do, because it is another edition."""
    known = {each.name or each.id: _words_without_id(each) for each in sources}
    found = tuple(each for each in targets if each.text and known.get(each.name or each.id) == _words_without_id(each))
    return found if len(found) < _OF_AN_EDITION * len(targets) else ()


def _words_without_id(item: TraceItem) -> list[str]:
    """List the words of an item without its own id, for comparison with others."""
    own = item.name or item.id
    place = item.text.find(own) if own else -1
    is_led = place >= 0 and _WORD.search(item.text[:place]) is None
    return _WORD.findall((item.text[place + len(own) :] if is_led else item.text).lower())


def is_withdrawn(item: TraceItem) -> bool:
    """Return whether an item says that it is withdrawn: by its state, its text, or the text next to it."""
    return (
        any(is_state_gone(name, value) for name, value in item.attributes.items())
        or has_withdrawn_text(item.text, item.name or item.id)
        or is_line_gone(item.beside, item.text)
    )


class _Declared:
    """Finds the links that items declare: in lists of links, in text, and in tables that name items of both sets."""

    def __init__(self, sources: Sequence[TraceItem], targets: Sequence[TraceItem]) -> None:
        self.meant: set[tuple[str, str]] = set()
        self.denied: set[tuple[str, str]] = set()
        self.mentions: dict[tuple[str, str], tuple[int, str]] = {}  # the side that mentions the other, and its sentence
        self.lost: list[tuple[TraceItem, str]] = []
        self._listing: tuple[set[str], set[str]] = (set(), set())  # items that list links to the other set
        self._inside: dict[tuple[int, str], set[str]] = {}  # by side and id, the listed items of its own set
        self._sides = (sources, targets)
        self._known = (_by_name(sources), _by_name(targets))
        self._names = ItemNames(self._known)
        self._applied = tuple(
            AppliedClauses((each.designations, each.place or each.name or each.id, each.id) for each in side)
            for side in self._sides
        )
        for side in (0, 1):
            own = _Cells(self._sides[side], self._known[side])
            for each in check_each(self._sides[side]):
                self._take(each, side, own)

    def _take(self, item: TraceItem, side: int, own: _Cells) -> None:
        prose, tables = _parted(item.words)
        for table in tables:
            rows = list(map(cell_texts, table))
            by_name = related(rows, own.named_in)
            relates = {name: self._names.in_text("\n".join(lines), 1 - side) for name, lines in by_name.items()}
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
        typed = list(zip(item.links, item.link_kinds or [""] * len(item.links), strict=True))
        links = [link for link, kind in typed if not is_aside(kind)]
        stated = [text for each in item.attributes.items() if (text := self._stated(*each, 1 - side))]
        stated += [f"{kind}: {link}" for link, kind in typed if is_aside(kind)]
        found = self._names.in_text(" |\n".join(("\n".join(own_lines), *stated)), 1 - side)
        listed = [(link, self._names.in_list(link, 1 - side)) for link in links]
        if any(ids for _, ids in listed):
            self._listing[side].add(item.id)
        self._inside[side, item.id] = set[str]().union(*(self._names.in_list(link, side) for link in links))
        meant = (found.meant - own_names).union(*(ids for _, ids in listed))
        meant |= self._applied[1 - side].in_text("\n".join(own_lines))
        mentioned = {one: sentence for one, sentence in found.mentioned.items() if one not in own_names}
        self._link(side, item.id, NamedItems(meant, found.denied - own_names, mentioned))
        # the parts of "SYS-3, 5" and "SYS-12a, b", unless all are numbers
        parts = [link for link in links if link.isdecimal() or len(link) == 1]
        skipped = parts if len(parts) < len(links) else []
        self.lost += [
            (item, link)
            for link, ids in listed
            if not (ids or link in skipped or _NO_LINK.fullmatch(link) or self._names.in_list(link, side))
            and not self._names.in_text(link, 1 - side).mentioned
        ]

    def without_asides(self, side: Sequence[TraceItem]) -> Sequence[TraceItem]:
        """Leave out informative items, unless a link names them."""
        named = {name for pair in self.meant for name in pair}
        return [each for each in side if not each.informative or each.id in named]

    def refining(self, side: int, items: Sequence[TraceItem], linked: set[str]) -> tuple[TraceItem, ...]:
        """List the unlinked items that are linked through a listed item of their own set."""
        reached = self._listing[side] & linked
        while more := {each.id for each in items if each.id not in reached and self._inside[side, each.id] & reached}:
            reached |= more
        return tuple(each for each in items if each.id in reached - linked)

    def _stated(self, name: str, value: str, side: int) -> str:
        """Format an attribute as "Not covered: SYS-3"; if its name is an item, as the crossed name, or the value."""
        if not self._names.in_text(name, side).meant:
            return f"{name}: {value}"
        return name if is_crossed(value) else value

    def _link(self, side: int, name: str, found: NamedItems) -> None:
        for pairs, others in ((self.meant, found.meant), (self.denied, found.denied)):
            pairs.update((other, name) if side else (name, other) for other in others)
        for other, sentence in found.mentioned.items():
            self.mentions.setdefault((other, name) if side else (name, other), (side, sentence))


class _Cells:
    """Finds the items of a set that a table cell names if it contains nothing else: by id, title, or both."""

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
    """Separate table rows from other lines; rules below headers are left out."""
    prose: list[str] = []
    tables: list[list[str]] = []
    is_behind = False
    for line in words.splitlines():
        if not is_row(line):
            prose.append(line)
        elif not is_behind:
            tables.append([line])
        elif not TABLE_RULE.fullmatch(line):
            tables[-1].append(line)
        is_behind = is_row(line)
    return prose, tables


def _by_name(items: Sequence[TraceItem]) -> dict[str, str]:
    """Map ids, and unique names, to ids."""
    counts = Counter(each.name for each in items)
    return {each.name: each.id for each in items if each.name and counts[each.name] == 1} | {
        each.id: each.id for each in items
    }


# ---- evidence


class _LinkEvidence:
    """Finds the evidence for links: weights words by their rarity among the items, and caches sentences.

    Function words, words of force, single digits, and words that most items have are not evidence.
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
            if times <= most and word not in silent and not (len(word) == 1 and word.isdecimal())
        }
        self._cache: dict[int, list[tuple[str, dict[str, str]]]] = {}
        self._words = 0

    def evidence(self, source: TraceItem, target: TraceItem) -> Evidence:
        """Choose the two sentences that share the words with the greatest weight; words are compared by stems."""
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
        """Return the words that give a sentence its force, which two demands usually have in common."""
        force = force_of(sentence, self._convention)
        return set() if force is None else {word.lower() for word in _WORD.findall(sentence[force.start : force.end])}

    def _sentences(self, item: TraceItem) -> list[tuple[str, dict[str, str]]]:
        """Split an item's text into sentences, word for word and limited in length, with words by stem."""
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
        # a truncated sentence may end within a word, which then does not occur elsewhere
        return {_stem(word): word for word in _WORD.findall(text) if word.lower() in self._weights}


def _stem(word: str) -> str:
    """Return what forms of a word have in common; a number stays whole, with a full stop for a decimal comma."""
    lowered = word.lower()
    if lowered[0].isdecimal():
        return _DECIMAL_COMMA.sub(".", lowered)
    return lowered if len(lowered) <= 4 else lowered[: max(4, len(lowered) - 2)]
