"""What tests ask of a program, written down where the program runs and answered from that by an interpreter that never runs it.

A program can change the interpreter that it runs in, and say of its objects what it likes; so tests that hold beside it prove nothing.
They are run again with a `Replay`: what they call gives the values that were written down, of Python's own types, as long as they ask
with the same arguments. Objects that are no such values are a `Remote` in both places, whose every operation is asked for.
"""

import ast
import io
import operator
from array import array
from collections import deque

# Asked of an object that tests did not make themselves, these are what it says of itself. The others are not told what tests compare with:
# what they give is a result as any other.
JUDGING = OPERATORS - {"__eq__", "__ne__", "__bool__", "__len__", "__abs__", "__neg__", "__round__", "__float__", "__int__", "__index__"}
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
    "__missing__": operator.getitem,
    "__copy__": lambda target: importlib.import_module("copy").copy(target),
    "__deepcopy__": lambda target: importlib.import_module("copy").deepcopy(target),
    "__format__": format,
    "__enter__": lambda target: type(target).__enter__(target),
    "__exit__": lambda target, *about: type(target).__exit__(target, *about),
    **{f"__{name}__": binary(name) for name in BINARY},
    **{f"__r{name}__": reflected(name) for name in REFLECTED},
}


# An object of the program. What it says of itself is its program's.
# It is made anew each time, so that what tests have made and what they are given stay apart where the program gives back the same object.
class Remote:
    __slots__ = ("_remote_link", "_remote_number", "_remote_is_made")

    def __init__(self, link, number):
        object.__setattr__(self, "_remote_link", link)
        object.__setattr__(self, "_remote_number", number)
        object.__setattr__(self, "_remote_is_made", False)

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

    def __deepcopy__(self, _):
        return self._remote_link.ask("__deepcopy__", self, (), {})

    @property
    def __doc__(self):
        return self._remote_link.ask("getattr", self, ("__doc__",), {})

    def __contains__(self, item):
        link = self._remote_link
        if link.kinds[self._remote_number] != "library":
            return link.ask("__contains__", self, (item,), {})
        return any(each is item or each == item for each in self)


def asking(name):
    return lambda self, *arguments, **named: self._remote_link.ask(name, self, arguments, named)


for each in PERFORMED:
    if each.startswith("__") and each not in names_of(Remote):
        setattr(Remote, each, asking(each))


DERIVED = {}
DERIVABLE = (list, dict, set, frozenset, tuple, int, float, str, bytes)


def asked_for(name):
    return property(lambda self: self._remote_link.ask("getattr", self, (name,), {}))


def derived_from(base, names):
    """A class of values of Python's own, which are asked for what the program's class adds."""
    key = (base, *names)
    if key not in DERIVED:
        plain = {name: asked_for(name) for name in names if not name.startswith("__")}
        special = {name: asking(name) for name in names if name in PERFORMED and name not in OPERATORS}
        fallback = {"__getattr__": Remote.__getattr__} if "__getattr__" in names else {}
        DERIVED[key] = type(base.__name__, (base,), {**plain, **special, **fallback})
    return DERIVED[key]


class Differs(BaseException):
    """Tests ask what was not asked where the program ran."""


class OwnResult(BaseException):
    """A verdict would be what an object of the program says of itself."""


class Link:
    """Both ends: which objects of the program and of the tests stand for which number."""

    def __init__(self):
        self.fixed = {}
        self.givens, self.given_numbers = [], {}

    def object_of(self, tag, value):
        if tag == "derived":
            return self.derived(*value)
        return Remote(self, value) if tag == "object" else self.givens[value]

    def derived(self, number, names, told):
        """A value with what its class adds, as it was when it was given; one that does not change is the same each time."""
        base = decode(told, self)
        is_fixed = not isinstance(base, (list, dict, set))
        if is_fixed and number in self.fixed:
            return self.fixed[number]
        kind = derived_from(type(base), names)
        value = tuple.__new__(kind, base) if isinstance(base, tuple) else kind(base)
        value.__dict__.update(_remote_link=self, _remote_number=number, _remote_is_made=False)
        if is_fixed:
            self.fixed[number] = value
        return value

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


    def change(self, arguments, after):
        for mine, told in zip(arguments, after):
            if isinstance(mine, (list, bytearray, array)):
                mine[:] = decode(told, self)
            elif isinstance(mine, deque):
                mine.clear()
                mine.extend(decode(told, self))
            elif isinstance(mine, (dict, set)):
                mine.clear()
                mine.update(decode(told, self))


