"""Clauses that a text says it applies: "IEX 900, 3.12, applies" declares a link to clause 3.12 of IEX 900."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from knowledge_mcp.engine.core.designations import Designation, mentions_at
from knowledge_mcp.language.multilingual.places import CLAUSE_WORDS, OWNER_WORDS
from knowledge_mcp.language.requirements.denied import is_denied_before, is_denied_behind

_CLAUSE = r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){0,6}(?![\w.]\w)"
_CLAUSES = rf"(?P<clauses>{_CLAUSE}(?:(?:,|,?\s(?:and|und|et))\s{_CLAUSE}){{0,9}})"
_VERB = (
    r",?\s{1,3}(?:appl(?:y|ies)|(?:is|are)\sapplied|gilt|gelten|s['’]applique(?:nt)?)(?!\w)"
    r"(?!\s(?:not|only|nicht|nur|pas|que)\b)"
)
_APPLIES = re.compile(_VERB)
_BEHIND = re.compile(rf"\)?,?\s{{1,3}}(?:(?:{CLAUSE_WORDS})\s{{1,3}})?{_CLAUSES}{_VERB}")
"""After a designation: ", 3.12, applies", " clauses 3.12 and 3.13 are applied"."""
_BEFORE = re.compile(rf"(?:{CLAUSE_WORDS})\s{{1,3}}{_CLAUSES}\s{{1,3}}(?:{OWNER_WORDS})\s{{1,3}}\Z")
"""Before a designation that "applies" follows: "Clause 3.12 of"."""
_UNLESS = re.compile(
    r"\b(?:if|where|when(?:ever)?|whether|unless|until|instead|place of|except\w*|deviat\w*|wenn|falls|sofern|soweit"
    r"|statt|anstelle|außer|ob|si|lorsque|quand|sauf|au lieu)\b[^.;!?\n]{0,80}\Z",
    re.IGNORECASE,
)
"""What makes a sentence a condition or an exception."""
_SEEN = 120
"""Characters before a designation in which such words are searched."""
_NUMBER = re.compile(_CLAUSE)


class AppliedClauses:
    """Finds the clauses of documents with a designation that texts say they apply.

    Args:
        items: each with the designations of its document, its clause, and its id.
    """

    def __init__(self, items: Iterable[tuple[Sequence[Designation], str, str]]) -> None:
        self._known: dict[tuple[tuple[str, ...], str], list[tuple[Designation, str]]] = defaultdict(list)
        for designations, clause, own in items:
            for each in designations:
                self._known[each.core, clause].append((each, own))

    def in_text(self, text: str) -> set[str]:
        """Return the ids of the items in the clauses that a text says it applies."""
        found: set[str] = set()
        if not self._known or _APPLIES.search(text) is None:
            return found
        for designation, start, end in mentions_at(text):
            before = text[max(0, start - _SEEN) : start]
            behind, owned = _BEHIND.match(text, end), _BEFORE.search(before)
            said = behind or (owned if _APPLIES.match(text, end) else None)
            if said is None or _UNLESS.search(before) or is_denied_before(text, start):
                continue
            if behind is not None and is_denied_behind(text, behind.end()):
                continue
            for clause in _NUMBER.findall(said["clauses"]):
                known = self._known.get((designation.core, clause), ())
                found |= {own for each, own in known if _is_same(designation, each)}
        return found


def _is_same(named: Designation, own: Designation) -> bool:
    """Return whether a designation of the same number is that of a document; other editions have other clauses."""
    is_other_edition = named.edition and own.edition and named.edition != own.edition
    return not (is_other_edition or named.bodies.isdisjoint(own.bodies))
