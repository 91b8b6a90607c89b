/** The body of every error response (RFC 9457). */
import { type Static, Type } from "typebox";

export const Problem = Type.Object(
  {
    type: Type.String({ description: "URI of the error type: `about:blank` or a page that explains it." }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: "What was expected, what was received, and what to do." }),
    code: Type.String({ pattern: "^[a-z][a-z_]*$", description: "Stable error code." }),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: "For invalid input: one entry per fault.",
      }),
    ),
    request_id: Type.Optional(Type.String({ description: "As in the header `X-Request-Id` and in the server's log." })),
  },
  { title: "Problem" },
);
export type Problem = Static<typeof Problem>;
