"""Terms clauses and glossaries made on the spot: entries, and the forms in which standards print them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Runs = list[tuple[str, str]]
"""Words and their face: "" plain, "b" bold, "i" italic."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one entry of a terms clause as an editor would write it.

    Attributes:
        terms: preferred terms, then admitted ones; deprecated apart.
        preferred: how many of `terms` are preferred, and thus bold.
        words: the definition; "" where the entry only says `see` another.
    """

    terms: tuple[str, ...]
    words: str
    preferred: int = 1
    deprecated: tuple[str, ...] = ()
    domain: str = ""
    notes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    example: str = ""
    source: str = ""
    see: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Say how a document prints its entries.

    Attributes:
        name: what the figures call it.
        layout: "entry" (ISO), "run-in" ("term: words"), "list" (term above its words), "columns" (side by side),
            "hanging" (term and words in one line, the rest indented), "index" (terms with pages: nothing to be found).
        alone: the number stands on a line of its own.
        prefix: what the entries' numbers begin with; "" for none.
        groups: entries stand below numbered group headings.
        bold: preferred terms are bold.
        spaced: free points between the parts of an entry.
        face: what it is set in: Helvetica, Times or Courier.
        heading: the clause's title.
        left: points of the left column, for "columns".
        headed: the columns have a head.
        bookmarks: "clauses" names the titles in the file's outline, "entries" also the numbers of entries.
        labels: how deprecated terms, notes, examples and sources are labelled.
    """

    name: str
    layout: str = "entry"
    alone: bool = True
    prefix: str = "3"
    groups: bool = False
    bold: bool = True
    spaced: float = 0.0
    face: str = "Helvetica"
    heading: str = "3 Terms and definitions"
    left: float = 110.0
    headed: bool = False
    bookmarks: str = ""
    labels: tuple[str, str, str, str] = ("DEPRECATED", "Note {} to entry", "EXAMPLE", "SOURCE")


_FRENCH = ("DÉCONSEILLÉ", "Note {} à l’article", "EXEMPLE", "SOURCE")
_GERMAN = ("VERALTET", "Anmerkung {} zum Begriff", "BEISPIEL", "QUELLE")
_SPANISH = ("DESACONSEJADO", "Nota {} a la entrada", "EJEMPLO", "FUENTE")
ELSEWHERE: dict[str, tuple[Form, ...]] = {
    "fr": (
        Form("ISO, French", heading="3 Termes et définitions", labels=_FRENCH),
        Form(
            "ISO, French, same line",
            alone=False,
            face="Times",
            heading="3 Termes, définitions et symboles",
            labels=_FRENCH,
        ),
        Form("run-in, French", "run-in", prefix="3", heading="3 Définitions"),
        Form("columns, French", "columns", prefix="", heading="Glossaire", bold=False),
    ),
    "de": (
        Form("ISO, German", heading="3 Begriffe", labels=_GERMAN),
        Form("ISO, German, same line", alone=False, face="Times", heading="3 Begriffe und Abkürzungen", labels=_GERMAN),
        Form("run-in, German", "run-in", prefix="3", heading="3 Definitionen"),
        Form("columns, German", "columns", prefix="", heading="Glossar", bold=False),
    ),
    "es": (
        Form("ISO, Spanish", heading="3 Términos y definiciones", labels=_SPANISH),
        Form(
            "ISO, Spanish, same line", alone=False, face="Times", heading="3 Términos y definiciones", labels=_SPANISH
        ),
        Form("run-in, Spanish", "run-in", prefix="3", heading="3 Definiciones"),
        Form("columns, Spanish", "columns", prefix="", heading="Glosario", bold=False),
    ),
}
"""Forms in other languages than English, by ISO 639-1 code."""

