/** `/llms.txt`: the API in one page of Markdown, for programs that read text (llmstxt.org). Pure. */

interface ListedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly deprecated?: boolean;
}

/** The parts of the OpenAPI document that it has. */
export interface ListedApi {
  readonly info: { readonly title: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ListedOperation>>>>;
}

/** Links are relative to the service. */
export function writeOverview({ info, tags, paths }: ListedApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, name: `${method.toUpperCase()} ${path}` })),
  );
  const [about = "", ...paragraphs] = info.description
    .replace("[this page](docs/errors)", "`/docs/errors`")
    .split("\n\n");
  return [
    `# ${info.title}`,
    `> ${about}`,
    ...paragraphs,
    "## Documents",
    [
      "- [OpenAPI 3.1](/openapi.json): every operation with its schemas and an example that was recorded from a real service",
      "- [AsyncAPI 3.0](/asyncapi.json): messages of websockets, server-sent events, webhooks and MQTT topics",
      "- [Interactive page](/docs): the operations, to be tried with a key",
      "- [Errors](/docs/errors): all error codes",
    ].join("\n"),
    ...tags.flatMap(({ name, description }) => [
      `## ${name}`,
      description,
      operations
        .filter((operation) => operation.tags.includes(name) && operation.deprecated !== true)
        .map(({ name: heading, summary, operationId }) => {
          return `- [${heading}](/docs#/${encodeURIComponent(name)}/${operationId}): ${summary}`;
        })
        .join("\n"),
    ]),
  ]
    .join("\n\n")
    .concat("\n");
}
