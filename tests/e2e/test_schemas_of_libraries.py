"""The schemas that pydantic makes of its types, and zod of its own: each is bound, and whatever it generates validates."""
import enum
import ipaddress
import json
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import jsonschema
import pydantic
import pytest
from test_schema_suite import Walks, check_generated


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(pydantic.BaseModel):
    """A place."""

    x: int = pydantic.Field(ge=0, le=100, description="across")
    y: float = 0.5


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, pydantic.Field(multiple_of=3, ge=0)]


class Dog(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    kind: Literal["dog"]
    name: Annotated[str, pydantic.StringConstraints(min_length=2, max_length=10, pattern="^[A-Z]")]


class Tree(pydantic.BaseModel):
    value: Colour
    children: list["Tree"] = []


class Generic(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", json_schema_extra={"x-vendor": {"a": [1]}, "examples": [{}]})
    pair: tuple[int, str]
    any: Any
    old: Optional[Point] = pydantic.Field(default=None, deprecated=True)


TYPES = [
    pydantic.HttpUrl, pydantic.AnyUrl, pydantic.AnyHttpUrl, pydantic.UUID4, uuid.UUID, bytes, pydantic.Base64Bytes, pydantic.Base64Str, Path,
    pydantic.FilePath, pydantic.SecretStr, pydantic.SecretBytes, set[str], set[Literal["a", "b", "c"]], set[Colour], set[bool], frozenset[str],
    Annotated[set[str], pydantic.Field(min_length=1, max_length=3)], dict[Literal["a", "b"], int], dict[str, int], dict[Colour, Point],
    dict[Annotated[str, pydantic.StringConstraints(pattern="^[a-z]+$", max_length=8)], bool], dict[int, str],
    Annotated[int, pydantic.Field(multiple_of=7)], Annotated[float, pydantic.Field(multiple_of=0.5)], Annotated[int, pydantic.Field(gt=3, multiple_of=5)],
    Annotated[int, pydantic.Field(ge=-(2**63), le=2**63 - 1)], Annotated[int, pydantic.Field(ge=0, le=2**64 - 1)], Annotated[str, pydantic.Field(max_length=10**6)],
    Annotated[str, pydantic.Field(min_length=3, pattern="^[a-z]+$")], date, datetime, time, timedelta, Decimal, ipaddress.IPv4Address, ipaddress.IPv6Address,
    pydantic.Json, pydantic.Json[list[int]], Colour, Literal[1, "a", None, True], tuple[int, str], tuple[int, ...], tuple[()], list[Point], Optional[int],
    Union[Cat, Dog], Annotated[Union[Cat, Dog], pydantic.Field(discriminator="kind")], Tree, Generic, Point, pydantic.PositiveInt, pydantic.NonNegativeFloat,
    pydantic.StrictStr, pydantic.conlist(int, min_length=2, max_length=4), pydantic.constr(to_lower=True, max_length=5), pydantic.NaiveDatetime, complex,
    pydantic.ByteSize, pydantic.JsonValue, int | str | None, list[dict[str, Union[int, list[str]]]],
]
DRAFT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
WHOLE = 9007199254740991  # what zod calls a safe integer
ZOD = {
    "record": {**DRAFT, "type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "number"}},
    "record of an enum": {**DRAFT, "type": "object", "propertyNames": {"type": "string", "enum": ["a", "b"]}, "additionalProperties": {"type": "string"},
                          "required": ["a", "b"]},
    "set": {**DRAFT_7, "type": "array", "uniqueItems": True, "items": {"type": "string"}},
    "url with a least length": {**DRAFT, "type": "string", "format": "uri", "minLength": 12},
    "email": {**DRAFT, "type": "string", "format": "email", "pattern": "^[A-Za-z0-9_'+\\-.]*@[A-Za-z0-9\\-]+\\.[A-Za-z]{2,}$"},
    "int": {**DRAFT, "type": "integer", "minimum": -WHOLE, "maximum": WHOLE},
    "positive": {**DRAFT, "type": "integer", "exclusiveMinimum": 0, "maximum": WHOLE},
    "multipleOf": {**DRAFT, "type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 1000},
    "tuple": {**DRAFT_7, "type": "array", "minItems": 2, "maxItems": 2, "items": [{"type": "string"}, {"type": "number"}]},
    "tuple with a rest": {**DRAFT_7, "type": "array", "minItems": 1, "items": [{"type": "string"}], "additionalItems": {"type": "boolean"}},
    "tuple of 2020-12": {**DRAFT, "type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": False, "minItems": 2},
    "discriminated union": {**DRAFT, "oneOf": [
        {"type": "object", "properties": {"t": {"type": "string", "const": "a"}, "n": {"type": "number"}}, "required": ["t", "n"], "additionalProperties": False},
        {"type": "object", "properties": {"t": {"type": "string", "const": "b"}}, "required": ["t"], "additionalProperties": False}]},
    "intersection": {**DRAFT, "allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": {}},
                                        {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]},
    "never": {**DRAFT, "type": "object", "properties": {"a": {"not": {}}, "b": {"type": "boolean"}}, "required": ["b"], "additionalProperties": False},
    "starts with": {**DRAFT, "type": "string", "pattern": "^ab.*", "minLength": 4, "maxLength": 8},
    "both patterns": {**DRAFT, "type": "string", "allOf": [{"pattern": "^ab.{0,3}"}, {"pattern": "^[a-c]{2,6}$"}]},
    "loose integer": {"type": "integer", "enum": [1.0, 2]},
    "base64": {**DRAFT, "type": "string", "format": "base64", "contentEncoding": "base64"},
    "escaped reference": {"$ref": "#/$defs/My%20Type", "$defs": {"My Type": {"type": "boolean"}}},
    "chain": {"$ref": "#/$defs/d0", "$defs": {**{f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(60)}, "d60": {"type": "null"}}},
    "at least one": {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, "minProperties": 1, "maxProperties": 2},
    "dependent": {"type": "object", "properties": {"card": {"type": "integer"}, "address": {"type": "boolean"}}, "dependentRequired": {"card": ["address"]}},
    "condition": {"type": "object", "properties": {"country": {"enum": ["US", "NL"]}, "code": {"type": "string"}}, "required": ["country", "code"],
                  "if": {"properties": {"country": {"const": "US"}}}, "then": {"properties": {"code": {"pattern": "^[0-9]{5}$"}}},
                  "else": {"properties": {"code": {"pattern": "^[0-9]{4} [A-Z]{2}$"}}}},
    "not": {"type": "string", "not": {"enum": ["a", "b"]}, "maxLength": 1},
    "contains": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "contains": {"const": 3}, "maxContains": 2},
    "exclusive": {"oneOf": [{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False},
                            {"type": "object", "properties": {"a": {"enum": [True]}}, "required": ["a"], "additionalProperties": False}]},
    "prefix and items": {"allOf": [{"prefixItems": [{"type": "boolean"}, {"type": "integer"}]},
                                   {"type": "array", "items": {"type": ["integer", "boolean"]}, "minItems": 1, "maxItems": 2}]},
    "patterns and others": {"type": "object", "allOf": [{"properties": {"id": {"type": "null"}}, "additionalProperties": False},
                                                        {"patternProperties": {"^x[ab]$": {"type": "boolean"}}}]},
}


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    running = Walks(tmp_path_factory.mktemp("walks"))
    yield running
    running.close()


def check_bound(walks, schema):
    for narrow in (True, False):
        answer = walks.ask(schema=schema, narrow=narrow, walks=200, seed=3)
        assert "error" not in answer, f"{json.dumps(schema)}: {answer['error']}"
        check_generated(answer, jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema), json.dumps(schema))
        assert len(answer["generated"]) > 20, answer
    return answer


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: str(kind)[:50])
def test_pydantic(walks, kind):
    adapter = pydantic.TypeAdapter(kind)
    for mode in ("validation", "serialization"):
        check_bound(walks, adapter.json_schema(mode=mode))


