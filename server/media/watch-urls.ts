/** Where a stream is watched from: addresses that are handed out with sources and outputs. */
import type { Signer } from "./sign.ts";

export type Watched = "source" | "output";

export interface WatchUrls {
  readonly hls_url: string;
  readonly webrtc_url: string;
}

/** @param publicUrl of the call: where clients reach us */
export function watchUrls(signer: Pick<Signer, "sign">, publicUrl: string, kind: Watched, uuid: string): WatchUrls {
  const base = `${publicUrl}/${kind}/${uuid}`;
  const token = signer.sign(`${kind}/${uuid}`);
  return { hls_url: `${base}/hls/index.m3u8?token=${token}`, webrtc_url: `${base}/whep?token=${token}` };
}
