"""Task, Step, Judge, Score: what an environment's author subclasses."""


class StudentMisbehaviorError(Exception):
    """Raised by a hook, a judge or a tool when the student broke the rules: the step scores 0 and the run goes on."""


class Score:
    """A judge's word on one step. `score` is a finite number; the share of the task that was solved, by convention from
    0 to 1. With `continue_task` false the remaining steps are skipped and the run counts as failed."""

    def __init__(self, score, continue_task=True, explanation="", metadata=None):
        value = float(score)
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("a score must be a finite number, not " + repr(score))
        self.score = value
        self.continue_task = bool(continue_task)
        self.explanation = str(explanation)
        self.metadata = metadata

    def __repr__(self):
        return "Score(%r, continue_task=%r, explanation=%r)" % (self.score, self.continue_task, self.explanation)


class Judge:
    """Scores one step."""

    def evaluate(self, transcript):
        """Returns a Score, or a bare number. `transcript` is a chalk.Transcript of the run so far."""
        raise NotImplementedError(type(self).__name__ + ".evaluate is not written")


class Step:
    """One step of a task. Give the parts as keywords, or subclass and override them (a property is fine)."""

    name = None  # default: the class's name, or "step <number>" for a bare Step
    instructions = ""
    judge = None
    extra_config = {}

    def __init__(self, name=None, instructions=None, judge=None, extra_config=None):
        if name is not None:
            self.name = name
        if instructions is not None:
            self.instructions = instructions
        if judge is not None:
            self.judge = judge
        if extra_config is not None:
            self.extra_config = extra_config

    def solution(self):
        """What the agent "oracle" runs, as the student, in the place of a model: a program and its arguments, or that
        and a dict of environment variables. None: the step has none."""
        return None

    def pre_scoring_hook(self):
        """After the agent's last turn, before the judge."""

    def post_hook(self):
        """After the judge."""


class Task:
    """A task. The run config's `task_args` arrive as keywords of __init__."""

    seed = None  # the run config's `seed`, also in __init__
    name = None  # default: the class's name
    required_hardware = None
    system_prompt = None
    steps = ()

    def __init__(self, **args):
        self.args = args

    def configure_tools(self):
        """The tools that the student may call: @chalk.tool functions, and names of built-in ones ("bash",
        "read_file", "write_file", "edit_file")."""
        return []

    def pre_hook(self):
        """Prepares the sandbox. What it returns (JSON) goes into the transcript."""
        return None


def name_of_task(task):
    """Of a class or an instance."""
    cls = task if isinstance(task, type) else type(task)
    return task.name if isinstance(task.name, str) and task.name else cls.__name__


def name_of_step(step, index):
    if step.name:
        return step.name
    return "step %d" % (index + 1) if type(step) is Step else type(step).__name__