class Results:
    """The side of the program of a link, for what it gives."""

    def __init__(self, link):
        self.link = link

    def number_of(self, value):
        number = self.link.given_numbers.get(id(value))
        return {"object": self.link.number_in(value)} if number is None else {"given": number}

    def with_own(self, value, told):
        names = own_names(type(value))
        if not names or not any(each in DERIVABLE for each in mro_of(type(value))) or (isinstance(told, dict) and "made" in told):
            return told
        return {"derived": [self.link.number_in(value), sorted(names), told]}


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
        # Of what is printed elsewhere than here tests have something in mind.
        self.stdout = sys.stdout
        self.classes = frozenset()

    def begin(self, namespace, names, tests):
        """What a test finds of the program, as it is told and as it is asked."""
        self.entries = []
        if self.chance:
            self.chance.begin()
        return self.exported(namespace, names, tested_as_classes(tests))

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
        if kind is Remote or kind in DERIVED.values():
            return self.objects[value._remote_number]
        if kind in (list, tuple, set, frozenset) and any(is_holder(each) for each in value):
            items = [self.raw(each) for each in value]
            return value if all(one is other for one, other in zip(items, value)) else kind(items)
        if kind is dict and any(is_holder(each) for each in value.values()):
            items = {key: self.raw(each) for key, each in value.items()}
            return value if all(items[key] is value[key] for key in items) else items
        return value

    def ask(self, name, target, arguments, named):
        entry = {"asked": self.told_arguments(name, target, arguments, named)}
        mine = [*arguments, *named.values()]
        given = [self.raw(each) for each in mine]
        self.entries.append(entry)
        called = self.objects[target._remote_number]
        try:
            value = self.heard(entry, name, called, given[: len(arguments)], dict(zip(named, given[len(arguments) :])))
        except Exception as error:
            entry["raised"] = told_error(error, self.results)
            raise
        finally:
            self.tell_changes(entry, mine, given)
        for index, each in enumerate(given):
            if value is each and type(value) in CHANGED:
                entry["argument"] = index
                return mine[index]
        if name in COMPARING and type(arguments[0]) is Remote:
            entry["states"] = [encode(each, States(self.results)) for each in (called, given[0])]
        if name == "call" and target._remote_number in self.classes and type(value) is called and own_names(called):
            entry["value"] = {"object": self.number_in(value)}
        else:
            entry["value"] = encode(value, self.results)
        return decode(entry["value"], self)

    def tell_changes(self, entry, mine, given):
        asked = [*entry["asked"][2], *entry["asked"][3].values()]
        if not any(type(each) in (list, dict) for each in asked):
            return
        after = [encode(each, self.results) for each in given]
        if text_of(after) != text_of(asked):
            entry["after"] = after
            copied = [index for index, each in enumerate(mine) if given[index] is not each]
            self.change([mine[index] for index in copied], [after[index] for index in copied])

    def heard(self, entry, *asked):
        """What the program prints where tests have put something in the place of the output is told."""
        listening = sys.stdout
        if listening is self.stdout:
            return self.perform(*asked)
        sys.stdout = heard = io.StringIO()
        try:
            return self.perform(*asked)
        finally:
            sys.stdout = listening
            if heard.getvalue():
                entry["printed"] = heard.getvalue()
                listening.write(heard.getvalue())

    def perform(self, name, target, given, named):
        if self.chance is None:
            return PERFORMED[name](target, *given, **named)
        with self.chance:
            return PERFORMED[name](target, *given, **named)

    def exported(self, namespace, names, classes):
        """The names of the program that tests use, each as it is told; and the namespace in which they are asked for."""
        told, tested = {}, dict(namespace)
        for name in names:
            if name in namespace:
                told[name] = self.told_export(name, namespace[name])
                if name in classes and isinstance(namespace[name], type) and "object" in (told[name].get("value") or ()):
                    self.classes |= {told[name]["value"]["object"]}
                if "value" in told[name]:
                    tested[name] = decode(told[name]["value"], self)
        return told, tested

    def told_export(self, name, value):
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"error": told_error_class(value)}
        module = getattr(value, "__module__", None)
        if isinstance(module, str) and getattr(value, "__name__", None) == name and found_in(module, name) is value:
            if module.split(".")[0] in LIBRARY_NAMES:
                return {"library": module}
        return {"value": encode(value, self.results)}


