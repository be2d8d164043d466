"""Moves the wire away from the standard streams, so that nothing the environment prints can break it."""

import io
import os
import sys

import _thread

MAX_LINE = 64 * 1024 * 1024


class Wire:
    """Writes messages; any thread may. Reading is the business of one thread."""

    def __init__(self, input_fd, output_fd):
        self._input = open(input_fd, "rb", buffering=65536)
        self._output_fd = output_fd
        self._lock = _thread.allocate_lock()
        os.register_at_fork(after_in_child=self._leave)

    def _leave(self):
        # A forked child of environment code must neither write on the wire nor keep it open.
        if self.ours:
            os.close(self._output_fd)
            os.close(self._input.fileno())
            self._output_fd = -1

    @property
    def ours(self):
        return self._output_fd >= 0

    def read_line(self):
        """Without its line break; None at the end of the stream. ValueError for a line beyond MAX_LINE."""
        line = self._input.readline(MAX_LINE + 1)
        if not line:
            return None
        if len(line) > MAX_LINE:
            raise ValueError("a line longer than 64 MiB")
        return line.rstrip(b"\n")

    def send(self, message):
        """TypeError or ValueError for what JSON cannot hold or is longer than MAX_LINE; nothing is written then."""
        from chalk._json_lines import dumps

        # "replace": text of a student may hold lone surrogates, which UTF-8 cannot.
        line = dumps(message).encode("utf-8", "replace") + b"\n"
        if len(line) > MAX_LINE:
            raise ValueError("a message of %d bytes; the protocol allows 64 MiB" % len(line))
        self._write(line)

    def _write(self, data):
        with self._lock:
            view = memoryview(data)
            while view:
                view = view[os.write(self._output_fd, view) :]


class LogStream(io.TextIOBase):
    """sys.stdout for environment code: whole lines become `log` notifications, in order with the answers. Its file
    descriptor (1) leads to standard error, which the harness logs as well."""

    encoding = "utf-8"
    errors = "replace"
    _CAP = 8192

    def __init__(self, wire, level):
        self._wire = wire
        self._level = level
        self._partial = ""
        self._cut = 0  # characters of the partial line beyond the cap

    def writable(self):
        return True

    def fileno(self):
        return 1

    @property
    def buffer(self):
        return sys.__stderr__.buffer

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() takes a string, not " + type(text).__name__)
        if not self._wire.ours:
            os.write(2, text.encode("utf-8", "replace"))
            return len(text)
        *lines, rest = text.split("\n")
        for line in lines:
            self._add(line)
            self._send()
        self._add(rest)
        return len(text)

    def flush_partial(self):
        """Called at the end of each call: a line without its break must not wait for the next one."""
        if self._partial:
            self._send()

    def _add(self, text):
        room = self._CAP - len(self._partial)
        self._partial += text[:room]
        self._cut += max(0, len(text) - room)

    def _send(self):
        text = self._partial + (" [%d characters cut]" % self._cut if self._cut else "")
        self._partial, self._cut = "", 0
        self._wire.send({"jsonrpc": "2.0", "method": "log", "params": {"level": self._level, "text": text}})


def take_over():
    """Returns (wire, log stream). Descriptor 0 reads nothing from now on, descriptor 1 leads to standard error."""
    wire = Wire(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = LogStream(wire, "info")
    return wire, sys.stdout
