"""Values as JSON that another interpreter makes anew, of Python's own types alone. What is no such value is told as a number.

`link` keeps these: `number_of(value)` gives what stands for one, and `object_of(told)` finds or makes it.
"""

import importlib
import json
import sys

mro_of = type.__dict__["__mro__"].__get__
names_of = type.__dict__["__dict__"].__get__
LIBRARY_NAMES = frozenset(sys.stdlib_module_names)
BUILTINS = dict(vars(importlib.import_module("builtins")))
NamedTuple = importlib.import_module("collections").namedtuple("NamedTuple", ())
# Longer ones are refused by the conversion to decimal digits.
LARGEST_PLAIN = 1 << 62
OPERATORS = frozenset(
    (
        "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __sub__ __rsub__ __add__ __radd__ __mul__ __rmul__ "
        "__truediv__ __rtruediv__ __mod__ __rmod__ __abs__ __neg__ __round__ __float__ __int__ __index__ __contains__ __len__ __bool__"
    ).split()
)
NAMED = {"Ellipsis": ..., "NotImplemented": NotImplemented}
KEYS, ITEMS = type({}.keys()), type({}.items())


def text_of(told):
    return json.dumps(told, sort_keys=True)


def told_number(value):
    value = int.__int__(value)
    return value if -LARGEST_PLAIN < value < LARGEST_PLAIN else {"int": hex(value)}


def told_float(value):
    return {"float": float.hex(value)}


def told_set(tag):
    return lambda value, link: {tag: sorted((encode(each, link) for each in value), key=text_of)}


def told_pairs(value, link):
    return [[encode(key, link), encode(each, link)] for key, each in dict.items(value)]


def told_tuple(value, link):
    items = [encode(each, link) for each in tuple.__iter__(value)]
    fields = names_of(type(value)).get("_fields")
    if type(value) is not tuple and isinstance(fields, tuple) and all(type(field) is str for field in fields):
        return {"named": [type(value).__name__, list(fields), items]}
    return {"tuple": items}


# The order says which of its bases a class counts as.
BASES = {
    bool: lambda value, _: bool(value),
    int: lambda value, _: told_number(value),
    float: lambda value, _: told_float(value),
    str: lambda value, _: str.__str__(value),
    list: lambda value, link: [encode(each, link) for each in list.__iter__(value)],
    tuple: told_tuple,
    dict: lambda value, link: {"dict": told_pairs(value, link)},
    set: told_set("set"),
    frozenset: told_set("frozenset"),
    complex: lambda value, _: {"complex": [told_float(value.real), told_float(value.imag)]},
    bytes: lambda value, _: {"bytes": bytes.hex(value)},
    bytearray: lambda value, _: {"bytearray": bytearray.hex(value)},
    range: lambda value, _: {"range": [told_number(each) for each in (value.start, value.stop, value.step)]},
    slice: lambda value, link: {"slice": [encode(each, link) for each in (value.start, value.stop, value.step)]},
    KEYS: lambda value, link: {"keys": [encode(each, link) for each in value]},
    ITEMS: lambda value, link: {"items": told_pairs(dict(value), link)},
}
# What their constructors take.
PARTS = {
    "decimal.Decimal": lambda value: [str(value)],
    "fractions.Fraction": lambda value: [value.numerator, value.denominator],
    "datetime.date": lambda value: value.__reduce__()[1],
    "datetime.time": lambda value: value.__reduce__()[1],
    "datetime.datetime": lambda value: value.__reduce__()[1],
    "datetime.timedelta": lambda value: value.__reduce__()[1],
    "datetime.timezone": lambda value: value.__getinitargs__(),
    "collections.Counter": lambda value: [dict(dict.items(value))],
    "collections.OrderedDict": lambda value: [list(dict.items(value))],
    "collections.defaultdict": lambda value: [value.default_factory, dict(dict.items(value))],
    "collections.deque": lambda value: [list(value), value.maxlen],
    "collections.UserDict": lambda value: [dict(value.data)],
    "collections.UserList": lambda value: [list(value.data)],
    "collections.UserString": lambda value: [str(value.data)],
    "collections.ChainMap": lambda value: list(value.maps),
    "types.SimpleNamespace": lambda value: [dict(vars(value))],
    "builtins.mappingproxy": lambda value: [dict(value)],
    "builtins.memoryview": lambda value: [value.tobytes()],
    "ipaddress.IPv4Address": lambda value: [str(value)],
    "ipaddress.IPv6Address": lambda value: [str(value)],
    "ipaddress.IPv4Network": lambda value: [str(value)],
    "ipaddress.IPv6Network": lambda value: [str(value)],
    "pathlib.PosixPath": lambda value: [str(value)],
    "pathlib.PurePosixPath": lambda value: [str(value)],
    "uuid.UUID": lambda value: [str(value)],
    "array.array": lambda value: [value.typecode, list(value)],
}
# Where their constructors have another name or take names.
MAKERS = {
    "types.SimpleNamespace": lambda fields: type(sys.implementation)(**fields),
    "builtins.mappingproxy": lambda fields: type(type.__dict__)(fields),
}


