/** Short streams in FLV files, and their packets. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { AccessUnit } from "../../media/access-unit.ts";
import { NAL, nalType } from "../../media/h264/nal.ts";
import { keepFile } from "../../test/kept-files.fixture.ts";
import { ffmpeg } from "./rtmp.fixture.ts";

export interface ClipOptions {
  readonly frames?: number;
  readonly size?: string;
  readonly bFrames?: number;
  readonly hasSound?: boolean;
}

/** 25 pictures a second, a keyframe every 12. */
export async function makeFlv({
  frames = 50,
  size = "160x120",
  bFrames = 0,
  hasSound = false,
}: ClipOptions = {}): Promise<string> {
  const video = `-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf ${bFrames} -b_strategy 0 -frames:v ${frames}`;
  const sound = hasSound ? `-f lavfi -i sine=frequency=440:duration=${frames / 25}` : "";
  const line = `-f lavfi -i testsrc=size=${size}:rate=25 ${sound} ${video} -c:a aac -f flv`;
  const args = line.split(/\s+/);
  return keepFile([...args, "flv"], async (path) => {
    const { code, output } = await ffmpeg(...args, path);
    assert.equal(code, 0, output);
  });
}

/** One picture or audio frame: milliseconds since the first displayed picture, and a digest of its bytes. */
export interface Packet {
  readonly kind: "video" | "audio";
  readonly dtsMs: number;
  readonly ptsMs: number;
  readonly bytes: number;
  readonly digest: string;
}

export async function readPackets(file: string): Promise<Packet[]> {
  const { code, output } = await ffmpeg("-i", file, "-map", "0", "-c", "copy", "-f", "framemd5", "-");
  assert.equal(code, 0, output);
  const kinds = new Map([...output.matchAll(/^#media_type (\d+): (video|audio)$/gm)].map(([, id, kind]) => [id, kind]));
  const rows = output.split("\n").filter((line) => /^\d/.test(line));
  const packets = rows.map((row): Packet => {
    const [id = "", dts, pts, , bytes, digest = ""] = row.split(",").map((field) => field.trim());
    const kind = kinds.get(id) === "audio" ? "audio" : "video";
    return { kind, dtsMs: Number(dts), ptsMs: Number(pts), bytes: Number(bytes), digest };
  });
  return fromFirstPicture(packets);
}

/** Units as FLV would hold them: lengths in front of NAL units, SPS and PPS apart. */
export function toPackets(units: readonly AccessUnit[]): Packet[] {
  const packets = units.map((unit): Packet => {
    const body = unit.kind === "audio" ? Buffer.concat(unit.parts) : joinNals(unit.parts);
    const digest = createHash("md5").update(body).digest("hex");
    return { kind: unit.kind, dtsMs: unit.dtsUs / 1000, ptsMs: unit.ptsUs / 1000, bytes: body.length, digest };
  });
  return fromFirstPicture(packets);
}

function joinNals(nals: readonly Uint8Array[]): Buffer {
  const pieces = nals
    .filter((nal) => nalType(nal) !== NAL.sps && nalType(nal) !== NAL.pps)
    .flatMap((nal) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(nal.length);
      return [length, nal];
    });
  return Buffer.concat(pieces);
}

function fromFirstPicture(packets: readonly Packet[]): Packet[] {
  const first = packets.find(({ kind }) => kind === "video")?.ptsMs ?? 0;
  return packets.map((packet) => ({ ...packet, dtsMs: packet.dtsMs - first, ptsMs: packet.ptsMs - first }));
}
