r"""Lists of synonyms, in the format of Solr and Elasticsearch.

```text
# two kinds of lines; a comma within a phrase is written \,
capex, capital spending                              # each phrase also finds the others
quick ratio => current assets, current liabilities   # the left side also finds the right side
```

Words of a question are never replaced; synonyms are searched in addition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.model.query import Wording
from knowledge_mcp.ports import Analyser
from knowledge_mcp.support.files import read_whole_text

SHIPPED = ("finance",)
"""Lists that come with the product, by name."""

_COMMA = re.compile(r"(?<!\\),")
_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase: as written, as terms of the analyser, and a pattern for what the terms lose, if anything.

    "R&D" is not "r" next to "d", and "DIO" is not a Spanish verb.
    """

    text: str
    terms: tuple[str, ...]
    literal: re.Pattern[str] | None

    def within(self, terms: Sequence[str], text: str) -> bool:
        """Return whether a text with these terms contains the phrase; a phrase without terms is never contained."""
        if not self.terms:
            return False
        size, first = len(self.terms), self.terms[0]
        there = any(
            term == first and tuple(terms[place : place + size]) == self.terms for place, term in enumerate(terms)
        )
        return there and (self.literal is None or self.literal.search(text) is not None)


class SynonymList:
    """Finds synonyms for the phrases of a question. Immutable, so thread-safe.

    Phrases are compared by the analyser's terms, so ignoring case, accents and plurals; phrases written in capitals
    match only capitals.

    Args:
        analyser: produces the terms.
        texts: name and content of each list.

    Attributes:
        size: number of lines with synonyms.
        unsearched: phrases that can never match, because they consist of stop words, such as "IT".

    Raises:
        ConfigError: a line has an empty phrase or only one phrase; names the list and the line.
    """

    def __init__(self, analyser: Analyser, texts: Mapping[str, str]) -> None:
        self._analyser = analyser
        self._rules: dict[str, list[tuple[_Phrase, list[str]]]] = {}
        unsearched: list[str] = []
        entries = 0
        for name, text in texts.items():
            for number, line in enumerate(text.splitlines(), start=1):
                content = line.strip()
                if content and not content.startswith("#"):
                    entries += 1
                    unsearched.extend(self._add(content, f"line {number} of {name}"))
        for rules in self._rules.values():
            rules.sort(key=lambda rule: -len(rule[0].terms))  # the longest matching phrase wins
        self.size = entries
        self.unsearched = tuple(unsearched)

    def wordings(self, question: str) -> tuple[Wording, ...]:
        terms = self._terms(question)
        found: dict[str, dict[str, None]] = {}
        place = 0
        while place < len(terms):
            step = 0
            for phrase, others in self._rules.get(terms[place], ()):
                if len(phrase.terms) < step:
                    break
                if phrase.within(terms[place : place + len(phrase.terms)], question):
                    found.setdefault(phrase.text, {}).update(dict.fromkeys(others))
                    step = len(phrase.terms)
            place += max(1, step)
        absent = {
            phrase: tuple(each for each in others if not self._phrase(each).within(terms, question))
            for phrase, others in found.items()
        }
        return tuple(Wording(phrase, others) for phrase, others in absent.items() if others)

    def contains_phrase(self, text: str, phrase: str) -> bool:
        return self._phrase(phrase).within(self._terms(text), text)

    def _add(self, line: str, where: str) -> list[str]:
        """Add one line, and return its phrases that can never match."""
        left, arrow, right = line.partition("=>")
        phrases = _phrases(left, where)
        others = _phrases(right, where) if arrow else phrases
        if not arrow and len(phrases) < 2:
            raise ConfigError(
                f"SYNONYMS: {where} has one phrase only.",
                suggestion="Write `a, b` or `a => b`; a line that begins with # is a remark.",
            )
        unsearched: list[str] = []
        for each in phrases:
            phrase = self._phrase(each)
            if phrase.terms:
                self._take(phrase, others)
            else:
                unsearched.append(each)
        return unsearched

    def _take(self, phrase: _Phrase, others: Sequence[str]) -> None:
        rules = self._rules.setdefault(phrase.terms[0], [])
        for known, more in rules:
            if (known.terms, known.literal) == (phrase.terms, phrase.literal):
                more.extend(each for each in others if each not in more)
                return
        rules.append((phrase, list(dict.fromkeys(others))))

    def _phrase(self, text: str) -> _Phrase:
        literal = None
        if text.isupper() or "&" in text:
            words = r"\s+".join(re.escape(word) for word in text.split())
            literal = re.compile(rf"(?<!\w){words}(?!\w)", 0 if text.isupper() else re.IGNORECASE)
        return _Phrase(text, tuple(self._terms(text)), literal)

    def _terms(self, text: str) -> list[str]:
        """List the terms in order, without the single characters that unspaced scripts give in addition to pairs."""
        return [term for term in self._analyser.document_terms(text) if len(term) > 1 or term.isascii()]


def from_options(names: Iterable[str], analyser: Analyser) -> SynonymList:
    """Read shipped lists by name, and the user's own files by path.

    Raises:
        ConfigError: a file cannot be read, is too large, is not UTF-8, or has an invalid line.
    """
    return SynonymList(analyser, {name: _content(name) for name in names})


def _content(name: str) -> str:
    if name in SHIPPED:
        return files("knowledge_mcp.lexical").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    path = Path(name).expanduser()
    try:
        return read_whole_text(path, most=_MOST_BYTES)
    except UnicodeDecodeError as exc:
        raise ConfigError(f"SYNONYMS names {path}, which is not UTF-8 text.", details=str(exc)) from exc
    except OSError as exc:
        raise ConfigError(
            f"SYNONYMS names {path}, which cannot be read ({exc.strerror or type(exc).__name__}).",
            suggestion=f"Name a file, or one of the lists that are shipped ({', '.join(SHIPPED)}), or `none`.",
        ) from exc


def _phrases(text: str, where: str) -> list[str]:
    phrases = [" ".join(part.replace("\\,", ",").split()) for part in _COMMA.split(text)]
    if not all(phrases):
        raise ConfigError(
            f"SYNONYMS: {where} has an empty phrase.",
            suggestion="Write `a, b` or `a => b`; a comma within a phrase is written \\, there.",
        )
    return phrases
