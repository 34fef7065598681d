"""Checks the main loops of SASS (cuobjdump -sass on standard input): those whose body issues products of the tensor core, or reads or writes its
tensor memory.

Natural loops of the control flow graph, since ptxas puts the retries of waits behind the kernel; of nested ones the innermost counts, so that the
epilogue of a persistent loop is left out. In them no instruction may wait for memory of the whole GPU (MEMBAR.*.GPU), drop the L1
cache (CCTL.IVALL) or spill (STL, LDL). Prints one line a loop; fails if there is none.
"""
import re
import sys

FORBIDDEN = re.compile(r"(MEMBAR\.(\w+\.)*GPU|CCTL\.IVALL|STL|LDL)\b")
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
PRODUCTS = ("HGMMA", "QGMMA", "IGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA")
TENSOR_MEMORY = ("LDTM", "STTM")


def reachable(start, edges, without):
    seen, stack = {without}, [start]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(edges[node])
    return seen


def loops(code):
    """(first, last, addresses) of each natural loop."""
    addresses = list(code)
    after, before = {a: [] for a in addresses}, {a: [] for a in addresses}
    for address, next_address in zip(addresses, addresses[1:] + [None]):
        predicate, opcode, operands = code[address]
        # The predicate of a uniform branch is an operand.
        ends = opcode.split(".")[0] in ("BRA", "EXIT", "RET") and not predicate and "P" not in operands
        target = re.search(r"0x([0-9a-f]+)\s*$", operands) if opcode.startswith("BRA") else None
        if next_address is not None and not ends:
            after[address].append(next_address)
        if target and int(target[1], 16) in code:
            after[address].append(int(target[1], 16))
        for successor in after[address]:
            before[successor].append(address)
    for source in addresses:
        for head in after[source]:
            # A back edge goes to what every path to its source has passed.
            if head <= source and (head == addresses[0] or source not in reachable(addresses[0], after, head) - {head}):
                yield head, source, reachable(source, before, head)


def main():
    code = {int(m[1], 16): (m[2], m[3], m[4].strip()) for m in map(LINE.search, sys.stdin) if m}
    issuing = [loop for loop in loops(code) if any(code[a][1].startswith(PRODUCTS + TENSOR_MEMORY) for a in loop[2])]
    inner = [a for a in issuing if not any(b[2] < a[2] for b in issuing)]
    if not inner:
        sys.exit("no loop with tensor core instructions")
    for first, last, body in inner:
        products = sum(code[a][1].startswith(PRODUCTS) for a in body)
        print(f"loop {first:#x} to {last:#x}: {len(body)} instructions, {products} products", flush=True)
        for address in sorted(body):
            if FORBIDDEN.match(code[address][1]):
                sys.exit(f"{address:#x}: {code[address][1]} in the main loop")


main()
