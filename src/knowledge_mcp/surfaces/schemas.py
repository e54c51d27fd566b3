"""JSON schemas as published: inlined, without noise that strict clients stumble over, and short.

Pydantic's own schemas say `anyOf: [X, null]` with `default: null` for what may be left out, point to `$defs`, and title
every field. Several clients refuse the first, some the second, and the third costs an assistant's tokens.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel

__all__ = ["input_schema", "output_schema"]

Schema = dict[str, Any]


def input_schema(model: type[BaseModel]) -> Schema:
    """Build the schema of a tool's arguments: one object without `$ref` or null; what is required comes first."""
    schema = _inlined(model.model_json_schema(mode="validation"))
    properties: Schema = schema.get("properties", {})
    required = [name for name in properties if name in schema.get("required", [])]
    schema["properties"] = {name: properties[name] for name in [*required, *properties]}
    schema["additionalProperties"] = False
    return schema


def output_schema(success: type[BaseModel], error: type[BaseModel]) -> Schema:
    """Build the schema of an answer: an object that is either the success or the error form.

    The root stays an object because clients of protocol revisions up to 2025-11-25 ask for one. An error's structured
    content must match too: the TypeScript SDK 1.x validates it even when the result says that it is an error.
    """
    # Not pydantic's "serialization" mode: it calls every field with a default required, and ours are left out.
    forms = [_inlined(form.model_json_schema(mode="validation")) for form in (success, error)]
    return {"type": "object", "anyOf": [_without_defaults(form) for form in forms]}


def _inlined(schema: Schema) -> Schema:
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
        kept = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
        return _clean({**variants[0], **kept}, definitions)
    return _clean(node, definitions)
