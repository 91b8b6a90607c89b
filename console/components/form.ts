/** Forms: submission, fields with what the service says about them, and fields generated from a JSON Schema. */
import { createContext } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import type { ApiError } from "../../client/client.ts";
import { html, type Markup } from "../html.ts";
import { toApiError } from "../poller.ts";
import { navigateFrom, route } from "../router.ts";
import { toSentence } from "./format.ts";

/** `action` throws an error whose message is shown to the user. The `navigate` it gets does nothing once the user has left the page. */
export function useSubmit(action: (form: FormData, navigate: (address: string) => void) => Promise<void>) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const { value: here } = route;
    const form = event.currentTarget as HTMLFormElement;
    try {
      await action(new FormData(form), (address) => navigateFrom(here, address));
    } catch (thrown) {
      setError(toApiError(thrown));
      // The faults are on the page after the next render.
      requestAnimationFrame(() => showFirstFault(form));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, submit, clearError: () => setError(null) };
}

type Fault = ApiError["errors"][number];

/** What the service has found in the last submission of the form around a field. */
export const Faults = createContext<readonly Fault[]>([]);

/** With which a fault continues the name of its field. */
const PREDICATES = ["is ", "has ", "cannot ", "names "];

/**
 * The fault of the field with this JSON pointer, or of something in it, such as `Before (s) is 70; expected a number from 0
 * to 60`: attributes for the field, and the text below it. `hint`: id of another text that describes the field.
 */
export function useFault(
  path: string | undefined,
  label: Markup,
  hint: string | null,
): { attributes: object; text: Markup } {
  const id = useId();
  const faults = useContext(Faults);
  const fault = path === undefined ? undefined : faults.find((one) => `${one.path}/`.startsWith(`${path}/`));
  if (fault === undefined) return { attributes: hint === null ? {} : { "aria-describedby": hint }, text: null };
  const isNamed = typeof label === "string" && PREDICATES.some((word) => fault.message.startsWith(word));
  return {
    attributes: { "aria-invalid": true, "aria-describedby": hint === null ? id : `${id} ${hint}` },
    text: html`<p class="fault" id=${id}>${toSentence(isNamed ? `${label} ${fault.message}` : fault.message)}</p>`,
  };
}

function showFirstFault(form: HTMLFormElement): void {
  const field = form.querySelector<HTMLElement>('[aria-invalid="true"]');
  for (let part = field?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
  field?.focus();
}

interface InputProps {
  readonly label: Markup;
  /** JSON pointer of its value in the request. */
  readonly path?: string;
  readonly hint?: Markup;
  /** A text of several lines. */
  readonly rows?: number;
  readonly class?: string;
  readonly onValue?: (value: string) => void;
  /** Further attributes of the element. */
  readonly [attribute: string]: unknown;
}

export function Input({ label, path, hint, class: className, onValue, ...rest }: InputProps) {
  const id = useId();
  const { attributes, text } = useFault(path, label, hint ? id : null);
  const onInput = ({ currentTarget }: Event) => onValue?.((currentTarget as HTMLInputElement).value);
  return html`
    <div class=${className}>
      <label>${label}
        <${rest.rows === undefined ? "input" : "textarea"} ...${rest} ...${attributes} onInput=${onInput} />
      </label>
      ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
      ${text}
    </div>
  `;
}

interface SelectProps {
  readonly label: Markup;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly class?: string;
  readonly name?: string;
  /** JSON pointer of its value in the request. */
  readonly path?: string;
  /** Controlled by the caller. */
  readonly value?: string;
  /** Selected at first, then by the user alone. */
  readonly selected?: string | undefined;
  onChange?(value: string): void;
}

export function Select({ label, options, class: className, selected, path, onChange, ...rest }: SelectProps) {
  const { attributes, text } = useFault(path, label, null);
  return html`
    <label class=${className}>${label}
      <select ...${rest} ...${attributes} onChange=${({ currentTarget }: Event) => onChange?.((currentTarget as HTMLSelectElement).value)}>
        ${options.map(([value, name]) => html`<option value=${value} selected=${value === selected}>${name}</option>`)}
      </select>
    </label>
    ${text}
  `;
}

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
  /** JSON pointer of its value in the request. */
  readonly path?: string;
}

export const SchemaField = ({ name, schema, value, label = name, path }: FieldProps) => {
  const kind = kindOf(schema);
  const id = `param-${name}`;
  const { description } = schema;
  const fault = useFault(path, label, description === undefined ? null : `${id}-help`);
  const help = description !== undefined && html`<p class="hint" id=${`${id}-help`}>${formatCode(description)}</p>`;
  const described = { name: `param:${name}`, id, ...fault.attributes };
  const current = value ?? schema.default;
  if (kind === "flag")
    return html`<div><label class="check"><input type="checkbox" ...${described} defaultChecked=${current === true} /> ${label}</label>${help}${fault.text}</div>`;
  if (kind === "choice") {
    const options = schema.enum?.map((one) => [JSON.stringify(one), format(one) || "none"]);
    return html`<div><${Select} label=${label} ...${described} options=${options} selected=${JSON.stringify(current)} />${help}${fault.text}</div>`;
  }
  const limits = kind === "number" ? { type: "number", step: "any", min: schema.minimum, max: schema.maximum } : {};
  const initial =
    value === undefined || value === null
      ? {}
      : { defaultValue: kind === "json" ? JSON.stringify(value) : format(value) };
  return html`<div><label>${label}<input ...${described} ...${limits} ...${initial} placeholder=${format(schema.default) || "default"} /></label>${help}${fault.text}</div>`;
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
