"""What kind of document this is, where it does not say: by metadata, title, file name and opening text."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from knowledge_mcp.model.document import Classification, Document, DocumentType

__all__ = ["DocumentClassifier"]

_OPENING = 6000
"""Code points of the opening text that are looked at."""

_METADATA_KEYS = ("document_type", "doc_type", "type", "category", "subject", "keywords")
_TITLE_WEIGHT = 4.0
_NAME_WEIGHT = 3.0
_METADATA_WEIGHT = 3.0
_TEXT_WEIGHT = 1.0
_ENOUGH = 2.0
_DENSE = 1.0
"""Mandatory words per thousand code points from which on they alone make a specification."""

_T = DocumentType
_WORDS: tuple[tuple[DocumentType, float, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, weight, tuple(stems.split("|")) if stems else (), re.compile(pattern))
    for kind, weight, stems, pattern in (
        (
            _T.HANDBOOK,
            1.5,
            "handbook|mil-hdbk|body of knowledge|compendium",
            r"\bhandbook\b|\bmil-hdbk\b|\bbody of knowledge\b|\bcompendium\b",
        ),
        (
            _T.GUIDE,
            1.2,
            "guid|tutorial|primer|how-to|how to|manual|best practice",
            r"\bguide(?:lines?|book)?\b|\bguidance\b|\btutorial\b|\bprimer\b|\bhow[- ]to\b|\bmanual\b|\bbest"
            r" practices?\b",
        ),
        (
            _T.POLICY,
            1.3,
            "polic|directive|regulation|executive order|code of conduct|bylaw|by-law",
            r"\bpolic(?:y|ies)\b|\bdirective\b|\bregulations?\b|\bexecutive order\b|\bcode of conduct\b|\bby-?laws?\b",
        ),
        (
            _T.SPECIFICATION,
            1.5,
            "spec|srs|sss|irs|interface control|icd|data item description|di-|mil-|rfc|protocol",
            r"\bspecifications?\b|\bspec\b|\bsrs\b|\bsss\b|\birs\b|\binterface control\b|\bicd\b"
            r"|\bdata item description\b|\bdi-[a-z]{4}-\d|\bmil-(?:prf|dtl|spec)-\d|\brfc\s?\d{3,5}\b|\bprotocol\b",
        ),
        (_T.SPECIFICATION, 0.5, "requirement", r"\brequirements?\b"),
        (
            _T.STANDARD,
            1.2,
            "",
            r"\bstandards?\b|\bmil-std\b|\b(?:iso|iec|ieee|en|din|bs|ansi|astm|asme|etsi"
            r"|itu-t)(?:/[a-z]++){0,6}+[ _-](?:std\.?\s)?[a-z]{0,3}\d{2,}"
            r"|\bnist[ _.-](?:sp|special publication)\b|\bfips\b|\brecommended practice\b|\bspecial publication\b",
        ),
        (
            _T.REPORT,
            1.1,
            "report|whitepaper|white paper|proceedings|findings|statistic|10-|master plan|investigation",
            r"\breports?\b|\bwhite ?paper\b|\bproceedings\b|\bfindings\b|\bstatistic(?:s|al)\b|\b10-[kq]\b"
            r"|\bmaster plan\b|\binvestigations?\b",
        ),
        (
            _T.REPORT,
            0.45,
            "study|analysis|assessment|survey|evaluation",
            r"\bstudy\b|\banalysis\b|\bassessment\b|\bsurvey\b|\bevaluation\b",
        ),
    )
)
"""Kind, weight, words of which a text holds one where the pattern may match (none: not told), and the pattern.

Searched in texts in lower case, which takes half the time of ignoring it; looking for the words first, a fifth of that.
"""
_CLAUSES = re.compile(
    r"^[^\w\n]*+(?:\d++\s+)?+(?:scope|normative references|terms and definitions|referenced documents)[^\w\n]*+$",
    re.I | re.M,
)
_SHALL = re.compile(r"\b(?:shall|SHALL|MUST)\b")


class DocumentClassifier:
    """Classify documents by words that name their kind (`ports.Classifier`).

    A kind named in the title counts most, then file name and metadata, then the opening text. A layout of scope,
    normative references and terms speaks for a standard, "shall" throughout for a standard or specification. Where
    nothing speaks clearly, the document is `custom`.
    """

    def __call__(self, document: Document) -> Classification:
        """Classify by name, title and opening text; what the document itself says wins."""
        said = document.document_type or _said(document)
        if said is not None:
            return Classification(said.value)
        scores = _scores(document)
        best = max(scores, key=lambda kind: scores[kind])
        return Classification((best if scores[best] >= _ENOUGH else DocumentType.CUSTOM).value)


def _said(document: Document) -> DocumentType | None:
    for key, value in document.metadata:
        if key.lower() in {"document_type", "doc_type"} and value.strip().lower() in {
            kind.value for kind in DocumentType
        }:
            return DocumentType(value.strip().lower())
    return None


def _scores(document: Document) -> dict[DocumentType, float]:
    title = document.title.lower()
    name = re.sub(r"[_+.]|%20", " ", PurePosixPath(document.source_uri).stem).lower()
    metadata = " ; ".join(value for key, value in document.metadata if key.lower() in _METADATA_KEYS).lower()
    opening = document.text[:_OPENING].lower()
    scores = dict.fromkeys(DocumentType, 0.0)
    for kind, weight, stems, pattern in _WORDS:
        for words, place in ((title, _TITLE_WEIGHT), (name, _NAME_WEIGHT), (metadata, _METADATA_WEIGHT)):
            if words and (found := list(pattern.finditer(words))):
                last = found[-1].end() / max(1, len(words))
                scores[kind] += weight * place * (0.8 + 0.2 * last)
        if not stems or any(map(opening.__contains__, stems)):
            mentions = min(3, sum(1 for _ in pattern.finditer(opening)))
            scores[kind] += weight * _TEXT_WEIGHT * mentions / 3
    clauses = len({match.group().strip(" \n#*0123456789.").lower() for match in _CLAUSES.finditer(document.text)})
    if clauses >= 2:
        scores[DocumentType.STANDARD] += 1.6 * clauses
    force = len(_SHALL.findall(document.text)) / max(1.0, len(document.text) / 1000)
    if force >= 0.5:
        scores[DocumentType.SPECIFICATION] += 1.0 if force < _DENSE else _ENOUGH
        scores[DocumentType.STANDARD] += 0.7
    return scores
