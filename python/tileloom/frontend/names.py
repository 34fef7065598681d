"""Which names statements assign and read: what loops and branches have to carry. And names of the elements of tuples."""

import ast
from collections import Counter


def _of(root):
    """(names bound, in order of appearance; how often each is read). Kept on the node: the same source is visited once for each
    candidate of the host's choice."""
    found = getattr(root, "tileloom_names", None)
    if found is None:
        bound, count = {}, Counter()
        for node in ast.walk(root):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    bound[node.id] = True
                elif isinstance(node.ctx, ast.Load):
                    count[node.id] += 1
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                count[node.target.id] += 1
        found = root.tileloom_names = tuple(bound), count
    return found


def assigned(statements):
    """Names that the statements bind, in order of appearance."""
    return list(dict.fromkeys(name for statement in statements for name in _of(statement)[0]))


def reads(node):
    """How often each name is read in a node (or list of statements)."""
    return sum((_of(root)[1] for root in (node if isinstance(node, list) else [node])), Counter())


def exposed(statements):
    """Names that may be read before the statements bind them."""
    found = set()
    _walk(statements, set(), found)
    return found


def _walk(statements, bound, found):
    for statement in statements:
        if isinstance(statement, ast.If):
            found |= set(reads(statement.test)) - bound
            branches = [set(bound), set(bound)]
            _walk(statement.body, branches[0], found)
            _walk(statement.orelse, branches[1], found)
            bound |= branches[0] & branches[1]
        elif isinstance(statement, (ast.For, ast.While)):
            head = statement.iter if isinstance(statement, ast.For) else statement.test
            found |= set(reads(head)) - bound
            inner = set(bound)
            if isinstance(statement, ast.For):
                inner |= set(assigned_target(statement.target))
            _walk(statement.body, inner, found)  # may not run: binds nothing for what follows
        else:
            found |= set(reads(statement)) - bound
            bound |= set(assigned([statement]))


def assigned_target(target):
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def element_name(name, index):
    """The name of an element of a parameter that is a tuple."""
    return f"{name}[{index}]"


def parameter_of(name):
    """(parameter, index) of such a name; the index is None if the parameter is no tuple."""
    parameter, _, index = name.partition("[")
    return parameter, int(index[:-1]) if index else None
