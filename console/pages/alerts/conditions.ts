/** Trigger, parameters, filter and destination of an alert: their fields, and the values of a submitted form. */
import { useState } from "preact/hooks";
import type { AlertDescription, AlertOutput } from "../../../client/client.ts";
import { type FieldSchema, readFields, SchemaField, Select } from "../../components/form.ts";
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
      ${fields.map(([field, schema]) => html`<${SchemaField} key=${field} name=${`${section}.${field}`} label=${labelOf(field)} schema=${schema} value=${current[section]?.[field]} />`)}
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

export function Destination() {
  const [type, setType] = useState("console");
  const options = [
    ["console", "Show in the console only"],
    ["mqtt", "MQTT broker"],
    ["webhook", "Webhook"],
    ["email", "Mail"],
  ];
  return html`
    <${Select} label="Destination" name="output" value=${type} onChange=${setType} options=${options} />
    ${type === "console" && html`<p class="hint">Notices appear on the pages Alerts and Review. They are kept for review in any case.</p>`}
    ${type === "mqtt" && html`<label>Broker <input name="host" required placeholder="broker.example:1883" /></label><label>Topic <input name="topic" required placeholder="alerts/gate" /></label>`}
    ${type === "webhook" && html`<label>URL <input name="url" type="url" required placeholder="https://example.com/alerts" /></label>`}
    ${type === "email" && html`<label>Addresses <input name="to" type="email" multiple required placeholder="guard@example.com" /></label>`}
  `;
}

/** Empty: its notices are shown in the console only. */
export function readDestinations(form: FormData): AlertOutput[] {
  const text = (field: string) => String(form.get(field) ?? "").trim();
  if (text("output") === "console") return [];
  const configs: Readonly<Record<string, object>> = {
    mqtt: { host: text("host"), topic: text("topic") },
    webhook: { url: text("url") },
    email: {
      to: text("to")
        .split(",")
        .map((address) => address.trim()),
    },
  };
  return [{ type: text("output"), config: configs[text("output")] } as AlertOutput];
}
