"""What tests ask of a program, written down where the program runs and answered from that by an interpreter that never runs it.

A program can change the interpreter that it runs in, and say of its objects what it likes; so tests that hold beside it prove nothing.
They are run again with a `Replay`: what they call gives the values that were written down, of Python's own types, as long as they ask
with the same arguments. Objects that are no such values are a `Remote` in both places, whose every operation is asked for.
"""

import ast
import operator

# Asked of an object that tests did not make themselves, these are what it says of itself.
JUDGING = OPERATORS - {"__eq__", "__ne__", "__bool__"}
BINARY = "lt le gt ge add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
REFLECTED = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()


def binary(name):
    return getattr(operator, f"__{name}__")


def reflected(name):
    return lambda target, other: binary(name)(other, target)


PERFORMED = {
    "call": lambda target, *arguments, **named: target(*arguments, **named),
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "isinstance": lambda target, value: isinstance(value, target),
    "issubclass": lambda target, value: issubclass(value, target),
    "__eq__": operator.eq,
    "__ne__": operator.ne,
    "__bool__": bool,
    "__hash__": hash,
    "__len__": len,
    "__iter__": iter,
    "__next__": next,
    "__reversed__": reversed,
    "__contains__": lambda target, item: item in target,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__abs__": abs,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__invert__": operator.invert,
    "__round__": round,
    "__float__": float,
    "__int__": int,
    "__index__": operator.index,
    "__complex__": complex,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__enter__": lambda target: type(target).__enter__(target),
    "__exit__": lambda target, *about: type(target).__exit__(target, *about),
    **{f"__{name}__": binary(name) for name in BINARY},
    **{f"__r{name}__": reflected(name) for name in REFLECTED},
}


class Remote:
    """An object of the program."""

    __slots__ = ("_remote_link", "_remote_number")

    def __init__(self, link, number):
        object.__setattr__(self, "_remote_link", link)
        object.__setattr__(self, "_remote_number", number)

    def __call__(self, *arguments, **named):
        return self._remote_link.ask("call", self, arguments, named)

    def __getattr__(self, name):
        return self._remote_link.ask("getattr", self, (name,), {})

    def __setattr__(self, name, value):
        self._remote_link.ask("setattr", self, (name, value), {})

    def __delattr__(self, name):
        self._remote_link.ask("delattr", self, (name,), {})

    def __instancecheck__(self, value):
        return self._remote_link.ask("isinstance", self, (value,), {})

    def __subclasscheck__(self, value):
        return self._remote_link.ask("issubclass", self, (value,), {})

    def __contains__(self, item):
        link = self._remote_link
        if link.kinds[self._remote_number] != "library":
            return link.ask("__contains__", self, (item,), {})
        return any(each is item or each == item for each in self)


def asking(name):
    return lambda self, *arguments, **named: self._remote_link.ask(name, self, arguments, named)


for each in PERFORMED:
    if each.startswith("__") and each != "__contains__":
        setattr(Remote, each, asking(each))


class Differs(BaseException):
    """Tests ask what was not asked where the program ran."""


class OwnResult(BaseException):
    """A verdict would be what an object of the program says of itself."""


class Link:
    """Both ends: which objects of the program and of the tests stand for which number."""

    def __init__(self):
        self.remotes = {}
        self.givens, self.given_numbers = [], {}

    def remote(self, number):
        if number not in self.remotes:
            self.remotes[number] = Remote(self, number)
        return self.remotes[number]

    def object_of(self, tag, value):
        return self.remote(value) if tag == "object" else self.givens[value]

    def number_of(self, value):
        """An object in what tests give: one of the program's, else one of their own."""
        if type(value) is Remote:
            return {"object": value._remote_number}
        if id(value) not in self.given_numbers:
            self.given_numbers[id(value)] = len(self.givens)
            self.givens.append(value)
        return {"given": self.given_numbers[id(value)]}

    def told_arguments(self, name, target, arguments, named):
        told = [name, target._remote_number, [encode(each, self) for each in arguments]]
        return [*told, {key: encode(each, self) for key, each in named.items()}]


class Results:
    """The side of the program of a link, for what it gives."""

    def __init__(self, link):
        self.link = link

    def number_of(self, value):
        number = self.link.given_numbers.get(id(value))
        return {"object": self.link.number_in(value)} if number is None else {"given": number}


