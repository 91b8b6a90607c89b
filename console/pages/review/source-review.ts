/** One source on one day: player, time line, notices and their filter. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { whenLoaded } from "../../components/query.ts";
import { attempt, showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";
import { fit, isIn, panBy, type Span, showTime, zoomAt } from "./axis.ts";
import { isFile, spanOfDay, writeMoment } from "./clock.ts";
import { ExportClip } from "./export-clip.ts";
import { Classes, EmptyHint, Filters } from "./filters.ts";
import { Footage } from "./footage.ts";
import { type Filter, type History, type Mark, matches, NO_FILTER, processIn, stepMark } from "./history.ts";
import { NoticeList, NoticePanel } from "./notices.ts";
import { Playback, type PlaybackState } from "./playback.ts";
import { Player, type PlayerAction } from "./player.ts";
import { SHORTCUTS, useShortcuts } from "./shortcuts.ts";
import { describeHistory, SourceLine } from "./source-line.ts";
import { useDetail, useTimeline } from "./use-timeline.ts";

/** A notice is shown from a moment before it. */
const BEFORE_MS = 2_000;
const JUMP_MS = 5_000;
const FAR_JUMP_MS = 60_000;
/** Proposed around the current time. */
const EXPORT = { beforeMs: 5_000, afterMs: 10_000 };

interface SourceReviewProps {
  readonly source: Source;
  readonly day: string;
  /** Whose time lines are shown below. */
  readonly others: readonly Source[];
  /** Of the address. */
  readonly askedMs: number | null;
  readonly askedNotice: string | null;
  onSource(uuid: string): void;
}

export function SourceReview(props: SourceReviewProps) {
  const ofFile = isFile(props.source);
  const query = useTimeline(props.source.uuid, ofFile ? null : spanOfDay(props.day));
  return html`${whenLoaded(query, (history) => html`<${Workplace} ...${props} ofFile=${ofFile} history=${history} onChange=${query.reload} />`)}`;
}

interface WorkplaceProps extends SourceReviewProps {
  readonly ofFile: boolean;
  readonly history: History;
  /** Something was reviewed or deleted. */
  onChange(): void;
}

/** Where playback begins: what the address says, else the last notice, else the latest video. */
function chooseStart(
  history: History,
  askedMs: number | null,
  notice: string | null,
): { ms: number; mark: Mark | null } {
  const mark = history.marks.find(({ uuid }) => uuid === notice) ?? null;
  if (mark !== null) return { ms: mark.atMs - BEFORE_MS, mark };
  if (askedMs !== null && isIn(history, askedMs)) return { ms: askedMs, mark: null };
  const last = history.recorded.at(-1);
  if (last === undefined) return { ms: history.marks.at(-1)?.atMs ?? history.fromMs, mark: null };
  return { ms: Math.max(last.fromMs, last.toMs - 30_000), mark: null };
}

/** Where something is: a short recording would be a dot on a whole day. */
function fitHistory(history: History, ms: number): Span {
  const spans = [...history.recorded, ...history.activity];
  const times = [
    ms,
    ...spans.map(({ fromMs }) => fromMs),
    ...spans.map(({ toMs }) => toMs),
    ...history.marks.map(({ atMs }) => atMs),
  ];
  const [fromMs, toMs] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
  return fit({ fromMs, toMs }, history);
}

