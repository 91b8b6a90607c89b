import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { define, SHAPE } from "./app.fixture.ts";
import { groupByPath } from "./routes.ts";

const endpoint = (path: string) => define("GET", path, path, { ...SHAPE, handle: () => ({ status: 200, body: {} }) });

test("literal segments come before parameters, in any set and order of paths", () => {
  const words = fc.constantFrom("process", "source", "graph", "hls", "{a}", "{b}");
  const paths = fc.uniqueArray(
    fc.array(words, { minLength: 1, maxLength: 4 }).map((all) => `/${all.join("/")}`),
    {
      maxLength: 30,
      selector: (path) => path.replaceAll(/\{.\}/g, ":"),
    },
  );
  fc.assert(
    fc.property(paths, (all) => {
      const order = groupByPath(all.map(endpoint)).map(({ pattern }) => pattern.split("/"));
      for (const [i, earlier] of order.entries())
        for (const later of order.slice(i + 1)) {
          if (earlier.length !== later.length) continue;
          const at = earlier.findIndex((word, j) => word.startsWith(":") !== later[j]?.startsWith(":"));
          const isShadowed =
            at !== -1 && earlier[at]?.startsWith(":") && earlier.slice(0, at).join() === later.slice(0, at).join();
          assert.ok(!isShadowed, `${earlier.join("/")} would swallow ${later.join("/")}`);
        }
    }),
  );
});
