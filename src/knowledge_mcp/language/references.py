"""Cross-references in running text: to clauses, annexes, tables, figures and other documents."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.model.document import BlockKind, Document, Reference, ReferenceKind, Span
from knowledge_mcp.support.checkpoints import checked, checkpoint

__all__ = ["document_references", "find_references", "is_named"]

_NUMBER = r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*"
_DEEP = r"(?:[A-Z](?:\.\d{1,3})+|\d{1,3}(?:\.\d{1,3})+)"
_PART = (
    rf"(?:,?\s+(?:clause|subclause|section|sec\.|§+)\s*(?P<part_named>{_NUMBER})"
    rf"|,\s+(?P<part_bare>{_DEEP})(?![\d.]*\d))"
)
_BODIES = r"(?:ISO|IEC|IEEE|EN|DIN|BS|ANSI|ASTM|ASME|SAE|ITU-T|ETSI|AIAA|EIA|CEN|CISPR|NASA|ECSS|UL)"
_DOCUMENTS = (
    rf"(?P<norm>{_BODIES}(?:[/ ](?:{_BODIES}|TS|TR|PAS|Guide|Std|Standard|STD)){{0,4}}[- ](?:(?:Std\.?|STD|TS|TR)\s)?"
    r"[A-Z]{0,4}[-.]?\d[\dA-Z]*(?:[-.]\d[\dA-Za-z]*){0,4}(?::\d{4})?)"
    r"|(?P<rfc>\[?RFC[\s ]?-?(?P<rfc_number>\d{3,5})\]?)"
    r"|(?P<bcp>\[?BCP[\s ]?(?P<bcp_number>\d{1,4})\]?)"
    r"|(?P<nist>(?:NIST[\s ])?(?:Special Publication|SP)[\s ](?P<nist_number>\d{3,4}-\d{1,3}[A-Z]?(?:-\d)?)"
    r"(?:[\s ](?:Rev(?:ision|\.)?|r)[\s ]?(?P<nist_revision>\d+))?)"
    r"|(?P<fips>FIPS(?:[\s ]PUB)?[\s -](?P<fips_number>\d{2,3}(?:-\d)?))"
    r"|(?P<mil>(?P<mil_kind>MIL-(?:STD|HDBK|PRF|DTL|SPEC|I|S|Q)|DOD-STD|DoD-STD)-(?P<mil_number>\d+[A-Z]?(?:\.\d+)?))"
    r"|(?P<did>DI-[A-Z]{3,4}-\d{5}[A-Z]?)"
)
_PATTERN = re.compile(
    rf"(?<![\w./-])(?=[A-Z\[§abcdfgiopstw])(?:(?:{_DOCUMENTS}){_PART}?"
    rf"|(?P<of>(?:[Ss]ections?|[Cc]lauses?|[Ss]ubclauses?|§)\s+(?P<of_number>{_NUMBER})\s+of\s+\[?(?P<of_document>RFC\s?\d{{3,5}})\]?)"
    rf"|(?P<annex>(?:see\s+|See\s+)?(?:[Aa]nnex|[Aa]ppendix|ANNEX|APPENDIX)\s+(?P<annex_number>[A-Z](?:\.\d{{1,3}})*|\d{{1,2}})(?![\w]))"
    rf"|(?P<table>(?:see\s+|See\s+)?(?:[Tt]able|TABLE)s?\s+(?P<table_number>(?:[A-Z][.-])?\d{{1,3}}(?:[-.]\d{{1,3}})*[a-z]?)(?![\w]))"
    rf"|(?P<figure>(?:see\s+|See\s+)?(?:[Ff]igure|FIGURE|[Ff]ig\.)s?\s+(?P<figure_number>(?:[A-Z][.-])?\d{{1,3}}(?:[-.]\d{{1,3}})*[a-z]?)(?![\w]))"
    rf"|(?P<clause>(?:(?:see|See|in|per|with)\s+)?(?:(?:[Cc]lause|[Ss]ubclause|[Ss]ection|[Pp]aragraph|CLAUSE|SECTION)s?\s+|(?<!§)§++\s*)"
    rf"(?P<clause_number>{_NUMBER}|[A-Z](?:\.\d{{1,3}})+)(?P<more>(?:\s*(?:,|and|or|to|through|–|,\s*and)\s+{_NUMBER}(?![\w%]))*)(?![\w%]))"
    rf"|(?P<see>(?:see|See|in accordance with|specified in|described in|defined in|given in|according to|of|by"
    rf"|in|with|to)\s+(?P<see_number>{_DEEP})"
    rf"(?P<see_more>(?:\s*(?:,|and|or|to|through|–)\s+{_DEEP})*)(?![\w%]|\s*(?:%|mm|cm|m|km|kg|g|s|ms|Hz|kHz|MHz|GHz|V|A|W|°|dB|MB|GB|KB|seconds|minutes)\b)))"
)
_ANY = re.compile(r"\d|[Aa]nnex|[Aa]ppendix|ANNEX|APPENDIX")
"""What every reference holds: a number, but for annexes, which have letters."""

_APPENDIX = re.compile(r"(?:Appendix|ANNEX|APPENDIX)\s+(?P<letter>[A-Z](?:\.\d+)*)\Z")
_WHITE = re.compile(r"\s+")
_UNSURE = frozenset({"of", "by", "in", "with", "to"})


def find_references(text: str, start: int = 0, end: int | None = None) -> list[Reference]:
    """List the cross-references in `text[start:end]`, in order, disjoint.

    Normal forms of targets: "5.3.1", "Annex B", "Table 4", "Figure 2", "IEEE 29148:2018 6.2", "RFC 9000",
    "NIST SP 800-53", "FIPS 140-3", "MIL-STD-498". "and 5.4", ", 5.5" after a clause give one reference each.
    """
    end = len(text) if end is None else end
    found: list[Reference] = []
    if _ANY.search(text, start, end) is None:
        return found
    for match in checked(_PATTERN.finditer(text, start, end)):
        found.extend(_read(match))
    return found


def _read(match: re.Match[str]) -> list[Reference]:
    span = Span(match.start(), match.end())
    shown = _WHITE.sub(" ", match.group())
    if match.group("of"):
        document = "RFC " + re.sub(r"\D", "", match.group("of_document"))
        return [Reference(shown, ReferenceKind.DOCUMENT, f"{document} {match.group('of_number')}", span)]
    for name, kind, word in (
        ("annex", ReferenceKind.ANNEX, "Annex"),
        ("table", ReferenceKind.TABLE, "Table"),
        ("figure", ReferenceKind.FIGURE, "Figure"),
    ):
        if match.group(name):
            return [Reference(shown, kind, f"{word} {match.group(name + '_number')}", span)]
    for name in ("clause", "see"):
        if match.group(name):
            return _clauses(match, name, shown, span)
    target = _document(match)
    part = match.group("part_named") or match.group("part_bare")
    return [Reference(shown, ReferenceKind.DOCUMENT, f"{target} {part}" if part else target, span)]


def _clauses(match: re.Match[str], name: str, shown: str, span: Span) -> list[Reference]:
    first = match.group(name + "_number")
    more = match.group("more" if name == "clause" else "see_more") or ""
    if name == "see" and match.group().split(None, 1)[0] in _UNSURE and first.count(".") < 2:
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

    Headings and code hold none, and a caption's own label is none. Known ones have the same normal form ("Appendix
    B" is "Annex B"); a found one that says the same as a known one at its place is left out.
    """
    found = [_normal(reference) for reference in document.references]
    known: dict[str, list[Span]] = {}
    for reference in found:
        known.setdefault(reference.target, []).append(reference.span)
    for spans in known.values():
        spans.sort()
    for block in document.blocks:
        if block.kind in {BlockKind.HEADING, BlockKind.CODE}:
            continue
        checkpoint()
        for reference in find_references(document.text, block.span.start, block.span.end):
            if block.kind is BlockKind.CAPTION and reference.span.start - block.span.start <= 4:
                continue
            if not _overlaps(reference.span, known.get(reference.target, ())):
                found.append(reference)
    return sorted(found, key=lambda reference: reference.span)


def _overlaps(span: Span, spans: Sequence[Span]) -> bool:
    """Tell whether a span overlaps one of several, which are in order and disjoint."""
    place = bisect_left(spans, span.end, key=lambda known: known.start) - 1
    return place >= 0 and spans[place].end > span.start


def is_named(reference: Reference) -> bool:
    """Tell whether a reference names its target in a form that means something outside its file: no anchor."""
    return reference.kind is not ReferenceKind.LINK or ":" in reference.target


def _normal(reference: Reference) -> Reference:
    match = _APPENDIX.match(reference.target)
    return replace(reference, target=f"Annex {match.group('letter')}") if match else reference
