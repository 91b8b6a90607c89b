/** The KLV metadata of a transport stream and the times of its pictures. Safe for any bytes; memory is bounded. */
import { TsDemuxer } from "./demuxer.ts";
import { isKlv, MAX_KLV_BYTES, splitCells } from "./klv-cells.ts";
import { STREAM_TYPE } from "./packet.ts";

export interface KlvUnit {
  /** On the time line of the stream. Null: it has none. */
  readonly ptsUs: number | null;
  /** When the last picture that begins before it is shown; null before the first. */
  readonly pictureUs: number | null;
  readonly data: Buffer;
}

/** MPEG-1 and -2, MPEG-4, H.264, H.265. */
const VIDEO_STREAM_TYPES: ReadonlySet<number> = new Set([0x01, 0x02, 0x10, STREAM_TYPE.h264, STREAM_TYPE.h265]);
/** Pictures at the start of a stream whose times are compared: with B-frames the first one is not shown first. */
const FIRST_PICTURES = 16;

export class KlvUnits {
  readonly #demuxer: TsDemuxer;
  #pictures = 0;
  #pictureUs: number | null = null;
  /** The stream has, or had, metadata. */
  hasKlv = false;
  /** When the first picture is shown, and the last one so far; null before it. */
  firstPictureUs: number | null = null;
  lastPictureUs: number | null = null;

  constructor(onUnit: (unit: KlvUnit) => void) {
    this.#demuxer = new TsDemuxer({
      ...{ unitBytes: MAX_KLV_BYTES, junkBytes: Number.POSITIVE_INFINITY },
      onStreams: (streams) => {
        this.hasKlv ||= streams.some(isKlv);
        return streams.filter((stream) => isKlv(stream) || VIDEO_STREAM_TYPES.has(stream.type));
      },
      onBegin: (stream, ptsUs) => {
        if (isKlv(stream)) return true;
        if (ptsUs !== null) this.#notePicture(ptsUs);
        return false;
      },
      onPacket: ({ ptsUs, data }) => {
        for (const unit of splitCells(data)) onUnit({ ptsUs, pictureUs: this.#pictureUs, data: unit });
      },
    });
  }

  push(chunk: Buffer): void {
    this.#demuxer.push(chunk);
  }

  /** What has arrived of the last units, whose length may be unknown. */
  end(): void {
    this.#demuxer.flush();
  }

  #notePicture(ptsUs: number): void {
    this.#pictureUs = ptsUs;
    this.lastPictureUs = Math.max(ptsUs, this.lastPictureUs ?? ptsUs);
    if (this.#pictures < FIRST_PICTURES) this.firstPictureUs = Math.min(ptsUs, this.firstPictureUs ?? ptsUs);
    this.#pictures += 1;
  }
}
