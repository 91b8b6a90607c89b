/**
 * HLS and WHEP for media-server sources and rtsp outputs, WHIP for media-server sources. The media hub serves the streams; these endpoints forward. A stream
 * that another node publishes is played by HLS from that node, and by WHEP from the relay of this one.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type Static, Type } from "typebox";
import { StreamStats } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import type { StreamInfo } from "../../schemas/hub.ts";
import type { ClusterNode } from "../cluster/node.ts";
import { goingOn, keyOfToken, type Resource, type Signer, type Watched } from "../keys/signed-urls.ts";
import type { WatchedPaths } from "../media/hub-proxy.ts";
import type { StreamNumbers } from "../media/live-streams.ts";
import type { Media } from "../media/media-hub.ts";
import type { MediaServer } from "../media/open-media.ts";
import { ServiceError } from "../service-error.ts";
import type { NodeRow } from "../store/nodes.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";
import type { ForwardedCall, Forwarder } from "./forward.ts";
import { readBytes } from "./input.ts";
import { sendPieces } from "./send-file.ts";

interface MediaDeps extends Pick<MediaServer, "signer" | "ask" | "admitPublisher" | "onKeyUsed" | "elsewhere"> {
  readonly hub: Pick<Media, "find" | "trouble" | "streamNumbers">;
  readonly watched: Pick<WatchedPaths, "find" | "isKeyValid">;
  /** Absent: there are no other nodes. */
  readonly others?: { readonly forwarder: Forwarder; readonly node: ClusterNode } | undefined;
}

