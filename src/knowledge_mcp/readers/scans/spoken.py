"""Which language recognised text is in, told by its commonest small words."""

from __future__ import annotations

import re

__all__ = ["LANGUAGES", "spoken_language"]

LANGUAGES = {
    "eng": ("English", "the of and to in is that for it with as was on are by this be from or an not which"),
    "fra": ("French", "le la les des et du une que qui dans est pour par sur au avec plus pas ce sont aux cette"),
    "deu": ("German", "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch werden"),
    "spa": ("Spanish", "el la los las de que en un una por con para del se es lo como al sus más este son"),
    "ita": ("Italian", "il di che la per un una del della con non sono le dei nel alla gli più anche questo"),
    "por": ("Portuguese", "o os as que do da dos das em um uma para com não por no na se mais ao como foi"),
    "nld": ("Dutch", "de het een van en in is dat op te zijn voor met die niet aan er ook als door worden"),
    "pol": ("Polish", "w i na z do nie się jest że to o przez od oraz dla po za jak są być który"),
    "swe": ("Swedish", "och att det som en på är av för med den till inte om ett har de vid kan från"),
}
"""Tesseract's code of each language, its name, and small words of which every fifth word of its texts is one."""
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST = 30
_SHARE, _AHEAD = 0.12, 1.5
"""Share of small words that makes a language, and how far it is ahead of the next: neighbours share some of them."""
_SETS = {code: frozenset(words.split()) for code, (_, words) in LANGUAGES.items()}


def spoken_language(text: str) -> str:
    """Return Tesseract's code of the language that a text is in; empty where it is none of ours or cannot be told."""
    words = _WORD.findall(text.lower())
    if len(words) < _FEWEST:
        return ""
    counts = sorted(((sum(word in own for word in words), code) for code, own in _SETS.items()), reverse=True)
    (most, best), (second, _) = counts[0], counts[1]
    return best if most >= _SHARE * len(words) and most >= _AHEAD * second else ""
