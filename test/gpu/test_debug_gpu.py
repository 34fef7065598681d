"""A check that fails on a GPU: the launch ends with an error, and the driver says which check of which line. In a process of its own, as the device's
context is lost with it."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = """
import torch
import tileloom as tl
from test_lang_debug import check

kernel = tl.jit(check, debug=True)
x, out = torch.arange(100, dtype=torch.int32, device="cuda"), torch.zeros(100, dtype=torch.int32, device="cuda")
kernel[(1,)](x, out, 100, B=128)
torch.cuda.synchronize()
assert (out == x).all()
print("held", flush=True)
x[70] = -5
kernel[(1,)](x, out, 100, B=128)
try:
    torch.cuda.synchronize()
except RuntimeError as error:
    print("failed:", str(error).splitlines()[0], flush=True)
"""


def test_a_check_that_fails():
    paths = [os.path.join(ROOT, "test", "python"), os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run([sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True, timeout=120)
    assert "held\n" in done.stdout and "failed:" in done.stdout and "assert" in done.stdout.lower(), done.stdout + done.stderr
    assert "all of x are natural numbers" in done.stderr and "test_lang_debug.py" in done.stderr, done.stderr