interface MediaConfig {
  readonly http: Pick<Config["http"], "request_seconds">;
  /** A player that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

interface WatchCall {
  readonly user: User | null;
  readonly params: Readonly<Record<string, string>>;
}

const define = defineEndpoints("Media server");
const SDP = "application/sdp";
/** SDP offers of browsers have a few kilobytes. */
const MAX_SDP_BYTES = 65_536;
const MAX_DETAIL_LENGTH = 2_000;
/** The playlist that players request first. */
const MAIN_PLAYLIST = "index.m3u8";

const FileName = Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$" });
const SessionId = Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" });
const SESSION_OF_NODE = /^(.+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const HlsQuery = Type.Object({
  _HLS_msn: Type.Optional(Type.Integer({ minimum: 0, description: "Low-latency HLS: wait for this segment." })),
  _HLS_skip: Type.Optional(
    Type.String({ maxLength: 10, description: "Low-latency HLS: accepted; playlists are always complete." }),
  ),
  _HLS_part: Type.Optional(Type.Integer({ minimum: 0, description: "Low-latency HLS: wait for this part of it." })),
});

/** Headers of the hub's answers that are passed on to clients. */
const FORWARDED_HEADERS = ["content-type", "content-length", "cache-control", "etag"];

export const mediaEndpoints = (deps: MediaDeps, config: MediaConfig): readonly AnyEndpoint[] => [
  ...(["source", "output"] as const).flatMap((kind) => watchEndpoints(kind, deps, config)),
  ...publishEndpoints(deps, config),
];

const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  unknown: "source_not_found",
  forbidden: "sources_limit_reached",
  busy: "path_in_use",
};

/** WHIP. The stream is published on the node that answers. */
function publishEndpoints(deps: MediaDeps, config: MediaConfig): readonly AnyEndpoint[] {
  const { hub, ask, watched, admitPublisher, others } = deps;
  const findPath = async (user: User, uuid: string): Promise<string> => {
    const found = await watched.find("source", uuid);
    if (found === null || user.uuid !== found.userUuid)
      throw new ServiceError("source_not_found", { detail: `you have no media-server source ${uuid}` });
    return found.path;
  };
  return [
    define("POST", "/source/{source_uuid}/whip", "publishSource", {
      summary: "Publish a media-server source by WebRTC (WHIP)",
      scope: "publish",
      description:
        "The body is the publisher's SDP offer with H.264 video, the answer is the media server's SDP answer. Audio is not published. DELETE the URL in `Location` to end the stream. Send the key as `Authorization: Bearer`, as WHIP clients do, or in the header `api_key`.",
      access: "url-key",
      rawBody: { mediaType: SDP, schema: Type.String({ description: "An SDP offer." }) },
      answers: { 201: { description: "The SDP answer.", mediaType: SDP } },
      errors: [
        ...(["source_not_found", "path_in_use", "sources_limit_reached", "media_unavailable"] as const),
        ...(["stream_not_playable", "invalid_input", "media_type_unsupported"] as const),
        ...(["body_too_large", "request_timeout"] as const),
      ],
      async handle({ user, params, raw, address: client, signal, publicUrl, letContinue }) {
        expectSdp(raw);
        const path = await findPath(user, params.source_uuid);
        if (hub.trouble !== null)
          throw new ServiceError("media_unavailable", { detail: `${hub.trouble}; retry soon`, retryAfterSeconds: 1 });
        letContinue();
        const bytes = await readBytes(raw, { bytes: MAX_SDP_BYTES, seconds: config.http.request_seconds });
        const { refusal, recording } = await admitPublisher(user, path);
        if (refusal !== null)
          throw new ServiceError(REFUSALS[refusal.kind] ?? "media_unavailable", { detail: refusal.detail });
        const body = { type: SDP, bytes };
        const key = user.key.uuid;
        const answer = await ask({ method: "POST", target: `/whip/${path}`, body, client, recording, key, signal });
        if (answer.statusCode !== 201) throw await readError(answer);
        const publisher = answer.headers.location?.split("/").at(-1) ?? "";
        const session = others === undefined ? publisher : `${publisher}-${others.node.uuid}`;
        const location = `${publicUrl}/source/${params.source_uuid}/whip/${session}`;
        return forward(answer, raw, config.stallMs, { Location: location });
      },
    }),
    define("DELETE", "/source/{source_uuid}/whip/{session}", "unpublishSource", {
      summary: "End a stream that was started with POST /source/{source_uuid}/whip",
      scope: "publish",
      access: "url-key",
      params: Type.Object({ session: SessionId }),
      answers: { 200: { description: "The stream has ended.", schema: Type.Object({ deleted: Type.Literal(true) }) } },
      errors: ["source_not_found", "media_unavailable"],
      async handle(call) {
        const { user, params, signal } = call;
        const path = await findPath(user, params.source_uuid);
        const [, publisher = params.session, nodeUuid = null] = SESSION_OF_NODE.exec(params.session) ?? [];
        if (others !== undefined && nodeUuid !== null && nodeUuid !== others.node.uuid && call.hop === null) {
          const peer = await others.node.find(nodeUuid);
          const passed =
            peer && (await others.forwarder.send(call, peer, { fence: null, body: null }).catch(() => null));
          if (passed === null) throw nodeLost(null);
          return passed;
        }
        const answer = await ask({ method: "DELETE", target: `/whip/${path}/${publisher}`, signal });
        answer.resume();
        if (answer.statusCode === 204) return ok({ deleted: true });
        throw new ServiceError("path_not_found", { detail: "unknown session, or it has already ended" });
      },
    }),
  ];
}

function watchEndpoints(kind: Watched, deps: MediaDeps, config: MediaConfig): readonly AnyEndpoint[] {
  const { hub, ask, watched, signer, onKeyUsed, elsewhere, others } = deps;
  const { stallMs } = config;
  const uuidName = `${kind}_uuid`;
  const notFound: ErrorCode = `${kind}_not_found`;
  const [article, noun] = kind === "source" ? ["a", "media-server source"] : ["an", "rtsp output"];
  const at = (end: string): string => `/${kind}/{${uuidName}}${end}`;
  const id = (verb: string) => verb.replace("Stream", kind === "source" ? "Source" : "Output");
  const errors: readonly ErrorCode[] = [notFound, "stream_not_live", "media_unavailable"];

  const findPath = async ({ user, params }: WatchCall): Promise<string> => {
    const uuid = params[uuidName] ?? "";
    const found = await watched.find(kind, uuid);
    if (found === null || (user !== null && user.uuid !== found.userUuid))
      throw new ServiceError(notFound, { detail: `you have no ${noun} ${uuid}` });
    return found.path;
  };
  const isLive = async (path: string): Promise<boolean> => {
    if (hub.find(path) !== null) return true;
    await elsewhere?.refresh();
    return elsewhere?.has(path) === true;
  };
  const expectLive = async (call: WatchCall): Promise<string> => {
    const path = await findPath(call);
    if (hub.trouble !== null)
      throw new ServiceError("media_unavailable", { detail: `${hub.trouble}; retry soon`, retryAfterSeconds: 1 });
    if (!(await isLive(path))) throw notLive(path);
    return path;
  };
  /** A session that was opened with a key ends with the key. */
  const expectKey = async (token: string): Promise<void> => {
    const key = keyOfToken(token);
    if (key === null || (await watched.isKeyValid(key))) return;
    throw new ServiceError("signature_invalid", {
      detail: "The API key that this session was opened with has been revoked or has expired.",
    });
  };
  const toError = async (answer: IncomingMessage, path: string): Promise<ServiceError> => {
    const error = await readError(answer);
    return (await isLive(path)) ? error : notLive(path);
  };
  /** Null: it is answered here. A request of another node is not passed on again. */
  const pass = async (call: ForwardedCall, peer: NodeRow | null): Promise<Response | null> => {
    if (others === undefined || peer === null || call.hop !== null) return null;
    const answer = await others.forwarder.send(call, peer, { fence: null, body: null }).catch((cause: unknown) => {
      throw nodeLost(cause);
    });
    if (answer === null) throw nodeLost(null);
    return answer;
  };
  const passToOrigin = async (call: ForwardedCall & WatchCall): Promise<Response | null> => {
    if (elsewhere === undefined || call.hop !== null) return null;
    const path = await findPath(call);
    return hub.find(path) === null ? pass(call, await elsewhere.findNode(path)) : null;
  };

  return [
    define("GET", at("/stream"), id("readStreamStats"), {
      summary: `Statistics of the live stream of ${article} ${noun}`,
      description: "Frames, readers, and the quality of the connection to the publisher. Measured once per second.",
      answers: { 200: { description: "The numbers of the last second.", schema: StreamStats } },
      errors,
      async handle(call) {
        const passed = await passToOrigin(call);
        if (passed !== null) return passed;
        const path = await expectLive(call);
        const info = hub.find(path);
        if (info === null) throw notLive(path);
        return ok(describeStream(info, hub.streamNumbers.find((stream) => stream.path === path) ?? null));
      },
    }),
    define("GET", at("/hls/{file}"), id("readStreamHls"), {
      summary: `Play ${article} ${noun} by low-latency HLS`,
      description:
        "Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token.",
      access: "signed",
      acceptsSessionToken: ({ file }) => file !== MAIN_PLAYLIST,
      params: Type.Object({ file: FileName }),
      query: HlsQuery,
      answers: { 200: { description: "A playlist or media segment.", mediaType: "*/*" } },
      errors,
      async handle(call) {
        const { user, params, query, raw, signal } = call;
        const passed = await passToOrigin(call);
        if (passed !== null) return passed;
        const path = await expectLive({ user, params });
        const resource: Resource = `${kind}/${params[uuidName]}`;
        const token = runningSession(raw, params, signer, resource) ?? signer.signGoingOn(resource, user?.key.uuid);
        await expectKey(token);
        const search = new URLSearchParams({ token });
        for (const [name, value] of Object.entries(query as Static<typeof HlsQuery>)) search.set(name, String(value));
        const answer = await ask({ method: "GET", target: `/hls/${path}/${params.file}?${search}`, signal });
        if (answer.statusCode === 200) return forward(answer, raw, stallMs);
        throw await toError(answer, path);
      },
    }),
    define("POST", at("/whep"), id("watchStream"), {
      summary: `Play ${article} ${noun} by WebRTC (WHEP)`,
      scope: "read",
      description:
        "The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL.",
      access: "signed",
      rawBody: { mediaType: SDP, schema: Type.String({ description: "An SDP offer." }) },
      answers: { 201: { description: "The SDP answer.", mediaType: SDP } },
      errors: [
        ...errors,
        ...(["stream_not_playable", "invalid_input", "media_type_unsupported"] as const),
        ...(["body_too_large", "request_timeout"] as const),
      ],
      async handle({ user, params, raw, address: client, signal, publicUrl, letContinue }) {
        expectSdp(raw);
        const path = await expectLive({ user, params });
        letContinue();
        const bytes = await readBytes(raw, { bytes: MAX_SDP_BYTES, seconds: config.http.request_seconds });
        const answer = await ask({
          method: "POST",
          target: `/whep/${path}`,
          body: { type: SDP, bytes },
          client,
          key: user?.key.uuid,
          signal,
        });
        if (answer.statusCode !== 201) throw await toError(answer, path);
        onKeyUsed(path, user?.key.uuid);
        const viewer = answer.headers.location?.split("/").at(-1) ?? "";
        // It can be ended through any node.
        const session = others === undefined ? viewer : `${viewer}-${others.node.uuid}`;
        const uuid = params[uuidName];
        const token = signer.signGoingOn(`${kind}/${uuid}`);
        const location = `${publicUrl}/${kind}/${uuid}/whep/${session}?token=${token}`;
        return forward(answer, raw, stallMs, { Location: location });
      },
    }),
    define("DELETE", at("/whep/{session}"), id("leaveStream"), {
      summary: `End a session that was started with POST ${at("/whep")}`,
      scope: "read",
      access: "signed",
      acceptsSessionToken: () => true,
      params: Type.Object({ session: SessionId }),
      answers: { 200: { description: "The session has ended.", schema: Type.Object({ deleted: Type.Literal(true) }) } },
      errors: [notFound, "media_unavailable"],
      async handle(call) {
        const { user, params, signal } = call;
        const path = await findPath({ user, params });
        const [, viewer = params.session, nodeUuid = null] = SESSION_OF_NODE.exec(params.session) ?? [];
        if (others !== undefined && nodeUuid !== null && nodeUuid !== others.node.uuid) {
          const passed = await pass(call, await others.node.find(nodeUuid));
          if (passed !== null) return passed;
        }
        const answer = await ask({ method: "DELETE", target: `/whep/${path}/${viewer}`, signal });
        answer.resume();
        if (answer.statusCode === 204) return ok({ deleted: true });
        throw new ServiceError("path_not_found", { detail: "unknown session, or it has already ended" });
      },
    }),
  ];
}

/** `numbers`: null in its first second. */
function describeStream(
  { protocol, width, height, hasAudio }: StreamInfo,
  numbers: StreamNumbers | null,
): Static<typeof StreamStats> {
  const { readers = 0, pictures = 0, bytes = 0, missed = 0, jitterMs = 0, link = null } = numbers ?? {};
  return {
    ...{ protocol, width, height, has_audio: hasAudio, readers, frames: pictures, bytes, frames_missed: missed },
    jitter_ms: jitterMs,
    link: link && {
      round_trip_ms: link.rttMs,
      packets_received: link.received,
      packets_lost: link.lost,
      packets_dropped: link.dropped,
    },
  };
}

/**
 * The token of the session that a request belongs to; null: it begins one. It is put into the URLs of the playlist: a player
 * sends no other credentials, and identifies parts by their URLs, so it stays the same.
 */
function runningSession(
  raw: IncomingMessage,
  { file }: WatchCall["params"],
  signer: Signer,
  resource: Resource,
): string | null {
  const given = new URL(raw.url ?? "", "http://localhost").searchParams.get("token");
  return file !== MAIN_PLAYLIST && given !== null && signer.isGood(goingOn(resource), given) ? given : null;
}

function expectSdp({ headers }: IncomingMessage): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() === SDP) return;
  throw new ServiceError("media_type_unsupported", {
    detail: `The body is declared as "${type.trim()}"; expected ${SDP}.`,
  });
}