NUMBERED: tuple[Form, ...] = (
    Form("ISO"),
    Form("ISO, groups", groups=True),
    Form("ISO, Times, spaced", face="Times", spaced=5.0),
    Form("ISO, plain terms", bold=False),
    Form("ISO, same line", alone=False),
    Form("ISO, same line, groups", alone=False, groups=True, face="Times"),
    Form("annex", prefix="B.2", heading="B.2 Terms and definitions"),
    Form("IEV", prefix="112-01", heading="Vocabulary"),
    Form("ISO, bookmarks", bookmarks="clauses"),
    Form("ISO, all bookmarks", bookmarks="entries", groups=True),
    Form("typewriter", face="Courier", bold=False),
    Form("deep", prefix="2.3", groups=True, heading="2.3 Terms, definitions and abbreviated terms"),
)
PLAIN: tuple[Form, ...] = (
    Form("IEEE run-in", "run-in", prefix="3", heading="3 Definitions"),
    Form("ETSI run-in", "run-in", prefix="", heading="3.1 Terms", face="Times"),
    Form("definition list", "list", prefix="", heading="Glossary"),
    Form("columns", "columns", prefix="", heading="Glossary", bold=False),
    Form("columns, bold, wide", "columns", prefix="", heading="3 Terms and definitions", left=170, face="Times"),
    Form("columns, head", "columns", prefix="", heading="Appendix B Glossary", left=130, headed=True),
    Form("abbreviations", "columns", prefix="", heading="3.2 Abbreviated terms", bold=False),
    Form("abbreviations, bold", "columns", prefix="", heading="Acronyms and abbreviations", left=70, face="Times"),
    Form("hanging", "hanging", prefix="", heading="3 Terms and definitions"),
    Form("index", "index", prefix="", heading="Index"),
    Form("index of terms", "index", prefix="", heading="Alphabetical index of terms", face="Times"),
)

# ---- words ----------------------------------------------------------------------------------------------------------

_KINDS = "valve gauge relay ledger harbour filter bracket lattice beacon carrier sluice turbine archive token".split()
_MANNERS = "nested rolling shared primary idle remote graded sealed latent forward dual coarse lined paired".split()
_FIELDS = "acoustics logistics banking hydrology rail metering optics".split()
_VERBS = "holds returns measures guides limits records releases compares".split()
_THINGS = (
    "the charge of one cell;the flow between two basins;records that were approved;samples of the same lot;"
    "the load on its bearing;messages that wait for an answer;light of a single colour;goods without a label"
).split(";")
_ADDED = (
    "under the conditions of use that the maker states;for as long as the contract between the parties lasts;"
    "before they reach the next stage of the process and after they have left it;"
    "in accordance with a plan that the parties agreed beforehand;where no other means is at hand"
).split(";")


def made_entries(count: int, seed: int = 1) -> list[Entry]:
    """Make entries whose terms differ; every seventh or so has each of the rarer parts."""
    dice = random.Random(seed)
    names = [f"{manner} {kind}" for manner in _MANNERS for kind in _KINDS]
    dice.shuffle(names)
    made: list[Entry] = []
    for place, name in enumerate(names[:count]):
        made.append(_entry(dice, name, made[-1].terms[0] if place else "", place))
    return made


_PHRASES = {
    "fr": (
        "vanne jauge relais registre filtre support turbine balise".split(),
        "souple roulante primaire distante scellée latente double couplée".split(),
        "dispositif qui|partie qui|ensemble de règles qui|personne ou organisme qui".split("|"),
        "limite|mesure|conserve|libère|compare".split("|"),
        "le débit entre deux bassins|la charge d’une cellule|un même lot|les messages en attente".split("|"),
    ),
    "de": (
        "Ventil Messgerät Relais Register Filter Träger Turbine Anzeiger".split(),
        "Doppel Neben Haupt Fern Grob Fein Vor Nach".split(),
        "Gerät, das|Bauteil, das|Verfahren, das|Mittel, das".split("|"),
        "begrenzt|misst|aufbewahrt|freigibt|vergleicht".split("|"),
        "den Durchfluss zwischen zwei Becken|die Ladung einer Zelle|die Proben eines Loses|wartende Meldungen".split(
            "|"
        ),
    ),
    "es": (
        "válvula sonda baliza filtro soporte turbina registro aguja".split(),
        "flexible primaria remota sellada latente doble acoplada rodante".split(),
        "dispositivo que|parte que|conjunto de reglas que|persona u organismo que".split("|"),
        "limita|mide|conserva|libera|compara".split("|"),
        "el caudal entre dos depósitos|la carga de una celda|las muestras de un lote|los mensajes en espera".split("|"),
    ),
}
"""Kinds, manners, what opens a definition, verbs and their objects; German puts the verb at the end."""


