"""What an environment imports: `from chalk import Task, Step, Judge, Score, tool`.

Nothing is loaded before it is named: an environment host starts once per run, and its start is part of every run's time.
"""

__version__ = "0.1.0"

_HOME_OF = {
    "Task": "_task",
    "Step": "_task",
    "Judge": "_task",
    "Score": "_task",
    "StudentMisbehaviorError": "_task",
    "tool": "_tools",
    "Tool": "_tools",
    "ToolResult": "_tools",
    "BUILTIN_TOOLS": "_tools",
    "report_progress": "_reports",
    "log": "_reports",
    "ProtectedStore": "_store",
    "run_as_student": "_student",
    "StudentProcess": "_student",
    "Transcript": "_transcript",
    "Event": "_transcript",
    "TaskStartedEvent": "_transcript",
    "TaskPreHookCompletedEvent": "_transcript",
    "StepStartedEvent": "_transcript",
    "MessageEvent": "_transcript",
    "ToolResultEvent": "_transcript",
    "LimitReachedEvent": "_transcript",
    "AgentCompletedEvent": "_transcript",
    "ArtifactSavedEvent": "_transcript",
    "ScoringEvent": "_transcript",
    "StepCompletedEvent": "_transcript",
    "TaskCompletedEvent": "_transcript",
    "ErrorEvent": "_transcript",
    "RunCancelledEvent": "_transcript",
    "LogEvent": "_transcript",
    "Location": "_paths",
    "STUDENT_WORKDIR": "_paths",
    "STUDENT_DATA": "_paths",
    "SHARED_DATA": "_paths",
    "ROOT_DATA": "_paths",
    "INTERMEDIATE_DATA": "_paths",
    "OUT_DIR": "_paths",
    "ENVIRONMENT_DIR": "_paths",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name):
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError("module 'chalk' has no attribute " + repr(name))
    value = getattr(__import__("chalk." + home, None, None, (name,)), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
