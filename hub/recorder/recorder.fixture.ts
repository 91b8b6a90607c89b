/** A recorder with all of its messages and files. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { RecordedSegment } from "../../schemas/hub.ts";
import { Recorder } from "./recorder.ts";
import type { RecorderOptions, RecordingMessage } from "./writer.ts";

export class TestRecording {
  readonly folder: string;
  readonly recorder: Recorder;
  readonly messages: RecordingMessage[] = [];
  readonly log: string[] = [];
  #waiting: (() => void)[] = [];

  private constructor(folder: string, options: Partial<RecorderOptions>) {
    this.folder = folder;
    this.recorder = new Recorder({
      recording: "one",
      path: "user/camera",
      folder,
      segmentSeconds: 600,
      reserveBytes: 0,
      readerBytes: 64 * 2 ** 20,
      notify: (message) => this.#note(message),
      log: (level, message, fields) => this.log.push(`${level}: ${message} ${JSON.stringify(fields)}`),
      ...options,
    });
  }

  static async open(t: TestContext, options: Partial<RecorderOptions> = {}): Promise<TestRecording> {
    return new TestRecording(await makeFolder(t), options);
  }

  /** The last report of each file, in order. */
  get segments(): RecordedSegment[] {
    const byIndex = new Map<number, RecordedSegment>();
    for (const message of this.messages) {
      if (message.type === "segment") byIndex.set(message.segment.index, message.segment);
    }
    return [...byIndex.values()];
  }

  /** Why it ended; undefined before. */
  get detail(): string | null | undefined {
    const ends = this.messages.filter((message) => message.type === "recorded");
    if (ends.length > 1) throw new Error("it ended more than once");
    return ends[0]?.detail;
  }

  file(index: number): string {
    return join(this.folder, "one", `${index}.mp4`);
  }

  async files(): Promise<string[]> {
    return (await readdir(join(this.folder, "one")).catch(() => [])).toSorted();
  }

  async until(isSo: () => boolean): Promise<void> {
    // The recorder's own timer does not keep the process alive.
    const alive = setInterval(() => {}, 1000);
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    clearInterval(alive);
  }

  #note(message: RecordingMessage): void {
    this.messages.push(message);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-recordings-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