def made_elsewhere(code: str, count: int, seed: int = 3) -> list[Entry]:
    """Make entries in French, German or Spanish."""
    dice = random.Random(seed)
    kinds, manners, openings, verbs, things = _PHRASES[code]
    german = code == "de"
    names = [f"{manner}{kind.lower()}" if german else f"{kind} {manner}" for kind in kinds for manner in manners]
    dice.shuffle(names)

    def said(lead: str) -> str:
        thing, verb = dice.choice(things), dice.choice(verbs)
        return f"{lead} {thing} {verb}" if german else f"{lead} {verb} {thing}"

    return [
        Entry(
            (name, *((f"{dice.choice(kinds)} {place}",) if dice.random() < 0.2 else ())),
            said(dice.choice(openings)),
            deprecated=(f"{dice.choice(kinds)} {place}b",) if dice.random() < 0.15 else (),
            notes=(f"{said(name)}.",) if dice.random() < 0.4 else (),
            example=f"{dice.choice(kinds)}, {dice.choice(kinds)}." if dice.random() < 0.25 else "",
            source=f"ISO {dice.randint(1000, 60000)}:2015, 3.{place + 1}" if dice.random() < 0.4 else "",
        )
        for place, name in enumerate(names[:count])
    ]


def made_abbreviations(count: int, seed: int = 2) -> list[Entry]:
    """Make abbreviations with what they stand for; of a third the letters do not tell."""
    dice = random.Random(seed)
    made: dict[str, Entry] = {}
    while len(made) < count:
        words = [dice.choice(_MANNERS), dice.choice(_FIELDS), dice.choice(_KINDS)]
        short = "".join(word[0] for word in words).upper()
        if dice.random() < 0.3:
            short = f"{words[0][0].upper()}{words[1][1]}{words[2][0].upper()}"
        made.setdefault(short, Entry((short,), " ".join(words)))
    return list(made.values())


def _entry(dice: random.Random, name: str, before: str, place: int) -> Entry:
    if before and place % 11 == 7:
        return Entry((name,), "", see=before)
    kind = name.rsplit(maxsplit=1)[-1]
    words = f"{dice.choice(('device', 'part', 'set of rules', 'person or body', 'property of a part'))} that "
    words += f"{dice.choice(_VERBS)} {dice.choice(_THINGS)}"
    if dice.random() < 0.6:
        words += f" {dice.choice(_ADDED)}"
    if before and dice.random() < 0.4:
        words = f"{before} (3.{place}) that {dice.choice(_VERBS)} {dice.choice(_THINGS)} {dice.choice(_ADDED)}"
    terms, preferred = [name], 1
    if dice.random() < 0.2:
        terms.append(f"{kind} of the {name.split(maxsplit=1)[0]} sort")
        preferred = dice.choice((1, 2))
    if dice.random() < 0.25:
        terms.append("".join(part[0] for part in name.split()).upper() + kind[1].upper())
    return Entry(
        tuple(terms),
        words,
        preferred,
        deprecated=(f"{name.split(maxsplit=1)[0]} thing",) if dice.random() < 0.15 else (),
        domain=dice.choice(_FIELDS) if dice.random() < 0.2 else "",
        notes=tuple(
            f"The {kind} {dice.choice(_VERBS)} {dice.choice(_THINGS)} {dice.choice(_ADDED)}."
            for _ in range(dice.choice((0, 0, 1, 2)))
        ),
        items=(f"{dice.choice(_THINGS)};", f"{dice.choice(_THINGS)}.") if dice.random() < 0.1 else (),
        example=f"A {kind} in a mill, a {dice.choice(_KINDS)} on a ship." if dice.random() < 0.25 else "",
        source=_source(dice, place) if dice.random() < 0.4 else "",
    )


def _source(dice: random.Random, place: int) -> str:
    changed = dice.choice(("", ", modified — The note has been left out."))
    return f"ISO {dice.randint(1000, 60000)}:2015, 3.{place + 1}{changed}"


# ---- parts of a document --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Hold one paragraph: its role ("title", "number", "term", "words", "note", "item", "text"), level and words."""

    role: str
    runs: Runs
    level: int = 0


_BEFORE = (
    "This document gives requirements for parts that are stored out of doors and are moved between sites by their "
    "owners. It applies to all parts whatever their size, and to the records that are kept about each of them."
)
_AFTER = (
    "The owner shall keep a record of each part. Records that cannot be read any more shall be written again within "
    "a year, and whoever writes them again shall sign them. Where a part is moved, its record goes with it: this is "
    "the duty of whoever moves it."
)


def _title(text: str, level: int) -> Part:
    return Part("title", [(text, "b")], level)