class States:
    """Objects by their class and fields."""

    def __init__(self, results):
        self.results, self.seen = results, []

    def number_of(self, value):
        if any(value is each for each in self.seen):
            return {"seen": [value is each for each in self.seen].index(True)}
        kind = type(value)
        self.seen.append(value)
        if isinstance(value, type) or callable(value) or is_librarys(kind):
            return self.results.number_of(value)
        names = [name for each in mro_of(kind) for name in slots_of(each)]
        fields = {name: getattr(value, name) for name in names if hasattr(value, name)}
        fields.update(getattr(value, "__dict__", {}))
        return {"state": [encode(kind, self.results), encode(fields, self)]}


def slots_of(kind):
    slots = names_of(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


class Chance:
    """Tests that draw at random draw the same in both places, whatever the program draws in between."""

    def __init__(self, seed):
        self.random = importlib.import_module("random")
        self.seed, self.others = seed, self.random.getstate()

    def begin(self):
        self.random.seed(self.seed)

    def swap(self, *_):
        mine = self.random.getstate()
        self.random.setstate(self.others)
        self.others = mine

    __enter__ = __exit__ = swap


def chance_of(tests, seed):
    return Chance(seed) if any("random" in each for each in tests) else None


class Record(Link):
    """Where the program runs: does what is asked, and writes it down."""

    def __init__(self, chance=None):
        super().__init__()
        self.objects, self.numbers, self.kinds = [], {}, []
        self.results = Results(self)
        self.entries = []
        self.chance = chance

    def begin(self, namespace, names):
        """What a test finds of the program, as it is told and as it is asked."""
        self.entries = []
        if self.chance:
            self.chance.begin()
        return self.exported(namespace, names)

    def told(self, exports):
        return {"exports": exports, "entries": self.entries}

    def number_in(self, value):
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
            self.kinds.append(kind_of(value))
        return self.numbers[id(value)]

    def raw(self, value):
        kind = type(value)
        if kind is Remote:
            return self.objects[value._remote_number]
        if kind in (list, tuple, set, frozenset) and any(type(each) in HOLDERS for each in value):
            items = [self.raw(each) for each in value]
            return value if all(one is other for one, other in zip(items, value)) else kind(items)
        if kind is dict and any(type(each) in HOLDERS for each in value.values()):
            items = {key: self.raw(each) for key, each in value.items()}
            return value if all(items[key] is value[key] for key in items) else items
        return value

    def ask(self, name, target, arguments, named):
        entry = {"asked": self.told_arguments(name, target, arguments, named)}
        given = [self.raw(each) for each in arguments]
        self.entries.append(entry)
        try:
            value = self.perform(name, self.objects[target._remote_number], given, named)
        except Exception as error:
            entry["raised"] = told_error(error, self.results)
            raise
        finally:
            asked = entry["asked"][2]
            after = [encode(each, self.results) for each in given] if any(type(each) in (list, dict) for each in asked) else asked
            if text_of(after) != text_of(asked):
                entry["after"] = after
        for index, each in enumerate(given):
            if value is each and type(value) in CHANGED:
                entry["argument"] = index
                return arguments[index]
        if name in ("__eq__", "__ne__") and type(arguments[0]) is Remote:
            entry["states"] = [encode(each, States(self.results)) for each in (self.objects[target._remote_number], given[0])]
        entry["value"] = encode(value, self.results)
        return decode(entry["value"], self)

    def perform(self, name, target, given, named):
        named = {key: self.raw(each) for key, each in named.items()}
        if self.chance is None:
            return PERFORMED[name](target, *given, **named)
        with self.chance:
            return PERFORMED[name](target, *given, **named)

    def exported(self, namespace, names):
        """The names of the program that tests use, each as it is told; and the namespace in which they are asked for."""
        told, tested = {}, dict(namespace)
        for name in names:
            if name in namespace:
                told[name] = self.told_export(name, namespace[name])
                if "value" in told[name]:
                    tested[name] = decode(told[name]["value"], self)
        return told, tested

    def told_export(self, name, value):
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"error": [name, [each.__name__ for each in mro_of(value)]]}
        module = getattr(value, "__module__", None)
        if isinstance(module, str) and getattr(value, "__name__", None) == name and found_in(module, name) is value:
            if module.split(".")[0] in LIBRARY_NAMES:
                return {"library": module}
        return {"value": encode(value, self.results)}


HOLDERS = frozenset((Remote, list, tuple, set, frozenset, dict))
CHANGED = frozenset((list, dict, set, bytearray))


def kind_of(value):
    if isinstance(value, type):
        return "class"
    return "library" if is_librarys(type(value)) else "own"