function Workplace({ source, ofFile, history, others, day, askedMs, askedNotice, onSource, onChange }: WorkplaceProps) {
  const [start] = useState(() => chooseStart(history, askedMs, askedNotice));
  const [selected, setSelected] = useState<string | null>(start.mark?.uuid ?? null);
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const [view, setView] = useState<Span>(() => fitHistory(history, start.ms));
  const [isExporting, setExporting] = useState(false);
  const now = useMemo(() => signal(start.ms), []);
  const footage = useMemo(() => new Footage({ sourceUuid: source.uuid, ofFile }), []);
  useEffect(() => () => footage.close(), []);
  const detail = useDetail(source.uuid, ofFile, history, view);
  const latest = useRef(history);
  latest.current = history;
  const player = usePlayback(footage, latest, now);
  const { playback } = player;
  const marks = history.marks.filter((mark) => matches(filter, mark));
  const whole = { fromMs: history.fromMs, toMs: history.toMs };

  const seek = (ms: number): void => {
    setView((before) => showTime(before, whole, ms));
    void playback.seek(Math.min(Math.max(ms, whole.fromMs), whole.toMs - 1));
  };
  const select = (mark: Mark): void => {
    setSelected(mark.uuid);
    seek(mark.atMs - BEFORE_MS);
  };
  const step = (direction: 1 | -1): void => {
    const mark = stepMark(marks, { uuid: selected, atMs: now.peek() }, direction);
    if (mark !== null) select(mark);
    else showToast(direction === 1 ? "No later notice" : "No earlier notice");
  };
  const review = async (): Promise<void> => {
    const mark = history.marks.find(({ uuid }) => uuid === selected);
    if (mark === undefined) return showToast("Select a notice first: n or p");
    const reviewed = !mark.reviewed;
    await attempt(
      () => windhover.reviewNotice({ notice_uuid: mark.uuid, body: { reviewed } }),
      reviewed ? "Reviewed" : "Marked as not reviewed",
    );
    onChange();
  };
  const share = async (): Promise<void> => {
    const query = new URLSearchParams({ source: source.uuid, at: writeMoment(now.peek(), ofFile) });
    if (selected !== null) query.set("notice", selected);
    const address = new URL(`${linkTo("review")}?${query}`, window.location.href).href;
    await attempt(() => navigator.clipboard.writeText(address), "Link to this moment copied");
  };
  const zoom = (factor: number) =>
    setView((before) =>
      zoomAt(before, whole, isIn(before, now.peek()) ? now.peek() : (before.fromMs + before.toMs) / 2, factor),
    );
  const actions: Readonly<Record<PlayerAction, () => void>> = {
    ...player.actions,
    back: () => seek(now.peek() - JUMP_MS),
    forward: () => seek(now.peek() + JUMP_MS),
    previous: () => step(-1),
    next: () => step(1),
    export: () => setExporting(true),
    share: () => void share(),
  };
  const shortcuts = useShortcuts({
    " ": actions.toggle,
    n: actions.next,
    p: actions.previous,
    r: () => void review(),
    b: actions.boxes,
    e: actions.export,
    ArrowLeft: ({ shiftKey }) => seek(now.peek() - (shiftKey ? FAR_JUMP_MS : JUMP_MS)),
    ArrowRight: ({ shiftKey }) => seek(now.peek() + (shiftKey ? FAR_JUMP_MS : JUMP_MS)),
    ",": () => void playback.stepFrames(-1),
    ".": () => void playback.stepFrames(1),
    "+": () => zoom(0.6),
    "=": () => zoom(0.6),
    "-": () => zoom(1.6),
    "0": () => setView(whole),
    "[": () => setView((before) => panBy(before, whole, -0.5)),
    "]": () => setView((before) => panBy(before, whole, 0.5)),
  });
  // The address of this moment: back and reload return to it.
  useEffect(() => {
    const timer = setInterval(() => rememberMoment(source.uuid, writeMoment(now.peek(), ofFile), selected), 1_000);
    return () => clearInterval(timer);
  }, [selected]);
  useEffect(() => {
    void playback.seek(start.ms);
  }, []);

  const mark = history.marks.find(({ uuid }) => uuid === selected);
  const line = { view, whole, filter, ofFile, onView: setView, onSeek: seek, onSelect: select };
  return html`
    <div class="review">
      <${Player} ...${player.props} now=${now} ofFile=${ofFile} actions=${actions} />
      <aside class="card stack" aria-label="Notices of alerts">
        <${Filters} history=${history} filter=${filter} onChange=${setFilter} />
        <${NoticeList} marks=${marks} total=${history.marks.length} selected=${selected} ofFile=${ofFile} onSelect=${select} />
        ${
          mark !== undefined &&
          html`<${NoticePanel} uuid=${mark.uuid} isReviewed=${mark.reviewed} onChange=${onChange} onClose=${() => setSelected(null)} onDeleted=${() => {
            setSelected(null);
            onChange();
          }} />`
        }
      </aside>
      <section class="card review-lines" aria-label="Time line">
        <div class="row spread">
          <${Classes} history=${history} filter=${filter} onChange=${setFilter} />
          <div class="row" role="group" aria-label="Zoom">
            <button type="button" aria-label="Zoom in (+)" title="Zoom in (+)" onClick=${() => zoom(0.6)}>+</button>
            <button type="button" aria-label="Zoom out (−)" title="Zoom out (−)" onClick=${() => zoom(1.6)}>−</button>
            <button type="button" title="Show all (0)" onClick=${() => setView(whole)}>${ofFile ? "Whole video" : "Whole day"}</button>
          </div>
        </div>
        <${SourceLine} ...${line} label=${source.alias} history=${history} detail=${detail} now=${now} footage=${footage} selected=${selected} isCompact=${false} />
        ${others.map((one) => html`<${OtherLine} key=${one.uuid} ...${line} source=${one} day=${day} onSource=${onSource} />`)}
        <p class="unseen" role="status">${describeHistory(history)}</p>
        <${EmptyHint} history=${history} source=${source} />
        ${history.truncated.includes("notices") && html`<p class="hint">The newest ${history.marks.length} notices are shown. Choose another day, or filter <code>GET /notices</code>.</p>`}
        <div class="row spread help">
          <p class="hint">${SHORTCUTS.map(([key, text]) => html`<span key=${key}><kbd>${key}</kbd> ${text}</span>`)}</p>
          <label class="check hint"><input type="checkbox" checked=${shortcuts.isOn} onChange=${shortcuts.toggle} /> Shortcuts</label>
        </div>
      </section>
    </div>
    ${
      isExporting &&
      html`<${ExportClip} sourceUuid=${source.uuid} alias=${source.alias} ofFile=${ofFile} processUuid=${processIn(history.processes, { fromMs: now.peek(), toMs: now.peek() + EXPORT.afterMs })}
      fromMs=${Math.max(whole.fromMs, now.peek() - EXPORT.beforeMs)} toMs=${Math.min(whole.toMs, now.peek() + EXPORT.afterMs)} onClose=${() => setExporting(false)} />`
    }
  `;
}

