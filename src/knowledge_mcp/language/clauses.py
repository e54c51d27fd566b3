"""The facts about each section of a document: its clause, its role, whether it is informative, and its level.

Publishers mark informative parts in brackets after a heading ("(informative)", "(Nonmandatory Information)"), or in a
sentence below it: "This annex is not a part of the requirements of this document but is included for informational
purposes only", "This appendix forms an integral part of this Recommendation".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from knowledge_mcp.language.multilingual.sections import FRONT_TITLES, role_elsewhere, without_blanks
from knowledge_mcp.language.openings import ANNEX_WORDS, FORCE_IN_BRACKETS, NumberedTitle, level_of_numbered, obliges
from knowledge_mcp.model.document import BlockKind, Document, Section, Span
from knowledge_mcp.support.checkpoints import check_each


class SectionRole(StrEnum):
    """The purpose of a section, derived from its title and position."""

    BODY = "body"
    OVERVIEW = "overview"
    DEFINITIONS = "definitions"
    ABBREVIATIONS = "abbreviations"
    REFERENCES = "references"
    INDEX = "index"
    EXAMPLE = "example"
    ANNEX = "annex"


_TITLES: tuple[tuple[SectionRole, re.Pattern[str]], ...] = (
    (
        SectionRole.REFERENCES,
        re.compile(
            r"(?:normative |informative |external |applicable |related |cited |list of )*"
            r"(?:references?|bibliography|documents|referenced documents|works cited|literature)"
            r"(?: documents)?(?: \((?:normative|informative)\))?"
            r"|(?:normative )?verweisungen|literatur(?:hinweise|verzeichnis)?"
            r"|références(?: normatives)?|bibliographie"
            r"|(?:normas para consulta|referencias)(?: normativas)?|bibliografía"
        ),
    ),
    (
        SectionRole.INDEX,
        re.compile(
            r"(?:(?:general|alphabetical|subject|keyword|cumulative) )*index"
            r"(?: of (?:(?:key |defined )?terms|subjects|concepts|definitions))?"
            r"|stichwortverzeichnis|sachregister|index alphabétique|índice alfabético"
        ),
    ),
    (
        SectionRole.ABBREVIATIONS,
        re.compile(
            r"(?:list of |(?:symbols and )?other |symbols and |glossary of )?"
            r"(?:abbreviations?|acronyms|abbreviated terms|initialisms)(?: of (?:proper )?names)?"
            r"(?: and (?:symbols|acronyms|abbreviations|initialisms|abbreviated terms))?(?: list)?"
            r"|acronym list"
            r"|(?:(?:symbole|formelzeichen|akronyme) und )?abkürzung(?:en|sverzeichnis)(?: und (?:symbole|akronyme))?"
            r"|(?:liste des )?(?:symboles et )?(?:abréviations|sigles)"
            r"(?: et (?:symboles|sigles|acronymes|abréviations))?"
            r"|(?:lista de )?(?:símbolos y )?(?:abreviaturas|siglas|acrónimos)(?: y (?:símbolos|siglas|acrónimos))?"
        ),
    ),
    (
        SectionRole.DEFINITIONS,
        re.compile(
            r"(?!term\Z)"  # in a contract, "term" is how long it runs
            r"(?:key |general |common |basic |conventions,? and |notation,? and )?(?:terms?|definitions?"
            r"|glossary|vocabulary|terminology|nomenclature)"
            r"(?:,? (?:and|&|of|or) (?:key )?(?:terms?|definitions?|acronyms|abbreviations|abbreviated terms|symbols"
            r"|terminology|concepts))*(?:,? (?:definitions|acronyms|symbols|abbreviations|abbreviated terms|and)+)*"
            r"(?: used in .*)?|(?:section |part )?(?:iev )?\d{3}-\d{2}\b(?!-).*"  # entries of a vocabulary: "112-01-01"
            r"|definitions?,? acronyms,? (?:and|&) abbreviations|terms,? definitions .*"
            r"|(?:glossary|vocabulary|definitions?) of .{1,60}|(?:glossaire|glossar|glosario) .{1,60}"
            r"|.{1,60}\b(?:glossary|terminology|terms and definitions|glossaire|glossar|glosario)"
            r"|(?:defined )?(?:words|terms)(?: (?:and|or) (?:phrases|expressions))?(?: with (?:a )?special meanings?)?"
            r"|(?:words|terms)(?: used)? (?:here|in this \w+)"
            r"|(?:special )?meanings? of (?:(?:defined|key) )?(?:words|terms|expressions)(?: used)?"
            r"|interpretation|termes(?:(?:,| et) (?:définitions|symboles|abréviations|termes abrégés))+"
            r"|begriffe(?:(?:,| und) (?:definitionen|benennungen|symbole|formelzeichen|einheiten|abkürzungen))*"
            r"|definitionen|glossar|terminologie|définitions|glossaire|vocabulaire|glosario|vocabulario|terminología"
            r"|(?:términos|definiciones)(?:(?:,| y) (?:definiciones|símbolos|abreviaturas|siglas|términos abreviados))*"
        ),
    ),
    (
        SectionRole.OVERVIEW,
        re.compile(
            r"(?:scope|introduction|(?:european |national )?foreword|preface|abstract|(?:executive )?summary|overview"
            r"|purpose(?: and scope)?"
            r"|scope and purpose|purpose, scope.*|background|about(?: this)? .*|status of this (?:memo|document)"
            r"|document overview|system overview|general introduction|(?:table of )?contents|list of (?:figures|tables)"
            r"|acknowledge?ments?|revision history|document history|change (?:log|history)|authority|copyright.*"
            r"|note to readers|identification"
            r"|(?:nationales |europäisches )?vorwort|einleitung|vorbemerkung(?:en)?(?: zu[mr]? .*)?"
            r"|anwendungsbereich|inhalt(?:sverzeichnis)?|avant-propos(?: européen| national)?|sommaire"
            r"|domaine d['’]application|résumé|prólogo|introducción|índice"
            r"|objeto(?: y campo de aplicación)?|campo de aplicación)"
        ),
    ),
    (SectionRole.EXAMPLE, re.compile(r"examples?(?: \d+)?(?:[:.–—-].*)?|(?:worked|informative) examples?.*")),
)
_ANNEX = re.compile(rf"\W*(?:{ANNEX_WORDS}|appendices)\b", re.IGNORECASE)
_ANNEX_NUMBER = re.compile(r"[A-Z]\Z")
_ANNEX_LABEL = re.compile(rf"^(?:{ANNEX_WORDS}) [a-z0-9]+\s*[:.–—-]?\s*|\((?:normativ[aeo]?|informativ[aeo]?)\)\s*")
_FRONT_MATTER = re.compile(
    r"(?:(?:european |national )?foreword|preface|abstract|(?:executive )?summary|acknowledge?ments?"
    r"|(?:table of )?contents|list of (?:figures|tables)|revision history|document history|change (?:log|history)"
    r"|copyright.*"
    r"|(?:revision|change|amendment|issue) record|record of (?:changes|revisions|amendments)|document control"
    r"|änderungs(?:historie|verzeichnis|stand|übersicht)|historique(?: des (?:révisions|versions|modifications))?"
    r"|historial de (?:cambios|versiones|revisiones)"
    r"|note to readers|status of this (?:memo|document)|(?:nationales |europäisches )?vorwort|inhalt(?:sverzeichnis)?"
    r"|avant-propos(?: européen| national)?|sommaire|prólogo|índice)\Z"
)
_HISTORY = re.compile(
    r"change[- ]?logs?|(?:changes|revisions|amendments)(?: (?:since|from|in|to|of)\b.{0,80})?|history"
    r"|(?:version|release|edit) (?:history|notes|log)|what['’]?s new|änderungen|changements|modifications|cambios"
)
"""Titles of lists of changes."""
_NOISE = re.compile(r"[*_`#]+|\s+")


class SectionFacts:
    """Derives facts about each section of one document from titles, numbers and ancestors.

    Attributes:
        roles: role by section index; a section whose title does not indicate one inherits its parent's.
        prefatory: whether it is a foreword, abstract, unnumbered introduction or similar, by section index.
        clauses: index of the innermost numbered section at or above, by section index, None if there is none.
    """

    __slots__ = ("clauses", "prefatory", "roles", "sections")

    def __init__(self, document: Document) -> None:
        self.sections = document.sections
        clauses_seen: set[int | None] = set()
        self.roles: list[SectionRole] = []
        self.prefatory: list[bool] = []
        self.clauses: list[int | None] = []
        for section in document.sections:
            title = _plain(section.title)
            above = section.parent
            annex = _ANNEX.match(document.text, section.heading.start, section.heading.end) is not None or (
                above in clauses_seen and _ANNEX_NUMBER.match(section.number or "") is not None
            )
            if section.number and section.number[0].isdigit():
                clauses_seen.add(above)
            role = _role(title, annex)
            if role is SectionRole.BODY and above is not None:
                role = self.roles[above]
            if role is SectionRole.OVERVIEW and above is not None and self.roles[above] is not SectionRole.BODY:
                role = self.roles[above]
            if above is not None and self.roles[above] is SectionRole.DEFINITIONS and _names_entry(section, role):
                role = SectionRole.DEFINITIONS
            self.roles.append(role)
            self.prefatory.append(_is_prefatory(section, title) or (above is not None and self.prefatory[above]))
            self.clauses.append(section.index if section.number else None if above is None else self.clauses[above])

    def role(self, section: int | None) -> SectionRole:
        """Return the role of a section, BODY before the first heading."""
        return SectionRole.BODY if section is None else self.roles[section]

    def is_informative(self, section: int | None) -> bool:
        """Return whether a section is informative, False before the first heading."""
        return section is not None and self.sections[section].informative

    def is_prefatory(self, section: int | None) -> bool:
        """Return whether a section only introduces the document, False before the first heading."""
        return section is not None and self.prefatory[section]

    def clause(self, section: int | None) -> int | None:
        """Return the innermost numbered section at or above a section."""
        return None if section is None else self.clauses[section]

    def clause_number(self, section: int | None) -> str | None:
        """Return the number of the innermost numbered section at or above a section."""
        clause = self.clause(section)
        return None if clause is None else self.sections[clause].number


def role_of_title(title: str) -> SectionRole:
    """Return the role of a section from its title alone."""
    return _role(_plain(title), annex=False)


def speaks_of_document(title: str) -> bool:
    """Return whether a section is only about its document: references, contents, revision history and the like."""
    roles = {SectionRole.REFERENCES, SectionRole.INDEX, SectionRole.ABBREVIATIONS}
    plain = _plain(title)
    is_about = _FRONT_MATTER.match(plain) or _HISTORY.fullmatch(plain)
    return role_of_title(title) in roles or is_about is not None


_CONTENTS = re.compile(
    r"(?:table of )?contents|inhalt(?:s(?:verzeichnis|übersicht|angabe))?|sommaire|table des matières"
    r"|índice(?: general)?(?: de contenidos?)?|(?:tabla de )?contenidos?|sumario|indice(?: generale)?|sommario"
    r"|sumário|inhoud(?:sopgave)?|innehåll(?:sförteckning)?|ind?hold(?:sfortegnelse)?|innhold(?:sfortegnelse)?"
    r"|spis treści|содержание|оглавление|目次|目录|目錄|목차|차례"
)


def names_contents(title: str) -> bool:
    """Return whether a title announces the document's table of contents."""
    return _CONTENTS.fullmatch(_plain(title)) is not None


