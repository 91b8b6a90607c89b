import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { Variables } from "../schemas/expression.ts";
import { compileExpression, type Expression, type View } from "./expression.ts";
import { ExpressionFault } from "./expression-fault.ts";
import { MAX_CHARS, MAX_STEPS } from "./limits.ts";

const VARIABLES: Variables = { class_name: "text", speed_mps: "number", predicted: "bool" };
const CAR: View = { class_name: "car", speed_mps: 9, predicted: false };

const evaluate = (text: string, view: View = CAR) => compileExpression(text, VARIABLES).evaluate(view);

function faultOf(text: string): ExpressionFault {
  try {
    compileExpression(text, VARIABLES);
  } catch (error) {
    assert.ok(error instanceof ExpressionFault, String(error));
    return error;
  }
  assert.fail(`${text} is accepted`);
}

for (const [text, expected] of [
  ["class_name == 'car' && speed_mps > 8", true],
  ["class_name in ['car', 'truck']", true],
  ["speed_mps * 3.6 - 1 > 2 * 4", true],
  ["speed_mps == 9 && speed_mps != 8", true],
  ["!predicted || speed_mps < 0", true],
  ["speed_mps > 8 ? 'fast' : 'slow'", "fast"],
  ["['ca', 'tr'].exists(start, class_name.startsWith(start))", true],
  ["min(speed_mps, 2) + max(1, 2) + abs(-3) + round(2.4)", 9],
  ["class_name.upperAscii() + ' ' + string(speed_mps)", "CAR 9"],
  ["7 / 2", 3.5],
] as const)
  test(`evaluates ${text}`, () => assert.equal(evaluate(text), expected));

test("no comparison with an unknown number holds", () => {
  const unknown = { ...CAR, speed_mps: Number.NaN };
  for (const text of ["speed_mps > 8", "speed_mps <= 8", "speed_mps == 8", "known(speed_mps)"])
    assert.equal(evaluate(text, unknown), false, text);
  assert.equal(evaluate("known(speed_mps)"), true);
});

test("gives its type and the variables that it uses", () => {
  const { type, uses } = compileExpression("speed_mps > 8 && ['a'].all(x, x != class_name)", VARIABLES);
  assert.deepEqual([type, [...uses].sort()], ["bool", ["class_name", "speed_mps"]]);
  assert.equal(compileExpression("speed_mps + 1", VARIABLES).type, "number");
  assert.equal(compileExpression("class_name", VARIABLES).type, "text");
});

for (const [text, start, message, hint] of [
  ["speed_mp > 8", 0, /unknown variable `speed_mp`/, "speed_mps"],
  ["speed_mps > 8 && clas_name == 'car'", 17, /unknown variable `clas_name`/, "class_name"],
  ["speed_mps > 'x'", 0, /no such overload: number > text/],
  ["speed_mps > 8 &&", 16, /ends too early/],
  ["speed_mps > 8 & predicted", 14, /unexpected character/],
  ["class_name.constructor", 11, /no fields/],
  ["class_name['constructor']", 0, /no fields/],
  ["predicted && class_name.matches('(a+)+b')", 13, /unknown function `matches`/],
  ["now() > 3", 0, /unknown function `now`/],
  ["timestamp('2020-01-01T00:00:00Z') == timestamp('2020-01-01T00:00:00Z')", 0, /unknown function `timestamp`/],
  ["cel.bind(x, class_name, x)", 0, /unknown function `bind`/],
  ["google == google", 0, /unknown variable `google`/],
  ["{'a': 1} == {'a': 1}", 0, /not supported/],
  ["b'abc' == b'abc'", 0, /not a number/],
  ["null == null", 0, /not a number/],
  ["class_name.all(x, true)", 0, /not a list/],
  ["['a'].map(x, x)", 0, /unknown function `map`/],
  ["['a']", 0, /result is a list/],
  ["  ", 0, /empty/],
] as const)
  test(`rejects ${text}`, () => {
    const fault = faultOf(text);
    assert.match(fault.message, message);
    assert.deepEqual([fault.start, fault.suggestion], [start, hint]);
  });

test("bounds length, depth, lists and steps", () => {
  assert.match(faultOf(`predicted${" ".repeat(MAX_CHARS)}`).message, /characters/);
  assert.match(faultOf(`${"(".repeat(200)}predicted${")".repeat(200)}`).message, /too long or too deep/);
  assert.match(faultOf(`[${"1,".repeat(200)}] == [1]`).message, /too long or too deep/);
  const list = `[${Array.from({ length: 20 }, (_, i) => i).join()}]`;
  const loops = `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0)))`;
  const fault = faultOf(loops);
  assert.match(fault.message, /may take \d+ steps/);
  assert.equal(fault.expected, `at most ${MAX_STEPS}`);
  assert.equal(evaluate(`${list}.all(a, [0, 1, 2].exists(b, a >= b))`), true);
});

const PROBES = [
  "constructor",
  "__proto__",
  "prototype",
  "toString",
  "process",
  "globalThis",
  "require",
  "import",
  "Date",
];

test("names of the host are unknown in every place", () => {
  for (const probe of PROBES)
    for (const text of [
      probe,
      `${probe}()`,
      `class_name.${probe}`,
      `class_name.${probe}()`,
      `class_name['${probe}']`,
      `speed_mps.${probe}.${probe}`,
      `['a'].exists(x, x.${probe} == x)`,
      `['a'].exists(${probe}, ${probe}.constructor == 1)`,
    ])
      assert.throws(() => compileExpression(text, VARIABLES), ExpressionFault, text);
});

