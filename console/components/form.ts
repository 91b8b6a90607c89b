/** Forms: submission, selects, and fields generated from a JSON Schema. */
import { useState } from "preact/hooks";
import type { ApiError } from "../../client/client.ts";
import { html } from "../html.ts";
import { toApiError } from "../poller.ts";
import { navigateFrom, route } from "../router.ts";

/** `action` throws an error whose message is shown to the user. The `navigate` it gets does nothing once the user has left the page. */
export function useSubmit(action: (form: FormData, navigate: (address: string) => void) => Promise<void>) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const { value: here } = route;
    try {
      await action(new FormData(event.currentTarget as HTMLFormElement), (address) => navigateFrom(here, address));
    } catch (thrown) {
      setError(toApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, submit, clearError: () => setError(null) };
}

interface SelectProps {
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly class?: string;
  readonly name?: string;
  /** Controlled by the caller. */
  readonly value?: string;
  /** Selected at first, then by the user alone. */
  readonly selected?: string | undefined;
  onChange?(value: string): void;
}

export const Select = ({ label, options, class: className, selected, onChange, ...rest }: SelectProps) => html`
  <label class=${className}>${label}
    <select ...${rest} onChange=${({ currentTarget }: Event) => onChange?.((currentTarget as HTMLSelectElement).value)}>
      ${options.map(([value, text]) => html`<option value=${value} selected=${value === selected}>${text}</option>`)}
    </select>
  </label>
`;

export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

type Kind = "choice" | "flag" | "number" | "list" | "text" | "json";

const typesOf = ({ type, anyOf, const: only }: FieldSchema): readonly string[] => {
  if (anyOf !== undefined) return anyOf.flatMap(typesOf);
  if (only !== undefined) return ["string"];
  return type === undefined ? [] : typeof type === "string" ? [type] : type;
};

function kindOf(schema: FieldSchema): Kind {
  if (schema.enum !== undefined) return "choice";
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length === 1 && types[0] === "boolean") return "flag";
  if (types.length === 1 && types[0] === "array") return schema.items?.type === "string" ? "list" : "json";
  if (types.every((type) => type === "number" || type === "integer") && types.length > 0) return "number";
  return types.includes("object") || types.includes("array") ? "json" : "text";
}

const format = (value: unknown): string =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);

/** Text between backticks as code. */
export const formatCode = (text: string) =>
  text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

interface FieldProps {
  /** The form entry is `param:<name>`. */
  readonly name: string;
  readonly schema: FieldSchema;
  readonly value?: unknown;
  readonly label?: string;
}

export const SchemaField = ({ name, schema, value, label = name }: FieldProps) => {
  const kind = kindOf(schema);
  const id = `param-${name}`;
  const { description } = schema;
  const help = description !== undefined && html`<p class="hint" id=${`${id}-help`}>${formatCode(description)}</p>`;
  const described = { name: `param:${name}`, id, ...(help && { "aria-describedby": `${id}-help` }) };
  const current = value ?? schema.default;
  if (kind === "flag")
    return html`<div><label class="check"><input type="checkbox" ...${described} defaultChecked=${current === true} /> ${label}</label>${help}</div>`;
  if (kind === "choice") {
    const options = schema.enum?.map((one) => [JSON.stringify(one), format(one) || "none"]);
    return html`<div><${Select} label=${label} ...${described} options=${options} selected=${JSON.stringify(current)} />${help}</div>`;
  }
  const limits = kind === "number" ? { type: "number", step: "any", min: schema.minimum, max: schema.maximum } : {};
  const initial =
    value === undefined || value === null
      ? {}
      : { defaultValue: kind === "json" ? JSON.stringify(value) : format(value) };
  return html`<div><label>${label}<input ...${described} ...${limits} ...${initial} placeholder=${format(schema.default) || "default"} /></label>${help}</div>`;
};

/** The values that differ from the defaults. Empty fields are left out. Throws if a field is not valid JSON. */
export function readFields(
  form: FormData,
  schemas: Readonly<Record<string, FieldSchema>>,
): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(schemas)) {
    const value = readField(name, schema, form.get(`param:${name}`));
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(schema.default)) values[name] = value;
  }
  return values;
}

function readField(name: string, schema: FieldSchema, entry: FormDataEntryValue | null): unknown {
  const kind = kindOf(schema);
  if (kind === "flag") return entry !== null;
  const text = String(entry ?? "").trim();
  if (text === "") return undefined;
  if (kind === "number") return Number(text);
  if (kind === "list")
    return text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  if (kind === "text") {
    const takesNumber = typesOf(schema).some((type) => type === "number" || type === "integer");
    return takesNumber && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  try {
    // A choice is JSON, too.
    return JSON.parse(text);
  } catch {
    throw new Error(`${name}: expected JSON, received ${text}`);
  }
}
