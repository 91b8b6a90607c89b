/**
 * Plays recorded video of any length: one window after the other in a video element, whose frames are drawn on a canvas
 * together with the boxes of their time, as in the live view.
 */
import { toSentence } from "../../components/format.ts";
import { markShown, paintFrame } from "../../live/painter.ts";
import { toApiError } from "../../poller.ts";
import type { Footage, FootageWindow } from "./footage.ts";
import { type History, nextRecorded, processIn, rangeAt } from "./history.ts";

/** Loads the next window this long before the current one ends. */
const AHEAD_MS = 12_000;
const STEP_MS = 40;
/** Into the frame: a time on its edge could show the frame before. */
const INTO_FRAME_S = 0.001;

export interface PlaybackState {
  readonly isPlaying: boolean;
  readonly isLoading: boolean;
  /** Why no frame of this time is shown; null: one is. */
  readonly message: string | null;
}

interface PlaybackOptions {
  readonly footage: Footage;
  history(): Pick<History, "recorded" | "processes"> | null;
  canvas(): HTMLCanvasElement | null;
  video(): HTMLVideoElement | null;
  hasBoxes(): boolean;
  /** For every frame, and when the time is set. */
  onTime(ms: number): void;
  onState(state: PlaybackState): void;
}

export class Playback {
  readonly #options: PlaybackOptions;
  #state: PlaybackState = { isPlaying: false, isLoading: false, message: "Choose a time on the time line." };
  #window: FootageWindow | null = null;
  #ms = 0;
  #rate = 1;
  /** The last request: earlier ones, which are still loading, are dropped. */
  #turn = 0;
  #isPreparing = false;
  #last: { readonly ms: number } | null = null;

  constructor(options: PlaybackOptions) {
    this.#options = options;
  }

  get ms(): number {
    return this.#ms;
  }

  get isPlaying(): boolean {
    return this.#state.isPlaying;
  }

