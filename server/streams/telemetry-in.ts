/** What a client sends to the telemetry socket, handed to the process. Only what is wrong is answered. */
import type { TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import { ERRORS } from "../../schemas/errors.ts";
import { TelemetryFault } from "../../telemetry/format.ts";
import { toServiceError } from "../problem.ts";
import { ServiceError } from "../service-error.ts";
import type { IncomingMessage } from "../telemetry/channel.ts";
import type { Received } from "./socket-client.ts";

interface IntakeNeeds {
  readonly config: { readonly received_per_second: number };
  receive(message: IncomingMessage): void;
  answer(refusal: TelemetryRefusal): void;
}

/** Whoever sends too fast is told once a second: another answer to each message would be too much as well. */
const EXCESS_MS = 1_000;

export class TelemetryIntake {
  readonly #needs: IntakeNeeds;
  #excessToldMs = Number.NEGATIVE_INFINITY;

  constructor(needs: IntakeNeeds) {
    this.#needs = needs;
  }

  take(received: Received): void {
    const { config, receive } = this.#needs;
    if (received.type === "text") receive({ payload: received.text, refuse: (error) => this.#refuse(error) });
    else if (received.type === "binary") {
      const detail = "Expected one JSON object in each text frame; this frame is binary.";
      this.#refuse(new ServiceError("malformed_json", { detail }));
    } else {
      const detail = `Expected at most ${config.received_per_second} messages a second. What comes above that is not used.`;
      this.#refuse(new ServiceError("rate_limited", { detail }));
    }
  }

  #refuse(thrown: Error): void {
    const error = toRefused(thrown);
    if (error.code === "rate_limited" && !this.#mayTellExcess()) return;
    this.#needs.answer(toRefusal(error));
  }

  #mayTellExcess(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#excessToldMs < EXCESS_MS) return false;
    this.#excessToldMs = nowMs;
    return true;
  }
}

/** What is no JSON has no faults to point at. */
function toRefused(error: Error): ServiceError {
  if (!(error instanceof TelemetryFault)) return toServiceError(error);
  const { message: detail, faults } = error;
  if (faults.length === 0) return new ServiceError("malformed_json", { detail });
  return new ServiceError("invalid_input", { detail, errors: faults });
}

export function toRefusal(error: ServiceError): TelemetryRefusal {
  const { code, message, errors } = error;
  return {
    error: { code, title: ERRORS[code].title, detail: message, ...(errors !== null && { errors: [...errors] }) },
  };
}
