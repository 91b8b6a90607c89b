/** Fields for the params of a graph, from their JSON Schema. What stays empty is left to the default. */
import { html } from "../html.ts";

export interface ParamSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly ParamSchema[];
  readonly items?: ParamSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

type Kind = "choice" | "flag" | "number" | "list" | "text" | "json";

const typesOf = ({ type, anyOf, const: only }: ParamSchema): readonly string[] => {
  if (anyOf !== undefined) return anyOf.flatMap(typesOf);
  if (only !== undefined) return ["string"];
  return type === undefined ? [] : typeof type === "string" ? [type] : type;
};

function kindOf(schema: ParamSchema): Kind {
  if (schema.enum !== undefined) return "choice";
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length === 1 && types[0] === "boolean") return "flag";
  if (types.length === 1 && types[0] === "array") return schema.items?.type === "string" ? "list" : "json";
  if (types.every((type) => type === "number" || type === "integer") && types.length > 0) return "number";
  return types.includes("object") || types.includes("array") ? "json" : "text";
}

const show = (value: unknown): string =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value);

interface FieldParts {
  /** In the form: `param:` and this. */
  readonly name: string;
  readonly schema: ParamSchema;
  /** What it is now; left out: nothing yet. */
  readonly value?: unknown;
  /** Left out: the name. */
  readonly label?: string;
}

/** What stands between backticks. */
export const showCode = (text: string) =>
  text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

export const SchemaField = ({ name, schema, value, label = name }: FieldParts) => {
  const kind = kindOf(schema);
  const id = `param-${name}`;
  const { description } = schema;
  const help = description !== undefined && html`<p class="hint" id=${`${id}-help`}>${showCode(description)}</p>`;
  const described = { name: `param:${name}`, id, ...(help && { "aria-describedby": `${id}-help` }) };
  const now = value ?? schema.default;
  if (kind === "flag")
    return html`<div><label class="check"><input type="checkbox" ...${described} defaultChecked=${now === true} /> ${label}</label>${help}</div>`;
  if (kind === "choice")
    return html`<div><label>${label}<select ...${described}>${(schema.enum ?? []).map(
      (one) => html`<option value=${JSON.stringify(one)} selected=${one === now}>${show(one) || "none"}</option>`,
    )}</select></label>${help}</div>`;
  const limits = kind === "number" ? { type: "number", step: "any", min: schema.minimum, max: schema.maximum } : {};
  const known =
    value === undefined || value === null
      ? {}
      : { defaultValue: kind === "json" ? JSON.stringify(value) : show(value) };
  return html`<div><label>${label}<input ...${described} ...${limits} ...${known} placeholder=${show(schema.default) || "default"} /></label>${help}</div>`;
};

/** What was filled in. Throws a sentence for what cannot be read. */
export function readParams(
  form: FormData,
  schemas: Readonly<Record<string, ParamSchema>>,
): Readonly<Record<string, unknown>> {
  const params: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(schemas)) {
    const value = readParam(name, schema, form.get(`param:${name}`));
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(schema.default)) params[name] = value;
  }
  return params;
}

function readParam(name: string, schema: ParamSchema, entry: FormDataEntryValue | null): unknown {
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
    return JSON.parse(text);
  } catch {
    throw new Error(`${name}: ${text} is no JSON`);
  }
}
