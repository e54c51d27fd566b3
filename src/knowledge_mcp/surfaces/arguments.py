"""Arguments of a tool call: checked against the tool's model, and refused in words that help to correct them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix
from knowledge_mcp.surfaces.contract import Request

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def combine_filters(
    *,
    document_ids: Sequence[str] | None,
    document_type: str | None,
    chunk_type: ChunkType | None,
    normative: bool | None,
    clause_number: str | None,
    clause_exact: bool = False,
) -> Filter | None:
    """Build the engine's filter of what may narrow a search; None where nothing does."""
    parts: list[Filter] = []
    if document_type is not None:
        parts.append(Equals("document_type", document_type))
    if chunk_type is not None:
        parts.append(Equals("chunk_type", chunk_type.value))
    if normative is not None:
        parts.append(Equals("normative", normative))
    if document_ids is not None:
        parts.append(among_documents(document_ids))
    if clause_number is not None:
        number = number_of_clause(clause_number)
        parts.append(Equals("clause_number", number) if clause_exact else Prefix("clause_number", number))
    if len(parts) > 1:
        return And(tuple(parts))
    return parts[0] if parts else None


_ITEM = re.compile(r"\(?\w{1,4}\)")
_LETTERED = re.compile(r"[a-z](?:\.\d{1,4})*")


def number_of_clause(name: str) -> str:
    """Return the number in what a clause is called: "Annex B", "§ 5.3", "5.3 Control", and 5.3 for "5.3 a)"."""
    plain = " ".join(name.split()).rstrip(".")
    if _LETTERED.fullmatch(plain):
        return plain.upper()
    for written in (plain, plain.upper()):
        read = split_clause_number(written)
        is_title = written == plain and (read.title[:1].isupper() or _ITEM.fullmatch(read.title) is not None)
        if read.number and (read.title == written or is_title):
            return read.number
    return plain


def among_documents(ids: Sequence[str]) -> Filter:
    """Build the filter that keeps these documents only."""
    return Equals("document_id", ids[0]) if len(ids) == 1 else In("document_id", tuple(ids))


R = TypeVar("R", bound=Request)


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must be valid Unicode text")
    return value


def _whole(value: Any) -> Any:
    # JSON Schema calls 10.0 an integer, and some clients write their numbers so.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, AfterValidator(_not_blank)]
"""Text of more than blanks; combine with `Field(min_length=, max_length=)`."""

Question = Annotated[Text, Field(min_length=1, max_length=2000, description="A question or keywords.")]
"""What a search is asked."""


def _without_login(address: str) -> str:
    if "@" in re.split(r"[/?#]", address.partition("://")[2], maxsplit=1)[0]:
        raise ValueError("contains a user name or a password; remove it, because nothing is fetched with credentials")
    return address


WITHOUT_LOGIN = AfterValidator(_without_login)
"""Refuse an address with a user name or a password before it is logged or written down as a job's."""

WHOLE = BeforeValidator(_whole)
"""Take an integer also when it was written as 10.0. Stands after the bounds, or the schema loses them."""


def _without_bounds(schema: dict[str, Any]) -> None:
    for name in ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "maxProperties"):
        schema.pop(name, None)


UNSAID = Field(json_schema_extra=_without_bounds)
"""Bounds that are checked and not published: no meaningful call comes near them, and every word of a list costs."""


def one_or_list(what: str) -> BeforeValidator:
    """Let one text stand for a list of one; JSON text in place of a list is refused, not guessed at.

    Args:
        what: names what the list holds, in the plural.
    """

    def as_list(value: Any) -> Any:
        if isinstance(value, str):
            if value.lstrip().startswith("["):
                raise ValueError(f"send a list of {what}, not JSON text")
            return [value]
        return value

    return BeforeValidator(as_list)


