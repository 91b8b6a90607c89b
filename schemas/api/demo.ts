/** The demo: a street scene that is played in a loop and analysed. */
import { type Static, Type } from "typebox";
import { orNull, Uuid } from "./records.ts";

export const RunningDemo = Type.Object(
  {
    source_uuid: Uuid,
    process_uuid: Uuid,
  },
  { title: "RunningDemo" },
);
export type RunningDemo = Static<typeof RunningDemo>;

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
          "`fetching`: its clip is downloaded, on first use. `converting`: its clip is converted, on first use. `starting`: its source is registered and its process starts. `running`: the demo can be watched.",
      },
    ),
    source_uuid: orNull(Uuid),
    process_uuid: orNull(Uuid),
    detail: orNull(Type.String({ description: "Why the last start failed." })),
  },
  { title: "DemoState" },
);
export type DemoState = Static<typeof DemoState>;
