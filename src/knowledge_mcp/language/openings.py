"""Line openings that show what a line is, in any format: numbered headings, captions, notes, examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from knowledge_mcp.language.quantities.dates import DATE
from knowledge_mcp.model.document import NOTE_KINDS, BlockKind, ReferenceKind

_MAX_CAPTION = 160
TABLE_WORDS = (
    r"Table|TABLE|Tabelle|TABELLE|Tab\.|Tableau|TABLEAU|Tabla|TABLA|Cuadro|Tabella|TABELLA|Prospetto|Tabela|TABELA"
    r"|Quadro|Таблица|ТАБЛИЦА"
)
FIGURE_WORDS = r"Figure|FIGURE|Fig\.?|FIG\.?|Bild|BILD|Abbildung|Abb\.|Figura|FIGURA|Рисунок|РИСУНОК"
_CAPTION = re.compile(
    rf"(?P<label>(?P<word>{TABLE_WORDS}|{FIGURE_WORDS}|Listing|Equation)"
    r" (?:(?:[A-Z]{1,3}[.-]?)?\d+[A-Z]?(?:[.–-]\d+[A-Z]{0,2})*[a-z]?|[IVX]{1,5}))\b(?P<rest>.*)",
    re.DOTALL,
)
_TITLED = re.compile(r"\s*(?:[:.—–-]\s*\S|[A-ZÀ-Þ])")
_AFTER_LABEL = r"(?:[ \t]*[:—–-]|\s)\s*\S"
NOTE_CAPITALS, EXAMPLE_CAPITALS = (
    r"NOTES?|ANMERKUNG(?:EN)?|REMARQUES?|NOTAS?|UWAG[AI]|OPMERKING(?:EN)?|ANM\.?|ANMÄRKNING|MERKNAD(?:ER)?"
    r"|BEMÆRK(?:NING)?|HUOM\.?|HUOMAUTUS|POZNÁMK[AY]|ПРИМЕЧАНИ[ЕЯ]",
    r"EXAMPLES?|BEISPIELE?|EXEMPLES?|EJEMPLOS?|ESEMPI[OE]?|EXEMPLOS?|VOORBEELD(?:EN)?|EXEMPEL|EKSEMPEL|PRZYKŁAD|ПРИМЕРЫ?",
)
NOTE_TITLES, EXAMPLE_TITLES = (
    r"Note|Anmerkung|Hinweis|Remarque|Nota|Opmerking|Anmärkning|Anm\.|Merknad|Примечани[ея]|注[记記]?",
    r"Example|Beispiel|Exemple|Ejemplo|Esempio|Exemplo|Voorbeeld|Exempel|Eksempel|示?例",
)
TO_ENTRY = (
    r"(?:to\s+entry|zum\s+Begriff|à\s+l['’]article|a\s+la\s+entrada|alla\s+(?:voce|definizione)|à\s+(?:entrada|definição)"
    r"|bij\s+(?:de\s+)?(?:term|definitie)|till?\s+(?:term(?:en|post(?:en)?)?|oppføring(?:en)?))"
)
"""Openings of notes and examples, in capitals and with one; patterns without groups."""
ADMONITIONS: Mapping[str, str] = {
    "attention": "Warning",
    "caution": "Caution",
    "danger": "Warning",
    "error": "Warning",
    "hint": "Note",
    "important": "Important",
    "note": "Note",
    "seealso": "See also",
    "tip": "Note",
    "warning": "Warning",
}
"""Label at the start of a box, by its markup name; boxes that only help are notes."""
_NOTE = re.compile(rf"(?P<label>(?:{NOTE_CAPITALS}|{NOTE_TITLES})(?: ?\d+(?: {TO_ENTRY})?)?){_AFTER_LABEL}")
_NOTE_IN_PROSE = re.compile(rf"(?:{NOTE_TITLES}) (?!\d)(?!to )[^:—–-]{{0,3}}[^\W\d_]")
_EXAMPLE_WORD = re.compile(rf"{EXAMPLE_CAPITALS}|{EXAMPLE_TITLES}")
_EXAMPLE = re.compile(rf"(?P<label>(?:{EXAMPLE_CAPITALS}|(?:{EXAMPLE_TITLES})s?)(?: \d+)?)(?P<after>{_AFTER_LABEL})")


COMMENTARY_WORDS = (
    r"commentar(?:y|ies)|explanatory\snotes?|guidance\snotes?|kommentare?|erläuterung(?:en)?|commentaires?|toelichting"
    r"|comentarios?|commento|commenti"
)
"""What is printed before or above a commentary on rules."""
_COMMENTED = re.compile(
    rf"(?P<label>(?-i:(?=[A-Z]))(?:{COMMENTARY_WORDS})(?:\s(?:on|to|zu|zur|zum|sur)\s(?:clause\s|section\s)?(?=\S{{0,8}}\d)\S{{1,12}})?)"
    r"(?:\s?[:—–]\s|\s-\s|\s?[:.]?\Z)",
    re.IGNORECASE,
)
_LONGEST_LEAD = 30
_LONGEST_SYMBOLS = 24
_LONGEST_LABEL = 40
"""Longest text in characters before symbols, of a symbol, and of a label; longer ones are sentences."""
_EXPLAINS = re.compile(
    r"(?:\A|[,;.)]\s|\d\s)(?:where(?:in)?|in\swhich|with|here|wobei|mit|dabei|darin|hierin|es|où|avec|dans\slaquelle|dans\slequel|(?:en\s)?donde"
    r"|siendo|en\sla\sque|dove|in\scui|con|onde|em\sque|sendo|com|waarin|waarbij|met|där|hvor|gdzie|kde|где)"
    r"(?:\s(?:is|are|ist|sind|bedeute[nt]|est|sont|es|son|è|sono|é|são|zijn|är|er|oznacza|je))?\s?:?\Z",
    re.IGNORECASE,
)
"""What is printed before the symbols of a formula, alone or after it."""
_ONE_SYMBOL = r"[^\W\d_][\w.'′*{}()\\^/+-]{0,9}"
_SYMBOLS = re.compile(rf"{_ONE_SYMBOL}(?:[,;]?\s(?:(?:and|or|to|und|oder|bis|et|ou|y|e|ed)\s)?[\w(]\S{{0,9}}){{0,3}}")
_EXPLAINED = re.compile(
    rf"(?!\w[^\W\d_A-Z]{{2}}){_ONE_SYMBOL}(?:,\s{_ONE_SYMBOL}){{0,3}}\s(?:[=–—:-]|is|are|ist|sind|est|sont)\s"
)
"""A symbol and its meaning without a gap between them; three small letters are a word: "where water is stored"."""


def caption_label(text: str, *, is_sure: bool = False) -> str | None:
    """Return the label ("Table 3") of a text that is a caption, None if it is not.

    "Table 3 shows ..." is a sentence and not a caption, unless the layout indicates one (`is_sure`). A label alone is a
    caption.
    """
    match = _CAPTION.match(text.strip())
    if match is None:
        return None
    rest = match.group("rest")
    is_sure = is_sure or not rest.strip(" .:")
    if not is_sure and (len(rest) > _MAX_CAPTION or not _TITLED.match(rest) or rest.rstrip().endswith((";", ","))):
        return None
    return " ".join(match.group("label").split())


def caption_target(label: str) -> tuple[ReferenceKind, str] | None:
    """Return the kind and normal form of what a caption's label names, None for listings and similar."""
    word, _, number = label.partition(" ")
    if re.fullmatch(TABLE_WORDS, word, re.IGNORECASE):
        return ReferenceKind.TABLE, f"Table {number}"
    return (ReferenceKind.FIGURE, f"Figure {number}") if re.fullmatch(FIGURE_WORDS, word, re.IGNORECASE) else None


