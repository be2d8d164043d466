"""run_as_student: runs a program as the student, bounded in time, output and processes.

The program is the child of a supervisor process that adopts whatever its descendants leave behind, so that all of them
are found and killed, those that changed their session included. The supervisor ends when the program does, when the time
is up, or when the environment host dies (it watches a pipe that the host holds).
"""

import errno
import os
import select
import time

import _signal

STUDENT_UID = 1000
STUDENT_GID = 1000

_KILL_DEADLINE_S = 5.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 65536


class StudentProcess:
    """How a program of the student ended. `exit_code` is negative for a signal, as in subprocess; `omitted_bytes` were
    printed beyond the cap and not kept."""

    def __init__(self, argv):
        self.argv = argv
        self.exit_code = None
        self.timed_out = False
        self.stdout_bytes = b""
        self.stderr_bytes = b""
        self.omitted_bytes = 0
        self.duration_s = 0.0

    @property
    def stdout(self):
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self):
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def ok(self):
        return self.exit_code == 0 and not self.timed_out

    def __repr__(self):
        return "StudentProcess(%r, exit_code=%r, timed_out=%r)" % (self.argv, self.exit_code, self.timed_out)


def run_as_student(
    argv, timeout=60.0, cwd=None, input=b"", env=None, output_cap=1 << 20, memory=None, processes=None, file_size=1 << 30
):
    """Runs argv (a list; the program is looked up on the student's PATH) and returns a StudentProcess.

    timeout: seconds; then everything it started is killed and `timed_out` is set.
    cwd: default STUDENT_WORKDIR.  input: str or bytes for its standard input.
    env: added to a clean environment (PATH, HOME, USER, LANG); nothing of the host's own is passed on.
    output_cap: bytes kept of each of stdout and stderr.
    memory, file_size: bytes per process; processes: of this user. None: only the sandbox's own limits.

    Where the environment host is not root (chalk run --no-containerized as a plain user) the program runs as that user.
    OSError when it cannot be started.
    """
    from chalk import _paths

    argv = [os.fspath(a) for a in argv]
    data = input.encode("utf-8") if isinstance(input, str) else bytes(input)
    full_env = {
        "PATH": _student_path(_paths.STUDENT_WORKDIR),
        "HOME": str(_paths.STUDENT_WORKDIR),
        "USER": "student",
        "LOGNAME": "student",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    full_env.update(env or {})
    limits = _limits(timeout, memory, processes, file_size)
    call = _Call(argv, os.fspath(cwd or _paths.STUDENT_WORKDIR), full_env, limits)
    return call.run(data, timeout, output_cap)


def _student_path(workdir):
    venv = os.path.join(workdir, ".venv", "bin")
    usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return venv + ":" + usual if os.path.isdir(venv) else usual


def _limits(timeout, memory, processes, file_size):
    import resource

    # Processor time is a second fence for one process; the deadline bounds all of them.
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(timeout) + 5)]
    for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_NPROC, processes), (resource.RLIMIT_FSIZE, file_size)):
        if value is not None:
            limits.append((kind, int(value)))
    return limits


_prctl = None


def _load_prctl():
    global _prctl
    if _prctl is None:
        import ctypes

        _prctl = ctypes.CDLL(None, use_errno=True).prctl
    return _prctl


