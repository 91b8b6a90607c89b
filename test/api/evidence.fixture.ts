/** Evidence of a real process: a video with a mark in every frame, and whether a clip has the frame of its notice. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { keepFileSync } from "../kept-files.fixture.ts";
import { poll } from "../watch.fixture.ts";
import type { ServiceClient } from "./service.fixture.ts";

const FPS = 10;
const MARK = 16;
const MARKS = 48;

/** Longer than it takes to add an alert on a busy machine. */
export const CLIP_SECONDS = 14.4;

/** A white square at the top of the video that moves by its width with every frame. */
export function makeMarked(clip: string, seconds: number): string {
  const filter = [
    `[0:v]fps=${FPS},scale=${MARK * MARKS}:-2,drawbox=x=0:y=0:w=iw:h=${MARK}:color=black:t=fill[video]`,
    `color=white:size=${MARK}x${MARK}:rate=${FPS}[mark]`,
    `[video][mark]overlay=x='mod(n\\,${MARKS})*${MARK}':y=0:shortest=1`,
  ].join(";");
  const encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", String(FPS), "-bf", "0"];
  const words = ["-v", "error", "-y", "-i", clip, "-t", String(seconds), "-filter_complex", filter, ...encode];
  return keepFileSync([...words, "mp4"], (path) => void execFileSync("ffmpeg", [...words, path]));
}

/** Which of the places has the mark. */
function readMark(...input: readonly string[]): number {
  const args = ["-v", "error", ...input, "-frames:v", "1", "-vf", `crop=iw:${MARK}:0:0,scale=${MARKS}:1:flags=area`];
  const pixels = execFileSync("ffmpeg", [...args, "-f", "rawvideo", "-pix_fmt", "gray", "-"]);
  assert.equal(pixels.length, MARKS);
  const brightest = Math.max(...pixels);
  assert.ok(brightest > 150, `there is no mark in ${[...pixels].join(" ")}`);
  return pixels.indexOf(brightest);
}

/** How long the clip of a notice is, and which frames of the video get an inference. */
interface Setting {
  readonly beforeSeconds: number;
  readonly afterSeconds: number;
  readonly every: number;
}

/** Processes of a service, and their notices. */
export class Evidence {
  service: ServiceClient;
  readonly #folder: string;
  readonly #setting: Setting;

  constructor(service: ServiceClient, folder: string, setting: Setting) {
    this.service = service;
    this.#folder = folder;
    this.#setting = setting;
  }

  async startOn(source: SourceRecord): Promise<string> {
    const json = { params: { every: this.#setting.every } };
    const path = `/start?source_uuid=${source.uuid}`;
    return (await this.service.expect<StartedProcess>(201, "POST", path, { json })).process_uuid;
  }

  /** Notices when a person is at either side. */
  addAlert(process: string, boxes = false): Promise<AlertRecord> {
    const { beforeSeconds, afterSeconds } = this.#setting;
    const json = {
      ...{ alias: "anyone", type: "filter-search", filter: { class_names: ["person"] } },
      trigger: { for_seconds: 0.2, once_per_track: true },
      evidence: {
        clip: { before_seconds: beforeSeconds, after_seconds: afterSeconds, boxes },
        snapshot: true,
      },
    };
    return this.service.expect<AlertRecord>(201, "POST", `/alert/${process}`, { json });
  }

  /** Retries: the service may be gone for a moment. */
  async list(query: string): Promise<readonly NoticeRecord[]> {
    const answer = await this.service.send("GET", `/notices?${query}`, {}).catch(() => null);
    return answer?.status === 200 ? (JSON.parse(answer.text) as { notices: NoticeRecord[] }).notices : [];
  }

  /** A new notice, early enough for a kill within its range. */
  next(alert: AlertRecord, fromMs: number): Promise<NoticeRecord> {
    return poll(
      "a notice with enough video before it",
      async () => (await this.list(`alert=${alert.uuid}&from=${new Date(fromMs).toISOString()}`)).at(-1) ?? null,
      { limitMs: 240_000 },
    );
  }

  ended(notice: NoticeRecord): Promise<NoticeRecord> {
    return poll("its evidence is complete", async () => {
      const answer = await this.service.send("GET", `/notice/${notice.uuid}`, {}).catch(() => null);
      const found = answer?.status === 200 ? (JSON.parse(answer.text) as NoticeRecord) : null;
      return found !== null && found.evidence?.state !== "pending" && found;
    });
  }

  async #download(url: string, name: string): Promise<string> {
    // The port of the service changes when it is started again.
    const { pathname, search } = new URL(url);
    const response = await fetch(`${this.service.url}${pathname}${search}`);
    assert.equal(response.status, 200, `${url}: ${response.status}`);
    const file = join(this.#folder, name);
    writeFileSync(file, Buffer.from(await response.arrayBuffer()));
    return file;
  }

  /** The clip has the frame of the snapshot at the time of the notice. */
  async checkFrame({ timestamp, clip_url, snapshot_url, evidence }: NoticeRecord): Promise<void> {
    const picture = await this.#download(snapshot_url ?? "", "snapshot.jpg");
    const video = await this.#download(clip_url ?? "", "clip.mp4");
    const seconds = (Date.parse(timestamp) - Date.parse(evidence?.clip?.from ?? "")) / 1000;
    const at = Math.max(0, seconds - 0.5 / FPS).toFixed(3);
    assert.equal(readMark("-ss", at, "-i", video), readMark("-i", picture), `at ${at} s of the clip`);
  }
}