def told_error(error, link):
    try:
        arguments = [encode(each, link) for each in error.args]
    except Exception:
        arguments = []
    return [[each.__name__ for each in mro_of(type(error))], arguments]


class Replay(Link):
    """Where the program is not: answers from what was written down."""

    def __init__(self, kinds):
        super().__init__()
        self.kinds, self.entries, self.errors = kinds, {}, {}
        # Of the test's own making are the program's variables, its classes, and what these make; a class is one by its name too, since
        # tests ask for functions, and a class in the place of one makes results.
        self.made, self.classes = set(), set()
        self.said_otherwise = False

    def begin(self, entries):
        self.entries = {}
        for entry in entries:
            self.entries.setdefault(text_of(entry["asked"]), []).append(entry)

    def is_own(self, remote):
        return self.kinds[remote._remote_number] != "library" and remote._remote_number not in self.made

    def ask(self, name, target, arguments, named):
        asked = text_of(self.told_arguments(name, target, arguments, named))
        waiting = self.entries.get(asked)
        if not waiting:
            raise Differs(asked)
        entry = waiting.pop(0)
        self.change(arguments, entry.get("after", []))
        if "raised" in entry:
            raise self.error(*entry["raised"])
        if name in JUDGING and self.is_own(target):
            raise OwnResult()
        if "argument" in entry:
            return arguments[entry["argument"]]
        value = decode(entry["value"], self)
        if name in ("__eq__", "__ne__", "__bool__"):
            return self.judged(name, target, arguments, entry, value)
        if name == "call" and type(value) is Remote and target._remote_number in self.classes:
            self.made.add(value._remote_number)
        return value

    def judged(self, name, target, arguments, entry, said):
        """What is so whatever an object says of itself, where it is not one that tests are about."""
        others = [each for each in arguments if type(each) is Remote]
        if all(each._remote_number in self.made for each in [target, *others]):
            return bool(said)
        if name == "__bool__":
            found = True if self.is_own(target) else bool(said)
        else:
            states = entry.get("states")
            is_same = bool(others) and (others[0] is target or (states is not None and states[0] == states[1]))
            found = is_same == (name == "__eq__")
        if said is not found:
            self.said_otherwise = True
        return found

    def change(self, arguments, after):
        for mine, told in zip(arguments, after):
            if type(mine) is list:
                mine[:] = decode(told, self)
            elif type(mine) is bytearray:
                mine[:] = decode(told, self)
            elif type(mine) in (dict, set):
                mine.clear()
                mine.update(decode(told, self))

    def error(self, names, told):
        arguments = [decode(each, self) for each in told]
        for name in names:
            kind = self.errors.get(name) or BUILTINS.get(name)
            if isinstance(kind, type) and issubclass(kind, BaseException):
                try:
                    return kind(*arguments)
                except TypeError:
                    return kind()
        raise Differs(names)

    def imported(self, told, kept):
        """Names of the program for tests; Python's own stay Python's but for those that are kept."""
        found = {}
        for name, each in told.items():
            if name in BUILTINS and name not in kept:
                continue
            if name in LIBRARY_NAMES and "value" in each and name not in kept:
                each = {"module": name}
            found[name] = self.import_one(name, each)
        return found

    def import_one(self, name, each):
        if "module" in each:
            top = each["module"].split(".")[0]
            return importlib.import_module(each["module"]) if top in LIBRARY_NAMES else types.ModuleType(name)
        if "library" in each:
            return getattr(importlib.import_module(each["library"]), name)
        if "error" in each:
            return self.stand_in(*each["error"])
        value = decode(each["value"], self)
        if type(value) is Remote:
            self.made.add(value._remote_number)
            if self.kinds[value._remote_number] == "class" and name[:1].isupper():
                self.classes.add(value._remote_number)
        return value

    def stand_in(self, name, names):
        bases = [BUILTINS[each] for each in names if isinstance(BUILTINS.get(each), type) and each != "object"]
        self.errors[name] = type(name, tuple(bases[:1]) or (Exception,), {})
        return self.errors[name]


def tested_in(text, told):
    """Names of the program that tests call, though they are Python's own too: a function may be asked for that is called `sum`."""
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    called = {each.id for each in calls if isinstance(each, ast.Name)} & told.keys()
    others = called - BUILTINS.keys() - LIBRARY_NAMES
    return frozenset() if others else called


def used_in(text):
    """Names that tests use, whoever binds them."""
    return sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
