"""Judges what tests_check.py told of a program, which is nowhere near: by running the tests again on that, or by comparing outputs.

check.py: reads a word from standard input, `told.jsonl` as it was told and `tests.json`, and prints the word, a line end for each test and
{"passed": n, "failure": null or {"test", "kind", "message"}}, the failure being the first.

tests.json: "stopsAtFirst", and "assertions": [statements], "names": as asked for, "given": what runs before each, "seed"
or "outputs": [texts], "functionName"
"""

from decimal import Decimal

SHOWN = 200


def shown(value):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


class WrongAnswer(Exception):
    pass


def lines_of(text):
    return [line.strip() for line in text.strip().split("\n")]


def decimals_of(line):
    try:
        return [Decimal(part) for part in line.split()]
    except Exception:
        return None


def compare_outputs(printed, expected):
    found, wanted = lines_of(printed), lines_of(expected)
    if len(found) != len(wanted):
        raise WrongAnswer(f"{len(found)} lines, expected {len(wanted)}: {shown(printed)}")
    for number, (left, right) in enumerate(zip(found, wanted)):
        if left == right:
            continue
        numbers = decimals_of(left)
        if numbers is None or numbers != decimals_of(right):
            raise WrongAnswer(f"line {number + 1} is {shown(left)}, expected {shown(right)}")


def judge_printed(record, expected):
    compare_outputs(record["printed"], expected)


class Nothing:
    """Objects of the program equal nothing."""

    def object_of(self, *_):
        return object()


def judge_found(record, expected):
    found, wanted = decode(record["found"], Nothing()), json.loads(expected)
    if found != wanted:
        raise WrongAnswer(f"{shown(found)}, expected {shown(wanted)}")


def with_given(given):
    """A prompt may end in a function of nothing but a comment."""
    for end in ("", "\n    pass\n"):
        names = {"__name__": "given"}
        try:
            exec(compile(given + end, "given.py", "exec"), names)
            return names
        except SyntaxError:
            continue
    return {}


class Assertions:
    def __init__(self, tests, kinds):
        self.given, self.names = tests["given"], tests["names"]
        self.replay = Replay(kinds)
        self.chance = chance_of(tests["assertions"], tests["seed"])

    def __call__(self, record, statements):
        kept = self.names or tested_in(statements, record["exports"])
        names = with_given(self.given)
        names.update(self.replay.imported(record["exports"], kept, tested_as_classes(statements)))
        self.replay.begin(record["entries"])
        if self.chance:
            self.chance.begin()
        run_tests(statements, "tests.py", names)


def failure(number, kind, message):
    return {"test": number, "kind": kind, "message": message}


OWN = "a result is of a class that says itself what it is equal to"


def outcome(number, run, replay):
    """None where the test passes."""
    try:
        run()
    except Differs as error:
        return failure(number, "differs", f"beside the program its tests ask something else than by themselves: {shown(str(error))}")
    except OwnResult:
        return failure(number, "own", OWN)
    except WrongAnswer as error:
        return failure(number, "wrong", str(error))
    except BaseException as error:
        if replay and replay.said_otherwise:
            return failure(number, "own", OWN)
        return failure(number, "wrong", f"does not hold for what it gave: {type(error).__name__}: {shown(str(error))}")
    return None


def judge(records, kinds, tests, tell):
    expected = tests["assertions"] if "assertions" in tests else tests["outputs"]
    assertions = Assertions(tests, kinds) if "assertions" in tests else None
    judged = assertions or (judge_found if tests["functionName"] else judge_printed)
    passed, first = 0, None
    for number, (record, wanted) in enumerate(zip(records, expected)):
        problem = record.get("failure")
        if problem is not None:
            problem = failure(number, problem["kind"], problem["message"])
        else:
            problem = outcome(number, lambda: judged(record, wanted), assertions and assertions.replay)
        passed += problem is None
        tell()
        first = first or problem
        if first and tests["stopsAtFirst"]:
            break
    if first is None and passed < len(expected):
        first = failure(passed, "ended", "ended before its tests were done")
    return passed, first


def main():
    word = sys.stdin.readline().strip()
    with open("told.jsonl", encoding="utf-8") as file:
        *records, last = [json.loads(line) for line in file if line.strip()]
    with open("tests.json", encoding="utf-8") as file:
        tests = json.load(file)
    sys.set_int_max_str_digits(50000)
    out, sys.stdout = sys.stdout, sys.stderr
    out.write(word)
    passed, problem = judge(records, last["kinds"], tests, lambda: print(file=out, flush=True))
    out.write(json.dumps({"passed": passed, "failure": problem}))
    out.flush()


main()