FEWEST_LISTED = 4
"""Fewest headings that a table of contents lists."""
_LISTED = 0.6
"""Share of the headings that it lists: those of the lowest levels may be missing."""
LINKED = 0.75
"""Share of its letters that are in links; numbers, page numbers and a title may be outside."""


def fewest_listed(headings: int, *, titled: bool = False) -> float:
    """Return how many of the headings a list must name to be a table of contents; few below a title that says so."""
    return FEWEST_LISTED if titled else max(FEWEST_LISTED, _LISTED * headings)


def _plain(title: str) -> str:
    return _NOISE.sub(" ", title).strip(" .:–—-").lower()


def _role(title: str, annex: bool) -> SectionRole:
    bare = _ANNEX_LABEL.sub("", title).strip()
    for role, pattern in _TITLES:
        if pattern.fullmatch(bare):
            return role
    if (elsewhere := role_elsewhere(bare)) is not None:
        return SectionRole(elsewhere)
    return SectionRole.ANNEX if annex else SectionRole.BODY


def _names_entry(section: Section, role: SectionRole) -> bool:
    """Return whether a subsection is an entry of a terms clause ("3.4 reference"), unlike "3.2 Abbreviated terms"."""
    if section.number is None:
        return False
    return section.title[:1].islower() or role not in {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS}


