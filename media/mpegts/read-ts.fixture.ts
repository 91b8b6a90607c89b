/** Reads the pictures and the metadata of a transport stream. */
import { TsDemuxer } from "./demuxer.ts";
import { isKlv, splitCells } from "./klv-cells.ts";

export interface ReadTs {
  readonly units: readonly { readonly data: Buffer; readonly ptsUs: number | null }[];
  /** Their times in microseconds. */
  readonly pictures: readonly number[];
  /** `stream_type` of the metadata. */
  readonly type: number | null;
}

export function readTs(bytes: Buffer): ReadTs {
  const [units, pictures]: [ReadTs["units"][number][], number[]] = [[], []];
  let type: number | null = null;
  const demuxer = new TsDemuxer({
    unitBytes: 2 ** 22,
    onStreams: (streams) => {
      type = streams.find(isKlv)?.type ?? type;
      return streams;
    },
    onPacket({ stream, ptsUs, data }) {
      if (!isKlv(stream)) pictures.push(ptsUs ?? Number.NaN);
      else for (const unit of splitCells(data)) units.push({ data: Buffer.from(unit), ptsUs });
    },
  });
  demuxer.push(bytes);
  demuxer.flush();
  return { units, pictures, type };
}
