/** Validates the configuration of an alert, for the service, the command line and the element `alerts`. */
import {
  type AlertConfiguration,
  type AlertTypeDefinition,
  CONFIGURATION_FIELDS,
  type ConfigurationFault,
} from "./alerts.ts";
import { type Check, Checks, listChoices } from "./bounded-check.ts";
import { didYouMean } from "./suggest.ts";

type CheckedConfiguration =
  /** With defaults filled in. */
  | { readonly configuration: Required<AlertConfiguration>; readonly faults?: never }
  | { readonly configuration?: never; readonly faults: readonly ConfigurationFault[] };

const checks = new Checks({ useDefaults: true });
const compiled = new WeakMap<AlertTypeDefinition, Check>();
/** Maximum number of unknown classes to report. */
const MOST_CLASS_FAULTS = 20;

/** By the schemas, then by the rules of the type. With `classNames`, other classes are rejected too. */
export function checkConfiguration(
  type: AlertTypeDefinition,
  given: AlertConfiguration,
  classNames: readonly string[] | null = null,
): CheckedConfiguration {
  const configuration = structuredClone(given) as Required<AlertConfiguration>;
  const misfits = checkOf(type)(configuration);
  if (misfits.length > 0) return { faults: misfits };
  const faults = [...type.check(configuration), ...checkClassNames(configuration, classNames)];
  return faults.length > 0 ? { faults } : { configuration };
}

/** The type of that name, or an error text. */
export function findAlertType<T extends AlertTypeDefinition>(types: readonly T[], name: string): T | string {
  const names = types.map((type) => type.name);
  return (
    types.find((type) => type.name === name) ??
    `"${name.slice(0, 60)}" is not an alert type; expected ${listChoices(names)}${didYouMean(name, names)}`
  );
}

function checkOf(type: AlertTypeDefinition): Check {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const properties = Object.fromEntries(
    CONFIGURATION_FIELDS.map((field) => [field, { ...type.schemas[field], default: {} }]),
  );
  const check = checks.by({ type: "object", properties, additionalProperties: false });
  compiled.set(type, check);
  return check;
}

function checkClassNames(
  { filter }: Required<AlertConfiguration>,
  known: readonly string[] | null,
): readonly ConfigurationFault[] {
  const wanted = filter.class_names;
  if (known === null || !Array.isArray(wanted)) return [];
  const names = new Set(known);
  const unknown: { readonly name: string; readonly index: number }[] = [];
  for (const [index, name] of wanted.entries()) {
    if (typeof name === "string" && !names.has(name)) unknown.push({ name, index });
    if (unknown.length === MOST_CLASS_FAULTS) break;
  }
  return unknown.map(({ name, index }) => {
    const message = `"${name}" is not a class of an installed model; expected ${listChoices(known)}${didYouMean(name, known)}`;
    return { path: `/filter/class_names/${index}`, message };
  });
}
