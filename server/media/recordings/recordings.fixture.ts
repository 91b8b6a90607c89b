/** Recordings over a real database and a real folder; the test writes and reports what the media hub would. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RecordedSegment } from "../../../schemas/hub.ts";
import { poll } from "../../../test/watch.fixture.ts";
import { makeConfig } from "../../api/app.fixture.ts";
import { createKey } from "../../keys/keys.ts";
import type { Sql } from "../../store/client.ts";
import { silentLog, testDatabase } from "../../store/database.fixture.ts";
import { addNode } from "../../store/nodes.fixture.ts";
import type { RecordingRow } from "../../store/recordings.ts";
import type { User } from "../../user.ts";
import { newUuid } from "../../uuid.ts";
import { KEY_ORDER } from "../media-service.fixture.ts";
import { listProcessFolders } from "./recording-files.ts";
import { Recordings } from "./recordings.ts";

export const DAY_MS = 86_400_000;

export class RecordingStage {
  readonly sql: Sql;
  readonly dataDir: string;
  readonly user: User;
  readonly settings: Readonly<Record<string, string>>;
  readonly #close: () => Promise<void>;
  readonly allowed: boolean[] = [];

  private constructor(
    parts: Pick<RecordingStage, "sql" | "dataDir" | "user" | "settings">,
    close: () => Promise<void>,
  ) {
    ({ sql: this.sql, dataDir: this.dataDir, user: this.user, settings: this.settings } = parts);
    this.#close = close;
  }

  static async open(settings: Readonly<Record<string, string>> = {}): Promise<RecordingStage> {
    const dataDir = await mkdtemp(join(tmpdir(), "windhover-recordings-"));
    const database = await testDatabase();
    const { row } = await createKey(database.sql, { ...KEY_ORDER, username: "ada" });
    const user = { uuid: row.uuid } as User;
    return new RecordingStage({ sql: database.sql, dataDir, user, settings }, async () => {
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    });
  }

  /** As a server that starts does it; the next one is another node. */
  async begin(settings: Readonly<Record<string, string>> = {}): Promise<Recordings> {
    const nodeUuid = newUuid();
    await addNode(this.sql, nodeUuid);
    const still = { RECORDINGS_RESERVE_BYTES: "0" };
    const config = makeConfig({ DATA_DIR: this.dataDir, ...still, ...this.settings, ...settings });
    return Recordings.open({
      ...{ sql: this.sql, config, log: silentLog, nodeUuid, sweepMs: 3_600_000 },
      otherFolders: listProcessFolders(this.dataDir),
      onAllowed: (isAllowed) => void this.allowed.push(isAllowed),
    });
  }

  /** Published, recorded and reported, up to its end if it has one. */
  async record(
    recordings: Recordings,
    order: { readonly startedAtMs?: number; readonly files?: number; readonly isOpen?: boolean } = {},
  ) {
    const { startedAtMs = Date.now(), files = 1, isOpen = false } = order;
    const uuid = recordings.name({ userUuid: this.user.uuid, sourceUuid: newUuid(), alias: "yard", path: "ada/yard" });
    if (uuid === null) throw new Error("it may not be recorded");
    for (let index = 0; index < files; index++) {
      const segment = {
        recording: uuid,
        path: "ada/yard",
        index,
        startedAtMs: startedAtMs + index * 1000,
        durationMs: 1000,
        bytes: 10,
      };
      await this.write(recordings, uuid, index);
      recordings.handle({ type: "segment", segment: segment satisfies RecordedSegment });
    }
    if (!isOpen)
      recordings.handle({ type: "recorded", recording: uuid, stoppedAtMs: startedAtMs + files * 1000, detail: null });
    await this.until(recordings, (rows) =>
      rows.some((row) => row.uuid === uuid && row.segments.length === files && (isOpen || row.stoppedAt !== null)),
    );
    return uuid;
  }

  async write(recordings: Recordings, uuid: string, index: number): Promise<string> {
    const path = recordings.folder.segmentPath(uuid, index);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "0123456789");
    return path;
  }

  async list(recordings: Recordings): Promise<readonly RecordingRow[]> {
    return (await recordings.list(this.user, {})).rows;
  }

  async until(
    recordings: Recordings,
    holds: (rows: readonly RecordingRow[]) => boolean,
  ): Promise<readonly RecordingRow[]> {
    return poll("recordings are as expected", async () => {
      const rows = await this.list(recordings);
      return holds(rows) && rows;
    });
  }

  close(): Promise<void> {
    return this.#close();
  }
}
