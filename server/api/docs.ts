/** `/docs`: the OpenAPI document to read and try, from files of this machine; no other host is asked for anything. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Type } from "typebox";
import { ERRORS } from "../../schemas/errors.ts";
import { ServiceError } from "../service-error.ts";
import { acceptsGzip, compress } from "./answers.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { describeApi } from "./openapi.ts";

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12324a"/>
<path d="M3 10c5 0 8 2 11 5l2-4 2 4c3-3 6-5 11-5-3 2-6 5-8 9l-3 1-1 7-1 2-1-2-1-7-3-1c-2-4-5-7-8-9z" fill="#f2c14e"/></svg>`;

const page = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
${head}</head><body>${body}</body></html>
`;

const READER = page(
  "Windhover API",
  '<link rel="icon" href="docs/icon.svg"><link rel="stylesheet" href="docs/swagger-ui.css">\n',
  '<div id="reader"></div><script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script>',
);

/** The address is relative, so that it is right behind a proxy that adds a prefix. */
const START = `SwaggerUIBundle({
  url: "openapi.json", dom_id: "#reader", deepLinking: true, validatorUrl: null, docExpansion: "list",
  defaultModelsExpandDepth: 0, persistAuthorization: false,
});
`;

const ERROR_LIST = page(
  "Windhover API: errors",
  `<link rel="icon" href="icon.svg"><style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 52rem; padding: 0 1rem }
td:last-child { overflow-wrap: anywhere } code { overflow-wrap: anywhere }
td, th { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #ddd } tr:target { background: #fff3c4 }
</style>
`,
  `<h1>Errors</h1><p>Every answer that is an error has one of these as its <code>code</code>.</p>
<table><tr><th>Status</th><th>Code</th><th>Meaning</th></tr>
${Object.entries(ERRORS)
  .map(
    ([code, { status, title }]) =>
      `<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${title}</td></tr>`,
  )
  .join("\n")}
</table>`,
);

interface Asset {
  readonly type: string;
  readonly read: () => Promise<string>;
}

const fromPackage = (name: string, type: string): Asset => ({
  type,
  read: () => {
    const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return readFile(join(folder, name), "utf8");
  },
});
const fixed = (type: string, text: string): Asset => ({ type, read: async () => text });

const SCRIPT = "text/javascript; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const ASSETS: Readonly<Record<string, Asset>> = {
  "swagger-ui.css": fromPackage("swagger-ui.css", "text/css; charset=utf-8"),
  "swagger-ui-bundle.js": fromPackage("swagger-ui-bundle.js", SCRIPT),
  "start.js": fixed(SCRIPT, START),
  "icon.svg": fixed("image/svg+xml", ICON),
  errors: fixed(HTML, ERROR_LIST),
};

/** Read and packed once, when somebody looks. */
const packed = new Map<Asset, Promise<{ readonly text: string; readonly gzip: Buffer }>>();

async function pack(asset: Asset) {
  const text = await asset.read();
  return { text, gzip: await compress(text) };
}

async function send(asset: Asset, requestHeaders: Headers): Promise<Response> {
  const made = packed.get(asset) ?? pack(asset);
  packed.set(asset, made);
  made.catch(() => packed.delete(asset));
  const { text, gzip } = await made;
  const isPacked = acceptsGzip(requestHeaders.get("accept-encoding") ?? undefined);
  const headers = {
    "Content-Type": asset.type,
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "public, max-age=3600",
    Vary: "Accept-Encoding",
    ...(isPacked && { "Content-Encoding": "gzip" }),
  };
  return new Response(isPacked ? gzip : text, { headers });
}

const READER_ASSET = fixed(HTML, READER);

/** Not in the document themselves, but for `/docs`. */
export const docsFiles: readonly AnyEndpoint[] = [
  defineEndpoint({
    method: "GET",
    path: "/docs/{file}",
    tag: "Operations",
    id: "getDocsFile",
    summary: "A file of the page `/docs`.",
    access: "none",
    params: Type.Object({ file: Type.Union(Object.keys(ASSETS).map((name) => Type.Literal(name))) }),
    answers: { 200: { description: "The file.", mediaType: "*/*" } },
    errors: [],
    async handle({ params: { file }, headers }) {
      const asset = ASSETS[String(file)];
      if (asset === undefined) throw new ServiceError("path_not_found", { detail: "There is no such file." });
      return send(asset, headers);
    },
  }),
  defineEndpoint({
    method: "GET",
    path: "/",
    tag: "Operations",
    id: "getFront",
    summary: "Leads whoever opens the address of the service in a browser to `/docs`.",
    access: "none",
    answers: { 302: { description: "To `/docs`." } },
    errors: [],
    handle: () => new Response(null, { status: 302, headers: { Location: "console" } }),
  }),
  defineEndpoint({
    method: "GET",
    path: "/favicon.ico",
    tag: "Operations",
    id: "getIcon",
    summary: "What a browser shows beside the title.",
    access: "none",
    answers: { 200: { description: "The icon.", mediaType: "image/svg+xml" } },
    errors: [],
    handle: ({ headers }) => send(ASSETS["icon.svg"] as Asset, headers),
  }),
];

export const docsPage: AnyEndpoint = defineEndpoint({
  method: "GET",
  path: "/docs",
  tag: "Operations",
  id: "getDocs",
  summary: "This document, to read and to try.",
  access: "none",
  answers: { 200: { description: "A web page.", mediaType: "text/html" } },
  errors: [],
  handle: ({ headers, raw }) => {
    // What the page refers to is beside `/docs`, not below it.
    const isFolder = /^[^?]*\/(?:\?|$)/.test(raw.url ?? "");
    return isFolder
      ? new Response(null, { status: 308, headers: { Location: "../docs" } })
      : send(READER_ASSET, headers);
  },
});

/** The endpoints that describe the others, and themselves. */

export function documentEndpoints(endpoints: readonly AnyEndpoint[]): readonly AnyEndpoint[] {
  let made: Readonly<Record<string, unknown>> | undefined;
  const document = defineEndpoint({
    method: "GET",
    path: "/openapi.json",
    tag: "Operations",
    id: "getOpenApi",
    summary: "This document.",
    access: "none",
    answers: { 200: { description: "OpenAPI 3.1.", schema: Type.Object({ openapi: Type.String() }) } },
    errors: [],
    handle: () => {
      made ??= describeApi([...endpoints, document as AnyEndpoint, docsPage]);
      return { status: 200, body: made };
    },
  });
  return [document, docsPage, ...docsFiles];
}
