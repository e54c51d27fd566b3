"""Keep an answer within what an assistant can read: fewer results and a note, never a flood.

Hosts cut or refuse tool results beyond roughly 25,000 tokens, some of them silently; so we cut first, and say so. What
counts is tokens, not characters: see `token_estimate`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, cast, overload

from pydantic import BaseModel, ConfigDict, Field

from knowledge_mcp.model.errors import ErrorCode, KnowledgeError

_WORDS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"[0-9]{1,3}")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_BLANKS = re.compile(r"\s+(?![A-Za-z])")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def tokens_about(text: str) -> int:
    """Estimate the tokens of a text; more often too high than too low."""
    words, signs = _WORDS.findall(text), _SIGNS.findall(text)
    total = 0.8 * len(words) + 0.08 * sum(map(len, words))
    total += 1.1 * len(_DIGITS.findall(text))
    total += 0.7 * len(signs) + 0.2 * sum(map(len, signs))
    total += 0.8 * len(_BLANKS.findall(text))
    if not text.isascii():
        total += sum(_beyond_ascii(run) for run in _NOT_ASCII.findall(text))
    return round(total + 0.5)


def tokens_at_most(text: str) -> int:
    """Bound the tokens of a text from above at no cost: none is shorter than a byte."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _beyond_ascii(run: str) -> float:
    two = sum(character < "\u0800" for character in run)
    four = sum(character > "\uffff" for character in run)
    return 0.6 * two + 2.0 * (len(run) - two - four) + 2.5 * four


MAX_ANSWER_CHARACTERS = 96_000
"""Greatest `size_of` an answer, about 24,000 tokens; links come on top."""

ROOM_FOR_RESULTS = MAX_ANSWER_CHARACTERS - 4_000
"""Size that results may have together where an answer says itself how to go on."""

_OF_A_TOKEN = 4
"""Characters of a token of plain English, in which sizes are given."""
_NOTE = "The answer was cut to fit; ask for a part by a filter or limit, or search for what is missing."
_RESERVE = 400
"""Size kept free for the note that an answer was cut."""


class Truncation(BaseModel):
    """Tell that an answer was cut, and by how much."""

    omitted: int = Field(description="Results omitted at the end of the list.")
    note: str


NOT_CUT = Truncation(omitted=0, note="")
"""Default of `truncated` in every answer that holds a list."""


def compact(payload: Any) -> str:
    """Write JSON without a blank more than it needs, in UTF-8 characters rather than escapes."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


_FLAG, _NAME_OF_FLAG = "\U0001f3f4", re.compile("[\U000e0061-\U000e007a]{5}\U000e007f")
"""The flags of England, Scotland and Wales are followed by their names in Unicode tags."""
_MAYBE_UNSEEN = re.compile(
    "[\u200b-\u200d\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""One class of characters: it is searched in a third of the time of the pattern below, and most texts have none."""
_UNSEEN = re.compile(
    "[\u202a-\u202e\u2066-\u2069]|[\U000e0000-\U000e007f]+"
    "|[\u200b-\u200d\u2060\ufeff\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"  # letters and emoji need two at most
)


def with_escapes(text: str, backslash: str = "\\") -> str:
    r"""Write characters that nobody sees as escapes such as `\U000e0049`: they could carry words to the model alone.

    Documents are read without them. Source code, file names and titles from a file's properties are as they are.
    """
    if text.isascii() or _MAYBE_UNSEEN.search(text) is None:
        return text

    def shown(found: re.Match[str]) -> str:
        if text[found.start() - 1 : found.start()] == _FLAG and _NAME_OF_FLAG.fullmatch(found[0]):
            return found[0]
        return found[0].encode("unicode_escape").decode().replace("\\", backslash)

    return _UNSEEN.sub(shown, text)


def json_with_escapes(text: str) -> str:
    """Return JSON in whose texts such characters are written as `with_escapes` does."""
    return with_escapes(text, "\\\\")


def size_of(payload: Any) -> int:
    """Measure an answer's JSON in characters, as if every four of them were a token.

    It is the number of characters, or four times the estimated tokens where these are more: figures, tables and scripts
    other than Latin take far more tokens than plain English of their length.
    """
    text = compact(payload)
    return max(len(text), _OF_A_TOKEN * tokens_about(text))


def fits(payload: Any, room: int) -> bool:
    """Return whether `size_of` is at most `room`; a short answer costs nothing to tell."""
    return _fits(compact(payload), room)


def _fits(text: str, room: int) -> bool:
    if _OF_A_TOKEN * tokens_at_most(text) <= room:
        return True
    return len(text) <= room and _OF_A_TOKEN * tokens_about(text) <= room


def shorten(payload: dict[str, Any], items: str, limit: int = MAX_ANSWER_CHARACTERS) -> dict[str, Any]:
    """Drop results from the end until the answer's size is at most `limit`.

    At least one result is kept, its longest texts and lists cut where it alone is too long. `total`, where there is
    one, counts what is left; `truncated` says what went. `items` names the list; without one the answer is returned as
    it is.
    """
    return written(payload, items, limit)[0]


