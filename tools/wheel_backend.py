"""The build backend of the Python package (PEP 517 and 660): standard library only, no network.

A wheel is the package in python/tileloom, the release library (tools/release_library.py) in tileloom/lib, and the
metadata. One wheel serves every Python 3: the package is pure Python over a C API. An editable install points at
python/ and uses the library of the build folder, through $TILELOOM_LIBRARY.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAG = "py3-none-manylinux_2_36_x86_64"  # glibc of Debian 12
MAX_BYTES = 30_000_000
# A fixed time makes equal inputs give equal wheels.
TIME = (2020, 1, 1, 0, 0, 0)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def _version():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(tileloom VERSION ([\d.]+)", file.read()).group(1)
    with open(os.path.join(ROOT, "python", "tileloom", "__init__.py")) as file:
        python = re.search(r'__version__ = "(.*)"', file.read()).group(1)
    if python != version:
        raise SystemExit(f"python/tileloom/__init__.py has version {python}, CMakeLists.txt {version}; needed: equal")
    return version


def _metadata(version):
    return (f"Metadata-Version: 2.1\nName: tileloom\nVersion: {version}\n"
            "Summary: A compiler for tile kernels on NVIDIA Hopper and Blackwell\n"
            "Requires-Python: >=3.9\n"
            "Provides-Extra: plots\nRequires-Dist: matplotlib; extra == \"plots\"\n").encode()


def _wheel_file(pure):
    tag = "py3-none-any" if pure else TAG
    return (f"Wheel-Version: 1.0\nGenerator: tileloom\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag}\n").encode()


class _Wheel:
    def __init__(self, folder, version, tag):
        self.name = f"tileloom-{version}-{tag}.whl"
        self.info = f"tileloom-{version}.dist-info"
        self.path = os.path.join(folder, self.name)
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.records = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, TIME)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}\n")

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def finish(self, version, pure):
        self.add(f"{self.info}/METADATA", _metadata(version))
        self.add(f"{self.info}/WHEEL", _wheel_file(pure))
        self.add_file(f"{self.info}/licenses/LICENSE", os.path.join(ROOT, "LICENSE"))
        record = f"{self.info}/RECORD"
        self.zip.writestr(zipfile.ZipInfo(record, TIME), "".join(self.records) + f"{record},,\n")
        self.zip.close()
        return self.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    from release_library import build_library
    build = os.path.join(ROOT, "build-release")
    library = os.path.join(build, "wheel", "libtileloom.so")
    build_library(library, build)
    version = _version()
    wheel = _Wheel(wheel_directory, version, TAG)
    package = os.path.join(ROOT, "python")
    for folder, folders, files in sorted(os.walk(os.path.join(package, "tileloom"))):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "lib"))
        for name in sorted(files):
            if not name.endswith(".pyc"):
                path = os.path.join(folder, name)
                wheel.add_file(os.path.relpath(path, package), path)
    wheel.add_file("tileloom/lib/libtileloom.so", library, 0o755)
    name = wheel.finish(version, pure=False)
    size = os.path.getsize(wheel.path)
    if size > MAX_BYTES:
        raise SystemExit(f"{name} has {size} bytes; needed at most {MAX_BYTES}")
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    version = _version()
    wheel = _Wheel(wheel_directory, version, "py3-none-any")
    wheel.add("tileloom.pth", (os.path.join(ROOT, "python") + "\n").encode())
    return wheel.finish(version, pure=True)


def build_sdist(sdist_directory, config_settings=None):
    version = _version()
    base = f"tileloom-{version}"
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split("\n")
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz") as archive:
        for name in filter(None, files):
            archive.add(os.path.join(ROOT, name), f"{base}/{name}")
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        data = _metadata(version)
        info.size = len(data)
        import io
        archive.addfile(info, io.BytesIO(data))
    return base + ".tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "dist")
    os.makedirs(target, exist_ok=True)
    built = build_wheel(target)
    print(f"{os.path.join(target, built)}: {os.path.getsize(os.path.join(target, built)) / 1e6:.1f} MB")
