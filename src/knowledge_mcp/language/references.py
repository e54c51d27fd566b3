"""Cross-references in running text: to clauses, annexes, tables, figures and other documents."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from knowledge_mcp.language.multilingual.places import (
    CERTIFICATION,
    CODE_NUMBER,
    CODES,
    ENGLISH_PLACES,
    PLACE_WORDS,
    PlaceWords,
    is_address,
    numbers_between,
    numbers_of_codes,
)
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.quantities.dates import days_in
from knowledge_mcp.model.document import BlockKind, Document, Reference, ReferenceKind, Span
from knowledge_mcp.support.checkpoints import check_each, checkpoint

_ONE = r"\d{1,4}(?:\.\d{1,4})*[a-z]?"
_NUMBER = (
    rf"(?:{CODE_NUMBER}|\d{{1,3}}\.\d{{3}}-\d{{1,3}}|\d{{1,3}}-\d{{1,4}}(?:\.\d{{1,4}})+|(?:[A-Z]{{1,2}}[.-]?)?{_ONE})"
)
"""Clause numbers as publishers print them: "5.3.1", "A.2", "R302.5", "UG-27", "52.212-4", "12a"."""
_DEEP = rf"(?:{CODE_NUMBER}|[A-Z](?:\.\d{{1,4}})+|(?:[A-Z]{{1,2}}-?)?\d{{1,4}}(?:\.\d{{1,4}})+)"
_TAIL = r"(?:\.?\((?:[a-z]{1,4}|\d{1,3}|[A-Z])\)(?:P\b)?){0,6}"
"""The number of a part of a clause, after the clause number: "(1)(b)", in Canada ".(1)(b)", in Eurocodes "(3)P"."""
_MARKS = r"(?:\s[a-z]\)(?:\s?\d{1,2}\)){0,2})?"
"""Marks of the items of a list, after the clause number: "a) 3)"."""
_ITEM = r"(?:\([a-z\d]{1,4}\)|\d{1,3}[a-z]?|[a-z])(?!\w)"
_ANNEX = r"(?:[A-Z]\d?(?:\.\d{1,3})*|[IVXL]{2,6}|[NZ][A-Z](?:\.\d{1,3})*|\d{1,2})"
_TABLE = r"(?:(?:[A-Z]{1,2}[.-]?)?\d{1,4}(?:[-.]\d{1,4})*(?:\.?-[A-Z]|[a-z])?|[IVX]{1,5}(?!\s+[a-z]))"
_BODIES = (
    r"(?:ISO|IEC|CEI|IEEE|ITU-[RT]|CISPR|CIE|OIML|UIC|EN|CEN|ETSI|ECSS|DIN|BS|NF|UNE(?:-EN)?|UNI(?=\sEN)|SIA|NEN|ÖNORM|VDI|VDE"
    r"|DVGW|GOST|JIS|GB/T|AS/NZS|NZS|SANS|NBR|ANSI|ASTM|ASME|SAE|AIAA|EIA|TIA|JEDEC|IPC|UL|ULC|CSA|CAN(?=/)|CGSB|NFPA|NEMA"
    r"|API(?=\s(?:RP|STD|Std|Spec|SPEC|Standard|\d{3}))|ACI|AISC|AISI|ASCE|ASHRAE|AWWA|AAMA|AASHTO|AREMA|ISA|NACE|NASA|ARINC)"
)
"""Publishers of standards; API only if it is not a programming interface."""
_DATED = r"[A-Z]{2,8}(?:[-/ ][A-Z]{2,8}){0,2}[- ]\d{2,6}(?:[-.]\d{1,4}){0,3}:(?:19|20)\d{2}(?!\w)"
"""The form of any other publisher's designation with a year ("FSC 4110:2025"); without one it is ambiguous."""
_MATERIAL = r"(?:EN[- ](?:G?J[A-Z]|A[BCMW]|C[BCFMRSWX])(?![A-Z])|ISO\sM\d)"
"""Materials and threads, which are not documents: "EN-GJL-250", "EN AW-6082", "ISO M12"."""
_DOCUMENTS = (
    rf"(?P<norm>(?!{_MATERIAL}){_BODIES}(?:[/ ](?:{_BODIES}|TS|TR|PAS|Guide|Std|Standard|STD)){{0,4}}"
    rf"(?:[- ]|(?<=ISO|IEC|DIN)(?=\d{{3}})|(?<=EN)(?=\d{{4}}))"
    rf"(?:(?:Std\.?|STD|TS|TR|RP|Spec|SPEC|[Ss]tandard)\s|[A-Z]\s(?=\d))?"
    rf"[A-Z]{{0,4}}[-.]?\d[\dA-Z]*(?:[-.]\d[\dA-Za-z]*){{0,4}}(?::\d{{4}})?|ECSS-[A-Z]-(?:ST|HB|TM|AS)-\d{{2}}(?:-\d{{2}})?[A-Z]?|{_DATED})"
    r"(?:(?<=:\d{4})-\d\d(?!\d))?(?:[+/](?:AC|A\d{1,2}(?!\d)|Amd\.?\s?\d{1,2})(?::\d{4}(?:-\d\d)?)?){0,4}"
    rf"|(?P<certificate>{CERTIFICATION}{_TAIL}(?!\w|[.,]\d))"
    r"|(?P<rfc>\[?RFC[\s ]?-?(?P<rfc_number>\d{3,5})\]?)"
    r"|(?P<bcp>\[?BCP[\s ]?(?P<bcp_number>\d{1,4})\]?)"
    r"|(?P<nist>(?:NIST[\s ])?(?:Special Publication[\s ]|SP[\s ]?)(?P<nist_number>\d{3,4}-\d{1,3}[A-Z]?(?:-\d)?)"
    r"(?:[\s ](?:Rev(?:ision|\.)?|r)[\s ]?(?P<nist_revision>\d+))?)"
    r"|(?P<fips>FIPS(?:[\s ]PUB)?[\s -]?(?P<fips_number>\d{2,3}(?:-\d)?))"
    r"|(?P<mil>(?P<mil_kind>MIL-(?:STD|HDBK|PRF|DTL|SPEC|I|S|Q)|DOD-STD|DoD-STD)-(?P<mil_number>\d+[A-Z]?(?:\.\d+)?))"
    r"|(?P<did>DI-[A-Z]{3,4}-\d{5}[A-Z]?|(?:DO|ED)-\d{2,3}[A-Z]?)"
    r"|(?P<mobile>(?P<mobile_number>T[RS]\s\d{2}\.\d{3}(?:-\d{1,2})?))"
    r"|(?P<law>(?:Directive|Regulation|Decision)\s+(?:\((?:EU|EC|EEC)\)\s+(?:No\.?\s+)?\d{1,4}/\d{2,4}"
    r"|(?:\d{2}){1,2}/\d{1,4}/(?:EU|EC|EEC)))"
    r"|(?P<ece>(?:UN|ECE)\s+(?:Regulation\s+)?(?:R\s?|Regulation\s|No\.?\s*){1,2}(?P<ece_number>\d{1,3}))"
    r"|(?P<code>(?P<code_name>CFR|C\.F\.R\.|USC|U\.S\.C\.)\s+(?:[Pp]arts?\s+|(?:§|[Ss]ec\.)+\s*)?"
    r"(?P<code_number>\d{1,5}(?:\.\d{1,4})?[a-z]?(?![\w.]\w))"
    rf"{_TAIL})"
)


