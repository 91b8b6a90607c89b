/** The time line of one source: seek by click, zoom by wheel or two fingers, pan by drag, pictures on hover. */
import { effect, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount } from "../../components/format.ts";
import { html } from "../../html.ts";
import { fractionOf, panBy, type Span, timeAt, zoomAt } from "./axis.ts";
import { formatMoment } from "./clock.ts";
import { drawLanes, heightOf, type LaneScene, lanesOf } from "./draw-lanes.ts";
import type { Footage } from "./footage.ts";
import { type Mark, matches, rangeAt } from "./history.ts";

/** Pixels: a shorter drag is a click. */
const DRAG = 4;
/** Pixels around a mark that select it. */
const NEAR_MARK = 8;
const HOVER_MS = 120;
const THUMBNAIL_WIDTH = 176;

export interface SourceLineProps extends Omit<LaneScene, "atMs" | "hoverMs"> {
  readonly label: string;
  readonly whole: Span;
  /** Null: of another source than the one that is played. */
  readonly now: Signal<number> | null;
  readonly footage: Footage | null;
  onView(view: Span): void;
  onSeek(ms: number): void;
  onSelect(mark: Mark): void;
}

export function SourceLine(props: SourceLineProps) {
  const { label, view, history, now, ofFile, isCompact } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [hover, setHover] = useState<{ readonly x: number; readonly ms: number } | null>(null);
  const hoverMs = hover?.ms ?? null;
  const painter = useMemo(() => new LineCanvas(() => canvas.current), []);
  const height = heightOf(lanesOf(history), isCompact);
  useEffect(() => {
    painter.scene = { ...props, hoverMs, atMs: now?.peek() ?? null };
    painter.schedule();
  });
  useEffect(() => (now === null ? undefined : effect(() => painter.setTime(now.value))), [now]);
  useEffect(() => painter.observe(), []);
  const handlers = useMemo(() => createHandlers(latest, setHover), []);
  const text = now === null ? "" : formatMoment(now.value, ofFile);
  return html`
    <div class="source-line">
      <canvas ref=${canvas} style=${{ height: `${height}px` }} tabindex=${isCompact ? -1 : 0} ...${handlers}
        role="slider" aria-label=${`Time line of ${label}`} aria-valuemin="0" aria-valuemax="100"
        aria-valuenow=${Math.round(100 * Math.min(1, Math.max(0, fractionOf(view, now?.peek() ?? view.fromMs))))} aria-valuetext=${text || label}></canvas>
      ${hover !== null && html`<${HoverCard} key="hover" hover=${hover} width=${canvas.current?.clientWidth ?? 0} ...${props} />`}
    </div>
  `;
}

/** Draws once per displayed frame at most, however often something changes. */
class LineCanvas {
  scene: LaneScene | null = null;
  readonly #canvas: () => HTMLCanvasElement | null;
  #frame = 0;
  #count = 0;

  constructor(canvas: () => HTMLCanvasElement | null) {
    this.#canvas = canvas;
  }

  setTime(atMs: number): void {
    if (this.scene !== null) this.scene = { ...this.scene, atMs };
    this.schedule();
  }

  schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** Redraws when the size or the theme changes. Returns a function that ends this. */
  observe(): () => void {
    const canvas = this.#canvas();
    const sizes = new ResizeObserver(() => this.schedule());
    if (canvas !== null) sizes.observe(canvas);
    const themes = new MutationObserver(() => this.schedule());
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      themes.disconnect();
      cancelAnimationFrame(this.#frame);
    };
  }

  #draw(): void {
    this.#frame = 0;
    const canvas = this.#canvas();
    if (canvas === null || this.scene === null) return;
    const startedMs = performance.now();
    drawLanes(canvas, this.scene);
    // For tests and measurements.
    canvas.dataset.drawn = String(++this.#count);
    canvas.dataset.drawMs = (performance.now() - startedMs).toFixed(2);
    canvas.dataset.marks = String(this.scene.history?.marks.length ?? "");
  }
}

function findMark({ history, filter, view }: LaneScene | SourceLineProps, ms: number, width: number): Mark | null {
  const reach = (NEAR_MARK / Math.max(1, width)) * (view.toMs - view.fromMs);
  let nearest: Mark | null = null;
  for (const mark of history?.marks ?? []) {
    const distance = Math.abs(mark.atMs - ms);
    if (
      distance <= reach &&
      distance < Math.abs((nearest?.atMs ?? Number.POSITIVE_INFINITY) - ms) &&
      matches(filter, mark)
    )
      nearest = mark;
  }
  return nearest;
}

type Hover = { readonly x: number; readonly ms: number } | null;

