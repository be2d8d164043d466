"""JSON Schema from a function's type hints and docstring, and the way back for arguments.

Neither typing nor inspect is imported: a hint made with them brings its module along, and is told by what it is.
"""

import sys
import types

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", bytes: "string"}
_LISTS = (list, tuple, set, frozenset)


class UnsupportedHint(TypeError):
    """A hint that has no JSON Schema."""


def _typing(name):
    module = sys.modules.get("typing")
    return getattr(module, name, None) if module else None


def _is_union(hint):
    return isinstance(hint, types.UnionType) or (
        getattr(hint, "__origin__", None) is not None and hint.__origin__ is _typing("Union")
    )


def _subclass(hint, module, name):
    base = getattr(sys.modules.get(module), name, None)
    return base is not None and isinstance(hint, type) and issubclass(hint, base)


def schema_of_hint(hint):
    """UnsupportedHint for a type that JSON has no counterpart of."""
    if hint is None:
        return {"type": "null"}
    if hint is _typing("Any") or hint is object:
        return {}
    if _subclass(hint, "enum", "Enum"):
        return {"enum": [member.value for member in hint]}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint in _LISTS:
        return {"type": "array"}
    if hint is dict:
        return {"type": "object"}
    if hasattr(hint, "model_json_schema"):
        return hint.model_json_schema()
    if hasattr(hint, "__dataclass_fields__"):
        return _schema_of_dataclass(hint)
    if _is_union(hint):
        return _schema_of_union(hint.__args__)
    origin, args = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if origin is not None and origin is _typing("Literal"):
        return {"enum": list(args)}
    if hasattr(hint, "__metadata__"):  # Annotated[type, "description"]
        schema = schema_of_hint(origin)
        words = [m for m in hint.__metadata__ if isinstance(m, str)]
        return {**schema, "description": words[0]} if words else schema
    if origin in _LISTS:
        return _schema_of_list(origin, args)
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of_hint(args[1])}
    raise UnsupportedHint("no JSON Schema for the type hint " + repr(hint))


def _schema_of_union(args):
    schemas = [schema_of_hint(a) for a in args]
    if all(set(s) == {"type"} for s in schemas):
        return {"type": [s["type"] for s in schemas]}
    return {"anyOf": schemas}


def _schema_of_list(origin, args):
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        schemas = [schema_of_hint(a) for a in args]
        return {"type": "array", "items": schemas, "minItems": len(args), "maxItems": len(args)}
    schema = {"type": "array", "items": schema_of_hint(args[0])}
    if origin in (set, frozenset):
        schema["uniqueItems"] = True
    return schema


def _schema_of_dataclass(cls):
    missing = sys.modules["dataclasses"].MISSING
    hints = hints_of(cls, sys.modules[cls.__module__].__dict__)
    fields = cls.__dataclass_fields__.values()
    required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    return _object({f.name: schema_of_hint(hints[f.name]) for f in fields}, required)


def _object(properties, required):
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def hints_of(owner, names):
    """The annotations of a function or class, evaluated where they are strings."""
    hints = getattr(owner, "__annotations__", {})
    return {k: eval(v, names) if isinstance(v, str) else v for k, v in hints.items()}


def schema_of_function(function, skip_first):
    """`skip_first` for a method. A parameter without a hint takes anything; one with a default is optional."""
    code = function.__code__
    if code.co_flags & 0x0C:  # *args, **kwargs
        raise UnsupportedHint("tool %s: *args and **kwargs have no JSON Schema" % function.__name__)
    if code.co_posonlyargcount > int(skip_first):
        raise UnsupportedHint("tool %s: arguments come by name, never by position only" % function.__name__)
    names = code.co_varnames[int(skip_first) : code.co_argcount + code.co_kwonlyargcount]
    hints = hints_of(function, function.__globals__)
    defaults = dict(function.__kwdefaults__ or {})
    if function.__defaults__:
        positional = code.co_varnames[: code.co_argcount]
        defaults.update(zip(positional[-len(function.__defaults__) :], function.__defaults__))
    described = split_docstring(function.__doc__)[1]
    properties = {}
    for name in names:
        try:
            schema = schema_of_hint(hints[name]) if name in hints else {}
        except UnsupportedHint as error:
            raise UnsupportedHint("tool %s, parameter %s: %s" % (function.__name__, name, error)) from None
        if name in described:
            schema = {**schema, "description": described[name]}
        if isinstance(defaults.get(name), (str, int, float, bool)):
            schema = {**schema, "default": defaults[name]}
        properties[name] = schema
    return _object(properties, [n for n in names if n not in defaults])


def split_docstring(text):
    """(description, {parameter: its description}) of a docstring with a Google-style "Args:" section."""
    lines = (text or "").expandtabs().strip().splitlines()
    description, parameters, current, indent = [], {}, None, None
    section = None
    for line in lines:
        word = line.strip()
        if word in ("Args:", "Arguments:", "Parameters:"):
            section = "args"
        elif word in ("Returns:", "Raises:", "Yields:", "Example:", "Examples:"):
            section = "other"
        elif section is None:
            description.append(word)
        elif section == "args" and word:
            depth = len(line) - len(line.lstrip())
            indent = depth if indent is None else indent
            head, colon, rest = word.partition(":")
            name = head.split("(")[0].strip()
            if depth <= indent and colon and name.isidentifier():
                current = name
                parameters[current] = rest.strip()
            elif current:
                parameters[current] = (parameters[current] + " " + word).strip()
    return "\n".join(description).strip(), parameters


def convert(hint, value):
    """A JSON value as the hint's type, as far as JSON lost it."""
    if isinstance(hint, type) and hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if _subclass(hint, "enum", "Enum"):
        return hint(value)
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__") and isinstance(value, dict):
        hints = hints_of(hint, sys.modules[hint.__module__].__dict__)
        return hint(**{k: convert(hints.get(k), v) for k, v in value.items()})
    if hasattr(hint, "__metadata__"):
        return convert(hint.__origin__, value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is bytes and isinstance(value, str):
        return value.encode()
    if _is_union(hint):
        return _convert_to_one_of(hint.__args__, value)
    origin, args = getattr(hint, "__origin__", hint), getattr(hint, "__args__", ())
    if origin in _LISTS and isinstance(value, list):
        if origin is tuple and args and args[-1] is not Ellipsis:
            return tuple(convert(a, v) for a, v in zip(args, value))
        return origin(convert(args[0], v) if args else v for v in value)
    if origin is dict and args and isinstance(value, dict):
        return {k: convert(args[1], v) for k, v in value.items()}
    return value


def _convert_to_one_of(hints, value):
    for hint in hints:
        if type(value) is hint:
            return value
    for hint in hints:
        if value is None or hint in (None, type(None)) or hint in _PLAIN:
            continue
        try:
            return convert(hint, value)
        except (ValueError, TypeError):
            continue  # not this member of the union; the schema has checked that one fits
    return value


def convert_arguments(function, arguments):
    hints = hints_of(function, function.__globals__)
    return {k: convert(hints[k], v) if k in hints else v for k, v in arguments.items()}
