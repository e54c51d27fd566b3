"""Drafts questions from headings, definitions and requirements of documents, deterministically."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from knowledge_mcp.model.chunk import Chunk, Modality, Statement
from knowledge_mcp.model.collection import OutlineEntry
from knowledge_mcp.ports import Knowledge

KINDS = ("definition", "requirement", "heading")
"""What drafts are made from."""

_FRONT = re.compile(
    r"(?i)^(contents?|table of contents|list of (tables|figures)|foreword|preface|index|bibliography|references"
    r"|normative references|terms and definitions|definitions|acronyms|abbreviations|copyright|introduction|scope"
    r"|general|overview|purpose|notes?|examples?|appendix|annex( [a-z])?)$"
)
_MODAL = re.compile(
    r"\b(shall|must|is required to|are required to|has to|have to)\b( not\b)?( be\b)?(?: (\w+))?", re.IGNORECASE
)
_PARTICIPLE = re.compile(r"\w+(ed|en|wn)|done|made|kept|held|built|sent|set|put|run|met|read", re.IGNORECASE)
_SUBJECT = re.compile(r"(the|an?|each|every|all)\b.{1,90}$", re.IGNORECASE)
_CLAUSE = re.compile(r",| (is|are|was|has|have|can|may|if|when|that|which|it) ", re.IGNORECASE)
_MARKER = re.compile(r"^(?:[•*–—-]|\(?[a-z0-9]{1,3}[.)])\s+")
_LONGEST_QUOTE = 160
"""Maximum characters of a quote that locates an answer: long enough to be unique in most documents."""
_LONGEST_SUBJECT = 90
"""Maximum characters of a heading or term for a question; longer ones are sentences."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed question with the location of its answer; a person must review it before it counts."""

    kind: str
    question: str
    document: str
    clause: str | None
    page: int | None
    quote: str | None

    @property
    def id(self) -> str:
        """Id derived from the content, so that it stays the same when other drafts come and go."""
        place = f"{self.document}\n{self.clause}\n{self.question}"
        return f"{self.kind}-{hashlib.sha256(place.encode()).hexdigest()[:10]}"


def draft_questions(knowledge: Knowledge, *, per_kind: int = 10, documents: Sequence[str] = ()) -> list[Draft]:
    """Propose questions about each document.

    Args:
        knowledge: the knowledge base.
        per_kind: maximum number of drafts of each kind per document, spread evenly over the document.
        documents: ids; all by default.

    Raises:
        NotFoundError: a document does not exist.
    """
    chosen = [*documents] or [record.id for record in knowledge.documents()]
    found: list[Draft] = []
    for document_id in chosen:
        title = knowledge.document(document_id).title
        chunks = knowledge.document_chunks(document_id)
        made = {
            "definition": [*_definitions(chunks)],
            "requirement": [*_requirements(chunks)],
            "heading": [*_headings(document_id, title, knowledge.document_structure(document_id).sections, chunks)],
        }
        spread = [_spread(_unique(made[kind]), per_kind) for kind in KINDS]
        found.extend(draft for row in zip_longest(*spread) for draft in row if draft is not None)
    return _unique(found)


def drafts_as_jsonl(drafts: Sequence[Draft]) -> str:
    """Format drafts as a question file (JSON Lines), with each question marked as a draft."""
    return "".join(json.dumps(_fields(draft), ensure_ascii=False) + "\n" for draft in drafts)


def _fields(draft: Draft) -> dict[str, Any]:
    place = {"document": draft.document, "clause": draft.clause, "page": draft.page, "quote": draft.quote}
    return {
        "id": draft.id,
        "question": draft.question,
        **{name: value for name, value in place.items() if value is not None},
        "kind": draft.kind,
        "draft": True,
    }


def _unique(drafts: Sequence[Draft]) -> list[Draft]:
    """Keep the first of all drafts that ask the same question about the same document."""
    return list({(draft.document, draft.question.casefold()): draft for draft in reversed(drafts)}.values())[::-1]


