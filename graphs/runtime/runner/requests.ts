/** Requests of the server: validated, handled one at a time, each answered once. */
import type { Json } from "../../../schemas/json.ts";
import { maskCredentials } from "../../../schemas/mask.ts";
import { type RunnerMessage, RunnerRequest } from "../../../schemas/runner.ts";
import { validate } from "../../compiler/schema-check.ts";

/** An expected error; `kind` is for programs. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly kind: string;
  /** The faults of single values, if known. */
  readonly faults: readonly RequestFault[];
  constructor(kind: string, detail: string, faults: readonly RequestFault[] = []) {
    super(detail);
    this.kind = kind;
    this.faults = faults;
  }
}

export interface RequestFault {
  /** A JSON pointer. */
  readonly path: string;
  readonly message: string;
}

export interface RequestHandler {
  /** Called at once, while earlier requests are pending, which it may abort. */
  onArrival(request: RunnerRequest): void;
  /** Called when earlier requests are done. Rejects with a `RequestError` for expected errors. */
  handle(request: RunnerRequest): Promise<unknown>;
}

export class Requests {
  readonly #handler: RequestHandler;
  readonly #send: (message: RunnerMessage) => void;
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;

  constructor(handler: RequestHandler, send: (message: RunnerMessage) => void) {
    this.#handler = handler;
    this.#send = send;
  }

  receive(received: unknown): void {
    const fault = findFault(received);
    if (fault !== null) {
      this.#reject(received, fault);
      return;
    }
    const request = received as RunnerRequest;
    if (this.#pending >= MAX_PENDING) {
      this.#answer(request.id, new RequestError("busy", `request limit reached (${MAX_PENDING})`), null);
      return;
    }
    this.#pending += 1;
    this.#handler.onArrival(request);
    this.#queue = this.#queue.then(async () => {
      try {
        this.#answer(request.id, null, (await this.#handler.handle(request)) ?? null);
      } catch (error) {
        this.#answer(request.id, error as Error, null);
      }
      this.#pending -= 1;
    });
  }

  /** Resolves when all received requests are answered. */
  idle(): Promise<void> {
    return this.#queue;
  }

  #answer(id: number, error: Error | null, result: unknown): void {
    const { kind, faults: found } = error instanceof RequestError ? error : { kind: "failed", faults: [] };
    const faults = found.map(({ path, message }) => ({ path, message: maskCredentials(message) }));
    const detail = maskCredentials(error?.message ?? "");
    const described = error && { kind, detail, ...(faults.length > 0 && { faults }) };
    this.#send({ type: "reply", id, error: described, result });
  }

  #reject(received: unknown, fault: string): void {
    const id = (received as { id?: unknown } | null)?.id;
    if (typeof id === "number" && Number.isSafeInteger(id)) this.#answer(id, new RequestError("invalid", fault), null);
    else this.#send({ type: "log", level: "warn", node: "", message: `ignored: ${fault}` });
  }
}

const MAX_PENDING = 64;

function findFault(received: unknown): string | null {
  const type = (received as { type?: unknown } | null)?.type;
  const schema = typeof type === "string" ? SCHEMAS.get(type) : undefined;
  if (schema === undefined)
    return `a message of unknown type; expected an object whose \`type\` is one of ${[...SCHEMAS.keys()].join(", ")}`;
  const [error] = validate(schema, received as Json);
  if (error === undefined) return null;
  return `the request "${type}" has ${error.found} at "${error.path.join("/")}"; expected ${error.expected}`;
}

const SCHEMAS = new Map(
  RunnerRequest.anyOf.map((schema) => [schema.properties.type.const as string, schema as object] as const),
);
