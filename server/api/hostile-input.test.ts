/** Hostile input against a real server with the schemas of the service: each of them once blocked it for seconds. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { newAlertOf } from "../../schemas/api/alerts.ts";
import { define, openApp, SHAPE } from "./app.fixture.ts";

const app = await openApp(
  [
    define("POST", "/alert", "makeAlert", {
      ...SHAPE,
      body: newAlertOf(ALERT_TYPES),
      handle: () => ({ status: 200, body: {} }),
    }),
    define("GET", "/where", "getWhere", {
      ...SHAPE,
      handle: () => ({ status: 200, body: {} }),
    }),
  ],
  { settings: { HTTP_BODY_BYTES: "1048576" } },
);
after(() => app.close(0));

const alert = (more: object) =>
  JSON.stringify({
    ...{ alias: "a", type: "filter-search", output: [{ type: "webhook", config: { url: "http://a/" } }] },
    ...more,
  });
const times = (count: number, text: string): string => Array(count).fill(text).join(",");
const LIMIT = { timeout: 60_000 };

/** CPU time of the whole process, in milliseconds. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const post = (body: string) =>
  app.call("/alert", { method: "POST", body, headers: { "content-type": "application/json" } });

for (const [name, body, path] of [
  ["an alias of a million characters", alert({ alias: `${"a".repeat(1_000_000)}\u0007` }), "/alias"],
  ["an alias of a million spaces", alert({ alias: `${" ".repeat(1_000_000)}\u0007` }), "/alias"],
  ["300,000 empty outputs", `{"output":[${times(300_000, "{}")}]}`, ""],
  ["90,000 empty outputs", `{"output":[${times(90_000, "{}")}]}`, ""],
  ["200,000 class names", `{"filter":{"class_names":[${times(200_000, '"x"')}]}}`, ""],
  ["15,000 class names", alert({ filter: { class_names: Array(15_000).fill("x") } }), "/filter/class_names"],
  ["infinite numbers in nested arrays", `[[${times(150_000, "1e999")}]]`, ""],
  ["15,000 infinite numbers", `[[${times(15_000, "1e999")}]]`, "/0/0"],
  ["deeply nested arrays", "[".repeat(500_000) + "]".repeat(500_000), "/0".repeat(64)],
] as const)
  test(`${name}: rejected for about the cost of reading it`, LIMIT, async () => {
    await (await post("{}")).text();
    // The cost of any validation: the body is parsed and traversed once. Repeated, since once is too short to measure.
    const reading = await cpuOf(() => {
      for (let i = 0; i < 5; i++) JSON.parse(body);
    });
    let answer = new Response();
    const cpu = await cpuOf(async () => {
      answer = await post(body);
    });
    assert.equal(answer.status, 422);
    const { errors } = (await answer.json()) as { errors: { path: string }[] };
    assert.ok(errors.length > 0 && errors.length <= 100);
    if (path !== "") assert.equal(errors[0]?.path, path);
    assert.ok(cpu < 400 + 2 * reading, `${cpu} ms of CPU time for what takes ${reading} ms to read five times`);
  });

for (const [name, letter] of [
  ["a right-to-left override", "\u202e"],
  ["a zero-width space", "\u200b"],
  ["a byte order mark", "\ufeff"],
  ["an isolate", "\u2066"],
] as const)
  test(`an alias with ${name} is rejected, and the reason does not contain it`, async () => {
    const answer = await post(alert({ alias: `cam${letter}4pm` }));
    assert.equal(answer.status, 422);
    const { detail } = (await answer.json()) as { detail: string };
    assert.match(detail, /alias is "cam\\u[0-9a-f]{4}4pm"; expected text: .*zero-width characters and bidirectional/);
  });

for (const alias of ["Nordtor 3", "门口", "בית", " a", "é"])
  test(`an alias may be "${alias}"`, async () => assert.equal((await post(alert({ alias }))).status, 200));

test("a target full of question marks is logged for about the cost of answering it", LIMIT, async () => {
  const ask = async (path: string) => {
    for (let i = 0; i < 10; i++) await (await app.call(path)).text();
  };
  await ask("/where");
  const usual = await cpuOf(() => ask("/where"));
  const hostile = await cpuOf(() => ask(`/where${"?".repeat(15_000)}`));
  assert.ok(hostile < 200 + 10 * usual, `${hostile} ms of CPU time, usually ${usual} ms`);
});
