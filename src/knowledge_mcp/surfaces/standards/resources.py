"""Addresses that can be read: the list of documents, a document's text and outline, a passage; what completes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from knowledge_mcp.engine.core.citing import section_of
from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.answers import compact, shorten
from knowledge_mcp.surfaces.contract import Completer, Prompt, PromptArgument, Resource, ResourceContent
from knowledge_mcp.surfaces.standards.evidence import outline
from knowledge_mcp.surfaces.standards.evidence_shapes import OutlineRequest
from knowledge_mcp.surfaces.standards.passages import document_uri, documents_uri

_MAX_LIST_CHARACTERS = 200_000


def _list_documents(knowledge: Knowledge, start: str) -> ResourceContent:
    records = knowledge.documents()
    first = int(start) if start.isdecimal() else 0
    documents = [{**_facts(record), "uri": document_uri(record.id)} for record in records[first:]]
    listed = shorten({"documents": documents, "total_documents": len(records)}, "documents", _MAX_LIST_CHARACTERS)
    if (following := first + len(listed["documents"])) < len(records):
        listed["truncated"]["note"] = f"The list continues at {documents_uri(following)}."
    return ResourceContent(compact(listed), "application/json", {})


def _read_document(knowledge: Knowledge, document_id: str) -> ResourceContent:
    # The text is the canonical text and nothing else, so that spans and quotes hold; facts travel beside it.
    record = knowledge.document(document_id)
    return ResourceContent(knowledge.document_text(document_id), "text/plain", _facts(record))


def _read_chunk(knowledge: Knowledge, chunk_id: str) -> ResourceContent:
    chunk, citation = knowledge.chunk(chunk_id)
    facts: dict[str, Any] = {
        "document_id": chunk.document_id,
        "document_title": chunk.document_title,
        "document_uri": document_uri(chunk.document_id),
        "citation": citation,
        "section": section_of(chunk),
        "section_hierarchy": list(chunk.section_hierarchy),
        "page_numbers": list(chunk.page_numbers),
        "chunk_type": chunk.chunk_type.value,
        "normative": chunk.normative,
        "span": [chunk.span.start, chunk.span.end],
        **({"cut_from": chunk.cut_from} if chunk.cut_from else {}),
    }
    return ResourceContent(chunk.content, "text/plain", facts)


def _read_outline(knowledge: Knowledge, document_id: str) -> ResourceContent:
    record = knowledge.document(document_id)
    answer = outline(knowledge, OutlineRequest(document_id=record.id, depth=20, limit=200))
    return ResourceContent(compact(answer.sent()), "application/json", {})


def _facts(record: DocumentRecord) -> dict[str, Any]:
    return {
        "document_id": record.id,
        "document_title": record.title,
        "document_type": record.document_type,
        "source_path": record.source_path,
        "pages": record.pages,
        "chunk_count": record.chunk_count,
        "ingested_at": record.updated_at,
        "status": record.status.value,
        "metadata": dict(record.metadata),
        "warnings": list(record.warnings),
    }


def _complete_document(knowledge: Knowledge, typed: str) -> list[str]:
    """List ids that begin with what was typed, then those that hold it, then those whose title does."""
    part = typed.casefold()
    places: list[tuple[int, str]] = []
    for record in knowledge.documents():
        place = record.id.casefold().find(part)
        if place >= 0 or part in record.title.casefold():
            places.append((min(place, 1) if place >= 0 else 2, record.id))
    return [name for _, name in sorted(places)]


_DOCUMENTS = Completer(_complete_document, names_documents=True)


def _complete_of(values: Iterable[str]) -> Completer:
    known = tuple(values)
    return Completer(lambda _, typed: [value for value in known if value.startswith(typed.casefold())])


RESOURCES = (
    Resource(
        uri="knowledge://documents",
        name="documents",
        title="All documents",
        description="All ingested documents: id, title, type, pages, passages, time of ingest, address of the text. "
        "`?start=500` leaves out the first 500.",
        media_type="application/json",
        read=_list_documents,
    ),
    Resource(
        uri="knowledge://documents/{document_id}",
        name="document",
        title="A document's text",
        description="The full text of one document, each passage once, in order.",
        media_type="text/plain",
        read=_read_document,
        parameter="document_id",
    ),
    Resource(
        uri="knowledge://outlines/{document_id}",
        name="outline",
        title="A document's outline",
        description="The first 200 headings of one document, with clause numbers and pages.",
        media_type="application/json",
        read=_read_outline,
        parameter="document_id",
    ),
    Resource(
        uri="knowledge://chunks/{chunk_id}",
        name="chunk",
        title="A passage",
        description="One passage word for word; its location and citation are in the metadata.",
        media_type="text/plain",
        read=_read_chunk,
        parameter="chunk_id",
    ),
)
"""All resources of the surface, in the order in which they are listed."""

COMPLETERS: dict[str, Completer] = {
    "chunk_type": _complete_of(ChunkType),
    "document": _DOCUMENTS,
    "document_id": _DOCUMENTS,
    "document_type": _complete_of(DocumentType),
    "first": _DOCUMENTS,
    "second": _DOCUMENTS,
    "standard": _DOCUMENTS,
}
"""What completes an argument, by the argument's name."""

