/**
 * Typed messages between two processes. Either end sends messages and requests; every request gets one reply. Both ends
 * validate what they receive. A receiver that does not read costs the sender the oldest messages of droppable types, which
 * are counted; nothing ever waits for it.
 */
import type { ChildProcess } from "node:child_process";
import { type Static, type TSchema, Type } from "typebox";
import { Checks, type InputFault } from "../schemas/bounded-check.ts";
import { maskCredentials } from "../schemas/mask.ts";

export interface Message {
  readonly type: string;
  /** Of requests: it is replied to. */
  readonly id?: number;
}

/** One end of the transport. */
export interface Port {
  readonly isOpen: boolean;
  /** `done` is called when it was written or never will be. */
  send(message: object, done: () => void): void;
  onMessage(listener: (received: unknown) => void): void;
  onClose(listener: () => void): void;
}

/** `process` in a child that was started with an IPC channel, or that child in its parent. */
export function processPort(end: ChildProcess | NodeJS.Process): Port {
  return {
    get isOpen() {
      return end.connected === true;
    },
    send(message, done) {
      if (end.connected) end.send?.(message, undefined, undefined, done);
      else done();
    },
    onMessage: (listener) => void end.on("message", listener),
    onClose: (listener) => void end.once("disconnect", listener),
  };
}

/** The other end rejects the request. `kind` is for programs; of invalid input `faults` says what and where. */
export class RequestRejected extends Error {
  override readonly name = "RequestRejected";
  readonly kind: string;
  readonly faults: readonly InputFault[];

  constructor(kind: string, detail: string, faults: readonly InputFault[] = []) {
    super(detail);
    this.kind = kind;
    this.faults = faults;
  }
}

/** No reply came in time, or none will: the other end has closed. */
export class NoReply extends Error {
  override readonly name = "NoReply";
}

export const Reply = Type.Object({
  type: Type.Literal("reply"),
  id: Type.Integer(),
  error: Type.Union([
    Type.Object({
      kind: Type.String(),
      detail: Type.String(),
      faults: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    }),
    Type.Null(),
  ]),
  result: Type.Unknown(),
});
export type Reply = Static<typeof Reply>;

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
/** A message that is a request, without the id that the channel gives it. */
export type RequestOf<T> = WithoutId<Extract<T, { id: number }>>;

export interface ChannelOptions<Out extends Message, In extends Message> {
  /** The other end in error texts: `the media hub`. */
  readonly peer: string;
  /** A union of objects, each with a constant `type`. */
  readonly receives: TSchema;
  /** Types that are dropped, oldest first, while the other end does not read. */
  readonly droppable?: readonly Out["type"][];
  onMessage?(message: In): void;
  /** Rejects with `RequestRejected` for anything that is not a bug. */
  onRequest?(request: In): Promise<unknown>;
  /** A message that does not fit its schema and expects no reply. */
  onInvalid(fault: string): void;
}

interface Waiting {
  readonly deadline: Deadline;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Requests open at once in either direction. A peer that is this far behind is not replying at all. */
const MAX_REQUESTS = 10_000;
const MAX_IN_FLIGHT = 32;
const MAX_QUEUED = 512;

const checks = new Checks({});
const checkReply = checks.by(Reply);

export class Channel<Out extends Message, In extends Message> {
  readonly #port: Port;
  readonly #options: ChannelOptions<Out, In>;
  readonly #schemas: ReadonlyMap<string, ReturnType<Checks["by"]>>;
  readonly #droppable: ReadonlySet<string>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #queue: (Out | Reply)[] = [];
  #lastId = 0;
  #inFlight = 0;
  #dropped = 0;
  #openRequests = 0;
  #whenIdle: (() => void)[] = [];

