"""The words of a query in a passage: found in their forms, and never a character lost."""

from __future__ import annotations

import random

from tests.console.browser import Console

FORMS: list[tuple[str, str, list[str]]] = [
    ("verification of requirements", "Required: verify. Verified!", ["Required", "verify", "Verified"]),
    ("verify", "verifying, verifies", ["verifying", "verifies"]),
    ("clause 5.3.1", "See 5.3.1, not 5.3 or 15.3.1", ["5.3.1"]),
    ("REQ-12", "REQ-12 and REQ-13", ["REQ-12", "REQ"]),
    ("creme", "Crème", ["Crème"]),
    ("the", "the theory", ["the"]),
    ("what is the risk", "the risk is what", ["risk"]),
    ("authenticated users", "authentication of a user", ["authentication", "user"]),
    ("", "nothing", []),
    ("...", "?!", []),
]  # fmt: skip
LETTERS = [
    "a",
    "e",
    "REQ",
    "12",
    "-",
    ".",
    "_",
    "/",
    " ",
    "\n",
    "\t",
    "é",
    "ß",
    "İ",
    "漢字",
    "🙂",
    "<b>",
    "&amp;",
    "|",
    "'",
    "\u0301",
    "\u200b",
]


def _marked(console: Console, pairs: list[tuple[str, str]]) -> list[list[tuple[str, bool]]]:
    found: list[list[tuple[str, bool]]] = console.page.evaluate(
        """async (pairs) => {
            const { pieces, stemsOf } = await import("/console/highlight.js");
            return pairs.map(([query, text]) => pieces(text, stemsOf(query)));
        }""",
        [list(pair) for pair in pairs],
    )
    return found


def test_the_words_of_a_query_are_found_in_their_forms(console: Console) -> None:
    console.open(key=None)
    found = _marked(console, [(query, text) for query, text, _ in FORMS])
    marks = [[piece for piece, is_mark in pieces if is_mark] for pieces in found]
    assert marks == [expected for _, _, expected in FORMS]


def test_every_text_keeps_its_characters_when_words_are_marked(console: Console) -> None:
    console.open(key=None)
    chance = random.Random(7)
    pairs = [
        (
            "".join(chance.choices(LETTERS, k=chance.randrange(8))),
            "".join(chance.choices(LETTERS, k=chance.randrange(30))),
        )
        for _ in range(1000)
    ]
    found = _marked(console, pairs)
    assert ["".join(piece for piece, _ in pieces) for pieces in found] == [text for _, text in pairs]
    assert sum(is_mark for pieces in found for _, is_mark in pieces) > 300
    assert all(piece for pieces in found for piece, _ in pieces)
