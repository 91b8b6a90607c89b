/** `/console`: the operator's page, from files that the set-up has bundled; no other host is asked for anything. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import { acceptsGzip, compress } from "./answers.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

export interface ConsoleParts {
  readonly config: Pick<Config, "public_url">;
  /** Where the set-up has put it. */
  readonly folder: string;
}

/** Pictures come as `blob:` and `data:`, video by Media Source Extensions as `blob:`. Styles of single elements are set by scripts. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  map: "application/json",
  svg: "image/svg+xml",
};

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12324a"/>
<path d="M3 10c5 0 8 2 11 5l2-4 2 4c3-3 6-5 11-5-3 2-6 5-8 9l-3 1-1 7-1 2-1-2-1-7-3-1c-2-4-5-7-8-9z" fill="#f2c14e"/></svg>`;

/** Has its contents in its name. */
const ASSET = /^[a-z]+-[A-Z0-9]{8}\.(css|js)(\.map)?$/;

export function consoleEndpoints({ config, folder }: ConsoleParts): readonly AnyEndpoint[] {
  const assets = new Assets(folder);
  const prefix = config.public_url === null ? "" : new URL(config.public_url).pathname.replace(/(?<!\/)\/+$/, "");
  const page = async (): Promise<string> => renderPage(prefix, JSON.parse(await read(folder, "entries.json")));
  const sendPage = async ({ headers }: { headers: Headers }): Promise<Response> =>
    pack(await page(), "text/html; charset=utf-8", "no-cache", headers);
  const define = (path: string, id: string, names: readonly string[]) =>
    defineEndpoint({
      ...{ method: "GET", path, id, tag: "Operations", access: "none", errors: ["console_not_built"] },
      summary: "The operator's page.",
      params: Type.Object(Object.fromEntries(names.map((name) => [name, Type.String({ pattern: "^[^/]{1,200}$" })]))),
      answers: { 200: { description: "A web page.", mediaType: "text/html" } },
      handle: sendPage,
    } as const);
  return [
    define("/console", "getConsole", []),
    define("/console/{page}", "getConsolePage", ["page"]),
    define("/console/{page}/{thing}", "getConsoleThing", ["page", "thing"]),
    define("/console/{page}/{thing}/{part}", "getConsolePart", ["page", "thing", "part"]),
    defineEndpoint({
      method: "GET",
      path: "/console/assets/{file}",
      tag: "Operations",
      id: "getConsoleAsset",
      summary: "A file of the operator's page.",
      access: "none",
      params: Type.Object({ file: Type.String({ pattern: "^[A-Za-z0-9.-]{1,100}$" }) }),
      answers: { 200: { description: "The file.", mediaType: "*/*" } },
      errors: ["console_not_built"],
      async handle({ params: { file }, headers }) {
        const type = TYPES[file.slice(file.lastIndexOf(".") + 1)];
        if (file === "icon.svg") return pack(ICON, TYPES.svg ?? "", "public, max-age=86400", headers);
        if (!ASSET.test(file) || type === undefined) throw noSuchFile();
        return assets.send(file, type, headers);
      },
    }),
  ] as readonly AnyEndpoint[];
}

const noSuchFile = (): ServiceError => new ServiceError("path_not_found", { detail: "There is no such file." });

async function read(folder: string, file: string): Promise<string> {
  try {
    return await readFile(join(folder, file), "utf8");
  } catch (cause) {
    if ((cause as { code?: string }).code === "ENOENT" && file !== "entries.json") throw noSuchFile();
    throw new ServiceError("console_not_built", {
      detail: "The console is not there: stop the service and run `npm start`, which makes it.",
    });
  }
}

const renderPage = (prefix: string, entries: Readonly<Record<string, string>>): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Windhover</title>
<base href="${prefix}/">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="console/assets/icon.svg">
<link rel="stylesheet" href="console/assets/${entries["console/style/style.css"]}">
<script type="module" src="console/assets/${entries["console/main.ts"]}"></script>
</head><body><noscript>The console needs JavaScript.</noscript></body></html>
`;

/** Files with their contents in their names, packed once: anybody may ask for them, and the largest takes long. */
class Assets {
  readonly #folder: string;
  /** No more than there are files. */
  readonly #packed = new Map<string, Buffer>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async send(file: string, type: string, asked: Headers): Promise<Response> {
    const isPacked = takesGzip(asked);
    const body = isPacked ? await this.#pack(file) : await read(this.#folder, file);
    return answer(body, type, "public, max-age=31536000, immutable", isPacked);
  }

  async #pack(file: string): Promise<Buffer> {
    const known = this.#packed.get(file);
    if (known !== undefined) return known;
    const packed = await compress(await read(this.#folder, file));
    this.#packed.set(file, packed);
    return packed;
  }
}

const takesGzip = (asked: Headers): boolean => acceptsGzip(asked.get("accept-encoding") ?? undefined);

async function pack(text: string, type: string, cache: string, asked: Headers): Promise<Response> {
  const isPacked = takesGzip(asked);
  return answer(isPacked ? await compress(text) : text, type, cache, isPacked);
}

const answer = (body: string | Buffer, type: string, cache: string, isPacked: boolean): Response =>
  new Response(body as Uint8Array<ArrayBuffer> | string, {
    headers: {
      "Content-Type": type,
      "Content-Security-Policy": CSP,
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": cache,
      Vary: "Accept-Encoding",
      ...(isPacked && { "Content-Encoding": "gzip" }),
    },
  });
