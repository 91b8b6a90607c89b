/** What a client sends to the telemetry socket: checked, and handed to the process. Only what is wrong is answered. */
import { TelemetryMessage, type TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import { ERRORS } from "../../schemas/errors.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { toServiceError } from "../api/problem.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";
import type { Received } from "./socket-client.ts";

const FIELDS = Object.keys(TelemetryMessage.properties);
const check = checkBy(TelemetryMessage);

interface IntakeNeeds {
  readonly config: { readonly queued_messages: number; readonly received_per_second: number };
  deliver(message: JsonRecord): Promise<void>;
  answer(refusal: TelemetryRefusal): void;
}

export class TelemetryIntake {
  readonly #needs: IntakeNeeds;
  /** Handed over and not yet taken. A process that is stuck must not gather messages here. */
  #underway = 0;

  constructor(needs: IntakeNeeds) {
    this.#needs = needs;
  }

  take(received: Received): void {
    try {
      this.#hand(readTelemetry(this.#expectText(received)));
    } catch (error) {
      this.#refuse(error);
    }
  }

  #expectText(received: Received): string {
    const { queued_messages, received_per_second } = this.#needs.config;
    switch (received.type) {
      case "text":
        if (this.#underway < queued_messages) return received.text;
        throw new ServiceError("rate_limited", { detail: "The process does not keep up; this message is not used." });
      case "excess": {
        const detail = `Expected at most ${received_per_second} messages a second. What comes above that is not used.`;
        throw new ServiceError("rate_limited", { detail });
      }
      case "binary": {
        const detail = "Expected one JSON object in each text frame; this frame is binary.";
        throw new ServiceError("malformed_json", { detail });
      }
    }
  }

  #hand(message: JsonRecord): void {
    this.#underway += 1;
    this.#needs
      .deliver(message)
      .catch((error: unknown) => this.#refuse(error))
      .finally(() => {
        this.#underway -= 1;
      });
  }

  #refuse(error: unknown): void {
    this.#needs.answer(toRefusal(toServiceError(error)));
  }
}

/** Throws what the client is to be told. What we do not know is left out. */
export function readTelemetry(text: string): JsonRecord {
  const message = parse(text);
  const errors = check(message);
  if (errors.length > 0) {
    const detail =
      "Expected a telemetry message: a JSON object with numbers for timestamp, sensor_hfov and sensor_vfov.";
    throw new ServiceError("invalid_input", { detail, errors });
  }
  const fields = Object.entries(message as TelemetryMessage);
  return Object.fromEntries(fields.filter(([name]) => FIELDS.includes(name)));
}

export function toRefusal(error: ServiceError): TelemetryRefusal {
  const { code, message, errors } = error;
  return {
    error: { code, title: ERRORS[code].title, detail: message, ...(errors !== null && { errors: [...errors] }) },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const detail = "Expected one JSON object in each text frame; this is no JSON.";
    throw new ServiceError("malformed_json", { detail, cause });
  }
}
