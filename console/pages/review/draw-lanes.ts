/** Draws the time line of one source on a canvas: recorded ranges, a lane per class, notices of alerts, and the current time. */
import { fractionOf, lengthOf, type Span, ticksOf } from "./axis.ts";
import { classColour } from "./class-colour.ts";
import { formatTick } from "./clock.ts";
import { countTracks, type Filter, type History, type Mark, matches } from "./history.ts";

const MAX_LANES = 5;
const LANE = 15;
const COMPACT_LANE = 10;
const MARKS = 22;
const TICKS = 18;
const RECORDED = 8;
const GAP = 4;
const TICK_WIDTH = 76;
/** Narrower ones could not be seen. */
const MIN_BAR = 2;
/** Of activity with few tracks. */
const PALEST = 0.35;
/** Pixels between marks. */
const MARK_DISTANCE = 9;
const OTHERS = "other";

export interface Lane {
  readonly label: string;
  readonly includes: (className: string) => boolean;
  readonly colourOf: string;
}

/** The most frequent classes have lanes of their own. */
export function lanesOf(history: History | null): readonly Lane[] {
  const names = countTracks(history?.activity ?? []).map(([name]) => name);
  const own = names.length <= MAX_LANES ? names : names.slice(0, MAX_LANES - 1);
  const lanes = own.map((name): Lane => ({ label: name, colourOf: name, includes: (one) => one === name }));
  const rest = new Set(names.slice(own.length));
  return rest.size === 0
    ? lanes
    : [...lanes, { label: `${rest.size} others`, colourOf: OTHERS, includes: (one) => rest.has(one) }];
}

export const heightOf = (lanes: readonly Lane[], isCompact: boolean): number =>
  isCompact ? RECORDED + GAP + COMPACT_LANE + MARKS : TICKS + RECORDED + GAP + Math.max(1, lanes.length) * LANE + MARKS;

export interface LaneScene {
  readonly view: Span;
  readonly history: History | null;
  /** Of the visible part, with its tracks; null: not loaded, or not needed. */
  readonly detail: History | null;
  readonly filter: Filter;
  readonly atMs: number | null;
  readonly hoverMs: number | null;
  readonly selected: string | null;
  readonly ofFile: boolean;
  readonly isCompact: boolean;
}

interface Palette {
  readonly isDark: boolean;
  readonly [name: string]: string | boolean;
}

export function drawLanes(canvas: HTMLCanvasElement, scene: LaneScene): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return;
  const density = window.devicePixelRatio;
  if (canvas.width !== Math.round(width * density)) canvas.width = Math.round(width * density);
  if (canvas.height !== Math.round(height * density)) canvas.height = Math.round(height * density);
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  new LanePainter(context, width, height, scene, readPalette(canvas)).draw();
}

function readPalette(canvas: HTMLCanvasElement): Palette {
  const style = getComputedStyle(canvas);
  const names = ["line", "text", "soft", "accent", "card", "back", "idle-back", "bad", "warn", "good"];
  const colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...colours, isDark: document.documentElement.dataset.theme === "dark" };
}

class LanePainter {
  readonly #context: CanvasRenderingContext2D;
  readonly #width: number;
  readonly #height: number;
  readonly #scene: LaneScene;
  readonly #palette: Palette;

