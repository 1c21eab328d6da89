/** One program for each operator: it lists the result or the error for every pair of values. */
import type { MatrixProgram } from "./programs.ts";

const values: readonly string[] = [
  ...["None", "True", "False", "...", "0", "1", "3", "-7", "2**53", "2**70", "0.0", "-0.0", "0.1", "-7.5", "1e300"],
  ...["math.inf", "math.nan", "2 + 1j", "Decimal('-7.5')", "Fraction(-1, 3)"],
  ...["''", "'a'", "'ab'", "'É'", "b''", "b'ab'", "bytearray(b'a')"],
  ...["[]", "[1, 2]", "[1, 3]", "[[1], 2]", "()", "(1, 2)", "(1, 'a')", "range(3)", "range(0, -4, -2)"],
  ...["set()", "{1, 2}", "{2, 3}", "frozenset({2})", "{}", "{'a': 1}", "{'b': [2]}", "{1: 2}"],
  ...["date(2024, 2, 29)", "datetime(2024, 2, 29, 12, 30)", "timedelta(days=-1, hours=5)"],
];

const binary: readonly string[] = [
  ...["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"],
  ...["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "and", "or"],
];

const unary: readonly string[] = [
  ...[
    "-x",
    "+x",
    "~x",
    "not x",
    "abs(x)",
    "bool(x)",
    "len(x)",
    "int(x)",
    "float(x)",
    "complex(x)",
    "str(x)",
    "repr(x)",
  ],
  ...["list(x)", "tuple(x)", "sorted(x)", "sorted(x, reverse=True)", "sum(x)", "min(x)", "max(x)", "any(x)", "all(x)"],
  ...[
    "x[0]",
    "x[-1]",
    "x[::-1]",
    "x[1:5]",
    "round(x)",
    "round(x, 1)",
    "round(x, -1)",
    "divmod(x, 3)",
    "divmod(x, -2.5)",
  ],
  ...["pow(x, 3, 7)", "math.floor(x)", "math.ceil(x)", "math.trunc(x)", "bin(x)", "hex(x)", "chr(x)", "ord(x)"],
  ...[
    "f'{x:>8}'",
    "f'{x:,}'",
    "f'{x:+.2f}'",
    "f'{x:.3g}'",
    "f'{x:08}'",
    "f'{float(x):.1%}'",
    "f'{x!r:^9}'",
    "'%s|%r' % (x, x)",
  ],
  ...["'%d' % x", "'%.1f' % x", "'{:x}'.format(x)", "json.dumps(x)", "type(x).__name__", "x == x", "x is x"],
];

/** Numbers that are too slow, or need more memory than a script has. */
const guards: ReadonlyMap<string, string> = new Map([
  ["**", "isinstance(right, (int, float)) and abs(right) > 100"],
  ["<<", "isinstance(right, int) and right > 100"],
]);

const start = `import json, math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
values = [${values.join(", ")}]
def told(value):
    return "%s %r" % (type(value).__name__, value)
def rounded(value):
    return format(value, ".13g") if isinstance(value, (float, complex)) else value
`;

const symbols: ReadonlyMap<string, string> = new Map(
  Object.entries({ "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor", "%": "remainder" }),
);

/** Rounds powers, because their last digit depends on the mathematical library. */
function pairs(operator: string): string {
  return `${start}def of(left, right):
    if ${guards.get(operator) ?? "False"}:
        return "left out"
    try:
        return told(${operator === "**" ? "rounded(left ** right)" : `left ${operator} right`})
    except Exception as error:
        return "error " + type(error).__name__
[[of(left, right) for right in values] for left in values]`;
}

function each(expressions: readonly string[]): string {
  const tried = expressions.map(
    (expression) => `def f${expressions.indexOf(expression)}(x):
    return ${expression}`,
  );
  return `${start}${tried.join("\n")}
def of(function, x):
    try:
        return told(function(x))
    except Exception as error:
        return "error " + type(error).__name__
[[of(function, x) for x in values] for function in [${expressions.map((_, at) => `f${at}`).join(", ")}]]`;
}

export const operatorPrograms: readonly MatrixProgram[] = [
  ...binary.map((operator) => ({ name: `operator-${symbols.get(operator) ?? operator}`, source: pairs(operator) })),
  ...Array.from({ length: Math.ceil(unary.length / 8) }, (_, at) => ({
    name: `unary-${at + 1}`,
    source: each(unary.slice(8 * at, 8 * at + 8)),
  })),
];
