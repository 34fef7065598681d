#!/usr/bin/env python3
"""Every small change of one statement that concerns synchronisation, one at a time, in several programs: what does the simulator not find?

    test/faults/mutants.py [--only KERNEL] [--kind REGEX] [--seeds 3] [--json FILE] [--table FILE]

Prints each mutant that has the right result and no finding in any schedule; docs/simulator-mutants.md says why those are harmless. Beside the
kernels of the seeded-fault suite there are programs of the library that have what those lack.
"""

import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from library import load  # noqa: E402
from simulate import simulate  # noqa: E402

# Statements that are left out one by one.
SYNCHRONISATION = (r"bar\.|barrier\.|mbarrier\.(init|arrive)|fence\.|membar|wgmma\.(fence|commit|wait)|tcgen05\.(fence|commit|wait|dealloc|relinquish|alloc)|"
                   r"cp\.async\.(bulk\.)?(commit|wait)_group|cp\.async\.mbarrier|setmaxnreg|cp\.async\.bulk\.|cp\.reduce")
ACCESS = r"ld\.shared|st\.shared|stmatrix|ldmatrix|tcgen05\.(ld|st|mma|cp)|wgmma"
BARRIER = r"mbarrier\.(arrive|try_wait)|tcgen05\.commit"
ELECT = r"elect\.sync"


def last_number(line, change):
    return re.sub(r"(\d+)(\s*;)", lambda m: f"{change(int(m.group(1)))}{m.group(2)}", line)


def on_address(line, number, bytes_on):
    """The number-th address further on."""
    found = [m for m in re.finditer(r"\[([^\[\]{},]+)([,\]])", line)]
    m = found[number]
    return line[:m.start(1)] + m.group(1) + ("+" if bytes_on > 0 else "") + str(bytes_on) + line[m.end(1):] if "+" not in m.group(1) else (
        line[:m.start(1)] + re.sub(r"\+(-?\d+)", lambda n: f"+{int(n.group(1)) + bytes_on}", m.group(1)) + line[m.end(1):])


def other_register(line, operand, kind, text):
    """The register that `operand` finds, replaced by what `text` makes of it before."""
    m = re.search(operand, line)
    if not m:
        return None
    body = line[:m.start(1)] + "%other" + line[m.end(1):]
    return f"\t{{ .reg {kind} %other; {text.format(m.group(1))} {body.strip()} }}"


def changes(line):
    """(kind, statement instead) of a line."""
    text = line.strip()
    if not text or text.startswith(("//", ".", "$")) or text.endswith(":"):
        return
    if re.match(rf"(@!?%p\d+\s+)?({SYNCHRONISATION})", text):
        yield "left out", "\t// " + text
    if "mbarrier.try_wait" in text:
        predicate = re.search(r"%p\d+", text).group()
        yield "wait left out", f"\tsetp.eq.b32 \t{predicate}, 0, 0;"
        yield "other parity", other_register(line, r"\], (%r\d+);", ".b32", "xor.b32 %other, {}, 1;") or last_number(line, lambda n: n ^ 1)
    if re.search(BARRIER, text):
        yield "next barrier", on_address(line, 0, 8)
        yield "barrier before", on_address(line, 0, -8)
    if "complete_tx" in text:
        yield "copy counts on the next barrier", on_address(line, -1, 8)
        yield "copy to 1024 bytes further on", on_address(line, 0, 1024)
    if re.search(r"mbarrier\.init", text):
        for change in (1, -1):
            yield f"count {change:+d}", other_register(line, r"\], (%r\d+);", ".b32", f"add.s32 %other, {{}}, {change};")
    if "expect_tx" in text:
        for change in (16, -16):
            yield f"{change:+d} bytes expected", other_register(line, r"\], (%r\d+);", ".b32", f"add.s32 %other, {{}}, {change};") or last_number(
                line, lambda n: n + change)
    if re.search(r"wait_group", text):
        yield "one group less waited for", last_number(line, lambda n: n + 1)
    if re.match(r"bar\.(sync|arrive)", text):
        yield "other barrier", re.sub(r"(bar\.\w+\s+)(%r\d+|\d+)", r"\g<1>13", line)
        if "," in text:
            yield "32 threads more", last_number(line, lambda n: n + 32) if re.search(r"\d+;", text) and "%r" not in text.split(",")[1] else (
                other_register(line, r", (%r\d+);", ".b32", "add.s32 %other, {}, 32;"))
    if re.search(ELECT, text):
        predicate = re.search(r"[|](%p\d+)", text).group(1)
        yield "all lanes elected", f"{line}\n\tsetp.eq.u32 {predicate}, 0, 0;"
    if re.match(r"wgmma\.mma_async", text):
        for name, operand in (("A", r"\}, (%rd\d+), %rd\d+,"), ("B", r"(?:%rd\d+|\}), (%rd\d+), (?:p|%p\d+|0|1)[,;]")):
            for step, what in ((1024, "a slot"), (64, "1024 bytes")):
                yield f"{name} {what} further on", other_register(line, operand, ".b64", f"add.s64 %other, {{}}, {step};")
    if re.match(r"(@%p\d+ )?tcgen05\.mma", text):
        for number, name in ((0, "A"), (1, "B")):
            found = re.findall(r", (%rd\d+)", line)
            if len(found) > number:
                yield f"{name} 1024 bytes further on", other_register(line, rf"({found[number]}),", ".b64", "add.s64 %other, {}, 64;")
    if "mapa" in text:
        yield "rank 0", re.sub(r", (%r\d+|\d+);", ", 0;", line)
        yield "rank 1", re.sub(r", (%r\d+|\d+);", ", 1;", line)
    if "multicast::cluster" in text:
        yield "to the first CTA only", re.sub(r", %rs\d+;", ", 1;", line)
    if "setmaxnreg" in text:
        yield "8 registers more", last_number(line, lambda n: n + 8)
    if re.match(r"@!?%p\d+ (?!bra)", text):
        yield "without its predicate", re.sub(r"@!?%p\d+ ", "", line)
    branch = re.match(r"@(!?)(%p\d+)\s+bra\s", text)
    if branch:
        yield "branch never taken", "\t// " + text
        yield "branch always taken", re.sub(r"@!?%p\d+\s+bra", "bra.uni", line)
    if re.match(r"(stmatrix|st\.shared)", text):
        yield "store 16 bytes further on", on_address(line, 0, 16)
    if re.search(r"cp\.async\.bulk\.tensor", text):
        yield "coordinates swapped", re.sub(r"\{(%r\d+), (%r\d+)", r"{\2, \1", line)


