"""A provider's key is chalk's own: no process that it starts has it, and nothing that it writes."""

import os

from support.chalk import ChalkTest, bash, chalk, main, shell_config, tool_results, turns

KEY = "marker-key-51d0c4"
NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MODAL_TOKEN_ID",
         "MODAL_TOKEN_SECRET")
# A pattern that does not match itself. As root of the host (--no-containerized) it sees every process there is.
LOOK = (
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '[m]arker-key-51d0c4'; "
    "echo looked at $(ls -d /proc/[0-9]* | wc -l)"
)


class Keys(ChalkTest):
    def test_no_process_and_no_file_has_one(self):
        environment = {name: KEY for name in NAMES}
        for mode in (("--runtime", "namespaces"), ("--no-containerized",)):
            with self.subTest(mode=mode):
                result, transcripts = self.run_shell(shell_config(turns(bash(LOOK))), *mode, env=environment)
                self.assertNotIn(KEY, result.stdout + result.stderr)
                (looked,) = tool_results(self.only(transcripts))
                self.assertIn("looked at", looked["text"])
                self.assertEqual(looked["text"].splitlines()[0].strip(), "0", looked["text"])
                for file in self.folder.rglob("*"):
                    if file.is_file():
                        self.assertNotIn(KEY.encode(), file.read_bytes(), file)

    def test_other_commands_have_taken_theirs_out_before_they_do_anything(self):
        """For instance `agents list`: a program that it asks for its version looks at it."""
        environment = {name: KEY for name in NAMES}
        asked = self.folder / "bin" / "claude"
        asked.parent.mkdir()
        asked.write_text(
            "#!/bin/sh\n"
            f"tr '\\0' '\\n' < /proc/$PPID/environ > {self.folder}/parent; env > {self.folder}/own; echo 1.0.0\n")
        asked.chmod(0o755)
        chalk("agents", "list", check=0, env={**environment, "PATH": f"{asked.parent}:{os.environ['PATH']}"})
        for name in ("parent", "own"):
            text = (self.folder / name).read_text()
            self.assertIn("PATH=", text)
            self.assertNotIn(KEY, text)


if __name__ == "__main__":
    main()
