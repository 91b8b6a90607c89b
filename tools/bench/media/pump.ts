/** Publishes the film in real time, and knows when each picture went out. */
import { NAL, nalType } from "../../../media/h264/nal.ts";
import { publishRtmp } from "../../../media/rtmp/publisher.ts";
import { publishRtsp } from "../../../media/rtsp/publisher.ts";
import { type Film, FRAMES_PER_SECOND } from "./film.ts";
import { makeStamp } from "./stamp.ts";

export interface Pump {
  /** By the number of the picture. */
  readonly sentAtMs: readonly number[];
  readonly refused: number;
  stop(): Promise<void>;
}

export async function startPump(url: string, { tracks, pictures }: Film): Promise<Pump> {
  const publisher = await (url.startsWith("rtsp:") ? publishRtsp : publishRtmp)(url, tracks);
  const sentAtMs: number[] = [];
  let refused = 0;
  let timer: NodeJS.Timeout | undefined;
  const beganMs = performance.now();
  const next = (): void => {
    const number = sentAtMs.length;
    const nals = pictures[number % pictures.length] ?? [];
    const firstSlice = nals.findIndex((nal) => [NAL.slice, NAL.idr].includes(nalType(nal) as 1));
    const parts = [...nals.slice(0, firstSlice), makeStamp(number), ...nals.slice(firstSlice)];
    const isKey = nals.some((nal) => nalType(nal) === NAL.idr);
    const ptsUs = Math.round((number * 1e6) / FRAMES_PER_SECOND);
    sentAtMs.push(performance.now());
    if (!publisher.send({ kind: "video", dtsUs: ptsUs, ptsUs, captureMs: Date.now(), isKey, parts })) refused++;
    timer = setTimeout(next, Math.max(0, beganMs + (sentAtMs.length * 1000) / FRAMES_PER_SECOND - performance.now()));
  };
  next();
  return {
    sentAtMs,
    get refused() {
      return refused;
    },
    async stop() {
      clearTimeout(timer);
      await publisher.close();
    },
  };
}
