/** Configurations of alerts: checked by their type, with defaults filled in. */
import { type AlertConfiguration, type AlertTypeDefinition, CONFIGURATION_FIELDS } from "../../schemas/alerts.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type InputFault, ServiceError } from "../service-error.ts";

export type WholeConfiguration = Required<AlertConfiguration>;
export type GivenParts = { readonly [field in (typeof CONFIGURATION_FIELDS)[number]]?: unknown };

export type ReadConfiguration =
  | { readonly configuration: WholeConfiguration; readonly faults: readonly [] }
  | { readonly configuration: null; readonly faults: readonly InputFault[] };

/** Names in a message at most. */
const MOST_NAMES = 200;
const MOST_FAULTS = 100;

export class AlertTypes {
  readonly all: readonly AlertTypeDefinition[];
  readonly #classNames: () => Promise<readonly string[]>;

  constructor(types: readonly AlertTypeDefinition[], classNames: () => Promise<readonly string[]>) {
    this.all = types;
    this.#classNames = classNames;
  }

  /** Throws `invalid_input` for a name that is none. */
  expect(name: string, path: string): AlertTypeDefinition {
    const type = findAlertType(this.all, name);
    if (typeof type !== "string") return type;
    throw new ServiceError("invalid_input", { detail: `${path}: ${type}`, errors: [{ path, message: type }] });
  }

  /**
   * The parts that are given in place of those before; what is left out of a new one takes its defaults. Classes are looked
   * at only where they are given: a model may have been removed since.
   */
  async read(
    type: AlertTypeDefinition,
    given: GivenParts,
    before: WholeConfiguration | null,
  ): Promise<ReadConfiguration> {
    const sent = CONFIGURATION_FIELDS.filter((field) => given[field] !== undefined);
    const whole = { ...before, ...Object.fromEntries(sent.map((field) => [field, given[field]])) };
    const checked = checkConfiguration(type, whole as AlertConfiguration);
    const faults = [...(checked.faults ?? []), ...(await this.#checkClasses(given.filter))];
    return checked.faults === undefined && faults.length === 0
      ? { configuration: checked.configuration, faults: [] }
      : { configuration: null, faults };
  }

  async #checkClasses(filter: unknown): Promise<readonly InputFault[]> {
    const { class_names: names } = (filter ?? {}) as { readonly class_names?: unknown };
    if (!Array.isArray(names)) return [];
    const known = await this.#classNames();
    if (known.length === 0) return [];
    const all = new Set(known);
    const list = [...all].sort().slice(0, MOST_NAMES).join(", ");
    const unknown = names.flatMap((name, index) =>
      typeof name !== "string" || all.has(name) ? [] : [{ name, path: `/filter/class_names/${index}` }],
    );
    return unknown.slice(0, MOST_FAULTS).map(({ name, path }, place) => {
      // All of them once, and not again with every other.
      const known = place === 0 ? `; known are ${list}` : "";
      const message = `is "${name.slice(0, 100)}", which no installed model knows${known}${didYouMean(name, all)}`;
      return { path, message };
    });
  }
}

/** How many values it holds, itself included. */
export function weigh(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let weight = 1;
  for (const inner of Object.values(value)) weight += weigh(inner);
  return weight;
}