def _part(words: PlaceWords) -> str:
    return (
        rf"(?:\]?,?\s+\(?(?:{words.parts}|§+)\s*(?P<part_named>{_NUMBER}|{_DEEP}){_TAIL}"
        rf"|\]?,?\s+\(?(?:{words.annexes})\s+(?P<part_annex>{_ANNEX})(?!\w)"
        rf"|,?\s+(?:(?P<part_table>(?:{words.tables})\s+{_TABLE})|(?P<part_figure>(?:{words.figures})\s+{_TABLE}))"
        rf"(?!\w|\s+(?:{words.shows})\b)"
        rf"|(?:,\s+|\s+(?=\d{{1,2}}(?:\.\d{{1,2}}){{2,}}))(?P<part_bare>{_DEEP})(?![\d.]*\d){_TAIL})"
    )


def _places(words: PlaceWords, first: str) -> str:
    """Build the pattern of places in a language; `first` are the letters that a reference may start with."""
    number = rf"(?:{_NUMBER}|{_DEEP}){_TAIL}"
    joint = rf"(?:\s*(?:{words.joints}|,\s*and)\s+|[–—])"
    return (
        rf"(?<![\w./-])(?=[{first}])(?:(?:{_DOCUMENTS}){_part(words)}?"
        rf"|(?P<cited>(?:\[(?P<cited_name>[A-Z\d][\w.+/-]{{0,40}})\]{{1,2}}|\{{\{{[!?]?(?P<braced_name>[A-Z][\w.+/-]{{0,40}})\}}\}})"
        rf",?\s+(?:(?:{words.parts}|§+)\s*(?P<cited_number>{_NUMBER}){_TAIL}|(?:{words.annexes})\s+(?P<cited_annex>{_ANNEX}))(?!\w))"
        rf"|(?P<annex>(?:(?:{words.see})\s+)?(?:{words.annexes})\s+(?P<annex_number>{_ANNEX})(?!\w)"
        rf"(?P<annex_more>(?:{joint}{_ANNEX}(?![\w%]|[.,]\d))*))"
        rf"|(?P<table>(?:(?:{words.see})\s+)?(?:{words.tables})\s+(?P<table_number>{_TABLE})(?!\w)"
        rf"(?P<table_more>(?:{joint}{_TABLE}(?![\w%]|[.,]\d))*))"
        rf"|(?P<figure>(?:(?:{words.see})\s+)?(?:{words.figures})\s+(?P<figure_number>{_TABLE})(?!\w)"
        rf"(?P<figure_more>(?:{joint}{_TABLE}(?![\w%]|[.,]\d))*))"
        rf"|(?P<clause>(?:(?:{words.see}|in|per|with)\s+)?"
        rf"(?:(?:{words.clauses}|(?P<relative>{words.relative})|(?P<known>{words.known}))\s+|(?<!§)§++\s*)"
        rf"(?P<clause_number>{number})(?![\w%]|\.\d){_MARKS}"
        rf"(?:(?:,?\s+(?:{words.below})\s+{_ITEM}(?:\s*(?:{words.joints})\s+{_ITEM})*){{1,4}}"
        rf"|(?P<clause_more>(?:{joint}{number}(?![\w%]))*)))"
        rf"|(?P<see>(?P<lead>{words.see}|{words.leads})\s+(?P<see_number>{_DEEP}{_TAIL}){_MARKS}"
        rf"(?P<see_more>(?:{joint}{_DEEP}{_TAIL})*)"
        rf"(?![\w%]|\s(?:or|and)\s(?:later|newer|higher|above|earlier|older)\b|\s*(?:%|mm|cm|m|km|kg|g|s|ms|Hz|kHz|MHz|GHz|V|A|W|°|dB|MB|GB|KB|{words.units})\b)))"
    )


