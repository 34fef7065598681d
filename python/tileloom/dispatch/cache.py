"""The disk cache: one file for each compiled program.

The key is a hash of the tile text (which holds the source, constants, specialisation and schedule), the target, the options, the library
and the assembler. An entry is written under another name and renamed, so that readers of any process see all of it or nothing; its
checksum finds damage, and a damaged entry counts as absent. A directory that cannot be written to is replaced, with a warning, by a
private temporary one.
"""

import hashlib
import json
import os
import shutil
import tempfile
import threading
import warnings

from ..runtime import library

_MAGIC = b"tileloom-cache-1\n"
_lock = threading.Lock()
_state = {}


def directory():
    """The directory in use: $TILELOOM_CACHE_DIR, or ~/.cache/tileloom; made if it is not there."""
    wanted = os.environ.get("TILELOOM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "tileloom")
    with _lock:
        if _state.get("wanted") != wanted:
            _state.update(wanted=wanted, used=_usable(wanted))
        return _state["used"]


def _usable(wanted):
    try:
        os.makedirs(wanted, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        return _replacement(wanted, error)


def _replacement(wanted, error):
    used = tempfile.mkdtemp(prefix="tileloom-cache-")
    warnings.warn(f"tileloom: the cache directory {wanted} cannot be written to ({error.strerror or error}); compiled kernels go to {used} "
                  "for this process. Set TILELOOM_CACHE_DIR to a directory of your own.", stacklevel=3)
    return used


def _identity(path):
    """What tells one build of a file from another without reading it."""
    try:
        real = os.path.realpath(path)
        status = os.stat(real)
        return f"{real}:{status.st_size}:{status.st_mtime_ns}"
    except (OSError, TypeError):
        return f"{path}:absent"


def find_ptxas():
    """The assembler that the library will take, or None: $TILELOOM_PTXAS, $CUDA_HOME/bin, $PATH, the Python package."""
    from .. import compiler
    named = os.environ.get("TILELOOM_PTXAS")
    if named:
        return named
    cuda = os.environ.get("CUDA_HOME")
    if cuda and os.path.exists(os.path.join(cuda, "bin", "ptxas")):
        return os.path.join(cuda, "bin", "ptxas")
    return shutil.which("ptxas") or compiler._packaged_ptxas()


def key(text, target, options=()):
    """The name of a program's entry."""
    parts = [text, target, repr(options), _identity(library._path()), _identity(find_ptxas())]
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:40]


def _file(name):
    return os.path.join(directory(), name[:2], name + ".tlc")


def load(name):
    """The parts of an entry, {name: bytes}; None if it is absent or damaged."""
    path = _file(name)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    parts = _parse(data)
    if parts is None:
        try:
            os.unlink(path)
        except OSError:
            pass
    return parts


def _parse(data):
    header_end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or header_end < 0:
        return None
    try:
        header = json.loads(data[len(_MAGIC):header_end])
        sizes, checksum = header["sizes"], header["sha256"]
    except (ValueError, KeyError, TypeError):
        return None
    body = data[header_end + 1:]
    if hashlib.sha256(body).hexdigest() != checksum or sum(size for _, size in sizes) != len(body):
        return None
    parts, at = {}, 0
    for part, size in sizes:
        parts[part] = body[at:at + size]
        at += size
    return parts


def store(name, parts):
    """Publishes an entry. What goes wrong costs the entry only."""
    body = b"".join(parts.values())
    header = {"sizes": [[part, len(data)] for part, data in parts.items()], "sha256": hashlib.sha256(body).hexdigest()}
    path = _file(name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{os.getpid()}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + json.dumps(header).encode() + b"\n" + body)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        warnings.warn(f"tileloom: the cache entry {path} could not be written ({error.strerror or error})", stacklevel=2)
