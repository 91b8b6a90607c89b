import { isDeepStrictEqual } from "node:util";
import { FrameExpression } from "../../expressions/evaluate.ts";
import type { Counts, Detection, Detections, ObjectCount, Track, Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import { contains, flatten } from "../alerts/region.ts";
import type { Frame, Handler, Services } from "../element.ts";

export interface CountProperties {
  readonly as: string;
  readonly where?: string;
  readonly region?: readonly (readonly [x: number, y: number])[];
  readonly print: boolean;
}

type CountedFrame = Pick<Frame, "captureNs" | "format" | "meta" | "write">;

export class CountHandler implements Pick<Handler, "process" | "flush"> {
  readonly #services: Pick<Services, "print" | "variables">;
  #properties: CountProperties;
  #where: FrameExpression | null;
  #region: Float64Array | null;
  #count: ObjectCount = { total: 0, classes: {} };
  #printed: ObjectCount | null = null;

  constructor(properties: CountProperties, services: Pick<Services, "print" | "variables">) {
    this.#services = services;
    this.#properties = properties;
    this.#where = this.#compile(properties.where);
    this.#region = properties.region === undefined ? null : flatten(properties.region);
  }

  process(frame: CountedFrame): Promise<void> | undefined {
    const { tracks, detections } = frame.meta as { tracks?: Tracks; detections?: Detections };
    if (tracks !== undefined) this.#count = this.#countAll(tracks.objects, frame);
    else if (detections?.inferred === true) this.#count = this.#countAll(detections.objects, frame);
    const before = frame.meta.counts as Counts | undefined;
    const { as, print } = this.#properties;
    frame.write({ counts: { ...before, [as]: this.#count } });
    if (!print || isDeepStrictEqual(this.#count, this.#printed)) return undefined;
    this.#printed = this.#count;
    const time = new Date(Number(frame.captureNs / 1_000_000n)).toISOString();
    return this.#services.print(JSON.stringify({ time, count: as, ...this.#count }));
  }

  update(properties: CountProperties): void {
    this.#where = this.#compile(properties.where);
    this.#region = properties.region === undefined ? null : flatten(properties.region);
    this.#properties = properties;
  }

  flush(): void {
    this.#count = { total: 0, classes: {} };
  }

  #compile(where: string | undefined): FrameExpression | null {
    const { variables } = this.#services;
    return where === undefined ? null : new FrameExpression(where, { scope: "object", variables, result: "bool" });
  }

  #countAll(objects: readonly (Detection | Track)[], frame: CountedFrame): ObjectCount {
    const places = (frame.meta.places as Places | undefined)?.objects;
    const classes = new Map<string, number>();
    let total = 0;
    for (const [index, object] of objects.entries()) {
      if (!this.#isInside(object)) continue;
      if (this.#where?.evaluate(object, places?.[index] ?? null, frame) === false) continue;
      classes.set(object.className, (classes.get(object.className) ?? 0) + 1);
      total += 1;
    }
    return { total, classes: Object.fromEntries([...classes].sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  #isInside({ box: [left, top, width, height] }: Detection): boolean {
    return this.#region === null || contains(this.#region, left + width / 2, Math.min(top + height, 1));
  }
}
