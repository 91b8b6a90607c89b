/** Tests of graphs. */
import { Type } from "typebox";
import { GraphName, GraphTestReport, TestBody } from "../../schemas/api/graphs.ts";
import type { GraphTests } from "../graph-tests/graph-tests.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";
import { expectAuthor } from "./graphs.ts";

const define = defineEndpoints("Graphs");

export const graphTestEndpoints = (tests: Pick<GraphTests, "run">): readonly AnyEndpoint[] => [
  define("POST", "/graphs/{name}/test", "testGraph", {
    summary: "Run the tests of a graph",
    description: `Requires a key with the flag \`graph_author\`. Runs \`tests:\` of a graph of your own, or of an installed one, one after the other, and answers when all have ended. \`clip\` of a test is \`source:ALIAS\` or \`source:UUID\`, a video that you have uploaded, or \`test:PATTERN?frames=N\`; tests of installed graphs can also name files beside the graph. Tests run at pace \`fast\`, up to 60 seconds each unless the operator has set another limit, with the elements of \`POST /graphs/try\`. Nothing is stored, and no alert is sent. A key runs its tests once at a time. Closing the connection cancels them.`,
    params: Type.Object({ name: GraphName }),
    body: TestBody,
    isBodyOptional: true,
    answers: {
      200: { description: "The results, also of tests that failed.", schema: GraphTestReport },
    },
    errors: [
      ...(["graph_author_needed", "graph_not_found", "test_not_found", "tests_running", "rate_limited"] as const),
      ...(["usage_limit_reached", "source_file_missing", "storage_unavailable", "shutting_down"] as const),
    ],
    async handle({ user, params: { name }, body: { version = null, only = [] }, signal }) {
      expectAuthor(user);
      return ok(await tests.run(user, { name, version, only, signal }));
    },
  }),
];