_CITE = (
    "Cite the passage behind every statement. Where the wording matters, quote word for word and check each quote "
    "with knowledge_verify_quote. Say plainly what the documents do not answer."
)


def _find_requirements(arguments: Mapping[str, str]) -> str:
    standard = arguments.get("standard")
    scope = f" in the documents that match standard={standard!r}" if standard else ""
    call = f"topic={arguments['topic']!r}" + (f", standard={standard!r}" if standard else "")
    return (
        f"List the mandatory requirements on {arguments['topic']!r}{scope}.\n\nCall knowledge_requirements with "
        f"{call}; try two or three other wordings of the topic, and merge the results. Write a table: clause "
        "number, the requirement word for word, citation. Keep prohibitions (shall not) as they are, and omit "
        f"recommendations. {_CITE}"
    )


def _define_term(arguments: Mapping[str, str]) -> str:
    return (
        f"Define the term {arguments['term']!r} as the documents in the knowledge base do.\n\nCall knowledge_lookup "
        f"with term={arguments['term']!r}. Give each definition word for word with its citation, and say how the "
        "documents differ. If the term is not found, look up the similar terms in the answer, then call "
        f"knowledge_search with chunk_type='definition'. {_CITE}"
    )


def _compare_standards(arguments: Mapping[str, str]) -> str:
    first, second, topic = arguments["first"], arguments["second"], arguments.get("topic")
    subject = f" on {topic!r}" if topic else ""
    topics = f"{topic!r}" if topic else "each main topic that both cover"
    return (
        f"Compare {first!r} with {second!r}{subject}.\n\nCall knowledge_stats to find the ids of both documents. "
        f"Then, for {topics}, call knowledge_search once with document_id set to the first and once to the second, "
        "and knowledge_requirements with standard set to each in turn. Write a table: topic, what the first says, "
        f"what the second says, the difference. Separate mandatory statements from advice. {_CITE}"
    )


def _answer_with_citations(arguments: Mapping[str, str]) -> str:
    filters = "".join(
        f", {name}={arguments[name]!r}" for name in ("document_type", "chunk_type") if arguments.get(name)
    )
    return (
        f"Answer from the knowledge base: {arguments['question']}\n\nCall knowledge_search with the question as "
        f"query{filters}; if the question names an identifier or an exact phrase, also call "
        "knowledge_keyword_search. If a passage alone is not enough, call knowledge_read with its id as chunk_id, "
        f"before=1, after=1 and parents=true, or with its clause. {_CITE}"
    )


def _name_editions(arguments: Mapping[str, str]) -> str:
    editions = "".join(f", {name}={arguments[name]!r}" for name in ("from", "to") if arguments.get(name))
    return f"document={arguments['document']!r}{editions}"


