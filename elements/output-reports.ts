/** Reports the state of an output: when it changes, and about once a second. */
import { maskCredentials } from "../schemas/mask.ts";
import type { OutputEvent, Services } from "./element.ts";

const EVERY_MS = 1000;
/** Limit for error texts from servers. */
const MAX_DETAIL_LENGTH = 300;

export type OutputState = Pick<OutputEvent, "status" | "detail" | "framesSent" | "framesDropped">;

interface ReportTexts {
  /** In the log, before the reason. */
  readonly offline: string;
  readonly live: string;
}

export class OutputReports {
  readonly #services: Pick<Services, "log" | "emit">;
  readonly #texts: ReportTexts;
  readonly #read: () => OutputState;
  #reportedAtMs = 0;

  /** @param read the current state; its detail may hold credentials. Outputs of messages count them as frames. */
  constructor(services: Pick<Services, "log" | "emit">, texts: ReportTexts, read: () => OutputState) {
    this.#services = services;
    this.#texts = texts;
    this.#read = read;
  }

  onStatus(): void {
    const { status, detail } = this.#state;
    if (status === "live")
      this.#services.log.info(detail === null ? this.#texts.live : `${this.#texts.live}: ${detail}`);
    else if (detail !== null) this.#services.log.warn(`${this.#texts.offline}: ${detail}`);
    this.report();
  }

  /** With every frame. */
  tick(): void {
    if (performance.now() - this.#reportedAtMs >= EVERY_MS) this.report();
  }

  report(): void {
    this.#reportedAtMs = performance.now();
    const event: OutputEvent = { type: "output", ...this.#state };
    this.#services.emit(event);
  }

  get #state(): OutputState {
    const { detail, ...state } = this.#read();
    return { ...state, detail: detail === null ? null : maskCredentials(detail).slice(0, MAX_DETAIL_LENGTH) };
  }
}
