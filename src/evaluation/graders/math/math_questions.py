"""Decides whether two mathematical expressions are equal.

A question is a JSON object `{"kind", "given", "expected"}`, an answer `{"verdict": "equal" | "unequal" | "unknown"}`:

  value       two LaTeX expressions without relations, sets or tuples
  equation    two pairs [left, right]: the same solutions, because left - right differs by a constant factor
  inequality  two pairs [smaller, greater]: the same, and the factor is positive
  set         two LaTeX expressions for sets of numbers: unions, intersections, differences, literal sets
  rounding    two LaTeX numbers, and `places`: the first is the second, cut or rounded behind so many decimals, or both are equal

Text is read by math-verify's parser (latex2sympy2_extended, a grammar: nothing of the text is run as code). Two values are
unequal when they differ at some point of evaluation, and equal when they agree at all of them to more digits than the
sizes involved could hide; what cannot be evaluated is left to math-verify's own comparison and to sympy's simplification.
Formulas that agree around 0 agree everywhere, but for those with an absolute value, a maximum, a root and the like: these are
also compared between all places where what is in them changes its sign. Where these places cannot be found, equality is
unknown, but for formulas that agree whatever the values of their absolute values, maxima and roots are.
"""

import itertools
import json
import sys

import mpmath
import sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, _Latex2Sympy
from latex2sympy2_extended.math_normalization import NormalizationConfig, normalize_latex
from math_verify import verify

NORMALIZATION = NormalizationConfig(
    basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none", equations=False
)
CONVERSION = ConversionConfig(lowercase_symbols=False)

ROUGH_DIGITS = 60
FINE_DIGITS = 1500
# What agrees everywhere to 60 digits and at some points to 1500 agrees.
FINE_ROUNDS = 2
# Of the gamma function between the integers, where more digits take seconds.
GAMMA_DIGITS = 200
# Between the places where formulas change.
CELL_DIGITS = 200
# Digits that a computer has of a number; what it prints may be one off in the last of them.
DOUBLE_DIGITS = 15
# What agrees with a decimal number to so many digits has an end.
END_DIGITS = 100
# Sizes of numbers, as a part of the digits: beyond them a difference of 1 could hide below the last digit.
SIZE_SHARE = 2 / 3
# Of small numbers: the cosine of one differs from 1 by its square.
SMALL_SHARE = 1 / 3
# Where a function is flatter, a difference in what it is of could hide below the last digit.
FLATTEST = mpmath.mpf(10) ** -60
LARGEST_LOOP = 2000
LONGEST_SIMPLIFIED = 50
LARGEST_EXPONENT = 10**9
LARGEST_FACTORIAL = 10**6
# Of whole numbers that the parser works out: 20,000 digits.
MOST_BITS = 66_439
# Of a whole number under a root that has no exact one: factors are looked for in it.
MOST_ROOT_BITS = 4000
LARGEST_WHOLE_FACTORIAL = 6000
# Of factorials and binomials that are evaluated to many digits.
LARGEST_GAMMA = 5000


class Undecidable(Exception):
    """Evaluation says nothing about the expression."""


class NoValue(Exception):
    """The expression has no value (1/0, 0^0), or neither evaluation nor algebra reaches it in a reasonable time."""


class TooLarge(NoValue):
    """A number would have to be worked out that is larger than those of any answer."""


class Converter(_Latex2Sympy):
    """The parser without four of its readings: floats of 53 bits, `2(3)` as a mixed number, a base that is dropped, and the
    greatest common divisor of letters as that of polynomials, 1."""

    def parse_number(self, text):
        return sympy.Rational(text.replace(",", "").strip())

    def convert_postfix_list(self, arr, i=0):
        first = self.convert_postfix(arr[i])
        if i == len(arr) - 1 or not isinstance(first, (sympy.Expr, sympy.MatrixBase)):
            return super().convert_postfix_list(arr, i)
        rest = self.convert_postfix_list(arr, i + 1)
        if getattr(first, "is_Matrix", False) or getattr(rest, "is_Matrix", False):
            return self.mat_mul_flat(first, rest)
        return self.mul_flat(first, rest)

    def convert_atom(self, atom):
        if atom.number_subexpr() and atom.number_subexpr().subexpr():
            raise Undecidable("a number in another base")
        return super().convert_atom(atom)


    def handle_gcd_lcm(self, f, args):
        if all(arg.is_number for arg in args):
            return super().handle_gcd_lcm(f, args)
        return sympy.Function(f)(*sorted(args, key=sympy.default_sort_key))


# --- sizes of whole numbers -----------------------------------------------------------------------------------------

