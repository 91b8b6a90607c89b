/** The streams of a process, as endpoints: two that answer, and the websockets for those who ask without an upgrade. */
import type { IncomingMessage } from "node:http";
import { Type } from "typebox";
import { AlertEvent, DetectionsEvent, StateEvent, StatsEvent, TelemetryEvent } from "../../schemas/api/events.ts";
import { Problem } from "../../schemas/api/problem.ts";
import { DroneDataMessage, TelemetryMessage } from "../../schemas/api/telemetry.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { type AnyEndpoint, defineEndpoint } from "../api/endpoint.ts";
import { PROBLEM_TYPE, problemHeaders, toProblem } from "../api/problem.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { FEED_TYPE } from "./feed-parts.ts";
import { REFUSAL_HEADERS, readKey } from "./handshake.ts";
import type { Viewing, Watching } from "./watching.ts";

const EVENTS_TYPE = "text/event-stream";
/** `X-Accel-Buffering`: nginx would hold a stream back until its buffer is full. */
const STREAM_HEADERS = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

/** @param viewers how many may look at one process */
export function streamEndpoints(watching: Watching, viewers: number): readonly AnyEndpoint[] {
  return [feed(watching, viewers), events(watching, viewers), ...SOCKETS.map(describeSocket)];
}

const feed = (watching: Watching, viewers: number) =>
  defineEndpoint({
    method: "GET",
    path: "/process/{process_uuid}/feed",
    tag: "Process",
    id: "watchFeed",
    summary: "Processed frames as a stream of JPEGs",
    description: `Each part has \`X-Timestamp\`, the time of its frame. Frames are encoded only while somebody looks. A slow viewer misses frames; one that takes nothing for \`streams.feed_stall_seconds\` is let go. Any number of viewers, up to ${viewers} of one process with those of its events. Ends with the process.`,
    access: "url-key",
    query: Type.Object({
      overlay: Type.Optional(
        Type.Enum(["boxes", "none"], {
          default: "boxes",
          description: "`none`: the pictures as they are, for whoever draws what was found by its `timestamp`.",
        }),
      ),
    }),
    answers: { 200: { description: "JPEGs, each replacing the one before.", mediaType: "multipart/x-mixed-replace" } },
    errors: ["process_not_found", "graph_lacks", "wrong_state", "viewers_limit_reached", "pipeline_failed"],
    async handle(call) {
      const viewing = toViewing(call);
      const slot = call.query.overlay === "none" ? "view" : "feed";
      const headers = { "Content-Type": FEED_TYPE, ...STREAM_HEADERS };
      if (call.raw.method === "HEAD") {
        await watching.expectFeed(viewing, slot);
        return new Response(null, { headers });
      }
      return new Response(await watching.openFeed(viewing, slot), { headers });
    },
  });

const events = (watching: Watching, viewers: number) =>
  defineEndpoint({
    method: "GET",
    path: "/process/{process_uuid}/events",
    tag: "Process",
    id: "watchEvents",
    summary: "What happens in a process, as server-sent events",
    description: `\`detections\` (one frame on which inference ran), \`drone\` (where the camera is and looks, as on \`drone_data\`), \`state\` (first, last and whenever it changes), \`stats\` (once a second), \`telemetry\` (of a source that has some: first, and when its standing changes), \`alert\` (a notice). Any number of viewers, up to ${viewers} of one process with those of its feed. A viewer that does not keep up loses the oldest events, and the next one says how many (\`dropped\`). Nothing is sent again: \`Last-Event-ID\` is ignored. Ends with the process.`,
    access: "url-key",
    answers: {
      200: {
        description: "Events; `data` is JSON.",
        mediaType: EVENTS_TYPE,
        schema: Type.Union([DetectionsEvent, DroneDataMessage, StateEvent, StatsEvent, TelemetryEvent, AlertEvent]),
      },
    },
    errors: ["process_not_found", "wrong_state", "viewers_limit_reached"],
    async handle(call) {
      const viewing = toViewing(call);
      const headers = { "Content-Type": EVENTS_TYPE, ...STREAM_HEADERS };
      if (call.raw.method === "HEAD") {
        await watching.expectProcess(viewing);
        return new Response(null, { headers });
      }
      return new Response(await watching.openEvents(viewing), { headers });
    },
  });

interface ViewingCall {
  readonly user: User;
  readonly params: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly raw: IncomingMessage;
  readonly address: string;
}

const toViewing = ({ user, params, signal, raw, address }: ViewingCall): Viewing => ({
  user,
  holder: { apiKey: readKey(raw), address },
  processUuid: params.process_uuid ?? "",
  signal,
  drop: () => raw.socket.destroy(),
});

const CLOSING =
  "One client at a time: a second one gets 409. Pinged every 20 s and closed when two pings go unanswered. Closed with 1000 when the process ends, with 1001 when the service is shut down.";

const SOCKETS = [
  {
    channel: "detection_data",
    id: "readDetectionData",
    tag: "Outputs",
    summary: "Websocket: one message for every frame on which inference ran",
    schema: DetectionMessage,
    words:
      "A client that does not keep up loses the oldest messages, and is told how many in the next one (`dropped`).",
  },
  {
    channel: "drone_data",
    id: "readDroneData",
    tag: "Outputs",
    summary: "Websocket: telemetry messages as received",
    schema: DroneDataMessage,
    words:
      "Whatever format they came in, in the native fields; of a source with static telemetry its one message, first thing. A client that does not keep up loses the oldest messages, and is told how many in the next one (`dropped`).",
  },
  {
    channel: "telemetry",
    id: "sendTelemetry",
    tag: "Telemetry",
    summary: "Websocket: where the camera is, sent by the client",
    schema: TelemetryMessage,
    words:
      'Each text frame is one JSON telemetry message, native or in the format of the source. Where the telemetry of the source does not come by `websocket`, the socket is refused with 409 and the reason. A message that is not valid is answered with `{"error": {…}}` and changes nothing; a valid one is not answered.',
  },
] as const;

function describeSocket({ channel, id, tag, summary, schema, words }: (typeof SOCKETS)[number]): AnyEndpoint {
  return defineEndpoint({
    method: "GET",
    path: `/process/{process_uuid}/${channel}`,
    tag,
    id,
    summary,
    description: `${words} ${CLOSING} The key comes as the header \`api_key\` or as \`?api_key=\`.`,
    access: "url-key",
    answers: {
      101: { description: "The websocket is open; each text frame is such a message.", schema },
      426: { description: "This address is to be opened as a websocket.", schema: Problem, mediaType: PROBLEM_TYPE },
    },
    errors: [
      "process_not_found",
      "socket_in_use",
      "wrong_state",
      ...(channel === "detection_data" ? (["graph_lacks"] as const) : []),
      ...(channel === "telemetry" ? (["telemetry_not_taken"] as const) : []),
    ],
    handle({ requestId }) {
      const detail = "This address is a websocket: open it with a websocket client, as ws:// or wss://.";
      const error = new ServiceError("upgrade_needed", { detail });
      const headers = { ...problemHeaders(error, requestId), ...REFUSAL_HEADERS[426], Connection: "Upgrade" };
      return { status: error.status, body: toProblem(error, requestId), headers };
    },
  });
}