def swapped(lines, i):
    """The synchronising statement before the last access or synchronisation that precedes it in its block; None if there is none."""
    if not re.match(rf"\s*(@!?%p\d+\s+)?({SYNCHRONISATION})", lines[i]):
        return None
    for j in range(i - 1, 0, -1):
        text = lines[j].strip()
        if text.startswith("$") or re.search(r"\bbra\b", text):
            return None
        if text.split(".")[:2] == lines[i].strip().split(".")[:2]:
            return None  # two of the same
        if re.match(rf"(@!?%p\d+\s+)?({SYNCHRONISATION}|{ACCESS})", text) or "mma_async" in text:
            return "\n".join(lines[:j] + [lines[i]] + lines[j:i] + lines[i + 1:])
    return None


def mutants(ptx):
    """(line number, kind, PTX)"""
    lines = ptx.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("{"))
    for i in range(begin, len(lines)):
        seen = {lines[i]}
        for kind, line in changes(lines[i]):
            if line and line not in seen:
                seen.add(line)
                yield i + 1, kind, "\n".join(lines[:i] + [line] + lines[i + 1:])
        text = swapped(lines, i)
        if text:
            yield i + 1, "before the statement before", text


OF_SUITE = ["gemm_pingpong", "gemm_multicast", "gemm_small_m", "gemm_bias", "gemm_fp8_rows", "attention_d128", "gemm_fp8_block_128x128", "gemm_tcgen05",
            "gemm_tcgen05_pair", "gemm_tcgen05_mxf8", "gemm_residual_tcgen05", "attention_tcgen05"]
OF_LIBRARY = ["grouped_gemm", "grouped_gemm_sm_100a", "paged_decode", "softmax"]


def table(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    print("| program | mutants | finding | result alone | strict alone | not found |\n|---|---|---|---|---|---|")
    for name in [*dict.fromkeys(row["kernel"] for row in rows), ""]:
        own = [row["how"] for row in rows if not name or row["kernel"] == name]
        print(f"| {name or 'all'} | {len(own)} | " + " | ".join(str(own.count(how)) for how in ("finding", "result", "strict", "not found")) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kernels that match")
    parser.add_argument("--kind", default="", help="changes that match")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", help="add the outcomes here")
    parser.add_argument("--table", metavar="JSON", help="print the outcomes of earlier runs as a table, and do nothing else")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    for name in [*OF_SUITE, *OF_LIBRARY]:
        if not re.search(options.only, name):
            continue
        kernel, rows, counts = load(name), [], collections.Counter()
        source, strict = kernel.ptx.split("\n"), simulate(kernel, checks="all,strict")[0]
        for line, kind, ptx in mutants(kernel.ptx):
            if not re.search(options.kind, kind):
                continue
            found, seed = set(), 0
            for seed in range(options.seeds):
                found, _ = simulate(kernel, ptx, seed=seed)
                if found:
                    break
            how = "not found" if not found else "result" if found == {"wrong-result"} else "finding"
            if not found and simulate(kernel, ptx, checks="all,strict")[0] - strict:
                how = "strict"
            counts[how] += 1
            rows.append({"kernel": name, "line": line, "kind": kind, "how": how, "found": sorted(found), "seed": seed})
            if not found:
                print(f"{name}:{line}: {kind}: {source[line - 1].strip()[:100]}", flush=True)
        print(f"{name}: {sum(counts.values())} mutants: {dict(counts)}", flush=True)
        if options.json:
            with open(options.json, "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
