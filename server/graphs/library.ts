/** The installed graphs, and the compilation of graphs for processes. */
import type { CompileInput } from "../../graphs/compiler/compile.ts";
import { type Fault, formatFault } from "../../graphs/compiler/fault.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import type { RegistryFile } from "../../graphs/compiler/registry-file.ts";
import { ALLOWED_ELEMENTS, type UsableModel } from "../../graphs/compiler/restrict.ts";
import type {
  CompileAnswer,
  CompileRequest,
  CompilerKnowledge,
  DescribedGraph,
  DescribedOwn,
  FoundTest,
  GraphSummary,
  ParamFault,
  Refusal,
} from "../../graphs/compiler/worker/messages.ts";
import type { AlertRule } from "../../schemas/alerts.ts";
import { DEFAULT_GRAPH } from "../../schemas/api/processes.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Registry } from "../../schemas/registry.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { FairThread, ThreadAbandoned, ThreadQueueFull, ThreadTimeout } from "../async/fair-thread.ts";
import { type InputFault, ServiceError } from "../service-error.ts";

type CompileThread = FairThread<CompileRequest, CompileAnswer>;

const COMPILER = new URL("../../graphs/compiler/worker/worker.mjs", import.meta.url);

/** Passed in: the server itself loads neither elements nor GStreamer. */
export interface GraphKnowledge {
  readonly elements: CompileInput["elements"];
  readRegistry(): Promise<RegistryFile>;
  /** The installed ones. */
  listModels(): Promise<readonly UsableModel[]>;
}

/** The user of a text: requests of different users alternate. */
interface TextOwner {
  readonly userUuid?: string;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal;
  /** Models that the user has uploaded. */
  readonly ownModels?: readonly UsableModel[];
}

export interface GraphOrder extends TextOwner {
  /** Name of an installed graph. */
  readonly graph: string;
  /** Of a graph that is not installed: `graph` is only a label, and the allow-list applies. */
  readonly graphText?: string | null;
  /** As given by the client. */
  readonly params: JsonRecord;
  /** Those of the params that a client gives with this request. Default: all. */
  readonly given?: JsonRecord;
  /** A slot to attach, with its params. */
  readonly attach?: { readonly slot: string; readonly params: JsonRecord };
  /** The path of a file or the URL of a stream. Secret. */
  readonly sourceUri: string;
  /** The source is a file that starts again at its end. */
  readonly sourceLoops?: boolean;
}

/** Where alert rules are evaluated. */
export interface AlertNode {
  readonly name: string;
  /** Rules of the graph itself; they apply besides those of the service. */
  readonly rules: readonly AlertRule[];
}

export interface PreparedOrder {
  /** All params, with defaults. */
  readonly params: JsonRecord;
  /** What a process of this graph offers: `detections`, `feed`, names of slots. */
  readonly offers: ReadonlySet<string>;
  /** Slots, with the JSON Schema of their params. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** Where alert rules are evaluated. Of several the first: each would send every notification. */
  readonly alertNode: AlertNode | null;
  /** Models of the user that the graph names. */
  readonly models: readonly string[];
  readonly plan: GraphPlan;
}

const ALERTS = "alerts";

/** An operator sets the others (`graphs`). */
const LIMITS = {
  /** Time limit for loading a compile thread. */
  loadMs: 30_000,
  /** Maximum memory for compiling a graph. */
  bytes: 128 * 2 ** 20,
  /** Maximum number of graphs that wait for compilation. */
  queued: 32,
  /** Idle time after which the compiler for graphs of clients is unloaded. */
  idleMs: 60_000,
};
type GraphLimits = Readonly<typeof LIMITS>;
type CompileConfig = Pick<Config["graphs"], "compile_seconds" | "queued_per_key" | "author_elements">;

