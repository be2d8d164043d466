"""`chalk run` as a user meets it: names, ports, refusals, prepare-only, events, exit codes."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import unittest

from support.chalk import (
    SHELL, SOURCE, ChalkTest, bash, call, chalk, end, eventually, events, main, needs_root, processes_of_run, shell_config,
    start, tool_results, turns,
)

ROOTED = SOURCE / "tests/environments/rooted"
MODES = [("--runtime", "namespaces"), ("--no-containerized",)]


class Refusals(ChalkTest):
    """Each is exit code 2 (3 for the machine) and one message that names place and remedy; nothing was started."""

    def refused(self, *arguments, code=2):
        result = chalk(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(list(self.folder.iterdir()), self.present, "nothing is made by a refused run")
        return result.stderr

    def setUp(self):
        super().setUp()
        self.present = []

    def write(self, text):
        path = self.folder / "config.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.present = [path]
        return path

    def config_refused(self, text, *words):
        message = self.refused("run", "--config", self.write(text))
        for word in ("config.json", *words):
            self.assertIn(word, message)

    def test_bad_configs(self):
        good = json.dumps(shell_config())
        for text, words in [
            ('{"environmant": "x"}', ["environmant", "environment"]),
            ('{\n  "environment": 7\n}', [":2", "environment", "string"]),
            ("{}", ["environment"]),
            (good[:-1] + ', "limits": {"max_turns": -1}}', ["limits.max_turns"]),
            (good[:-1] + ', "limits": {"max_turns": 1e99}}', ["limits.max_turns"]),
            (good[:-1] + ', "limits": {"max_turn": 1}}', ["limits.max_turn", "max_turns"]),
            (good[:-1] + ', "websocket_port": 99999}', ["websocket_port"]),
            (good[:-1] + ', "agent": "claud-code"}', ["agent"]),
            (good[:-1] + ', "run_id": "a/b"}', ["run_id"]),
            (good[:-1] + ', "run_id": "x"}', ["run_id", "twice"]),
            (good[:-3], ["config.json:1"]),
            ("[" * 5000, []),
            (b'{"environment": "\xff\xfe"}', ["UTF-8"]),
            ('{"environment": "/does/not/exist"}', ["/does/not/exist"]),
        ]:
            with self.subTest(text=text[:80]):
                self.config_refused(text, *words)

    def test_an_absent_config(self):
        self.assertIn("absent.json", self.refused("run", "--config", "absent.json"))

    def test_an_unknown_runtime_is_named_before_the_config_is_read(self):
        message = self.refused("run", "--runtime", "dokcer", "--config", "absent.json")
        self.assertIn("dokcer", message)
        self.assertNotIn("absent.json", message)

    def test_an_unknown_log_level_is_refused_with_the_known_ones(self):
        result = chalk("run", "--config", json.dumps(shell_config()), cwd=self.folder, check=2, env={"LOGURU_LEVEL": "LOUD"})
        self.assertIn('LOGURU_LEVEL is "LOUD"', result.stderr)
        self.assertIn("TRACE, DEBUG, INFO, SUCCESS, WARNING, ERROR, CRITICAL", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_prepare_only_takes_one_run(self):
        message = self.refused("run", "--config", json.dumps(shell_config()), "--prepare-only", "-n", "2")
        self.assertIn("--prepare-only", message)

    def test_agents_are_listed_with_what_the_missing_ones_need(self):
        agents = json.loads(chalk("agents", "list", "--json", check=0, env={"PATH": "/nowhere"}).stdout)
        self.assertEqual([a["name"] for a in agents], ["builtin", "oracle", "external", "claude-code", "codex", "gemini-cli", "opencode"])
        self.assertEqual([a["available"] for a in agents], 3 * [True] + 4 * [False])
        self.assertIn("npm install -g @openai/codex", agents[4]["remedy"])

    def test_an_agent_that_is_there_is_listed_with_its_version(self):
        program = self.folder / "bin" / "claude"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho '9.8.7 (Claude Code)'; echo more; echo a warning >&2\n")
        program.chmod(0o755)
        path = {"PATH": f"{program.parent}:/usr/bin:/bin"}
        listed = json.loads(chalk("agents", "list", "--json", check=0, env=path).stdout)
        (found,) = [agent for agent in listed if agent["name"] == "claude-code"]
        self.assertEqual(found, {"name": "claude-code", "available": True, "version": "9.8.7 (Claude Code)", "remedy": ""})
        self.assertRegex(chalk("agents", "list", check=0, env=path).stdout, r"(?m)^claude-code +9\.8\.7 \(Claude Code\)$")

    def test_the_schema_of_sweep_files_is_printed(self):
        schema = json.loads(chalk("config", "schema", "--sweep", check=0).stdout)
        self.assertEqual(schema["required"], ["name", "base"])
        self.assertIn("| `seal_at` |", chalk("config", "schema", "--sweep", "--markdown", check=0).stdout)

    def test_an_agent_without_a_model_and_a_model_without_a_key_are_refused_before_anything_starts(self):
        keyless = {name: "" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")}
        for keys, said in (({"agent": "codex"}, "agent codex needs a model"), ({"model": "openai/x"}, "set OPENAI_API_KEY"),
                           ({"agent": "gemini-cli", "model": "gemini/x"}, "set GEMINI_API_KEY"),
                           ({"agent": "gemini-cli", "model": "google/x"}, "does not say whose it is")):
            config = json.dumps({"environment": str(SHELL), "run_id": "refused", **keys})
            self.assertIn(said, chalk("run", "--config", config, check=2, cwd=self.folder, env=keyless).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    @needs_root
    def test_a_mount_is_there_read_only_and_a_wrong_one_is_refused(self):
        shown = self.folder / "shown"
        shown.mkdir()
        (shown / "file").write_text("from the host")
        config = shell_config(turns(bash("cat /opt/x/y/file; touch /opt/x/y/new 2>&1")))
        _, transcripts = self.run_shell(config, "--mount", f"{shown}:/opt/x/y:ro")
        text = tool_results(self.only(transcripts))[0]["text"]
        self.assertIn("from the host", text)
        self.assertIn("Read-only file system", text)
        result, _ = self.run_shell(shell_config(), "--mount", f"{shown}:/opt:rw", check=2)
        self.assertIn("read-only", result.stderr)

    def test_an_unknown_flag_and_an_unknown_command(self):
        self.assertIn("--confg", self.refused("run", "--confg", "x"))
        self.assertIn("rum", self.refused("rum"))

    def test_a_taken_websocket_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            message = self.refused(
                "run", "--config", json.dumps(shell_config()), "-n", "2", "--websocket-port", port - 1, "--out", self.out
            )
            self.assertIn(str(port), message)

    def test_a_model_without_its_key(self):
        config = shell_config()
        del config["use_fake_model"], config["fake_model"]
        config["model"] = "anthropic/claude"
        self.assertIn("model", self.refused("run", "--config", json.dumps(config)))


@needs_root
class Runs(ChalkTest):
    def test_n_runs_have_their_own_names_files_and_ids(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                out = self.folder / mode[-1].strip("-") / "t.json"
                chalk("run", "--config", json.dumps(shell_config(seed=5)), "-n", 3, "--out", out, "--no-ui", *mode, check=0)
                self.assertEqual(sorted(p.name for p in out.parent.glob("*.json")), ["t_0.json", "t_1.json", "t_2.json"])
                documents = [json.loads(p.read_text()) for p in sorted(out.parent.glob("*.json"))]
                self.assertEqual([d["run"]["run_id"] for d in documents], ["shell-0", "shell-1", "shell-2"])
                seeds = [d["run"]["config"]["seed"] for d in documents]
                self.assertEqual(len(set(seeds)), 3, seeds)
                seen = [events(d, "TaskPreHookCompletedEvent")[0]["metadata"] for d in documents]
                self.assertEqual([(m["seed"], m["CHALK_SEED"]) for m in seen], [(s, str(s)) for s in seeds])

    def test_a_transcript_without_a_folder_lands_in_the_working_directory(self):
        chalk("run", "--config", json.dumps({"environment": "builtin:noop", "agent": "builtin", "use_fake_model": True}),
              "--no-containerized", "--out", "here.json", cwd=self.folder)
        self.assertTrue((self.folder / "here.json").is_file())

    def test_the_events_come_in_the_order_of_the_lifecycle(self):
        config = shell_config(turns(bash("echo one")), turns(bash("echo two")), task_args={"steps": 2})
        for mode in MODES:
            with self.subTest(mode=mode):
                self.out = self.folder / mode[-1].strip("-") / "t.json"
                _, transcripts = self.run_shell(config, *mode)
                document = self.only(transcripts)
                kinds = [e["type"] for e in document["events"] if e["type"] != "LogEvent"]
                step = [
                    "StepStartedEvent", "MessageEvent", "MessageEvent", "ToolResultEvent", "MessageEvent",
                    "AgentCompletedEvent", "ScoringEvent", "StepCompletedEvent",
                ]
                self.assertEqual(
                    kinds,
                    ["TaskStartedEvent", "TaskPreHookCompletedEvent", "MessageEvent", *step, *step, "TaskCompletedEvent"],
                )
                self.assertEqual([e["seq"] for e in document["events"]], list(range(1, len(document["events"]) + 1)))
                self.assertEqual(events(document, "TaskPreHookCompletedEvent")[0]["metadata"],
                                 {"uid": 0, "seed": None, "CHALK_SEED": None})
                self.assertEqual([r["text"].strip() for r in tool_results(document)], ["one", "two"])
                logs = [e["text"] for e in events(document, "LogEvent") if e["source"] == "environment"]
                self.assertTrue(any("the pre-hook prints this" in text for text in logs), logs)

    def test_log_lines_below_the_level_are_not_on_the_terminal_and_the_environment_gets_the_level(self):
        look = {"argv": ["/usr/bin/env"]}
        for mode in MODES:
            for level, shown in (("DEBUG", True), ("SUCCESS", True), ("WARNING", True), ("CRITICAL", False)):
                with self.subTest(mode=mode, level=level):
                    self.out = self.folder / f"{level}-{mode[-1].strip('-')}" / "t.json"
                    config = shell_config(turns(call("count", to=1)), environment=ROOTED, task_args={"before": [look]})
                    result, transcripts = self.run_shell(config, *mode, env={"LOGURU_LEVEL": level})
                    document = self.only(transcripts)
                    # The tool warns, and the harness says at level info what the student is held to.
                    levels = {e["level"] for e in events(document, "LogEvent") if e["text"] == "counted"}
                    self.assertEqual(levels, {"warning"}, "transcripts have every line")
                    self.assertEqual("environment: counted" in result.stdout, shown, result.stdout)
                    confined = [e for e in events(document, "LogEvent") if e["text"].startswith("confinement: ")]
                    self.assertEqual(len(confined), 1)
                    self.assertEqual("chalk: confinement: " in result.stdout, level in ("DEBUG", "SUCCESS"), result.stdout)
                    (seen,) = events(document, "TaskPreHookCompletedEvent")[0]["metadata"]["commands"]
                    self.assertIn(f"LOGURU_LEVEL={level}", seen["out"].splitlines())
        result = chalk("run", "--config", json.dumps(config), "--out", self.folder / "json" / "t.json", "--json", check=0,
                       env={"LOGURU_LEVEL": "CRITICAL"})
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertIn("counted", [line["event"].get("text") for line in lines if "event" in line])

    def test_outcomes_by_what_the_environment_does(self):
        for args, status, kind, code in [
            ({"judge": "fail"}, "failed", None, 0),
            ({"judge": "raise"}, "error", "task", 1),
            ({"judge": "die"}, "error", "task", 1),
            ({"judge": "misbehave"}, "passed", None, 0),
            ({"pre_hook": "raise"}, "error", "task", 1),
        ]:
            for mode in MODES:
                with self.subTest(args=args, mode=mode):
                    self.out = self.folder / "-".join([*args.values(), mode[-1].strip("-")]) / "t.json"
                    _, transcripts = self.run_shell(shell_config(task_args=args), *mode, check=code)
                    document = self.only(transcripts)
                    self.assert_outcome(document, status, kind)
                    if args.get("judge") == "misbehave":
                        self.assertEqual(document["steps"][0]["score"], 0)
                    if status == "error":
                        self.assertIsNone(document["score"])

    def test_a_tool_that_kills_its_environment_ends_the_run_as_a_task_error(self):
        _, transcripts = self.run_shell(shell_config(turns(call("crash_the_environment"))), check=1)
        self.assert_outcome(self.only(transcripts), "error", "task")

    def test_a_reached_limit_ends_the_step_which_is_judged_as_it_stands(self):
        config = shell_config(turns(*[bash("echo x")] * 5), limits={"max_turns": 2})
        _, transcripts = self.run_shell(config)
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        self.assertEqual(len(events(document, "LimitReachedEvent")), 1)
        self.assertEqual(document["steps"][0]["score"], 1.0)
        self.assertEqual(len(tool_results(document)), 2)

    def test_a_script_that_ends_early_is_a_model_error(self):
        config = shell_config([{"tool_calls": [bash("echo x")]}])
        _, transcripts = self.run_shell(config, check=1)
        self.assert_outcome(self.only(transcripts), "error", "model")

    def test_empty_turns_are_asked_to_go_on_three_times(self):
        empty = {"text": "", "reasoning": "hm", "stop_reason": "length"}
        _, transcripts = self.run_shell(shell_config([empty, empty, empty, {"text": "Done."}]))
        self.assert_outcome(self.only(transcripts), "passed")
        self.out = self.folder / "fourth" / "t.json"
        _, transcripts = self.run_shell(shell_config([empty] * 4 + [{"text": "Done."}]), check=1)
        self.assert_outcome(self.only(transcripts), "error", "model")

    def test_json_prints_one_event_a_line_and_nothing_else(self):
        result = chalk("run", "--config", json.dumps(shell_config()), "--out", self.out, "--json", check=0)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        seqs = [line["event"]["seq"] for line in lines if "event" in line]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))
        self.assertEqual(lines[-1]["type"], "RunFinished")

    def test_artifacts_land_beside_the_transcript_and_belong_to_the_folder_s_owner(self):
        self.out.parent.mkdir(parents=True)
        os.chown(self.out.parent, 1234, 1234)
        config = shell_config(
            turns(bash("mkdir -p deep && echo kept > deep/file.txt && ln -s /etc/shadow stolen")),
            extra_config={"extra_artifact_paths": ["deep/file.txt", "stolen", "absent.txt"]},
        )
        _, transcripts = self.run_shell(config)
        self.assert_outcome(self.only(transcripts), "passed")
        kept = list((self.out.parent / "t_artifacts").rglob("file.txt"))
        self.assertEqual([p.read_text() for p in kept], ["kept\n"])
        self.assertEqual([p for p in (self.out.parent / "t_artifacts").rglob("stolen")], [])
        for path in [self.out, *kept]:
            self.assertEqual(path.stat().st_uid, 1234, path)

    def test_prepare_only_keeps_a_prepared_sandbox_until_ctrl_c(self):
        process = start(
            "run", "--config", json.dumps(shell_config(run_id="prepared")), "--prepare-only", "--no-ui", "--out", self.out,
            cwd=self.folder,
        )
        self.addCleanup(lambda: process.poll() is None and end(process))

        def marker():
            return [
                p for p in processes_of_run("prepared")
                if pathlib.Path(f"/proc/{p.pid}/root/tmp/chalk_prepared_prepared").exists()
            ]

        eventually(marker, 30, "/tmp/chalk_prepared_<run_id> inside the sandbox")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertFalse(self.out.exists(), "no transcript")
        eventually(lambda: not processes_of_run("prepared"), 5, "the sandbox is gone")

    def test_the_config_and_its_secrets_are_on_no_command_line(self):
        config = shell_config(turns(bash("tr '\\0' ' ' < /proc/1/cmdline; ps -ef 2>/dev/null; cat /proc/*/cmdline | tr '\\0' ' '")))
        config["task_args"] = {}
        config["extra_config"] = {"marker": "needle-in-the-config"}
        _, transcripts = self.run_shell(config)
        text = tool_results(self.only(transcripts))[0]["text"]
        self.assertNotIn("needle-in-the-config", text)
        self.assertNotIn(str(self.folder), text)


if __name__ == "__main__":
    main()
