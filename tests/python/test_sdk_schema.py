"""JSON Schema from type hints and docstrings, and arguments on the way back."""

import dataclasses
import enum
import typing
import unittest

from chalk import Tool, tool
from chalk._schema import UnsupportedHint, convert, schema_of_hint, split_docstring


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    colour: Colour = Colour.RED


class Hints(unittest.TestCase):
    CASES = [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (typing.List[str], {"type": "array", "items": {"type": "string"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (int | None, {"type": ["integer", "null"]}),
        (typing.Optional[str], {"type": ["string", "null"]}),
        (int | list[int], {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}),
        (typing.Literal["a", 2], {"enum": ["a", 2]}),
        (typing.Any, {}),
        (Colour, {"enum": ["red", "blue"]}),
        (typing.Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (
            tuple[int, str],
            {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "integer"},
                    "colour": {"enum": ["red", "blue"]},
                },
                "additionalProperties": False,
                "required": ["x"],
            },
        ),
    ]

    def test_each_hint_has_its_schema(self):
        for hint, expected in self.CASES:
            with self.subTest(hint=hint):
                self.assertEqual(schema_of_hint(hint), expected)

    def test_a_hint_without_a_counterpart_is_refused_with_tool_and_parameter(self):
        def odd(thing: complex):
            pass

        with self.assertRaisesRegex(UnsupportedHint, "tool odd, parameter thing"):
            Tool(odd).input_schema

    def test_star_arguments_are_refused(self):
        def odd(*things):
            pass

        with self.assertRaisesRegex(UnsupportedHint, "tool odd"):
            Tool(odd).input_schema


class Functions(unittest.TestCase):
    def test_defaults_make_parameters_optional_and_docstrings_describe_them(self):
        @tool
        def search(query: "str", limit: int = 10, *, exact: bool = False, more: list[str] | None = None):
            """Searches the notes.

            Reads all of them.

            Args:
                query: what to look for,
                    in any case
                limit (int): at most so many
            Returns:
                the lines
            """

        schema = search.input_schema
        self.assertEqual(search.description, "Searches the notes.\n\nReads all of them.")
        self.assertEqual(schema["required"], ["query"])
        self.assertEqual(
            schema["properties"]["query"], {"type": "string", "description": "what to look for, in any case"}
        )
        self.assertEqual(
            schema["properties"]["limit"], {"type": "integer", "description": "at most so many", "default": 10}
        )
        self.assertEqual(schema["properties"]["exact"], {"type": "boolean", "default": False})
        self.assertFalse(schema["additionalProperties"])

    def test_a_decorated_method_leaves_self_out(self):
        class Holder:
            @tool
            def take(self, n: int):
                return (self, n)

        holder = Holder()
        self.assertEqual(list(holder.take.input_schema["properties"]), ["n"])
        self.assertEqual(holder.take(3), (holder, 3))

    def test_a_docstring_without_sections_is_the_description(self):
        self.assertEqual(split_docstring("Only words."), ("Only words.", {}))
        self.assertEqual(split_docstring(None), ("", {}))


class Arguments(unittest.TestCase):
    def test_json_values_become_what_the_hints_say(self):
        self.assertEqual(convert(Colour, "blue"), Colour.BLUE)
        self.assertEqual(convert(Point, {"x": 1, "colour": "blue"}), Point(1, 0, Colour.BLUE))
        self.assertEqual(convert(list[Colour], ["red"]), [Colour.RED])
        self.assertEqual(convert(set[int], [1, 1]), {1})
        self.assertEqual(convert(Point | None, {"x": 2}), Point(2))
        self.assertIsNone(convert(Point | None, None))
        self.assertEqual(convert(dict[str, Colour], {"a": "red"}), {"a": Colour.RED})
        self.assertIsInstance(convert(float, 1), float)
        self.assertIs(convert(float, True), True)

    def test_a_pydantic_like_model_validates_itself(self):
        class Model:
            @classmethod
            def model_validate(cls, value):
                return ("validated", value)

        self.assertEqual(convert(Model, {"a": 1}), ("validated", {"a": 1}))


if __name__ == "__main__":
    unittest.main()