COMPARING = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())
HOLDERS = frozenset((Remote, list, tuple, set, frozenset, dict))


def is_holder(value):
    return type(value) in HOLDERS or type(value) in DERIVED.values()


# What these give of an object that tests made is another one of theirs.
MAKING = frozenset("__neg__ __pos__ __invert__ __copy__ __deepcopy__ __enter__".split()) | {
    *(f"__{name}__" for name in BINARY),
    *(f"__r{name}__" for name in REFLECTED),
}
PYTHONS_ATTRIBUTES = frozenset().union(*(dir(each) for each in (*BASES, deque, array, type((lambda: (yield))()))))
CHANGED = frozenset((list, dict, set, bytearray))


def kind_of(value):
    if isinstance(value, type):
        return "class"
    return "library" if is_librarys(type(value)) else "own"


def told_error(error, link):
    try:
        arguments = [encode(each, link) for each in error.args]
        fields = {name: encode(each, link) for name, each in vars(error).items()}
        return [told_error_class(type(error)), arguments, fields, str.__str__(str(error))]
    except Exception:
        return [told_error_class(type(error)), [], {}, ""]


def told_error_class(kind):
    """[module or None where it is the program's, name, those that it derives from]"""
    if is_librarys(kind):
        return [kind.__module__, kind.__qualname__, []]
    bases = [each for each in kind.__bases__ if issubclass(each, BaseException)]
    return [None, kind.__name__, [told_error_class(each) for each in bases]]


def error_text(error):
    fields = vars(error)
    return fields["_told_text"] if "_told_text" in fields else BaseException.__str__(error)


def holds_by_fields(name, entry, link):
    """Whether objects of one class are ordered as they say by their fields, in order, as those of a dataclass are."""
    try:
        (kind, one), (other_kind, other) = (each["state"] for each in entry["states"])
        one, other = (tuple(decode(each, link).values()) for each in (one, other))
        return kind == other_kind and PERFORMED[name](one, other) is entry["value"]
    except Exception:
        return False


class Replay(Link):
    """Where the program is not: answers from what was written down."""

    def __init__(self, kinds):
        super().__init__()
        self.kinds, self.entries, self.errors = kinds, {}, {}
        # Of the test's own making is what the program's classes make; a class is one by its name too, since tests ask for functions, and a
        # class in the place of one makes results.
        self.classes = set()
        self.said_otherwise = False

    def begin(self, entries):
        self.entries = {}
        for entry in entries:
            self.entries.setdefault(text_of(entry["asked"]), []).append(entry)

    def is_own(self, remote):
        return self.kinds[remote._remote_number] != "library" and not remote._remote_is_made

    def ask(self, name, target, arguments, named):
        asked = text_of(self.told_arguments(name, target, arguments, named))
        waiting = self.entries.get(asked)
        if not waiting:
            raise Differs(asked)
        entry = waiting.pop(0)
        self.change([*arguments, *named.values()], entry.get("after", []))
        if "printed" in entry:
            sys.stdout.write(entry["printed"])
        if "raised" in entry:
            raise self.error(*entry["raised"])
        if name in JUDGING and self.is_own(target) and not holds_by_fields(name, entry, self):
            raise OwnResult()
        if "argument" in entry:
            return [*arguments, *named.values()][entry["argument"]]
        value = decode(entry["value"], self)
        if name in ("__eq__", "__ne__", "__bool__"):
            return self.judged(name, target, arguments, entry, value)
        if type(value) is Remote and self.is_making(name, target):
            object.__setattr__(value, "_remote_is_made", True)
        return value

    def is_making(self, name, target):
        if name == "call":
            return target._remote_number in self.classes
        return name in MAKING and target._remote_is_made

    def judged(self, name, target, arguments, entry, said):
        """What is so whatever an object says of itself, where it is not one that tests are about."""
        others = [each for each in arguments if type(each) is Remote]
        if all(each._remote_is_made for each in [target, *others]):
            return bool(said)
        if name == "__bool__":
            found = True if self.is_own(target) else bool(said)
        else:
            states = entry.get("states")
            is_same = bool(others) and (is_one(others[0], target) or (states is not None and states[0] == states[1]))
            found = is_same == (name == "__eq__")
        if said is not found:
            self.said_otherwise = True
        return found

    def error(self, kind, told, fields, text):
        kind, arguments = self.error_class(kind), [decode(each, self) for each in told]
        try:
            error = kind(*arguments)
        except TypeError:
            error = kind.__new__(kind, *arguments)
        error.__dict__.update({name: decode(each, self) for name, each in fields.items()}, _told_text=text)
        return error

    def error_class(self, told):
        module, name, bases = told
        if module is None:
            if name not in self.errors:
                kinds = tuple(self.error_class(each) for each in bases)
                self.errors[name] = type(name, kinds, {"__str__": error_text})
            return self.errors[name]
        found = found_in(module, name) if importlib.import_module(module) else None
        return found if isinstance(found, type) and issubclass(found, BaseException) else Exception

    def imported(self, told, kept, classes):
        """Names of the program for tests; Python's own stay Python's but for those that are kept. Some are tested as classes."""
        found = {}
        for name, each in told.items():
            if name in BUILTINS and name not in kept:
                continue
            if name in LIBRARY_NAMES and "value" in each and name not in kept:
                each = {"module": name}
            found[name] = self.import_one(name, each, name in classes)
        return found

    def import_one(self, name, each, is_class):
        if "module" in each:
            top = each["module"].split(".")[0]
            return importlib.import_module(each["module"]) if top in LIBRARY_NAMES else types.ModuleType(name)
        if "library" in each:
            return getattr(importlib.import_module(each["library"]), name)
        if "error" in each:
            return self.error_class(each["error"])
        value = decode(each["value"], self)
        if type(value) is Remote and self.kinds[value._remote_number] == "class" and is_class:
            self.classes.add(value._remote_number)
        return value


