/** Requests of the server: checked, done one after the other, each answered once. */
import type { Json } from "../../../schemas/json.ts";
import { maskCredentials } from "../../../schemas/mask.ts";
import { type RunnerMessage, RunnerRequest } from "../../../schemas/runner.ts";
import { validate } from "../../compiler/schema-check.ts";

/** A request that cannot be done, with a word for programs. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: string;
  /** What of the request is wrong, one by one, where that is known. */
  readonly parts: readonly RefusedPart[];
  constructor(kind: string, detail: string, parts: readonly RefusedPart[] = []) {
    super(detail);
    this.kind = kind;
    this.parts = parts;
  }
}

export interface RefusedPart {
  /** A JSON pointer. */
  readonly path: string;
  readonly message: string;
}

export interface RequestHandler {
  /** At once, while earlier requests are still under way: the moment to cut them short. */
  arrived(request: RunnerRequest): void;
  /** When it is its turn. Rejects with a `Refusal` for what is no fault of this program. */
  handle(request: RunnerRequest): Promise<unknown>;
}

export class Requests {
  readonly #handler: RequestHandler;
  readonly #tell: (message: RunnerMessage) => void;
  #turn: Promise<void> = Promise.resolve();
  #open = 0;

  constructor(handler: RequestHandler, tell: (message: RunnerMessage) => void) {
    this.#handler = handler;
    this.#tell = tell;
  }

  take(received: unknown): void {
    const fault = findFault(received);
    if (fault !== null) {
      this.#refuse(received, fault);
      return;
    }
    const request = received as RunnerRequest;
    if (this.#open >= MOST_OPEN) {
      this.#answer(request.id, new Refusal("busy", `${MOST_OPEN} requests are waiting already`), null);
      return;
    }
    this.#open += 1;
    this.#handler.arrived(request);
    this.#turn = this.#turn.then(async () => {
      try {
        this.#answer(request.id, null, (await this.#handler.handle(request)) ?? null);
      } catch (error) {
        this.#answer(request.id, error as Error, null);
      }
      this.#open -= 1;
    });
  }

  /** Resolves when every request that came has been answered. */
  idle(): Promise<void> {
    return this.#turn;
  }

  #answer(id: number, error: Error | null, result: unknown): void {
    const { kind, parts } = error instanceof Refusal ? error : { kind: "failed", parts: [] };
    const faults = parts.map(({ path, message }) => ({ path, message: maskCredentials(message) }));
    const told = error && {
      kind,
      detail: maskCredentials(error.message),
      ...(faults.length > 0 && { faults }),
    };
    this.#tell({ type: "reply", id, error: told, result });
  }

  #refuse(received: unknown, fault: string): void {
    const id = (received as { id?: unknown } | null)?.id;
    if (typeof id === "number" && Number.isSafeInteger(id)) this.#answer(id, new Refusal("invalid", fault), null);
    else this.#tell({ type: "log", level: "warn", node: "", message: `ignored: ${fault}` });
  }
}

/** The server waits for its answers; more than this is no sane one. */
const MOST_OPEN = 64;

function findFault(received: unknown): string | null {
  const type = (received as { type?: unknown } | null)?.type;
  const schema = typeof type === "string" ? SCHEMAS.get(type) : undefined;
  if (schema === undefined)
    return `a message of no known kind; expected an object whose \`type\` is one of ${[...SCHEMAS.keys()].join(", ")}`;
  const [error] = validate(schema, received as Json);
  if (error === undefined) return null;
  return `the request "${type}" has ${error.found} at "${error.path.join("/")}"; expected ${error.expected}`;
}

const SCHEMAS = new Map(
  RunnerRequest.anyOf.map((schema) => [schema.properties.type.const as string, schema as object] as const),
);
