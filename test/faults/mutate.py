"""Mutations of PTX text and of launch recipes. Each function gives a function of (ptx, recipe) that returns the mutated pair.

Sites are named by a place (places.py: a regular expression, or what a statement is for) and the number of the matching statement, counted
from 0 (negative: from the end). A site that does not exist is an error: the suite must notice when the compiler's output changes.
"""

import copy
import re

from places import WAIT, behind, definition, find


class NoSite(Exception):
    pass


def sites(ptx, place):
    """Indices of the lines of a place."""
    return find(ptx, place)


def site(ptx, pattern, number):
    found = sites(ptx, pattern)
    if not -len(found) <= number < len(found):
        raise NoSite(f"{pattern if isinstance(pattern, str) else 'place'!r} number {number}: found {len(found)} lines")
    return found[number]


def edit(pattern, change, number=0, every=False):
    """change(line) for the number-th line that matches, or for all."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        for i in sites(ptx, pattern) if every else [site(ptx, pattern, number)]:
            lines[i] = change(lines[i])
        changed = "\n".join(lines)
        if changed == ptx:
            raise NoSite(f"{pattern!r} number {number}: nothing to change")
        return changed, recipe
    return apply


def drop(pattern, number=0, every=False):
    """Without the statement; what it defines gets no value."""
    return edit(pattern, lambda line: "\t// dropped: " + line.strip(), number, every)


def swap(pattern, old, new, number=0, every=False):
    """re.sub(old, new) in the statement."""
    return edit(pattern, lambda line: re.sub(old, new, line), number, every)


def in_source(user, register, old, new):
    """re.sub(old, new) in the statement that gives a register of the first statement that matches; `register` finds it there."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        at = site(ptx, user, 0)
        name = re.escape(re.search(register, lines[at]).group(1))
        source = max(i for i in range(at) if re.match(rf"\s*[a-z0-9.:]+\s+{name},", lines[i]))
        changed = re.sub(old, new, lines[source])
        if changed == lines[source]:
            raise NoSite(f"{user!r}: {lines[source]!r} has nothing to change")
        lines[source] = changed
        return "\n".join(lines), recipe
    return apply


def same_address(pattern, number):
    """The address of the statement before it that matches."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        before, here = (site(ptx, pattern, one) for one in (number - 1, number))
        lines[here] = re.sub(r"\[[^\]]*\]", re.search(r"\[[^\]]*\]", lines[before]).group(), lines[here], count=1)
        return "\n".join(lines), recipe
    return apply


def drop_wait(place=WAIT, number=0, every=False):
    """The try_wait loop: the label's branch back is not taken any more. The try_wait itself goes too, its predicate is set."""
    def change(line):
        predicate = re.search(r"%p\d+", line).group()
        return f"\tsetp.eq.b32 \t{predicate}, 0, 0;"
    return edit(place, change, number, every)


def test_once(place=WAIT, number=0):
    """The try_wait without the branch back to it: whatever it says, the thread goes on."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, place, number)
        predicate = re.search(r"%p\d+", lines[i]).group()
        for j in range(i + 1, i + 4):
            negation = re.match(r"\s*not\.pred\s+(%p\d+), " + predicate, lines[j])
            predicate = negation.group(1) if negation else predicate
            if not re.match(r"\s*@!?" + predicate + r"\s+bra", lines[j]):
                continue
            if "bra.uni" in lines[j + 1]:  # the branch leaves the loop, the next one goes back
                lines[j] = re.sub(r"@!?%p\d+ bra", "bra.uni", lines[j])
                j += 1
            lines[j] = "\t// dropped: " + lines[j].strip()
            return "\n".join(lines), recipe
        raise NoSite(f"no branch behind try_wait number {number}")
    return apply


def keep_parity(wait, number=0):
    """A ring's parity (the first xor with a 1 or 0 behind the wait) stays when the ring wraps."""
    def flips(ptx):
        lines = ptx.split("\n")
        return [i for i in find(ptx, r"xor\.b32\s+%r\d+, %r\d+, %r\d+;") if re.search(
            r"selp\.b32\s+%r\d+, 1, 0", lines[definition(lines, re.search(r"(%r\d+);", lines[i]).group(1), i)])]
    return edit(behind(flips, wait), lambda line: re.sub(r"xor\.b32(\s+%r\d+, %r\d+), %r\d+;", r"mov.b32\1;", line), number)


