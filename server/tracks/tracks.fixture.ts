/** Processes in a test database, and reports of their tracks. */
import type { ReportedTrack, TrackPoint } from "../../schemas/track-report.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import { newUuid } from "../uuid.ts";
import type { LoggedProcess } from "./track-log.ts";

export const START_MS = 1_700_000_000_000;

export async function insertProcess(sql: Sql): Promise<string> {
  const [userUuid, uuid] = [newUuid(), newUuid()];
  await sql`
    insert into users ${sql({
      ...{ uuid: userUuid, username: userUuid, masterUuid: null, product: "standard", keyId: userUuid },
      ...{ keySha256: Buffer.alloc(32), hasTrackLogger: true, hasRecording: false, hasEnhancement: false },
      isGraphAuthor: false,
    })}`;
  await sql`
    insert into processes ${sql({
      ...{ uuid, userUuid, fence: 1, sourceUuid: newUuid(), sourceUrl: "rtsp://camera", graph: "detect" },
      ...{ params: sql.json({}), hasTrackLogger: true, desired: "running", state: "running" },
    })}`;
  return uuid;
}

export const pointOf = (second: number, latitude: number | null = null): TrackPoint => ({
  ...{ timeMs: START_MS + second * 1000, confidence: 0.8, box: [1, 2.25, 3, 4] },
  spot:
    latitude === null
      ? null
      : { latitude, longitude: 11.5, altitude: 519.25, errorM: 1.5, speedMps: null, heading: null },
});

export const reported = (id: number, change: Partial<ReportedTrack> = {}): ReportedTrack => ({
  ...{ id, classId: 2, className: "car", firstSeenMs: START_MS, lastSeenMs: START_MS + 1000, sightings: 2 },
  ...{ confidence: { best: 0.9, mean: 0.7, least: 0.5 }, box: [1, 2.25, 3, 4], isLive: true },
  ...{ pointsBefore: 0, points: [pointOf(0)] },
  ...change,
});

/** Emits what the test wants. */
export class TestProcess implements LoggedProcess {
  readonly row: LoggedProcess["row"];
  readonly fence = 1;
  #listener: (notice: ProcessNotice) => void = () => {};

  constructor(uuid: string, change: Partial<LoggedProcess["row"]> = {}) {
    this.row = { uuid, hasTrackLogger: true, nextTrackId: 1, ...change };
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    this.#listener = listener;
    return () => {};
  }

  emit(notice: ProcessNotice): void {
    this.#listener(notice);
  }

  report(...tracks: readonly ReportedTrack[]): void {
    this.emit({ type: "message", channel: "track_report", message: { tracks: [...tracks] } });
  }
}
