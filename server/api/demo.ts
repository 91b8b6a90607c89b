/** The demo: one request gives a street with people on it, live and being looked at. */
import { DemoState, RunningDemo } from "../../schemas/api/demo.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Demo } from "../demo/demo.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { START_ERRORS } from "./processes.ts";

const tag = "Operations";
const access = "key";

/** It fetches a file from the network and takes a core of the machine: not for every key to ask for. */
export function demoEndpoints(demo: Pick<Demo, "start" | "stop" | "describe">): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/demo",
      tag,
      id: "readDemo",
      summary: "Shows whether the demo runs",
      description: "Needs the key of an operator.",
      access,
      answers: { 200: { description: "How far it is.", schema: DemoState } },
      errors: ["operator_key_needed"],
      async handle({ user }) {
        expectOperator(user);
        return { status: 200, body: await demo.describe(user) };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/demo",
      tag,
      id: "startDemo",
      summary: "Starts the demo",
      description:
        "A clip of a street is published to this service's own media server over and over; a source `Demo: street` is registered for it, and a process of the graph `detect` started on that. Answers when it runs. The first time the clip is fetched (some megabytes, out of Debian's package `opencv-doc`) and converted: that takes a while, and `GET /demo` tells how far it is. What runs already is left as it is. Needs the key of an operator.",
      access,
      answers: {
        200: { description: "It ran already.", schema: RunningDemo },
        201: { description: "It runs now.", schema: RunningDemo },
      },
      errors: [
        ...(["operator_key_needed", "demo_unavailable", "sources_limit_reached", "path_in_use"] as const),
        ...START_ERRORS,
      ],
      async handle({ user, publicUrl }) {
        expectOperator(user);
        const { isNew, ...running } = await demo.start(user, publicUrl);
        return { status: isNew ? 201 : 200, body: running };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/demo",
      tag,
      id: "stopDemo",
      summary: "Stops the demo",
      description:
        "Its process and whatever else runs on its source are stopped, and the source is removed. The clip stays in the cache. Needs the key of an operator.",
      access,
      answers: { 200: { description: "The source is gone.", schema: Deleted } },
      errors: ["operator_key_needed", "demo_not_found", "wrong_state", "source_in_use"],
      async handle({ user }) {
        expectOperator(user);
        return { status: 200, body: { deleted: true, uuid: await demo.stop(user) } };
      },
    }),
  ];
}

function expectOperator({ isOperator }: User): void {
  if (isOperator) return;
  throw new ServiceError("operator_key_needed", {
    detail:
      "The demo is for those who run the service: ask with the first key, or with one made by `windhover keys create NAME --operator`.",
  });
}
