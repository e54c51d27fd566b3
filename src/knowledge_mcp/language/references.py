"""Cross-references in running text: to clauses, annexes, tables, figures and other documents."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.language.multilingual.places import ENGLISH_PLACES, PLACE_WORDS, PlaceWords
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.model.document import BlockKind, Document, Reference, ReferenceKind, Span
from knowledge_mcp.support.checkpoints import check_each, checkpoint

_NUMBER = r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*"
_DEEP = r"(?:[A-Z](?:\.\d{1,3})+|\d{1,3}(?:\.\d{1,3})+)"
_BODIES = (
    r"(?:ISO|IEC|CEI|IEEE|EN|DIN|BS|NF|UNE(?:-EN)?|VDI|VDE|ÖNORM|ANSI|ASTM|ASME|SAE|ITU-T|ETSI|AIAA|EIA|CEN|CISPR"
    r"|NASA|ECSS|UL)"
)
_DATED = r"[A-Z]{2,8}(?:[-/ ][A-Z]{2,8}){0,2}[- ]\d{2,6}(?:[-.]\d{1,4}){0,3}:(?:19|20)\d{2}(?!\w)"
"""What any other body's designation looks like with its year ("FSC 4110:2025"); without one, it may be anything."""
_DOCUMENTS = (
    rf"(?P<norm>{_BODIES}(?:[/ ](?:{_BODIES}|TS|TR|PAS|Guide|Std|Standard|STD)){{0,4}}[- ](?:(?:Std\.?|STD|TS|TR)\s)?"
    rf"[A-Z]{{0,4}}[-.]?\d[\dA-Z]*(?:[-.]\d[\dA-Za-z]*){{0,4}}(?::\d{{4}})?|{_DATED})"
    r"|(?P<rfc>\[?RFC[\s ]?-?(?P<rfc_number>\d{3,5})\]?)"
    r"|(?P<bcp>\[?BCP[\s ]?(?P<bcp_number>\d{1,4})\]?)"
    r"|(?P<nist>(?:NIST[\s ])?(?:Special Publication[\s ]|SP[\s ]?)(?P<nist_number>\d{3,4}-\d{1,3}[A-Z]?(?:-\d)?)"
    r"(?:[\s ](?:Rev(?:ision|\.)?|r)[\s ]?(?P<nist_revision>\d+))?)"
    r"|(?P<fips>FIPS(?:[\s ]PUB)?[\s -]?(?P<fips_number>\d{2,3}(?:-\d)?))"
    r"|(?P<mil>(?P<mil_kind>MIL-(?:STD|HDBK|PRF|DTL|SPEC|I|S|Q)|DOD-STD|DoD-STD)-(?P<mil_number>\d+[A-Z]?(?:\.\d+)?))"
    r"|(?P<did>DI-[A-Z]{3,4}-\d{5}[A-Z]?)"
)


def _part(words: PlaceWords) -> str:
    return (
        rf"(?:,?\s+\(?(?:{words.parts}|§+)\s*(?P<part_named>{_NUMBER}|[A-Z](?:\.\d{{1,3}})+)"
        rf"|,?\s+\(?(?:{words.annexes})\s+(?P<part_annex>[A-Z](?:\.\d{{1,3}})*|\d{{1,2}})(?!\w)"
        rf"|,\s+(?P<part_bare>{_DEEP})(?![\d.]*\d))"
    )