# Whether one was met in this question: sympy may go on without what it could not work out.
met = {"too_large": False}


def too_large(what):
    met["too_large"] = True
    raise TooLarge(what)


def require_small_power(base, exponent):
    """sympy multiplies powers of fractions out, and looks for factors under roots."""
    if not isinstance(exponent, sympy.Rational) or base in (0, 1, -1):
        return
    bits = max(abs(base.p).bit_length(), base.q.bit_length())
    if bits * abs(exponent.p) > MOST_BITS * exponent.q:
        too_large("a power")
    if exponent.q == 1 or bits <= MOST_ROOT_BITS:
        return
    if not all(sympy.integer_nthroot(part, exponent.q)[1] for part in (abs(base.p), base.q)):
        too_large("a root")


def with_small_powers(power):
    def _eval_power(self, exponent):
        require_small_power(self, exponent)
        return power(self, exponent)

    return _eval_power


def whole_factorial(number):
    if isinstance(number, sympy.Integer) and number > LARGEST_WHOLE_FACTORIAL:
        too_large("a factorial")


def whole_binomial(above, below):
    if not (isinstance(above, sympy.Integer) and isinstance(below, sympy.Integer)):
        return
    if min(abs(below), abs(above - below)) * abs(above.p).bit_length() > MOST_BITS:
        too_large("a binomial")


def with_small_arguments(function, require):
    inner = function.eval.__func__

    def eval(cls, *arguments):
        require(*arguments)
        return inner(cls, *arguments)

    function.eval = classmethod(eval)


def bound_sizes():
    for kind in (sympy.Rational, sympy.Integer):
        kind._eval_power = with_small_powers(kind.__dict__["_eval_power"])
    with_small_arguments(sympy.factorial, whole_factorial)
    with_small_arguments(sympy.binomial, whole_binomial)


bound_sizes()


def parse(latex):
    text = normalize_latex(latex, NORMALIZATION)
    return Converter(is_real=True, config=CONVERSION).parse(text)


# --- evaluation at points -------------------------------------------------------------------------------------------


class Evaluation:
    """The value of an expression at one point, and how large and small the numbers were on the way."""

    def __init__(self, point):
        self.point = point
        self.largest = mpmath.mpf(0)
        self.smallest = mpmath.mpf(0)

    def value(self, expr):
        # Of a symbol or a whole part. The index of a sum may have the name of the imaginary unit.
        result = self.point[expr] if expr in self.point else self.evaluate(expr)
        if isinstance(result, (int, float)):
            result = mpmath.mpf(result)
        if not mpmath.isfinite(result):
            raise Undecidable("not finite")
        if result != 0:
            logarithm = mpmath.mag(result) * mpmath.mpf("0.30103")
            self.largest = max(self.largest, logarithm)
            self.smallest = min(self.smallest, logarithm)
        return result

    def evaluate(self, expr):
        if isinstance(expr, sympy.Rational):
            self.smallest = min(self.smallest, -mpmath.log10(expr.q))
            return mpmath.mpf(expr.p) / expr.q
        if isinstance(expr, sympy.Symbol):
            return self.symbol(expr)
        if isinstance(expr, sympy.Add):
            return mpmath.fsum(self.value(argument) for argument in expr.args)
        if isinstance(expr, sympy.Mul):
            return mpmath.fprod(self.value(argument) for argument in expr.args)
        if isinstance(expr, sympy.Pow):
            return self.power(self.value(expr.base), self.value(expr.exp), expr.exp)
        if isinstance(expr, (sympy.Sum, sympy.Product)):
            return self.loop(expr)
        function = FUNCTIONS.get(type(expr).__name__)
        if function is None:
            raise Undecidable(type(expr).__name__)
        arguments = [self.value(argument) for argument in expr.args]
        require_slope(type(expr).__name__, arguments[0] if arguments else None)
        return function(*arguments)

    def symbol(self, symbol):
        if symbol.name == "i":
            return mpmath.mpc(0, 1)
        raise Undecidable(symbol.name)

    def power(self, base, exponent, exact):
        if abs(exponent) > LARGEST_EXPONENT:
            raise NoValue("exponent")
        if base == 0 and mpmath.re(exponent) <= 0:
            raise NoValue("0 to a power that is not positive")
        if isinstance(exact, sympy.Rational) and exact.q % 2 == 1 and exact.q > 1 and is_negative(base):
            # The real root, as schools have it: the cube root of -8 is -2.
            return (-1) ** (exact.p % 2) * mpmath.power(-mpmath.re(base), exponent)
        return mpmath.power(base, exponent)

    def loop(self, expr):
        if len(expr.limits) != 1 or len(expr.limits[0]) != 3:
            raise Undecidable("several indices")
        index, start, end = expr.limits[0]
        first, last = (whole(self.value(bound)) for bound in (start, end))
        if last - first > LARGEST_LOOP:
            raise Undecidable("a long sum")
        inner = Evaluation({**self.point, index: mpmath.mpf(0)})
        total = mpmath.mpf(0 if isinstance(expr, sympy.Sum) else 1)
        for number in range(first, last + 1):
            inner.point[index] = mpmath.mpf(number)
            term = inner.value(expr.function)
            total = total + term if isinstance(expr, sympy.Sum) else total * term
        self.largest = max(self.largest, inner.largest)
        self.smallest = min(self.smallest, inner.smallest)
        return total


