import type { Queries } from "./client.ts";
import { renewNode } from "./nodes.ts";

/** A live node with this uuid. */
export const addNode = (sql: Queries, uuid: string, leaseSeconds = 600): Promise<unknown> =>
  renewNode(
    sql,
    {
      ...{ uuid, version: "test", url: null, rtspUrl: null, hosts: [], labels: {}, graphs: {}, load: null },
      ...{ cores: null, memoryBytes: null, maxProcesses: null },
    },
    leaseSeconds,
  );