def _places(words: PlaceWords, first: str) -> str:
    """Say how places are written in a language; `first` are the letters that a reference may begin with."""
    return (
        rf"(?<![\w./-])(?=[{first}])(?:(?:{_DOCUMENTS}){_part(words)}?"
        rf"|(?P<cited>(?:\[(?P<cited_name>[A-Z\d][\w.+/-]{{0,40}})\]|\{{\{{[!?]?(?P<braced_name>[A-Z][\w.+/-]{{0,40}})\}}\}})"
        rf",?\s+(?:(?:{words.parts}|§+)\s*(?P<cited_number>{_NUMBER})|(?:{words.annexes})\s+(?P<cited_annex>[A-Z](?:\.\d{{1,3}})*|\d{{1,2}}))(?!\w))"
        rf"|(?P<annex>(?:(?:{words.see})\s+)?(?:{words.annexes})\s+(?P<annex_number>[A-Z](?:\.\d{{1,3}})*|\d{{1,2}})(?![\w]))"
        rf"|(?P<table>(?:(?:{words.see})\s+)?(?:{words.tables})\s+(?P<table_number>(?:[A-Z][.-])?\d{{1,3}}(?:[-.]\d{{1,3}})*[a-z]?)(?![\w]))"
        rf"|(?P<figure>(?:(?:{words.see})\s+)?(?:{words.figures})\s+(?P<figure_number>(?:[A-Z][.-])?\d{{1,3}}(?:[-.]\d{{1,3}})*[a-z]?)(?![\w]))"
        rf"|(?P<clause>(?:(?:{words.see}|in|per|with)\s+)?(?:(?:{words.clauses})\s+|(?<!§)§++\s*)"
        rf"(?P<clause_number>{_NUMBER}|[A-Z](?:\.\d{{1,3}})+)(?P<more>(?:\s*(?:{words.joints}|,\s*and)\s+{_NUMBER}(?![\w%]))*)(?![\w%]))"
        rf"|(?P<see>(?P<lead>{words.see}|{words.leads})\s+(?P<see_number>{_DEEP})"
        rf"(?P<see_more>(?:\s*(?:{words.joints})\s+{_DEEP})*)"
        rf"(?![\w%]|\s*(?:%|mm|cm|m|km|kg|g|s|ms|Hz|kHz|MHz|GHz|V|A|W|°|dB|MB|GB|KB|{words.units})\b)))"
    )


_PLACES = {
    "": re.compile(_places(ENGLISH_PLACES, r"A-ZÖ\[{§abcdfgiopstw")),
    **{code: re.compile(_places(words, r"A-ZÀ-Þ\[{§a-zà-ÿ")) for code, words in PLACE_WORDS.items()},
}
"""By language; English has no code here."""
_ANY = re.compile(
    r"\d|[Aa]nnex|[Aa]ppendi[cx]|ANNEX|APPENDI[CX]|[Aa]nhang|[Aa]nlage|[Aa]nexo|[Aa]péndice|ANHANG|ANLAGE|ANEXO|APÉNDICE"
)
"""What every reference holds: a number, but for annexes, which have letters."""

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
"""Words before a number with one dot, each with what stands before it where the number is a clause's."""
_SURE = re.compile(
    r"[Ss]ee\b|\w+ in\Z|in accordance|according|[Ss]iehe|[Vv]oir|[Vv]éa|[Vv]er\Z|conform|[Gg]emäß|de\s+acuerdo"
)
"""Words before a number with one dot that is a clause's, whatever stands before them."""
_ANYTHING = re.compile(r"\Z")
_BEFORE = 24

