/** All endpoints, from the OpenAPI document. */
import { code, made, table } from "./markdown.ts";
import { type OpenApi, type Operation, writeOneLine } from "./open-api.ts";

export function writeApi(document: OpenApi): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return [
    made("the OpenAPI document"),
    "# API",
    "A running service has the complete document, with all schemas, at `GET /openapi.json`, and an interactive version at `GET /docs`. `client/` is a typed client generated from it.",
    // Links of the document are relative to a running service.
    document.info.description.replace("[this page](docs/errors)", "`GET /docs/errors`"),
    ...document.tags.flatMap(({ name, description }) => [
      `## ${name}`,
      description,
      ...operations.filter(({ operation }) => operation.tags.includes(name)).map(writeOperation),
    ]),
  ].join("\n\n");
}

function writeOperation({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const { summary, description, parameters = [], responses, deprecated, security } = operation;
  const scope = security.flatMap((scheme) => Object.values(scheme).flat())[0];
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  return [
    `### ${method} ${path}`,
    [
      `${summary}${/[.!?]$/.test(summary) ? "" : "."}`,
      ...(deprecated === true ? ["Deprecated."] : []),
      description ?? "",
      ...(scope === undefined ? [] : [`Scope: ${code(scope)}.`]),
    ]
      .filter((text) => text !== "")
      .join(" ")
      .trim(),
    ...(inQuery.length === 0
      ? []
      : [
          table(
            ["Query parameter", "Required", "Description"],
            inQuery.map(({ name, required, description: about = "" }) => [
              code(name),
              required === true ? "yes" : "",
              about,
            ]),
          ),
        ]),
    table(
      ["Response", "Description"],
      Object.entries(responses)
        // The same for everything that can be read; described above.
        .filter(([status]) => status !== "304")
        .map(([status, answer]) => [status, writeOneLine(answer)]),
    ),
  ].join("\n\n");
}
