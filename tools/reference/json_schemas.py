"""JSON schemas of ``-o json`` output, from the shapes in ``output_shapes.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kafkabal.executor import Event
from kafkabal.reporting.report_as_nested_values import FORMAT_VERSION
from kafkabal.reporting.runs.events_as_json_lines import EVENTS_VERSION
from kafkabal.routing import WeightRecord

_SHAPES: Final = Path(__file__).parent / "output_shapes.yaml"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final = frozenset({"string", "integer", "number", "boolean"})
EVENTS: Final = "rebalance-events"
RECORDS: Final = "read-follow"
WEIGHTS: Final = "weights-record"


def schemas() -> dict[str, str]:
    """Text of each schema by file name, without the folder."""
    shapes: Mapping[str, Any] = yaml.safe_load(_SHAPES.read_text())
    complete = {command: _with_like_tables(shape, shapes) for command, shape in shapes.items()}
    found = {schema_name(command): document_schema(command, shape) for command, shape in complete.items()}
    found[EVENTS] = _event_schema()
    found[RECORDS] = _record_schema()
    found[WEIGHTS] = _weights_schema()
    return {f"{name}.schema.json": json.dumps(schema, indent=1) + "\n" for name, schema in found.items()}


def schema_name(command: str) -> str:
    """``rebalance-plan`` for ``rebalance plan``."""
    return command.replace(" --", "-").replace(" ", "-")


def _with_like_tables(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    """A shape with its ``tables_like`` expanded: the tables of another command, with an extra first column."""
    like = shape.get("tables_like")
    if like is None:
        return shape
    tables = {
        name: {
            "columns": {**like["first"], **shapes[like["command"]]["tables"][name]["columns"]},
            "patterns": {
                pattern: f"{text.removesuffix('?')}?"
                for pattern, text in shapes[like["command"]]["tables"][name].get("patterns", {}).items()
            },
        }
        for name in like["tables"]
    }
    return {**shape, "tables": {**shape["tables"], **tables}}


def document_schema(command: str, shape: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one command's document; ``x-csv-tables`` names the tables that ``-o csv`` may write."""
    facts, tables = shape.get("facts", {}), shape.get("tables", {})
    choices = shape.get("one_of_tables", [])
    optional = {*choices, *shape.get("optional_tables", [])}
    properties = {
        "kafkabal": _envelope(command, FORMAT_VERSION),
        "headline": {"type": "string"},
        "notes": {"type": "array", "items": {"type": "string"}},
        **{key: value_schema(text) for key, text in facts.items()},
        **{key: {"type": "array", "items": _row(table)} for key, table in tables.items()},
    }
    schema: dict[str, Any] = {
        "$schema": _DIALECT,
        "title": f"kafkabal {command} -o json",
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
        "x-csv-tables": choices or [*list(tables)[:1], *shape.get("optional_tables", [])],
    }
    if choices:
        schema["oneOf"] = [{"required": [key]} for key in choices]
    return schema


def value_schema(text: str) -> dict[str, Any]:
    """The schema of a type in the notation of ``output_shapes.yaml``."""
    bare = text.removesuffix("?")
    schema = _bare(bare)
    if bare == text:
        return schema
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


def _bare(text: str) -> dict[str, Any]:
    if text in _PLAIN:
        return {"type": text}
    if text.startswith("["):
        return {"type": "array", "items": value_schema(text[1:-1])}
    if text.startswith("map<"):
        return {"type": "object", "additionalProperties": value_schema(text[4:-1])}
    return {"enum": text.split("|")}


def _row(table: Mapping[str, Any]) -> dict[str, Any]:
    columns, patterns = table["columns"], table.get("patterns", {})
    row: dict[str, Any] = {
        "type": "object",
        "properties": {key: value_schema(text) for key, text in columns.items()},
        "required": list(columns),
        "additionalProperties": False,
    }
    if patterns:
        row["patternProperties"] = {pattern: value_schema(text) for pattern, text in patterns.items()}
    return row


def _envelope(command: str, version: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"command": {"const": command}, "version": {"const": version}},
        "required": ["command", "version"],
    }


def _event_schema() -> dict[str, Any]:
    """One line of a run's ``-o jsonl``: the envelope, which comes first, or an event with its time."""
    (events,), components = msgspec.json.schema_components([Event], ref_template="#/$defs/{name}")
    # docstrings are for readers of the code
    definitions = {name: {**schema} for name, schema in components.items()}
    for schema in definitions.values():
        schema.pop("description", None)
    head = {
        "type": "object",
        "properties": {
            "kafkabal": {
                "type": "object",
                "properties": {"command": {"type": "string"}, "version": {"const": EVENTS_VERSION}},
                "required": ["command", "version"],
            }
        },
        "required": ["kafkabal"],
    }
    timed = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}, "required": ["at"]}
    return {
        "$schema": _DIALECT,
        "title": "A line of kafkabal rebalance -o jsonl",
        "anyOf": [head, {"allOf": [timed, events]}],
        "$defs": definitions,
    }


def _record_schema() -> dict[str, Any]:
    """A line of ``read --follow``; bytes that are not UTF-8 have a key of their own."""
    header = {"type": "object", **_one_of_bytes("value", {"name": {"type": "string"}})}
    numbers = {key: {"type": "integer"} for key in ("partition", "offset", "timestamp_ms")}
    key, value = _one_of_bytes("key", {}), _one_of_bytes("value", {})
    return {
        "$schema": _DIALECT,
        "title": "A line of kafkabal read --follow -o json",
        "type": "object",
        "properties": {
            **numbers,
            **key["properties"],
            **value["properties"],
            "headers": {"type": "array", "minItems": 1, "items": header},
        },
        "required": list(numbers),
        "allOf": [{"oneOf": key["oneOf"]}, {"oneOf": value["oneOf"]}],
        "additionalProperties": False,
    }


def _one_of_bytes(name: str, others: Mapping[str, Any]) -> dict[str, Any]:
    """Text or null under a name, or base64 under another one; beside required properties."""
    encoded = f"{name}_base64"
    return {
        "properties": {
            **others,
            name: {"type": ["string", "null"]},
            encoded: {"type": "string", "contentEncoding": "base64"},
        },
        "required": list(others),
        "oneOf": [{"required": [name]}, {"required": [encoded]}],
        "additionalProperties": False,
    }


def _weights_schema() -> dict[str, Any]:
    """A record in the topic of published weights, which is also a line of ``route --publish -o jsonl``."""
    _, components = msgspec.json.schema_components([WeightRecord], ref_template="#/$defs/{name}")
    record = {**components["WeightRecord"], "title": "A record of the topic __kafkabal_weights"}
    record.pop("description", None)
    properties = record["properties"]
    # readers should know that it is always there, although writers need not set it
    properties["kafkabal_weights"] = {"const": 1}
    return {"$schema": _DIALECT, **record, "required": list(properties)}