SLOPES = {
    **{name: mpmath.cos for name in ("sin", "csc")},
    **{name: mpmath.sin for name in ("cos", "sec")},
    **{name: mpmath.sinh for name in ("cosh", "sech")},
}
SATURATING = ("tanh", "coth")
LARGEST_SATURATING = 60


def require_slope(name, argument):
    if name in SATURATING and abs(mpmath.re(argument)) > LARGEST_SATURATING:
        raise Undecidable("a function that hardly changes")
    slope = abs(SLOPES[name](argument)) if name in SLOPES else 1
    # Below that it is 0 but for rounding.
    if mpmath.mpf(10) ** (20 - mpmath.mp.dps) < slope < FLATTEST:
        raise Undecidable("a function that hardly changes")


def is_negative(value):
    return mpmath.im(value) == 0 and mpmath.re(value) < 0


def whole(value):
    if mpmath.im(value) != 0 or value != mpmath.nint(mpmath.re(value)):
        raise Undecidable("a bound that is no integer")
    return int(mpmath.nint(mpmath.re(value)))


def real(value):
    if mpmath.im(value) != 0:
        raise Undecidable("a complex number where a real one is needed")
    return mpmath.re(value)


def snapped(value):
    """floor and ceiling of what is an integer but for rounding."""
    nearest = mpmath.nint(real(value))
    return nearest if abs(nearest - real(value)) < mpmath.mpf(10) ** (20 - mpmath.mp.dps) else real(value)


def exponential(value):
    if abs(value) > LARGEST_EXPONENT:
        raise Undecidable("size")
    return mpmath.exp(value)


def factorial(value):
    if abs(value) > LARGEST_FACTORIAL:
        raise NoValue("factorial")
    if value != mpmath.nint(mpmath.re(value)) and abs(value) > LARGEST_GAMMA:
        too_large("a factorial between whole numbers")
    return mpmath.factorial(value)


def binomial(above, below):
    # Of three factorials, which cancel to few factors only where one is small.
    if abs(above) > LARGEST_GAMMA and min(abs(below), abs(above - below)) > LARGEST_GAMMA:
        too_large("a binomial")
    return mpmath.binomial(above, below)


def logarithm(value, base=None):
    if value == 0:
        raise Undecidable("log 0")
    return mpmath.log(value) if base is None else mpmath.log(value) / mpmath.log(base)


FUNCTIONS = {
    "Pi": lambda: mpmath.pi + 0,
    "Exp1": lambda: mpmath.e + 0,
    "ImaginaryUnit": lambda: mpmath.mpc(0, 1),
    "GoldenRatio": lambda: mpmath.phi + 0,
    "UnevaluatedExpr": lambda value: value,
    "exp": exponential,
    "log": logarithm,
    "Abs": abs,
    "sign": mpmath.sign,
    "floor": lambda value: mpmath.floor(snapped(value)),
    "ceiling": lambda value: mpmath.ceil(snapped(value)),
    "factorial": factorial,
    "binomial": binomial,
    "gamma": lambda value: factorial(value - 1),
    "Max": lambda *values: max(real(value) for value in values),
    "Min": lambda *values: min(real(value) for value in values),
    "Mod": lambda value, modulus: real(value) - real(modulus) * mpmath.floor(snapped(value / modulus)),
    **{
        name: getattr(mpmath, name)
        for name in (
            "sin cos tan cot sec csc asin acos atan acot asec acsc "
            "sinh cosh tanh coth sech csch asinh acosh atanh acoth"
        ).split()
    },
}

# Powers of irrational-looking numbers, so that no point is special to an expression; of both signs, because
# sqrt(x^2) is x only on one side.
SIGN_PATTERNS = ("+", "+-", "-", "-+", "+")


def points(symbols):
    """Of as many digits as are compared: a sine could be 0 at all numbers of few."""
    with mpmath.workdps(FINE_DIGITS):
        return [*rounds_of_points(sorted(symbols, key=lambda symbol: symbol.name))]


