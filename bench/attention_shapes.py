"""What each section of bench/attention.py measures: arguments of the method of the same name."""

LENGTHS = ((16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384))
DENSE = [(b, s, h, h, d) for d, h in ((128, 16), (64, 32), (256, 8)) for b, s in LENGTHS] + [(2, 8192, 32, 8, 128)]
DECODE = [(b, t, h, 8, 128) for h in (64, 32) for b in (32, 64, 128) for t in (4096, 8192)]
SEARCH = [(4, 4096, 16, 128), (16, 1024, 16, 128), (4, 4096, 32, 64), (4, 4096, 16, 96), (4, 4096, 8, 256)]
FEW = [(b, t, h, 8, 128) for h in (64, 32) for b in (1, 4, 8, 16) for t in (4096, 8192, 32768)] + [(8, 16384, 32, 8, 128), (1, 131072, 32, 8, 128)]
SHORT = [(1, s, t, h, g, 128) for s in (1, 4, 16, 64) for t, h, g in ((8192, 64, 8), (32768, 32, 8), (8192, 16, 16))]

SECTIONS = {"dense": [(*s, c) for s in DENSE for c in (False, True)], "arguments": [(4, 4096, 16, 128)],
            "fp8": [(b, s, 16, 128, c) for b, s in LENGTHS for c in (False, True)],
            "varlen": [(kind, 16384, 16, g, 128, c) for kind, g in (("equal", 16), ("mixed", 16)) for c in (False, True)],
            "cache": [(64, 8192, 64, 8, 128)], "decode": DECODE, "few": FEW, "short": SHORT, "latent": [(64, 4096, 128), (128, 8192, 128), (1, 65536, 128)],
            "unequal": [([32768, 16384] + [512] * 14, 64, 8, 128)], "search": [(*s, c) for s in SEARCH for c in (False, True)]}
