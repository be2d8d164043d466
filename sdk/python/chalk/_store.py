"""ProtectedStore: data for hooks, tools and judges that the student must not see."""

import os

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class ProtectedStore:
    """Entries are files under ~/.config/chalk/protected/ that only their owner (root, in a sandbox) can read. They live
    as long as the sandbox."""

    def __init__(self, folder=None):
        self.folder = folder or os.path.join(os.path.expanduser("~"), ".config", "chalk", "protected")

    def _file(self, key):
        if not key or key[0] == "." or len(key) > 200 or not _SAFE.issuperset(key):
            raise ValueError("an entry's name has letters, digits, '.', '_' and '-' only: " + repr(key))
        return os.path.join(self.folder, key)

    def write(self, key, value):
        """Takes a string, bytes, a dict or a pydantic model. Replaces the entry as a whole."""
        if isinstance(value, str):
            data = value.encode("utf-8")
        elif isinstance(value, (bytes, bytearray)):
            data = bytes(value)
        elif isinstance(value, dict):
            from chalk._json_lines import dumps

            data = dumps(value).encode("utf-8")
        elif hasattr(value, "model_dump_json"):
            data = value.model_dump_json().encode("utf-8")
        else:
            raise TypeError("ProtectedStore takes str, bytes, dict or a pydantic model, not " + type(value).__name__)
        file = self._file(key)
        os.makedirs(self.folder, 0o700, exist_ok=True)
        os.chmod(self.folder, 0o700)
        temporary = "%s.%d.tmp" % (file, os.getpid())
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with open(descriptor, "wb") as out:
                out.write(data)
            os.rename(temporary, file)
        except BaseException:
            os.unlink(temporary)
            raise

    def read(self, key, kind=str):
        """`kind`: str, bytes, dict or a pydantic model's class. KeyError when nothing was written under `key`."""
        try:
            with open(self._file(key), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise KeyError("the protected store has no entry " + repr(key)) from None
        if kind is bytes:
            return data
        if kind is str:
            return data.decode("utf-8")
        if kind is dict:
            from chalk._json_lines import loads

            return loads(data.decode("utf-8"))
        if hasattr(kind, "model_validate_json"):
            return kind.model_validate_json(data)
        raise TypeError("ProtectedStore reads str, bytes, dict or a pydantic model's class, not " + repr(kind))
