"""Statements of PTX named by what they are for, so that mutations find them whatever the code generator calls or counts them.

A place is a regular expression over a statement, or a function of the PTX text that gives indices of its lines, in the order in which control
reaches them first.
"""

import re
from functools import lru_cache

LOAD = r"cp\.async\.bulk\.tensor.*mbarrier::complete_tx"
STORE = r"cp\.async\.bulk\.tensor.*bulk_group"
RELEASE = r"mbarrier\.arrive\.shared"  # without a byte count
WAIT = r"mbarrier\.try_wait"
PRODUCT = r"wgmma\.mma_async"
MMA = r"tcgen05\.mma"


def statement(line):
    return line.strip() and not line.lstrip().startswith("//")


def find(ptx, place):
    """Indices of the lines of a place."""
    if callable(place):
        return place(ptx)
    return in_order(ptx, [i for i, line in enumerate(ptx.split("\n")) if re.search(place, line) and statement(line)])


@lru_cache(maxsize=64)
def flow(ptx):
    """(before, after): for each line those from which control comes, and to which it goes."""
    lines = ptx.split("\n")
    labels = {match.group(1): i for i, line in enumerate(lines) if (match := re.match(r"\s*([$\w]+):", line))}
    before, after = [[] for _ in lines], [[] for _ in lines]
    for i, line in enumerate(lines):
        branch = re.match(r"\s*(@!?%\w+\s+)?bra(?:\.uni)?\s+([$\w]+);", line)
        to = [labels[branch.group(2)]] if branch and branch.group(2) in labels else []
        ends = (branch and not branch.group(1)) or re.match(r"\s*(ret|exit)\s*;", line)
        if not ends and i + 1 < len(lines):
            to.append(i + 1)
        after[i] = to
        for j in to:
            before[j].append(i)
    return before, after


@lru_cache(maxsize=64)
def distances(ptx):
    """Statements from the beginning of the text to each line, by the shortest way."""
    after, steps, todo = flow(ptx)[1], {}, [0]
    for distance in range(len(after)):
        todo = [i for i in dict.fromkeys(todo) if i not in steps]
        steps.update(dict.fromkeys(todo, distance))
        todo = [j for i in todo for j in after[i]]
    return steps


def in_order(ptx, lines):
    steps = distances(ptx)
    return sorted(lines, key=lambda i: (steps.get(i, len(steps)), i))


def nearest(ptx, place, anchor, direction):
    """The first lines of `place` on every path that leaves the lines of `anchor` that way."""
    wanted, steps, found, seen = set(find(ptx, place)), flow(ptx)[direction], set(), set()
    todo = [j for i in find(ptx, anchor) for j in steps[i]]
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        if i in wanted:
            found.add(i)
        else:
            todo += steps[i]
    return in_order(ptx, found)


def ahead(place, anchor):
    """What of `place` comes last before the anchor."""
    return lambda ptx: nearest(ptx, place, anchor, 0)


def behind(place, anchor):
    """What of `place` comes first after the anchor."""
    return lambda ptx: nearest(ptx, place, anchor, 1)


def closest(place, anchor):
    """The one line of `place` with the fewest statements between the anchor and it."""
    def at(ptx):
        wanted, todo, seen = set(find(ptx, place)), find(ptx, anchor), set()
        while todo:
            todo = [j for i in todo for j in flow(ptx)[1][i] if j not in seen]
            if wanted.intersection(todo):
                return [min(wanted.intersection(todo))]
            seen.update(todo)
        return []
    return at


def within(place, other):
    return lambda ptx: [i for i in find(ptx, place) if i in find(ptx, other)]


def without(place, other):
    return lambda ptx: [i for i in find(ptx, place) if i not in find(ptx, other)]