@cache
def places_in(language: str) -> re.Pattern[str]:
    """Compile the pattern of places in a language; cached, because this takes longer than the rest of the module.

    Args:
        language: its code; empty for English.
    """
    if not language:
        return re.compile(_places(ENGLISH_PLACES, r"A-ZÖ\[{§abcdfgioprstuw"))
    return re.compile(_places(PLACE_WORDS[language], r"A-ZÀ-Þ\[{§a-zà-ÿ"))


_NUMBERS = re.compile(rf"(?:{_NUMBER}|{_DEEP}){_TAIL}")
_ANNEX_NUMBERS = re.compile(rf"(?<!\w){_ANNEX}(?!\w)")
_TABLE_NUMBERS = re.compile(rf"(?<!\w){_TABLE}(?!\w)")
_CODED = re.compile(
    rf"(?<![\w.-])(?:[A-Z]{{1,5}}\d?\s(?=\d))?(?:{CODE_NUMBER}|\d{{1,3}}\.\d{{1,4}}[A-Z]?){_TAIL}(?![\w-]|\.\d)"
)
"""Numbers that can be clauses of a code wherever they are: "21.A.91(a)", "CS 25.1309(b)", "AMC1 25.21"."""
_NAMED = {"rfc": "RFC", "bcp": "BCP", "fips": "FIPS", "mobile": "3GPP", "ece": "UN Regulation No."}
_PLURAL = re.compile(r"(?:s\.?|aux|en|ern?|änge|elle|gure|gati)\s+\Z")
"""Endings of "Tables", "Figs.", "Tableaux", "Anhänge" and "Allegati"; a single letter follows "Annex" and its singular.
"""
_RANGE = re.compile(r"\s*(?:to|through|bis|à|a|–|—|-)\s*")
_TITLE = re.compile(r"(?<!\d)(?P<number>\d{1,2})\s{1,3}\Z")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BRACKET = re.compile(r"\.?\([^()]*\)P?\Z")
_ANY = re.compile(
    r"\d|[Aa]nnex|[Aa]ppendi[cx]|ANNEX|APPENDI[CX]|[Aa]nh[aä]ng|[Aa]nlage|[Aa]nexo|[Aa]p[éê]ndice|[Aa]llegat|ANHANG|ANLAGE|ANEXO|AP[ÉÊ]NDICE"
    r"|ALLEGATO|(?<!\w)[IVX]{1,5}(?!\w)"
)
"""What every reference contains: a number, except annexes, which have letters, and tables, which may have Roman ones.
"""