def _is_prefatory(section: Section, title: str) -> bool:
    if section.number in {None, "0"} and title in {"introduction", "einleitung", "introducción"}:
        return True
    is_front = _FRONT_MATTER.match(title) is not None or without_blanks(title) in FRONT_TITLES
    return section.number is None and is_front


# ---- what a part says about itself

_OWN = (
    r"(?:this|the present) "
    r"(?P<word>annexe?|appendix|attachment|section|(?:sub-?)?clause|part|chapter|schedule|document)"
    r"|dieser? (?P<german>anhang|abschnitt|teil)|(?:la présente|cette) (?P<french>annexe|section|partie)"
    r"|est[ea] (?:presente )?(?P<spanish>anexo|apéndice|sección|parte)"
    rf"|(?:{ANNEX_WORDS}) (?P<number>[A-Z]{{1,2}}\d{{0,2}}|[IVX]{{1,4}}|\d{{1,2}})"
)
_OF = (
    r"(?:the |its |all )?(?:(?:mandatory |normative )?(?:requirements|provisions)"
    r"|this |these |the (?:standard|specification|code|norm|regulation|recommendation)\b|(?-i:[A-Z]))"
)
_PURPOSE = r"(?:information|informational|informative|explanatory|explanation|guidance|advisory|illustrative)"
_NO_PART = (
    rf"(?:is|are) not (?:an? )?(?:(?:mandatory|normative|official|integral) )?part of {_OF}"
    rf"|does not (?:form|constitute) (?:an? )?(?:(?:mandatory|normative|official|integral) )?part of {_OF}"
    rf"|is (?:(?:provided|included|given|intended|presented|published|written) )?(?:here )?(?:solely |purely |merely )?"
    rf"(?:for|as) (?:{_PURPOSE}(?: and | or |, )?){{1,3}}(?: purposes?(?: only)?| only|(?=\W*(?:\Z|\.)))"
    r"|is (?:(?:purely|merely|entirely) )?(?:informative|informational|non-?normative|not normative|non-?mandatory)"
    r"(?!,? (?:for|of|where|except|if|unless|apart|other)\b)"
    r"|ist (?:rein )?informativ|ist (?:nicht|kein) (?:Bestandteil|Teil) "
    r"|dient (?:nur|ausschließlich|lediglich) der Information"
    r"|est (?:purement )?informative|ne fait pas partie (?:intégrante )?d|est donnée? (?:uniquement |seulement )?"
    r"(?:à titre (?:d['’]information|informatif|indicatif)|pour information)"
    r"|(?:es|tiene carácter) (?:meramente )?informativ|no forma parte (?:integrante )?d"
)
_A_PART = (
    rf"(?:is|forms|constitutes) (?:an? )?(?:mandatory|normative|integral) part of {_OF}"
    r"|is (?:normative|mandatory)(?!,? (?:for|of|where|except|if|unless|only|when|apart|other)\b)"
    r"|ist normativ|est normative|fait partie intégrante d|(?:es|tiene carácter) normativ|forma parte integrante d"
)
_STATED = re.compile(
    rf"(?:\A|(?<=[.;:)]\s))[(\[*_]{{0,3}}(?:{_OWN}) (?:(?P<no>{_NO_PART})|(?P<yes>{_A_PART}))", re.IGNORECASE
)
_PLAINLY = re.compile(r"is (?:informative|non-normative|not normative|normative)\Z", re.IGNORECASE)
_MOST = 700
"""Characters of a paragraph that are searched for such a sentence."""