def written(payload: dict[str, Any], items: str, limit: int = MAX_ANSWER_CHARACTERS) -> tuple[dict[str, Any], str]:
    """Shorten an answer as `shorten` does; returns it with its JSON."""
    text = compact(payload)
    if not items or _fits(text, limit):
        return payload, text
    results = cast("list[dict[str, Any]]", payload.get(items, []))
    room = limit - _RESERVE - size_of({**payload, items: []})
    results_kept = results[: fitting_count(results, room)]
    if not results_kept and results:
        results_kept = [_cut(results[0], room - 1)]
    shortened = {**payload, items: results_kept}
    if "total" in payload:
        shortened["total"] = len(results_kept)
    shortened["truncated"] = Truncation(omitted=len(results) - len(results_kept), note=_NOTE).model_dump()
    return shortened, compact(shortened)


def fitting_count(results: Sequence[Any], room: int) -> int:
    """Count the results from the first on that fit into `room` together, the brackets of their list apart."""
    if fits(results, room):
        return len(results)
    count, left = 0, room
    while count < len(results) and (left := left - size_of(results[count]) - 1) >= 0:
        count += 1
    while count and not fits(results[:count], room + 2):  # estimated tokens of parts need not add up to those of all
        count -= 1
    return count


def _cut(result: dict[str, Any], room: int) -> dict[str, Any]:
    """Shorten the texts and lists of one result: the small ones stay whole, the large ones share the room left."""
    parts = sorted((key for key in result if isinstance(result[key], str | list)), key=lambda key: size_of(result[key]))
    cut = {**result, **dict.fromkeys(parts, "")}
    for place, key in enumerate(parts):
        share = (room - size_of(cut)) // (len(parts) - place)
        cut[key] = _within(result[key], share)
    return cut


def _within(value: str | list[Any], room: int) -> str | list[Any]:
    if fits(value, room):
        return value
    return _cut_text(value, room) if isinstance(value, str) else value[: fitting_count(value, room - 2)]


def _cut_text(text: str, room: int) -> str:
    """Cut a text, an ellipsis in place of its end; a tenth less at each try, for its parts are not equally dense."""
    length = len(text)
    while length:
        length = min(length * 9 // 10, length * max(room, 0) // size_of(text[:length]))
        if size_of(f"{text[:length]}…") <= room:
            break
    return f"{text[:length]}…"


Answerability = Literal["unlikely", "uncertain", "likely"]

CUT_FROM = "Context that the passage was split from and needs: a table's header and notes, a caption, a lead-in."
ABOUT = (
    "Rough estimate whether one of the ten best results answers. If unlikely, check the results, or say that the "
    "documents may not contain the answer."
)
"""What a schema says of the estimate."""

ALSO_ASKED = "Phrases also searched for, because the documents do not use the words of the query."
"""What a schema says of the list."""

_UNLIKELY, _LIKELY = 1 / 3, 2 / 3


@overload
def in_words(estimate: float) -> Answerability: ...
@overload
def in_words(estimate: None) -> None: ...
def in_words(estimate: float | None) -> Answerability | None:
    """Name the third of 0..1 that an estimate lies in; None for no estimate."""
    if estimate is None:
        return None
    if estimate < _UNLIKELY:
        return "unlikely"
    return "likely" if estimate > _LIKELY else "uncertain"


def round_score(score: float) -> float:
    """Keep a score within 0..1 and to two decimals, which is what a ranking means."""
    return round(min(max(score, 0.0), 1.0), 2)


MAX_DETAILS = 2000
"""Most characters of `message`, `details` and `suggestion` each; what is longer is cut with an ellipsis."""


class ErrorInfo(BaseModel):
    """Describe a failure to whoever asked."""

    model_config = ConfigDict(defer_build=True)

    code: ErrorCode
    message: str = Field(description="What went wrong, in one sentence.")
    details: str = Field(description="Technical details; may be empty.")
    recoverable: bool = Field(description="Whether a corrected or later call can succeed.")
    suggestion: str = Field(description="What to do next.")


class ErrorEnvelope(BaseModel):
    """Wrap the failure, so that an answer and an error differ by their one top-level name."""

    model_config = ConfigDict(defer_build=True)

    error: ErrorInfo


def render_error(error: KnowledgeError) -> dict[str, Any]:
    """Put an error into the form `{"error": {code, message, details, recoverable, suggestion}}`."""
    return {
        "error": {
            "code": error.code.value,
            "message": _short(error.message),
            "details": _short(error.details),
            "recoverable": error.recoverable,
            "suggestion": _short(error.suggestion),
        }
    }


def _short(text: str) -> str:
    return text if len(text) <= MAX_DETAILS else text[: MAX_DETAILS - 1] + "…"
