"""Tools: functions of the environment that the student's model may call."""

BUILTIN_TOOLS = ("bash", "read_file", "write_file", "edit_file")


class ToolResult:
    """What a tool answers when a plain string will not do."""

    def __init__(self, text="", is_error=False):
        self.text = str(text)
        self.is_error = bool(is_error)


class Tool:
    """A function with what a model needs to know of it. Calling a Tool calls the function."""

    def __init__(self, function, name=None, description=None, timeout_s=None, input_schema=None, instance=None):
        self.function = function
        self.name = name or function.__name__
        self.timeout_s = timeout_s
        self._description = description
        self._input_schema = input_schema
        self._instance = instance
        self.__doc__ = function.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return Tool(self.function, self.name, self._description, self.timeout_s, self._input_schema, instance)

    def __call__(self, *args, **kwargs):
        if self._instance is not None:
            return self.function(self._instance, *args, **kwargs)
        return self.function(*args, **kwargs)

    @property
    def description(self):
        if self._description is not None:
            return self._description
        from chalk._schema import split_docstring

        return split_docstring(self.function.__doc__)[0]

    @property
    def input_schema(self):
        """JSON Schema of the arguments, from the type hints and the docstring's "Args:" section."""
        if self._input_schema is None:
            from chalk._schema import schema_of_function

            self._input_schema = schema_of_function(self.function, self._instance is not None)
        return self._input_schema

    def definition(self):
        """As `configure_tools` reports it."""
        out = {"name": self.name, "description": self.description, "input_schema": self.input_schema}
        if self.timeout_s is not None:
            out["timeout_s"] = self.timeout_s
        return out

    def call_with_json(self, arguments):
        """Calls with a model's arguments, converted to what the hints say (enums, dataclasses, pydantic models)."""
        from chalk._schema import convert_arguments

        return self(**convert_arguments(self.function, arguments))


def tool(function=None, *, name=None, description=None, timeout_s=None, input_schema=None):
    """Makes a function a tool: `@tool` or `@tool(name="...", timeout_s=30)`. Works on methods of a task, too."""
    if function is None:
        return lambda f: Tool(f, name, description, timeout_s, input_schema)
    return Tool(function, name, description, timeout_s, input_schema)


def as_tool(value):
    """What configure_tools returned, as a Tool, or the name of a built-in one."""
    if isinstance(value, Tool):
        return value
    if isinstance(value, str):
        if value not in BUILTIN_TOOLS:
            raise ValueError("no built-in tool %r; there are %s" % (value, ", ".join(BUILTIN_TOOLS)))
        return value
    if hasattr(value, "__func__") and hasattr(value, "__self__"):
        return Tool(value.__func__, instance=value.__self__)
    if hasattr(value, "__code__"):
        return Tool(value)
    raise TypeError("configure_tools must return functions, chalk.Tool objects or names, not " + type(value).__name__)


def result_to_json(value):
    """A tool's return value as `call_tool`'s answer."""
    is_error = False
    if isinstance(value, ToolResult):
        value, is_error = value.text, value.is_error
    if value is None:
        text = ""
    elif isinstance(value, str):
        text = value
    elif isinstance(value, (bytes, bytearray)):
        text = bytes(value).decode("utf-8", "replace")
    else:
        from chalk._json_lines import dumps

        text = dumps(value.model_dump(mode="json") if hasattr(value, "model_dump") else value)
    return {"content": [{"type": "text", "text": text}], "is_error": is_error}
