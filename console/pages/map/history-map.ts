/** The map of one process at any time of its life, from its stored detections and camera positions. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CameraMessage, DetectionMessage, Process } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { html } from "../../html.ts";
import { MapFrame } from "../../map/map-frame.ts";
import { Scene } from "../../map/scene.ts";
import { toApiError } from "../../poller.ts";
import { linkTo } from "../../router.ts";
import { request, windhover } from "../../session.ts";
import { isFile, readMoment } from "../review/clock.ts";
import { PositionTable } from "./position-table.ts";
import { barsOf, type Part, Replay, rangeOf, readLines, type TimeRange } from "./replay.ts";

/** While the user moves the slider, nothing is loaded. */
const SETTLE_MS = 120;
const TICK_MS = 100;
/** A process that runs has more to show. */
const POLL_MS = 10_000;
/** Messages arrive with a delay: what a running process has stored is complete up to then. */
const LATENCY_MS = 2_000;
const SPEEDS = ["1", "5", "20"] as const;

export function HistoryMap({ processUuid }: { processUuid: string }) {
  const query = useQuery((signal) => readPast(processUuid, signal), [processUuid], POLL_MS);
  return html`${whenLoaded(query, (past) =>
    past === null ? html`<p role="status">This process has not started yet.</p>` : html`<${Scrubber} ...${past} />`,
  )}`;
}

interface Past {
  readonly process: Process;
  readonly range: TimeRange;
  /** When there were tracks. */
  readonly active: readonly TimeRange[];
}

/** Null: it has not started. */
async function readPast(process_uuid: string, signal: AbortSignal): Promise<Past | null> {
  const process = await windhover.readProcess({ process_uuid }, { signal });
  const { source_uuid } = process;
  const { sources } = await windhover.listSources({}, { signal });
  const source = sources.find(({ uuid }) => uuid === source_uuid);
  const ofFile = source !== undefined && isFile(source);
  // The time line of a file is that of its video.
  const whole = ofFile ? await windhover.readTimeline({ source_uuid }, { signal }) : null;
  const range = rangeOf(process, whole === null ? null : readMoment(whole.to), Date.now() - LATENCY_MS);
  if (range === null) return null;
  const [from, to] = [range.fromMs, range.toMs].map((ms) => new Date(ms).toISOString());
  // Of a deleted source, and of more than a week, it is not known.
  const timeline =
    whole ??
    (await windhover.readTimeline({ source_uuid, ...(from && to && { from, to }) }, { signal }).catch(() => null));
  const zeroMs = ofFile ? range.fromMs : 0;
  const active = (timeline?.activity ?? []).map((span) => ({
    ...{ fromMs: zeroMs + readMoment(span.from), toMs: zeroMs + readMoment(span.to) },
  }));
  return { process, range, active };
}

async function loadPart(uuid: string, { fromMs, toMs }: TimeRange, signal: AbortSignal): Promise<Part> {
  const times = `?from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
  const read = async (what: string): Promise<string> =>
    (await request(`/process/${uuid}/${what}${times}`, signal)).text();
  const [detections, cameras] = await Promise.all([read("detections"), read("camera")]);
  return { detections: readLines<DetectionMessage>(detections), cameras: readLines<CameraMessage>(cameras) };
}

function Scrubber({ process, range, active }: Past) {
  const scene = useMemo(() => new Scene(), []);
  const isRunning = process.finished_at === null;
  const replay = useMemo(() => {
    const now = () => (isRunning ? Date.now() - LATENCY_MS : Number.POSITIVE_INFINITY);
    return new Replay((part, signal) => loadPart(process.uuid, part, signal), now);
  }, [isRunning]);
  const [ms, setMs] = useState(range.fromMs);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<string>(SPEEDS[0]);
  const [error, setError] = useState<string | null>(null);
  const [, setShownVersion] = useState(-1);
  useShown({
    replay,
    ms,
    onError: setError,
    show: () => {
      replay.show(scene, ms);
      setShownVersion(scene.version);
    },
  });
  const latest = useRef(ms);
  latest.current = ms;
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => {
      // It waits for what is being loaded.
      if (!replay.isReady(latest.current)) return;
      const next = Math.min(range.toMs, latest.current + TICK_MS * Number(speed));
      setMs(next);
      if (next === range.toMs) setPlaying(false);
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [isPlaying, speed, replay, range.toMs]);
  const time = formatTime(new Date(ms).toISOString());
  return html`
    <${MapFrame} scene=${scene} label="Map of tracks and the camera at the chosen time.">
      ${scene.cameras.size + scene.tracks.size === 0 && html`<p class="over" role="status">${error ?? (replay.isReady(ms) ? "No geolocated objects at this time." : "Loading…")}</p>`}
    </${MapFrame}>
    <div class="row scrub" role="group" aria-label="Time">
      <button type="button" onClick=${() => setPlaying(!isPlaying)}>${isPlaying ? "Pause" : "Play"}</button>
      <${Select} class="choice" label="Speed" value=${speed} onChange=${setSpeed} options=${SPEEDS.map((one) => [one, `${one}×`])} />
      <div class="slide">
        <div class="active" aria-hidden="true">${barsOf(active, range).map(({ left, width }) => html`<i style=${{ left: `${left}%`, width: `${width}%` }} />`)}</div>
        <input type="range" aria-label="Time" aria-valuetext=${time} min=${range.fromMs} max=${range.toMs} step="200" value=${ms}
          onInput=${({ currentTarget }: Event) => setMs(Number((currentTarget as HTMLInputElement).value))} />
      </div>
      <time datetime=${new Date(ms).toISOString()}>${time}</time>
      <a href=${linkTo("processes", process.uuid)}>Process</a>
    </div>
    <${PositionTable} scene=${scene} />
  `;
}

interface ShownOptions {
  readonly replay: Replay;
  readonly ms: number;
  onError(message: string | null): void;
  show(): void;
}

/** Shows the time at once if it is loaded, else when the slider has come to rest. */
function useShown({ replay, ms, onError, show }: ShownOptions): void {
  useEffect(() => {
    if (replay.isReady(ms)) {
      show();
      return undefined;
    }
    const closing = new AbortController();
    const load = async (): Promise<void> => {
      try {
        await replay.prepare(ms, closing.signal);
        onError(null);
        show();
      } catch (thrown) {
        if (!closing.signal.aborted) onError(toApiError(thrown).message);
      }
    };
    const timer = setTimeout(() => void load(), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [ms, replay]);
}
