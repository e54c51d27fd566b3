"""Pairs of editions that are made: a document, edited at random, with every edit written down.

Documents are made here, of six kinds (standard, protocol, law, tables, lists, German), or are real Markdown files.
Edits are of twelve kinds: force, number, words, a sentence joined with the next, dropped or put in, and clauses that
are renamed, dropped, put in, moved, split and merged.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

Edit = tuple[str, str, str]
"""Kind, what was, what is."""


@dataclass(slots=True)
class Made:
    """Hold a clause.

    Attributes:
        level, heading: as written; a number is put before the heading where the kind has numbers.
        text: its paragraphs; a row of a table and an item of a list are one each.
        was: old clauses that it came from, by their place.
        changes: of force and number inside, with what was and what is.
        is_stub: nothing but the word that it was withdrawn.
        is_annex: it is, or is below, an annex.
    """

    level: int
    heading: str
    text: list[str]
    was: tuple[int, ...] = ()
    changes: list[Edit] = field(default_factory=list[Edit])
    is_stub: bool = False
    is_annex: bool = False


@dataclass(frozen=True, slots=True)
class _Words:
    """Hold what sentences of a kind are made of; `{n}` is the noun of the clause."""

    nouns: tuple[str, ...]
    parts: tuple[str, ...]
    verbs: tuple[str, ...]
    things: tuple[str, ...]
    units: tuple[str, ...]
    forces: tuple[str, ...]
    obliging: tuple[str, ...]
    telling: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ENGLISH = _Words(
    _words("valve pump gate sensor panel motor brake cable filter switch alarm guard ladder hoist drum relay tank"),
    _words("housing cover seal bearing shaft bolt handle lamp plate hose frame spring lever coil lid rail base"),
    _words("withstand indicate limit prevent record isolate support protect monitor release"),
    _words("vibration overload leakage corrosion impact condensation dust heat noise wear radiation tampering"),
    _words("mm s V kg % dB Hz"),
    ("shall", "should", "may", "shall not", "should not"),
    ("The {n} {f} {v} {t} at the {p} up to {q} in {t} tests.",),
    ("The {p} of each {n} is kept free of {t} and {t}.",),
)
_PROTOCOL = _Words(
    _words("frame stream header token session cookie cache proxy window digest ticket channel query reply cursor"),
    _words("client server peer gateway sender receiver resolver relay"),
    _words("discard acknowledge forward reject repeat encrypt validate ignore"),
    _words("retransmission congestion truncation replay fragmentation expiry overflow negotiation"),
    _words("seconds octets ms bytes attempts"),
    ("MUST", "SHOULD", "MAY", "MUST NOT", "SHOULD NOT"),
    ("A {p} {f} {v} a {n} after {q} of {t}.", "If {t} lasts for {q}, the {p} {f} {v} each {n}, see Section 2."),
    ("Each {n} carries the {t} state of its {p}.", "The {n} is a unit that {p} and {p} exchange during {t}."),
)
_LAW = _Words(
    _words("licence permit register notice levy appeal inspection deposit tender grant vessel premises archive"),
    _words("authority holder applicant inspector council keeper purchaser tenant"),
    _words("submit publish suspend examine retain disclose renew certify"),
    _words("insolvency negligence transfer publication demolition pollution storage emergency"),
    _words("days months euro hectares copies"),
    ("shall", "may", "should", "shall not", "may not"),
    (
        "Where there is {t}, the {p} {f} {v} the {n} within {q}.",
        "The {p} {f} {v} any {n} of more than {q}, unless Article 3 provides otherwise.",
    ),
    ("A {n} means a document that the {p} issues in case of {t}.", "The {n} lapses upon {t} of the {p}."),
)
_GERMAN = _Words(
    _words("Ventil Tor Kabel Filter Relais Gehäuse Getriebe Geländer Fenster Lager Rohr Gerät Netzteil"),
    _words("Deckel Hebel Rahmen Griff Bolzen Schlauch Flansch Schalter Sockel Riegel"),
    _words("begrenzen anzeigen aufzeichnen sperren schützen überwachen melden abschalten"),
    _words("Vibration Überlast Leckage Korrosion Staub Hitze Lärm Verschleiß Strahlung Feuchte"),
    _words("mm s V kg % dB Hz Tage"),
    ("muss", "soll", "darf", "kann", "sollte"),
    ("Das {n} {f} am {p} eine {t} bis {q} bei {t} {v}.", "Bei {t} {f} jedes {n} nach {q} den {p} {v}."),
    ("Der {p} jedes Geräts bleibt frei von {t} und {t}.", "Das {n} ist gegen {t} am {p} gesichert."),
)
KINDS = {
    "standard": _ENGLISH,
    "protocol": _PROTOCOL,
    "law": _LAW,
    "tables": _ENGLISH,
    "lists": replace(_ENGLISH, obliging=("the {n} {f} {v} {t} at the {p} for {q};",)),
    "German": _GERMAN,
}
"""Kinds of documents that are made, with their words."""


def made_document(dice: random.Random, kind: str, clauses: int) -> list[Made]:
    """Make a document: chapters of one to six clauses, of two to six sentences each."""
    words = KINDS[kind]
    found = [Made(1, "General", [_sentence(dice, words, words.telling, dice.choice(words.nouns))])]
    left = 0
    while len(found) < clauses:
        noun = dice.choice(words.nouns)
        named = f"{noun.capitalize()} {dice.choice(words.parts)} {dice.choice(words.things)}"
        level = 2 if left else 1
        left = left - 1 if left else dice.randint(0, 6)
        found.append(Made(level, named, _text(dice, kind, noun)))
    for place, each in enumerate(found):
        each.was = (place,)
    return found


def _text(dice: random.Random, kind: str, noun: str) -> list[str]:
    words = KINDS[kind]
    sentences = [_any_sentence(dice, words, noun) for _ in range(dice.randint(2, 6))]
    if kind == "tables" and dice.random() < 0.5:
        rows = [
            f"| {dice.choice(words.parts)} | {_limit(dice, words)} | it {_sentence(dice, words, ('{f} {v}',), '')} |"
            for _ in range(dice.randint(2, 8))
        ]
        return [" ".join(sentences[:2]), "| part | limit | behaviour |", "|---|---|---|", *rows]
    if kind == "lists" and dice.random() < 0.7:
        items = [_sentence(dice, words, words.obliging, noun) for _ in range(dice.randint(2, 7))]
        return [f"The following holds for each {noun}:", *(f"- {each}" for each in items)]
    if kind == "law":
        return [f"({place}) {each}" for place, each in enumerate(sentences, 1)]
    cut = dice.randint(1, len(sentences) - 1)
    return [" ".join(sentences)] if dice.random() < 0.6 else [" ".join(sentences[:cut]), " ".join(sentences[cut:])]


def _any_sentence(dice: random.Random, words: _Words, noun: str) -> str:
    return _sentence(dice, words, words.telling if dice.random() < 0.4 else words.obliging, noun)


def _limit(dice: random.Random, words: _Words) -> str:
    return f"{dice.randint(2, 900)} {dice.choice(words.units)}"


def _sentence(dice: random.Random, words: _Words, patterns: Sequence[str], noun: str) -> str:
    choices = {"f": words.forces, "v": words.verbs, "t": words.things, "p": words.parts}

    def chosen(match: re.Match[str]) -> str:
        name = match[1]
        return noun if name == "n" else _limit(dice, words) if name == "q" else dice.choice(choices[name])

    return re.sub(r"\{(\w)\}", chosen, dice.choice(patterns))


# ---- real documents

_HEADING = re.compile(r"(#{1,6})\s+(.+)")


def read_document(path: Path) -> list[Made]:
    """Cut a Markdown file into clauses; what stands before its first heading is left out."""
    found: list[Made] = []
    fenced = False
    paragraph: list[str] = []
    for line in [*path.read_text().splitlines(), ""]:
        heading = None if fenced else _HEADING.fullmatch(line.strip())
        if (heading or not line.strip()) and not fenced:
            if paragraph and found:
                found[-1].text.append("\n".join(paragraph))
            paragraph = []
            if heading:
                found.append(Made(len(heading[1]), heading[2], [], (len(found),)))
            continue
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        paragraph.append(line)
    return found


# ---- edits

_FORCE = (
    r"(?:shall|should|may|must)(?: not)?|SHALL(?: NOT)?|SHOULD(?: NOT)?|MAY|MUST(?: NOT)?|muss|soll|sollte|darf|kann"
)
_FORCES = re.compile(rf"(?<= )(?:{_FORCE})(?= (?!not\b|NOT\b))")
_CAPITALS = re.compile(r"(?<= )(?:SHALL(?: NOT)?|SHOULD(?: NOT)?|MAY|MUST(?: NOT)?)(?= (?!NOT\b))")
_NUMBER = re.compile(r"(?<= )\d{1,4}(?= (?:[a-zäöü]{3,12}\b|%|mm\b|ms\b|s\b|V\b|kg\b|dB\b|Hz\b|Tage\b))")
_LONG_WORD = re.compile(r"(?<= )[a-zäöü]{6,}(?= )")
_PLACE = re.compile(
    r"(?:section|clause|article|table|figure|rfc|version|level|step|part|appendix|annex|example|note|chapter|http|tls|"
    r"draft|release|page|item|january|february|march|april|may|june|july|august|september|october|november|december)\.?\Z",
    re.IGNORECASE,
)
_NO_PROSE = ("```", "~~~", "    ", "<", "[", "{")
_SENTENCE_END = re.compile(r"(?<=[a-z]{3}[.;]) (?=[A-Z])")


def _same_force(word: str) -> str:
    return word.lower().replace("must", "shall").replace("sollte", "soll")


class _Editor:
    """Edit one document; each paragraph once at most."""

    def __init__(self, dice: random.Random, clauses: list[Made], fresh: Callable[[], Made]) -> None:
        self.dice, self.clauses, self.fresh = dice, clauses, fresh
        text = "\n".join(part for each in clauses for part in each.text)
        small = len(re.findall(r"\b(?:shall|must|should)\b", text))
        self.forces = _CAPITALS if len(_CAPITALS.findall(text)) > small else _FORCES
        self.known = sorted(set(self.forces.findall(text)))

    def leaves(self) -> list[int]:
        """List the clauses without others below."""
        after = [each.level for each in self.clauses[1:]] + [0]
        return [
            place
            for place, (each, level) in enumerate(zip(self.clauses, after, strict=True))
            if level <= each.level and place and each.level > 1 and each.text
        ]

    def inside(self, share: float) -> None:
        """Edit a share of the paragraphs."""
        ways = (self.force, self.force, self.number, self.number, self.words, self.joined, self.dropped, self.put_in)
        for clause in self.clauses:
            for place in reversed(range(len(clause.text))):
                if not clause.text[place].startswith(_NO_PROSE) and self.dice.random() < share:
                    self.dice.choice(ways)(clause, place)

    def force(self, clause: Made, place: int) -> None:
        found = list(self.forces.finditer(clause.text[place]))
        if found:
            match = self.dice.choice(found)
            others = [each for each in self.known if _same_force(each) != _same_force(match.group())]
            if others:
                after = self.dice.choice(others)
                self._put(clause, place, match.span(), after, ("force", match.group(), after))

    def number(self, clause: Made, place: int) -> None:
        text = clause.text[place]
        found = [each for each in _NUMBER.finditer(text) if not _PLACE.search(text[: each.start() - 1])]
        if found:
            match = self.dice.choice(found)
            after = str(int(match.group()) + self.dice.randint(1, 50))
            self._put(clause, place, match.span(), after, ("number", match.group(), after))

    def words(self, clause: Made, place: int) -> None:
        found = [each for each in _LONG_WORD.finditer(clause.text[place]) if not _FORCES.match(f" {each[0]} ", 1)]
        if found:
            self._put(clause, place, self.dice.choice(found).span(), self.dice.choice(("suitable", "external")), None)

    def joined(self, clause: Made, place: int) -> None:
        found = list(_SENTENCE_END.finditer(clause.text[place]))
        if found:
            at = self.dice.choice(found)
            text = clause.text[place]
            clause.text[place] = f"{text[: at.start() - 1]}, and {text[at.end()].lower()}{text[at.end() + 1 :]}"

    def dropped(self, clause: Made, place: int) -> None:
        text = clause.text[place]
        if text.startswith(("|", "-", "*", "(")) and len(clause.text) > 3:
            if not re.fullmatch(r"[|\s:-]+", text) and place and not re.match(r"\|[-: ]", text) and place != 1:
                del clause.text[place]
            return
        sentences = _SENTENCE_END.split(text)
        if len(sentences) > 1:
            del sentences[self.dice.randrange(len(sentences))]
            clause.text[place] = " ".join(sentences)

    def put_in(self, clause: Made, place: int) -> None:
        text = clause.text[place]
        fresh = _SENTENCE_END.split(self.dice.choice(self.fresh().text).lstrip("()-*0123456789| "))[0]
        is_prose = not text.startswith(("|", "-", "*", "(")) and not text.endswith(";")
        if is_prose and "|" not in fresh and re.search(r"[a-z]{3}\.\Z", fresh):  # else it would begin the next sentence
            sentences = _SENTENCE_END.split(text)
            sentences.insert(self.dice.randint(0, len(sentences)), fresh)
            clause.text[place] = " ".join(sentences)

    @staticmethod
    def _put(clause: Made, place: int, span: tuple[int, int], after: str, change: Edit | None) -> None:
        text = clause.text[place]
        clause.text[place] = text[: span[0]] + after + text[span[1] :]
        if change:
            clause.changes.append(change)

    def whole(self, share: float) -> None:
        """Rename, drop, put in, move, split and merge a share of the clauses each."""
        count = max(1, round(share * len(self.clauses)))
        for way in (self.renamed, self.gone, self.come, self.moved, self.split, self.merged):
            for _ in range(count):
                leaves = self.leaves()
                if len(leaves) > 3:
                    way(self.dice.choice(leaves))

    def renamed(self, place: int) -> None:
        words = self.clauses[place].heading.split()
        if len(words) > 1:
            words[-1] = self.dice.choice(("provisions", "details", "arrangements"))
            self.clauses[place].heading = " ".join(words)

    def gone(self, place: int) -> None:
        if self.clauses[place].was:
            del self.clauses[place]

    def come(self, place: int) -> None:
        fresh = self.fresh()
        self.clauses.insert(place, Made(self.clauses[place].level, fresh.heading, list(fresh.text)))

    def moved(self, place: int) -> None:
        clause = self.clauses.pop(place)
        others = [at for at in self.leaves() if self.clauses[at].level == clause.level]
        self.clauses.insert(self.dice.choice(others) if others else place, clause)

    def split(self, place: int) -> None:
        clause = self.clauses[place]
        half = len(clause.text) // 2
        if half and not clause.changes and not any(part.startswith(("|", "```", "-")) for part in clause.text):
            fresh = Made(clause.level, f"Further {self.fresh().heading}", clause.text[half:], clause.was)
            clause.text = clause.text[:half]
            self.clauses.insert(place + 1, fresh)

    def merged(self, place: int) -> None:
        one, other = self.clauses[place - 1], self.clauses[place]
        if one.level == other.level and one.was and other.was and set(one.was).isdisjoint(other.was) and one.text:
            one.text += other.text
            one.was += other.was
            one.changes += other.changes
            del self.clauses[place]


def edited(dice: random.Random, old: Sequence[Made], fresh: Callable[[], Made], share: float = 0.25) -> list[Made]:
    """Edit a document: `share` of its paragraphs, and a tenth of that of its clauses in each way."""
    clauses = [replace(each, text=list(each.text), changes=[]) for each in old]
    editor = _Editor(dice, clauses, fresh)
    editor.inside(share)
    editor.whole(share / 10)
    return editor.clauses


# ---- writing


def written(clauses: Sequence[Made], kind: str) -> tuple[str, dict[int, int]]:
    """Write a document as its kind is printed; with the line of each clause's heading."""
    lines = [] if kind == "real" else ["Standard", ""] if kind == "protocol" else ["# Standard", ""]
    places: dict[int, int] = {}
    for place, (each, number) in enumerate(zip(clauses, numbers(clauses, kind), strict=True)):
        places[place] = len(lines) + 1
        if kind == "protocol":
            lines += [f"{number} {each.heading}", ""]
            for part in each.text:
                lines += [*textwrap.wrap(part, 72, initial_indent="   ", subsequent_indent="   "), ""]
            continue
        mark = "#" * (each.level if kind == "real" else each.level + 1)
        lines += [f"{mark} {number} {each.heading}".replace("  ", " "), ""]
        for at, part in enumerate(each.text):
            goes_on = part[:1] in "|-" and each.text[at + 1 : at + 2] and each.text[at + 1][:1] == part[:1]
            lines += [*part.split("\n"), *([] if goes_on else [""])]
    return "\n".join(lines), places


def numbers(clauses: Sequence[Made], kind: str) -> Iterator[str]:
    """Yield the number of each clause as its kind is printed; annexes have letters."""
    counts = [0] * 7
    letter = ""
    for each in clauses:
        if each.is_annex and each.level == 1:
            letter = chr(ord(letter or "@") + 1)
            counts = [0] * 7
        counts[each.level] += 1
        counts[each.level + 1 :] = [0] * (6 - each.level)
        first = letter if each.is_annex else str(counts[1])
        dotted = ".".join([first, *map(str, counts[2 : each.level + 1])])
        if each.is_annex and each.level == 1:
            dotted = f"Annex {dotted}"
        yield "" if kind == "real" else f"{dotted}." if kind == "protocol" else dotted
