"""Notes that are sections: "Note 5. Acquisitions" of financial statements, told from the notes below a clause.

A note below a clause is numbered anew in each clause, and is set like text. Where the notes of a document are numbered
throughout, and their first lines stand out and stand alone, they are its sections.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence

from knowledge_mcp.readers.pdf.candidates import Body, Candidate, is_strong

__all__ = ["numbered_notes"]

_NOTE = re.compile(r"note\s+(?P<number>\d{1,2})[A-Z]?\s*(?:[.:–—]|-\s)\s*[A-Z(]", re.IGNORECASE)
_FEWEST = 4
_LATEST_FIRST = 2
_LONGEST_STEP = 2


def numbered_notes(found: Sequence[Candidate], body: Body) -> list[Candidate]:
    """Pick the candidates that open a section named by the number of its note; none where the numbers begin anew."""
    styles: defaultdict[tuple[float, bool, str], list[Candidate]] = defaultdict(list)
    for candidate in found:
        alone = not (candidate.beside or candidate.flows or candidate.cut is not None)
        if alone and is_strong(candidate.line, body) and _NOTE.match(candidate.text):
            styles[candidate.line.style].append(candidate)
    return [candidate for members in styles.values() if _is_series(members) for candidate in members]


def _is_series(members: Sequence[Candidate]) -> bool:
    """Tell numbers that go up through the document; a note that is continued says its number again."""
    numbers = [int(match["number"]) for member in members if (match := _NOTE.match(member.text))]
    steps = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    apart = len(set(numbers)) >= _FEWEST and numbers[0] <= _LATEST_FIRST
    return apart and all(0 <= step <= _LONGEST_STEP for step in steps)