  constructor(port: Port, options: ChannelOptions<Out, In>) {
    this.#port = port;
    this.#options = options;
    this.#droppable = new Set(options.droppable);
    this.#schemas = indexByType(options.receives);
    port.onMessage((received) => this.#receive(received));
    port.onClose(() => this.#rejectAll());
  }

  /** Messages lost since the start because the other end did not read. */
  get dropped(): number {
    return this.#dropped;
  }

  send(message: Out): void {
    this.#put(message);
  }

  /** Rejects with `RequestRejected` or `NoReply`. */
  request(message: RequestOf<Out>, limitMs: number): Promise<unknown> {
    const { peer } = this.#options;
    if (!this.#port.isOpen) return Promise.reject(new NoReply(`${peer} is not running`));
    if (this.#waiting.size >= MAX_REQUESTS)
      return Promise.reject(new RequestRejected("busy", `${MAX_REQUESTS} requests to ${peer} are open already`));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const deadline = new Deadline(limitMs, () => {
        this.#waiting.delete(id);
        reject(new NoReply(`${peer} did not reply to "${message.type}" within ${limitMs / 1000} s`));
      });
      this.#waiting.set(id, { deadline, resolve, reject });
      this.#put({ ...message, id } as unknown as Out);
    });
  }

  /** Resolves when every request received was replied to and everything was written. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#openRequests === 0 && this.#inFlight === 0;
  }

  #put(message: Out | Reply): void {
    this.#queue.push(message);
    this.#write();
    if (this.#queue.length <= MAX_QUEUED) return;
    const oldest = this.#queue.findIndex(({ type }) => this.#droppable.has(type));
    if (oldest < 0) return;
    this.#queue.splice(oldest, 1);
    this.#dropped += 1;
  }

  #write(): void {
    while (this.#inFlight < MAX_IN_FLIGHT) {
      const message = this.#queue.shift();
      if (message === undefined) return;
      this.#inFlight += 1;
      let isDone = false;
      this.#port.send(message, () => {
        if (isDone) return;
        isDone = true;
        this.#inFlight -= 1;
        this.#write();
        this.#settleIdle();
      });
    }
  }

  #settleIdle(): void {
    if (this.#isIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #receive(received: unknown): void {
    const { type, id } = (received ?? {}) as { readonly type?: unknown; readonly id?: unknown };
    if (type === "reply") {
      if (checkReply(received).length === 0) this.#settle(received as Reply);
      else this.#options.onInvalid("a reply is malformed");
      return;
    }
    const fault = this.#findFault(received);
    const { onRequest } = this.#options;
    if (onRequest !== undefined && typeof id === "number" && Number.isSafeInteger(id))
      void this.#reply(id, fault, () => onRequest(received as In));
    else if (fault !== null) this.#options.onInvalid(fault);
    else this.#options.onMessage?.(received as In);
  }

  #findFault(received: unknown): string | null {
    const type = (received as { type?: unknown } | null)?.type;
    const check = typeof type === "string" ? this.#schemas.get(type) : undefined;
    if (check === undefined)
      return `the message has an unknown type; expected one of ${[...this.#schemas.keys()].join(", ")}`;
    const [fault] = check(received);
    return fault === undefined ? null : `"${type}": ${fault.path} ${fault.message}`;
  }

  async #reply(id: number, fault: string | null, handle: () => Promise<unknown>): Promise<void> {
    this.#openRequests += 1;
    try {
      if (fault !== null) throw new RequestRejected("invalid", fault);
      if (this.#openRequests > MAX_REQUESTS) throw new RequestRejected("busy", `${MAX_REQUESTS} requests are open`);
      this.#put({ type: "reply", id, error: null, result: (await handle()) ?? null });
    } catch (error) {
      this.#put({ type: "reply", id, error: describeError(error), result: null });
    }
    this.#openRequests -= 1;
    this.#settleIdle();
  }

  /** A reply that comes too late, or twice, does nothing. */
  #settle({ id, error, result }: Reply): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.deadline.close();
    if (error === null) waiting.resolve(result);
    else waiting.reject(new RequestRejected(error.kind, error.detail, error.faults));
  }

  #rejectAll(): void {
    for (const [id, { deadline, reject }] of this.#waiting) {
      this.#waiting.delete(id);
      deadline.close();
      reject(new NoReply(`${this.#options.peer} has ended`));
    }
  }
}

const GRACE_MS = 1_000;

/** Calls `onMissed` unless it is refreshed in time or closed. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onMissed: () => void) {
    this.#timer = setTimeout(() => {
      // After this process itself stood still, due timers fire before messages that arrived meanwhile: read those first.
      this.#grace = setTimeout(onMissed, GRACE_MS);
    }, limitMs);
  }

  refresh(): void {
    clearTimeout(this.#grace);
    this.#timer.refresh();
  }

  close(): void {
    clearTimeout(this.#grace);
    clearTimeout(this.#timer);
  }
}

function describeError(error: unknown): Reply["error"] {
  const { kind, faults } = error instanceof RequestRejected ? error : { kind: "failed", faults: [] };
  const detail = maskCredentials(error instanceof Error ? error.message : String(error));
  const masked = faults.map(({ path, message }) => ({ path, message: maskCredentials(message) }));
  return { kind, detail, ...(masked.length > 0 && { faults: masked }) };
}

/** Checked by the schema of its type alone: one fault is named, not those of every kind of message. */
function indexByType(schema: TSchema): ReadonlyMap<string, ReturnType<Checks["by"]>> {
  const { anyOf = [schema] } = schema as { anyOf?: readonly TSchema[] };
  return new Map(
    anyOf.map((variant) => {
      const { properties } = variant as { properties?: { type?: { const?: unknown } } };
      return [String(properties?.type?.const), checks.by(variant)] as const;
    }),
  );
}