def is_annex(keyword: str) -> bool:
    """Return whether a word before a number or letter is that of an annex, in any of the languages."""
    return _ANNEX.fullmatch(keyword) is not None


def section_target(parts: NumberedTitle) -> tuple[ReferenceKind, str]:
    """Return the kind and normal form of what a numbered heading names: "5.3", "Annex B"."""
    if is_annex(parts.keyword):
        return ReferenceKind.ANNEX, f"Annex {parts.number}"
    return ReferenceKind.CLAUSE, parts.number or ""


def note_label(text: str) -> str | None:
    """Return the label ("NOTE 2", "Commentary") of a text that is a note; "Note that ..." is a sentence."""
    match = _NOTE.match(text.lstrip())
    if match is None or _NOTE_IN_PROSE.match(text.lstrip()):
        return commentary_label(text.lstrip()) or None
    return match.group("label")


def commentary_label(text: str) -> str:
    """Return the label of a commentary on rules, which may be alone: "Commentary:", "Guidance note"; else ""."""
    match = _COMMENTED.match(text)
    return match["label"] if match is not None else ""


def example_label(text: str) -> str | None:
    """Return the label ("EXAMPLE 1") of a text that is an example; "Example code is ..." is a sentence."""
    match = _EXAMPLE.match(text.lstrip())
    if match is None:
        return None
    label, after = match.group("label"), match.group("after")
    is_plain_word = label.istitle() and not any(c.isdigit() for c in label)
    return None if is_plain_word and not re.match(r"[ \t]*[:—–-]", after) else label