@dataclass(frozen=True, slots=True)
class InformativeMark:
    """What a paragraph says about its annex or its section: whether that is informative."""

    informative: bool
    is_of_annex: bool


def informative_mark(paragraph: str, number: str | None) -> InformativeMark | None:
    """Read what a paragraph says about the annex or section that contains it; None if it says nothing.

    Args:
        paragraph: its text.
        number: number of the annex that contains it; "Annex B is not part of …" refers to it by this number.
    """
    words = " ".join(paragraph[:_MOST].split())
    mark = FORCE_IN_BRACKETS.fullmatch(words)
    if mark is not None:
        return InformativeMark(not obliges(mark["force"]), is_of_annex=False)
    found = _STATED.search(words)
    if found is None or (found["number"] and found["number"] != number):
        return None
    if found["word"] and found["word"].lower() == "document" and not _PLAINLY.search(found[0]):
        return None  # a disclaimer about a whole document
    word = next(filter(None, (found["word"], found["german"], found["french"], found["spanish"])), "annex")
    return InformativeMark(found["no"] is not None, is_of_annex=_ANNEX.match(word) is not None)


_WHEREAS = re.compile(
    r"(?:whereas|in Erwägung nachstehender Gründe|considérant ce qui suit"
    r"|considerando (?:lo siguiente|quanto segue|o seguinte)|overwegende hetgeen volgt"
    r"|av följande skäl|ud fra følgende betragtninger)\s?[:,]",
    re.IGNORECASE,
)
_LONGEST_FORMULA = 120
"""Maximum characters of the words between the recitals and the articles: "HAVE ADOPTED THIS REGULATION:"."""