const word = fc.constantFrom(
  ...["class_name", "speed_mps", "predicted", "'car'", "1", "2.5", "true", "x", ...PROBES],
  ...[
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "?",
    ":",
    "in",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
  ],
  ...[
    "all",
    "exists",
    "startsWith",
    "contains",
    "known",
    "string",
    "size",
    "matches",
    "b'a'",
    "1u",
    "null",
    "//",
    "\n",
    "'",
  ],
);
const random = fc.oneof(
  fc.array(word, { maxLength: 30 }).map((words) => words.join(" ")),
  fc.array(word, { maxLength: 12 }).map((words) => words.join("")),
  fc.string({ maxLength: 200, unit: "grapheme" }),
);

test("a random text is an expression of primitive values or has a located fault", () => {
  fc.assert(
    fc.property(random, fc.double(), fc.string(), (text, speed_mps, class_name) => {
      try {
        const expression = compileExpression(text, VARIABLES);
        const value = expression.evaluate({ class_name, speed_mps, predicted: true });
        assert.equal(typeof value, { bool: "boolean", number: "number", text: "string" }[expression.type]);
      } catch (error) {
        assert.ok(error instanceof ExpressionFault, `${JSON.stringify(text)}: ${error}`);
        assert.ok(error.start >= 0 && error.start <= text.length, `${JSON.stringify(text)}: ${error.start}`);
      }
    }),
    { numRuns: 5000 },
  );
});

const NUMBERS = fc.letrec((tie) => ({
  number: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("speed_mps", "1", "2.5"),
    fc
      .tuple(tie("number"), fc.constantFrom("+", "-", "*", "/"), tie("number"))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie("truth"), tie("number"), tie("number")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
  ),
  truth: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("predicted", "(class_name == 'car')", "known(speed_mps)"),
    fc.tuple(tie("number"), fc.constantFrom("<", "==", ">="), tie("number")).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie("truth"), fc.constantFrom("&&", "||"), tie("truth")).map(([a, op, b]) => `(${a} ${op} ${b})`),
    tie("truth").map((a) => `!${a}`),
  ),
}));

test("agrees with JavaScript on random conditions", () => {
  fc.assert(
    fc.property(NUMBERS.truth as fc.Arbitrary<string>, fc.double(), (text, speed_mps) => {
      const script = text.replaceAll("known(speed_mps)", "!isNaN(speed_mps)");
      const wanted = new Function("class_name", "speed_mps", "predicted", `return ${script}`)("car", speed_mps, true);
      assert.equal(evaluate(text, { class_name: "car", speed_mps, predicted: true }), wanted, text);
    }),
    { numRuns: 1000 },
  );
});

const CONDITION = fc.oneof(
  NUMBERS.truth as fc.Arbitrary<string>,
  fc
    .tuple(
      fc.array(fc.constantFrom("'car'", "class_name", "'x'"), { minLength: 1, maxLength: 30 }),
      fc.constantFrom("all", "exists", "exists_one"),
      NUMBERS.truth as fc.Arbitrary<string>,
    )
    .map(([items, loop, inner]) => `[${items.join()}].${loop}(each, each == class_name || ${inner})`),
);

/** What of the host an expression could read: clocks, chance, the network, the program, its files. */
const HOST = [
  [Date, "now"],
  [Math, "random"],
  [performance, "now"],
  [globalThis, "fetch"],
  [globalThis, "Date"],
  [process, "hrtime"],
  [process, "cwd"],
  [process, "binding"],
  [fs, "readFileSync"],
  [fs, "openSync"],
] as const;

/** Calls of the host while `work` runs. */
function callsOf(work: () => void): readonly string[] {
  const calls: string[] = [];
  const kept = HOST.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name));
  for (const [owner, name] of HOST)
    Object.defineProperty(owner, name, { configurable: true, get: () => void calls.push(name) });
  try {
    work();
  } finally {
    HOST.forEach(([owner, name], index) => {
      const before = kept[index];
      if (before === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, before);
    });
  }
  return calls;
}

test("an evaluation reads only its variables, within the limit of steps, and nothing of the host", () => {
  fc.assert(
    fc.property(CONDITION, fc.double(), (text, speed_mps) => {
      const expression = compileOrNull(text);
      if (expression === null) return;
      const reads: PropertyKey[] = [];
      const view = new Proxy({ class_name: "car", speed_mps, predicted: true } satisfies View, {
        get(target, name) {
          reads.push(name);
          return Reflect.get(target, name);
        },
      });
      const values: unknown[] = [];
      const calls = callsOf(() => values.push(expression.evaluate(view), expression.evaluate(view)));
      assert.deepEqual(calls, [], text);
      assert.equal(values[0], values[1], text);
      assert.ok(reads.length / 2 <= MAX_STEPS, `${reads.length / 2} reads: ${text}`);
      const foreign = reads.filter((name) => !expression.uses.includes(String(name)));
      assert.deepEqual(foreign, [], text);
    }),
    { numRuns: 1000 },
  );
});

/** Null: it takes more steps than an expression may. */
function compileOrNull(text: string): Expression | null {
  try {
    return compileExpression(text, VARIABLES);
  } catch (error) {
    assert.ok(
      error instanceof ExpressionFault && /steps|too long or too deep|characters/.test(error.message),
      `${text}: ${error}`,
    );
    return null;
  }
}