  constructor(context: CanvasRenderingContext2D, width: number, height: number, scene: LaneScene, palette: Palette) {
    this.#context = context;
    [this.#width, this.#height] = [width, height];
    [this.#scene, this.#palette] = [scene, palette];
  }

  draw(): void {
    const { isCompact, history, detail, filter } = this.#scene;
    const top = isCompact ? 0 : TICKS;
    this.#drawTicks(isCompact);
    this.#context.fillStyle = this.#colour("idle-back");
    this.#roundRect(0, top, this.#width, RECORDED);
    this.#context.fillStyle = this.#colour("accent");
    for (const range of history?.recorded ?? []) this.#drawBar(range, top, RECORDED);
    const lanes = isCompact ? [ALL] : lanesOf(history);
    const laneHeight = isCompact ? COMPACT_LANE : LANE;
    const begin = top + RECORDED + GAP;
    for (const [i, lane] of lanes.entries()) {
      const isFaded = filter.className !== "" && !lane.includes(filter.className) && lane !== ALL;
      this.#context.globalAlpha = isFaded ? 0.25 : 1;
      const y = begin + i * laneHeight;
      this.#context.fillStyle = this.#colour("back");
      this.#roundRect(0, y + 1, this.#width, laneHeight - 3);
      this.#context.fillStyle = lane === ALL ? this.#colour("soft") : classColour(lane.colourOf, this.#palette.isDark);
      this.#drawLane(lane, y + 2, laneHeight - 5, detail ?? history);
      this.#context.globalAlpha = 1;
    }
    if (!isCompact) for (const [i, { label }] of lanes.entries()) this.#drawLabel(label, begin + i * LANE + LANE / 2);
    this.#drawMarks(this.#height - MARKS);
    this.#drawCursor();
  }

  #colour(name: string): string {
    return String(this.#palette[name]);
  }

  #x(ms: number): number {
    return fractionOf(this.#scene.view, ms) * this.#width;
  }

  #roundRect(x: number, y: number, width: number, height: number): void {
    this.#context.beginPath();
    this.#context.roundRect(x, y, width, height, Math.min(3, width / 2, height / 2));
    this.#context.fill();
  }

  #drawBar({ fromMs, toMs }: Span, y: number, height: number): void {
    const left = Math.max(-4, this.#x(fromMs));
    const right = Math.min(this.#width + 4, this.#x(toMs));
    if (right < 0 || left > this.#width) return;
    this.#roundRect(left, y, Math.max(MIN_BAR, right - left), height);
  }

  /** Tracks where they are known, which overlap; otherwise the times with tracks, darker where there are more. */
  #drawLane(lane: Lane, y: number, height: number, history: History | null): void {
    if (history === null) return;
    const isListed = history.tracks.length > 0;
    const bars: readonly (Span & { readonly className: string; readonly tracks?: number })[] = isListed
      ? history.tracks
      : history.activity;
    const most = isListed ? 1 : Math.max(1, ...history.activity.map(({ tracks }) => tracks));
    const opacity = this.#context.globalAlpha;
    for (const { className, fromMs, toMs, tracks = most } of bars) {
      const [left, right] = [this.#x(fromMs), this.#x(toMs)];
      if (right < 0 || left > this.#width || !lane.includes(className)) continue;
      this.#context.globalAlpha = opacity * (PALEST + (1 - PALEST) * Math.sqrt(tracks / most));
      this.#context.fillRect(left, y, Math.max(MIN_BAR, right - left), height);
    }
    this.#context.globalAlpha = opacity;
  }

  #drawLabel(text: string, y: number): void {
    const context = this.#context;
    context.font = "600 11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    const width = context.measureText(text).width;
    context.globalAlpha = 0.85;
    context.fillStyle = this.#colour("card");
    this.#roundRect(2, y - 6, width + 8, 12);
    context.globalAlpha = 1;
    context.fillStyle = this.#colour("text");
    context.fillText(text, 6, y);
  }

  #drawTicks(isCompact: boolean): void {
    const { view, ofFile } = this.#scene;
    const context = this.#context;
    const offsetMs = ofFile ? 0 : -new Date(view.fromMs).getTimezoneOffset() * 60_000;
    const ticks = ticksOf(view, this.#width / TICK_WIDTH, offsetMs);
    const hasSeconds = lengthOf(view) < 20 * 60_000;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const ms of ticks) {
      const x = Math.round(this.#x(ms)) + 0.5;
      context.fillStyle = this.#colour("line");
      context.fillRect(x - 0.5, isCompact ? 0 : TICKS - 4, 1, this.#height);
      if (isCompact || x < 24 || x > this.#width - 24) continue;
      context.fillStyle = this.#colour("soft");
      context.fillText(formatTick(ms, ofFile, hasSeconds), x, 1);
    }
  }

  /**
   * Diamonds: filled until they are reviewed. Those of the filter only. Where they are too close, one stands for all; those
   * to review come first, and the selected one is drawn last.
   */
  #drawMarks(top: number): void {
    const { history, filter, selected } = this.#scene;
    const shown = (history?.marks ?? []).filter((mark) => matches(filter, mark));
    const taken = new Set<number>();
    const isFree = (mark: Mark): boolean => {
      const place = Math.floor(this.#x(mark.atMs) / MARK_DISTANCE);
      if (taken.has(place)) return false;
      taken.add(place);
      return true;
    };
    const open = shown.filter((mark) => !mark.reviewed && mark.uuid !== selected && isFree(mark));
    const reviewed = shown.filter((mark) => mark.reviewed && mark.uuid !== selected && isFree(mark));
    for (const mark of reviewed) this.#drawDiamond(mark, top, 5);
    for (const mark of open) this.#drawDiamond(mark, top, 6);
    for (const mark of shown) if (mark.uuid === selected) this.#drawDiamond(mark, top, 8);
  }

  #drawDiamond(mark: Mark, top: number, size: number): void {
    const context = this.#context;
    const [x, y] = [this.#x(mark.atMs), top + MARKS / 2 + 1];
    if (x < -size || x > this.#width + size) return;
    context.beginPath();
    context.moveTo(x, y - size);
    context.lineTo(x + size, y);
    context.lineTo(x, y + size);
    context.lineTo(x - size, y);
    context.closePath();
    context.fillStyle = this.#colour(mark.reviewed ? "card" : "bad");
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = this.#colour(mark.reviewed ? "good" : mark.uuid === this.#scene.selected ? "text" : "card");
    context.stroke();
  }

  #drawCursor(): void {
    const { atMs, hoverMs } = this.#scene;
    const context = this.#context;
    if (hoverMs !== null) {
      context.fillStyle = this.#colour("soft");
      context.fillRect(this.#x(hoverMs) - 0.5, 0, 1, this.#height);
    }
    if (atMs === null) return;
    const x = this.#x(atMs);
    if (x < -8 || x > this.#width + 8) return;
    context.fillStyle = this.#colour("text");
    context.fillRect(x - 1, 0, 2, this.#height);
    context.beginPath();
    context.moveTo(x - 6, 0);
    context.lineTo(x + 6, 0);
    context.lineTo(x, 8);
    context.fill();
  }
}

const ALL: Lane = { label: "", colourOf: "", includes: () => true };
