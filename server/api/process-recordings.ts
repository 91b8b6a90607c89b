/** Recordings of processes, for keys that have process recording. */
import { Type } from "typebox";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import type { ProcessRecording, ProcessRecordings } from "../media/recordings/process-recordings.ts";
import type { Signer } from "../media/sign.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findProcess } from "../store/processes.ts";
import { isKeyGood } from "../store/recording-subjects.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { FILE_ANSWERS, sendFile } from "./send-file.ts";

interface ProcessRecordingNeeds {
  readonly sql: Sql;
  readonly recordings: Pick<ProcessRecordings, "find">;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
}

const TYPE = "video/mp4";
const FileIndex = Type.String({ pattern: "^(0|[1-9][0-9]{0,8})$", description: "Of the file, from 0 on." });

export function processRecordingEndpoints({ sql, recordings, stallMs }: ProcessRecordingNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/recording/{index}",
      tag: "Process",
      id: "downloadProcessRecording",
      summary: "One file of the processed video of a process: fragmented MP4",
      description:
        "Of keys with process recording. A new file begins with each start of its runner, and when one is as long as recordings are cut; `recordings` of the process lists them. They are kept as long as recordings are. Whole, or the part that `Range` asks for; while it runs, what there is of it.",
      access: "signed",
      params: Type.Object({ index: FileIndex }),
      answers: FILE_ANSWERS(TYPE),
      errors: ["recording_not_found", "range_not_satisfiable"],
      async handle(call) {
        const uuid = call.params.process_uuid ?? "";
        const index = Number(call.params.index);
        const mayHave = call.user === null ? await isKeyGood(sql, uuid) : await isOwn(sql, call.user, uuid);
        const found = mayHave ? await recordings.find(uuid, index) : null;
        if (found === null) throw notFound(uuid, index);
        const { path, sizeBytes } = found;
        const etag = `"${uuid}-${index}-${sizeBytes}"`;
        const file = { path, type: TYPE, bytes: sizeBytes, etag, name: `process ${uuid} ${index}.mp4` };
        return sendFile(file, call, stallMs);
      },
    }),
  ];
}

const isOwn = async (sql: Sql, { uuid, hasRecording }: User, processUuid: string): Promise<boolean> =>
  hasRecording && (await findProcess(sql, uuid, processUuid)) !== null;

/** In the process's record, with addresses that are good for a while. */
export const describeFiles = (
  files: readonly ProcessRecording[],
  uuid: string,
  signer: Pick<Signer, "sign">,
  publicUrl: string,
): ProcessRecord["recordings"] =>
  files.map(({ index, sizeBytes, modifiedAt }) => ({
    index,
    written_at: modifiedAt.toISOString(),
    size_bytes: sizeBytes,
    download_url: `${publicUrl}/process/${uuid}/recording/${index}?token=${signer.sign(`process/${uuid}`)}`,
  }));

const notFound = (uuid: string, index: number): ServiceError =>
  new ServiceError("recording_not_found", { detail: `there is no recording ${index} of process ${uuid}` });
