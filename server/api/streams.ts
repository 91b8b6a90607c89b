/** Streams of a process: feed and events as endpoints, and the websockets for clients that do not send an upgrade. */
import { Type } from "typebox";
import {
  AlertEvent,
  CameraEvent,
  DetectionsEvent,
  StateEvent,
  StatsEvent,
  TelemetryEvent,
} from "../../schemas/api/events.ts";
import { Problem } from "../../schemas/api/problem.ts";
import { ProcessUrls } from "../../schemas/api/processes.ts";
import { DroneDataMessage, TelemetryMessage } from "../../schemas/api/telemetry.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { LIVE, liveOf, type Signer } from "../keys/signed-urls.ts";
import { PROBLEM_TYPE, problemHeaders, toProblem } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import { FEED_TYPE } from "../streams/body.ts";
import type { Streams, Viewing } from "../streams/streams.ts";
import { CHANNEL_SCOPES, HANDSHAKE_HEADERS } from "../streams/upgrade.ts";
import type { User } from "../user.ts";
import type { ApiCall } from "./context.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

export const EVENTS_TYPE = "text/event-stream";
/** `X-Accel-Buffering`: nginx would otherwise hold back a stream until its buffer is full. */
export const STREAM_HEADERS = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

/** With a key, or with a token of `GET /process/{process_uuid}/urls`. */
const LIVE_STREAM = { access: "signed", signedPart: LIVE } as const;

const define = defineEndpoints("Process");

interface UrlDeps {
  readonly signer: Pick<Signer, "sign">;
  /** For how long a URL is valid. */
  readonly seconds: number;
}

/** @param viewers maximum number of viewers of one process */
export const streamEndpoints = (streams: Streams, viewers: number, urls: UrlDeps): readonly AnyEndpoint[] => [
  define("GET", "/process/{process_uuid}/urls", "getProcessUrls", {
    summary: "Get URLs of the streams of a process that contain a token instead of the key",
    description:
      "For players, pages and people that must not get the key. Each is valid until `expires_at` for streams that are opened, which then stay open; a token allows nothing else.",
    answers: { 200: { description: "The URLs.", schema: ProcessUrls } },
    errors: ["process_not_found", "wrong_state"],
    async handle({ user, params: { process_uuid: uuid }, publicUrl }) {
      await streams.expectProcess({ user, processUuid: uuid });
      const expires_at = new Date(Date.now() + urls.seconds * 1000).toISOString();
      const token = urls.signer.sign(liveOf(uuid));
      const at = (base: string, name: string): string => `${base}/process/${uuid}/${name}?token=${token}`;
      const sockets = publicUrl.replace(/^http/, "ws");
      return ok({
        ...{ process_uuid: uuid, feed_url: at(publicUrl, "feed"), events_url: at(publicUrl, "events") },
        ...{ detection_data_url: at(sockets, "detection_data"), drone_data_url: at(sockets, "drone_data"), expires_at },
      });
    },
  }),
  define("GET", "/process/{process_uuid}/feed", "watchFeed", {
    summary: "Processed frames as a stream of JPEGs",
    description: `Each part has the header \`X-Timestamp\`, the time of its frame. Frames are encoded only while there are viewers. A slow viewer misses frames; a viewer that reads nothing for 10 s is disconnected. Feed and events of one process share a limit of ${viewers} viewers. The stream ends with the process.`,
    ...LIVE_STREAM,
    query: Type.Object({
      overlay: Type.Optional(
        Type.Enum(["boxes", "none"], {
          default: "boxes",
          description: "`none`: frames without boxes, for clients that draw detections themselves by `timestamp`.",
        }),
      ),
    }),
    answers: {
      200: { description: "JPEGs; each replaces the previous one.", mediaType: "multipart/x-mixed-replace" },
    },
    errors: ["process_not_found", "graph_lacks", "wrong_state", "viewers_limit_reached", "pipeline_failed"],
    async handle(call) {
      const viewing = await toViewing(streams, call);
      const slot = call.query.overlay === "none" ? "view" : "feed";
      const headers = { "Content-Type": FEED_TYPE, ...STREAM_HEADERS };
      if (call.raw.method !== "HEAD") return new Response(await streams.openFeed(viewing, slot), { headers });
      await streams.expectFeed(viewing, slot);
      return new Response(null, { headers });
    },
  }),
  define("GET", "/process/{process_uuid}/events", "watchEvents", {
    summary: "Events of a process, as server-sent events",
    description: `\`detections\` (one frame on which inference ran), \`drone\` (camera position and attitude, as on \`drone_data\`), \`camera\` (its position and the ground that it sees, once per second of video), \`state\` (first, last and on every change), \`stats\` (once a second), \`telemetry\` (for a source with telemetry: first, and when its status changes), \`alert\` (a notification). Feed and events of one process share a limit of ${viewers} viewers. A viewer that does not keep up loses the oldest events; the next event says how many (\`dropped\`). Events are not sent again: \`Last-Event-ID\` is ignored. The stream ends with the process.`,
    ...LIVE_STREAM,
    answers: {
      200: {
        description: "Events; `data` is JSON.",
        mediaType: EVENTS_TYPE,
        schema: Type.Union([
          DetectionsEvent,
          DroneDataMessage,
          CameraEvent,
          StateEvent,
          StatsEvent,
          TelemetryEvent,
          AlertEvent,
        ]),
      },
    },
    errors: ["process_not_found", "wrong_state", "viewers_limit_reached"],
    async handle(call) {
      const viewing = await toViewing(streams, call);
      const headers = { "Content-Type": EVENTS_TYPE, ...STREAM_HEADERS };
      if (call.raw.method !== "HEAD") return new Response(await streams.openEvents(viewing), { headers });
      await streams.expectProcess(viewing);
      return new Response(null, { headers });
    },
  }),
  ...SOCKETS.map(describeSocket),
];