def tested_in(text, told):
    """Names of the program that tests call, though they are Python's own too: a function may be asked for that is called `sum`."""
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    called = {each.id for each in calls if isinstance(each, ast.Name)} & told.keys()
    others = called - BUILTINS.keys() - LIBRARY_NAMES
    return frozenset() if others else called


def is_one(left, right):
    """`left is right`, of objects of the program too."""
    if type(left) is Remote and type(right) is Remote:
        return left._remote_number == right._remote_number
    return left is right


class Identities(ast.NodeTransformer):
    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        asked = ast.Call(ast.Name("is_one_object", ast.Load()), [node.left, *node.comparators], [])
        return asked if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), asked)


def run_tests(text, file, names):
    """Statements of tests with these names; `is` is asked of what objects of the program stand for."""
    names["is_one_object"] = is_one
    exec(compile(ast.fix_missing_locations(Identities().visit(ast.parse(text))), file, "exec"), names)


def tested_as_classes(text):
    """Names that tests make objects with: those whose results are asked for what no value of Python's has, and those that begin with a capital
    but for functions, whose results are compared with values alone."""
    nodes = list(ast.walk(ast.parse(text)))
    made = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            made.update({each.id: node.value.func.id for each in node.targets if isinstance(each, ast.Name)})
    found = {node.id for node in nodes if isinstance(node, ast.Name) and node.id[:1].isupper()}
    found -= compared_with_values(nodes, made)
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr not in PYTHONS_ATTRIBUTES:
            asked = node.value.func if isinstance(node.value, ast.Call) else node.value
            if isinstance(asked, ast.Name):
                found.add(made.get(asked.id, asked.id))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            found.update(each.id for each in node.args[1:] if isinstance(each, ast.Name))
    return found


def compared_with_values(nodes, made):
    """Names that begin with a capital and whose results stand beside values, and nowhere beside what another such name makes."""
    own = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}

    def makers(side):
        names = [each.id for each in ast.walk(side) if isinstance(each, ast.Name)]
        return {name for name in [*(made.get(each, "") for each in names), *(set(names) - own)] if name[:1].isupper()}

    with_values, with_made = set(), set()
    for node in nodes:
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.left, node.right] if isinstance(node, ast.BinOp) else []
        found = [makers(side) for side in sides]
        (with_made if all(found) else with_values).update(*found)
    return with_values - with_made


def used_in(text):
    """Names that tests use, whoever binds them."""
    return sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