_APPENDIX = re.compile(r"(?:Appendix|ANNEX|APPENDIX)\s+(?P<letter>[A-Z](?:\.\d+)*)\Z")
_WHITE = re.compile(r"\s+")
_UNSURE = {
    "in": re.compile(
        r"(?<!\bversion )(?<!\brelease )(?<!\breleased )(?<!\bintroduced )(?<!\badded )(?<!\bdeprecated )"
        r"(?<!\bremoved )(?<!\bnew )(?<!\bfixed )(?<!\bchanged )(?<!\bavailable )\Z"
    ),
    "of": re.compile(
        r"\b(?:requirements?|provisions?|conditions?|terms|procedures?|criteria|rules?|limits|methods?|scope|purposes?|items?"
        r"|steps?|lists?) \Z"
    ),
    "with": re.compile(r"\b(?:[Cc]ompl[yi]\w{0,4}|[Cc]onform\w{0,5}|[Cc]onsistent|[Aa]ccord\w{0,5}|[Dd]eal\w{0,4}) \Z"),
    "to": re.compile(r"\b(?:[Cc]onform\w{0,5}|[Ss]ubject|[Pp]ursuant|[Rr]efer\w{0,6}|[Rr]elat\w{0,4}|[Tt]ested) \Z"),
    "by": re.compile(
        r"\b(?:required|defined|specified|permitted|given|allowed|covered|described|prescribed|demanded|stated) \Z"
    ),
}
"""Words before a number with one dot, each with the text before it if the number is a clause number."""
_SURE = re.compile(
    r"[Ss]ee\b|\w+ in\Z|in accordance|according|[Ss]iehe|[Vv]oir|[Vv]éa|[Vv]er\Z|[Vv]ed[ei]|[Vv]ej|[Cc]onform"
    r"|[Gg]emäß|de\s+acuerdo|de\s+acordo"
)
"""Words before a number with one dot that always make it a clause number."""
_ANYTHING = re.compile(r"\Z")
_BEFORE = 24

