/** Telemetry samples of a file as doubles, compressed: small in the database, and read without parsing. */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { TelemetrySample } from "../../schemas/telemetry.ts";

/** Time, two fields of view, four numbers of the position, three of the attitude. NaN: null. */
const FIELDS = 10;
/** The limit of the element `telemetry`. */
export const MAX_SAMPLES = 200_000;
const MAX_BYTES = MAX_SAMPLES * FIELDS * Float64Array.BYTES_PER_ELEMENT;

/** Collects samples in the order of a file, which may not be that of time. */
export class SampleWriter {
  #values = new Float64Array(1024 * FIELDS);
  count = 0;

  get isFull(): boolean {
    return this.count === MAX_SAMPLES;
  }

  add(timeMs: number, { hfov, vfov, position, attitude }: TelemetrySample): void {
    const at = this.count * FIELDS;
    if (at === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    const {
      latitude = Number.NaN,
      longitude = Number.NaN,
      altitude = Number.NaN,
      relAltitude = Number.NaN,
    } = position ?? {};
    const { yaw = Number.NaN, pitch = Number.NaN, roll = Number.NaN } = attitude ?? {};
    const view = [hfov ?? Number.NaN, vfov ?? Number.NaN];
    this.#values.set([timeMs, ...view, latitude, longitude, altitude, relAltitude, yaw, pitch, roll], at);
    this.count += 1;
  }

  timeAt(index: number): number {
    return this.#values[index * FIELDS] ?? Number.NaN;
  }

  /** Sorted by time. */
  async finish(): Promise<Buffer> {
    const order = Array.from({ length: this.count }, (_, index) => index);
    order.sort((a, b) => this.timeAt(a) - this.timeAt(b));
    const sorted = new Float64Array(this.count * FIELDS);
    for (const [to, from] of order.entries())
      sorted.set(this.#values.subarray(from * FIELDS, (from + 1) * FIELDS), to * FIELDS);
    return promisify(gzip)(Buffer.from(sorted.buffer));
  }
}

/** Samples in the order of time, which are written at the time of the video. */
export class StoredSamples {
  readonly #values: Float64Array;
  readonly #offsetMs: number;
  readonly #errorMs: number;

  private constructor(values: Float64Array, offsetMs: number, errorMs: number) {
    this.#values = values;
    this.#offsetMs = offsetMs;
    this.#errorMs = errorMs;
  }

  static async open(content: Buffer, offsetMs: number, errorMs: number): Promise<StoredSamples> {
    const bytes = await promisify(gunzip)(content, { maxOutputLength: MAX_BYTES });
    // Copied: the bytes may not begin at a multiple of eight.
    return new StoredSamples(new Float64Array(new Uint8Array(bytes).buffer), offsetMs, errorMs);
  }

  get count(): number {
    return this.#values.length / FIELDS;
  }

  /** The first sample at or after this time in the video. */
  findIndex(videoMs: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#values[middle * FIELDS] ?? 0) + this.#offsetMs < videoMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** `epochMs`: Unix time of the first frame of the video. */
  slice(from: number, to: number, epochMs: number): readonly TelemetrySample[] {
    return Array.from({ length: Math.max(0, Math.min(to, this.count) - from) }, (_, index) =>
      this.#read((from + index) * FIELDS, epochMs),
    );
  }

  #read(at: number, epochMs: number): TelemetrySample {
    const [
      timeMs = 0,
      hfov = 0,
      vfov = 0,
      latitude = 0,
      longitude = 0,
      altitude = 0,
      relAltitude = 0,
      yaw = 0,
      pitch = 0,
      roll = 0,
    ] = this.#values.subarray(at, at + FIELDS);
    const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);
    return {
      timeMs: epochMs + timeMs + this.#offsetMs,
      receivedMs: null,
      videoErrorMs: this.#errorMs,
      hfov: orNull(hfov),
      vfov: orNull(vfov),
      position: Number.isNaN(latitude) ? null : { latitude, longitude, altitude, relAltitude },
      attitude: Number.isNaN(yaw) ? null : { yaw, pitch, roll },
    };
  }
}