def _spread(drafts: list[Draft], most: int) -> list[Draft]:
    if len(drafts) <= most:
        return drafts
    return [drafts[place * len(drafts) // most] for place in range(most)]


def _definitions(chunks: Sequence[Chunk]) -> Iterator[Draft]:
    for chunk in chunks:
        for each in chunk.definitions:
            term = " ".join(each.term.split())
            if 2 < len(term) <= _LONGEST_SUBJECT and len(each.text.split()) >= 4:
                quote = _quote_in(each.text, chunk)
                yield Draft(
                    "definition",
                    f"What does “{term}” mean?",
                    chunk.document_id,
                    each.clause_number or chunk.clause_number,
                    _page(chunk),
                    quote,
                )


def _requirements(chunks: Sequence[Chunk]) -> Iterator[Draft]:
    for chunk in chunks:
        for each in chunk.statements:
            if each.modality is not Modality.REQUIREMENT:
                continue
            question = _question_of(each, chunk.section_title)
            quote = _quote_in(each.text, chunk)
            if question is not None and quote is not None:
                clause = each.clause_number or chunk.clause_number
                yield Draft("requirement", question, chunk.document_id, clause, _page(chunk), quote)


def _question_of(statement: Statement, section: str) -> str | None:
    """Ask for what a sentence demands, without its words after the verb; None if it has no simple subject."""
    found = _MODAL.search(statement.text)
    if found is None:
        return None
    subject = re.split(r"[;:]\s", statement.text[: found.start()])[-1].strip(" ,-–—•*")
    if not _SUBJECT.match(subject) or _CLAUSE.search(subject) or not 2 <= len(subject.split()) <= 14:
        return None
    has_title = _has_title(section)
    if not has_title and len(subject.split()) < 4:
        return None  # every page demands something of "the system"
    subject, negated = f"{subject[:1].lower()}{subject[1:]}", " not" if found[2] else ""
    if found[3] and _PARTICIPLE.fullmatch(found[4] or ""):
        question = f"what must{negated} be done with {subject}?"
    else:
        question = f"what must {subject}{negated} {'be' if found[3] else 'do'}?"
    return f"{section.strip()}: {question}" if has_title else f"{question[:1].upper()}{question[1:]}"


def _headings(
    document_id: str, title: str, sections: Sequence[OutlineEntry], chunks: Sequence[Chunk]
) -> Iterator[Draft]:
    """Draft questions about sections by their titles; without an outline, by the section titles of passages."""
    found = [(each.number, each.title, each.page) for each in sections] or list(
        dict.fromkeys((chunk.clause_number, chunk.section_title, _page(chunk)) for chunk in chunks)
    )
    for number, heading, page in found:
        if len(heading.split()) >= 2 and _has_title(heading) and heading.casefold() != title.casefold():
            quote = heading if number is None and page is None else None
            if quote is not None and not any(heading in chunk.content for chunk in chunks):
                continue
            question = f"What does {title} say about “{heading}”?"
            yield Draft("heading", question, document_id, number, page if number is None else None, quote)


def _quote_in(text: str, chunk: Chunk) -> str | None:
    """Return an excerpt that occurs in the passage exactly, except for whitespace; None if there is none."""
    quote = _MARKER.sub("", " ".join(text.split()))
    if len(quote) > _LONGEST_QUOTE:
        quote = quote[:_LONGEST_QUOTE].rsplit(" ", 1)[0]
    return quote if quote in " ".join(chunk.content.split()) else None


def _has_title(heading: str) -> bool:
    """Return whether a heading says what its section is about."""
    return 1 <= len(heading.split()) <= 14 and not _FRONT.match(heading.strip())


def _page(chunk: Chunk) -> int | None:
    return chunk.page_numbers[0] if chunk.page_numbers else None