def definition(lines, name, at):
    """The last line above `at`, else the last of all, that gives the register."""
    pattern = re.compile(rf"\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(?:\{{[^}}]*)?{re.escape(name)}\b(?!\])")
    all_of_them = [i for i, line in enumerate(lines) if name in line and pattern.match(line) and not re.match(r"\s*(st|mbarrier|bar)\b", line)]
    above = [i for i in all_of_them if i < at]
    return (above or all_of_them or [None])[-1]


def constant(lines, text, at, depth=0):
    """The sum of the constants in an address: for rings of barriers, where the ring begins."""
    total = 0
    for term in re.findall(r"[^+\s]+", text):
        if re.fullmatch(r"-?\d+", term):
            total += int(term)
        elif term.startswith("%") and depth < 16:
            i = definition(lines, term, at)
            operation = re.match(r"\s*(\w+)[\w.:]*\s+[^,]+,\s*(.*);", lines[i]) if i is not None else None
            if not operation:
                continue
            name, operands = operation.group(1), re.split(r",\s*", operation.group(2))
            terms = {"add": operands, "mov": operands, "mad": operands[2:], "mapa": operands[:1], "cvta": operands[:1]}.get(name, [])
            total += sum(constant(lines, one, i, depth + 1) for one in terms)
    return total


def barrier(lines, i):
    """Where the ring of the barrier begins that the statement uses: the last address of a copy, the first of anything else."""
    addresses = re.findall(r"\[([^\[\]{},]+)[\],]", lines[i])
    return constant(lines, addresses[-1 if "cp.async" in lines[i] else 0], i)


def on_ring_of(place, signal):
    def at(ptx):
        lines = ptx.split("\n")
        rings = {barrier(lines, i) for i in find(ptx, signal)}
        return [i for i in find(ptx, place) if barrier(lines, i) in rings]
    return at


def waits(signal):
    """The waits for the barriers on which `signal` (an arrival, a load, a commit) acts."""
    return on_ring_of(WAIT, signal)


def arrivals(wait):
    """The plain arrivals at the barriers that `wait` waits for."""
    return on_ring_of(RELEASE, wait)


def inits(signal):
    """The initialisations of the ring on which `signal` acts."""
    def at(ptx):
        lines = ptx.split("\n")
        users = find(ptx, rf"{WAIT}|{RELEASE}|mbarrier\.arrive\.expect_tx|tcgen05\.commit")
        begins = sorted({barrier(lines, i) for i in users})
        ring = barrier(lines, find(ptx, signal)[0])
        end = min((begin for begin in begins if begin > ring), default=1 << 30)
        return [i for i in find(ptx, r"mbarrier\.init") if ring <= barrier(lines, i) < end]
    return at


def loads(parameter, pattern=LOAD):
    """The loads (or stores) through the tensor map that is the kernel's n-th parameter."""
    def at(ptx):
        lines = ptx.split("\n")

        def source(name, i):
            while name.startswith("%"):
                i = definition(lines, name, i)
                name = re.match(r"\s*[\w.:]+\s+[^,]+,\s*\[?([^\],;]+)", lines[i]).group(1)
            return name
        return [i for i in find(ptx, pattern) if source(re.search(r"\[(%rd\d+), \{", lines[i]).group(1), i).endswith(f"_{parameter}")]
    return at


def giver(place, operand, number=0, kind=""):
    """The statement that gives a register of a place's statement; `operand` is an expression that finds it there. With `kind`, the first such
    statement among those from which the register is summed up."""
    def at(ptx):
        lines = ptx.split("\n")
        i = find(ptx, place)[number]
        todo = [definition(lines, re.search(operand, lines[i]).group(1), i)]
        while todo and not re.search(kind, lines[todo[0]]):
            i = todo.pop(0)
            operands = re.findall(r"%\w+", lines[i])[1:] if re.match(r"\s*(add|mov|or)\.", lines[i]) else []
            todo += [j for j in (definition(lines, name, i) for name in operands) if j is not None]
        return todo[:1]
    return at


DESCRIPTOR = r"mov\.b64 %rd\d+, \{%r\d+, -?\d+\}"