def parts_of(form: Form, entries: Sequence[Entry]) -> Iterable[Part]:
    """Yield the paragraphs of a document: clauses before the terms, the entries as the form has them, clauses after."""
    level = 2 if form.prefix.count(".") and not form.prefix.startswith("112") else 1
    if level == 1:
        yield _title("1 Scope", 1)
        yield Part("text", [(_BEFORE, "")])
        yield _title("2 Normative references", 1)
        yield Part("text", [("There are no normative references in this document.", "")])
    elif form.prefix[0].isdigit():
        yield _title("1 Scope", 1)
        yield Part("text", [(_BEFORE, "")])
        yield _title("2 General", 1)
        yield _title("2.1 Use", 2)
        yield Part("text", [(_AFTER, "")])
    else:
        yield _title("Annex B (normative) Parts", 1)
        yield _title("B.1 General", 2)
        yield Part("text", [(_BEFORE, "")])
    yield _title(form.heading, level)
    if form.layout == "entry":
        yield Part("text", [("For the purposes of this document, the following terms and definitions apply.", "")])
    yield from _all_entries(form, entries, level)
    if level == 1:
        yield _title("4 Requirements" if form.heading[:1] == "3" else "Requirements", 1)
        yield Part("text", [(_AFTER, "")])
        yield _title("4.1 Storage" if form.heading[:1] == "3" else "Storage", 2)
        yield Part("text", [(_BEFORE, "")])
    else:
        yield _title(f"{form.prefix[:-1]}{int(form.prefix[-1]) + 1} Records", 2)
        yield Part("text", [(_AFTER, "")])


def _all_entries(form: Form, entries: Sequence[Entry], level: int) -> Iterable[Part]:
    size = 8
    for place, entry in enumerate(entries):
        number = f"{form.prefix}.{place + 1}" if form.prefix else ""
        deep = level + 1
        if form.prefix.startswith("112"):
            number = f"{form.prefix}-{place + 1:02}"
        if form.groups:
            group, inside = place // size + 1, place % size + 1
            number, deep = f"{form.prefix}.{group}.{inside}", level + 2
            if inside == 1:
                yield _title(
                    f"{form.prefix}.{group} Terms relating to {_THINGS[group % len(_THINGS)].split()[-1]}", level + 1
                )
        if form.layout == "entry":
            yield from _entry_parts(form, entry, number, deep)
        elif form.layout == "run-in":
            label = f"{number} " if number else ""
            term = "; ".join(entry.terms)
            yield Part("run-in", [(f"{label}{term}:", "b"), (f" {_words(entry)}.", "")])
        elif form.layout == "index":
            pages = ", ".join(str(place + step) for step in (3, 14, 41)[: 1 + place % 3])
            words = f"{entry.terms[0]}, see {entry.see}" if entry.see else f"{entry.terms[0]}, {pages}"
            yield Part("index", [(words, "")])
        else:
            yield Part("pair", [(entry.terms[0], "b" if form.bold else ""), (_words(entry), "")])


def _words(entry: Entry) -> str:
    return entry.words or f"See {entry.see}"


def _entry_parts(form: Form, entry: Entry, number: str, level: int) -> Iterable[Part]:
    face = "b" if form.bold else ""
    if form.alone:
        yield Part("number", [(number, face)], level)
        terms = list(entry.terms)
    else:
        yield Part("entry-title", [(f"{number} {entry.terms[0]}", face)], level)
        terms = list(entry.terms[1:])
    shift = len(entry.terms) - len(terms)
    for place, term in enumerate(terms):
        yield Part("term", [(term, face if place + shift < entry.preferred else "")])
    for term in entry.deprecated:
        yield Part("term", [(f"{form.labels[0]}: {term}", "")])
    domain: Runs = [(f"<{entry.domain}> ", "")] if entry.domain else []
    yield Part("words", [*domain, *_cited(_words(entry) if entry.words else f"See {entry.see} (3.2).")])
    for place, note in enumerate(entry.notes):
        leads = place == 0 and entry.items
        yield Part("note", [(f"{form.labels[1].format(place + 1)}: {note[:-1] + ':' if leads else note}", "")])
        if leads:
            for item in entry.items:
                yield Part("item", [(item, "")])
    if entry.example:
        yield Part("note", [(f"{form.labels[2]} {entry.example}", "")])
    if entry.source:
        yield Part("note", [(f"[{form.labels[3]}: {entry.source}]", "")])


def _cited(words: str) -> Runs:
    """Set a term that is cited with its number in italics."""
    if " (3." not in words:
        return [(words, "")]
    term, _, rest = words.partition(" (3.")
    return [(term, "i"), (f" (3.{rest}", "")]
