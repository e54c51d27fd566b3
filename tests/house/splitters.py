"""What cuts or reads words, and texts that would make a careless one look at the same words again and again."""

from __future__ import annotations

import re
from collections.abc import Callable

from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.glossary.entries import expansion_fits, split_term
from knowledge_mcp.language.identifiers import requirement_identifier
from knowledge_mcp.language.names import Name, names_in, names_in_question, weight_of_words
from knowledge_mcp.language.quote_words import read_words
from knowledge_mcp.language.references import find_references
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.lexical.analyser import EnglishAnalyser

PUMPS = tuple(
    ("", body, "\x00")
    for body in (
        *"_a.1()[]{|`\"'“”‘*<>-:;,!…é \n\t",
        *(".\n", "a_", "a.", "1.", "(a", "a)", "[a", "`a", '"a', "“a", "1-a", "a::", "a/", "|a\n", "-\n", "\n\n"),
        *("shall ", "e.g. ", "a b", "key words ", "(a) ", " \n", "5.1 ", "and 5.4 "),
    )
)

SPLITTERS: dict[str, Callable[[str], object]] = {
    "names": names_in_question.__wrapped__,
    "the pattern of a name": lambda text: Name("a0-0-0", "a0-0-0", is_clause=False).pattern.search(f"a{text}"),
    "sentences": sentence_spans,
    "analyser": EnglishAnalyser().document_terms,
    "quotes": read_words,
    "symbols": names_in,
    "worth of words": weight_of_words,
    "identifiers": requirement_identifier,
    "references": find_references,
    "force": force_of,
    "convention": detect_convention,
    "terms": split_term,
    "expansions": lambda text: expansion_fits("API", text),
}
SPLITTERS["a careless one"] = lambda text: [text.count("a") + text.count("b") for _ in re.finditer("a", text)]
"""It looks through the whole text at every word, and must be found."""
