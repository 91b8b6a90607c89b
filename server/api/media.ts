/** Streams in a browser: HLS and WHEP, of media-server sources and of rtsp outputs. The media hub makes them. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type Static, type TObject, Type } from "typebox";
import type { ErrorCode } from "../../schemas/errors.ts";
import { goingOn, type Resource, type Signer, type Watched } from "../keys/signed-urls.ts";
import type { AskHub, WatchedPaths } from "../media/hub-proxy.ts";
import type { Media } from "../media/media-hub.ts";
import { ServiceError } from "../service-error.ts";
import { streamBody } from "../streams/body.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { readBytes } from "./input.ts";

export interface MediaNeeds {
  readonly media: Pick<Media, "find" | "trouble">;
  readonly ask: AskHub;
  readonly watched: Pick<WatchedPaths, "find">;
  readonly signer: Signer;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
  readonly bodySeconds: number;
  /** Somebody stays there, let in by a key or by an address that its owner signed. */
  onKeyUsed(path: string): void;
}

interface WatchCall {
  readonly user: User | null;
  readonly params: Readonly<Record<string, string>>;
}

const tag = "Media server";
const access = "signed";
const SDP = "application/sdp";
/** Offers of browsers have a few kilobytes. */
const SDP_BYTES = 65_536;
const WORDS_BYTES = 2_000;
/** The playlist that players begin with. */
const BEGINNING = "index.m3u8";

const FileName = Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$" });
const SessionId = Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" });
const HlsQuery = Type.Object({
  _HLS_msn: Type.Optional(Type.Integer({ minimum: 0, description: "Low-latency HLS: wait for this segment." })),
  _HLS_part: Type.Optional(Type.Integer({ minimum: 0, description: "And for this part of it." })),
});

/** Headers of the hub's answers that are for clients. */
const PASSED = ["content-type", "content-length", "cache-control", "etag"];

export function mediaEndpoints(needs: MediaNeeds): readonly AnyEndpoint[] {
  return (["source", "output"] as const).flatMap((kind) => watchEndpoints(kind, needs));
}

