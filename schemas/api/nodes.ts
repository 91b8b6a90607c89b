/** The machines that form one service. */
import { type Static, Type } from "typebox";
import { orNull, Timestamp, Uuid } from "./records.ts";

const amounts = (description: string) =>
  Type.Object(
    {
      processes: orNull(Type.Integer({ minimum: 0 })),
      cores: orNull(Type.Number({ minimum: 0 })),
      memory_bytes: orNull(Type.Integer({ minimum: 0 })),
    },
    { description },
  );

export const NodeRecord = Type.Object(
  {
    uuid: Uuid,
    state: Type.Enum(["live", "draining", "lost"], {
      description:
        "`draining`: it takes no more processes and hands its own over. `lost`: it has not renewed its lease; other nodes take its processes over.",
    }),
    is_this: Type.Boolean({ description: "It answered this request." }),
    version: Type.String(),
    url: orNull(Type.String({ description: "Where the other nodes reach it; null while it starts." })),
    labels: Type.Record(Type.String(), Type.String()),
    capacity: amounts("What it offers to processes; null: not limited."),
    reserved: amounts("What its processes have reserved."),
    used: orNull(
      Type.Object(
        { cores: Type.Number({ minimum: 0 }), memory_bytes: Type.Integer({ minimum: 0 }) },
        { description: "What is in use on its machine, as measured." },
      ),
    ),
    started_at: Timestamp,
    drains_until: orNull(Timestamp),
  },
  { title: "Node" },
);
export type NodeRecord = Static<typeof NodeRecord>;

export const NodeListing = Type.Object(
  {
    nodes: Type.Array(NodeRecord),
    waiting: Type.Integer({ minimum: 0, description: "Processes that no node has room for." }),
  },
  { title: "NodeListing" },
);
export type NodeListing = Static<typeof NodeListing>;

export const DrainBody = Type.Object(
  {
    seconds: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 86_400,
        description: "Time to hand its processes over; what is left then stops and waits for room. Default: 60.",
      }),
    ),
  },
  { title: "DrainNode" },
);
