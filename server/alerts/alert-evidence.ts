/** Evidence of alerts: its setting as users send it, and what is stored of it with each notice. */
import type { AlertEvent } from "../../schemas/alerts.ts";
import type { EvidenceInfo, EvidenceSetting } from "../../schemas/api/evidence.ts";
import type { Signer } from "../keys/signed-urls.ts";
import type { EvidenceRow, NewEvidence, StoredEvidence } from "../store/evidence.ts";

/** With defaults; undefined: none. */
export function completeEvidence(given: EvidenceSetting | null | undefined): StoredEvidence | undefined {
  if (given == null) return undefined;
  const { clip, snapshot = false } = given;
  if (clip === undefined) return snapshot ? { snapshot } : undefined;
  const { before_seconds = 10, after_seconds = 5, boxes = false } = clip;
  return { clip: { before_seconds, after_seconds, boxes }, snapshot };
}

/** Of an event that ends the condition, there is nothing to see. */
export const needsEvidence = ({ event }: Pick<AlertEvent, "event">): boolean => event !== "cleared";

/** Files reach the disk about a second after their frames. */
const WRITE_MS = 2_000;

interface Place extends Pick<NewEvidence, "noticeUuid" | "userUuid" | "sourceUuid" | "processUuid" | "nodeUuid"> {
  readonly destinations: readonly string[];
  /** The source is a file that is played once. */
  readonly isFile: boolean;
}

export function toEvidence(
  event: AlertEvent,
  { clip, snapshot: hasSnapshot }: StoredEvidence,
  { isFile, ...place }: Place,
): NewEvidence {
  const { timeMs, snapshot } = event;
  const positionMs = isFile ? (event.positionMs ?? null) : null;
  const afterMs = Math.round((clip?.after_seconds ?? 0) * 1000);
  return {
    ...place,
    happenedAtMs: timeMs,
    positionMs,
    clip:
      clip === undefined ? null : { beforeMs: Math.round(clip.before_seconds * 1000), afterMs, hasBoxes: clip.boxes },
    hasSnapshot,
    snapshot: snapshot === undefined ? null : Buffer.from(snapshot, "base64"),
    // The video of a file is there already.
    dueAt: new Date(positionMs === null ? Math.min(timeMs, Date.now()) + afterMs + WRITE_MS : Date.now()),
  };
}

export interface EvidenceFields {
  readonly evidence?: EvidenceInfo;
  readonly clip_url?: string;
  readonly snapshot_url?: string;
}

/** As part of a notice. URLs are signed for a limited time. */
export function describeEvidence(
  uuid: string,
  row: EvidenceRow | null,
  signer: Pick<Signer, "sign">,
  publicUrl: string,
): EvidenceFields {
  if (row === null) return {};
  const { state, missing, hasClip, hasSnapshot, clipFromMs, clipToMs, clipBytes } = row;
  const clip =
    clipFromMs === null || clipToMs === null
      ? null
      : { from: new Date(clipFromMs).toISOString(), to: new Date(clipToMs).toISOString(), size_bytes: clipBytes };
  const token = signer.sign(`notice/${uuid}`);
  return {
    evidence: { state, missing: [...missing], clip },
    ...(hasClip && { clip_url: `${publicUrl}/notice/${uuid}/clip?token=${token}` }),
    ...(hasSnapshot && { snapshot_url: `${publicUrl}/notice/${uuid}/snapshot?token=${token}` }),
  };
}