interface ViewingCall extends Pick<ApiCall, "signal" | "raw" | "address" | "credential"> {
  /** Null: the URL is signed. */
  readonly user: User | null;
  readonly params: { readonly process_uuid: string };
}

const toViewing = async (streams: Streams, call: ViewingCall): Promise<Viewing> => ({
  ...toLogViewing(call, call.user ?? (await streams.expectOwner(call.params.process_uuid))),
  processUuid: call.params.process_uuid,
});

export const toLogViewing = (
  { signal, raw, address, credential }: Omit<ViewingCall, "params" | "user">,
  user: User,
): Omit<Viewing, "processUuid"> => ({
  user,
  holder: { apiKey: credential?.key ?? null, address },
  signal,
  drop: () => raw.socket.destroy(),
});

const CLOSING =
  "One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down.";
const DROPPED = "A client that does not keep up loses the oldest messages; the next message says how many (`dropped`).";

const SOCKETS = [
  {
    channel: "detection_data",
    id: "readDetectionData",
    tag: "Outputs",
    summary: "Websocket: one message for every frame on which inference ran",
    schema: DetectionMessage,
    description: DROPPED,
  },
  {
    channel: "drone_data",
    id: "readDroneData",
    tag: "Outputs",
    summary: "Websocket: telemetry messages as received",
    schema: DroneDataMessage,
    description: `In the native fields, independent of the format of the source. For a source with static telemetry its only message is sent on connection. ${DROPPED}`,
  },
  {
    channel: "telemetry",
    id: "sendTelemetry",
    tag: "Telemetry",
    summary: "Websocket: camera position and attitude, sent by the client",
    schema: TelemetryMessage,
    description:
      'Each text frame is one JSON telemetry message, native or in the format of the source. If the telemetry channel of the source is not `websocket`, the upgrade is rejected with 409 and the reason. An invalid message is answered with `{"error": {…}}` and has no effect; a valid message is not answered.',
  },
] as const;

function describeSocket({ channel, id, tag, summary, schema, description }: (typeof SOCKETS)[number]): AnyEndpoint {
  return defineEndpoints(tag)("GET", `/process/{process_uuid}/${channel}`, id, {
    summary,
    description: `${description} ${CLOSING} Send the key in the header \`api_key\`, as \`Authorization: Bearer\` or as \`?api_key=\`.`,
    ...(channel === "telemetry" ? { access: "url-key" as const } : LIVE_STREAM),
    scope: CHANNEL_SCOPES[channel],
    answers: {
      101: { description: "The websocket is open; each text frame is one such message.", schema },
      426: { description: "This URL must be opened as a websocket.", schema: Problem, mediaType: PROBLEM_TYPE },
    },
    errors: [
      ...(["process_not_found", "socket_in_use", "wrong_state"] as const),
      ...(channel === "detection_data" ? (["graph_lacks"] as const) : []),
      ...(channel === "telemetry" ? (["telemetry_not_taken"] as const) : []),
    ],
    handle({ requestId }) {
      const detail = "This URL is a websocket: open it with a websocket client, as ws:// or wss://.";
      const error = new ServiceError("upgrade_needed", { detail });
      const headers = { ...problemHeaders(error, requestId), ...HANDSHAKE_HEADERS[426], Connection: "Upgrade" };
      return { status: error.status, body: toProblem(error, requestId), headers };
    },
  });
}
