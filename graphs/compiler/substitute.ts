/**
 * `$name` as a whole value is the parameter with its type; `${name}` inside a longer text is the parameter as text;
 * `$$` is a dollar sign. Any other `$` is itself, except before a letter, where it is most likely a slip.
 */
import type { Json } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { FaultList } from "./fault-list.ts";
import { MAX_INTERPOLATED_CHARS, MAX_TEXT_CHARS } from "./limits.ts";
import type { Located, LocatedScalar } from "./located.ts";
import type { ParamValues } from "./params.ts";

export interface Substituted {
  readonly value: Json;
  /** Depends on a parameter without a value; `value` then shows the text as written. */
  readonly unknown: boolean;
  /** Parameters that took part. */
  readonly params: readonly string[];
}

const WHOLE = /^\$([A-Za-z][A-Za-z0-9_-]*)$/;
const PART = /\$\$|\$\{([^$}]*)\}|\$(?=[A-Za-z])/g;

export class Substitution {
  readonly #params: ParamValues;
  readonly #faults: FaultList;
  #charsLeft = MAX_INTERPOLATED_CHARS;

  constructor(params: ParamValues, faults: FaultList) {
    this.#params = params;
    this.#faults = faults;
  }

  apply(located: Located): Substituted {
    if (located.kind === "scalar") return this.#scalar(located);
    const inner = (located.kind === "list" ? located.items : located.entries.map((entry) => entry.value)).map((item) =>
      this.apply(item),
    );
    const value =
      located.kind === "list"
        ? inner.map((item) => item.value)
        : Object.fromEntries(located.entries.map((entry, index) => [entry.key, inner[index]?.value ?? null]));
    return {
      value,
      unknown: inner.some((item) => item.unknown),
      params: [...new Set(inner.flatMap((item) => item.params))],
    };
  }

  #scalar(scalar: LocatedScalar): Substituted {
    const { value } = scalar;
    if (typeof value !== "string" || scalar.untyped === true || !value.includes("$"))
      return { value, unknown: false, params: [] };
    const name = WHOLE.exec(value)?.[1];
    if (name === undefined) return this.#interpolate(scalar, value);
    const found = this.#look(name, scalar);
    return { value: found === undefined ? value : found, unknown: found === undefined, params: [name] };
  }

  #interpolate(scalar: LocatedScalar, text: string): Substituted {
    const params = new Set<string>();
    let unknown = false;
    let length = text.length;
    const value = text.replace(PART, (match, name: string | undefined) => {
      if (match === "$$") return "$";
      if (match === "$" || name === undefined) {
        this.#faults.add(
          "bad_param",
          scalar.at,
          `${describeValue(text)} has a "$" before a letter inside a longer text`,
          {
            expected: `"\${name}" for a parameter, "$$" for a dollar sign`,
          },
        );
        unknown = true;
        return match;
      }
      params.add(name);
      const found = this.#look(name, scalar);
      if (found === undefined || length > MAX_TEXT_CHARS) {
        unknown = true;
        return match;
      }
      if (found === null || typeof found === "object") {
        this.#faults.add(
          "bad_param",
          scalar.at,
          `parameter "${name}" is ${describeValue(found)}, which cannot be part of a text`,
          {
            expected: "text, a number, true or false",
          },
        );
        unknown = true;
        return match;
      }
      length += String(found).length;
      return String(found);
    });
    this.#charsLeft -= length;
    if (length > MAX_TEXT_CHARS || this.#charsLeft < 0) {
      this.#faults.add("yaml_too_complex", scalar.at, "the text is too long with its parameters put in", {
        expected: `at most ${MAX_TEXT_CHARS} characters`,
      });
      unknown = true;
    }
    return { value: unknown ? text : value, unknown, params: [...params] };
  }

  #look(name: string, scalar: LocatedScalar): Json | undefined {
    const { values, unknown } = this.#params;
    if (Object.hasOwn(values, name)) return values[name];
    if (unknown.has(name)) return undefined;
    const known = [...Object.keys(values), ...unknown];
    this.#faults.add("unknown_param", scalar.at, `no parameter "${name}" is declared`, {
      expected: known.length === 0 ? `\`params: { ${name}: { … } }\` in the graph` : known.join(", "),
      suggestion: suggest(name, known),
    });
    return undefined;
  }
}