_OF = {
    code: re.compile(rf"(?<!\s)(?:\s?\(\w{{1,4}}\)){{0,4}}[.,]?\s+(?P<word>{words.owners})(?:\s+|(?<=['’]))")
    for code, words in {"": ENGLISH_PLACES, **PLACE_WORDS}.items()
}
_OWNING_DOCUMENT = re.compile(rf"(?:the\s+)?[\[({{]{{0,2}}[!?@]{{0,2}}(?:{_DOCUMENTS})[\]}}]{{0,2}}")
_OWNING_CITATION = re.compile(r"(?:\[(?P<cited>[^\[\]\n]{1,60})\]|\{\{[!?]?(?P<braced>[^{}\n]{1,60})\}\})(?!\()")
_LAW_NUMBER = (
    r"(?:\s+of\s+[A-Z]\w{1,30}(?:\s+[A-Z]\w{1,30}){0,4}|\s+(?:of\s+)?\d{4}(?:/\d{1,4})?(?:/[A-Z]{2,5})?"
    r"|\s+\([A-Z]{2,8}\)(?:\s+No\.?)?\s+\d{1,4}(?:/\d{1,4})?)"
)
_OWNING_LAW = re.compile(
    rf"(?:(?:the|that|said)\s+(?P<law>(?:[A-Z][\w'’&-]{{0,30}}\s+){{0,6}}?(?:{ENGLISH_PLACES.laws})\b{_LAW_NUMBER}?)"
    rf"|(?P<numbered>(?:{ENGLISH_PLACES.laws}){_LAW_NUMBER}))"
)
_LAWS_ELSEWHERE = {
    code: re.compile(
        rf"(?:{words.laws})\b(?:\s+\([A-Z]{{2,5}}\))?(?:\s+(?:Nr\.|n[°º]|núm\.))?"
        r"(?:\s+\d{1,4}/\d{1,4}(?:/[A-Z]{2,3})?)?"
    )
    for code, words in PLACE_WORDS.items()
}
_OWNING_WORK = re.compile(
    r"(?:the\s+)?(?P<work>(?:[A-Z][\w./-]{0,30}\s+){1,6}(?:[Ss]pecification|[Ss]tandard|[Hh]andbook|[Gg]uide|[Mm]anual"
    r"|[Rr]ecommendation|[Gg]uidelines|[Pp]olicy|[Rr]eport|[Dd]raft))\b"
)
_OWNING_NAME = re.compile(
    r"(?P<name>[A-Z][A-Za-z0-9]{0,30}(?:[-+/.][A-Z0-9][A-Za-z0-9]{0,30})+(?!\w)|[A-Z][A-Z0-9]{1,20}s?(?![\w-])"
    r"(?=\s*(?:[.,;:)\]}]|\Z|\n\s*\n|(?:and|or|is|are|was|for|as|defines?|describes?|specif\w{1,5}|requires?|states?"
    r"|contains?|provides?|gives?|applies|shall|should|may|must|can)\b)))"
)
_ANNEXES = "|".join(words.annexes for words in PLACE_WORDS.values())
_NAME_BEFORE = re.compile(
    r"(?<![\w-])(?:(?P<code>(?:[A-Z][\w.]{0,20}\s){1,4}Code)"
    r"|(?P<name>[A-Z]{1,6}-\d{1,4}[A-Z]?(?:\s[Pp]art\s\d{1,2}[a-z]?)?)),?\s\Z"
)
"""Text before a place of another document: a code of laws; or a designation, if the document has no such place."""
_ARTICLE = re.compile(r"(?:\w{2,3}\s+)?(?:[Aa]rt|§)")
_OWN = ("annex", "table", "figure", "clause", "see")
"""Groups that may match a place of the document itself, or of another that is named next to it."""
_TO = {"to", "zu", "zum", "zur"}
"""Words that introduce the owner of an annex; after any other place they may introduce anything."""
_PARTS = re.compile(r"[Pp]art|Teil")
"""Parts of another document, which are documents themselves."""
_BEHIND = re.compile(r"\s(?P<name>[A-ZÄÖÜ][a-zäöüß]*[A-ZÄÖÜ][A-Za-zÄÖÜäöüß]*(?:\s[IVX]{1,4})?)(?![\w-])")
"""The abbreviation of a law directly after an article number: "Article 6 GDPR", "§ 5 ArbSchG", "§ 28 SGB IV"."""
_OWN_PLACE = re.compile(
    rf"(?:the\s+)?(?:{_ANNEXES}|[Aa]rticles?|Artikels?|§|Division|PART|Part|TABLE|CHAPTER|VOLUME|{_DEEP})\b"
)
_BRACED = re.compile(r"\{\{(?P<braced>[\w.:-]{1,100})\}\}|\(#(?P<hashed>[\w.:-]{1,100})\)")
"""Links within a document in the syntax of kramdown and mmark, which authors of RFCs use."""


def find_references(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    clauses: Collection[str] = (),
    codes: Collection[str] | None = None,
    articles: bool = False,
    language: str = "",
) -> list[Reference]:
    """List the cross-references in `text[start:end]`, in order and without overlap.

    Normal forms of targets: "5.3.1", "Annex B", "Table 4", "Figure 2", "IEEE 29148:2018 6.2", "RFC 9000", "NIST SP
    800-53", "FIPS 140-3", "MIL-STD-498". "and 5.4", ", 5.5" after a clause give one reference each. The number of a
    part of a clause belongs to the reference, and to the target if such a clause exists: "Article 6(1), point (a)"
    refers to 6, or to 6(1).

    A place of another document includes its owner: "Section 6 of QUIC-TLS" is "QUIC-TLS 6", "Table 2 of ISO 9001" is
    "ISO 9001 Table 2", "section 3 of the Act" is "the Act 3".

    Args:
        text: the text.
        start: start offset.
        end: end offset; None for the text's end.
        clauses: numbers of the document's clauses; "in 4.2" and "Part 3" are references only to one of these.
        codes: `numbers_of_codes` of these, if they are known.
        articles: whether its clauses are articles, in which "paragraph 1" is a part of the same article and not a
            reference.
        language: ISO 639-1 code of the document; "siehe Abschnitt 4.2", "voir 4.2" and "véase 4.2" are references if it
            is German, French, Spanish, Italian or Portuguese.
    """
    language = language if language in PLACE_WORDS else ""
    end = len(text) if end is None else end
    found: list[Reference] = []
    if _ANY.search(text, start, end) is None:
        return found
    taken = start
    for match in check_each(places_in(language).finditer(text, start, end)):
        if match.start() < taken:
            continue  # inside the owner of the previous reference
        owner = _owner(match, end, language) if any(match[kind] for kind in _OWN) else None
        read = _read(match, clauses, counted=not articles, owned=owner is not None)
        if read and owner is None and (named := _named_before(match, clauses)):
            owner = named, match.end()
        if owner is None or not read:
            found.extend(read)
            continue
        name, taken = owner
        if name and match["known"] and _PARTS.match(match["known"]):
            span = Span(match.start(), taken)
            found.append(Reference(_WHITE.sub(" ", span.of(text)), ReferenceKind.DOCUMENT, name, span))
            continue
        found.extend(_owned(read, name, text, taken))
    coded = numbers_of_codes(clauses) if codes is None else codes
    return [*found, *_codes(text, start, end, coded, found)] if coded else found