def keep_between_tiles(wait, number=0):
    """The parity of a wait that a loop carries keeps the value that the loop began with: its last definition, the one in the loop, is gone."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, wait, number)
        name = re.search(r"\],\s*(%\w+);", lines[i]).group(1)
        given = [j for j in behind(rf"^\s*xor\.b32\s+{name},", lambda _: [i])(ptx)]
        if not given:
            raise NoSite(f"{name} is not given behind line {i + 1}")
        lines[given[0]] = "\t// dropped: " + lines[given[0]].strip()
        return "\n".join(lines), recipe
    return apply


def by_lane(elect, comparison, lane, number=0):
    """Lanes that compare so with `lane` go on behind an election, not the elected one."""
    return edit(elect, lambda line: (f"{line}\n\t{{ .reg .b32 %lane; mov.u32 %lane, %laneid; setp.{comparison}.u32 "
                                     f"{re.search(r'[|](%p[0-9]+)', line).group(1)}, %lane, {lane}; }}"), number)


def by_warps(pattern, comparison, number=0, otherwise=""):
    """Only the warps of a warpgroup whose number compares so with 0 ("eq", "ne") execute the statement, the others `otherwise`."""
    def change(line):
        return ("\t{ .reg .pred %mine; .reg .b32 %warp; mov.u32 %warp, %tid.x; and.b32 %warp, %warp, 96; "
                f"setp.{comparison}.u32 %mine, %warp, 0; @%mine {line.strip()} {'@!%mine ' + otherwise if otherwise else ''} }}")
    return edit(pattern, change, number)


def bits(pattern, mask, number=0):
    """Flips bits of the last number of the statement."""
    return edit(pattern, lambda line: re.sub(r"(\d+);", lambda m: f"{int(m.group(1)) ^ mask};", line), number)


def flip_parity(place=WAIT, number=0):
    """Waits for the other phase."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, place, number)
        parity = re.search(r"\],\s*(%\w+|\d+);", lines[i]).group(1)
        if parity.isdigit():
            lines[i] = re.sub(r"\],\s*\d+;", f"], {1 - int(parity)};", lines[i])
        else:
            lines[i] = "{ .reg .b32 %flipped;\n" + f"\txor.b32 %flipped, {parity}, 1;\n" + lines[i].replace(
                f", {parity};", ", %flipped;") + "\n}"
        return "\n".join(lines), recipe
    return apply


def move(pattern, number, before=None, after=None, anchor=0, lines_with_it=1):
    """Moves the statement (and those that follow it, `lines_with_it` in all) in front of, or behind, another one."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, pattern, number)
        moved = lines[i:i + lines_with_it]
        to = site(ptx, before or after, anchor) + (1 if after else 0)
        rest = lines[:i] + lines[i + lines_with_it:]
        if to > i:
            to -= lines_with_it
        return "\n".join(rest[:to] + moved + rest[to:]), recipe
    return apply


def move_to_join(pattern, number=0):
    """Moves a statement behind the label of the next conditional branch: what that branch guards comes before it."""
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, pattern, number)
        branch = next((re.match(r"\s*@!?%p\d+ bra\s+(\S+);", line) for line in lines[i:] if re.match(r"\s*@!?%p\d+ bra", line)), None)
        if not branch or branch.group(1) + ":" not in lines:
            raise NoSite(f"no conditional branch behind {pattern!r} number {number}")
        moved = lines.pop(i)
        lines.insert(lines.index(branch.group(1) + ":") + 1, moved)
        return "\n".join(lines), recipe
    return apply


def insert(text, pattern, number=0, after=False):
    def apply(ptx, recipe):
        lines = ptx.split("\n")
        i = site(ptx, pattern, number) + (1 if after else 0)
        return "\n".join(lines[:i] + [text] + lines[i:]), recipe
    return apply


def in_recipe(*path, value):
    """Sets recipe[path...], to value or to value(what it is)."""
    def apply(ptx, recipe):
        recipe = copy.deepcopy(recipe)
        at = recipe
        for key in path[:-1]:
            at = at[key]
        new = value(at[path[-1]]) if callable(value) else value
        if at[path[-1]] == new:
            raise NoSite(f"the recipe's {path} is {new} already")
        at[path[-1]] = new
        return ptx, recipe
    return apply


def both(*changes):
    def apply(ptx, recipe):
        for change in changes:
            ptx, recipe = change(ptx, recipe)
        return ptx, recipe
    return apply
