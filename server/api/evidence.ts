/** Clips and snapshots of notices, and how sources are recorded. */
import {
  ProcessRecordingChange,
  ProcessRecordingSetting,
  RecordingChange,
  RecordingSetting,
} from "../../schemas/api/recording-setting.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { SharedFiles } from "../files/open-files.ts";
import { ElsewhereError, type Recordings } from "../media/recordings/recordings.ts";
import type { RecordingModes } from "../processes/recording-modes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type FoundEvidence, findEvidence, readSnapshot } from "../store/evidence.ts";
import { findProcess } from "../store/processes.ts";
import {
  findProcessMode,
  findRecordingSetting,
  type RecordingSettingRow,
  saveProcessMode,
  saveRecordingSetting,
} from "../store/rings.ts";
import { findSource } from "../store/sources.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";
import { orElsewhere, type RecordingDeps } from "./recordings.ts";
import { FILE_ANSWERS, sendFile } from "./send-file.ts";

interface EvidenceEndpointDeps extends Pick<RecordingDeps, "stallMs" | "forwarder"> {
  readonly sql: Sql;
  readonly evidence: Pick<Evidence, "folder">;
  readonly files: SharedFiles | null;
  readonly nodeUuid: string;
}

const define = defineEndpoints("Alerts");
const defineSource = defineEndpoints("Sources");

const NOT_FOUND = ["notice_not_found", "evidence_not_found"] as const;

export function evidenceEndpoints(deps: EvidenceEndpointDeps): readonly AnyEndpoint[] {
  const { sql, evidence, files, nodeUuid, stallMs, forwarder } = deps;
  return [
    define("GET", "/notice/{notice_uuid}/clip", "downloadEvidenceClip", {
      summary: "Download the clip of a notice: MP4",
      description:
        "What its alert requested (`evidence.clip`), without encoding again. Until it is complete: 409 with `Retry-After`. It is kept as long as the notice.",
      access: "signed",
      answers: FILE_ANSWERS("video/mp4"),
      errors: [
        ...NOT_FOUND,
        "evidence_pending",
        "recording_unavailable",
        "range_not_satisfiable",
        "storage_unavailable",
      ],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const uuid = call.params.notice_uuid;
          const found = await expectEvidence(sql, call.user, uuid);
          if (found.state === "pending") throw pending(found);
          if (found.clipFromMs === null) throw noEvidence(found, "clip");
          const { storedKey, clipBytes: bytes, nodeUuid: holder } = found;
          const isHere = storedKey === null && (await evidence.folder.has(uuid));
          if (!isHere && storedKey === null && holder !== null && holder !== nodeUuid) throw new ElsewhereError(holder);
          if (!isHere && (storedKey === null || files === null)) throw noEvidence(found, "clip");
          const file = {
            ...{ path: evidence.folder.clipPath(uuid), type: "video/mp4", bytes, etag: `"${uuid}-${bytes}"` },
            name: nameOf(found, "mp4"),
          };
          const read =
            storedKey === null || files === null ? {} : { read: (range: Range) => files.read(storedKey, range) };
          return sendFile({ ...file, ...read }, call, stallMs);
        }),
    }),
    define("GET", "/notice/{notice_uuid}/snapshot", "downloadEvidenceSnapshot", {
      summary: "Download the snapshot of a notice: JPEG",
      description: "The frame of the notice, without boxes: `tracks` of the notice has them. Up to 1280 pixels wide.",
      access: "signed",
      answers: FILE_ANSWERS("image/jpeg"),
      errors: [...NOT_FOUND, "range_not_satisfiable"],
      async handle(call) {
        const uuid = call.params.notice_uuid;
        const found = await expectEvidence(sql, call.user, uuid);
        const jpeg = await readSnapshot(sql, uuid);
        if (jpeg === null) throw noEvidence(found, "snapshot");
        const file = {
          ...{
            path: "",
            type: "image/jpeg",
            bytes: jpeg.length,
            etag: `"${uuid}-snapshot"`,
            name: nameOf(found, "jpg"),
          },
          read: async ({ first, last }: Range) =>
            (async function* () {
              yield jpeg.subarray(first, last + 1);
            })(),
        };
        return sendFile(file, call, stallMs);
      },
    }),
  ];
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** `user` null: the URL was signed. */
async function expectEvidence(sql: Sql, user: User | null, uuid: string): Promise<FoundEvidence> {
  const found = await findEvidence(sql, uuid);
  if (found !== null && (user === null || user.uuid === found.userUuid)) return found;
  throw new ServiceError("evidence_not_found", {
    detail: `there is no notice ${uuid} with evidence; GET /notices lists yours`,
  });
}

const RETRY_SECONDS = 2;

function pending({ dueAt }: FoundEvidence): ServiceError {
  const seconds = Math.max(RETRY_SECONDS, Math.ceil((dueAt.getTime() - Date.now()) / 1000));
  return new ServiceError("evidence_pending", {
    detail: `the clip is not complete yet; try again in ${seconds} s, or wait for the notification evidence-ready`,
    retryAfterSeconds: seconds,
  });
}