_OF = {
    code: re.compile(rf"(?<!\s)\s+(?P<word>{words.owners})(?:\s+|(?<=['’]))")
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
_OWN_PLACE = re.compile(rf"(?:the\s+)?(?:{_ANNEXES}|PART|Part|TABLE|CHAPTER|VOLUME|{_DEEP})\b")
_BRACED = re.compile(r"\{\{(?P<braced>[\w.:-]{1,100})\}\}|\(#(?P<hashed>[\w.:-]{1,100})\)")
"""Links within a document as kramdown's and mmark's authors of RFCs write them."""


def find_references(
    text: str, start: int = 0, end: int | None = None, *, clauses: Collection[str] = (), language: str = ""
) -> list[Reference]:
    """List the cross-references in `text[start:end]`, in order, disjoint.

    Normal forms of targets: "5.3.1", "Annex B", "Table 4", "Figure 2", "IEEE 29148:2018 6.2", "RFC 9000",
    "NIST SP 800-53", "FIPS 140-3", "MIL-STD-498". "and 5.4", ", 5.5" after a clause give one reference each.

    A place of another document is told with its owner: "Section 6 of QUIC-TLS" is "QUIC-TLS 6", "Table 2 of ISO 9001"
    is "ISO 9001 Table 2", "section 3 of the Act" is "the Act 3".

    Args:
        text: the text.
        start: where to begin.
        end: where to end; None for the text's end.
        clauses: numbers of the document's clauses; "in 4.2" is a reference only to one of these.
        language: ISO 639-1 code of the document; "siehe Abschnitt 4.2", "voir 4.2" and "véase 4.2" are references where
            it is German, French or Spanish.
    """
    language = language if language in PLACE_WORDS else ""
    end = len(text) if end is None else end
    found: list[Reference] = []
    if _ANY.search(text, start, end) is None:
        return found
    taken = start
    for match in check_each(_PLACES[language].finditer(text, start, end)):
        if match.start() < taken:
            continue  # the owner of the reference before
        read = _read(match, clauses)
        owner = _owner(match, end, language) if read and read[0].kind is not ReferenceKind.DOCUMENT else None
        if owner is None:
            found.extend(read)
            continue
        name, taken = owner
        found.extend(_owned(read, name, text, taken))
    return found


def _owner(match: re.Match[str], end: int, language: str) -> tuple[str, int] | None:
    """Read whose place it is, from what follows: its owner and where that ends; no name for another place of its own.

    None where nothing is said of it.
    """
    text = match.string
    led = _OF[language].match(text, match.end(), end)
    if led is None or (led["word"] == "to" and not match["annex"]):
        return None
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
    """Name what a citation stands for; a number alone keeps its brackets."""
    return f"[{name}]" if name.isdigit() else name


def _owned(read: list[Reference], owner: str, text: str, end: int) -> list[Reference]:
    """Put the owner before each place; the only one spans the owner's name too.

    Without a name it is another place of the same document: tables and figures are found there, clauses are not.
    """
    if not owner:
        return [each for each in read if each.kind is not ReferenceKind.CLAUSE]
    references = [replace(each, kind=ReferenceKind.DOCUMENT, target=f"{owner} {each.target}") for each in read]
    if len(references) > 1:
        return references
    span = Span(references[0].span.start, end)
    return [replace(references[0], text=_WHITE.sub(" ", span.of(text)), span=span)]


def _read(match: re.Match[str], clauses: Collection[str]) -> list[Reference]:
    span = Span(match.start(), match.end())
    shown = _WHITE.sub(" ", match.group())
    if match.group("cited"):
        annex = match.group("cited_annex")
        place = f"Annex {annex}" if annex else match.group("cited_number")
        name = _cited(match.group("cited_name") or match.group("braced_name"))
        return [Reference(shown, ReferenceKind.DOCUMENT, f"{name} {place}", span)]
    for name, kind, word in (
        ("annex", ReferenceKind.ANNEX, "Annex"),
        ("table", ReferenceKind.TABLE, "Table"),
        ("figure", ReferenceKind.FIGURE, "Figure"),
    ):
        if match.group(name):
            return [Reference(shown, kind, f"{word} {match.group(name + '_number')}", span)]
    for name in ("clause", "see"):
        if match.group(name):
            return _clauses(match, name, shown, clauses)
    target = _document(match)
    annex = match.group("part_annex")
    part = f"Annex {annex}" if annex else match.group("part_named") or match.group("part_bare")
    return [Reference(shown, ReferenceKind.DOCUMENT, f"{target} {part}" if part else target, span)]


def _clauses(match: re.Match[str], name: str, shown: str, clauses: Collection[str]) -> list[Reference]:
    span = Span(match.start(), match.end())
    first = match.group(name + "_number")
    more = match.group("more" if name == "clause" else "see_more") or ""
    lead = match["lead"] if name == "see" and first.count(".") < 2 else ""
    before = _UNSURE.get(lead) or (None if not lead or _SURE.match(lead) else _ANYTHING)
    if before is not None:
        led = _WHITE.sub(" ", match.string[max(span.start - _BEFORE, 0) : span.start])
        if first not in clauses or not before.search(led):
            return []
    rest = re.findall(_NUMBER, more)
    if not rest:
        return [Reference(shown, ReferenceKind.CLAUSE, first, span)]
    head_end = match.end(name + "_number")
    references = [
        Reference(
            _WHITE.sub(" ", match.string[span.start : head_end]),
            ReferenceKind.CLAUSE,
            first,
            Span(span.start, head_end),
        )
    ]
    for number in re.finditer(_NUMBER, match.string[head_end : span.end]):
        place = Span(head_end + number.start(), head_end + number.end())
        references.append(Reference(number.group(), ReferenceKind.CLAUSE, number.group(), place))
    return references


def _document(match: re.Match[str]) -> str:
    if match.group("rfc"):
        return f"RFC {match.group('rfc_number')}"
    if match.group("bcp"):
        return f"BCP {match.group('bcp_number')}"
    if match.group("nist"):
        revision = match.group("nist_revision")
        return f"NIST SP {match.group('nist_number')}" + (f" Rev. {revision}" if revision else "")
    if match.group("fips"):
        return f"FIPS {match.group('fips_number')}"
    if match.group("mil"):
        return f"{match.group('mil_kind').upper()}-{match.group('mil_number')}"
    if match.group("did"):
        return match.group("did")
    return _WHITE.sub(" ", match.group("norm")).rstrip(".-")


def document_references(document: Document) -> list[Reference]:
    """List a document's cross-references by place: those that its format knows, and those found in its text.

    Headings hold none, code those with a "§" to a clause of the document, and a caption's own label is none. Known
    ones have the same normal form ("Appendix B" is "Annex B"); a found one that says the same as a known one at its
    place is left out.
    """
    found = [_normal(reference) for reference in document.references]
    known: dict[str, list[Span]] = {}
    for reference in found:
        known.setdefault(reference.target, []).append(reference.span)
    for spans in known.values():
        spans.sort()
    clauses = {section.number for section in document.sections if section.number}
    language = language_of(document.text)
    names = {anchor.name for anchor in document.anchors}
    for block in document.blocks:
        is_code = block.kind is BlockKind.CODE
        if block.kind is BlockKind.HEADING or (is_code and "§" not in block.span.of(document.text)):
            continue
        checkpoint()
        found.extend(() if is_code else _links(document.text, block.span, names))
        start, end = block.span.start, block.span.end
        for reference in find_references(document.text, start, end, clauses=clauses, language=language):
            if block.kind is BlockKind.CAPTION and reference.span.start - start <= 4:
                continue
            if is_code and not ("§" in reference.text and reference.target in clauses):
                continue
            if not _overlaps(reference.span, known.get(reference.target, ())):
                found.append(reference)
    return sorted(found, key=lambda reference: reference.span)


def _links(text: str, within: Span, names: Collection[str]) -> Iterator[Reference]:
    """Yield the links in braces that lead to named places of the document."""
    for match in check_each(_BRACED.finditer(text, within.start, within.end)) if names else ():
        name = match["braced"] or match["hashed"]
        if name in names:
            yield Reference(match.group(), ReferenceKind.LINK, f"#{name}", Span(match.start(), match.end()))


def _overlaps(span: Span, spans: Sequence[Span]) -> bool:
    """Tell whether a span overlaps one of several, which are in order and disjoint."""
    place = bisect_left(spans, span.end, key=lambda known: known.start) - 1
    return place >= 0 and spans[place].end > span.start


def names_document(reference: Reference) -> bool:
    """Tell whether a reference names its target in a form that means something outside its file: no anchor."""
    return reference.kind is not ReferenceKind.LINK or ":" in reference.target


def _normal(reference: Reference) -> Reference:
    match = _APPENDIX.match(reference.target)
    return replace(reference, target=f"Annex {match.group('letter')}") if match else reference