def rounds_of_points(ordered):
    for round_number, signs in enumerate(SIGN_PATTERNS if ordered else ("+",)):
        point = {}
        for position, symbol in enumerate(ordered):
            size = mpmath.mpf(2 * position + 3 + 7 * round_number) / 11 + mpmath.sqrt(2 + position) / 7
            point[symbol] = size if signs[position % len(signs)] == "+" else -size
        yield point


# --- formulas that are not one everywhere ---------------------------------------------------------------------------


class Unresolved(Exception):
    """The places where a formula changes are not found."""


def classes(names):
    return tuple(getattr(sympy, name) for name in names.split())


# Formulas of these change where what they are of is 0, 1 or -1 ...
INVERSE = classes("asin acos atan acot asec acsc asinh acosh atanh acoth asech acsch")
# ... and these at places without number, or have another value at a single place.
STEPS = classes("sign floor ceiling Mod Piecewise")
LOOPS = classes("Sum Product")
BRANCHING = (*classes("Abs Max Min log"), *INVERSE, *STEPS)
MOST_PARTS = 12
MOST_RELATIONS = 4
MOST_FACTORS = 20
MOST_CELLS = 400
LARGEST_FORMULA = 40
LARGEST_DEGREE = 16
LARGEST_ROOT = 6
# The share of an interval at which it is looked into; of more digits than a factor in a sine may have.
INSIDE = sympy.Rational(int(sympy.sqrt(2).n(200) * 10**150) - 10**150, 10**150)


def is_branching(expr):
    if is_log_of_size(expr):
        return False
    if isinstance(expr, LOOPS):
        return bool(branches(expr.function))
    if isinstance(expr, sympy.Pow) and expr.base.free_symbols:
        return not expr.exp.is_Integer
    return is_power_of_zero(expr) or (isinstance(expr, BRANCHING) and bool(expr.free_symbols))


def square_of_size(expr):
    """The square of a product of absolute values and square roots, which is one formula everywhere; None of anything else."""
    squares = [square_of_factor(factor) for factor in sympy.Mul.make_args(expr)]
    return None if None in squares else sympy.Mul(*squares)


def square_of_factor(factor):
    if not factor.free_symbols:
        return factor**2 if factor.is_nonnegative else None
    base, exponent = factor.as_base_exp()
    if isinstance(base, sympy.Abs) and exponent.is_Integer:
        base, exponent = base.args[0], 2 * exponent
    elif exponent.is_Rational and exponent.q == 2:
        exponent = 2 * exponent
    else:
        return None
    return None if branches(base) else base**exponent


def is_log_of_size(expr):
    """
    Of an absolute value or a square root a logarithm has no branches: its slope is one formula everywhere (that of ln|u| is
    u'/u), so that what it is equal to in one place it is equal to in all.
    """
    return isinstance(expr, sympy.log) and bool(expr.free_symbols) and square_of_size(expr.args[0]) is not None


def branches(expr):
    """All parts of an expression that are not one formula wherever they are evaluated."""
    if is_log_of_size(expr):
        return []
    inner = [part for argument in expr.args for part in branches(argument)]
    return [expr, *inner] if is_branching(expr) else inner


def is_power_of_zero(expr):
    return isinstance(expr, sympy.Pow) and expr.base.is_zero and bool(expr.exp.free_symbols)


def outer_branches(expr):
    """The largest parts of an expression that are not one formula wherever they are evaluated."""
    if is_log_of_size(expr):
        return []
    if is_branching(expr):
        return [expr]
    return [part for argument in expr.args for part in outer_branches(argument)]


def agree_whatever_parts_are(first, second):
    """Whether two expressions are equal with any values in place of their branching parts."""
    parts = {*outer_branches(first), *outer_branches(second)}
    if len(parts) > MOST_PARTS:
        return False
    kinds = kinds_of(sorted(parts, key=sympy.default_sort_key))
    values = [sympy.Dummy(f"part {number}", real=True) for number in range(len(kinds))]
    verdicts = []
    for point in points(free_symbols(first, second) | {*values}):
        shared = {part: point[value] for value, kind in zip(values, kinds) for part in kind}
        verdicts.append(verdict_at(first, second, {**point, **shared}, CELL_DIGITS))
    return False not in verdicts and verdicts.count(True) >= 3


def kinds_of(parts):
    kinds = []
    for part in parts:
        kind = next((kind for kind in kinds if are_same_parts(kind[0], part)), None)
        if kind is None:
            kinds.append([part])
        else:
            kind.append(part)
    return kinds


