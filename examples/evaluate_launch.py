"""What a launch recipe turns into, computed without a GPU: grid, parameters and tensor maps of a persistent GEMM
on host arrays of some shapes, and what the user reads when an argument does not fit."""

import numpy as np
from tileloom.runtime import Device, Kernel, TileloomError

TILE = {"kind": "tensor_map", "box": [64, 128], "swizzle": 128, "l2_promotion": 256}


def tiles(argument):
    return {"op": "ceildiv", "of": [{"dimension": [argument, 0]}, 128]}


RECIPE = {
    "version": 1, "kernel": "gemm", "target": "sm_90a",
    "arguments": [{"name": name, "kind": "tensor", "element": "f16", "rank": 2, "location": "gemm.py:4:10"}
                  for name in ("a", "b", "c")],
    "parameters": [{**TILE, "argument": index} for index in range(3)]
    + [{"kind": "dimension", "argument": 0, "axis": 1, "element": "i32"}],
    "launch": {"grid": {"persistent": True, "tiles": [tiles(0), tiles(1)]}, "threads": 384, "cluster": [2, 1, 1],
               "shared_bytes": 200000},
}

if __name__ == "__main__":
    kernel = Kernel.load(None, RECIPE)
    device = Device.named("sm_90a")
    for m, n, k in ((4096, 4096, 512), (300, 256, 64), (0, 256, 64), (256, 256, 100)):
        a, b, c = (np.zeros(shape, np.float16) for shape in ((m, k), (n, k), (m, n)))
        try:
            launch = kernel.evaluate(a, b, c, device=device)
        except TileloomError as error:
            print(f"{m} x {n} x {k}: {error}")
            continue
        print(f"{m} x {n} x {k}: grid {launch.grid}, clusters of {launch.cluster[0]}, {launch.threads} threads, "
              f"{len(launch.bytes)} bytes of parameters")
        if launch.grid[0]:
            print("   a:", launch.parameters[0].tensor_map)
