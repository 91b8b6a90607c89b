/**
 * How far the detection messages of two runs on one source agree, while they arrive. Frames are paired by their capture
 * time. As `windhover compare`, boxes match at an overlap of at least 0.5 with the same class; that command has whole runs,
 * this has bounded memory.
 */
import type { ShadowComparison } from "../../schemas/api/shadows.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";

export type Side = "live" | "shadow";

interface SeenFrame {
  readonly timeMs: number;
  readonly tracks: readonly TrackEntry[];
}

const LEAST_OVERLAP = 0.5;
const LEAST_SHARED = 0.5;
/** Frames of one side that wait for the other. */
const MOST_WAITING = 2_000;
const MOST_CLASSES = 200;
/** Of each side, over all classes. */
const MOST_TRACKS = 10_000;
/** Tracks of the other side that one track was seen with. */
const MOST_PARTNERS = 16;
/** Capture times may differ by up to half of the interval of frames, within these limits. */
const LEAST_TOLERANCE_MS = 5;
const MOST_TOLERANCE_MS = 100;

interface TrackCount {
  frames: number;
  readonly partners: Map<number, number>;
}

interface ClassCount {
  readonly boxes: { live: number; shadow: number; matched: number };
  readonly live: Map<number, TrackCount>;
  readonly shadow: Set<number>;
}

export class MessageComparison {
  readonly #waiting: Readonly<Record<Side, SeenFrame[]>> = { live: [], shadow: [] };
  readonly #frames = { live: 0, shadow: 0, compared: 0 };
  readonly #classes = new Map<string, ClassCount>();
  readonly #tracks = { live: 0, shadow: 0 };
  #intervalMs = 0;
  #isComplete = true;

  get compared(): number {
    return this.#frames.compared;
  }

