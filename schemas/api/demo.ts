/** The demo: a street with people on it, live and being looked at. */
import { type Static, Type } from "typebox";
import { Uuid } from "./records.ts";

export const RunningDemo = Type.Object(
  {
    source_uuid: Uuid,
    process_uuid: Uuid,
  },
  { title: "RunningDemo" },
);
export type RunningDemo = Static<typeof RunningDemo>;

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);

export const DemoState = Type.Object(
  {
    state: Type.Union(
      [
        Type.Literal("off"),
        Type.Literal("fetching"),
        Type.Literal("converting"),
        Type.Literal("starting"),
        Type.Literal("running"),
      ],
      {
        description:
          "`fetching`: its clip, once. `converting`: the same. `starting`: the clip is being published and its process started. `running`: it can be watched.",
      },
    ),
    source_uuid: orNull(Uuid),
    process_uuid: orNull(Uuid),
    detail: orNull(Type.String({ description: "What keeps it from running." })),
  },
  { title: "DemoState" },
);
export type DemoState = Static<typeof DemoState>;
