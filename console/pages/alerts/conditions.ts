/** Trigger, parameters and filter of an alert: their fields, and the values of a submitted form. */
import type { AlertDescription } from "../../../client/client.ts";
import { type FieldSchema, readFields, SchemaField } from "../../components/form.ts";
import { html } from "../../html.ts";

const SECTIONS = { trigger: "Trigger", parameters: "Parameters", filter: "Filter" } as const;
type Section = keyof typeof SECTIONS;
const SECTION_NAMES = Object.keys(SECTIONS) as readonly Section[];
type Values = Readonly<Record<string, unknown>>;
export type Configuration = Readonly<Partial<Record<Section, Values>>>;

const fieldsOf = (description: AlertDescription, section: Section | "region"): Readonly<Record<string, FieldSchema>> =>
  (description.schemas[section].properties ?? {}) as Readonly<Record<string, FieldSchema>>;

export const takesLine = (description: AlertDescription): boolean => "line" in fieldsOf(description, "region");

/** `cooldown_seconds` is "Cooldown (s)". */
function labelOf(field: string): string {
  if (field === "for_seconds") return "Duration (s)";
  const text = field
    .replace(/_seconds$/, " (s)")
    .replace(/_mps$/, " (m/s)")
    .replaceAll("_", " ");
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}

/** `current`: of an existing alert. */
export const Conditions = ({ description, current }: { description: AlertDescription; current: Configuration }) =>
  html`${SECTION_NAMES.map((section) => {
    const fields = Object.entries(fieldsOf(description, section));
    if (fields.length === 0) return null;
    return html`<details key=${section} open=${section === "trigger"}><summary>${SECTIONS[section]}</summary><div class="stack">
      ${fields.map(([field, schema]) => html`<${SchemaField} key=${field} name=${`${section}.${field}`} path=${`/${section}/${field}`} label=${labelOf(field)} schema=${schema} value=${current[section]?.[field]} />`)}
    </div></details>`;
  })}`;

/** Every section that has fields. Throws an error whose message is shown to the user. */
export function readConditions(form: FormData, description: AlertDescription): Configuration {
  return Object.fromEntries(
    SECTION_NAMES.flatMap((section) => {
      const fields = Object.entries(fieldsOf(description, section));
      if (fields.length === 0) return [];
      const named = Object.fromEntries(fields.map(([field, schema]) => [`${section}.${field}`, schema]));
      const values = Object.entries(readFields(form, named));
      return [[section, Object.fromEntries(values.map(([key, value]) => [key.slice(section.length + 1), value]))]];
    }),
  );
}

/** The sections of `next` that differ from `current`. */
export const findChanges = (
  description: AlertDescription,
  current: Configuration,
  next: Configuration,
): Configuration =>
  Object.fromEntries(
    SECTION_NAMES.flatMap((section) => {
      const fields = fieldsOf(description, section);
      const serialize = (values: Values = {}) =>
        JSON.stringify(Object.keys(fields).map((field) => normalize(values[field] ?? fields[field]?.default)));
      const isSame = next[section] === undefined || serialize(current[section]) === serialize(next[section]);
      return isSame ? [] : [[section, next[section]]];
    }),
  );

/** An empty list means the same as none. */
const normalize = (value: unknown): unknown => (Array.isArray(value) && value.length === 0 ? null : (value ?? null));
