/** The parts of the OpenAPI document that the page uses. */
export interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
  }[];
  /** Names of schemes, each with the scopes that a key needs. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Answer {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
}

export interface OpenApi {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** With the names of its schemas, if they have any. */
export function writeOneLine({ description, content = {} }: Answer): string {
  const names = Object.values(content).flatMap(({ schema }) => schema?.$ref?.split("/").at(-1) ?? []);
  const schemas = [...new Set(names)].filter((name) => name !== "Problem").map((name) => `\`${name}\``);
  return schemas.length === 0 ? description : `${description} ${schemas.join(" or ")}`;
}
