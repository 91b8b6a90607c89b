/** What readers of all versions of the format share. */
import type { TrackEntry } from "../../schemas/detection-message.ts";

/** The first line of each part; later lines of this kind change some of it. */
export interface PartHeader {
  readonly version: number;
  readonly process: string;
  /** `source_uri` of the messages. */
  readonly source: string;
  /** Capture time before the first difference. */
  readonly time: string;
  /** Capture time of second 0 of a video file; absent for live sources. */
  readonly video_start?: string;
  /** Of the input in pixels; absent while unknown. */
  readonly width?: number;
  readonly height?: number;
  /** `class_id` and `class_name`: objects have an index into this list. */
  readonly classes: readonly (readonly [number, string])[];
}

/** A line that no version of this service has written. */
export class LineFault extends Error {
  override readonly name = "LineFault";
}

/** Of the lines of one part, which are differences to those before. */
export interface ObjectReader {
  /** An object is null if its class is unknown. Throws `LineFault`. */
  read(
    line: readonly unknown[],
    header: PartHeader,
  ): { readonly tracks: readonly (TrackEntry | null)[]; readonly ageMs: number | undefined };
}
