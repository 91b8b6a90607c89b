/**
 * Pages for browsers and their files: the console, the players, and `/docs` with the OpenAPI document. All of them come
 * from this machine; only the map of the console loads images from the host of `map.tiles`.
 */
import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Type } from "typebox";
import { ERRORS } from "../../schemas/errors.ts";
import { PLAYER_CSP, PLAYER_FILES, type PlayerKind, renderPlayer } from "../media/player/player.ts";
import { ServiceError } from "../service-error.ts";
import { acceptsGzip, compress } from "./answers.ts";
import { describeMessages } from "./asyncapi.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";
import { describeApi } from "./openapi.ts";
import { type ListedApi, writeOverview } from "./overview.ts";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";
const SVG = "image/svg+xml";

/** Parameters of pages are read by their scripts; links in mails and chats may get further ones. */
const READ_BY_SCRIPTS = { acceptsAnyQuery: true };

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12324a"/>
<path d="M3 10c5 0 8 2 11 5l2-4 2 4c3-3 6-5 11-5-3 2-6 5-8 9l-3 1-1 7-1 2-1-2-1-7-3-1c-2-4-5-7-8-9z" fill="#f2c14e"/></svg>`;

interface Asset {
  readonly type: string;
  readonly read: () => Promise<string>;
}

const fixed = (type: string, text: string): Asset => ({ type, read: async () => text });

interface Compressed {
  readonly text: string;
  readonly gzip: Buffer;
}

/** One policy for all assets of a page. Assets are read and compressed once, on the first request. */
class AssetSender {
  readonly #csp: string;
  readonly #compressed = new Map<string, Promise<Compressed>>();

  constructor(csp: string) {
    this.#csp = csp;
  }

  /** @param name of the asset among those of this sender */
  async send(name: string, asset: Asset, requestHeaders: IncomingHttpHeaders, cacheControl: string): Promise<Response> {
    const compressed = this.#compressed.get(name) ?? load(asset);
    this.#compressed.set(name, compressed);
    compressed.catch(() => this.#compressed.delete(name));
    return this.#answer(await compressed, asset.type, requestHeaders, cacheControl);
  }

  /** For text that may change. */
  async sendText(text: string, requestHeaders: IncomingHttpHeaders): Promise<Response> {
    return this.#answer(await load(fixed(HTML, text)), HTML, requestHeaders, "no-cache");
  }

  #answer(
    { text, gzip }: Compressed,
    type: string,
    requestHeaders: IncomingHttpHeaders,
    cacheControl: string,
  ): Response {
    const isGzip = acceptsGzip(requestHeaders["accept-encoding"]);
    const headers = {
      "Content-Type": type,
      "Content-Security-Policy": this.#csp,
      // The URL of a page may contain a token.
      "Referrer-Policy": "no-referrer",
      "Cache-Control": cacheControl,
      Vary: "Accept-Encoding",
      ...(isGzip && { "Content-Encoding": "gzip" }),
    };
    return new Response(isGzip ? gzip : text, { headers });
  }
}

async function load({ read }: Asset): Promise<Compressed> {
  const text = await read();
  return { text, gzip: await compress(text) };
}

const noSuchFile = (): ServiceError => new ServiceError("path_not_found", { detail: "The file does not exist." });
const DAY = "public, max-age=86400";
const HOUR = "public, max-age=3600";
const PAGE_ANSWERS = { 200: { description: "A web page.", mediaType: "text/html" } };
const FILE_ANSWERS = { 200: { description: "The file.", mediaType: "*/*" } };
const fileParams = (files: Readonly<Record<string, Asset>>) =>
  Type.Object({ file: Type.Union(Object.keys(files).map((name) => Type.Literal(name))) });

const define = defineEndpoints("Operations");

/** Images are `blob:` or `data:` URLs, video from Media Source Extensions is a `blob:` URL. */
const consoleCsp = (imageOrigins: readonly string[]): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src ${["'self' blob: data:", ...imageOrigins].join(" ")}; media-src 'self' blob:; connect-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'`;

/** File names of the bundle contain a hash of the content. */
const BUNDLED = /^[a-z]+-[A-Z0-9]{8}\.(css|js)(\.map)?$/;
const BUNDLED_TYPES: Readonly<Record<string, string>> = { css: STYLE, js: SCRIPT, map: "application/json" };

/**
 * @param folder where the setup has written the bundle
 * @param imageOrigins that the map loads its background from
 */