def _codes(
    text: str, start: int, end: int, clauses: Collection[str], found: Sequence[Reference]
) -> Iterator[Reference]:
    """Yield the clauses of a code that are named without any word before them, unless they are in another reference."""
    spans = sorted(reference.span for reference in found)
    for match in check_each(_CODED.finditer(text, start, end)):
        span, target = Span(*match.span()), _target(_WHITE.sub(" ", match.group()), clauses)
        if target in clauses and not _overlaps(span, spans):
            yield Reference(_WHITE.sub(" ", match.group()), ReferenceKind.CLAUSE, target, span)


def _named_before(match: re.Match[str], clauses: Collection[str]) -> str:
    """Return the document named directly before a number: "29 U.S.C. § 1001", "S-100 Part 17, clause 17-4.1"."""
    if not match["clause"]:
        return ""
    named = _NAME_BEFORE.search(match.string, max(match.start() - 2 * _BEFORE, 0), match.start())
    if named is None or (named["name"] and _target(match["clause_number"], clauses) in clauses):
        return ""
    return named["code"] or named["name"]


def _owner(match: re.Match[str], end: int, language: str) -> tuple[str, int] | None:
    """Read the owner of a place from the text that follows: its name and end; the name is empty for another own place.

    None if no owner follows.
    """
    text = match.string
    led = _OF[language].match(text, match.end(), end)
    if led is None or (led["word"] in _TO and not match["annex"]):
        law = _BEHIND.match(text, match.end(), end) if led is None and _ARTICLE.match(match.group()) else None
        return (law["name"], law.end()) if law else None
    at = led.end()
    if named := _OWNING_DOCUMENT.match(text, at, end):
        return _document(named), named.end()
    if cited := _OWNING_CITATION.match(text, at, end):
        return _cited(cited["cited"] or cited["braced"]), cited.end()
    if law := _OWNING_LAW.match(text, at, end) or (language and _LAWS_ELSEWHERE[language].match(text, at, end)):
        name = f"the {law['law']}" if law.re is _OWNING_LAW and law["law"] else law.group()
        return _WHITE.sub(" ", name), law.end()
    if led["word"] not in {"in", "from", "to"} and _OWN_PLACE.match(text, at, end):
        return "", at
    if led["word"] != "of":
        return None
    if work := _OWNING_WORK.match(text, at, end):
        return _WHITE.sub(" ", work["work"]), work.end()
    called = _OWNING_NAME.match(text, at, end)
    return (called["name"], called.end()) if called else None


def _cited(name: str) -> str:
    """Return the name that a citation stands for; a bare number keeps its brackets."""
    return f"[{name}]" if name.isdigit() else name


def _owned(read: list[Reference], owner: str, text: str, end: int) -> list[Reference]:
    """Put the owner before each place; a single place also spans the owner's name.

    Without a name the owner is another place of the same document, in which tables and figures can be found, but not
    clauses.
    """
    if not owner:
        return [each for each in read if each.kind is not ReferenceKind.CLAUSE]
    references = [replace(each, kind=ReferenceKind.DOCUMENT, target=f"{owner} {each.target}") for each in read]
    if len(references) > 1:
        return references
    span = Span(references[0].span.start, end)
    return [replace(references[0], text=_WHITE.sub(" ", span.of(text)), span=span)]


