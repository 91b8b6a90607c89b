/** The types of alerts, and configurations that are checked against their type. */
import { type AlertConfiguration, type AlertTypeDefinition, CONFIGURATION_FIELDS } from "../../schemas/alerts.ts";
import type { AlertDescription } from "../../schemas/api/alerts.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import { type InputFault, ServiceError } from "../service-error.ts";

export type CompleteConfiguration = Required<AlertConfiguration>;
type GivenConfiguration = { readonly [field in (typeof CONFIGURATION_FIELDS)[number]]?: unknown };

export class AlertTypes {
  readonly all: readonly AlertTypeDefinition[];
  readonly #classNames: () => Promise<readonly string[]>;

  constructor(types: readonly AlertTypeDefinition[], classNames: () => Promise<readonly string[]>) {
    this.all = types;
    this.#classNames = classNames;
  }

  /** Throws `invalid_input` for an unknown name. */
  expect(name: string, path: string): AlertTypeDefinition {
    const type = findAlertType(this.all, name);
    if (typeof type !== "string") return type;
    throw new ServiceError("invalid_input", { detail: `${path}: ${type}`, errors: [{ path, message: type }] });
  }

  /**
   * The given parts in place of those before, with defaults; not usable when there are faults. Class names are checked only
   * where they are given: a model may have been removed since.
   */
  async read(
    type: AlertTypeDefinition,
    given: GivenConfiguration,
    before: CompleteConfiguration | null,
  ): Promise<{ readonly configuration: CompleteConfiguration; readonly faults: readonly InputFault[] }> {
    const sent = CONFIGURATION_FIELDS.filter((field) => given[field] !== undefined);
    const merged = { ...before, ...Object.fromEntries(sent.map((field) => [field, given[field]])) };
    const known = given.filter === undefined ? [] : await this.#classNames();
    const checked = checkConfiguration(
      type,
      merged as AlertConfiguration,
      known.length === 0 ? null : [...known].sort(),
    );
    return { configuration: checked.configuration ?? (merged as CompleteConfiguration), faults: checked.faults ?? [] };
  }
}

/** The number of values that it holds, itself included. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((count: number, inner) => count + countValues(inner), 1);
}

export function describeType({ name, about, schemas, example }: AlertTypeDefinition): AlertDescription {
  const { trigger, region, filter, parameters } = schemas;
  // Plain JSON: TypeBox marks its schemas.
  const plain = JSON.parse(JSON.stringify({ trigger, region, filter, parameters })) as AlertDescription["schemas"];
  return { name, type: name, description: about, schemas: plain, example };
}
