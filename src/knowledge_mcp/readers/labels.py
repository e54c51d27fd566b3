"""Openings by which a paragraph says what it is, in any format: captions, notes, examples, informative clauses."""

from __future__ import annotations

import re

from knowledge_mcp.model.document import ReferenceKind

__all__ = ["caption_label", "caption_target", "example_label", "informative_statement", "note_label"]

_MAX_CAPTION = 160
_CAPTION = re.compile(
    r"(?P<label>(?P<word>Table|Figure|Fig\.|Listing|Equation) (?:[A-Z][.-]?)?\d+(?:[.–-]\d+)*)\b(?P<rest>.*)", re.DOTALL
)
_CAPTION_KINDS = {"table": ReferenceKind.TABLE, "figure": ReferenceKind.FIGURE, "fig.": ReferenceKind.FIGURE}
_TITLED = re.compile(r"\s*(?:[:.—–-]\s*\S|[A-Z])")
_AFTER_LABEL = r"(?:[ \t]*[:—–-]|\s)\s*\S"
_NOTE = re.compile(rf"(?P<label>(?:NOTE|Note)S?(?: \d+(?: to entry)?)?){_AFTER_LABEL}")
_NOTE_IN_PROSE = re.compile(r"Note (?!\d)(?!to )[^:—–-]{0,3}[^\W\d_]")
_EXAMPLE = re.compile(rf"(?P<label>(?:EXAMPLE|Example)[Ss]?(?: \d+)?)(?P<after>{_AFTER_LABEL})")
_FORCE = re.compile(
    r"This (?:section|clause|subclause|annex|appendix|part|document) is (?P<force>informative|non-normative|"
    r"not normative|normative)(?:\.|,? and .{0,200})?",
    re.IGNORECASE,
)


def caption_label(text: str, *, is_sure: bool = False) -> str | None:
    """Return the label ("Table 3") of a text that is a caption, None where it is none.

    "Table 3 shows ..." is a sentence and no caption, unless the layout says otherwise (`is_sure`).
    """
    match = _CAPTION.match(text.strip())
    if match is None:
        return None
    rest = match.group("rest")
    if not is_sure and (len(rest) > _MAX_CAPTION or not _TITLED.match(rest) or rest.rstrip().endswith((";", ","))):
        return None
    return " ".join(match.group("label").split())


def caption_target(label: str) -> tuple[ReferenceKind, str] | None:
    """Return kind and normal form of what a caption's label names, None for listings and the like."""
    word, _, number = label.partition(" ")
    kind = _CAPTION_KINDS.get(word.lower())
    return (kind, f"{'Figure' if kind is ReferenceKind.FIGURE else 'Table'} {number}") if kind else None


def note_label(text: str) -> str | None:
    """Return the label ("NOTE 2") of a text that is a note; "Note that ..." is a sentence."""
    match = _NOTE.match(text.lstrip())
    if match is None or _NOTE_IN_PROSE.match(text.lstrip()):
        return None
    return match.group("label")


def example_label(text: str) -> str | None:
    """Return the label ("EXAMPLE 1") of a text that is an example; "Example code is ..." is a sentence."""
    match = _EXAMPLE.match(text.lstrip())
    if match is None:
        return None
    label, after = match.group("label"), match.group("after")
    is_plain_word = label.istitle() and not any(c.isdigit() for c in label)
    return None if is_plain_word and not re.match(r"[ \t]*[:—–-]", after) else label


def informative_statement(text: str) -> bool | None:
    """Read "This clause is informative." and the like: True, False for normative, None for anything else."""
    match = _FORCE.fullmatch(" ".join(text.split()).strip("_* "))
    return match.group("force").lower() != "normative" if match else None
