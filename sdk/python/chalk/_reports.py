"""What a tool says while it runs: how far it is, and log lines. An MCP client that called it hears both, if it asked to."""

import sys

_LEVELS = ("debug", "info", "warning", "error")
_send = None  # of the host's wire; None where an environment's code runs without chalk
_running_tool = None  # returns the id of the tool call that runs, or None


def connect(send, running_tool):
    global _send, _running_tool
    _send, _running_tool = send, running_tool


def report_progress(done, total=None, message=""):
    """Says that `done` of `total` is done, in whatever unit the tool likes; `done` has to grow. Outside of a tool's call
    nobody hears it. Any thread."""
    call = _running_tool() if _running_tool is not None else None
    done, total = _number("done", done), None if total is None else _number("total", total)
    if call is None:
        return
    params = {"call": call, "done": done, "message": str(message)}
    if total is not None:
        params["total"] = total
    _send({"jsonrpc": "2.0", "method": "progress", "params": params})


def log(text, level="info"):
    """A line of the run's log; of a tool that runs, also for the MCP client that called it. Levels are "debug", "info",
    "warning" and "error". Any thread."""
    if level not in _LEVELS:
        raise ValueError("level: one of %s, not %r" % (", ".join(_LEVELS), level))
    if _send is None:
        print("%s: %s" % (level, text), file=sys.stderr)
        return
    params = {"level": level, "text": str(text)}
    call = _running_tool()
    if call is not None:
        params["call"] = call
    _send({"jsonrpc": "2.0", "method": "log", "params": params})


def _number(name, value):
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("%s: a finite number, not %r" % (name, value))
    return value