  /** Shows the frame of this time, and continues to play if it does. */
  async seek(ms: number): Promise<void> {
    const turn = ++this.#turn;
    this.#setTime(ms);
    const range = rangeAt(this.#options.history()?.recorded ?? [], ms);
    if (range === null) return this.#showNothing("Nothing was recorded at this time.");
    this.#set({ isLoading: true });
    try {
      const window = await this.#options.footage.load(ms, range);
      if (turn !== this.#turn || this.#options.footage.isClosed) return;
      const process = processIn(this.#options.history()?.processes ?? [], window);
      // Before the frame, so that a still picture has its boxes; a slow response does not delay the video for long.
      await Promise.race([this.#options.footage.loadBoxes(process, window), sleep(1_500)]);
      if (turn === this.#turn) await this.#show(window, ms, turn);
    } catch (error) {
      if (turn !== this.#turn || this.#options.footage.isClosed) return;
      const { code, message } = toApiError(error);
      this.#showNothing(code === "recording_not_found" ? "Nothing was recorded at this time." : toSentence(message));
    }
  }

  async play(): Promise<void> {
    const { recorded = [] } = this.#options.history() ?? {};
    const next = nextRecorded(recorded, this.#ms);
    if (next === null) return this.#set({ message: "The recording ends here." });
    this.#set({ isPlaying: true });
    if (next !== this.#ms || this.#window === null || this.#state.message !== null) await this.seek(next);
    else await this.#start();
  }

  pause(): void {
    this.#options.video()?.pause();
    this.#set({ isPlaying: false });
  }

  setRate(rate: number): void {
    this.#rate = rate;
    const video = this.#options.video();
    if (video !== null) video.playbackRate = rate;
  }

  /** To a frame before or after; frames are about this long. */
  async stepFrames(count: number): Promise<void> {
    this.pause();
    await this.seek(this.#ms + count * STEP_MS);
  }

  /** The same frame again: boxes were switched on or off, or the size has changed. */
  repaint(): void {
    if (this.#last !== null) this.#paint(this.#last.ms);
  }

  close(): void {
    this.#turn += 1;
    const video = this.#options.video();
    video?.pause();
    video?.removeAttribute("src");
  }

  async #show(window: FootageWindow, ms: number, turn: number): Promise<void> {
    const video = this.#options.video();
    if (video === null) return;
    if (this.#window !== window) {
      this.#window = window;
      const loaded = occurs(video, "loadeddata");
      video.src = window.url;
      await loaded;
      if (turn !== this.#turn) return;
      this.#followFrames(video, window);
    }
    const seeked = occurs(video, "seeked");
    video.currentTime = Math.max(0, (ms - window.zeroMs) / 1000 + INTO_FRAME_S);
    await seeked;
    if (turn !== this.#turn) return;
    this.#set({ isLoading: false, message: null });
    if (this.#state.isPlaying) await this.#start();
  }

  async #start(): Promise<void> {
    const video = this.#options.video();
    if (video === null) return;
    video.playbackRate = this.#rate;
    // Rejected when another window replaces this one.
    await video.play().catch(() => {});
    this.#prepareNext();
  }

  /** Each frame is drawn with its boxes when the browser presents it. */
  #followFrames(video: HTMLVideoElement, window: FootageWindow): void {
    const onFrame = (_: number, { mediaTime }: VideoFrameCallbackMetadata): void => {
      if (this.#window !== window || this.#options.footage.isClosed) return;
      const ms = window.zeroMs + mediaTime * 1000;
      this.#paint(ms);
      if (this.#state.isPlaying) {
        this.#setTime(ms);
        this.#prepareNext();
      }
      video.requestVideoFrameCallback(onFrame);
    };
    video.requestVideoFrameCallback(onFrame);
    video.onended = () => {
      if (this.#window === window && this.#state.isPlaying) void this.#continue(window.toMs);
    };
  }

  #paint(ms: number): void {
    const [video, canvas] = [this.#options.video(), this.#options.canvas()];
    if (video === null || canvas === null || video.videoWidth === 0) return;
    const found = this.#options.hasBoxes() ? this.#options.footage.boxes.find(ms) : null;
    paintFrame(canvas, { image: video, width: video.videoWidth, height: video.videoHeight }, found?.boxes ?? null);
    markShown(canvas, found?.message?.timestamp ?? new Date(Math.max(0, ms)).toISOString(), found?.message ?? null);
    this.#last = { ms };
  }

  /** With the next recorded time: gaps are skipped. */
  async #continue(ms: number): Promise<void> {
    const next = nextRecorded(this.#options.history()?.recorded ?? [], ms);
    if (next !== null) return this.seek(next);
    this.pause();
    this.#set({ message: "The recording ends here." });
  }

  #prepareNext(): void {
    const { footage, history } = this.#options;
    const end = this.#window?.toMs ?? 0;
    if (this.#isPreparing || this.#window === null || end - this.#ms > AHEAD_MS * this.#rate) return;
    const { recorded = [], processes = [] } = history() ?? {};
    const next = nextRecorded(recorded, end);
    const range = next === null ? null : rangeAt(recorded, next);
    if (next === null || range === null) return;
    this.#isPreparing = true;
    const load = async (): Promise<void> => {
      const window = await footage.load(next, range);
      await footage.loadBoxes(processIn(processes, window), window);
    };
    // If it fails, it is loaded when it is due.
    void load()
      .catch(() => {})
      .finally(() => {
        this.#isPreparing = false;
      });
  }

  #showNothing(message: string): void {
    const canvas = this.#options.canvas();
    canvas?.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
    if (canvas !== null) delete canvas.dataset.timestamp;
    this.#last = null;
    this.#options.video()?.pause();
    this.#set({ isPlaying: false, isLoading: false, message });
  }

  #setTime(ms: number): void {
    this.#ms = ms;
    this.#options.onTime(ms);
  }

  #set(change: Partial<PlaybackState>): void {
    this.#state = { ...this.#state, ...change };
    this.#options.onState(this.#state);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const EVENT_MS = 20_000;
const CANNOT_DECODE =
  "this browser cannot decode the video, as most browsers do not decode H.265; export a clip with boxes or a link to it, which is H.264, or download the recording";

/** Rejects when the browser cannot decode the video, and after some time. */
function occurs(video: HTMLVideoElement, name: "loadeddata" | "seeked"): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      video.removeEventListener(name, onEvent);
      video.removeEventListener("error", onError);
      settle();
    };
    const onEvent = (): void => finish(resolve);
    const fail = (): void => reject(new Error(CANNOT_DECODE));
    const onError = (): void => finish(fail);
    const timer = setTimeout(onError, EVENT_MS);
    video.addEventListener(name, onEvent);
    video.addEventListener("error", onError);
  });
}
