/**
 * Values against schemas, in bounded time whatever is sent: at most so much is checked for all its faults, and no pattern
 * is tried on a long text.
 */
import { Ajv2020, type AnySchema, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import type { TSchema } from "typebox";
import { describeFaults, type InputFault } from "./describe-fault.ts";
import { OWN_SCHEMAS } from "./own-schemas.ts";

/** No faults: the value fits. Paths are JSON pointers. */
export type Check = (value: unknown) => readonly InputFault[];

/** Of a value with more numbers, texts, lists and objects in it, only the first fault is reported. */
const MOST_VALUES = 2000;
/** Longer texts are not tried again when all faults are collected. */
export const MOST_PATTERN_CHARACTERS = 4096;

/**
 * For collecting all faults, where ajv goes on to the pattern although the length was wrong. The first pass, which decides,
 * stops at the length.
 */
const engine = (pattern: string, flags: string) => {
  const expression = new RegExp(pattern, flags);
  return {
    test: (text: string) => text.length > MOST_PATTERN_CHARACTERS || expression.test(text),
    toString: () => expression.toString(),
  };
};
// For code that ajv writes to files, which we do not.
const regExp = Object.assign(engine, { code: "new RegExp" });

export class Checks {
  readonly #quick: Ajv2020;
  readonly #thorough: Ajv2020;

  constructor(options: Options, prepare: (ajv: Ajv2020) => void = () => {}) {
    const base = { ...OWN_SCHEMAS, verbose: true, logger: false, ...options } as const;
    this.#quick = new Ajv2020({ ...base, allErrors: false });
    this.#thorough = new Ajv2020({ ...base, allErrors: true, code: { ...base.code, regExp } });
    prepare(this.#quick);
    prepare(this.#thorough);
  }

  /** Compiled when it is first needed: most schemas are not, in any one run. */
  by(schema: TSchema | AnySchema): Check {
    const isFit = compileLater(this.#quick, schema as AnySchema);
    const findAll = compileLater(this.#thorough, schema as AnySchema);
    return (value) => {
      const quick = isFit();
      if (quick(value)) return [];
      if (hasMoreThan(MOST_VALUES, value)) return describeFaults(quick.errors ?? []);
      const thorough = findAll();
      // Fits by now: the first check has filled in what was missing.
      return thorough(value) ? describeFaults(quick.errors ?? []) : describeFaults(thorough.errors ?? []);
    };
  }
}

function compileLater(ajv: Ajv2020, schema: AnySchema): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  return () => {
    if (validate === undefined) {
      validate = ajv.compile(schema);
      ajv.removeSchema(schema); // kept here, and nowhere else
    }
    return validate;
  };
}

/** Whether there are more values in it, itself included. Stops counting there. */
export function hasMoreThan(most: number, value: unknown): boolean {
  const open = [value];
  let count = 1;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const items = Array.isArray(next) ? next : Object.values(next);
    count += items.length;
    if (count > most) return true;
    for (const item of items) open.push(item);
  }
  return false;
}
