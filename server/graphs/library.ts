/** The graphs of this server: which there are, and what becomes of one on a source with what a client gives it. */
import type { CompileInput } from "../../graphs/compiler/compile.ts";
import type { Fault } from "../../graphs/compiler/fault.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import type {
  CompileAnswer,
  CompileRequest,
  DescribedGraph,
  GraphSummary,
} from "../../graphs/compiler/worker/messages.ts";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Registry } from "../../schemas/registry.ts";
import { ServiceError } from "../service-error.ts";
import { CompileAbandoned, CompileQueueFull, CompileThread, CompileTimeout } from "./compile-thread.ts";
import { refuseInput, refuseName } from "./refusals.ts";

/** What graphs are made of, from outside: the server itself loads neither elements nor GStreamer. */
export interface GraphKnowledge {
  readonly elements: CompileInput["elements"];
  readRegistry(): Promise<Registry>;
  /** Names of the installed models. */
  modelNames(): Promise<readonly string[]>;
}

/** Whose text it is: each user takes turns with the others. */
export interface TextOwner {
  readonly userUuid?: string;
  /** Aborted: nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

export interface GraphOrder extends TextOwner {
  /** Name of an installed graph. */
  readonly graph: string;
  /** Of a graph that is not installed: `graph` is then only a label, and the allow-list holds. */
  readonly graphText?: string | null;
  /** As the client gave them. */
  readonly params: JsonRecord;
  /** Those of the params that are to be judged as a client's. Default: all. */
  readonly given?: JsonRecord;
  /** A slot that is to be attached, with what a client gives for it. */
  readonly attach?: { readonly slot: string; readonly params: JsonRecord };
  /** A file's path or a stream's address. Never told to anybody. */
  readonly sourceUri: string;
}

/** Where alert rules are evaluated. */
export interface AlertNode {
  readonly name: string;
  /** Rules of the graph itself; they apply besides those of the service. */
  readonly rules: readonly AlertRule[];
}

export interface PreparedOrder {
  /** All of them, defaults filled in. */
  readonly params: JsonRecord;
  /** What a process of this graph can be asked for: `detections`, `feed`, names of slots. */
  readonly offers: ReadonlySet<string>;
  /** Slots that can be attached, with the JSON Schema of their params. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** Where rules of alerts are evaluated. Of several the first: each would tell of everything. */
  readonly alertNode: AlertNode | null;
  readonly plan: GraphPlan;
}

const ALERTS = "alerts";

type GraphLimits = Pick<Config, "graphs" | "runners">;

export class GraphLibrary {
  readonly elements: CompileInput["elements"];
  readonly registry: Registry;
  readonly #modelNames: GraphKnowledge["modelNames"];
  /** Two, so that nobody's text can keep installed graphs from being started. */
  readonly #installed: CompileThread;
  readonly #texts: CompileThread;

  private constructor(knowledge: GraphKnowledge, registry: Registry, config: GraphLimits, folder: URL | null) {
    const factories = JSON.stringify(registry.list().map(({ name }) => registry.get(name)));
    const loadMs = config.runners.load_seconds * 1000;
    const { queued, queued_per_key: queuedPerKey, compile_seconds, compile_bytes: bytes, idle_seconds } = config.graphs;
    this.elements = knowledge.elements;
    this.registry = registry;
    this.#modelNames = () => knowledge.modelNames();
    const given = { factories, folder: folder?.href ?? null };
    // Of installed graphs the operator knows what they cost.
    const forInstalled = { loadMs, compileMs: loadMs, queued, queuedPerKey: queued, bytes, idleMs: null };
    this.#installed = new CompileThread(given, forInstalled);
    this.#texts = new CompileThread(given, {
      loadMs,
      compileMs: compile_seconds * 1000,
      queued,
      queuedPerKey,
      bytes,
      idleMs: idle_seconds * 1000,
    });
  }

  /** `folder` of the installed graphs: those of this checkout unless said otherwise; ends in a slash. */
  static async open(knowledge: GraphKnowledge, config: GraphLimits, folder?: URL): Promise<GraphLibrary> {
    const library = new GraphLibrary(knowledge, await knowledge.readRegistry(), config, folder ?? null);
    // Loads the thread, so that the first start need not wait for it.
    await library.list();
    return library;
  }

  async list(): Promise<readonly GraphSummary[]> {
    const answer = await this.#ask(this.#installed, { type: "list" });
    return answer.type === "listed" ? answer.graphs : [];
  }

  /** Rejects with `graph_not_found`. */
  async describe(graph: string): Promise<DescribedGraph> {
    const answer = await this.#ask(this.#installed, { type: "describe", graph });
    if (answer.type !== "described") throw refuseName(graph, answer.type === "absent" ? answer.installed : []);
    return answer.graph;
  }

  /** Of any text: all that is wrong with it. */
  async validate(text: string, owner: TextOwner = {}): Promise<readonly Fault[]> {
    const answer = await this.#ask(this.#texts, { type: "validate", text }, owner);
    return answer.type === "validated" ? answer.faults : [];
  }

  /** Rejects with `graph_not_found`, or with `invalid_input` and one entry for every fault. */
  async prepare(order: GraphOrder): Promise<PreparedOrder> {
    const { graph, graphText = null, params, given, attach, sourceUri } = order;
    const models = await this.#modelNames();
    const thread = graphText === null ? this.#installed : this.#texts;
    const answer = await this.#ask(
      thread,
      {
        ...{ type: "prepare", graph, text: graphText, params, sourceUri, models },
        given: given ?? params,
        attach: attach ?? null,
      },
      order,
    );
    if (answer.type === "absent") throw refuseName(graph, answer.installed);
    if (answer.type === "refused") throw refuseInput(graph, answer.refusal, sourceUri);
    if (answer.type !== "prepared") throw new Error(`the compiler answered "${answer.type}" to "prepare"`);
    const { plan } = answer.prepared;
    return {
      params: plan.params,
      offers: new Set(plan.offers),
      slots: plan.slots,
      alertNode: findAlertNode(plan),
      plan,
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#installed.close(), this.#texts.close()]);
  }

  async #ask(
    thread: CompileThread,
    request: CompileRequest,
    { userUuid = "", signal }: TextOwner = {},
  ): Promise<CompileAnswer> {
    try {
      return await thread.ask(request, { key: userUuid, signal });
    } catch (error) {
      if (error instanceof CompileAbandoned)
        throw new ServiceError("malformed_request", { detail: "the connection closed before the graph was compiled" });
      if (error instanceof CompileTimeout || isOutOfMemory(error))
        throw new ServiceError("invalid_input", {
          detail: "The graph takes too long or too much memory to compile: make it simpler.",
          errors: [{ path: "/yaml", message: error.message }],
          cause: error,
        });
      if (error instanceof CompileQueueFull)
        throw new ServiceError("rate_limited", {
          detail: `${error.message}: try again.`,
          retryAfterSeconds: 2,
          cause: error,
        });
      throw error;
    }
  }
}

function findAlertNode({ main, branches }: GraphPlan): AlertNode | null {
  const node = [main, ...branches].flatMap(({ nodes }) => nodes).find(({ element }) => element === ALERTS);
  if (node === undefined) return null;
  const { rules = [] } = node.properties as { readonly rules?: readonly AlertRule[] };
  return { name: node.author, rules };
}

const isOutOfMemory = (error: unknown): error is Error =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