def are_same_parts(first, second):
    if first.func != second.func or len(first.args) != len(second.args) or isinstance(first, LOOPS):
        return False
    if isinstance(first, sympy.Abs) and is_same(first.args[0], -second.args[0]):
        return True
    return all(is_same(a, b) for a, b in zip(first.args, second.args))


def is_same(first, second):
    return first == second or same_value(first, second) is True


def changes_of(branch):
    """A branch changes where one of these is 0 or has no value."""
    if isinstance(branch, (*LOOPS, *STEPS)) or is_power_of_zero(branch):
        raise Unresolved
    if isinstance(branch, (sympy.Max, sympy.Min)):
        return [second - first for first, second in itertools.combinations(branch.args, 2)]
    if isinstance(branch, INVERSE):
        return [branch.args[0] + shift for shift in (-1, 0, 1)]
    return branch.args if isinstance(branch, sympy.log) else [branch.args[0]]


def rational_form(expr, relations):
    """A quotient of polynomials with symbols for absolute values, maxima and roots; a relation for each that is 0 for its values."""
    if not expr.free_symbols:
        return approximation(expr)
    if isinstance(expr, sympy.Symbol) and expr.name != "i":
        return expr
    if isinstance(expr, sympy.Pow) and expr.exp.is_Rational:
        base = rational_form(expr.base, relations)
        if max(abs(expr.exp.p), expr.exp.q) > LARGEST_DEGREE or expr.exp.q > LARGEST_ROOT:
            raise Unresolved
        return base**expr.exp if expr.exp.is_Integer else value_of(relations, lambda x: x**expr.exp.q - base**expr.exp.p)
    if not isinstance(expr, classes("Add Mul Abs Max Min UnevaluatedExpr")):
        raise Unresolved
    forms = [rational_form(argument, relations) for argument in expr.args]
    if isinstance(expr, sympy.Abs):
        return value_of(relations, lambda x: x**2 - forms[0] ** 2)
    if isinstance(expr, (sympy.Max, sympy.Min)):
        return value_of(relations, lambda x: sympy.prod(x - form for form in forms))
    return forms[0] if isinstance(expr, sympy.UnevaluatedExpr) else expr.func(*forms)


def approximation(expr):
    """Of a number: where two changes seem to be where one is, one point more is compared."""
    if isinstance(expr, sympy.Rational):
        return expr
    with mpmath.workdps(CELL_DIGITS):
        return sympy.Rational(int(mpmath.nint(real(Evaluation({}).value(expr)) * 10**CELL_DIGITS)), 10**CELL_DIGITS)


def value_of(relations, relation):
    if len(relations) == MOST_RELATIONS:
        raise Unresolved
    symbol = sympy.Dummy("value", real=True)
    relations.append((symbol, sympy.fraction(sympy.together(relation(symbol)))[0]))
    return symbol


def factors_of(polynomial):
    """Its factors without a common one, each once."""
    if not polynomial.free_symbols:
        return set()
    if sympy.count_ops(polynomial) > LARGEST_FORMULA * LARGEST_DEGREE:
        raise Unresolved
    whole = sympy.Poly(polynomial, *sorted(polynomial.free_symbols, key=sympy.default_sort_key))
    if whole.total_degree() > LARGEST_DEGREE:
        raise Unresolved
    return {factor.as_expr() for factor, _ in whole.factor_list()[1]}


def factors_of_changes(expr):
    """Polynomials that are 0 wherever the expression is."""
    if sympy.count_ops(expr) > LARGEST_FORMULA:
        raise Unresolved
    relations = []
    found = {*sympy.fraction(sympy.together(rational_form(expr, relations)))}
    for symbol, relation in reversed(relations):
        cases = factors_of(relation)
        found = {
            sympy.resultant(polynomial, case, symbol) if polynomial.has(symbol) else polynomial
            for polynomial in found
            for case in cases
            if case.has(symbol)
        }
    return {factor for polynomial in found for factor in factors_of(polynomial)}


def cells(factors, symbols):
    """A point of each region that the zeros of polynomials part (the open cells of a cylindrical algebraic decomposition)."""
    if not symbols:
        return [{}]
    if len(factors) > MOST_FACTORS:
        raise Unresolved
    *others, last = symbols
    points_of_cells = []
    for point in cells(shadows(factors, last) if others else set(), others):
        lines = [factor.subs(point) for factor in factors]
        for value in values_between({line for line in lines if line.has(last)}, last):
            points_of_cells.append({**point, last: value})
        if len(points_of_cells) > MOST_CELLS:
            raise Unresolved
    return points_of_cells