function createHandlers(
  latest: { readonly current: SourceLineProps },
  setHover: (hover: Hover) => void,
): Readonly<Record<string, (event: never) => void>> {
  const pointers = new Map<number, number>();
  let isDragged = false;
  const placeOf = ({ clientX, currentTarget }: MouseEvent): { readonly x: number; readonly width: number } => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return { x: clientX - left, width: Math.max(1, width) };
  };
  const release = (event: PointerEvent): void => void pointers.delete(event.pointerId);
  return {
    onWheel(event: WheelEvent) {
      event.preventDefault();
      const { view, whole, onView } = latest.current;
      const { x, width } = placeOf(event);
      const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (isPan) onView(panBy(view, whole, (event.deltaX || event.deltaY) / width));
      else onView(zoomAt(view, whole, timeAt(view, x / width), event.deltaY > 0 ? 1.2 : 1 / 1.2));
    },
    onPointerDown(event: PointerEvent) {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      if (pointers.size === 0) isDragged = false;
      pointers.set(event.pointerId, placeOf(event).x);
    },
    onPointerMove(event: PointerEvent) {
      const { view, whole, onView } = latest.current;
      const { x, width } = placeOf(event);
      const before = pointers.get(event.pointerId);
      if (before === undefined) {
        setHover(event.pointerType === "touch" ? null : { x, ms: timeAt(view, x / width) });
        return;
      }
      const [, other] = [...pointers].find(([id]) => id !== event.pointerId) ?? [];
      if (other === undefined && !isDragged && Math.abs(x - before) < DRAG) return;
      isDragged = true;
      setHover(null);
      pointers.set(event.pointerId, x);
      if (other === undefined) return onView(panBy(view, whole, (before - x) / width));
      const distance = (at: number) => Math.max(8, Math.abs(at - other));
      onView(zoomAt(view, whole, timeAt(view, other / width), distance(before) / distance(x)));
    },
    onPointerUp(event: PointerEvent) {
      release(event);
      if (isDragged || pointers.size > 0) return;
      const { view, onSeek, onSelect } = latest.current;
      const { x, width } = placeOf(event);
      const ms = timeAt(view, x / width);
      const mark = findMark(latest.current, ms, width);
      if (mark === null) onSeek(ms);
      else onSelect(mark);
    },
    onPointerCancel: release,
    onPointerLeave: () => setHover(null),
  };
}

interface HoverCardProps extends SourceLineProps {
  readonly hover: NonNullable<Hover>;
  readonly width: number;
}

/** The time, a picture of it, and the notice at this place. */
function HoverCard({ hover: { x, ms }, width, history, footage, ofFile, ...props }: HoverCardProps) {
  const [url, setUrl] = useState<string | null>(null);
  const isRecorded = rangeAt(history?.recorded ?? [], ms) !== null;
  useEffect(() => {
    const closing = new AbortController();
    const timer = setTimeout(async () => {
      if (!isRecorded || footage === null) return setUrl(null);
      const next = await footage.fetchThumbnail(ms, closing.signal);
      if (!closing.signal.aborted) setUrl(next);
      else if (next !== null) URL.revokeObjectURL(next);
    }, HOVER_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [Math.round(x / 2), footage]);
  useEffect(() => (url === null ? undefined : () => URL.revokeObjectURL(url)), [url]);
  const mark = findMark({ ...props, history, ofFile } as SourceLineProps, ms, width);
  const left = Math.min(Math.max(x, THUMBNAIL_WIDTH / 2), Math.max(THUMBNAIL_WIDTH / 2, width - THUMBNAIL_WIDTH / 2));
  return html`
    <div class="hover-card" aria-hidden="true" style=${{ left: `${left}px` }}>
      ${url !== null && isRecorded && html`<img src=${url} alt="" width=${THUMBNAIL_WIDTH} />`}
      <div>${mark !== null && html`<strong>${mark.alias}</strong> `}<span>${formatMoment(mark?.atMs ?? ms, ofFile)}</span></div>
      ${mark !== null && mark.classes.length > 0 && html`<div>${mark.classes.join(", ")}</div>`}
      ${!isRecorded && html`<div>not recorded</div>`}
    </div>
  `;
}

/** For screen readers: what the canvas shows. */
export function describeHistory({ recorded, activity, marks }: NonNullable<LaneScene["history"]>): string {
  const tracks = activity.reduce((sum, one) => sum + one.tracks, 0);
  const minutes = Math.round(recorded.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0) / 60_000);
  return `${formatCount(minutes, "minute")} recorded, ${formatCount(tracks, "track")}, ${formatCount(marks.length, "notice")}`;
}
