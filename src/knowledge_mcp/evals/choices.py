"""Which public sets took part in the choice of which constants: a good figure on one of these is partly a fit."""

from __future__ import annotations

_CHOSEN = {
    "the blend of both legs and its feedback": (
        "cranfield",
        "medline",
        "scifact",
        "mtrag-un",
        "xquad-en",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-warc",
        "req2code-etour",
        "commits-gin-go",
        "cosqa-dev",
    ),
    "words and the second search in repositories": (
        "commits-flask-py",
        "req2code-libest",
        "swe-lite-pytest",
    ),
    "the reading of reports in repositories": ("swe-lite-sympy", "swe-lite-pytest"),
    "answerability": (
        "cranfield",
        "medline",
        "scifact",
        "mtrag-un",
        "xquad-en",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-gannt",
        "req2req-warc",
    ),
    "the multilingual model's unit and answerability": (
        "xquad-en",
        "xquad-de",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-gannt",
        "req2req-warc",
    ),
    "the list of synonyms for finance": ("financebench",),
}
"""The names of the sets' folders by what was chosen with them, from the decision records."""


def choices_by(name: str) -> str:
    """Say in one sentence what was chosen with a public set, by the name of its folder."""
    chosen = [what for what, sets in _CHOSEN.items() if name in sets]
    if chosen:
        return f"This set took part in choosing {'; '.join(chosen)}: its figures are partly a fit."
    return "No constant of ranking was chosen with a set of this name."
