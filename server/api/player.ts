/** Pages that show a stream in a browser, and the files they are made of. What they show, they ask for by their own rights. */
import { Type } from "typebox";
import { PLAYER_CSP, PLAYER_FILES, type PlayerFile, type PlayerKind, renderPlayer } from "../media/player/player.ts";
import { ServiceError } from "../service-error.ts";
import { acceptsGzip, compress } from "./answers.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface Packed {
  readonly text: string;
  readonly gzip: Buffer;
}

const pack = async (text: string): Promise<Packed> => ({ text, gzip: await compress(text) });

/** Made once, when somebody looks. */
const packed = new Map<PlayerFile, Promise<Packed>>();

function load(file: PlayerFile): Promise<Packed> {
  const made = packed.get(file) ?? file.read().then(pack);
  packed.set(file, made);
  made.catch(() => packed.delete(file));
  return made;
}

async function send(file: PlayerFile, requestHeaders: Headers, cacheControl: string): Promise<Response> {
  const { text, gzip } = await load(file);
  const isPacked = acceptsGzip(requestHeaders.get("accept-encoding") ?? undefined);
  const headers = {
    "Content-Type": file.type,
    "Content-Security-Policy": PLAYER_CSP,
    // The address of a page may hold a token.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": cacheControl,
    Vary: "Accept-Encoding",
    ...(isPacked && { "Content-Encoding": "gzip" }),
  };
  return new Response(isPacked ? gzip : text, { headers });
}

const pageOf = (kind: PlayerKind): PlayerFile => ({
  type: "text/html; charset=utf-8",
  read: async () => renderPlayer(kind),
});
const PAGES: Readonly<Record<PlayerKind, PlayerFile>> = { hls: pageOf("hls"), webrtc: pageOf("webrtc") };

const WORDS = { source: "media-server source", output: "rtsp output" } as const;
const NAMES = { hls: { id: "Hls", word: "HLS" }, webrtc: { id: "Webrtc", word: "WebRTC" } } as const;

/** Holds nothing of the stream, and does not tell whether there is one: anybody may have it. */
const definePage = (owner: "source" | "output", kind: PlayerKind): AnyEndpoint =>
  defineEndpoint({
    method: "GET",
    path: `/${owner}/{${owner}_uuid}/${kind}`,
    tag: "Media server",
    id: `get${owner === "source" ? "Source" : "Output"}${NAMES[kind].id}Page`,
    summary: `A page that shows the ${WORDS[owner]} by ${NAMES[kind].word}.`,
    description:
      "With `?token=` of a signed address, or `?api_key=`, which the page hands on to what it plays. Without either it says that it may not.",
    access: "none",
    answers: { 200: { description: "A web page.", mediaType: "text/html" } },
    errors: [],
    handle: ({ headers, raw }) => {
      // What the page refers to is beside it, not below it.
      const [isFolder, query = ""] = /^[^?]*\/(\?.*)?$/.exec(raw.url ?? "") ?? [];
      return isFolder === undefined
        ? send(PAGES[kind], headers, "no-cache")
        : new Response(null, { status: 308, headers: { Location: `../${kind}${query}` } });
    },
  });

export const playerEndpoints: readonly AnyEndpoint[] = [
  definePage("source", "hls"),
  definePage("source", "webrtc"),
  definePage("output", "hls"),
  definePage("output", "webrtc"),
  defineEndpoint({
    method: "GET",
    path: "/player/{file}",
    tag: "Media server",
    id: "getPlayerFile",
    summary: "A file of the players' pages.",
    access: "none",
    params: Type.Object({ file: Type.Union(Object.keys(PLAYER_FILES).map((name) => Type.Literal(name))) }),
    answers: { 200: { description: "The file.", mediaType: "*/*" } },
    errors: [],
    async handle({ params: { file }, headers }) {
      const found = PLAYER_FILES[String(file)];
      if (found === undefined) throw new ServiceError("path_not_found", { detail: "There is no such file." });
      return send(found, headers, "public, max-age=3600");
    },
  }),
];
