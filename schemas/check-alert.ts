/** Whether a configuration suits its type of alert: the service, the command line and the element `alerts` all ask here. */
import { Ajv2020, type AnySchema, type ValidateFunction } from "ajv/dist/2020.js";
import {
  type AlertConfiguration,
  type AlertTypeDefinition,
  CONFIGURATION_FIELDS,
  type ConfigurationFault,
} from "./alerts.ts";
import { describeFaults, listChoices } from "./describe-fault.ts";
import { OWN_SCHEMAS } from "./own-schemas.ts";
import { didYouMean } from "./suggest.ts";

export type CheckedConfiguration =
  /** With the defaults of whatever was left out. */
  | { readonly configuration: Required<AlertConfiguration>; readonly faults?: never }
  | { readonly configuration?: never; readonly faults: readonly ConfigurationFault[] };

const ajv = new Ajv2020({ ...OWN_SCHEMAS, allErrors: true, verbose: true, logger: false, useDefaults: true });
const compiled = new WeakMap<AlertTypeDefinition, ValidateFunction>();

/** By the schemas, and then by what those cannot say. With `classNames`, others than these are refused too. */
export function checkConfiguration(
  type: AlertTypeDefinition,
  given: AlertConfiguration,
  classNames: readonly string[] | null = null,
): CheckedConfiguration {
  const configuration = structuredClone(given) as Required<AlertConfiguration>;
  const validate = validatorOf(type);
  if (!validate(configuration)) return { faults: describeFaults(validate.errors ?? []) };
  const faults = [...type.check(configuration), ...checkClassNames(configuration, classNames)];
  return faults.length > 0 ? { faults } : { configuration };
}

/** The type of that name, or why there is none. */
export function findAlertType<T extends AlertTypeDefinition>(types: readonly T[], name: string): T | string {
  const names = types.map((type) => type.name);
  return (
    types.find((type) => type.name === name) ??
    `"${name.slice(0, 60)}" is no type of alert; expected ${listChoices(names)}${didYouMean(name, names)}`
  );
}

function validatorOf(type: AlertTypeDefinition): ValidateFunction {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const properties = Object.fromEntries(
    CONFIGURATION_FIELDS.map((field) => [field, { ...type.schemas[field], default: {} }]),
  );
  const validate = ajv.compile({ type: "object", properties, additionalProperties: false } as AnySchema);
  compiled.set(type, validate);
  return validate;
}

function checkClassNames(
  { filter }: Required<AlertConfiguration>,
  known: readonly string[] | null,
): readonly ConfigurationFault[] {
  const wanted = filter.class_names;
  if (known === null || !Array.isArray(wanted)) return [];
  return wanted.flatMap((name: unknown, index) => {
    if (typeof name !== "string" || known.includes(name)) return [];
    const message = `"${name}" is no class of an installed model; expected ${listChoices(known)}${didYouMean(name, known)}`;
    return [{ path: `/filter/class_names/${index}`, message }];
  });
}