def shadows(factors, symbol):
    """Where zeros of the polynomials, as values of one symbol, begin, end or cross."""
    with_symbol = sorted((factor for factor in factors if factor.has(symbol)), key=sympy.default_sort_key)
    found = factors - {*with_symbol}
    for factor in with_symbol:
        found |= {sympy.LC(factor, symbol), sympy.discriminant(factor, symbol)}
    for pair in itertools.combinations(with_symbol, 2):
        found.add(sympy.resultant(*pair, symbol))
    return {factor for polynomial in found for factor in factors_of(polynomial)}


# Until roots lie apart.
WIDTHS = (None, *(sympy.Rational(1, 10**digits) for digits in (6, 30, 100, 200)))


def values_between(polynomials, symbol):
    """One value before, between and behind the real zeros of polynomials in one symbol."""
    whole = sympy.Poly(sympy.prod(polynomials), symbol, domain="QQ")
    if whole.degree() < 1:
        return [INSIDE]
    for width in WIDTHS:
        roots = [root for root, _ in whole.sqf_part().intervals(eps=width)]
        if all(before[1] < after[0] for before, after in itertools.pairwise(roots)):
            break
    else:
        raise Unresolved
    if not roots:
        return [INSIDE]
    reach = 1 + abs(roots[0][0]) + abs(roots[-1][1])
    gaps = [(roots[0][0] - reach, roots[0][0]), (roots[-1][1], roots[-1][1] + reach)]
    gaps += [(before[1], after[0]) for before, after in itertools.pairwise(roots)]
    return [low + (high - low) * INSIDE for low, high in gaps]


def points_of_change(first, second):
    """Where branches could hide a difference: at one place wherever they are one formula. May raise Unresolved."""
    parts = {*branches(first), *branches(second)}
    symbols = sorted(free_symbols(first, second), key=lambda symbol: symbol.name)
    if len(parts) > MOST_PARTS:
        raise Unresolved
    try:
        changes = [change for part in parts for change in changes_of(part)]
        factors = {factor for change in changes if not keeps_sign(change) for factor in factors_of_changes(change)}
        if any(factor.free_symbols - {*symbols} for factor in factors):
            raise Unresolved
        places = cells(factors, symbols)
    except (*UNDECIDED, NoValue, sympy.polys.polyerrors.BasePolynomialError) as error:
        raise Unresolved from error
    with mpmath.workdps(FINE_DIGITS):
        return [{symbol: mpmath.mpf(value.p) / value.q for symbol, value in place.items()} for place in places]


def keeps_sign(expr):
    return not expr.free_symbols or bool(expr.is_positive or expr.is_negative)


def has_branches(first, second):
    return bool(outer_branches(first) or outer_branches(second))


def evaluate_pair(first, second, point):
    evaluation = Evaluation(point)
    return evaluation.value(first), evaluation.value(second), evaluation


def is_close(first, second, evaluation):
    """To within the rounding of the largest number that took part."""
    tolerance = mpmath.mpf(10) ** (evaluation.largest - mpmath.mp.dps + 15)
    return abs(first - second) <= tolerance


def free_symbols(*exprs):
    return {symbol for expr in exprs for symbol in expr.free_symbols if symbol.name != "i"}


def same_value(first, second):
    """True, False, or None where evaluation cannot tell."""
    if isinstance(first, sympy.Rational) and isinstance(second, sympy.Rational):
        return first == second
    symbols = free_symbols(first, second)
    fine = fine_digits(first, second)
    verdicts = []
    for round_number, point in enumerate(points(symbols)):
        verdicts.append(verdict_at(first, second, point, fine if round_number < FINE_ROUNDS else ROUGH_DIGITS))
        if verdicts[-1] is False:
            return False
    if True not in verdicts[:FINE_ROUNDS] or verdicts.count(True) < (3 if symbols else 1):
        return None
    if not symbols or not has_branches(first, second) or agree_whatever_parts_are(first, second):
        return True
    squares = [square_of_size(expr) for expr in (first, second)]
    if None not in squares:
        return same_value(*squares)
    return agree_between_changes(first, second)


def agree_between_changes(first, second):
    try:
        places = points_of_change(first, second)
        verdicts = [verdict_at(first, second, point, CELL_DIGITS, of_imaginary=True) for point in places]
    except (Unresolved, NoValue):
        return None
    if False in verdicts:
        return False
    return None if None in verdicts else True


UNDECIDED = (Undecidable, ValueError, ZeroDivisionError, OverflowError, TypeError, NotImplementedError)


