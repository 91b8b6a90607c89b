/** Draws a zone or a line on a frame of a running process: by mouse, touch or arrow keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Process } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { formatCount } from "../../components/format.ts";
import { useQuery, useSourceNames } from "../../components/query.ts";
import { Loading } from "../../components/states.ts";
import { html } from "../../html.ts";
import { fetchFrame } from "../../live/process-streams.ts";
import { forwardArrow, type Point } from "./region.ts";

interface RegionProps {
  readonly points: readonly Point[];
  /** Two points and a forward direction; otherwise a polygon. */
  readonly isLine: boolean;
  onChange(points: readonly Point[]): void;
}

export function RegionCard({ processes, isLine, ...region }: RegionProps & { processes: readonly Process[] }) {
  const nameOf = useSourceNames();
  const [chosen, setChosen] = useState("");
  const shown = chosen !== "" ? chosen : (processes[0]?.uuid ?? "");
  const options = processes.map((process) => [process.uuid, nameOf(process)]);
  return html`
    <section class="card stack">
      <h2>${isLine ? "Line" : "Zone"}</h2>
      ${processes.length > 1 && html`<${Select} label="Draw on a frame of" value=${shown} onChange=${setChosen} options=${options} />`}
      <${FrameRegion} key=${shown} processUuid=${shown} isLine=${isLine} ...${region} />
    </section>
  `;
}

function FrameRegion({ processUuid, ...region }: RegionProps & { processUuid: string }) {
  const { value: frameUrl, error } = useQuery(
    async (signal) => (processUuid === "" ? null : fetchFrame(processUuid, signal)),
    [processUuid],
  );
  useEffect(() => () => URL.revokeObjectURL(frameUrl ?? ""), [frameUrl]);
  if (frameUrl === undefined && error === null) return html`<${Loading} what="Loading a frame" />`;
  const hint = error === null ? "No process is running: draw" : `No frame available: ${error.message}. Draw`;
  return html`
    ${!frameUrl && html`<p class="hint" role="status">${hint} on the empty frame.</p>`}
    <${DrawRegion} frameUrl=${frameUrl ?? null} ...${region} />
  `;
}

const STEP = 0.01;
const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};
/** With the shift key. */
const LARGE_STEP = 10;
/** Width of the frame in SVG units. */
const WIDTH = 1000;

const clamp = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 10_000) / 10_000;