function noEvidence({ state, missing }: FoundEvidence, part: "clip" | "snapshot"): ServiceError {
  const reason = missing.find((each) => each.part === part)?.reason ?? "its alert did not request it";
  return new ServiceError("evidence_not_found", { detail: `this notice has no ${part} (${state}): ${reason}` });
}

const nameOf = ({ alias, happenedAt }: FoundEvidence, extension: string): string =>
  `${alias} ${happenedAt.toISOString().slice(0, 19).replaceAll(":", "-")}.${extension}`;

/** How sources are recorded. */
export function recordingSettingEndpoints(
  sql: Sql,
  recordings: Pick<Recordings, "apply" | "whyNot">,
): readonly AnyEndpoint[] {
  const read = async (user: User, uuid: string): Promise<RecordingSetting> => {
    const row = await findRecordingSetting(sql, user.uuid, uuid);
    if (row !== null) return describe(uuid, row, recordings.whyNot(uuid));
    // Rejects.
    await findSource(sql, user.uuid, uuid);
    throw new Error("unreachable");
  };
  return [
    defineSource("GET", "/source/{source_uuid}/recording", "readRecordingSetting", {
      summary: "Get how a source is recorded",
      answers: { 200: { description: "The setting.", schema: RecordingSetting } },
      errors: ["source_not_found"],
      handle: async ({ user, params }) => ok(await read(user, params.source_uuid)),
    }),
    defineSource("PATCH", "/source/{source_uuid}/recording", "changeRecordingSetting", {
      summary: "Change how a source is recorded: start or stop recording now",
      description:
        "For streams that are published to the service, and for cameras while a process pulls them (default: `off`). `always` starts to record a live stream now, with the seconds before (`pre_roll_seconds`, as far as they were kept: set them while it is not recorded). `off` ends the recording. `on_alert` records `recordings.on_alert_seconds` from each notice of an alert on this source. Omitted fields keep their values. Takes effect within some seconds.",
      body: RecordingChange,
      answers: { 200: { description: "The changed setting.", schema: RecordingSetting } },
      errors: ["source_not_found", "not_recordable"],
      async handle({ user, params: { source_uuid: uuid }, body }) {
        const source = await findSource(sql, user.uuid, uuid);
        if (source.type === "file")
          throw new ServiceError("not_recordable", { detail: "only streams are recorded; a file is there already" });
        await saveRecordingSetting(sql, uuid, { mode: body.mode, preRollSeconds: body.pre_roll_seconds });
        await recordings.apply();
        return ok(await read(user, uuid));
      },
    }),
  ];
}

const describe = (source_uuid: string, row: RecordingSettingRow, detail: string | null): RecordingSetting => ({
  ...(detail !== null && { detail }),
  ...{ source_uuid, mode: row.mode, pre_roll_seconds: row.preRollSeconds, recording_uuid: row.recordingUuid },
  wanted_until: row.wantedUntil?.toISOString() ?? null,
});

const defineProcess = defineEndpoints("Process");

/** Which processes of keys with process recording are recorded. */
export function processRecordingModeEndpoints(
  sql: Sql,
  modes: Pick<RecordingModes, "refresh">,
): readonly AnyEndpoint[] {
  const read = async (
    { uuid: userUuid, hasRecording }: User,
    process_uuid: string,
  ): Promise<ProcessRecordingSetting> => {
    await expectProcess(sql, userUuid, process_uuid);
    if (!hasRecording)
      throw new ServiceError("not_recordable", { detail: "processes of this key are not recorded; ask the operator" });
    const row = await findProcessMode(sql, process_uuid);
    return { process_uuid, mode: row?.mode ?? "always", wanted_until: row?.wantedUntil?.toISOString() ?? null };
  };
  return [
    defineProcess("GET", "/process/{process_uuid}/recording", "readProcessRecordingSetting", {
      summary: "Get whether the processed video of a process is recorded",
      answers: { 200: { description: "The setting.", schema: ProcessRecordingSetting } },
      errors: ["process_not_found", "not_recordable"],
      handle: async ({ user, params }) => ok(await read(user, params.process_uuid)),
    }),
    defineProcess("PATCH", "/process/{process_uuid}/recording", "changeProcessRecordingSetting", {
      summary: "Start or stop recording the processed video of a process",
      description:
        "For keys with process recording. `on_alert` records `recordings.on_alert_seconds` from each notice of the process on. Takes effect within some seconds, and holds after restarts.",
      body: ProcessRecordingChange,
      answers: { 200: { description: "The changed setting.", schema: ProcessRecordingSetting } },
      errors: ["process_not_found", "not_recordable"],
      async handle({ user, params: { process_uuid: uuid }, body: { mode } }) {
        await read(user, uuid);
        await saveProcessMode(sql, uuid, mode);
        await modes.refresh();
        return ok(await read(user, uuid));
      },
    }),
  ];
}

async function expectProcess(sql: Sql, userUuid: string, uuid: string): Promise<void> {
  if ((await findProcess(sql, userUuid, uuid)) !== null) return;
  throw new ServiceError("process_not_found", { detail: `there is no process ${uuid}` });
}
