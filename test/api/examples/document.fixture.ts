/** The examples in the OpenAPI document. */
import type { ApiContract, Operation } from "../api-contract.ts";

type Media = { readonly schema?: object; readonly example?: unknown };

/** Operations without examples, and examples that do not fit their schemas. */
export function checkDocument(contract: ApiContract): readonly string[] {
  return contract.operations.flatMap((operation) => [
    ...checkParameters(contract, operation),
    ...checkBody(contract, operation),
    ...checkAnswers(contract, operation),
  ]);
}

function checkParameters(contract: ApiContract, { operationId, parameters = [] }: Operation): readonly string[] {
  return parameters.flatMap((parameter) => {
    const {
      name,
      in: where,
      required,
      schema,
      example,
    } = parameter as typeof parameter & { readonly example?: unknown };
    if (schema === undefined) return [];
    if (example === undefined) return where === "path" || required ? [`${operationId}: ${name} has no example`] : [];
    return contract.checkSchema(schema, example).map((text) => `${operationId} ${name}: ${text}`);
  });
}

function checkBody(contract: ApiContract, { operationId, requestBody }: Operation): readonly string[] {
  const found = Object.entries(requestBody?.content ?? {}) as [string, Media][];
  return found.flatMap(([type, { schema, example }]) => {
    if (example === undefined) return [`${operationId}: the body has no example`];
    // Files of forms are shown by their names.
    if (schema === undefined || type === "multipart/form-data") return [];
    return contract.checkSchema(schema, example).map((text) => `${operationId} body: ${text}`);
  });
}

function checkAnswers(contract: ApiContract, { operationId, responses }: Operation): readonly string[] {
  const shown = Object.values(responses).flatMap(({ content = {} }) => Object.entries(content) as [string, Media][]);
  const isJson = (type: string) => type === "application/json";
  const faults = shown
    .filter(([type, { example, schema }]) => isJson(type) && example !== undefined && schema !== undefined)
    .flatMap(([, { schema = {}, example }]) => contract.checkSchema(schema, example));
  const hasExample = shown.some(([, { example }]) => example !== undefined);
  const isMissing = shown.some(([type, { schema }]) => isJson(type) && schema !== undefined) && !hasExample;
  return [...faults, ...(isMissing ? ["no answer has an example"] : [])].map(
    (text) => `${operationId} answer: ${text}`,
  );
}
