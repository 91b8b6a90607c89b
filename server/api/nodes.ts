/** For operators: the nodes that form the service. And probes for load balancers. */
import { Type } from "typebox";
import { DrainBody, NodeListing, NodeRecord } from "../../schemas/api/nodes.ts";
import type { ClusterNode } from "../cluster/node.ts";
import { stateOf } from "../cluster/numbers.ts";
import { ServiceError } from "../service-error.ts";
import { countWaiting } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import { drainNode, type NodeRow } from "../store/nodes.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";
import { expectOperator } from "./operations.ts";

interface NodeDeps {
  readonly sql: Sql;
  readonly node: ClusterNode;
  /** Null if the database answers, else the reason. */
  database(): Promise<string | null>;
}

const define = defineEndpoints("Operations");
const REASON = "Nodes run the processes of all users";
const DRAIN_SECONDS = 60;

export function nodeEndpoints({ sql, node, database }: NodeDeps): readonly AnyEndpoint[] {
  const find = async (uuid: string): Promise<NodeRecord> => {
    const found = (await node.listNow()).find((row) => row.uuid === uuid);
    if (found === undefined) throw nodeNotFound(uuid);
    return describeNode(found, node.uuid);
  };
  const drain = async (uuid: string, seconds: number | null): Promise<NodeRecord> => {
    if (!(await drainNode(sql, uuid, seconds))) throw nodeNotFound(uuid);
    // It learns it with its next renewal; this one at once.
    if (uuid === node.uuid) await node.renew();
    return find(uuid);
  };
  return [
    define("GET", "/nodes", "listNodes", {
      summary: "List the nodes of the service",
      description: "One, unless several machines share a database. Requires an operator key.",
      answers: { 200: { description: "The longest running first.", schema: NodeListing } },
      errors: ["operator_key_needed"],
      async handle({ user }) {
        expectOperator(user, REASON);
        const [nodes, waiting] = await Promise.all([node.listNow(), countWaiting(sql)]);
        return ok({ nodes: nodes.map((row) => describeNode(row, node.uuid)), waiting });
      },
    }),
    define("POST", "/nodes/{node_uuid}/drain", "drainNode", {
      summary: "Drain a node",
      description:
        "It takes no more processes and hands its own over to other nodes, one after the other. It stays drained until it is restarted or `DELETE` ends it. Requires an operator key.",
      body: DrainBody,
      isBodyOptional: true,
      answers: { 200: { description: "The node.", schema: NodeRecord } },
      errors: ["operator_key_needed", "node_not_found"],
      async handle({ user, params: { node_uuid: uuid }, body: { seconds = DRAIN_SECONDS } }) {
        expectOperator(user, REASON);
        return ok(await drain(uuid, seconds));
      },
    }),
    define("DELETE", "/nodes/{node_uuid}/drain", "undrainNode", {
      summary: "End the draining of a node",
      description:
        "It takes processes again. Those that it has handed over stay where they are. Requires an operator key.",
      answers: { 200: { description: "The node.", schema: NodeRecord } },
      errors: ["operator_key_needed", "node_not_found"],
      async handle({ user, params: { node_uuid: uuid } }) {
        expectOperator(user, REASON);
        return ok(await drain(uuid, null));
      },
    }),
    define("GET", "/healthz", "isAlive", {
      summary: "Whether the server runs",
      description: "For liveness probes: it does not depend on the database. Needs no key.",
      access: "none",
      answers: { 200: { description: "It runs.", schema: Probe } },
      handle: async () => ok({ status: "ok" }),
    }),
    define("GET", "/readyz", "isReady", {
      summary: "Whether the server takes requests",
      description:
        "For load balancers: 503 while the database cannot be reached, the node drains or the service shuts down. Needs no key.",
      access: "none",
      answers: { 200: { description: "It takes requests.", schema: Probe } },
      errors: ["database_unavailable", "shutting_down"],
      async handle() {
        const fault = await database();
        if (fault !== null)
          throw new ServiceError("database_unavailable", { detail: "the database cannot be reached" });
        if (node.drainsUntil !== null)
          throw new ServiceError("shutting_down", { detail: "this node drains; send requests to another one" });
        return ok({ status: "ok" });
      },
    }),
  ];
}

const Probe = Type.Object({ status: Type.Literal("ok") }, { title: "Probe" });

const nodeNotFound = (uuid: string): ServiceError =>
  new ServiceError("node_not_found", { detail: `there is no live node ${uuid}; GET /nodes lists all` });

export const describeNode = (row: NodeRow, own: string): NodeRecord => ({
  uuid: row.uuid,
  state: stateOf(row),
  is_this: row.uuid === own,
  version: row.version,
  url: row.url,
  labels: { ...row.labels },
  capacity: { processes: row.maxProcesses, cores: row.cores, memory_bytes: row.memoryBytes },
  reserved: { processes: row.processes, cores: row.reservedCores, memory_bytes: row.reservedBytes },
  used: row.load === null ? null : { cores: row.load.cores, memory_bytes: row.load.memoryBytes },
  started_at: row.startedAt.toISOString(),
  drains_until: row.drainsUntil?.toISOString() ?? null,
});
