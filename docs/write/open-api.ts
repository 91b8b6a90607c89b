/** The parts of the OpenAPI document that pages and collections use. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  /** Names of schemes, each with the scopes that a key needs. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface Parameter {
  /** Those of headers are references. */
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Answer {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  /** Conditions: fields that depend on another. */
  readonly allOf?: readonly { readonly then?: Schema }[];
  readonly default?: unknown;
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface PlacedOperation {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** In the order of the document, by tag. */
export function listByTag(document: OpenApi): readonly {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PlacedOperation[];
}[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return document.tags.map(({ name, description }) => ({
    ...{ name, description },
    operations: all.filter(({ operation }) => operation.tags.includes(name)),
  }));
}

/** `GET`: the answer of success, with its status and media type; null if there is none. */
export function findAnswer({ responses }: Operation): readonly [status: string, answer: Answer] | null {
  const entries = Object.entries(responses);
  const shown = ([, { content = {} }]: readonly [string, Answer]) =>
    Object.values(content).some(({ example }) => example !== undefined);
  return entries.find(shown) ?? entries.find(([status]) => /^[123]/.test(status)) ?? null;
}

/** Names of the components that a schema refers to, at any depth. */
export function listReferences(value: unknown): readonly string[] {
  const names = [...JSON.stringify(value ?? {}).matchAll(/"#\/components\/schemas\/(\w+)"/g)];
  return [...new Set(names.map(([, name = ""]) => name))];
}
