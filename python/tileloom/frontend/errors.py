"""Errors of programs: where in the user's source, what was found, what was needed.

`CompilationError` is what a user sees: file, line and column, the message, the source line and a caret, then the calls of jitted
functions that led there. `ProgramError` is raised inside the front end without a place; the visitor adds it.
"""

import linecache
import re

from ..runtime.errors import TileloomError


class ProgramError(Exception):
    """What is wrong with the expression or statement at hand."""


class CompilationError(TileloomError):
    """A program that cannot be compiled. `str()` has the place, the source line and a caret.

    message: the message alone. file, line, column: the place (column counts from 1; all None if there is none).
    """

    def __init__(self, message, file=None, line=None, column=None, calls=(), notes=()):
        self.message, self.file, self.line, self.column = message, file, line, column
        text = message if file is None else f"{place(file, line, column)}: error: {message}{excerpt(file, line, column)}"
        for call in calls:
            text += f"\n{place(*call)}: note: called from here{excerpt(*call)}"
        for note in notes:
            text += f"\n{note}"
        super().__init__(text)


def place(file, line, column):
    return f"{file}:{line}:{column}"


def excerpt(file, line, column):
    """The source line with a caret below the column, on new lines; empty if the source cannot be read."""
    source = linecache.getline(file, line).rstrip("\n")
    if not source.strip():
        return ""
    indent = "".join(c if c == "\t" else " " for c in source[:column - 1])
    return f"\n  {source}\n  {indent}^"


_SCHEDULE = "tile.schedule = #tile.schedule<"
_DIAGNOSTIC = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>error|warning|note|remark): (?P<text>.*)$")


def from_compiler(text, program):
    """A CompilationError of the compiler's diagnostics, whose places are those of the user's source. program: what was compiled."""
    entries = []
    for line in text.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match:
            entries.append([match["kind"], match["file"], int(match["line"]), int(match["column"]), match["text"]])
    first = next((entry for entry in entries if entry[0] == "error"), None)
    if first is None:
        return CompilationError(text.strip() or "the compilation failed without a message")
    lines = program.text.splitlines()
    own = lines[first[2] - 1] if first[1] == f"{program.name}.tile.mlir" and first[2] <= len(lines) else ""
    if _SCHEDULE in own:  # what a caller wrote, not what is in the function
        given = own[own.index(_SCHEDULE) + len(_SCHEDULE):].rstrip("} {").removesuffix(">")
        given = given if len(given) < 80 else f"{given[:80]}... ({len(given)} characters)"
        return CompilationError(f"kernel '{program.name}', schedule <{given}>: {first[4].removeprefix('schedule: ')}")
    notes = [f"{place(*entry[1:4])}: {entry[0]}: {entry[4]}{excerpt(*entry[1:4])}" for entry in entries
             if entry is not first and entry[0] in ("error", "note")]
    return CompilationError(first[4], *first[1:4], notes=notes)