def verdict_at(first, second, point, digits, of_imaginary=None):
    """True, False, or None where this point tells nothing; another verdict where neither has a real value."""
    try:
        # Among real numbers neither has a value there: 1/sqrt(n) and sqrt(1/n) where n is negative.
        is_complex = any(has_imaginary(expr) for expr in (first, second))
        if not is_complex and point and are_both_imaginary(first, second, point):
            return of_imaginary
        return bool(close_at(first, second, point, digits))
    except UNDECIDED:
        return None


def has_imaginary(expr):
    return expr.has(sympy.I) or any(symbol.name == "i" for symbol in expr.free_symbols)


def are_both_imaginary(first, second, point):
    with mpmath.workdps(ROUGH_DIGITS):
        a, b, evaluation = evaluate_pair(first, second, point)
        zero = mpmath.mpf(10) ** (evaluation.largest - mpmath.mp.dps + 15)
        return all(abs(mpmath.im(value)) > zero for value in (a, b))


def fine_digits(*exprs):
    has_gamma = any(expr.has(sympy.factorial, sympy.binomial, sympy.gamma) for expr in exprs)
    return GAMMA_DIGITS if has_gamma and free_symbols(*exprs) else FINE_DIGITS


def close_at(first, second, point, digits):
    with mpmath.workdps(ROUGH_DIGITS):
        a, b, evaluation = evaluate_pair(first, second, point)
        # At this precision "different" is certain where nothing large has cancelled.
        if evaluation.largest < ROUGH_DIGITS / 3 and not is_close(a, b, evaluation):
            return False
    check_size(evaluation, max(digits, GAMMA_DIGITS))
    with mpmath.workdps(digits):
        a, b, evaluation = evaluate_pair(first, second, point)
        return is_close(a, b, evaluation)


def check_size(evaluation, digits):
    if evaluation.largest > digits * SIZE_SHARE or evaluation.smallest < -digits * SMALL_SHARE:
        raise Undecidable("size")


# --- questions ------------------------------------------------------------------------------------------------------


def lower_case(expr):
    return expr.subs({symbol: sympy.Symbol(symbol.name.lower(), real=True) for symbol in expr.free_symbols})


def fold_case(first, second):
    """`X` stands for `x` unless both occur."""
    names = {symbol.name for symbol in first.free_symbols | second.free_symbols}
    if first.free_symbols == second.free_symbols:
        return first, second
    for expr in (first, second):
        own = {symbol.name for symbol in expr.free_symbols}
        if len({name.lower() for name in own}) != len(own):
            return first, second
    if not any(name != name.lower() for name in names):
        return first, second
    return lower_case(first), lower_case(second)


def is_unsettled(expr):
    return not isinstance(expr, (sympy.Expr, sympy.MatrixBase))


def compare_values(given, expected):
    first, second = parse(given), parse(expected)
    if is_unsettled(first) or is_unsettled(second):
        return None
    matrices = [isinstance(expr, sympy.MatrixBase) or getattr(expr, "is_Matrix", False) for expr in (first, second)]
    if any(matrices):
        return compare_matrices(first, second) if all(matrices) else False
    first, second = fold_case(first, second)
    verdict = same_value(first, second)
    return compare_symbolically(first, second) if verdict is None else verdict


def compare_matrices(first, second):
    first, second = first.doit(), second.doit()
    if first.shape != second.shape:
        return False
    verdicts = [same_value(a, b) for a, b in zip(sympy.flatten(first), sympy.flatten(second))]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def compare_symbolically(first, second):
    """What could not be evaluated: accepted when math-verify accepts it and the difference vanishes symbolically."""
    if any(expr.has(sympy.oo, -sympy.oo, sympy.zoo, sympy.nan) for expr in (first, second)):
        return None
    if first == second:
        return True
    # What evaluation could not tell has terms of thousands of digits, or none that it knows; sympy would work them out one by one.
    if any(has_counted_loop(expr) for expr in (first, second)):
        too_large("a sum")
    difference = sympy.simplify(first - second)
    if difference.is_zero and not difference.has(sympy.Float):
        return True if verify(second, first, timeout_seconds=None) else None
    return None


def has_counted_loop(expr):
    return any(
        end.is_number and end.is_finite and end - start > LONGEST_SIMPLIFIED
        for loop in expr.atoms(sympy.Sum, sympy.Product)
        for _, start, end in loop.limits
        if start.is_number
    )


def ratio_of(first, second, point):
    a, b, evaluation = evaluate_pair(first, second, point)
    check_size(evaluation, mpmath.mp.dps)
    tiny = mpmath.mpf(10) ** (evaluation.largest - mpmath.mp.dps + 15)
    if abs(a) <= tiny or abs(b) <= tiny:
        return mpmath.mpf(0) if abs(a) <= tiny and abs(b) <= tiny else None
    return a / b


