"""The student writes a JSON Schema validator (draft 7) in Python; the public test suite scores it, twice."""

from chalk import STUDENT_WORKDIR, Step, Task, run_as_student, tool

from environment.judging import PYTHON, SharePassed, suite_folder

INTERFACE = """Write /workdir/validator.py with a function

    is_valid(schema, instance, remotes) -> bool

that says whether `instance` is valid against `schema`, JSON Schema draft 7. All three are values as json.loads gives
them. `remotes` maps absolute URIs (without a fragment) to the documents a `$ref` may lead to; there is no network.
Use the standard library only. Each call has two seconds; an exception counts as a wrong answer. `format`, `content*`
and `default` need not be checked."""

FIRST = (
    INTERFACE
    + """

Begin with the keywords that look at one value: type, enum, const, those for numbers, strings, arrays and objects, and
boolean schemas."""
)

SECOND = """Now complete /workdir/validator.py: allOf, anyOf, oneOf, not, if/then/else, contains, propertyNames,
patternProperties, dependencies, and $ref, with $id and `remotes` as far as you get. The score is again the share of all
cases of the test suite."""

KEPT = {"extra_artifact_paths": ["/workdir/validator.py"]}


class JsonSchema(Task):
    name = "json-schema"
    system_prompt = "You are a careful programmer. Work with the tools you are given; the user cannot answer questions."
    steps = [
        Step(name="core keywords", instructions=FIRST, judge=SharePassed(), extra_config=KEPT),
        Step(name="the rest", instructions=SECOND, judge=SharePassed(), extra_config=KEPT),
    ]

    def configure_tools(self):
        return ["bash", "read_file", "write_file", "edit_file", self.save_validator]

    @tool
    def save_validator(self, source: str) -> str:
        """Saves the whole text of /workdir/validator.py and says whether Python can compile it.

        Args:
            source: Python source
        """
        saving = "import sys; text = sys.stdin.read(); open('validator.py', 'w').write(text); compile(text, 'validator.py', 'exec')"
        done = run_as_student([PYTHON, "-I", "-S", "-c", saving], input=source, cwd=STUDENT_WORKDIR, timeout=20)
        if done.exit_code == 0:
            return "saved; it compiles"
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        return "saved as far as possible; it does not compile: " + last[0]

    def pre_hook(self):
        if not (suite_folder() / "tests").exists():
            raise FileNotFoundError("root_data/ has no test suite; run setup_data.py of this environment first")
        return {"suite": "JSON Schema draft 7, required cases"}
