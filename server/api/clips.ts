/** Clips of recorded sources. */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { moment } from "../../schemas/api/sources.ts";
import { cutRecorded, readClip, type TimeRange } from "../media/recordings/clip-file.ts";
import type { Recordings } from "../media/recordings/recordings.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findSource } from "../store/sources.ts";
import { type AnyEndpoint, defineEndpoints } from "./endpoint.ts";
import { orElsewhere, type RecordingDeps } from "./recordings.ts";
import { FILE_ANSWERS, sendFile } from "./send-file.ts";

const define = defineEndpoints("Sources");

const TYPE = "video/mp4";
const MAX_SECONDS = 3600;

const ClipQuery = Type.Object({
  from: moment("Start of the clip."),
  to: moment(`End of the clip, at most ${MAX_SECONDS} seconds after its start.`),
});

interface ClipDeps extends Pick<RecordingDeps, "stallMs" | "forwarder"> {
  readonly sql: Sql;
  readonly recordings: Pick<Recordings, "findRange">;
}

export function clipEndpoints({ sql, recordings, stallMs, forwarder }: ClipDeps): readonly AnyEndpoint[] {
  return [
    define("GET", "/source/{source_uuid}/clip", "downloadClip", {
      summary: "Download a clip of a recorded stream: MP4",
      description:
        "Cut out of the recordings of a media-server source without encoding again. The first frame is the one on display at `from`, the last one the last before `to`. One second of the clip is one second of real time: where the recording has a gap, the last frame before it stays. `Windhover-Clip` is the time range of the frames, `Windhover-Gaps` lists the parts of the requested range without video, both as `from/to`.",
      access: "url-key",
      query: ClipQuery,
      answers: FILE_ANSWERS(TYPE),
      errors: [
        ...(["source_not_found", "recording_not_found", "recording_unavailable", "range_not_satisfiable"] as const),
        "storage_unavailable",
      ],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const uuid = call.params.source_uuid;
          const range = readTimes(call.query);
          const files = await recordings.findRange(call.user, uuid, range, call.hop !== null);
          const clip = await cutRecorded(files, range);
          const [newest] = files.slice(-1);
          if (clip === null || newest === undefined) {
            // Recordings are kept when their source is deleted.
            await findSource(sql, call.user.uuid, uuid);
            throw notRecorded(uuid);
          }
          const time = toText(clip.fromMs).slice(0, 19).replaceAll(":", "-");
          const etag = `"${createHash("sha256").update(clip.head).digest("base64url")}"`;
          const response = await sendFile(
            {
              ...{ path: "", type: TYPE, bytes: clip.bytes, etag, name: `${newest.alias} ${time}.mp4` },
              read: async (part) => readClip(clip, part),
            },
            call,
            stallMs,
          );
          response.headers.set("Windhover-Clip", toRange(clip));
          if (clip.gaps.length > 0)
            response.headers.set("Windhover-Gaps", clip.gaps.slice(0, 100).map(toRange).join(", "));
          return response;
        }),
    }),
  ];
}

function readTimes({ from, to }: Static<typeof ClipQuery>) {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (toMs > fromMs && toMs - fromMs <= MAX_SECONDS * 1000) return { fromMs, toMs };
  const message = `is out of range; expected a time after \`from\`, at most ${MAX_SECONDS} seconds later`;
  throw invalidInput([{ path: "to", message }]);
}

const notRecorded = (uuid: string): ServiceError =>
  new ServiceError("recording_not_found", {
    detail: `the source ${uuid} has no recording of this time; GET /sources/recordings?source_uuid=${uuid} lists what there is`,
  });

const toText = (ms: number): string => new Date(Math.round(ms)).toISOString();
const toRange = ({ fromMs, toMs }: TimeRange): string => `${toText(fromMs)}/${toText(toMs)}`;
