"""Determines the force of one sentence: requirement, recommendation, permission, possibility, and negation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from knowledge_mcp.language.multilingual.force import FORCEFUL, forces, masked
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.multilingual.words import KEY_WORDS
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.support.checkpoints import check_each


@dataclass(frozen=True, slots=True)
class Convention:
    """How a document marks force.

    Attributes:
        capitals: only words in capitals carry force (BCP 14).
        can: CAN in capitals expresses possibility, as in publications that declare it next to SHALL and SHOULD.
        will: "will" is a requirement, as in lists of requirements that use both "shall" and "will".
        language: language of the words of force, as an ISO 639-1 code, one of `FORCEFUL`; empty for English.
        others: further languages of a multilingual document; their sentences have their own force.
    """

    capitals: bool = False
    can: bool = False
    will: bool = False
    language: str = ""
    others: tuple[str, ...] = ()

    def language_in(self, sentence: str) -> str:
        """Return the language of the words of force in a sentence, as `language`.

        In a multilingual document it is the sentence's own.
        """
        own = language_of(sentence) if self.others else ""
        return own if own in self.others else self.language


PLAIN = Convention()
"""Words carry force in any case (ISO, MIL-STD)."""


@dataclass(frozen=True, slots=True)
class Force:
    """The force of a sentence, and the offsets of the word that carries it (`[start, end)` in the sentence)."""

    modality: Modality
    negated: bool
    start: int
    end: int


RANK = {Modality.REQUIREMENT: 3, Modality.RECOMMENDATION: 2, Modality.PERMISSION: 1, Modality.POSSIBILITY: 0}
"""Order of the forces; the strongest has the highest number."""
_L = r"(?<![A-Za-z0-9-])(?<![A-Za-z0-9]_)"
_R = r"(?![A-Za-z0-9-])(?!_[A-Za-z0-9])"
_FREES = (
    r"(?P<frees>(?:[Ss]hall|SHALL|[Ww]ill|[Mm]ay|MAY|[Cc]an)\s*(?:not|NOT)\s+be\s+"
    r"(?:required|REQUIRED|obliged|obligated|bound)\s+to)"
)
"""A duty that is denied. "Must" is not among the verbs: in public repositories, 9 of 10 sentences with "shall not be
required to" free from something, and 9 of 10 with "must not be required to" demand something of a design.
"""
_CAPITALS = re.compile(
    rf"{_L}(?:{_FREES}|(?P<requirement>MUST|SHALL|REQUIRED)|(?P<recommendation>SHOULD|RECOMMENDED)|(?P<permission>MAY|OPTIONAL)"
    rf"|(?P<possibility>CANNOT|CAN)){_R}"
)
_BE = r"(?:is|are|be|been|being)"
_ENDS = r"(?=\s+(?:to|that|for|when|if|in|at|on|unless|only|by|within|during|under|until|while)\b|\s*[.;,:)|]|\s*\Z)"
_WEAK = (
    rf"(?<!would )(?<!could )(?<!might )(?<!may )(?<!can ){_BE}\s+(?:also\s+|not\s+|therefore\s+)?"
    rf"(?:required|mandatory|obligatory){_ENDS}"
    rf"|{_BE}\s+(?:strictly\s+)?(?:prohibited|forbidden){_ENDS}"
    rf"|{_BE}\s+not\s+(?:permitted|allowed|permissible|acceptable){_ENDS}"
    r"|(?:has|have)\s+to\s+be\b"
    r"|(?:is|are)\s+(?:not\s+)?to\s+be(?=\s+\w+(?:ed|en|wn|ept|ilt|ade|aid|ent|ut|et|ound|old)\b)"
)
_LEAVE = rf"{_BE}\s+(?:also\s+)?(?:permitted|permissible|allowed|optional){_ENDS}"
_PLAIN = re.compile(
    rf"(?=[sSmMwWbiahoncC]){_L}"
    rf"(?:{_FREES}|(?P<requirement>[Ss]hall|SHALL|(?<!\b[Aa] )[Mm]ust(?:n['’]t)?|MUST|(?P<will>[Ww]ill|[Ww]on['’]t)"
    rf"|(?P<weak>{_WEAK}))"
    rf"|(?P<recommendation>should(?:n['’]t)?|SHOULD|(?:is|are)\s+(?:strongly\s+|highly\s+|not\s+)*recommended"
    r"|ought(?:\s+not)?\s+to)"
    rf"|(?P<permission>may|MAY|need\s+not|(?P<leave>{_LEAVE}))"
    rf"|(?P<possibility>cannot|(?<!\b[Aa] )can(?:['’]t)?(?!\s+of\b))){_R}"
)
_NOT = re.compile(
    r"(?:\s*+\([^()\n]{0,200}+\)|,[^,;:()\n]{0,120}+,)?(?:\s*+(?:,\s*+)?\b(?:also|however|therefore|then|thus|in\s+general|generally|normally|under\s+normal\s+conditions),?)?"
    r"(?:\s+(?:not|never|neither|no\s+longer)\b(?!\s+only\b)|\s+under\s+no\s+circumstances?\b"
    r"|\s+(?:in\s+no\s+(?:case|event|way)|at\s+no\s+(?:time|point)|on\s+no\s+account)\b)",
    re.IGNORECASE,
)
_OR_NOT = re.compile(r"\s+or\s+(?:may|can|shall|should|must)\s+not\b", re.IGNORECASE)
_NO_SUBJECT = re.compile(
    r"\W*(?:no(?!\s+(?:later|more|less|fewer|earlier|matter|sooner)\b)|none|neither|nothing|nobody|never|in\s+no\s+(?:case|event|way)"
    r"|at\s+no\s+(?:time|point)|on\s+no\s+account|under\s+no\s+circumstances?)\b",
    re.IGNORECASE,
)
_MASK = re.compile(
    r"(?=[“\"‘'`])(?:“[^”]{0,400}+”|(?<![\w\"])\"[^\"\n]*+\"(?!\w)|(?<!\w)‘[^’\n]{0,400}?’(?!\w)|(?<!\w)'[^'\n]{1,40}'(?!\w)"
    r"|`+[^`\n]*`+)"
)
_KEY_WORDS = re.compile(r"key\s*words?\b", re.IGNORECASE)
_INTERPRETED = re.compile(r"\b(?:interpreted|RFC\s?-?2119|BCP\s?14|RFC\s?8174)", re.IGNORECASE)
_MODAL = r"(?:shall|should|must|may|can|will)(?:\s+not)?"
_SAYS = r"(?:indicates?|denotes?|means?|express(?:es)?|is\s+used|are\s+used|refers?|states?)"
_EXPLAINS = re.compile(
    rf"\b(?=[wtvka])(?:words?|terms?|verbs?|verbal\s+forms?|key\s?words?|auxiliary)\s+(?:form\s+)?"
    rf"(?:[\"“‘'*_`]+{_MODAL}\b|{_MODAL}(?:\s*+,?\s*+(?:and|or)?\s*+{_MODAL})*\s+{_SAYS}\b)"
    rf"|^\W*{_MODAL}[\"”’'*_`,]*\s+{_SAYS}\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\W*(?:if|when|whenever|where|wherever|unless|until|although|because|since|while|(?-i:Should))\b", re.IGNORECASE
)
_WEAK_CONTEXT = re.compile(
    r"\b(?:if|when|where|whenever|unless|what|which|that|as|than(?!\s*\d)|whether|who|until)\b[^,;:]*\Z", re.IGNORECASE
)
_DECLARED = re.compile(
    r"key\s*words?\b.{0,600}?\b(?:interpreted|RFC\s?-?2119|BCP\s?14|RFC\s?8174)", re.IGNORECASE | re.DOTALL
)
_CAPITAL_WORD = re.compile(rf"{_L}(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED){_R}")
_STRONG_CAPITAL = re.compile(rf"{_L}(?:MUST|SHALL){_R}")
_SMALL_WORD = re.compile(rf"{_L}(?:must|shall|should){_R}")
_SMALL_SHALL = re.compile(rf"{_L}shall{_R}")
_SEGMENT = re.compile(r"(?<=[.!?])\s+|\n+")
_WILL_WORD = re.compile(rf"{_L}will{_R}")
_OBLIGES = re.compile(rf"{_L}(?:[Ss]hall|[Mm]ust|[Ww]ill|[Ss]hould){_R}")
_SENTENCE_LENGTH = 8
_NEAR = 4000
"""Characters before and after a keyword that are read; ordinary sentences are shorter."""
_REQUIREMENTS_SHARE = 0.5
"""Share of sentences with a requirement or recommendation that makes a text a list of requirements."""
_KEY_WORDS_USED = 3
"""Capitalised words of force that must occur, with a declaration of RFC 2119 in another language, for only capitals to
count.
"""
_CAN_WORD = re.compile(r"\bCANNOT\b|[\"“‘]CAN[\"”’]")
_LOWER = re.compile(r"[a-z]")


def plain_in(language: str) -> Convention:
    """Return the convention of words in any case in a language, English if its words of force are not known."""
    return Convention(language=language) if language in FORCEFUL else PLAIN


def strongest_of(forces: Iterable[Force]) -> Force | None:
    """Return the strongest of several forces, the first of equal ones; None if there are none."""
    return max(forces, key=lambda force: RANK[force.modality], default=None)


def is_ban(force: Force, text: str) -> bool:
    """Return whether a permission is denied, which in English bans: "may not", "nothing may"; "need not" frees."""
    return force.negated and text[force.start : force.end].lower() == "may"


def detect_convention(text: str) -> Convention:
    """Detect how a whole document marks force, in each of its languages; see `_first_convention`."""
    first = _first_convention(text)
    others = tuple(code for code in _languages(text) if code in FORCEFUL and code != first.language)
    return replace(first, others=others) if others else first


_PARTS, _PART_LENGTH = 16, 2000
"""Number of samples of a text whose language is detected, and characters of each: about a dozen sentences."""
_LEAST_SHARE = 0.5
"""Smallest ratio of the samples of a language to those of the most frequent one; translations have similar lengths."""


def _languages(text: str) -> list[str]:
    """List the languages of a document that says everything in each of them; most documents have one."""
    step = max(len(text) // _PARTS, _PART_LENGTH)
    languages = Counter(language_of(text[start : start + _PART_LENGTH]) for start in range(0, len(text), step))
    del languages[""]
    return [code for code, count in languages.items() if count >= _LEAST_SHARE * max(languages.values())]


def _first_convention(text: str) -> Convention:
    """Detect how a whole document marks force in its main language.

    Only capitals count if the document declares BCP 14 or RFC 2119 and uses them, or if it uses them throughout: at
    least five times among ordinary sentences, with "shall" rarely in lower case and lower case not in the majority.
    Otherwise "will" also counts if the text is a list of requirements. A document in one of the languages `FORCEFUL`
    marks force with the words of its language.
    """
    language = language_of(text)
    if language in FORCEFUL:
        used = len(KEY_WORDS[language].findall(text)) >= _KEY_WORDS_USED and _INTERPRETED.search(text) is not None
        return Convention(capitals=used, language=language)
    capitals = sum(1 for line in text.splitlines() if _LOWER.search(line) for _ in _CAPITAL_WORD.finditer(line))
    if not capitals:
        return _plain_convention(text)
    small_shall = sum(1 for _ in _SMALL_SHALL.finditer(text))
    declared = _DECLARED.search(text) is not None
    if declared:
        used = capitals >= max(1, small_shall)
    else:
        small = sum(1 for _ in _SMALL_WORD.finditer(text))
        strong = sum(1 for _ in _STRONG_CAPITAL.finditer(text))
        used = capitals >= 5 and strong >= 3 and small_shall * 10 <= capitals and small <= capitals
    return Convention(capitals=True, can=_CAN_WORD.search(text) is not None) if used else _plain_convention(text)


def _plain_convention(text: str) -> Convention:
    """Detect whether "will" is a requirement: at least half of the sentences must require or recommend."""
    if _WILL_WORD.search(text) is None:
        return PLAIN
    sentences = [part for part in _SEGMENT.split(text) if len(part) >= _SENTENCE_LENGTH]
    obliging = sum(1 for part in sentences if _OBLIGES.search(part))
    return Convention(will=True) if obliging >= _REQUIREMENTS_SHARE * max(1, len(sentences)) else PLAIN


def force_of(sentence: str, convention: Convention = PLAIN) -> Force | None:
    """Return the strongest force in one sentence, the first of several, None if it has none; see `forces_of`."""
    return strongest_of(forces_of(sentence, convention))


def forces_of(sentence: str, convention: Convention = PLAIN) -> list[Force]:
    """List the forces in one sentence, in order.

    Words inside quotation marks or code, and sentences that explain the keywords themselves, have no force. In plain
    mode the words inside an opening condition ("If it must be moved, ...") have none either. "need not", "is not
    required" and "shall not be required to" are negated permissions, "is not permitted" is a negated requirement.
    """
    if language := convention.language_in(sentence):
        return _forces_in(sentence, language, capitals=convention.capitals)
    pattern = _CAPITALS if convention.capitals else _PLAIN
    if pattern.search(sentence) is None or _names_key_words(sentence) or _EXPLAINS.search(sentence):
        return []
    masked = _MASK.sub(lambda m: " " * len(m.group()), sentence)
    condition_end = 0
    if not convention.capitals and _CONDITION.match(masked):
        condition_end = max(masked.find(","), 0)
    begun = (match for match in check_each(pattern.finditer(masked)) if match.start() >= condition_end)
    found = (_judge(masked, match, convention) for match in begun)
    return [force for force in found if force is not None]


def _forces_in(sentence: str, language: str, *, capitals: bool) -> list[Force]:
    """List the forces of a sentence in another language; an English sentence is read by the English rules."""
    plain = masked(_MASK.sub(lambda m: " " * len(m.group()), sentence))
    found = [Force(*each) for each in check_each(forces(plain, language, capitals=capitals))]
    if not found and language_of(sentence) == "en":
        return forces_of(sentence, Convention(capitals=capitals))
    return found


def _names_key_words(sentence: str) -> bool:
    """Return whether a sentence names the keywords and how they are interpreted."""
    named = _KEY_WORDS.search(sentence)
    return named is not None and _INTERPRETED.search(sentence, named.end()) is not None


def _judge(sentence: str, match: re.Match[str], convention: Convention) -> Force | None:
    if match["frees"]:
        is_counted = not convention.capitals or match.group()[1].isupper()
        return Force(Modality.PERMISSION, True, match.start(), match.end()) if is_counted else None
    modality = Modality(next(name for name in RANK if match.group(name.value)))
    word = match.group()
    lowered = word.lower()
    before = sentence[max(match.start() - _NEAR, 0) : match.start()]
    if convention.capitals:
        if modality is Modality.POSSIBILITY and not convention.can:
            return None
        if lowered in {"required", "recommended", "optional"} and re.search(r"\bNOT\s+\Z", before):
            modality = Modality.PERMISSION if lowered == "required" else modality
            return Force(modality, True, match.start(), match.end())
    elif match.group("will"):
        if not convention.will:
            return None
    elif match.group("weak") or match.group("leave"):
        return _weak_force(match, before)
    inside = re.search(r"n['’]t\Z|\bnot\b|cannot\Z", lowered) is not None
    after = sentence[match.end() : match.end() + _NEAR]
    follows = _NOT.match(after) is not None and not _OR_NOT.match(after)
    subject = _NO_SUBJECT.match(_clause(before)) is not None
    return Force(modality, inside or follows or subject, match.start(), match.end())


def _weak_force(match: re.Match[str], before: str) -> Force | None:
    """Return the force of "is required", "is to be closed", "is not permitted"; None if they only qualify."""
    if _WEAK_CONTEXT.search(before):
        return None
    words = " ".join(match.group().lower().split())
    denied = " not " in f" {words} "
    nobody = _NO_SUBJECT.match(_clause(before)) is not None
    if match.group("leave"):
        kind = Modality.REQUIREMENT if nobody else Modality.PERMISSION
        return Force(kind, nobody, match.start(), match.end())
    if re.search(r"permitted|allowed|permissible|acceptable|prohibited|forbidden", words):
        return Force(Modality.REQUIREMENT, True, match.start(), match.end())
    if re.search(r"required|mandatory|obligatory", words) and (denied or nobody):
        return Force(Modality.PERMISSION, True, match.start(), match.end())
    return Force(Modality.REQUIREMENT, denied, match.start(), match.end())


def _clause(before: str) -> str:
    """Cut the text before a keyword down to the keyword's own clause."""
    cut = max(before.rfind(mark) for mark in (";", ":", ", and ", ", but ", ", or "))
    comma = before.rfind(", ")
    if _CONDITION.match(before):
        cut = max(cut, comma)
    return before[cut + 1 :] if cut >= 0 else before