def is_of_example(label: str) -> bool:
    """Return whether the label of a note or example is an example's."""
    return _EXAMPLE_WORD.match(label) is not None


LATIN_ADDED = ("bis", "ter", "quater", "quinquies", "sexies", "septies", "octies", "novies", "decies")
"""Latin words after the numbers of clauses that were inserted after publication, in order: "5bis", "12 ter"."""
_LATIN = "|".join(LATIN_ADDED)
# Symbol fonts have their bullets in the private use area.
_BULLET = re.compile("(?P<marker>[•‣◦▪■□●○◆◇➢➤✓›►▸▶❖☐☑☒–—*\u00b7\uf000-\uf0ff]|[-o](?=\\s))\\s*(?P<rest>.*)", re.DOTALL)
_ORDERED = re.compile(
    r"(?P<marker>(?:\((?:[a-z]{1,2}|[ivx]{1,5}(?:-[a-z])?|\d{1,2}[a-z]?|-[a-z\d])\)){1,3}P?|\([A-P]\)"
    r"|(?:[a-zа-я]{1,2}|[ivx]{1,5}(?:-[a-z])?|[A-Z]|[α-ω]|\d{0,2}[a-z]\d{1,2}|\d{1,2}[a-z])[)）]"
    rf"|\d{{1,2}}(?:\s?(?:{_LATIN}))?[.)）>]|\d{{1,2}}[a-z]\.|[a-z]\.|\.\d{{1,2}})\*?\s+"
    r"(?P<rest>\S.*)",
    re.DOTALL,
)
_PRINTED_NOTE = re.compile(
    rf"(?P<marker>(?P<word>(?:{NOTE_CAPITALS}|{EXAMPLE_CAPITALS})|(?:{NOTE_TITLES}|{EXAMPLE_TITLES})s?)"
    rf"(?:\s*\d{{1,3}})?(?:\s+{TO_ENTRY})?)"
    r"(?P<stop>\s*[:.—–：]\s*|\s+[-–—]\s+|\s+|$)"
)
_PRINTED_CAPTION = re.compile(
    rf"(?P<marker>(?:{TABLE_WORDS}|{FIGURE_WORDS}|TABLE|FIGURE|Listing|Exhibit)"
    r"(?:\s*[A-Z]{0,3}[.-]?\d+[A-Z]?(?:[.-]\d+[A-Z]{0,2})*[a-z]?|\s[IVX]{1,5}(?=\s?[.:—–]))"
    r"|[表图図]\s?(?:[A-Z]\.?)?\d{1,3}(?:[.-]\d{1,3}){0,3}(?=\s))"
    r"(?P<stop>\s*[:.—–|]\s*|\s+[-–—]\s+|\s+|$)(?P<rest>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a line opens, and its marker; `sure` is False if running text could start the same way."""

    kind: BlockKind
    marker: str
    sure: bool = True


def opening_of(text: str) -> Opening | None:
    """Read what a line opens; None if nothing special."""
    if match := _BULLET.match(text):
        marker = match["marker"]
        dash = marker in "–—-*o·"
        if dash and text[len(marker) : len(marker) + 1] != " ":
            return None  # alone it is the nil of a row of figures
        return Opening(BlockKind.LIST_ITEM, marker, sure=not dash)
    if match := _ORDERED.match(text):
        marker = match["marker"]  # "(A)" may be a unit
        return Opening(BlockKind.LIST_ITEM, marker, sure=marker[0] == "(" and not marker[1].isupper())
    return (_note(text) if text[:1] in "NEABCGKRTUOMHPП注示例" else None) or (
        _caption(text) if text[:1] in "TFLEABCPQТР表图図" else None
    )


def note_in(text: str) -> Opening | None:
    """Read the opening of a note or an example; None if the line opens anything else."""
    opening = opening_of(text)
    return opening if opening is not None and opening.kind in NOTE_KINDS else None


def mark_alone(words: str) -> Opening | None:
    """Read the marker of an item or note if the text consists of nothing else; otherwise None."""
    opening = opening_of(f"{words} x")
    return opening if opening is not None and opening.marker == words else None


_COMMENTARY = re.compile(r"COMMENTARY ON (?:CLAUSE )?(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3}){0,6}(?=\s|\Z)")


def is_commentary(marker: str) -> bool:
    """Return whether it is the line above commentary on a clause, which British Standards print in italics."""
    return _COMMENTARY.fullmatch(marker) is not None


def explains_symbols(text: str) -> bool:
    """Return whether the symbols of a formula are explained below a text: "where:", "Dabei ist", "N = A, in which".

    At the end of a longer text, the words are those of a sentence unless there is a formula or a colon.
    """
    found = _EXPLAINS.search(text, max(len(text) - _LONGEST_LEAD, 0))
    return found is not None and (found.start() == 0 or text.endswith(":") or "=" in text)


def is_label(text: str) -> bool:
    """Return whether a text is a label before what is said of it: "Date:", "Prepared by:"."""
    return text.endswith(":") and len(text) <= _LONGEST_LABEL and text[0].isalpha() and "\n" not in text


def is_symbol(text: str) -> bool:
    """Return whether a text can be a symbol of a formula, or several: "N_Ed", "a, b", "σ1 and σ2"."""
    return len(text) <= _LONGEST_SYMBOLS and _SYMBOLS.fullmatch(text) is not None


def begins_symbol(text: str) -> bool:
    """Return whether a text begins with a symbol and a sign before its meaning: "a, b = sides", "t is the time"."""
    return _EXPLAINED.match(text) is not None


def _note(text: str) -> Opening | None:
    if (label := commentary_label(text)) and label != text:  # the word alone may be the last one of a title
        return Opening(BlockKind.NOTE, label)
    if (commentary := _COMMENTARY.match(text)) is not None:
        return Opening(BlockKind.NOTE, commentary.group())
    match = _PRINTED_NOTE.match(text)
    if match is None:
        return None
    word, marker, stop = match["word"], match["marker"], match["stop"].strip()
    if not (stop or word.isupper() or re.search(TO_ENTRY, marker) or (marker == text.strip() and word != marker)):
        return None
    return Opening(BlockKind.EXAMPLE if is_of_example(marker) else BlockKind.NOTE, marker)


def _caption(text: str) -> Opening | None:
    """Match "Table 3 - Limits" and "Figure 2 Overview", but not "Table 3 shows"."""
    match = _PRINTED_CAPTION.match(text)
    if match is None:
        return None
    rest = match["rest"]
    if (
        not match["stop"].strip()
        and rest
        and not (rest[0].isupper() or rest[0].isdigit() or rest[0] in "([" or rest[0] > "\u3000")
    ):
        return None
    return Opening(BlockKind.CAPTION, match["marker"], sure=bool(match["stop"].strip()) or not rest)


@dataclass(frozen=True, slots=True)
class NumberedTitle:
    """The parts of a heading line.

    Attributes:
        number: clause number without trailing dot or parenthesis ("5.3.1", "A.1", "B", "IV"), None if there is none.
        title: the text after it; the whole line if nothing is left ("Chapter 3").
        informative: what "(informative)" or "(normative)" in the line states, None if there is neither.
        keyword: "annex", "chapter" … in lower case if such a word precedes the number, otherwise empty.
    """

    number: str | None
    title: str
    informative: bool | None = None
    keyword: str = ""

    def printed(self, line: str) -> str | None:
        """Return a heading's line if it contains more than number and title: "[F] 903.2.1 Title"; otherwise None."""
        begins = line[: len(line) - len(self.title)]
        plain = line.startswith(self.number or "") and "*" not in begins and begins[-1:] not in {"–", "—"}
        return None if plain and not self.keyword and self.informative is None else line


_EASTERN_ANNEX = r"附\s?[录錄録件]|附\s?属\s?[書书]|부속서"
ANNEX_WORDS = (
    r"annexe?|appendi(?:x|ce)|attachment|anhang|anexo|ap[éê]ndice|allegato|bijlage|bilaga?|załącznik|приложение"
    rf"|anneks|vedlegg|tillegg|liite|p[řr]íloha|{_EASTERN_ANNEX}"
)
_ANNEX = re.compile(ANNEX_WORDS, re.IGNORECASE)
EASTERN_ANNEX = rf"(?:{_EASTERN_ANNEX})\s?[A-Z]{{1,2}}"
"""An annex in Chinese, Japanese or Korean: its letter may follow without a blank."""
PART_WORDS = r"chapter|chapitre|kapitel|cap[íi]tulo|capitolo|hoofdstuk|rozdział|subpart|part"
"""Words before the letter or number of an annex, and of a chapter or part, in the languages of standards."""
NUMBERED_WORDS = (
    rf"{ANNEX_WORDS}|{PART_WORDS}|section|sección|seção|sezione|sec\.|clause|schedule"
    r"|rule|regel|règle|regla|regola|regra|regulation|reg\."
    r"|article|artikel|art[íi]culo|artigo|articolo|artykuł|art\."
)
"""These, and those before clause numbers."""
STATUS_WORDS = r"(?:national|normative|informative|mandatory|non-?mandatory)\s+"
"""What some publishers print before the word for an annex."""
_PART = rf"(?:\d{{1,4}}(?:{_LATIN}|[a-z])?|[A-Za-z])"
_TAIL = r"(?:\.?\((?:[a-z]{1,4}|\d{1,2}|[A-Z])\)){0,6}"
DEEP_NUMBER = (
    r"(?:(?:\d{1,4}[A-Z]?|[A-Z]{1,2}\d{1,4}|[A-ZА-Я]|(?!NO\.)[A-Z]{2})"
    r"(?:(?:\.\d{1,4}){1,8}(?:-\d{1,3})?(?![A-Z])|\.\d{1,4}[A-Z]?(?:\.\d{1,4}[A-Z]{0,2}){1,7})"
    rf"|(?:[A-Z]{{1,2}}|\d{{1,3}})-\d{{1,4}}(?:\.\d{{1,4}}){{0,8}}){_TAIL}"
)
"""A number that is recognisably a clause number: "1003.2.1", "R302.5", "NA.2", "UG-27(c)(1)", "52.212-4"."""
UNTITLED = re.compile(
    rf"(?:\[[A-Z]{{1,3}}\]\s*|[•●]\s*)?(?P<number>{DEEP_NUMBER})(?:(?:,| and| to) {DEEP_NUMBER}){{0,4}}"
    r"(?:[.*]{0,2}\s+(?![a-zß-ÿ\d])|[.*]?\Z)"
)
"""The start of a clause without a title, or a number alone on a line; a note may list several that it explains. Some
publishers mark clauses that leave a decision to the purchaser by a bullet."""
_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af](?<![万億亿元円米倍])"
"""A letter of Chinese, Japanese or Korean, which may follow a number directly, except after amounts ("1.5万")."""
_KEYWORD = re.compile(
    rf"(?:(?P<status>{STATUS_WORDS})(?={ANNEX_WORDS}))?(?P<keyword>{NUMBERED_WORDS}|§)\s*"
    rf"(?:(?P<number>(?:[A-ZА-Я]|\d\d \d\d \d\d"
    rf"|[A-Z]{{0,2}}\d{{1,4}}(?:\s?(?:{_LATIN})(?!\w)|[a-z])?|[IVXLC]{{1,6}}|J[A-Z]|[NZ][A-Z]"
    rf"|(?P<twin>[A-Z])(?P=twin))(?:\.{_PART})*{_TAIL})"
    rf"[º°]?(?=[\s.):,;–—-]|$|{_IDEOGRAPH}))?",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?:\[[A-Z]{{1,3}}\]\s*)?(?P<number>(?:{DEEP_NUMBER}|\d{{1,3}}(?:{_LATIN}|[a-z])?(?:\.{_PART})*)"
    r"(?=[.)]?\*?(?:\s|$)|[.)]?(?:[–—:]|-\s))"  # 5  5.3.1  5.3.1.  5)  6.4.2*
    rf"|(?:[A-Z]|[IVX]{{2,4}})(?:\.{_PART})+(?=[.)]?\*?(?:\s|$)|:)"  # A.1  IV.1
    r"|[A-Z]\d{0,2}(?=[.)]\s)"  # A.  X1.
    r"|[IVX]{2,6}(?=[.)]\s)"  # II.
    rf"|(?:\d{{1,3}}|[A-Z])(?:\.\d{{1,3}}){{1,8}}(?=[.．、]?{_IDEOGRAPH})"  # 3.2用例
    rf"|\d{{1,3}}(?=[.．、]\s*{_IDEOGRAPH}))"  # 1、引言
)
_CODED = re.compile(
    r"(?P<number>(?:[A-Z]{2,4}(?:\s?\d{1,2})?\s(?:to\s)?)?"
    r"(?:\d{1,3}\.[A-Z]{1,3}\.\d{1,4}[A-Z]{0,2}|[A-Z]{1,5}(?:\.[A-Z]{1,5}){1,4}\.\d{1,4}[A-Z]{0,2}"
    rf"|(?!FIG|TAB|VOL|SEC|ART|CAP|CHAP|PART)[A-Z]{{3,5}}\.\d{{3}}[A-Z]{{0,2}}){_TAIL})(?=[.:]?\s+[^\W\da-zß-ÿ]|\Z)"
)
"""A number of codes and figures of one regulation: "CAT.GEN.MPA.100", "21.A.3A", "FCL.010", also after the word for
material about it: "AMC1 CAT.GEN.100(b)"."""
_CHAPTER = re.compile(r"第\s?(?P<number>\d{1,3})\s?(?P<keyword>[编編章节節条條])(?=\s|\Z|[（(])")
"""第8章 and its kind, in figures."""
_ROMAN = re.compile(r"(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_SEPARATOR = re.compile(r"[.):,;*．、\s]*(?:[–—-]\s+|[–—](?=[^\W\d_]))?")
_ROW = re.compile(r"\d{1,3}(?:\s+[(–—-]?[$€£¥]?\d[\d.,]*[%)]{0,2}){2,}(?=\s)")
"""A row of figures followed by its name: "782 628 25 19 Growth"."""
_LONGEST_DATE = 24
"""Maximum length of a date with day, month and year: "30 de septiembre de 2018"."""
_INITIALS = re.compile(r"[A-HJ-UWYZ]\.[A-Z](?:\.[A-Z])*")
"""An abbreviation ("U.S."); if the first letter is a Roman numeral, it may be the number of a part ("I.A")."""
_TWO_LETTERS = re.compile(r"[JNZ][A-Z]|([A-Z])\1")
"""National, European and Japanese annexes, and annexes of parts of a standard that supplement another: NA, ZA, AA."""
FORCE_IN_BRACKETS = re.compile(
    r"(?:(?<!\s)\s++)?[(\[（【]\s*+(?P<force>informati(?:v[aeot]?|ef|vní)|informational|non-?normative|not normative"
    r"|normati(?:v[aeot]?|ef|vní)|informacyjny|normatywny|velvoittava|opastava"
    r"|(?:规范性|資料性|资料性|規範性)(?:附[录錄])?|規定|参考|규정|참고"
    r"|(?:non-?)?mandatory(?: information)?|for (?:information|guidance)(?: only)?|(?:à titre )?d['’]information"
    r"|à titre informatif|zur information|обязательное|рекомендуемое|справочное)\s*+[)\]）】]\s*+",
    re.IGNORECASE,
)
"""A note after or below a heading that says whether the part is normative."""