class _Call:
    def __init__(self, argv, cwd, env, limits):
        self.argv, self.cwd, self.env, self.limits = argv, cwd, env, limits

    def run(self, data, timeout, cap):
        import resource  # noqa: F401  (loaded before the fork, for the child)

        _load_prctl()
        result = StudentProcess(self.argv)
        started = time.monotonic()
        stdin, stdout, stderr, status, owner = (os.pipe() for _ in range(5))
        try:
            pid = os.fork()
        except BaseException:
            for pair in (stdin, stdout, stderr, status, owner):
                os.close(pair[0])
                os.close(pair[1])
            raise
        if pid == 0:
            self._supervise_and_exit(stdin, stdout, stderr, status, owner)
        for end in (stdin[0], stdout[1], stderr[1], status[1], owner[0]):
            os.close(end)
        pipes = _Pipes(stdin[1], stdout[0], stderr[0], status[0], data, cap)
        try:
            result.timed_out = not pipes.pump(started + timeout)
        finally:
            os.close(owner[1])  # the supervisor kills what is left
            try:
                finished = pipes.pump(time.monotonic() + _KILL_DEADLINE_S + 1)
            finally:
                pipes.close()
                _reap(pid)
        result.duration_s = time.monotonic() - started
        result.stdout_bytes, result.stderr_bytes = bytes(pipes.kept[stdout[0]]), bytes(pipes.kept[stderr[0]])
        result.omitted_bytes = pipes.omitted
        self._read_status(bytes(pipes.kept[status[0]]), result, finished)
        return result

    def _read_status(self, text, result, finished):
        for line in text.decode().splitlines():
            word, number, *rest = line.split(" ", 2)
            if word == "failed":
                code = int(number)
                raise OSError(code, "%s: %s" % (os.strerror(code), rest[0]), self.argv[0])
            if word == "ended":
                result.exit_code = int(number)
        if result.exit_code is None:
            # Killed before it ended on its own, or its supervisor was (possible only where both are the same user).
            result.exit_code = -int(_signal.SIGKILL)
            result.timed_out = result.timed_out or not finished

    # Below this line: in the forked processes. They end with os._exit and never return into the caller's code.

    def _supervise_and_exit(self, stdin, stdout, stderr, status, owner):
        try:
            _signal.signal(_signal.SIGUSR2, _signal.SIG_IGN)
            os.setsid()
            if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
                raise OSError(errno.ENOSYS, "PR_SET_CHILD_SUBREAPER")
            for end in (stdin[1], stdout[0], stderr[0], status[0], owner[1]):
                os.close(end)
            supervisor = os.getpid()
            child = os.fork()
            if child == 0:
                self._become_student_and_exec(stdin[0], stdout[1], stderr[1], status[1], supervisor)
            for end in (stdin[0], stdout[1], stderr[1]):
                os.close(end)
            poll = select.poll()
            poll.register(os.pidfd_open(child), select.POLLIN)
            poll.register(owner[0], select.POLLIN)
            poll.poll()
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                os.write(status[1], b"ended %d \n" % code)
            _kill_descendants(time.monotonic() + _KILL_DEADLINE_S)
            os._exit(0)
        except OSError as error:
            os.write(status[1], b"failed %d supervising\n" % (error.errno or errno.EIO))
        finally:
            os._exit(1)

    def _become_student_and_exec(self, stdin, stdout, stderr, status, supervisor):
        what = "starting"
        try:
            os.setsid()
            what = "joining the student's cgroup"
            _join_cgroup()
            import resource

            what = "setting limits"
            for kind, value in self.limits:
                hard = resource.getrlimit(kind)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))
            os.dup2(stdin, 0)
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            os.closerange(3, status)
            os.closerange(status + 1, 65536)
            what = "becoming the student"
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(STUDENT_GID, STUDENT_GID, STUDENT_GID)
                os.setresuid(STUDENT_UID, STUDENT_UID, STUDENT_UID)
            os.umask(0o022)
            # Cleared by a change of uid, so it comes after; the supervisor may have died before it was set.
            _prctl(_PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0)
            if os.getppid() != supervisor:
                os._exit(127)
            what = "entering " + self.cwd
            os.chdir(self.cwd)
            for number in (_signal.SIGPIPE, _signal.SIGUSR2, _signal.SIGINT):
                _signal.signal(number, _signal.SIG_DFL)
            what = "executing the program"
            os.execvpe(self.argv[0], self.argv, self.env)
        except OSError as error:
            os.write(status, b"failed %d %s\n" % (error.errno or errno.EIO, what.encode()))
        finally:
            os._exit(127)


class _Pipes:
    """The caller's ends: feeds input, keeps output up to the cap, drops and counts the rest."""

    def __init__(self, stdin, stdout, stderr, status, data, cap):
        self.kept = {stdout: bytearray(), stderr: bytearray(), status: bytearray()}
        self.omitted = 0
        self._stdin, self._status, self._cap = stdin, status, cap
        self._data = memoryview(data)
        self._open = {stdout, stderr, status}
        self._poll = select.poll()
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)
        os.set_blocking(stdin, False)
        self._poll.register(stdin, select.POLLOUT)
        self._feed()

    def pump(self, deadline):
        """Until every output ended (True) or the deadline (False)."""
        while self._open:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(left * 1000 + 1):
                if fd == self._stdin:
                    self._feed()
                else:
                    self._drain(fd)
        return True

    def _feed(self):
        try:
            while self._data:
                self._data = self._data[os.write(self._stdin, self._data) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass  # it does not read its input: its own affair
        self._poll.unregister(self._stdin)
        os.close(self._stdin)
        self._stdin = -1

    def _drain(self, fd):
        chunk = os.read(fd, _CHUNK)
        if not chunk:
            self._poll.unregister(fd)
            self._open.discard(fd)
            return
        room = _CHUNK if fd == self._status else max(0, self._cap - len(self.kept[fd]))
        self.kept[fd] += chunk[:room]
        self.omitted += max(0, len(chunk) - room)

    def close(self):
        for fd in self.kept:
            os.close(fd)
        if self._stdin >= 0:
            os.close(self._stdin)


def _reap(pid):
    """The supervisor ends by itself; one that does not is killed."""
    deadline = time.monotonic() + 1
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, _signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(0.0005)


def _join_cgroup():
    """The harness names open cgroup.procs files of the student's groups in CHALK_STUDENT_CGROUP_PROCS ("4,5")."""
    for number in os.environ.get("CHALK_STUDENT_CGROUP_PROCS", "").split(","):
        if number:
            os.write(int(number), b"0")


def _parents():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue  # it ended meanwhile
    return parents


def _descendants():
    me, parents, found = os.getpid(), _parents(), []
    for pid in parents:
        above = pid
        while above in parents and above != me:
            above = parents[above]
        if above == me and pid != me:
            found.append(pid)
    return found


def _signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _reap_orphans():
    """True when no descendant is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _kill_descendants(deadline):
    while not _reap_orphans() and time.monotonic() < deadline:
        # Stopped first, all of them: what is stopped does not fork while the others are being killed.
        stopped = set()
        while time.monotonic() < deadline:
            fresh = [pid for pid in _descendants() if pid not in stopped]
            if not fresh:
                break
            _signal_all(fresh, _signal.SIGSTOP)
            stopped.update(fresh)
        _signal_all(stopped, _signal.SIGKILL)
        time.sleep(0.001)