  add(side: Side, { timestamp, active_tracks: tracks }: Pick<DetectionMessage, "timestamp" | "active_tracks">): void {
    // Before the first frame of the shadow there is nothing to compare with.
    if (side === "live" && this.#frames.shadow === 0) this.#waiting.live.length = 0;
    else this.#frames[side] += 1;
    const queue = this.#waiting[side];
    const timeMs = Date.parse(timestamp);
    const passedMs = timeMs - (queue.at(-1)?.timeMs ?? timeMs);
    if (passedMs > 0) this.#intervalMs = passedMs;
    queue.push({ timeMs, tracks });
    if (queue.length > MOST_WAITING) queue.shift();
    this.#pair();
  }

  get result(): ShadowComparison {
    const { live, shadow } = this.#frames;
    const all = { live: 0, shadow: 0, matched: 0 };
    for (const { boxes } of this.#classes.values())
      for (const key of ["live", "shadow", "matched"] as const) all[key] += boxes[key];
    const share = (part: number, whole: number): number | null =>
      this.compared === 0 ? null : whole === 0 ? 1 : part / whole;
    return {
      frames: { ...this.#frames },
      speed: live === 0 ? null : shadow / live,
      recall: share(all.matched, all.live),
      precision: share(all.matched, all.shadow),
      agreement: share(2 * all.matched, all.live + all.shadow),
      classes: [...this.#classes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => describe(name, count)),
      is_complete: this.#isComplete,
    };
  }

  /** Both sides in order of time. A pair is final when no later frame of the earlier side can be closer. */
  #pair(): void {
    const { live, shadow } = this.#waiting;
    const toleranceMs = Math.min(MOST_TOLERANCE_MS, Math.max(LEAST_TOLERANCE_MS, this.#intervalMs / 2));
    for (;;) {
      const [a, b] = [live[0], shadow[0]];
      if (a === undefined || b === undefined) return;
      const offMs = b.timeMs - a.timeMs;
      const earlier = offMs > 0 ? live : shadow;
      const next = earlier[1];
      if (Math.abs(offMs) > toleranceMs) earlier.shift();
      else if (offMs !== 0 && next === undefined) return;
      else if (offMs !== 0 && next !== undefined && isCloser(next, offMs > 0 ? b : a, offMs)) earlier.shift();
      else {
        live.shift();
        shadow.shift();
        this.#compare(a.tracks, b.tracks);
      }
    }
  }

  #compare(live: readonly TrackEntry[], shadow: readonly TrackEntry[]): void {
    this.#frames.compared += 1;
    for (const name of new Set([...live, ...shadow].map(({ class_name }) => class_name))) {
      const count = this.#classOf(name);
      if (count === null) continue;
      const ofClass = (tracks: readonly TrackEntry[]) => tracks.filter(({ class_name }) => class_name === name);
      const [was, is] = [ofClass(live), ofClass(shadow)];
      const pairs = matchBoxes(was, is);
      count.boxes.live += was.length;
      count.boxes.shadow += is.length;
      count.boxes.matched += pairs.length;
      for (const { track_id } of was) this.#countLive(count, track_id);
      for (const { track_id } of is) this.#countShadow(count, track_id);
      for (const [one, other] of pairs) countPartner(count, one.track_id, other.track_id);
    }
  }

  #classOf(name: string): ClassCount | null {
    const known = this.#classes.get(name);
    if (known !== undefined) return known;
    if (this.#classes.size >= MOST_CLASSES) {
      this.#isComplete = false;
      return null;
    }
    const count = { boxes: { live: 0, shadow: 0, matched: 0 }, live: new Map(), shadow: new Set<number>() };
    this.#classes.set(name, count);
    return count;
  }

  /** Without a tracker, all ids are 0. */
  #countLive({ live }: ClassCount, id: number): void {
    const track = live.get(id);
    if (track !== undefined) track.frames += 1;
    else if (id > 0 && this.#hasRoom("live")) live.set(id, { frames: 1, partners: new Map() });
  }

  #countShadow({ shadow }: ClassCount, id: number): void {
    if (id > 0 && !shadow.has(id) && this.#hasRoom("shadow")) shadow.add(id);
  }

  #hasRoom(side: Side): boolean {
    this.#tracks[side] += 1;
    if (this.#tracks[side] > MOST_TRACKS) this.#isComplete = false;
    return this.#tracks[side] <= MOST_TRACKS;
  }
}

/** Than a frame at this distance. */
const isCloser = (next: SeenFrame, to: SeenFrame, offMs: number): boolean =>
  Math.abs(to.timeMs - next.timeMs) < Math.abs(offMs);

function countPartner({ live }: ClassCount, id: number, partner: number): void {
  const partners = live.get(id)?.partners;
  if (partners === undefined || partner === 0) return;
  if (partners.has(partner) || partners.size < MOST_PARTNERS) partners.set(partner, (partners.get(partner) ?? 0) + 1);
}

/** Each box once, the largest overlaps first. */
function matchBoxes(
  was: readonly TrackEntry[],
  is: readonly TrackEntry[],
): readonly (readonly [TrackEntry, TrackEntry])[] {
  const candidates = was
    .flatMap((one) => is.map((other) => ({ one, other, overlap: overlapOf(one.scaled_bbox, other.scaled_bbox) })))
    .filter(({ overlap }) => overlap >= LEAST_OVERLAP)
    .sort((a, b) => b.overlap - a.overlap);
  const taken = new Set<TrackEntry>();
  return candidates.flatMap(({ one, other }) => {
    if (taken.has(one) || taken.has(other)) return [];
    taken.add(one).add(other);
    return [[one, other] as const];
  });
}

type Box = TrackEntry["scaled_bbox"];

/** Intersection over union. */
function overlapOf([x1, y1, w1, h1]: Box, [x2, y2, w2, h2]: Box): number {
  const width = Math.min(x1 + w1, x2 + w2) - Math.max(x1, x2);
  const height = Math.min(y1 + h1, y2 + h2) - Math.max(y1, y2);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / (w1 * h1 + w2 * h2 - width * height);
}

function describe(name: string, { boxes, live, shadow }: ClassCount): ShadowComparison["classes"][number] {
  const matched = [...live.values()].filter(
    ({ frames, partners }) => Math.max(0, ...partners.values()) >= LEAST_SHARED * frames,
  );
  return { name, boxes: { ...boxes }, tracks: { live: live.size, shadow: shadow.size, matched: matched.length } };
}