/** `frameUrl` null: an empty grey frame. */
function DrawRegion({ frameUrl, points, isLine, onChange }: RegionProps & { frameUrl: string | null }) {
  const svg = useRef<SVGSVGElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [aspect, setAspect] = useState(9 / 16);
  const isFull = isLine && points.length >= 2;
  const pointAt = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top, width, height } = svg.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    return [clamp((clientX - left) / width), clamp((clientY - top) / height)];
  };
  const replace = (index: number, point: Point) => onChange(points.map((one, i) => (i === index ? point : one)));
  const focus = (index: number): void => {
    // A new point exists only after the next render.
    requestAnimationFrame(() => svg.current?.querySelector<SVGElement>(`[data-index="${index}"]`)?.focus());
  };
  const add = (point: Point): void => {
    onChange([...points, point]);
    focus(points.length);
  };
  /** Adds a point; of a complete line, moves the nearer end. Returns the index of the point. */
  const place = (point: Point): number => {
    if (!isFull) {
      add(point);
      return points.length;
    }
    const nearest = findNearest(points, point);
    replace(nearest, point);
    return nearest;
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.preventDefault();
    svg.current?.setPointerCapture(event.pointerId);
    const hit = (event.target as Element).closest("[data-index]")?.getAttribute("data-index") ?? null;
    const index = hit === null ? place(pointAt(event)) : Number(hit);
    setDragged(index);
    focus(index);
  };
  const onKey = (index: number, event: KeyboardEvent): void => {
    const [x = 0, y = 0] = points[index] ?? [];
    const arrow = ARROWS[event.key];
    const times = event.shiftKey ? LARGE_STEP : 1;
    if (arrow !== undefined) replace(index, [clamp(x + arrow[0] * times), clamp(y + arrow[1] * times)]);
    else if (event.key === "Delete" || event.key === "Backspace") {
      onChange(points.filter((_, i) => i !== index));
      focus(Math.max(0, index - 1));
    } else return;
    event.preventDefault();
  };
  const onLoad = ({ currentTarget }: Event): void => {
    const { naturalWidth, naturalHeight } = currentTarget as HTMLImageElement;
    setAspect(naturalHeight / naturalWidth);
  };
  const scaled = points.map(([x, y]): Point => [x * WIDTH, y * WIDTH * aspect]);
  const shape = toPath(scaled);
  return html`
    <div class="draw">
      ${frameUrl !== null && html`<img src=${frameUrl} alt="Frame of the process" onLoad=${onLoad} />`}
      <svg ref=${svg} viewBox=${`0 0 ${WIDTH} ${WIDTH * aspect}`} preserveAspectRatio="none" class=${frameUrl === null ? "blank" : ""}
        role="group" aria-label=${isLine ? "Line" : "Zone"}
        onPointerDown=${onDown} onPointerMove=${(event: PointerEvent) => dragged !== null && replace(dragged, pointAt(event))}
        onPointerUp=${() => setDragged(null)} onPointerCancel=${() => setDragged(null)}>
        ${isLine ? html`<polyline points=${shape} /><${Forward} points=${scaled} />` : html`<polygon points=${shape} />`}
        ${scaled.map(
          (at, i) =>
            html`<${Corner} key=${i} index=${i} at=${at} point=${points[i]} onKey=${(event: KeyboardEvent) => onKey(i, event)} />`,
        )}
      </svg>
    </div>
    <div class="row">
      <button type="button" disabled=${isFull} onClick=${() => add([0.5, 0.5])}>Add a point</button>
      <button type="button" disabled=${points.length === 0} onClick=${() => onChange(points.slice(0, -1))}>Remove the last point</button>
      ${isLine && html`<button type="button" disabled=${!isFull} onClick=${() => onChange([...points].reverse())}>Reverse direction</button>`}
    </div>
    <p class="hint">${describe(points.length, isLine)} Arrow keys move a point, with Shift further. Delete removes it.</p>
  `;
}

const toPath = (points: readonly Point[]): string => points.map((point) => point.join(",")).join(" ");

function describe(count: number, isLine: boolean): string {
  if (isLine) return "Drag the ends of the line. The arrow points forward.";
  if (count === 0) return "No points: the whole frame. Click on the frame to draw a zone.";
  return `${formatCount(count, "point")}. Click to add points, drag to move them.`;
}

function findNearest(points: readonly Point[], [x, y]: Point): number {
  const distances = points.map(([px, py]) => Math.hypot(px - x, py - y));
  return distances.indexOf(Math.min(...distances));
}

interface CornerProps {
  readonly index: number;
  /** In SVG units. */
  readonly at: Point;
  readonly point: Point;
  onKey(event: KeyboardEvent): void;
}

/** The grip is larger than the dot, for touch. */
const Corner = ({ index, at: [cx, cy], point: [x, y], onKey }: CornerProps) => html`
  <g data-index=${index} tabindex="0" role="slider" aria-label=${`Point ${index + 1}`} aria-valuenow=${Math.round(x * 100)}
    aria-valuetext=${`${Math.round(x * 100)} % from the left, ${Math.round(y * 100)} % from the top`} onKeyDown=${onKey}>
    <path class="grip" d=${`M${cx},${cy}h0.01`} />
    <path class="corner" d=${`M${cx},${cy}h0.01`} />
  </g>
`;

/** The arrow is computed in widths of the frame. */
function Forward({ points }: { points: readonly Point[] }) {
  const [a, b] = points.map(([x, y]): Point => [x / WIDTH, y / WIDTH]);
  const arrow = a === undefined || b === undefined ? null : forwardArrow([a, b]);
  if (arrow === null) return null;
  return html`<polyline class="forward" points=${toPath(arrow.map(([x, y]) => [x * WIDTH, y * WIDTH]))}><title>Forward</title></polyline>`;
}
