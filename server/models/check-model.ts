/** Checks an uploaded model in a confined child process with limits for time, memory and output. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ModelCheck } from "../../schemas/model-check.ts";
import { FairSlots } from "../async/fair-slots.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { runOnce } from "../confinement/run-once.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";

/** Maximum memory of a check. */
const MEMORY_BYTES = 2 ** 30;
/** Concurrent checks, one of a key: each loads a model. */
const AT_ONCE = 1;

const check = checkBy(ModelCheck);

interface ModelCheckerDeps {
  readonly entry: URL;
  readonly confinement: Confinement;
  readonly config: Config["models"];
  readonly log: Logger;
}

interface CheckedModel {
  readonly card: JsonRecord;
  readonly labels: readonly string[];
}

export class ModelChecker {
  readonly #deps: ModelCheckerDeps;
  readonly #slots = new FairSlots(AT_ONCE);

  constructor(deps: ModelCheckerDeps) {
    this.#deps = deps;
  }

  /** Rejects with `model_invalid` and the reason, or with `rate_limited` while others are checked. */
  async check(cardFile: string, weights: string, key: string, signal: AbortSignal): Promise<CheckedModel> {
    const { entry, confinement, config, log } = this.#deps;
    const { check_seconds: seconds } = config;
    const release = await this.#slots.acquire(key, signal, seconds * 1000);
    try {
      if (signal.aborted) throw aborted();
      if (release === null) throw busy();
      for (const file of [cardFile, weights]) await confinement.share(file);
      const order = { entry, files: [cardFile, weights], memoryBytes: MEMORY_BYTES, seconds, name: "the check" };
      const { output, errors, end } = await runOnce(confinement, order, signal);
      if (signal.aborted) throw aborted();
      const { card, labels = [], fault } = readResult(output);
      if (card !== undefined) return { card: card as JsonRecord, labels };
      if (fault !== undefined) throw invalid(fault);
      log.warn({ end, errors }, "model could not be checked");
      throw invalid(`the model cannot be checked: ${end}`);
    } finally {
      release?.();
    }
  }
}

function readResult(output: string): ModelCheck {
  try {
    const value: unknown = JSON.parse(output);
    return check(value).length === 0 ? (value as ModelCheck) : {};
  } catch {
    return {};
  }
}

const aborted = (): ServiceError =>
  new ServiceError("malformed_request", { detail: "the connection closed while the model was checked" });

const busy = (): ServiceError =>
  new ServiceError("rate_limited", {
    ...{ detail: "other models are being checked; try again in a moment", retryAfterSeconds: 5 },
  });

/** One entry per line: a card reports all its faults. */
const invalid = (fault: string): ServiceError => {
  const lines = fault.split("\n").filter((line) => line.trim() !== "");
  return new ServiceError("model_invalid", {
    detail: lines.join("; "),
    errors: lines
      .slice(0, 100)
      .map((message) => ({ path: message.startsWith("card.yaml") ? "card" : "file", message })),
  });
};
