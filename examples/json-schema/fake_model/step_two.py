"""JSON Schema draft 7, without base URIs: a $ref is looked up in the root schema or by its full URI."""

import re
from urllib.parse import unquote

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


def check_array(schema, value, roots):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    if schema.get("uniqueItems") and any(same(a, b) for i, a in enumerate(value) for b in value[:i]):
        return False
    items = schema.get("items", True)
    if isinstance(items, list):
        rest = schema.get("additionalItems", True)
        if not all(check(items[i] if i < len(items) else rest, v, roots) for i, v in enumerate(value)):
            return False
    elif not all(check(items, v, roots) for v in value):
        return False
    return "contains" not in schema or any(check(schema["contains"], v, roots) for v in value)


def check_object(schema, value, roots):
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        return False
    if any(name not in value for name in schema.get("required", [])):
        return False
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, v in value.items():
        if not check(schema.get("propertyNames", True), name, roots):
            return False
        schemas = [known[name]] if name in known else []
        schemas += [s for pattern, s in patterns.items() if re.search(pattern, name)]
        if not all(check(s, v, roots) for s in schemas or [schema.get("additionalProperties", True)]):
            return False
    for name, needed in schema.get("dependencies", {}).items():
        if name in value:
            if isinstance(needed, list):
                if any(other not in value for other in needed):
                    return False
            elif not check(needed, value, roots):
                return False
    return True


def check_combined(schema, value, roots):
    if "if" in schema:
        branch = "then" if check(schema["if"], value, roots) else "else"
        if not check(schema.get(branch, True), value, roots):
            return False
    return (
        all(check(s, value, roots) for s in schema.get("allOf", []))
        and ("anyOf" not in schema or any(check(s, value, roots) for s in schema["anyOf"]))
        and ("oneOf" not in schema or sum(check(s, value, roots) for s in schema["oneOf"]) == 1)
        and ("not" not in schema or not check(schema["not"], value, roots))
    )


def follow(ref, roots):
    """The schema that a $ref means, and the documents to look in from there."""
    root, remotes = roots
    uri, _, fragment = ref.partition("#")
    target = remotes[uri] if uri else root
    roots = (target, remotes)
    for part in fragment.split("/")[1:]:
        part = unquote(part).replace("~1", "/").replace("~0", "~")
        target = target[int(part)] if isinstance(target, list) else target[part]
    return target, roots


def check(schema, value, roots):
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        schema, roots = follow(schema["$ref"], roots)
        return check(schema, value, roots)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        return False
    if "enum" in schema and not any(same(value, v) for v in schema["enum"]):
        return False
    if "const" in schema and not same(value, schema["const"]):
        return False
    if not check_combined(schema, value, roots):
        return False
    if is_number(value):
        return check_number(schema, value)
    if isinstance(value, str):
        return check_string(schema, value)
    if isinstance(value, list):
        return check_array(schema, value, roots)
    return check_object(schema, value, roots) if isinstance(value, dict) else True


def is_valid(schema, instance, remotes):
    return check(schema, instance, (schema, remotes))