def obliges(force: str) -> bool:
    """Return whether such a note makes the part normative: "normative" and "mandatory information" do."""
    return force.lower().startswith(
        ("normat", "mandatory", "обязательное", "velvoittava", "规范性", "規範性", "規定", "규정")
    )


def is_deep(number: str) -> bool:
    """Return whether a number has several parts, as only clause numbers do: "5.3", "UG-27", "A.1", not "5" or "II"."""
    return not number.isalnum()


_DOUBLED = re.compile(r"(?P<number>\S{1,20}) (?=(?:(?:[^\W\d_]{1,20}|§) )?(?P=number)\Z)")


def number_once(label: str) -> str:
    """Remove the repeated number from a section's label whose title is only that number: "Annex A", "Article 4"."""
    doubled = _DOUBLED.match(label)
    return label[doubled.end() :] if doubled else label


def split_clause_number(text: str) -> NumberedTitle:
    """Parse a heading line: its number, its title, and whether it says that it is informative.

    "5.3.1.2 Title", "5. Title", "A.1 Title", "Annex B (informative) Title", "Chapter 3", "§ 4.2 Title" are numbered; "A
    new approach", "2024 budget" and "3 %" are not.
    """
    line = " ".join(text.split())
    plain, informative = _take_force(line)
    if (chapter := _CHAPTER.match(plain)) is not None:
        title = plain[chapter.end() :].strip() or plain
        return NumberedTitle(chapter["number"], title, informative, chapter["keyword"])
    if (coded := _CODED.match(plain)) is not None:
        title = plain[coded.end() :]
        return NumberedTitle(coded["number"], title[_end_of_separator(title) :] or plain, informative)
    match = _KEYWORD.match(plain)
    keyword = match.group("keyword").lower() if match else ""
    if match is None or not _keyword_stands_alone(plain, match):
        match, keyword = _BARE.match(plain), ""
    if match is None:
        return NumberedTitle(None, plain or line, informative)
    number = match.group("number")
    title = plain[match.end() :]
    if number is None:
        return NumberedTitle(None, plain, informative, keyword)
    title = title[_end_of_separator(title) :]
    if keyword:
        status = (match["status"] or "").strip().lower()
        if informative is None and status not in {"", "national"}:
            informative = status not in {"normative", "mandatory"}
        return NumberedTitle(number, title.lstrip("–—- ") or plain, informative, keyword)
    is_name = "-" in number and number[0].isalpha() and title[:1].islower()  # "IL-6 in mice"
    is_name = is_name or _ROW.match(plain) is not None or _is_day(number, plain, match.end())
    if is_name or not any(character.isalpha() for character in title) or not _is_possible(number):
        return NumberedTitle(None, plain, informative)
    return NumberedTitle(number, title, informative)


