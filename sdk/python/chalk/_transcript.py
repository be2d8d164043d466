"""The transcript as a judge sees it: light wrappers over the wire's dicts, built when they are asked for."""


class Event:
    """One event. Its fields are attributes; `data` is the dict as it came. A field that this version does not know is
    there all the same."""

    def __init__(self, data):
        self.data = data

    def __getattr__(self, name):
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError("%s has no field %r" % (self.__dict__["data"].get("type", "Event"), name)) from None

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, self.data)


class TaskStartedEvent(Event):
    """task, agent, model, tools, step_count"""


class TaskPreHookCompletedEvent(Event):
    """metadata: what pre_hook returned"""


class StepStartedEvent(Event):
    """index, name, instructions"""


class MessageEvent(Event):
    """role ("system", "user", "assistant"), text; of the assistant also reasoning, tool_calls, stop_reason, usage"""


class ToolResultEvent(Event):
    """call_id, name, text, is_error, truncated"""


class LimitReachedEvent(Event):
    """limit, value, message"""


class AgentCompletedEvent(Event):
    """step, duration_ms"""


class ArtifactSavedEvent(Event):
    """step, path, size"""


class ScoringEvent(Event):
    """step, score, continue_task, explanation, metadata, student_misbehaved"""


class StepCompletedEvent(Event):
    """index"""


class TaskCompletedEvent(Event):
    """status"""


class ErrorEvent(Event):
    """Last event of a run that ended in an error."""


class RunCancelledEvent(Event):
    """reason"""


class LogEvent(Event):
    """level, source, text"""


_CLASSES = {cls.__name__: cls for cls in Event.__subclasses__()}


def _is_said(event):
    """Of a turn whose stream broke, what had come is an event and no part of the conversation."""
    return isinstance(event, MessageEvent) and not event.data.get("aborted")


class StepView:
    """The part of a transcript that belongs to one step."""

    def __init__(self, index, name, events):
        self.index = index
        self.name = name
        self.events = events

    @property
    def messages(self):
        return [e for e in self.events if _is_said(e)]

    @property
    def tool_results(self):
        return [e for e in self.events if isinstance(e, ToolResultEvent)]

    @property
    def score(self):
        """None while the step is not scored."""
        scores = [e.score for e in self.events if isinstance(e, ScoringEvent)]
        return scores[-1] if scores else None


class Transcript:
    """The run so far. `document` is the whole transcript as docs/reference/transcript.md describes it."""

    def __init__(self, document):
        self.document = document
        self._events = None

    @property
    def events(self):
        if self._events is None:
            raw = self.document.get("events", [])
            self._events = [_CLASSES.get(e.get("type"), Event)(e) for e in raw]
        return self._events

    @property
    def messages(self):
        """The conversation: MessageEvents in order, without those of turns that were aborted."""
        return [e for e in self.events if _is_said(e)]

    @property
    def steps(self):
        """One StepView per step that was started."""
        steps = []
        for event in self.events:
            if isinstance(event, StepStartedEvent):
                steps.append(StepView(event.index, event.name, []))
            if steps:
                steps[-1].events.append(event)
        return steps
