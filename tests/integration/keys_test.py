"""A provider's key is chalk's own: no process that it starts has it, and nothing that it writes."""

from support.chalk import ChalkTest, bash, main, shell_config, tool_results, turns

KEY = "marker-key-51d0c4"
# A pattern that does not match itself. As root of the host (--no-containerized) it sees every process there is.
LOOK = (
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '[m]arker-key-51d0c4'; "
    "echo looked at $(ls -d /proc/[0-9]* | wc -l)"
)


class Keys(ChalkTest):
    def test_no_process_and_no_file_has_one(self):
        names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_COMPATIBLE_API_KEY")
        environment = {name: KEY for name in names}
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


if __name__ == "__main__":
    main()
