"""What every check needs; goes before its program."""

import os
import types

OPERATORS = (
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __sub__ __rsub__ __add__ __radd__ __mul__ __rmul__ "
    "__truediv__ __rtruediv__ __mod__ __rmod__ __abs__ __neg__ __round__ __float__ __int__ __index__"
).split()
LIBRARY = os.path.dirname(os.__file__)
MOST_WATCHED = 100_000

read_file = open

mro_of = type.__dict__["__mro__"].__get__
names_of = type.__dict__["__dict__"].__get__


def starved_seconds():
    """How long this process was ready while the machine was busy with others; 0 where the system does not tell."""
    try:
        with read_file("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class OwnComparisons:
    """
    Notices results that compare as the tested code likes: an object whose class says what it is equal to passes every assertion.

    `watched` wraps what tests call; what the code calls within itself is not wrapped, since there its classes may do as they like.
    Results are handed on as they are, so that the official verdict is reached too.
    """

    def __init__(self):
        self.found = False

    def watched(self, value):
        """A function, whose results are looked at; anything else is itself."""
        if not isinstance(value, types.FunctionType):
            return value

        def call(*arguments, **named):
            return self.looked_at(value(*arguments, **named))

        return call

    def looked_at(self, value):
        if isinstance(value, types.GeneratorType):
            return (self.looked_at(item) for item in value)
        if isinstance(value, types.FunctionType):
            return self.watched(value)
        self.found = self.found or self.has_own(value)
        return value

    def has_own(self, value):
        waiting, seen = [value], 0
        while waiting and seen < MOST_WATCHED:
            item = waiting.pop()
            seen += 1
            if compares_itself(type(item)):
                return True
            if isinstance(item, dict):
                waiting.extend(dict.keys(item))
                waiting.extend(dict.values(item))
            elif isinstance(item, (list, tuple, set, frozenset)):
                waiting.extend(item)
        return False


def compares_itself(kind):
    for ancestor in mro_of(kind):
        names = names_of(ancestor)
        if any(is_own(names.get(name)) for name in OPERATORS):
            return True
    return False


def is_own(method):
    if not isinstance(method, types.FunctionType):
        return False
    file = method.__code__.co_filename
    return not (file.startswith(LIBRARY) or file.startswith("<frozen "))