function watchEndpoints(kind: Watched, needs: MediaNeeds): readonly AnyEndpoint[] {
  const { media, ask, watched, signer, stallMs, bodySeconds, onKeyUsed } = needs;
  const uuidName = `${kind}_uuid`;
  const notFound: ErrorCode = `${kind}_not_found`;
  const what = kind === "source" ? "media-server source" : "rtsp output";
  const base = `/${kind}/{${uuidName}}`;
  const id = (verb: string) => verb.replace("Stream", kind === "source" ? "Source" : "Output");
  const errors: readonly ErrorCode[] = [notFound, "stream_not_live", "media_unavailable"];

  /** Rejects where nothing can be watched now. */
  const findPath = async ({ user, params }: WatchCall): Promise<string> => {
    const uuid = params[uuidName] ?? "";
    const found = await watched.find(kind, uuid);
    if (found === null || (user !== null && user.uuid !== found.userUuid))
      throw new ServiceError(notFound, { detail: `there is no ${what} ${uuid} of yours` });
    if (media.trouble !== null)
      throw new ServiceError("media_unavailable", { detail: `${media.trouble}; try again soon`, retryAfterSeconds: 1 });
    if (media.find(found.path) === null) throw notLive(found.path);
    return found.path;
  };

  return [
    defineEndpoint({
      method: "GET",
      path: `${base}/hls/{file}`,
      tag,
      id: id("readStreamHls"),
      summary: `A ${what} by low-latency HLS`,
      description:
        "`index.m3u8` is where players begin; `hls_url` of the record is its address. What playlists refer to is reached with a token of its own.",
      access,
      isGoingOn: ({ file }) => file !== BEGINNING,
      params: Type.Object({ file: FileName }) as TObject,
      query: HlsQuery,
      answers: { 200: { description: "A playlist, or a piece of the stream.", mediaType: "*/*" } },
      errors,
      async handle({ user, params, query, raw, signal }) {
        const path = await findPath({ user, params });
        const search = new URLSearchParams({ token: tokenOf(raw, params, signer, `${kind}/${params[uuidName]}`) });
        for (const [name, value] of Object.entries(query as Static<typeof HlsQuery>)) search.set(name, String(value));
        const answer = await ask({ method: "GET", target: `/hls/${path}/${params.file}?${search}`, signal });
        if (answer.statusCode === 200) return passOn(answer, raw, stallMs);
        throw await refusalOf(answer, media.find(path) === null ? notLive(path) : null);
      },
    }),
    defineEndpoint({
      method: "POST",
      path: `${base}/whep`,
      tag,
      id: id("watchStream"),
      summary: `A ${what} by WebRTC (WHEP)`,
      description:
        "The body is the offer of the player, the answer is that of the media server; `Location` is what to DELETE in the end. `webrtc_url` of the record is this address.",
      access,
      rawBody: { mediaType: SDP, schema: Type.String({ description: "An SDP offer." }) },
      answers: { 201: { description: "The SDP answer.", mediaType: SDP } },
      errors: [
        ...errors,
        ...(["stream_not_playable", "invalid_input", "media_type_unsupported"] as const),
        ...(["body_too_large", "request_timeout"] as const),
      ],
      async handle({ user, params, raw, address: client, signal, publicUrl, letContinue }) {
        expectSdp(raw);
        const path = await findPath({ user, params });
        letContinue();
        const bytes = await readBytes(raw, { bytes: SDP_BYTES, seconds: bodySeconds });
        const body = { type: SDP, bytes };
        const answer = await ask({ method: "POST", target: `/whep/${path}`, body, client, signal });
        if (answer.statusCode !== 201) throw await refusalOf(answer, media.find(path) === null ? notLive(path) : null);
        onKeyUsed(path);
        const session = answer.headers.location?.split("/").at(-1) ?? "";
        const uuid = params[uuidName];
        const token = signer.signGoingOn(`${kind}/${uuid}`);
        const location = `${publicUrl}/${kind}/${uuid}/whep/${session}?token=${token}`;
        return passOn(answer, raw, stallMs, { Location: location });
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: `${base}/whep/{session}`,
      tag,
      id: id("leaveStream"),
      summary: `Ends what was begun with POST ${base}/whep`,
      access,
      isGoingOn: () => true,
      params: Type.Object({ session: SessionId }) as TObject,
      answers: { 200: { description: "It is over.", schema: Type.Object({ deleted: Type.Literal(true) }) } },
      errors: [notFound, "media_unavailable"],
      async handle({ user, params, signal }) {
        const found = await watched.find(kind, params[uuidName] ?? "");
        if (found === null || (user !== null && user.uuid !== found.userUuid))
          throw new ServiceError(notFound, { detail: `there is no ${what} ${params[uuidName]} of yours` });
        const answer = await ask({ method: "DELETE", target: `/whep/${found.path}/${params.session}`, signal });
        answer.resume();
        if (answer.statusCode === 204) return { status: 200, body: { deleted: true } };
        throw new ServiceError("path_not_found", { detail: "there is no such viewer, or not any more" });
      },
    }),
  ];
}

/**
 * What a playlist refers to is reached with this: a player sends nothing else. It stays the same while a player goes on,
 * for parts are told apart by their whole addresses.
 */
function tokenOf(raw: IncomingMessage, { file }: WatchCall["params"], signer: Signer, resource: Resource): string {
  const given = new URL(raw.url ?? "", "http://localhost").searchParams.get("token");
  const isGoingOn = file !== BEGINNING && given !== null && signer.isGood(goingOn(resource), given);
  return isGoingOn ? given : signer.signGoingOn(resource);
}

function expectSdp({ headers }: IncomingMessage): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() === SDP) return;
  throw new ServiceError("media_type_unsupported", {
    detail: `The body is declared as "${type.trim()}"; expected ${SDP}.`,
  });
}

function passOn(
  answer: IncomingMessage,
  raw: IncomingMessage,
  stallMs: number,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = PASSED.flatMap((name): [string, string][] => {
    const value = answer.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const body = streamBody(
    {
      next: async () => {
        const { done, value } = await pieces.next();
        return done === true ? null : value;
      },
      leave: () => void answer.destroy(),
    },
    { afterMs: stallMs, drop: () => void raw.socket.destroy() },
  );
  return new Response(body, { status: answer.statusCode ?? 200, headers: [...headers, ...Object.entries(more)] });
}

const notLive = (path: string): ServiceError =>
  new ServiceError("stream_not_live", { detail: `nothing is published at /${path} now`, retryAfterSeconds: 1 });

/** What the hub says of it reaches the client: it is written for that. */
async function refusalOf(answer: IncomingMessage, known: ServiceError | null): Promise<ServiceError> {
  const detail = await readWords(answer);
  if (known !== null) return known;
  const code = CODES[answer.statusCode ?? 0] ?? "media_unavailable";
  if (code === "invalid_input") return new ServiceError(code, { detail, errors: [{ path: "", message: detail }] });
  return new ServiceError(code, { detail, ...(code === "media_unavailable" && { retryAfterSeconds: 1 }) });
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: "invalid_input",
  404: "path_not_found",
  406: "stream_not_playable",
  409: "stream_not_playable",
  413: "body_too_large",
};

async function readWords(answer: IncomingMessage): Promise<string> {
  let words = "";
  answer.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(0, WORDS_BYTES);
  });
  await once(answer, "close").catch(() => {});
  return words === "" ? "the media hub refused it" : words;
}
