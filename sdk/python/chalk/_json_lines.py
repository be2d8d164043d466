"""JSON without the json package, whose import alone takes longer than the rest of the host's start.

The interpreter's C scanner and encoder are used directly where they are what we know; otherwise the json package is.
"""

_WHITESPACE = " \t\n\r"


def _refuse_constant(name):
    raise ValueError("JSON has no " + name)


class _ScannerSettings:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)
    memo = {}


def _not_json(value):
    raise TypeError("not representable as JSON: " + type(value).__name__)


try:
    from _json import encode_basestring, make_encoder, make_scanner

    _scan = make_scanner(_ScannerSettings)

    def loads(text):
        """ValueError on anything but one JSON value."""
        text = text.strip(_WHITESPACE)
        try:
            value, end = _scan(text, 0)
        except (StopIteration, SystemError):
            # The scanner fails to raise its own errors where the json package is not loaded; that one says it well.
            import json

            return json.loads(text, parse_constant=_refuse_constant)
        if end != len(text):
            raise ValueError("characters after the JSON value, at " + str(end))
        return value

    def dumps(value):
        """One line. TypeError for what JSON cannot hold, ValueError for NaN, infinity and cycles."""
        # An encoder of its own each time: its table of open containers outlives an exception.
        encode = make_encoder({}, _not_json, encode_basestring, None, ":", ",", False, False, False)
        return "".join(encode(value, 0))

    if dumps([1, {"a": "b"}]) != '[1,{"a":"b"}]' or loads('[1,{"a":"b"}]') != [1, {"a": "b"}]:
        raise ImportError("an interpreter whose json internals differ")

except (ImportError, TypeError):
    import json

    def loads(text):
        return json.loads(text, parse_constant=_refuse_constant)

    def dumps(value):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_not_json)
