/** RFC 9457: what every answer that is an error looks like. */
import { type Static, Type } from "typebox";

export const Problem = Type.Object(
  {
    type: Type.String({ description: "Names the kind of error: `about:blank` or an address that explains it." }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: "What was expected, what was found, what to do." }),
    code: Type.String({ pattern: "^[a-z][a-z_]*$", description: "A stable word, for programs." }),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: "Of bad input: one entry for every fault.",
      }),
    ),
    request_id: Type.Optional(Type.String({ description: "As in the header `X-Request-Id`, and in our log." })),
  },
  { title: "Problem" },
);
export type Problem = Static<typeof Problem>;
