"""The smallest environment in Python: one step, one tool, one judge."""

from chalk import Judge, Score, Step, Task, tool

GREETING = "Hello, world!"


class GreetedTheWorld(Judge):
    def evaluate(self, transcript):
        greetings = [r.text for s in transcript.steps for r in s.tool_results if r.name == "greet" and not r.is_error]
        if GREETING in greetings:
            return Score(1, explanation="the world was greeted")
        return Score(0, continue_task=False, explanation="nobody greeted the world")


class Hello(Task):
    name = "hello"
    system_prompt = "You greet people with the tool you are given."
    steps = [Step(name="greet", instructions='Greet "world", once.', judge=GreetedTheWorld())]

    def configure_tools(self):
        return [self.greet]

    @tool
    def greet(self, name: str) -> str:
        """Greets somebody.

        Args:
            name: who is greeted
        """
        return "Hello, %s!" % name