def as_text(value: str | bool | float) -> str:
    """Write a value of a document's metadata as it is kept; true and false as JSON writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(model: type[R], arguments: Mapping[str, Any]) -> R:
    """Check arguments and build the request.

    Raises:
        InvalidInputError: names every field and what is wrong with it; a value that was refused is never repeated.
    """
    fields = sorted(model.model_fields.items(), key=lambda each: not each[1].is_required())
    known = [field.alias or name for name, field in fields]
    unknown = sorted(name for name in arguments if name not in known)
    if unknown:
        needed = [field.alias or name for name, field in fields if field.is_required()]
        raise _unknown_arguments(unknown, known, [name for name in needed if name not in arguments])
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as exc:
        raise _invalid(exc) from exc


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is the given one's first word, shares a word with it, or is most like it, or None."""
    by_fold = {candidate.casefold(): candidate for candidate in known}
    first_word = name.casefold().partition("_")[0]
    if first_word in by_fold:  # "from_document" is from, not document
        return by_fold[first_word]
    words = _words(name[:200])
    similar = [candidate for fold, candidate in by_fold.items() if words & _words(fold)]
    if similar and name.casefold() not in by_fold:  # "pages" is first_page, not parents
        by_fold = {candidate.casefold(): candidate for candidate in similar}
        return by_fold[
            max(by_fold, key=lambda fold: difflib.SequenceMatcher(None, name[:200].casefold(), fold).ratio())
        ]
    matches = difflib.get_close_matches(
        name[:200].casefold(), by_fold, n=1, cutoff=0.7
    )  # target is no misspelling of parents
    return by_fold[matches[0]] if matches else None


def _words(name: str) -> set[str]:
    return {word.removesuffix("s") for word in name.casefold().split("_") if len(word) > 2}


def _unknown_arguments(unknown: list[str], known: list[str], missing: list[str]) -> InvalidInputError:
    names = [name[:60] for name in unknown[:5]]
    hints = [f"Use '{near}' instead of '{name}'." for name in names if (near := nearest(name, known))]
    plural = "s" if len(unknown) > 1 else ""
    return InvalidInputError(
        f"Unknown argument{plural}: {', '.join(names)}.",
        details=f"This tool takes: {', '.join(known)}." if known else "This tool takes no arguments.",
        suggestion=" ".join(hints)
        or f"Remove {'them' if plural else 'it'}{''.join(f', give {name}' for name in missing)} and call again.",
    )


_MISSING = "is required"


def _invalid(exc: ValidationError) -> InvalidInputError:
    problems: dict[str, str] = {}
    for error in exc.errors(include_url=False):
        field = str(error["loc"][0]) if error["loc"] else "arguments"
        problems.setdefault(field, _problem(error))
    missing = [field for field, problem in problems.items() if problem == _MISSING]
    wrong = [field for field in problems if field not in missing]
    return InvalidInputError(
        " ".join(
            f"{what} {', '.join(fields)}."
            for what, fields in (("Missing:", missing), ("Invalid value for", wrong))
            if fields
        ),
        details="; ".join(f"{field}: {message}" for field, message in problems.items()),
        suggestion="Correct what `details` names, and call again.",
    )


def _problem(error: ErrorDetails) -> str:
    return _MISSING if error["type"] == "missing" else problem_in_words(error)


