/** Schemas with a title are written once in the document, below `components`, and referred to. */
const TITLE = /^[A-Z][A-Za-z0-9]*$/;

type Schema = { readonly [key: string]: unknown };

export class SharedSchemas {
  readonly #known = new Map<string, { readonly text: string; readonly schema: unknown }>();

  /** A copy as plain JSON, with references in the place of what is shared. */
  refer(schema: object): unknown {
    return this.#visit(JSON.parse(JSON.stringify(schema)));
  }

  /** All of them by title, in the order of the alphabet. */
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

  /** What is data and not a schema stays as it is. */
  #visitKey(key: string, value: unknown): unknown {
    return ["default", "examples", "enum", "const", "required"].includes(key) ? value : this.#visit(value);
  }

  /** Two that have one title and differ: the second stays where it is. */
  #share(schema: Schema): Schema {
    const { title } = schema;
    if (typeof title !== "string" || !TITLE.test(title)) return schema;
    const text = JSON.stringify(schema);
    const known = this.#known.get(title);
    if (known === undefined) this.#known.set(title, { text, schema });
    return known === undefined || known.text === text ? { $ref: `#/components/schemas/${title}` } : schema;
  }
}

/** What has a default need not be sent. */
function excuseDefaults(schema: Schema): Schema {
  const { properties, required } = schema as { properties?: Readonly<Record<string, object>>; required?: unknown };
  if (properties === undefined || !Array.isArray(required)) return schema;
  const needed = required.filter((name) => !("default" in (properties[name] ?? {})));
  return { ...schema, required: needed };
}