def _read(match: re.Match[str], clauses: Collection[str], *, counted: bool, owned: bool) -> list[Reference]:
    span = Span(match.start(), match.end())
    shown = _WHITE.sub(" ", match.group())
    if match.group("cited"):
        annex = match.group("cited_annex")
        place = f"Annex {annex}" if annex else match.group("cited_number")
        name = _cited(match.group("cited_name") or match.group("braced_name"))
        return [Reference(shown, ReferenceKind.DOCUMENT, f"{name} {place}", span)]
    for name, kind, numbers in (
        ("annex", ReferenceKind.ANNEX, _ANNEX_NUMBERS),
        ("table", ReferenceKind.TABLE, _TABLE_NUMBERS),
        ("figure", ReferenceKind.FIGURE, _TABLE_NUMBERS),
    ):
        if match.group(name):
            return [
                Reference(_WHITE.sub(" ", each.of(match.string)), kind, f"{name.capitalize()} {number}", each)
                for each, number in _listed(match, name, numbers)
            ]
    for name in ("clause", "see"):
        if match.group(name):
            is_meant = owned or _is_own(match, name, clauses, counted=counted)
            return _clauses(match, name, clauses, owned=owned) if is_meant else []
    target = _target(_document(match), clauses) if match["certificate"] else _document(match)
    if match["certificate"] and target in clauses:
        return [Reference(shown, ReferenceKind.CLAUSE, target, span)]
    if title := _code_title(match):
        span = Span(title.start(), match.end())
        shown = _WHITE.sub(" ", span.of(match.string))
    return [Reference(shown, ReferenceKind.DOCUMENT, f"{target} {_part_in(match)}".strip(), span)]


def _part_in(match: re.Match[str]) -> str:
    """Return the place within a document that is named next to it; empty if there is none."""
    for kind in ("annex", "table", "figure"):
        if named := match[f"part_{kind}"]:
            return f"{kind.capitalize()} {named.split()[-1]}"
    return match["part_named"] or match["part_bare"] or ""


def _is_own(match: re.Match[str], name: str, clauses: Collection[str], *, counted: bool) -> bool:
    """Return whether a number is a clause number, by the words before it and the document's own clauses."""
    first = _target(match[f"{name}_number"], clauses)
    if first not in clauses and (days_in(first) or is_address(first)):
        return False
    if name == "see":
        lead = match["lead"] if first.count(".") < 2 else ""
        before = _UNSURE.get(lead) or (None if not lead or _SURE.match(lead) else _ANYTHING)
        led = _WHITE.sub(" ", match.string[max(match.start() - _BEFORE, 0) : match.start()])
        return before is None or (first in clauses and before.search(led) is not None)
    if first not in clauses and ((match["known"] and not CODES.fullmatch(first)) or _YEAR.fullmatch(first)):
        return False
    if not first.isalnum():
        return True
    if match["known"]:  # "Part 3: Guide" is a title
        return counted and f"{first}.1" in clauses and match.string[match.end() : match.end() + 1] != ":"
    return not match["relative"] or (counted and first in clauses)


def _clauses(match: re.Match[str], name: str, clauses: Collection[str], *, owned: bool) -> list[Reference]:
    """List the clauses of a match, the first with the words before it, and those within a range "4 to 6"."""
    meant = partial(_target, clauses=clauses)
    return [
        Reference(_WHITE.sub(" ", span.of(match.string)), ReferenceKind.CLAUSE, target, span)
        for span, target in _listed(match, name, _NUMBERS, meant, None if owned else clauses)
        if target in clauses or not _YEAR.fullmatch(target)
    ]


def _listed(
    match: re.Match[str],
    name: str,
    numbers: re.Pattern[str],
    meant: Callable[[str], str] = str,
    there: Collection[str] | None = None,
) -> list[tuple[Span, str]]:
    """List the places of a match, the first with the words before it, then those within ranges.

    Args:
        match: a match of a reference.
        name: of the group; its number and the text after it have their own groups.
        numbers: pattern of the numbers after the first.
        meant: returns the target of a number.
        there: if given, only these are listed within a range.
    """
    text, more = match.string, match.span(f"{name}_more")
    others = [Span(*each.span()) for each in numbers.finditer(text, *more)] if more[1] > more[0] else []
    if name not in {"clause", "see"} and not _PLURAL.search(text, match.start(), match.start(f"{name}_number")):
        others = []
    end = match.end(f"{name}_number") if others or more[1] > more[0] else match.end()
    found = [
        (Span(match.start(), end), meant(match[f"{name}_number"])),
        *((each, meant(each.of(text))) for each in others),
    ]
    for (before, one), (behind, other) in itertools.pairwise(tuple(found)):
        if _RANGE.fullmatch(text, before.end, behind.start):
            passed = Span(before.start, behind.end)
            found += [(passed, each) for each in numbers_between(one, other) if there is None or each in there]
    return found