def recitals(document: Document) -> list[Span]:
    """Return where an act gives its reasons, which bind nobody: "Whereas:" to a formula in capitals."""
    found: list[Span] = []
    start: int | None = None
    for block in check_each(document.blocks):
        words = block.span.of(document.text).strip() if len(block.span) <= _LONGEST_FORMULA else ""
        if start is None:
            start = block.span.end if _WHEREAS.fullmatch(words) else None
        elif block.kind is BlockKind.HEADING or (words.isupper() and words.endswith(":")):
            found.append(Span(start, block.span.start))
            start = None
    return found


def following_numbers(numbers: Sequence[str | None]) -> list[str | None]:
    """Return for each heading the number of the next one that has a number, None if there is none."""
    found: list[str | None] = []
    number: str | None = None
    for each in reversed(numbers):
        found.append(number)
        number = each or number
    return found[::-1]


class SectionLevels:
    """The levels of a Markdown file's headings: programs that convert print give wrong ones, and numbers are right.

    Ask for each heading in turn with `of`, and `open` it with the level that it gets.
    """

    def __init__(self) -> None:
        self._open: list[_Opened] = []

    def of(self, title: NumberedTitle, marks: int, following: str | None = None) -> int:
        """Return the level of the next heading.

        Args:
            title: its clause number and the word before that.
            marks: the number of "#" marks before it.
            following: the number of the next heading that has one.

        Returns:
            The level of `level_of_numbered`, or of the section that its number follows, which does not contain it. A
            heading without a number does not end a section that goes on with the next number: it is inside it.
        """
        numbered = [each for each in reversed(self._open) if each.number]
        number = title.number
        if number is None:
            around = next((each.level for each in numbered if (following or "").startswith(f"{each.number}.")), 0)
            return marks if marks > around or self._waits_for_title(marks) else numbered[0].level + 1
        ended = [each for each in numbered if each.keyword == title.keyword and _ends(each.number, number)]
        if "." not in number:  # 2 may be an item below a heading 1
            ended = [each for each in ended if "." not in each.number][:1]
        level = level_of_numbered(number, marks, ((each.number or None, each.level) for each in reversed(self._open)))
        return min([level, *(each.level for each in ended)])

    def open(self, title: NumberedTitle, level: int) -> None:
        """Begin a section; those of its level and deeper end."""
        if title.number is None and self._waits_for_title(level):
            return
        while self._open and self._open[-1].level >= level:
            self._open.pop()
        is_untitled = bool(title.keyword) and title.title.lower().startswith(title.keyword)
        self._open.append(_Opened(title.number or "", title.keyword, level, is_untitled))

    def _waits_for_title(self, level: int) -> bool:
        """Return whether a heading of this level is the title of the section before: "Loads" below "Chapter 1"."""
        return bool(self._open) and self._open[-1].is_untitled and self._open[-1].level == level


class _Opened(NamedTuple):
    number: str
    keyword: str
    level: int
    is_untitled: bool


def _ends(number: str, following: str) -> bool:
    """Return whether a section ends where another number begins: "2" before "3", "4.2" and all below before "4.4.1"."""
    parts, others = number.split("."), following.split(".")
    at = next((k for k, (one, other) in enumerate(zip(parts, others, strict=False)) if one != other), -1)
    if at < 0 or not (parts[at].isdecimal() and others[at].isdecimal()) or parts[at].startswith("0"):
        return False
    step = int(others[at]) - int(parts[at])
    return step == 1 or (step > 0 and len(others) > 1)
