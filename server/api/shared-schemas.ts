/** Schemas that several parts of a document have in common. Pure. */

/** Schemas with such a title are written once, in `components`, and referenced. */
const TITLE = /^[A-Z][A-Za-z0-9]*$/;

const CLOSED = "additionalProperties";

type Schema = { readonly [key: string]: unknown };

export class SharedSchemas {
  readonly #known = new Map<string, { readonly text: string; readonly schema: unknown }>();
  /** Many endpoints have the same schemas, and all of them that of errors. */
  readonly #referred = new Map<object, unknown>();

  /** A copy as plain JSON, with references to shared schemas. */
  refer(schema: object): unknown {
    const found = this.#referred.get(schema);
    if (found !== undefined) return found;
    const copy = this.#visit(JSON.parse(JSON.stringify(schema)));
    this.#referred.set(schema, copy);
    return copy;
  }

  /** By title, in alphabetical order. */
  list(): Readonly<Record<string, unknown>> {
    const entries = [...this.#known].map(([title, { schema }]) => [title, schema] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #visit(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#visit(item));
    if (typeof value !== "object" || value === null) return value;
    const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#visitKey(key, item)]));
    return this.#share(excuseDefaults(inner));
  }

  /** Data, as opposed to schemas, stays unchanged. */
  #visitKey(key: string, value: unknown): unknown {
    return ["default", "examples", "enum", "const", "required"].includes(key) ? value : this.#visit(value);
  }

  /**
   * Of two different schemas with the same title, the second is written inline. What is open in an answer and closed in a
   * request is one schema, and is written open.
   */
  #share(schema: Schema): Schema {
    const { title } = schema;
    if (typeof title !== "string" || !TITLE.test(title)) return schema;
    const text = JSON.stringify(schema, (key, value) => (key === CLOSED && value === false ? undefined : value));
    const known = this.#known.get(title);
    if (known === undefined || (known.text === text && !(CLOSED in schema))) this.#known.set(title, { text, schema });
    return known === undefined || known.text === text ? { $ref: `#/components/schemas/${title}` } : schema;
  }
}

/** Properties with a default are not required. */
function excuseDefaults(schema: Schema): Schema {
  const { properties, required } = schema as { properties?: Readonly<Record<string, object>>; required?: unknown };
  if (properties === undefined || !Array.isArray(required)) return schema;
  const withoutDefault = required.filter((name) => !("default" in (properties[name] ?? {})));
  return { ...schema, required: withoutDefault };
}