def _target(number: str, clauses: Collection[str]) -> str:
    """Return the number of the clause that contains a place: with brackets only if such a clause exists."""
    while number not in clauses and (bracket := _BRACKET.search(number)):
        number = number[: bracket.start()]
    return number


def _code_title(match: re.Match[str]) -> re.Match[str] | None:
    """Find the title number before a code of laws: "29 CFR 1910"."""
    return _TITLE.search(match.string, max(match.start() - _BEFORE, 0), match.start()) if match["code"] else None


def _document(match: re.Match[str]) -> str:
    if match["nist"]:
        revision = match["nist_revision"]
        return f"NIST SP {match['nist_number']}" + (f" Rev. {revision}" if revision else "")
    if match["mil"]:
        return f"{match['mil_kind'].upper()}-{match['mil_number']}"
    if match["code"]:
        title, name = _code_title(match), "CFR" if "F" in match["code_name"] else "U.S.C."
        return f"{title['number'] if title else ''} {name} {match['code_number']}".strip()
    for kind, name in _NAMED.items():
        if match[kind]:
            return f"{name} {match[f'{kind}_number']}"
    return _WHITE.sub(" ", match["did"] or match["law"] or match["certificate"] or match["norm"]).rstrip(".-")


def document_references(document: Document) -> list[Reference]:
    """List a document's cross-references in order: those known from its format, and those found in its text.

    Links to files of the author's machine are dead and left out. Headings are not searched, code only for "§"
    references to a clause of the document, and a caption's own label is not a reference. Known references have the same
    normal form ("Appendix B" is "Annex B"); a found one that overlaps a known one with the same target is left out.
    """
    found = [_normal(reference) for reference in document.references if not reference.target.startswith("file:")]
    known: dict[str, list[Span]] = {}
    for reference in found:
        known.setdefault(reference.target, []).append(reference.span)
    for spans in known.values():
        spans.sort()
    clauses = {section.number for section in document.sections if section.number}
    codes = numbers_of_codes(clauses)
    articles = [each for each in document.sections if _ARTICLE.match(each.heading.of(document.text))]
    is_law = 2 * len(articles) > len(clauses)
    language = language_of(document.text)
    names = {anchor.name for anchor in document.anchors}
    for block in document.blocks:
        is_code = block.kind is BlockKind.CODE
        if block.kind is BlockKind.HEADING or (is_code and "§" not in block.span.of(document.text)):
            continue
        checkpoint()
        found.extend(() if is_code else _links(document.text, block.span, names))
        start, end = block.span.start, block.span.end
        for reference in find_references(
            document.text, start, end, clauses=clauses, codes=codes, articles=is_law, language=language
        ):
            if block.kind is BlockKind.CAPTION and reference.span.start - start <= 4:
                continue
            if is_code and not ("§" in reference.text and reference.target in clauses):
                continue
            if not _overlaps(reference.span, known.get(reference.target, ())):
                found.append(reference)
    return sorted(found, key=lambda reference: reference.span)


def _links(text: str, within: Span, names: Collection[str]) -> Iterator[Reference]:
    """Yield the links in braces to named places of the document."""
    for match in check_each(_BRACED.finditer(text, within.start, within.end)) if names else ():
        name = match["braced"] or match["hashed"]
        if name in names:
            yield Reference(match.group(), ReferenceKind.LINK, f"#{name}", Span(match.start(), match.end()))


def _overlaps(span: Span, spans: Sequence[Span]) -> bool:
    """Return whether a span overlaps one of several, which are sorted and disjoint."""
    place = bisect_left(spans, span.end, key=lambda known: known.start) - 1
    return place >= 0 and spans[place].end > span.start


def names_document(reference: Reference) -> bool:
    """Return whether a reference names its target in a form that is valid outside its file: not an anchor."""
    return reference.kind is not ReferenceKind.LINK or ":" in reference.target


def _normal(reference: Reference) -> Reference:
    match = _APPENDIX.match(reference.target)
    return replace(reference, target=f"Annex {match.group('letter')}") if match else reference
