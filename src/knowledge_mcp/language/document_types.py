"""What kind of document this is, where it does not say: by metadata, title, file name and opening text."""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from knowledge_mcp.model.document import Classification, Document, DocumentType

__all__ = ["DocumentClassifier", "PlanningClassifier", "PlanningType"]

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

_TABLES: dict[str, Any] = tomllib.loads(
    files("knowledge_mcp.language").joinpath("document_types.toml").read_text(encoding="utf-8")
)
_WORDS: tuple[tuple[DocumentType, float, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (DocumentType(each["type"]), each["weight"], tuple(each.get("stems", ())), re.compile("|".join(each["words"])))
    for each in _TABLES["kind"]
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
        kind = value.strip().lower()
        if key.lower() in {"document_type", "doc_type"} and kind in set(DocumentType):
            return DocumentType(kind)
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


class PlanningType(StrEnum):
    """Kinds of planning document."""

    TRANSPORT_ASSESSMENT = "transport_assessment"
    DESIGN_ACCESS_STATEMENT = "design_access_statement"
    SITE_PLAN = "site_plan"
    FLOOR_PLAN = "floor_plan"
    ELEVATION = "elevation"
    PLANNING_STATEMENT = "planning_statement"
    ENVIRONMENTAL_STATEMENT = "environmental_statement"
    NOISE_ASSESSMENT = "noise_assessment"
    FLOOD_RISK_ASSESSMENT = "flood_risk_assessment"
    ECOLOGY_REPORT = "ecology_report"
    HERITAGE_STATEMENT = "heritage_statement"
    ARBORICULTURAL_REPORT = "arboricultural_report"
    OTHER = "other"


_PLANNING_OPENING = 20_000
"""Characters of the text that are looked at."""

_BY_NAME: tuple[tuple[PlanningType, re.Pattern[str]], ...] = tuple(
    (PlanningType(each["type"]), re.compile(rf"\b(?:{'|'.join(each['names'])})\b")) for each in _TABLES["planning"]
)
_BY_WORDS = {
    PlanningType(each["type"]): tuple(re.compile(pattern, re.IGNORECASE) for pattern in each["words"])
    for each in _TABLES["planning"]
}
_FEWEST_KEYWORDS = 2
_PLANNING_ENOUGH = 4.0
_MOST_MENTIONS = 6


class PlanningClassifier:
    """Classify planning documents (`ports.Classifier`).

    A pattern in the file name decides with a confidence of 0.95 (0.85 where names of two kinds stand in it: the one
    named first wins), the words of the opening 20,000 characters with 0.5 to 0.75, by how clearly they speak. Where
    neither does it is `other`, with 0.2.
    """

    def __call__(self, document: Document) -> Classification:
        """Classify by name, then by text."""
        by_name = _by_name(document.source_uri)
        if by_name is not None:
            return by_name
        by_words = _by_words(f"{document.title}\n{document.text[:_PLANNING_OPENING]}")
        return by_words or Classification(PlanningType.OTHER.value, 0.2, "neither name nor words tell")


def _by_name(uri: str) -> Classification | None:
    name = _plain(PurePosixPath(uri).stem)
    found: list[tuple[int, PlanningType, str]] = []
    for kind, pattern in _BY_NAME:
        match = pattern.search(name)
        if match is not None:
            found.append((match.start(), kind, match.group()))
    if not found:
        return None
    _, kind, words = min(found, key=lambda one: one[0])
    return Classification(kind.value, 0.95 if len(found) == 1 else 0.85, f"file name: {words.strip()}")


def _plain(stem: str) -> str:
    """Write a file name's stem as words: `TransportAssessment_v2` becomes `transport assessment v2`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", stem.replace("%20", " "))
    return " ".join(re.sub(r"[\W_]+", " ", spaced.replace("&", " and ")).lower().split())


def _by_words(text: str) -> Classification | None:
    """Score each kind by its keywords: how many different ones stand in the text, and a little by how often."""
    scores: list[tuple[float, int, PlanningType]] = []
    for kind, patterns in _BY_WORDS.items():
        mentions = [min(_MOST_MENTIONS, sum(1 for _ in pattern.finditer(text))) for pattern in patterns]
        different = sum(1 for count in mentions if count)
        scores.append((different + sum(mentions) / _MOST_MENTIONS, different, kind))
    scores.sort(key=lambda one: -one[0])
    (best, different, kind), (second, _, _) = scores[0], scores[1]
    if different < _FEWEST_KEYWORDS or best < _PLANNING_ENOUGH - 1.5 or best - second < 0.3:
        return None
    clear = min(1.0, (best - second) / _PLANNING_ENOUGH)
    return Classification(kind.value, round(0.5 + 0.25 * clear, 2), f"{different} keywords in the text")