def compare_relations(given, expected, must_be_positive):
    """Whether the differences of the sides are proportional."""
    differences = [parse(left) - parse(right) for left, right in (given, expected)]
    if any(is_unsettled(difference) for difference in differences):
        return None
    first, second = fold_case(*differences)
    if first.free_symbols != second.free_symbols or not free_symbols(first):
        return False
    with mpmath.workdps(fine_digits(first, second)):
        ratios = [*ratios_at(points(free_symbols(first)), first, second, UNDECIDED)]
        if len(ratios) < 3:
            return None
        if not is_one_factor(ratios, must_be_positive):
            return False
        if not has_branches(first, second):
            return True
        try:
            further = [ratio_of(first, second, point) for point in points_of_change(first, second)]
            return is_one_factor([ratios[0], *further], must_be_positive)
        except (Unresolved, NoValue, *UNDECIDED):
            return True if has_same_factor(first, second, ratios[0]) else None


def has_same_factor(first, second, ratio):
    """Whether they are proportional whatever their branching parts are."""
    with mpmath.workdps(FINE_DIGITS):
        factor = sympy.nsimplify(sympy.Float(str(mpmath.re(ratio)), 60), rational=True, tolerance=1e-30)
    return agree_whatever_parts_are(first, factor * second)


def ratios_at(places, first, second, undecided):
    for point in places:
        try:
            yield ratio_of(first, second, point)
        except undecided:
            continue


def is_one_factor(ratios, must_be_positive):
    factor = ratios[0]
    if factor is None or factor == 0:
        return False
    tolerance = abs(factor) * mpmath.mpf(10) ** (30 - mpmath.mp.dps)
    if any(ratio is None or abs(ratio - factor) > tolerance for ratio in ratios):
        return False
    if not must_be_positive:
        return True
    return mpmath.im(factor) == 0 and mpmath.re(factor) > 0


def compare_sets(given, expected):
    first, second = parse(given), parse(expected)
    if not isinstance(first, sympy.Set) or not isinstance(second, sympy.Set):
        return None
    first, second = first.doit(), second.doit()
    if first == second:
        return True
    return first.symmetric_difference(second).is_empty


def compare_rounded(given, expected, places):
    """The first is a decimal number of so many places; the second may be irrational."""
    verdict = compare_values(given, expected)
    decimal, exact = parse(given), parse(expected)
    if verdict or free_symbols(decimal, exact):
        return verdict
    with mpmath.workdps(FINE_DIGITS):
        written, value, _ = evaluate_pair(decimal, exact, {})
        scale = mpmath.mpf(10) ** places
        return is_rounding(mpmath.nint(real(written) * scale), real(value) * scale)


def is_rounding(written, exact):
    """A whole number, of a number without an end that was cut or rounded to it."""
    shifted = exact * mpmath.mpf(10) ** END_DIGITS
    if abs(shifted - mpmath.nint(shifted)) < mpmath.mpf(10) ** -END_DIGITS:
        return False
    cut = mpmath.sign(exact) * mpmath.floor(abs(exact))
    if written in (cut, mpmath.nint(exact)):
        return True
    return abs(written) >= mpmath.mpf(10) ** (DOUBLE_DIGITS - 1) and bool(abs(written - exact) < 1)


def compare(question):
    kind, given, expected = question["kind"], question["given"], question["expected"]
    if kind == "value":
        return compare_values(given, expected)
    if kind == "set":
        return compare_sets(given, expected)
    if kind == "rounding":
        return compare_rounded(given, expected, question["places"])
    return compare_relations(given, expected, must_be_positive=kind == "inequality")


VERDICTS = {True: "equal", False: "unequal", None: "unknown"}


def answer(text):
    met["too_large"] = False
    try:
        reply = {"verdict": VERDICTS[compare(json.loads(text))]}
    except Exception as error:  # what the parser cannot read, a MemoryError, RecursionError and the like
        reply = {"verdict": "unknown", "why": type(error).__name__}
    return json.dumps({**reply, **({"limit": "size"} if met["too_large"] else {})})


def serve(limit_seconds, memory_bytes):
    """Answers lines of standard input; a question that overruns ends the process, also when nobody is left to kill it."""
    import faulthandler
    import os
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = open(os.devnull, "w")
    for question in sys.argv[3:]:
        answer(question)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(limit_seconds, exit=True, file=silent)
        result = answer(line)
        faulthandler.cancel_dump_traceback_later()
        print(result, flush=True)


if __name__ == "__main__":
    serve(float(sys.argv[1]), int(sys.argv[2]))