def problem_in_words(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value by one of pydantic's errors, without the value."""
    given = error.get("input")
    if error.get("type") == "too_long" and isinstance(given, str):
        # behind a validator of ours pydantic no longer knows that it counts a text
        return f"has {len(given)} characters, more than the {error['ctx']['max_length']} allowed"
    return str(error.get("msg", "is not valid")).removeprefix("Value error, ")


Schema = dict[str, Any]


def input_schema(model: type[BaseModel], *, whole: bool = False) -> Schema:
    """Build the schema of a tool's arguments: one object without `$ref` or null; what is required comes first.

    It is brief, like that of an answer. An optional argument has its type, values and default, a cursor its type only;
    there is no description where the name or another tool says it. The server checks all bounds. `whole` gives the
    full schema.
    """
    schema = _schema_of(model)
    properties: Schema = schema.get("properties", {})
    required = [name for name in properties if name in schema.get("required", [])]
    bounded = {*required, *getattr(model, "BOUNDED", ())}
    schema["properties"] = {
        name: properties[name] if whole or name in bounded else _brief_argument(name, properties[name])
        for name in [*required, *properties]
    }
    if not whole and issubclass(model, Request):
        for name, field in schema["properties"].items():
            if name in model.PLAIN | model.ELSEWHERE:
                del field["description"]
            if name in model.ELSEWHERE:
                schema["properties"][name] = {key: field[key] for key in ("type", "enum", "items") if key in field}
    schema["additionalProperties"] = False
    return schema


def output_schema(success: type[BaseModel], error: type[BaseModel], *, whole: bool = False) -> Schema:
    """Build the schema of an answer: an object that is either the success or the error form.

    The root stays an object because clients of protocol revisions up to 2025-11-25 ask for one. An error's structured
    content must match too: the TypeScript SDK 1.x validates it even when the result says that it is an error.

    Assistants read a list of tools before they ask anything. So it is brief: the names and types of the fields,
    and which of the outermost are always there. `whole` gives the full schema, for documentation.
    """
    # Not pydantic's "serialization" mode: it calls every field with a default required, and ours are left out.
    answer, wrong = (_without_defaults(_schema_of(form)) for form in (success, error))
    if whole:
        return {"type": "object", "anyOf": [answer, wrong]}
    always = [form["required"] for form in (answer, wrong) if "required" in form]
    return {
        "type": "object",
        "properties": {name: _type(field) for name, field in wrong["properties"].items()}
        | _brief(answer)["properties"],
        **({"anyOf": [{"required": names} for names in always]} if len(always) > 1 else {}),
    }


def _brief_argument(name: str, field: Schema) -> Schema:
    """Leave out bounds, and the default of what is off unless asked for."""
    keys = {"type", "enum", "items", "description"}
    if name != "cursor" and field.get("default") is not False:
        keys.add("default")
    brief = {key: value for key, value in field.items() if key in keys}
    if "items" in brief:
        brief["items"] = _brief_argument("", brief["items"])
    return brief


def _brief(node: Schema) -> Schema:
    """Keep the types of a schema, and the parts of what is always there."""
    brief = _type(node)
    if node.get("items", {}).get("type") in {"object", "array"}:
        brief["items"] = _brief(node["items"])
    if "properties" in node:
        always = node.get("required", [])
        brief["properties"] = {
            name: _brief(field) if name in always else _type(field)
            for name, field in cast("dict[str, Schema]", node["properties"]).items()
        }
    return brief


def _type(node: Schema) -> Schema:
    return {key: node[key] for key in ("type", "anyOf") if key in node}


def _schema_of(model: type[BaseModel]) -> Schema:
    """Build a model's schema without `$ref`; the caller may change it."""
    return _inline(dict(_generate(model)))


@cache  # all tools of a surface have one error, and making a schema is most of what a list of tools costs
def _generate(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(mode="validation")


def _inline(schema: Schema) -> Schema:
    schema.pop("description", None)  # a docstring, written for developers
    definitions = cast("dict[str, Schema]", schema.pop("$defs", {}))
    return cast("Schema", _clean(schema, definitions))


def _clean(node: Any, definitions: dict[str, Schema]) -> Any:
    if isinstance(node, list):
        return [_clean(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("Schema", node)
    if "$ref" in fields:
        target = dict(definitions[str(fields["$ref"]).removeprefix("#/$defs/")])
        target.pop("description", None)
        own_words = {key: value for key, value in fields.items() if key != "$ref"}
        return _clean({**target, **own_words}, definitions)
    cleaned: Schema = {}
    for key, value in fields.items():
        if key == "properties":
            cleaned[key] = {name: _property(value[name], definitions) for name in value}
        elif key != "title":
            cleaned[key] = _clean(value, definitions)
    return cleaned


def _without_defaults(node: Any) -> Any:
    """Drop defaults: in an answer, a field that is not there was not set, and nothing stands in for it."""
    if isinstance(node, list):
        return [_without_defaults(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("Schema", node)
    return {key: _without_defaults(value) for key, value in fields.items() if key != "default"}


def _property(node: Schema, definitions: dict[str, Schema]) -> Any:
    """Clean one property; what may be null only because it may be left out is published as the plain type."""
    variants = [variant for variant in node.get("anyOf", []) if variant != {"type": "null"}]
    if "default" in node and node["default"] is None and len(variants) == 1:
        rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
        return _clean({**variants[0], **rest}, definitions)
    return _clean(node, definitions)