export class GraphLibrary {
  readonly elements: CompileInput["elements"];
  readonly registry: Registry;
  /** Elements that clients may use in their own graphs. */
  readonly authorElements: ReadonlySet<string>;
  readonly #listModels: GraphKnowledge["listModels"];
  /** Two, so that texts of users cannot delay the start of installed graphs. */
  readonly #installed: CompileThread;
  readonly #texts: CompileThread;

  private constructor(
    knowledge: GraphKnowledge,
    registry: RegistryFile,
    config: CompileConfig,
    folder: URL | null,
    { loadMs, bytes, queued, idleMs }: GraphLimits,
  ) {
    this.elements = knowledge.elements;
    this.registry = registry;
    this.#listModels = () => knowledge.listModels();
    this.authorElements = new Set([...ALLOWED_ELEMENTS, ...config.author_elements]);
    const workerData: CompilerKnowledge = {
      ...{ registryFd: registry.fd, folder: folder?.href ?? null },
      authorElements: config.author_elements,
    };
    const compiler = { entry: COMPILER, name: "the compiler", workerData };
    // The operator knows the cost of installed graphs: the limit is for a thread that hangs, not for a busy machine.
    const forInstalled = { loadMs, answerMs: 4 * loadMs, queued, queuedPerKey: queued, bytes, idleMs: null };
    this.#installed = new FairThread(compiler, forInstalled);
    this.#texts = new FairThread(compiler, {
      loadMs,
      answerMs: config.compile_seconds * 1000,
      queued,
      queuedPerKey: config.queued_per_key,
      bytes,
      idleMs,
    });
  }

  /** `folder` of the installed graphs, with a slash at the end. Default: those of this checkout. */
  static async open(
    knowledge: GraphKnowledge,
    config: { readonly graphs: CompileConfig },
    folder?: URL,
    limits: GraphLimits = LIMITS,
  ): Promise<GraphLibrary> {
    const registry = await knowledge.readRegistry();
    const library = new GraphLibrary(knowledge, registry, config.graphs, folder ?? null, limits);
    // So that the first start waits neither for the thread to load nor for the default graph to compile.
    await library.#ask(library.#installed, { type: "describe", graph: DEFAULT_GRAPH });
    return library;
  }

  /** Without compiling them. */
  async names(): Promise<readonly string[]> {
    const answer = await this.#ask(this.#installed, { type: "names" });
    return answer.type === "named" ? answer.names : [];
  }

  async list(): Promise<readonly GraphSummary[]> {
    const answer = await this.#ask(this.#installed, { type: "list" });
    return answer.type === "listed" ? answer.graphs : [];
  }

  /** Rejects with `graph_not_found`. */
  async describe(graph: string): Promise<DescribedGraph> {
    const answer = await this.#ask(this.#installed, { type: "describe", graph });
    if (answer.type !== "described") throw unknownGraph(graph, answer.type === "absent" ? answer.installed : []);
    return answer.graph;
  }

  /** A client's own graph, held to what clients may use. Its faults are in the result. */
  async describeOwn(graph: string, text: string, owner: TextOwner): Promise<DescribedOwn> {
    const models = [...(await this.#listModels()), ...(owner.ownModels ?? [])];
    const answer = await this.#ask(this.#texts, { type: "describe-own", graph, text, models }, owner);
    if (answer.type !== "described-own") throw new Error(`the compiler replied "${answer.type}" to "describe-own"`);
    return answer.graph;
  }

  /** Of installed graphs, with all that they are made of; null: there is no such graph. */
  async digests(graphs: readonly string[]): Promise<Readonly<Record<string, string | null>>> {
    if (graphs.length === 0) return {};
    const answer = await this.#ask(this.#installed, { type: "digests", graphs });
    return answer.type === "digests" ? answer.digests : {};
  }

  /** All faults of a text. */
  async validate(text: string, owner: TextOwner = {}): Promise<readonly Fault[]> {
    const answer = await this.#ask(this.#texts, { type: "validate", text }, owner);
    return answer.type === "validated" ? answer.faults : [];
  }

  /** `text` null: of an installed graph. Rejects with `graph_not_found`, and with `invalid_input` for a graph with faults. */
  async listTests(graph: string, text: string | null, owner: TextOwner): Promise<readonly FoundTest[]> {
    const thread = text === null ? this.#installed : this.#texts;
    const answer = await this.#ask(thread, { type: "tests", graph, text }, owner);
    if (answer.type === "absent") throw unknownGraph(graph, answer.installed);
    if (answer.type !== "tests") throw new Error(`the compiler replied "${answer.type}" to "tests"`);
    if (answer.faults.length > 0) throw invalidGraph(graph, { params: [], graph: answer.faults }, null);
    return answer.tests;
  }

  /** Rejects with `graph_not_found`, or with `invalid_input` and an entry for each fault. */
  async prepare(order: GraphOrder): Promise<PreparedOrder> {
    const { graph, graphText = null, params, given, attach, sourceUri, sourceLoops = false } = order;
    const { ownModels = [] } = order;
    const models = [...(await this.#listModels()), ...ownModels];
    const thread = graphText === null ? this.#installed : this.#texts;
    const answer = await this.#ask(
      thread,
      {
        ...{ type: "prepare", graph, text: graphText, params, sourceUri, sourceLoops, models },
        given: given ?? params,
        attach: attach ?? null,
      },
      order,
    );
    if (answer.type === "absent") throw unknownGraph(graph, answer.installed);
    if (answer.type === "refused") throw invalidGraph(graph, answer.refusal, sourceUri);
    if (answer.type !== "prepared") throw new Error(`the compiler replied "${answer.type}" to "prepare"`);
    const { plan, models: named } = answer.prepared;
    return {
      params: plan.params,
      offers: new Set(plan.offers),
      slots: plan.slots,
      alertNode: findAlertNode(plan),
      models: named.filter((name) => ownModels.some((model) => model.name === name)),
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
      if (error instanceof ThreadAbandoned)
        throw new ServiceError("malformed_request", { detail: "the connection closed before the graph was compiled" });
      if (error instanceof ThreadTimeout || isOutOfMemory(error))
        throw new ServiceError("invalid_input", {
          detail: "The graph takes too long or too much memory to compile: simplify it.",
          errors: [{ path: "/yaml", message: error.message }],
          cause: error,
        });
      if (error instanceof ThreadQueueFull)
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

const MAX_ERRORS = 100;

const unknownGraph = (name: string, installed: readonly string[]): ServiceError =>
  new ServiceError("graph_not_found", {
    detail: `There is no graph "${name.slice(0, 80)}"; installed: ${installed.join(", ")}${didYouMean(name, installed) || "."}`,
  });

/** `uri` is removed from messages: it may be a path of this machine or contain a password. */
export function invalidGraph(graph: string, { params, graph: faults }: Refusal, uri: string | null): ServiceError {
  const errors = [...params.map(describeParam), ...faults.map(describeFault)].map(({ path, message }) => ({
    path,
    message:
      uri === null ? message : message.replaceAll(uri, "the source").replaceAll(maskCredentials(uri), "the source"),
  }));
  const what = params.length > 0 ? `The params do not fit the graph "${graph}"` : `The graph "${graph}" is not valid`;
  const first = errors[0] === undefined ? "" : `: ${errors[0].path} ${errors[0].message}`;
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : "";
  return new ServiceError("invalid_input", { detail: `${what}${first}${more}.`, errors: errors.slice(0, MAX_ERRORS) });
}

const describeParam = ({ path, message }: ParamFault): InputFault => ({
  path: `/params/${path.map((key) => key.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`,
  message,
});

/** With line and column in the message: the graph has no path in the body. */
const describeFault = (fault: Fault): InputFault => ({ path: "/yaml", message: formatFault(fault) });
