/** A collection of all requests, with their examples: Postman v2.1, which Bruno and Insomnia import as well. */
import {
  findAnswer,
  listByTag,
  type OpenApi,
  type Operation,
  type Parameter,
  type PlacedOperation,
} from "./open-api.ts";

const FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
const JSON_HEADER = { key: "Content-Type", value: "application/json" };

export function writeCollection(document: OpenApi): string {
  const collection = {
    info: { name: "Windhover", description: document.info.description, version: document.info.version, schema: FORMAT },
    variable: [
      { key: "url", value: "http://127.0.0.1:8080" },
      { key: "api_key", value: "" },
    ],
    auth: {
      type: "apikey",
      apikey: [
        { key: "key", value: "api_key", type: "string" },
        { key: "value", value: "{{api_key}}", type: "string" },
        { key: "in", value: "header", type: "string" },
      ],
    },
    item: listByTag(document).map(({ name, description, operations }) => ({
      ...{ name, description },
      item: operations.map(describeItem),
    })),
  };
  return `${JSON.stringify(collection, null, 1)}\n`;
}

function describeItem(placed: PlacedOperation): object {
  const { method, operation } = placed;
  const request = {
    method,
    ...(operation.security.length === 0 && { auth: { type: "noauth" } }),
    header: describeHeader(operation),
    url: describeUrl(placed),
    ...describeBody(operation),
    description: [operation.summary, operation.description ?? ""].join("\n\n").trim(),
  };
  return { name: `${method} ${placed.path}`, request, response: describeAnswer(operation, request) };
}

const typeOf = ({ requestBody }: Operation): string | undefined => Object.keys(requestBody?.content ?? {})[0];

function describeHeader(operation: Operation): readonly object[] {
  const type = typeOf(operation);
  if (type === undefined || type === "multipart/form-data") return [];
  return [type === "application/json" ? JSON_HEADER : { key: "Content-Type", value: type }];
}

/** `{process_uuid}` is `:process_uuid`, with a value. */
function describeUrl({ path, operation: { parameters = [] } }: PlacedOperation): object {
  const toPair = ({ name = "", example, description, required }: Parameter) => ({
    ...{ key: name, value: example === undefined ? "" : String(example) },
    ...(description !== undefined && { description }),
    ...(example === undefined && required !== true && { disabled: true }),
  });
  const inPath = parameters.filter((parameter) => parameter.in === "path").map(toPair);
  const query = parameters.filter((parameter) => parameter.in === "query").map(toPair);
  const sent = query.filter((pair) => !("disabled" in pair)).map(({ key, value }) => `${key}=${value}`);
  const segments = path.slice(1).replaceAll(/\{(\w+)\}/g, ":$1");
  return {
    raw: `{{url}}/${segments}${sent.length === 0 ? "" : `?${sent.join("&")}`}`,
    ...{ host: ["{{url}}"], path: segments.split("/") },
    ...(query.length > 0 && { query }),
    ...(inPath.length > 0 && { variable: inPath.map(({ key, value }) => ({ key, value })) }),
  };
}

function describeBody(operation: Operation): object {
  const type = typeOf(operation);
  if (type === undefined) return {};
  const { schema, example = {} } = operation.requestBody?.content[type] ?? {};
  if (type !== "multipart/form-data") {
    const raw = typeof example === "string" ? example : JSON.stringify(example, null, 2);
    const language = type === "application/json" ? "json" : "text";
    return { body: { mode: "raw", raw, options: { raw: { language } } } };
  }
  const isFile = (name: string) => name === "file" || name === "card" || name === "telemetry";
  const parts = Object.entries(example as Readonly<Record<string, string>>).map(([key, value]) =>
    isFile(key) ? { key, type: "file", src: value } : { key, type: "text", value },
  );
  return { body: { mode: "formdata", formdata: schema === undefined ? [] : parts } };
}

function describeAnswer(operation: Operation, originalRequest: object): readonly object[] {
  const [status, answer] = findAnswer(operation) ?? [];
  if (status === undefined || answer === undefined) return [];
  const [type, media] = Object.entries(answer.content ?? {}).find(([, { example }]) => example !== undefined) ?? [];
  if (type === undefined) return [];
  const { example } = media ?? {};
  const body = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  const header = [{ key: "Content-Type", value: type }];
  return [{ name: answer.description, originalRequest, code: Number(status), header, body }];
}
