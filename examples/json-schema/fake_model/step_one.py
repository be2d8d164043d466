"""JSON Schema draft 7: the keywords that look at one value."""

import re

NUMBER = (int, float)


def is_number(value):
    return isinstance(value, NUMBER) and not isinstance(value, bool)


TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: is_number(v) and v == int(v),
    "number": is_number,
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def check_number(schema, value):
    return (
        value >= schema.get("minimum", value)
        and value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
        and ("multipleOf" not in schema or value % schema["multipleOf"] == 0)
    )


def check_string(schema, value):
    return (
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        and re.search(schema.get("pattern", ""), value) is not None
    )


def check_array(schema, value):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    if schema.get("uniqueItems") and any(same(a, b) for i, a in enumerate(value) for b in value[:i]):
        return False
    items = schema.get("items", True)
    if isinstance(items, list):
        rest = schema.get("additionalItems", True)
        return all(check(items[i] if i < len(items) else rest, v) for i, v in enumerate(value))
    return all(check(items, v) for v in value)


def check_object(schema, value):
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        return False
    if any(name not in value for name in schema.get("required", [])):
        return False
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    return all(check(known.get(name, rest), v) for name, v in value.items())


def check(schema, value):
    if isinstance(schema, bool):
        return schema
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        return False
    if "enum" in schema and not any(same(value, v) for v in schema["enum"]):
        return False
    if "const" in schema and not same(value, schema["const"]):
        return False
    if is_number(value):
        return check_number(schema, value)
    if isinstance(value, str):
        return check_string(schema, value)
    if isinstance(value, list):
        return check_array(schema, value)
    return check_object(schema, value) if isinstance(value, dict) else True


def is_valid(schema, instance, remotes):
    return check(schema, instance)