def _is_day(number: str, line: str, end: int) -> bool:
    """Return whether a number is part of a date: "10-17 October 2022", "26 30 November 2018"."""
    date = DATE.search(line, 0, end + _LONGEST_DATE)
    return date is not None and (date.start() < end or (date.start() == end + 1 and number.isdigit() and end < 3))


def _end_of_separator(title: str) -> int:
    match = _SEPARATOR.match(title)
    return match.end() if match else 0


def level_of_numbered(number: str | None, marks: int, above: Iterable[tuple[str | None, int]]) -> int:
    """Return the level of a Markdown heading; Markdown has at most six levels.

    Args:
        number: its clause number.
        marks: the number of "#" marks before it.
        above: number and level of the sections that may contain it, nearest first.

    Returns:
        If its number extends that of a section above, the level of that section plus the additional parts. Otherwise
        the number of marks, or, if there are six marks and the number has more parts, the number of parts.
    """
    if number is None:
        return marks
    depth = number.count(".") + 1
    for other, level in above:
        if other is not None and number.startswith(f"{other}."):
            return level + depth - other.count(".") - 1
    return max(marks, depth) if marks == MOST_MARKS else marks


MOST_MARKS = 6
"""Maximum marks of a Markdown heading."""


def _take_force(line: str) -> tuple[str, bool | None]:
    # most lines have no bracket, and the search restarts at every blank
    match = FORCE_IN_BRACKETS.search(line) if any(sign in line for sign in "([（【") else None
    if match is None:
        return line, None
    rest = f"{line[: match.start()]} {line[match.end() :]}".strip()
    return rest, not obliges(match["force"])


def _keyword_stands_alone(line: str, match: re.Match[str]) -> bool:
    """Match "Part II Rules" and "Annex", but not "Partial results" and "Section breaks"."""
    number = match.group("number")
    if number is None:
        keyword = match.group("keyword").lower()
        return len(line) == match.end() or (keyword == "annex" and line[match.end() - 1] == " ")
    if match.group("keyword") == "§":
        return number[0].isdigit()
    if not (line[match.end("keyword")].isspace() or line[match.end("keyword") - 1] > "\u3000"):
        return False
    if number[0].islower():
        return False
    if not (number.isalpha() and len(number) > 1) or _ROMAN.fullmatch(number) is not None:
        return True
    return is_annex(match["keyword"]) and bool(_TWO_LETTERS.fullmatch(number))


def _is_possible(number: str) -> bool:
    if _INITIALS.fullmatch(number):
        return False
    return not number.isalpha() or len(number) == 1 or _ROMAN.fullmatch(number) is not None