@pytest.mark.parametrize("name", ZOD)
def test_zod_and_reports(walks, name):
    check_bound(walks, ZOD[name])


def test_what_two_of_oneof_take_is_not_generated(walks):
    texts = ['{"a":true}', '{"a":false}']
    assert walks.ask(schema=ZOD["exclusive"], texts=texts)["taken"] == [False, True]
    assert walks.ask(schema=ZOD["prefix and items"], texts=["[true]", "[true,5]", "[5]"])["taken"] == [True, True, False]
    assert walks.ask(schema=ZOD["patterns and others"], texts=['{"id":null}', '{"xa":true}'])["taken"] == [True, False]


def test_an_unknown_format_is_a_warning(walks):
    answer = walks.ask(schema={"type": "object", "properties": {"a": {"type": "string", "format": "colour"}}}, texts=['{"a":"red"}'])
    assert answer["taken"] == [True] and answer["warnings"] == ["at #/properties/a: format colour is not known and was ignored"]


def test_pydantic_reads_what_is_generated(walks):
    for kind in (Union[Cat, Dog], Tree, Generic, set[str], dict[Literal["a", "b"], int]):
        adapter = pydantic.TypeAdapter(kind)
        answer = walks.ask(schema=adapter.json_schema(), walks=100, seed=5)
        for text in answer["generated"]:
            adapter.validate_json(text)
