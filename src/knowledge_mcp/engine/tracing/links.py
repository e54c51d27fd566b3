"""Links between two sets of items: declared ones, proposed ones with a probability, and what has none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.support.checkpoints import check_each

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
_CODE = re.compile(r"(?=\S{0,40}[\d_])(?=\S{0,40}[^\W\d])\w{1,60}(?:[.:/-]\w{1,60}){0,20}")
_JOINED = re.compile(r"[:/]")
_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d{1,9})", re.DOTALL)
_UP_TO = re.compile(
    r"[\])]?\s{0,3}(?:to|through|thru|bis|à|a|\.{2,3}|[…–—-])\s{0,3}[\[(]?(?P<stem>[^\W\d][\w.:/-]{0,60}?)?(?P<last>\d{1,9})(?!\w)"
)
"""What makes a range of the code before it: "REQ-1 to REQ-5", "REQ-1..5"."""
_MEETS = (
    r"(?:cover|address|implement|satisf|fulfil|meet|met\b|trace|verif|test|appl|part\b|deriv|support|consider"
    r"|abgedeckt|erfüll|umgesetzt|geprüft|behandelt|Teil\b|couvert|satisfai|réalis|vérifi|cubiert|cumpl|verific)\w{0,12}"
)
"""What an item does to another that it meets or tests; denied, the two belong apart."""
_NOT = r"(?:\b(?:not|never|nicht|pas|no)|n['’]t)\s+(?!only\b|merely\b|just\b|nur\b|seulement\b|sólo\b|solo\b)"
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:unlike|instead\s+of|rather\s+than|other\s+than|in\s+contrast\s+to|as\s+opposed\s+to|contrary\s+to|except"
    r"|excluding|(?:differs?|deviat\w{1,4})\s+from|anders\s+als|statt|anstelle|im\s+Gegensatz\s+zu|abweichend\s+von|außer"
    r"|contrairement\s+[àa]|au\s+lieu\s+de|sauf|hormis|a\s+diferencia\s+de|en\s+lugar\s+de|excepto|salvo)\b"
    rf"|{_NOT}(?:\w{{1,12}}\s+){{0,2}}{_MEETS})"
    r"(?:\s+[^\W\d_]{1,14}){0,3}\s{0,3}[:(\[]?\s{0,3}"
    r"(?:[\w.:/-]{0,39}\d\s{0,3}(?:,|\b(?:and|or|und|oder|et|ou|y|o)\b)\s{0,3}){0,4}\Z",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(
    r"[\])]?\s{0,3}(?:[:,–-]\s{0,3})?"
    r"(?:(?:is|are|was|were|has|have|had|been|does|do|did|wird|werden|wurde|wurden|ist|sind|est|sont|n['’]est|se|fue|yet)\s+){0,2}"
    rf"{_NOT}(?:\w{{1,12}}\s+){{0,2}}{_MEETS}",
    re.IGNORECASE,
)
_NEAR = 100
"""Characters before a code that may say that it is not met."""
_LONGEST_RANGE = 1000
"""Items that a range stands for at most; longer ones are no range of ids."""


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
    """

    links: tuple[TraceLink, ...]
    untraced_sources: tuple[TraceItem, ...]
    untraced_targets: tuple[TraceItem, ...]
    threshold: float
    related: bool = True
    lost: tuple[tuple[TraceItem, str], ...] = ()


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
    linked, denied = _declared_links(sources, targets)
    declared = {pair for pair in linked if decided.get(pair, True)}
    declared |= {pair for pair, accepted in decided.items() if accepted}
    pairs, threshold, related = propose([each.words for each in sources], [each.words for each in targets], _UNCERTAIN)
    denied -= declared
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
    return Trace(
        tuple(found),
        tuple(each for each in sources if each.id not in begun),
        tuple(each for each in targets if each.id not in ended),
        threshold,
        related or bool(declared),
        _lost_links(sources, targets),
    )


def _declared_links(
    sources: Sequence[TraceItem], targets: Sequence[TraceItem]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the links that the items declare, in lists and in their text, and those that their text rules out."""
    back, there = _by_name(sources), _by_name(targets)
    declared: set[tuple[str, str]] = set()
    denied: set[tuple[str, str]] = set()
    for each in check_each(sources):
        for found, names in zip((declared, denied), _named_by(each, there), strict=True):
            found.update((each.id, there[name]) for name in names)
    for each in check_each(targets):
        for found, names in zip((declared, denied), _named_by(each, back), strict=True):
            found.update((back[name], each.id) for name in names)
    return declared, denied


def _by_name(items: Sequence[TraceItem]) -> dict[str, str]:
    """Map ids, and names that one item alone has, to ids."""
    counts = Counter(each.name for each in items)
    return {each.name: each.id for each in items if each.name and counts[each.name] == 1} | {
        each.id: each.id for each in items
    }


def _named_by(item: TraceItem, known: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return what an item is linked with by its own words and its list of links, and what its words say it is not."""
    said = "\n".join((item.words, item.beside, *item.attributes.values()))
    meant, denied = names_in(said, known)
    own = {item.id, item.name}
    return (meant - own).union(*(_leads_to(link, known) for link in item.links)), denied - own


def _leads_to(link: str, known: Container[str]) -> set[str]:
    return {link} if link in known else names_in(link, known)[0]


def names_in(text: str, known: Container[str]) -> tuple[set[str], set[str]]:
    """Return the ids that a text names, those in a range too; "REQ-7/REQ-8" and "REQ-7/8" are two.

    Those that it names as not met ("unlike REQ-3", "REQ-3 is not covered") come second.
    """
    meant: set[str] = set()
    denied: set[str] = set()
    for match in _CODE.finditer(text):
        if found := {*_ids_at(match, text, known)}:
            (denied if _is_denied(match, text) else meant).update(found)
    return meant, denied


def _is_denied(match: re.Match[str], text: str) -> bool:
    near = text[max(0, match.start() - _NEAR) : match.start()]
    return bool(_DENIED_BEFORE.search(near) or _DENIED_BEHIND.match(text, match.end()))


def _ids_at(match: re.Match[str], text: str, known: Container[str]) -> Iterator[str]:
    whole = match[0]
    if whole in known:
        yield whole
    else:
        first, *others = _JOINED.split(whole)
        stem = numbered["stem"] if (numbered := _NUMBERED.fullmatch(first)) else ""
        parts = (first, *others, *(stem + each for each in others))
        yield from (each for each in parts if each in known and _CODE.fullmatch(each))  # "1/h" does not name item 1
    yield from (each for each in _range_behind(match, text) if each in known)


def _range_behind(match: re.Match[str], text: str) -> Iterator[str]:
    """Yield the ids behind the first one of a range."""
    first = _NUMBERED.fullmatch(match[0])
    last = _UP_TO.match(text, match.end()) if first is not None else None
    if first is None or last is None or last["stem"] not in {None, first["stem"]}:
        return
    begin, end, width = int(first["number"]), int(last["last"]), len(first["number"])
    if begin < end <= begin + _LONGEST_RANGE:
        yield from (f"{first['stem']}{each:0{width}d}" for each in range(begin + 1, end + 1))


def _lost_links(sources: Sequence[TraceItem], targets: Sequence[TraceItem]) -> tuple[tuple[TraceItem, str], ...]:
    known = _by_name(sources).keys() | _by_name(targets).keys()
    return tuple((each, name) for each in (*sources, *targets) for name in each.links if not _leads_to(name, known))


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