export function consoleEndpoints(
  folder: string,
  publicUrl: string | null,
  imageOrigins: readonly string[] = [],
): readonly AnyEndpoint[] {
  const sender = new AssetSender(consoleCsp(imageOrigins));
  const prefix = publicUrl === null ? "" : new URL(publicUrl).pathname.replace(/(?<!\/)\/+$/, "");
  const definePage = (path: string, id: string, names: readonly string[]) =>
    define("GET", path, id, {
      summary: "The operator's console",
      access: "none",
      params: Type.Object(Object.fromEntries(names.map((name) => [name, Type.String({ pattern: "^[^/]{1,200}$" })]))),
      ...READ_BY_SCRIPTS,
      answers: PAGE_ANSWERS,
      errors: ["console_not_built"],
      handle: async ({ headers }) =>
        sender.sendText(renderConsole(prefix, JSON.parse(await readBundled(folder, "entries.json"))), headers),
    });
  return [
    definePage("/console", "getConsole", []),
    definePage("/console/{page}", "getConsolePage", ["page"]),
    definePage("/console/{page}/{thing}", "getConsoleThing", ["page", "thing"]),
    definePage("/console/{page}/{thing}/{part}", "getConsolePart", ["page", "thing", "part"]),
    define("GET", "/console/assets/{file}", "getConsoleAsset", {
      summary: "A file of the operator's console",
      access: "none",
      params: Type.Object({ file: Type.String({ pattern: "^[A-Za-z0-9.-]{1,100}$" }) }),
      answers: FILE_ANSWERS,
      errors: ["console_not_built"],
      async handle({ params: { file }, headers }) {
        if (file === "icon.svg") return sender.send(file, fixed(SVG, ICON), headers, DAY);
        const type = BUNDLED_TYPES[file.slice(file.lastIndexOf(".") + 1)];
        if (!BUNDLED.test(file) || type === undefined) throw noSuchFile();
        const asset = { type, read: () => readBundled(folder, file) };
        return sender.send(file, asset, headers, "public, max-age=31536000, immutable");
      },
    }),
  ];
}

async function readBundled(folder: string, file: string): Promise<string> {
  try {
    return await readFile(join(folder, file), "utf8");
  } catch (cause) {
    if ((cause as { code?: string }).code === "ENOENT" && file !== "entries.json") throw noSuchFile();
    throw new ServiceError("console_not_built", {
      detail: "The console has not been built: stop the service and run `npm start`, which builds it.",
    });
  }
}

const renderConsole = (prefix: string, entries: Readonly<Record<string, string>>): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Windhover</title>
<base href="${prefix}/">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="console/assets/icon.svg">
<link rel="stylesheet" href="console/assets/${entries["console/style/style.css"]}">
<script type="module" src="console/assets/${entries["console/main.ts"]}"></script>
</head><body><noscript>The console needs JavaScript.</noscript></body></html>
`;

const defineMedia = defineEndpoints("Media server");
const playerSender = new AssetSender(PLAYER_CSP);
const PLAYED = { source: "media-server source", output: "rtsp output" } as const;
const PROTOCOLS = { hls: { id: "Hls", name: "HLS" }, webrtc: { id: "Webrtc", name: "WebRTC" } } as const;

const MAX_RIGHT_LENGTH = 1000;
const PlayerQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: MAX_RIGHT_LENGTH, description: "Of a signed URL." })),
  api_key: Type.Optional(Type.String({ maxLength: MAX_RIGHT_LENGTH, description: "A key with access to the stream." })),
});

/** Public: the page contains nothing of the stream, and does not reveal whether there is one. */
const definePlayer = (owner: "source" | "output", kind: PlayerKind): AnyEndpoint =>
  defineMedia(
    "GET",
    `/${owner}/{${owner}_uuid}/${kind}`,
    `get${owner === "source" ? "Source" : "Output"}${PROTOCOLS[kind].id}Page`,
    {
      summary: `A page that plays the ${PLAYED[owner]} by ${PROTOCOLS[kind].name}`,
      description:
        "The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied.",
      access: "none",
      ...READ_BY_SCRIPTS,
      query: PlayerQuery,
      answers: PAGE_ANSWERS,
      handle({ headers, raw }) {
        // Links in the page are relative to the URL without a trailing slash.
        const [isFolder, query = ""] = /^[^?]*\/(\?.*)?$/.exec(raw.url ?? "") ?? [];
        if (isFolder !== undefined)
          return new Response(null, { status: 308, headers: { Location: `../${kind}${query}` } });
        return playerSender.send(`page ${kind}`, fixed(HTML, renderPlayer(kind)), headers, "no-cache");
      },
    },
  );

export const playerEndpoints: readonly AnyEndpoint[] = [
  definePlayer("source", "hls"),
  definePlayer("source", "webrtc"),
  definePlayer("output", "hls"),
  definePlayer("output", "webrtc"),
  defineMedia("GET", "/player/{file}", "getPlayerFile", {
    summary: "A file of the player pages",
    access: "none",
    params: fileParams(PLAYER_FILES),
    answers: FILE_ANSWERS,
    async handle({ params: { file }, headers }) {
      const found = PLAYER_FILES[file];
      if (found === undefined) throw noSuchFile();
      return playerSender.send(file, found, headers, HOUR);
    },
  }),
];

const docsSender = new AssetSender(
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const renderDocs = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
${head}</head><body>${body}</body></html>
`;

const DOCS = renderDocs(
  "Windhover API",
  '<link rel="icon" href="docs/icon.svg"><link rel="stylesheet" href="docs/swagger-ui.css">\n',
  '<div id="reader"></div><script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script>',
);

