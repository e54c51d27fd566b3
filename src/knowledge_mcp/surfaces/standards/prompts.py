"""Prompts that a person may pick in a host: ready-made ways to use the tools."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge_mcp.surfaces.contract import Prompt, PromptArgument

__all__ = ["PROMPTS"]

_CITE = (
    "Support every statement with the citation of the passage it comes from, quote word for word where the wording "
    "matters and check each quote with knowledge_verify_quote, and say plainly what the documents do not answer."
)


def _find_requirements(arguments: Mapping[str, str]) -> str:
    standard = arguments.get("standard")
    scope = f" in the documents that match standard={standard!r}" if standard else ""
    call = f"topic={arguments['topic']!r}" + (f", standard={standard!r}" if standard else "")
    return (
        f"List the mandatory requirements on {arguments['topic']!r}{scope}.\n\n"
        f"Call knowledge_requirements with {call}; try two or three other wordings of the topic, and merge what you "
        "find. Give a table: clause number, the requirement word for word, citation. Keep prohibitions (shall not) as "
        f"they are, and leave out recommendations. {_CITE}"
    )


def _define_term(arguments: Mapping[str, str]) -> str:
    return (
        f"Define the term {arguments['term']!r} as the knowledge base does.\n\n"
        f"Call knowledge_lookup with term={arguments['term']!r}. Give each definition word for word with its citation, "
        "and where documents differ say in what. If the term is not found, look up the similar terms that the answer "
        f"names, then knowledge_search with chunk_type='definition'. {_CITE}"
    )


def _compare_standards(arguments: Mapping[str, str]) -> str:
    first, second, topic = arguments["first"], arguments["second"], arguments.get("topic")
    subject = f" on {topic!r}" if topic else ""
    topics = f"{topic!r}" if topic else "each main topic that both cover"
    return (
        f"Compare {first!r} with {second!r}{subject}.\n\n"
        "Call knowledge_stats to find the ids of both documents. Then, for "
        f"{topics}, call knowledge_search once with document_id set to the first and once to the second, and "
        "knowledge_requirements with standard set to each in turn. Give a table: topic, what the first says, what the "
        f"second says, the difference. Set mandatory statements apart from advice. {_CITE}"
    )


def _answer_with_citations(arguments: Mapping[str, str]) -> str:
    filters = "".join(
        f", {name}={arguments[name]!r}" for name in ("document_type", "chunk_type") if arguments.get(name)
    )
    return (
        f"Answer from the knowledge base: {arguments['question']}\n\n"
        f"Call knowledge_search with the question as query{filters}; where it names an identifier or an exact phrase, "
        "call knowledge_keyword_search too. Where a passage alone is not enough, call knowledge_read with its id as "
        f"chunk_id, before=1, after=1 and parents=true, or with the clause it stands in. {_CITE}"
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
        description="Give a term's definitions as the documents have them.",
        arguments=(PromptArgument("term", "The term, abbreviation or concept.", max_length=200),),
        render=_define_term,
    ),
    Prompt(
        name="compare_standards",
        title="Compare two standards",
        description="Set two documents side by side, on one topic or on all that both cover.",
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
)
"""All prompts of the surface, in the order in which they are listed."""
