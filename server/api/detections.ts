/** Stored detections of processes, and positions of their cameras. */
import { type Static, Type } from "typebox";
import { sourceTime } from "../../schemas/api/clips.ts";
import { CameraMessage } from "../../schemas/camera-message.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import type { StoredDetections } from "../detections/detections.ts";
import { type MessageRange, writeLines } from "../detections/read-file.ts";
import { invalidInput } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findProcess, type ProcessView } from "../store/processes.ts";
import type { User } from "../user.ts";
import { acceptsGzip } from "./answers.ts";
import type { ApiCall } from "./context.ts";
import { type AnyEndpoint, defineEndpoints } from "./endpoint.ts";
import type { ForwardedCall } from "./forward.ts";
import { processNotFound } from "./processes.ts";
import type { RecordingDeps } from "./recordings.ts";
import { sendPieces, startPieces } from "./send-file.ts";

const define = defineEndpoints("Process");

const TYPE = "application/x-ndjson";

const DetectionsQuery = Type.Object({
  from: Type.Optional(sourceTime("First capture time. Default: the beginning.")),
  to: Type.Optional(sourceTime("Messages before this capture time. Default: the end.")),
});

interface DetectionsDeps extends Pick<RecordingDeps, "stallMs" | "forwarder"> {
  readonly sql: Sql;
  readonly detections: Pick<StoredDetections, "read" | "readCameras" | "findHolder">;
}

interface StoredCall extends Pick<ApiCall, "raw" | "log" | "hop"> {
  readonly user: User;
  readonly params: { readonly process_uuid: string };
  readonly query: Static<typeof DetectionsQuery>;
}

export function detectionEndpoints({ sql, detections, stallMs, forwarder }: DetectionsDeps): readonly AnyEndpoint[] {
  const send = async (
    call: StoredCall & ForwardedCall,
    read: (uuid: string, range: MessageRange) => AsyncIterable<unknown>,
  ): Promise<Response> => {
    const { user, params, query, raw, log } = call;
    const uuid = params.process_uuid;
    const process = await findProcess(sql, user.uuid, uuid);
    if (process === null) throw processNotFound(uuid);
    const range = readRange(query, process);
    const holder = forwarder == null || call.hop !== null ? null : await detections.findHolder(process);
    // If that node cannot be reached, the answer has what is here.
    const passed = holder === null ? null : await forwarder?.toNode(call, holder);
    if (passed != null) return passed;
    const isGzip = acceptsGzip(raw.headers["accept-encoding"]);
    const headers = {
      ...{ "Content-Type": TYPE, "Cache-Control": "private, no-store", Vary: "Accept-Encoding" },
      ...(isGzip && { "Content-Encoding": "gzip" }),
    };
    if (raw.method === "HEAD") return new Response(null, { headers });
    const pieces = await startPieces(writeLines(read(uuid, range)), isGzip);
    const onFault = (error: unknown) => log.warn({ err: error }, "stored detections aborted");
    return new Response(sendPieces(pieces, { raw, stallMs, onFault }), { headers });
  };
  return [
    define("GET", "/process/{process_uuid}/detections", "streamDetections", {
      summary: "Get the stored detections of a process",
      description:
        "One message per line, as on the socket `detection_data`, oldest first; of a process that runs, what it has sent so far. Messages are stored while recording is enabled and the disk has space, and are kept for the retention time of recordings (`recordings.retention_days`). A process without stored messages in this range gets an empty answer.",
      query: DetectionsQuery,
      answers: { 200: { description: "One JSON message per line.", mediaType: TYPE, schema: DetectionMessage } },
      errors: ["process_not_found", "storage_unavailable"],
      handle: (call) => send(call, (uuid, range) => detections.read(uuid, range)),
    }),
    define("GET", "/process/{process_uuid}/camera", "streamCamera", {
      summary: "Get the stored positions of the camera of a process",
      description:
        "One message per line, as the event `camera`: about one per second of video, oldest first, with the ground that the camera saw. Stored and kept with the detections of the process. Empty for a source without telemetry.",
      query: DetectionsQuery,
      answers: { 200: { description: "One JSON message per line.", mediaType: TYPE, schema: CameraMessage } },
      errors: ["process_not_found", "storage_unavailable"],
      handle: (call) => send(call, (uuid, range) => detections.readCameras(uuid, range)),
    }),
  ];
}

function readRange({ from, to }: Static<typeof DetectionsQuery>, process: ProcessView): MessageRange {
  const faults: { path: string; message: string }[] = [];
  const read = (path: "from" | "to", text: string | undefined, otherwise: number): number => {
    if (text === undefined) return otherwise;
    if (text.includes("-")) return Date.parse(text);
    // A live source has no lost frames to count.
    if (process.framesLost !== null && process.startedAt !== null)
      return process.startedAt.getTime() + Math.round(Number(text) * 1000);
    faults.push({ path, message: "is a number of seconds; expected a time, as the source of this process is live" });
    return otherwise;
  };
  const fromMs = read("from", from, Number.NEGATIVE_INFINITY);
  const toMs = read("to", to, Number.POSITIVE_INFINITY);
  if (faults.length === 0 && !(toMs > fromMs)) faults.push({ path: "to", message: "expected a time after `from`" });
  if (faults.length > 0) throw invalidInput(faults);
  return { fromMs, toMs };
}