def is_librarys(kind):
    """Whether a class is one of Python's own; what says so itself has to be found there."""
    module, name = names_of(kind).get("__module__"), kind.__qualname__
    module = module if type(module) is str else kind.__module__
    if type(module) is not str or module.split(".")[0] not in LIBRARY_NAMES:
        return False
    if not kind.__flags__ & (1 << 9):
        return module.split(".")[0] not in ("weakref", "unittest")
    return module.split(".")[0] != "unittest" and found_in(module, name) is kind


def found_in(module, name):
    value = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def form_of(kind):
    """How values of a class are told, or None: a class that changes what its operators say is no other's."""
    for ancestor in mro_of(kind):
        if ancestor in BASES:
            return BASES[ancestor]
        if is_librarys(ancestor):
            name = f"{ancestor.__module__.split('.')[0]}.{ancestor.__qualname__}"
            if name in PARTS:
                return lambda value, link: {"made": [name, [encode(each, link) for each in PARTS[name](value)]]}
        elif not OPERATORS.isdisjoint(names_of(ancestor)):
            return None
    return None


def encode(value, link):
    if value is None:
        return None
    kind = type(value)
    if kind is type or kind is type(len):
        name = value.__name__
        if BUILTINS.get(name) is value:
            return {"builtin": name}
    for name, constant in NAMED.items():
        if value is constant:
            return {"constant": name}
    if kind in BASES:
        return BASES[kind](value, link)
    form = form_of(kind)
    if form is None:
        return link.number_of(value)
    tell = getattr(link, "with_own", None)
    return tell(value, form(value, link)) if tell else form(value, link)


PYTHONS_NAMES = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __slots__ __annotations__ __qualname__ __orig_bases__ __init__ __new__ __hash__".split()
)


def own_names(kind):
    """What a class that derives from one of Python's values adds to it; special methods only where they are not those of the value."""
    names, is_before = set(), True
    for each in mro_of(kind):
        is_before = is_before and each not in BASES
        if each not in BASES and (not is_librarys(each) or each.__module__ == "enum"):
            names.update(name for name in names_of(each) if is_before or not name.startswith("__"))
    if "_make" in names:
        names -= {*kind._fields, *names_of(NamedTuple)}
    return names - PYTHONS_NAMES


NAMED_TUPLES = {}


def named_tuple(told, link):
    name, fields, items = told
    key = (name, *fields)
    if key not in NAMED_TUPLES:
        NAMED_TUPLES[key] = importlib.import_module("collections").namedtuple(name, fields, rename=True)
    return tuple.__new__(NAMED_TUPLES[key], [decode(each, link) for each in items])


def made_anew(told, link):
    name, parts = told
    if name not in PARTS:
        raise ValueError(name)
    module, kind = name.split(".")
    maker = MAKERS.get(name) or getattr(importlib.import_module(module), kind)
    return maker(*(decode(each, link) for each in parts))


def dict_from(pairs, link):
    return {decode(key, link): decode(value, link) for key, value in pairs}


READERS = {
    "int": lambda told, _: int(told, 16),
    "float": lambda told, _: float.fromhex(told),
    "complex": lambda told, link: complex(*(decode(each, link) for each in told)),
    "bytes": lambda told, _: bytes.fromhex(told),
    "bytearray": lambda told, _: bytearray.fromhex(told),
    "tuple": lambda told, link: tuple(decode(each, link) for each in told),
    "set": lambda told, link: {decode(each, link) for each in told},
    "frozenset": lambda told, link: frozenset(decode(each, link) for each in told),
    "dict": dict_from,
    "keys": lambda told, link: dict.fromkeys(decode(each, link) for each in told).keys(),
    "items": lambda told, link: dict_from(told, link).items(),
    "range": lambda told, link: range(*(decode(each, link) for each in told)),
    "slice": lambda told, link: slice(*(decode(each, link) for each in told)),
    "named": named_tuple,
    "made": made_anew,
    "builtin": lambda told, _: BUILTINS[told],
    "constant": lambda told, _: NAMED[told],
}


def decode(told, link):
    if isinstance(told, list):
        return [decode(each, link) for each in told]
    if not isinstance(told, dict):
        return told
    ((tag, value),) = told.items()
    reader = READERS.get(tag)
    return link.object_of(tag, value) if reader is None else reader(value, link)