/** The URL is relative, so that it works behind a proxy that adds a prefix. */
const DOCS_START = `SwaggerUIBundle({
  url: "openapi.json", dom_id: "#reader", deepLinking: true, validatorUrl: null, docExpansion: "list",
  defaultModelsExpandDepth: 0, persistAuthorization: false,
});
`;

const ERROR_LIST = renderDocs(
  "Windhover API: errors",
  `<link rel="icon" href="icon.svg"><style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 52rem; padding: 0 1rem }
td:last-child { overflow-wrap: anywhere } code { overflow-wrap: anywhere }
td, th { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #ddd } tr:target { background: #fff3c4 }
</style>
`,
  `<h1>Errors</h1><p>Every error answer has one of these as its <code>code</code>.</p>
<table><tr><th>Status</th><th>Code</th><th>Meaning</th></tr>
${Object.entries(ERRORS)
  .map(
    ([code, { status, title }]) =>
      `<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${title}</td></tr>`,
  )
  .join("\n")}
</table>`,
);

const fromSwagger = (name: string, type: string): Asset => ({
  type,
  read: () => {
    const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return readFile(join(folder, name), "utf8");
  },
});

const DOCS_FILES: Readonly<Record<string, Asset>> = {
  "swagger-ui.css": fromSwagger("swagger-ui.css", STYLE),
  "swagger-ui-bundle.js": fromSwagger("swagger-ui-bundle.js", SCRIPT),
  "start.js": fixed(SCRIPT, DOCS_START),
  "icon.svg": fixed(SVG, ICON),
  errors: fixed(HTML, ERROR_LIST),
};

const TEXT = "text/plain; charset=utf-8";

/**
 * `/openapi.json` describes the given endpoints, itself and the other documents. The other endpoints here are not in the
 * document.
 */
export function documentEndpoints(endpoints: readonly AnyEndpoint[]): readonly AnyEndpoint[] {
  let made: Readonly<Record<string, unknown>> | undefined;
  const describe = () => {
    made ??= describeApi([...endpoints, document, messages, overview, docs]);
    return made;
  };
  const document = define("GET", "/openapi.json", "getOpenApi", {
    summary: "This document",
    access: "none",
    answers: { 200: { description: "OpenAPI 3.1.", schema: Type.Object({ openapi: Type.String() }) } },
    handle: () => ok(describe()),
  });
  let messagesMade: Readonly<Record<string, unknown>> | undefined;
  const messages = define("GET", "/asyncapi.json", "getAsyncApi", {
    summary: "The messages of websockets, server-sent events, webhooks and MQTT topics",
    access: "none",
    answers: { 200: { description: "AsyncAPI 3.0.", schema: Type.Object({ asyncapi: Type.String() }) } },
    handle() {
      messagesMade ??= describeMessages();
      return ok(messagesMade);
    },
  });
  const overview = define("GET", "/llms.txt", "getOverview", {
    summary: "The API in one page of text, for programs that read text",
    access: "none",
    answers: { 200: { description: "Markdown (llmstxt.org).", mediaType: "text/plain" } },
    handle({ headers }) {
      const asset = { type: TEXT, read: async () => writeOverview(describe() as unknown as ListedApi) };
      return docsSender.send("llms.txt", asset, headers, HOUR);
    },
  });
  const docs = define("GET", "/docs", "getDocs", {
    summary: "This document as an interactive page",
    access: "none",
    answers: PAGE_ANSWERS,
    handle({ headers, raw }) {
      // Links in the page are relative to the URL without a trailing slash.
      const isFolder = /^[^?]*\/(?:\?|$)/.test(raw.url ?? "");
      if (isFolder) return new Response(null, { status: 308, headers: { Location: "../docs" } });
      return docsSender.send("page", fixed(HTML, DOCS), headers, HOUR);
    },
  });
  return [document, messages, overview, docs, ...HIDDEN];
}

const HIDDEN: readonly AnyEndpoint[] = [
  define("GET", "/docs/{file}", "getDocsFile", {
    summary: "A file of the page `/docs`",
    access: "none",
    params: fileParams(DOCS_FILES),
    answers: FILE_ANSWERS,
    async handle({ params: { file }, headers }) {
      const asset = DOCS_FILES[file];
      if (asset === undefined) throw noSuchFile();
      return docsSender.send(file, asset, headers, HOUR);
    },
  }),
  define("GET", "/", "getFront", {
    summary: "Redirect to the console",
    access: "none",
    answers: { 302: { description: "To `/console`." } },
    handle: () => new Response(null, { status: 302, headers: { Location: "console" } }),
  }),
  define("GET", "/favicon.ico", "getIcon", {
    summary: "The icon of the site",
    access: "none",
    answers: { 200: { description: "The icon.", mediaType: SVG } },
    handle: ({ headers }) => docsSender.send("icon.svg", fixed(SVG, ICON), headers, HOUR),
  }),
];