def _edition_review(arguments: Mapping[str, str]) -> str:
    return (
        f"Review what changed in {arguments['document']!r} from one edition to the next.\n\nCall knowledge_changes "
        f"with {_name_editions(arguments)}, and again with cursor set to next_cursor until you have all changes. "
        "Begin with what is binding: force (should to shall), limits and units, definitions, requirements added or "
        "withdrawn; then references, then words. List clauses that only moved or were renumbered separately. Write "
        "a table: clause in both editions, before and after word for word, both citations, and whom it concerns as "
        "far as the documents say so; mark your own judgement as such. List every page that could not be read: "
        f"changes on it are not detected. {_CITE}"
    )


def _what_changed_for_us(arguments: Mapping[str, str]) -> str:
    about = arguments.get("about")
    ours = (
        (f" We are interested in {about!r}: omit what does not concern it, and say how much you omitted.")
        if about
        else ""
    )
    call = _name_editions(arguments)
    return (
        f"Say what the new edition of {arguments['document']!r} changes for our own documents and "
        f"code.{ours}\n\nCall knowledge_impact with {call}, and again with cursor set to next_cursor until you have "
        f"all references; then call knowledge_changes with {call} for the clauses that they name. Group by our "
        "documents: the referring text word for word, the clause it refers to, what happened to that clause, both "
        "citations, and what must be checked. A dated reference still means the older edition: separate these from "
        "undated references, which follow the current edition. End with the changes that none of our documents "
        "refers to, force and limits first. References that do not use the designation are not found: say so, and "
        f"try knowledge_search for the changed subjects. {_CITE}"
    )


_DOCUMENT = PromptArgument("document", "Id, designation or title of any edition.", max_length=500)
_EDITIONS = (
    PromptArgument("from", "Older edition or its id; default: the previous one.", required=False, max_length=100),
    PromptArgument("to", "Newer edition or its id; default: the current one.", required=False, max_length=100),
)

PROMPTS = (
    Prompt(
        name="find_requirements",
        title="Find requirements",
        description="List the mandatory requirements on a topic, with clauses and citations.",
        arguments=(
            PromptArgument("topic", "What the requirements are about."),
            PromptArgument("standard", "Part of a document's id or title.", required=False, max_length=100),
        ),
        render=_find_requirements,
    ),
    Prompt(
        name="define_term",
        title="Define a term",
        description="Give the definitions of a term from the documents.",
        arguments=(PromptArgument("term", "The term, abbreviation or concept.", max_length=200),),
        render=_define_term,
    ),
    Prompt(
        name="compare_standards",
        title="Compare two standards",
        description="Compare two documents side by side, on one topic or on all topics that both cover.",
        arguments=(
            PromptArgument("first", "Id or title of the first document.", max_length=500),
            PromptArgument("second", "Id or title of the second document.", max_length=500),
            PromptArgument("topic", "What to compare them on.", required=False),
        ),
        render=_compare_standards,
    ),
    Prompt(
        name="answer_with_citations",
        title="Answer with citations",
        description="Answer a question from the documents, every statement with its source.",
        arguments=(
            PromptArgument("question", "The question.", max_length=2000),
            PromptArgument("document_type", "Only documents of this kind.", required=False, max_length=20),
            PromptArgument("chunk_type", "Only passages of this kind.", required=False, max_length=20),
        ),
        render=_answer_with_citations,
    ),
    Prompt(
        name="edition_review",
        title="Review a new edition",
        description="List what changed from one edition to the next, most important first, with both citations.",
        arguments=(_DOCUMENT, *_EDITIONS),
        render=_edition_review,
    ),
    Prompt(
        name="what_changed_for_us",
        title="What changed for us",
        description="Show which of your own documents and code a new edition affects, and how.",
        arguments=(
            _DOCUMENT,
            *_EDITIONS,
            PromptArgument("about", "What you are interested in, such as a product or a topic.", required=False),
        ),
        render=_what_changed_for_us,
    ),
)
"""All prompts of the surface, in the order in which they are listed."""