function forward(
  answer: IncomingMessage,
  raw: IncomingMessage,
  stallMs: number,
  moreHeaders: Readonly<Record<string, string>> = {},
): Response {
  const headers = FORWARDED_HEADERS.flatMap((name): [string, string][] => {
    const value = answer.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const chunks = answer[Symbol.asyncIterator]() as AsyncGenerator<Uint8Array>;
  return new Response(sendPieces(chunks, { raw, stallMs }), {
    status: answer.statusCode ?? 200,
    headers: [...headers, ...Object.entries(moreHeaders)],
  });
}

const notLive = (path: string): ServiceError =>
  new ServiceError("stream_not_live", { detail: `no stream is published at /${path}`, retryAfterSeconds: 1 });

const nodeLost = (cause: unknown): ServiceError =>
  new ServiceError("media_unavailable", {
    detail: "the node that publishes the stream did not answer; try again in a moment",
    retryAfterSeconds: 1,
    ...(cause !== null && { cause }),
  });

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: "invalid_input",
  404: "path_not_found",
  406: "stream_not_playable",
  409: "stream_not_playable",
  413: "body_too_large",
  423: "path_in_use",
};

/** The hub's error texts are written for clients: they are passed on. */
async function readError(answer: IncomingMessage): Promise<ServiceError> {
  let text = "";
  answer.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(0, MAX_DETAIL_LENGTH);
  });
  await once(answer, "close").catch(() => {});
  const detail = text === "" ? "the media hub rejected the request" : text;
  const code = CODES[answer.statusCode ?? 0] ?? "media_unavailable";
  if (code === "invalid_input") return new ServiceError(code, { detail, errors: [{ path: "", message: detail }] });
  return new ServiceError(code, { detail, ...(code === "media_unavailable" && { retryAfterSeconds: 1 }) });
}
