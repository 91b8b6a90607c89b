/** Trigger, parameters and filter of an alert: fields by the schemas of its type, and what was filled in. */
import type { AlertDescription } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { type ParamSchema, readParams, SchemaField } from "../../parts/schema-form.ts";

export const PARTS = ["trigger", "parameters", "filter"] as const;
type Part = (typeof PARTS)[number];
type Values = Readonly<Record<string, unknown>>;
export type Configured = Readonly<Partial<Record<Part, Values>>>;

const TITLES: Readonly<Record<Part, string>> = {
  trigger: "When it is told",
  parameters: "How it counts",
  filter: "What counts",
};

const fieldsOf = (description: AlertDescription, part: Part | "region"): Readonly<Record<string, ParamSchema>> =>
  (description.schemas[part].properties ?? {}) as Readonly<Record<string, ParamSchema>>;

export const takesLine = (description: AlertDescription): boolean => "line" in fieldsOf(description, "region");

const name = (field: string): string => {
  const words = field.replaceAll("_", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
};

/** `now`: of an alert that is there already. */
export const Conditions = ({ description, now = {} }: { description: AlertDescription; now?: Configured }) =>
  html`${PARTS.map((part) => {
    const fields = Object.entries(fieldsOf(description, part));
    if (fields.length === 0) return null;
    return html`<details key=${part} open=${part === "trigger"}><summary>${TITLES[part]}</summary><div class="stack">
      ${fields.map(([field, schema]) => html`<${SchemaField} key=${field} name=${`${part}.${field}`} label=${name(field)} schema=${schema} value=${now[part]?.[field]} />`)}
    </div></details>`;
  })}`;

/** The whole of every part that has fields. Throws a sentence for what cannot be read. */
export function readConditions(form: FormData, description: AlertDescription): Configured {
  return Object.fromEntries(
    PARTS.flatMap((part) => {
      const fields = Object.entries(fieldsOf(description, part));
      if (fields.length === 0) return [];
      const named = Object.fromEntries(fields.map(([field, schema]) => [`${part}.${field}`, schema]));
      const read = Object.entries(readParams(form, named)).map(([key, value]) => [key.slice(part.length + 1), value]);
      return [[part, Object.fromEntries(read)]];
    }),
  );
}

/** Those parts of `next` that say something else than `now` does. */
export const findChanges = (description: AlertDescription, now: Configured, next: Configured): Configured =>
  Object.fromEntries(
    PARTS.flatMap((part) => {
      const fields = fieldsOf(description, part);
      const spell = (values: Values = {}) =>
        JSON.stringify(Object.keys(fields).map((field) => settle(values[field] ?? fields[field]?.default)));
      return next[part] === undefined || spell(now[part]) === spell(next[part]) ? [] : [[part, next[part]]];
    }),
  );

/** An empty list says as much as none. */
const settle = (value: unknown): unknown => (Array.isArray(value) && value.length === 0 ? null : (value ?? null));