function rememberMoment(source: string, at: string, notice: string | null): void {
  const query = new URLSearchParams({ source, at, ...(notice !== null && { notice }) });
  const address = `${window.location.pathname}?${query}`;
  if (address !== window.location.pathname + window.location.search) window.history.replaceState(null, "", address);
}

/** The player: one playback for the source, and what of it is displayed. */
function usePlayback(footage: Footage, latest: { readonly current: History }, now: { value: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const [state, setState] = useState<PlaybackState>({ isPlaying: false, isLoading: false, message: null });
  const [hasBoxes, setBoxes] = useState(true);
  const boxes = useRef(true);
  const [isMuted, setMuted] = useState(true);
  const [rate, setRate] = useState(1);
  const playback = useMemo(
    () =>
      new Playback({
        ...{ footage, onState: setState, history: () => latest.current, hasBoxes: () => boxes.current },
        ...{ canvas: () => canvas.current, video: () => video.current },
        onTime: (ms) => {
          now.value = ms;
        },
      }),
    [],
  );
  useEffect(() => () => playback.close(), []);
  useEffect(() => {
    if (video.current !== null) video.current.muted = isMuted;
  }, [isMuted]);
  useEffect(() => {
    boxes.current = hasBoxes;
    playback.repaint();
  }, [hasBoxes]);
  const actions = {
    toggle: () => (playback.isPlaying ? playback.pause() : void playback.play()),
    boxes: () => setBoxes((before) => !before),
    sound: () => setMuted((before) => !before),
    fullScreen: () => void canvas.current?.parentElement?.requestFullscreen().catch(() => {}),
  };
  const onRate = (next: number): void => {
    setRate(next);
    playback.setRate(next);
  };
  return { playback, actions, props: { canvas, video, state, hasBoxes, isMuted, rate, onRate } };
}

interface OtherLineProps {
  readonly source: Source;
  readonly day: string;
  readonly view: Span;
  readonly whole: Span;
  readonly filter: Filter;
  onView(view: Span): void;
  onSource(uuid: string): void;
}

/** A click shows that source. */
function OtherLine({ source, day, onSource, ...line }: OtherLineProps) {
  const query = useTimeline(source.uuid, spanOfDay(day));
  const open = () => onSource(source.uuid);
  return html`
    <div class="other">
      <button type="button" class="plain link" onClick=${open}>${source.alias}</button>
      ${whenLoaded(query, (history) => html`<${SourceLine} ...${line} label=${source.alias} history=${history} detail=${null} now=${null} footage=${null} selected=${null} ofFile=${false} isCompact=${true} onSeek=${open} onSelect=${open} />`)}
    </div>
  `;
}
