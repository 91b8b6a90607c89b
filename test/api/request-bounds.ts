/** What of a request has no bound by its schema: texts without a length, lists without a number of items. */
type Schema = Readonly<Record<string, unknown>>;

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

/** Bounded as a whole by `http.body_bytes`, and read by parsers of their own. */
const OTHER_BODIES = ["application/sdp", "application/yaml", "multipart/form-data"];
/** `*`, `+` and `{2,}`, which let a pattern match texts of any length; not within brackets. */
const ENDLESS = /(?<!\\)(?:[*+]|\{\d+,\})/;

export function findUnbounded(document: Document): readonly string[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const where = `${method} ${path}`;
      const bodies = Object.entries(requestBody?.content ?? {}).filter(([type]) => !OTHER_BODIES.includes(type));
      return [
        ...parameters.flatMap(({ name, schema }) => visit(document, schema, `${where}?${name}`, [])),
        ...bodies.flatMap(([, { schema }]) => visit(document, schema, where, [])),
      ];
    }),
  );
}

function visit(document: Document, schema: unknown, where: string, above: readonly string[]): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap((item) => visit(document, item, where, above));
  const { $ref: reference, ...rest } = schema as Schema;
  if (typeof reference === "string") {
    const target = reference.slice(2).split("/");
    const found = target.reduce<unknown>((at, key) => (at as Schema)[key], document);
    return above.includes(reference) ? [] : visit(document, found, where, [...above, reference]);
  }
  const inner = ["items", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else"];
  const named = Object.entries((rest.properties ?? {}) as Schema);
  return [
    ...judge(rest).map((fault) => `${where} ${fault}`),
    ...inner.flatMap((key) => visit(document, rest[key], where, above)),
    ...named.flatMap(([name, item]) => visit(document, item, `${where}/${name}`, above)),
  ];
}

function judge({ type, maxLength, maxItems, pattern, ...rest }: Schema): readonly string[] {
  const isChoice = "enum" in rest || "const" in rest;
  const isShort = typeof pattern === "string" && !ENDLESS.test(pattern.replaceAll(/\[[^\]]*\]/g, ""));
  if (type === "string" && maxLength === undefined && !isChoice && !isShort) return ["is text of any length"];
  return type === "array" && maxItems === undefined ? ["is a list of any length"] : [];
}
