"""The environment host: `python3 -m chalk.host`, child of the harness, speaks JSON-RPC 2.0 lines on its standard streams.

Calls run one at a time on the main thread. A second thread reads: it queues calls and, on `cancel`, interrupts the one
that runs with a signal, whose handler raises on the main thread (so a sleep or a read ends too). Code that catches
BaseException, or that sits in C without returning, is not interrupted; the harness then goes on without its answer and
kills the host at the end.
"""

import os
import sys

import _signal
import _thread
from _queue import SimpleQueue

from chalk import _reports
from chalk._json_lines import loads
from chalk._session import RpcError, Session
from chalk._streams import take_over

ENVIRONMENT_EXCEPTION = -32000
STUDENT_MISBEHAVIOR = -32001
CANCELLED = -32002
PARSE_ERROR = -32700
INVALID_REQUEST = -32600

_INTERRUPT = _signal.SIGUSR2
_END_GRACE_S = 2.0


class Cancelled(BaseException):
    """Raised inside a call that the harness no longer waits for."""


class Host:
    def __init__(self, wire, log_stream, tasks_in=None):
        self._wire = wire
        self._log_stream = log_stream
        self._session = Session(tasks_in)
        self._queue = SimpleQueue()
        self._running = None  # id of the call on the main thread
        self._running_tool = None  # the same, of a tool's call
        self._cancelled = set()  # ids; written by the reader
        self._main = _thread.get_ident()

    def serve(self):
        """Until `shutdown` or the end of the stream. Returns the exit status."""
        _signal.signal(_INTERRUPT, self._on_interrupt)
        _reports.connect(self._report, lambda: self._running_tool)
        _thread.start_new_thread(self._read, ())
        while not self._session.finished:
            try:
                request = self._queue.get()
            except Cancelled:
                continue  # for a call that had just ended
            if request is None:
                return 0
            self._answer(request)
        return 0

    def _report(self, message):
        if self._wire.ours:  # a forked child has nobody to tell
            self._wire.send(message)

    # On the reader's thread.

    def _read(self):
        try:
            while (line := self._wire.read_line()) is not None:
                if line:
                    self._take(line)
        except (OSError, ValueError) as error:
            os.write(2, b"chalk.host: reading requests: %s\n" % str(error).encode())
        finally:
            # The harness is gone. What it asked for before is answered, if that is quick.
            self._queue.put(None)
            import time

            time.sleep(_END_GRACE_S)
            os._exit(70)

    def _take(self, line):
        try:
            message = loads(line.decode("utf-8"))
        except ValueError as error:
            return self._send_error(None, PARSE_ERROR, str(error))
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return self._send_error(None, INVALID_REQUEST, "not a JSON-RPC 2.0 request")
        if "id" in message:
            self._queue.put(message)
        elif message["method"] == "cancel" and isinstance(message.get("params"), dict):
            number = message["params"].get("id")
            self._cancelled.add(number)
            if number is not None and number == self._running:
                _signal.pthread_kill(self._main, _INTERRUPT)

    # On the main thread.

    def _on_interrupt(self, number, frame):
        if self._running is not None and self._running in self._cancelled:
            self._running = None
            raise Cancelled()

    def _answer(self, request):
        number = request["id"]
        try:
            try:
                self._running = number
                if number in self._cancelled:
                    raise Cancelled()
                if request["method"] == "call_tool":
                    self._running_tool = number
                result = self._session.call(request["method"], request.get("params", {}))
                self._running = None
            finally:
                self._running = self._running_tool = None
                self._log_stream.flush_partial()
                sys.stderr.flush()
            self._wire.send({"jsonrpc": "2.0", "id": number, "result": result})
        except Cancelled:
            self._send_error(number, CANCELLED, "cancelled")
        except RpcError as error:
            self._send_error(number, error.code, str(error))
        except BaseException as error:  # SystemExit and KeyboardInterrupt of environment code are its errors as well
            self._send_exception(number, error)
        finally:
            self._cancelled.discard(number)

    def _send_exception(self, number, error):
        import traceback

        from chalk._task import StudentMisbehaviorError

        code = STUDENT_MISBEHAVIOR if isinstance(error, StudentMisbehaviorError) else ENVIRONMENT_EXCEPTION
        text = "".join(traceback.format_exception(error))
        message = str(error) if code == STUDENT_MISBEHAVIOR else "%s: %s" % (type(error).__name__, error)
        self._send_error(number, code, message, {"traceback": text})

    def _send_error(self, number, code, message, data=None):
        error = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._wire.send({"jsonrpc": "2.0", "id": number, "error": error})


def main(tasks_in=None):
    """`tasks_in`: see Session."""
    wire, log_stream = take_over()
    status = Host(wire, log_stream, tasks_in).serve()
    log_stream.flush_partial()
    sys.stderr.flush()
    # Threads and atexit handlers of environment code must not hold up the end of a run.
    os._exit(status)


if __name__ == "__main__":
    main()
