import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Element } from "../../../client/client.ts";
import { complete, type KnownNames } from "./complete.ts";

const property = (name: string, more: Partial<Element["properties"][number]> = {}): Element["properties"][number] => ({
  ...{
    name,
    type: "string",
    required: false,
    live: false,
    read_only: false,
    deprecated: false,
    about: "",
    choices: [],
  },
  ...more,
});
const element = (name: string, properties: Element["properties"], variables: readonly string[] = []): Element =>
  ({
    ...{ name, plugin: "windhover", about: `About ${name}.`, kind: "transform", properties },
    variables: variables.map((variable) => ({ name: variable, type: "number", about: "" })),
  }) as unknown as Element;

const ELEMENTS = [
  element("source", []),
  element("detect", [property("confidence"), property("model")]),
  element("encode", [
    property("codec", { type: "one of h264, h265", values: ["h264", "h265"] }),
    property("intra", { type: "boolean" }),
  ]),
  element("filter", [property("where", { is_expression: true })], ["class_name", "age_s"]),
  element("videoflip", [property("method", { choices: [{ name: "clockwise", about: "90 degrees" }] })]),
];
const KNOWN: KnownNames = {
  elements: ELEMENTS,
  params: ["inherited"],
  describe: async (name) => ELEMENTS.find((one) => one.name === name) ?? null,
};

/** `|` is the cursor. */
async function at(text: string): Promise<{ readonly labels: readonly string[]; readonly written: string } | null> {
  const position = text.indexOf("|");
  const found = await complete(text.replace("|", ""), position, KNOWN);
  return found && { labels: found.options.map(({ label }) => label), written: text.slice(found.from, position) };
}

const HEAD = `graph: yard
params:
  confidence: { type: number }
  codec: { enum: [h264, h265] }
parts:
  draw: { params: { height: { type: integer } }, chain: [{ resize: { to: $height } }] }
  record-it:
    params: { path: { type: string } }
    chain:
      - record: { path: PATH }
chains:
`;

describe("completes", () => {
  const CASES: readonly (readonly [
    what: string,
    text: string,
    written: string,
    some: readonly string[],
    not?: string,
  ])[] = [
    ["keys of a graph", "gra|", "gra", ["graph", "chains"]],
    ["elements in a list of brackets", `${HEAD}  main: [source, det|]`, "det", ["source", "detect", "use"]],
    ["elements in a list of lines", `${HEAD}  main:\n    - source\n    - de|`, "de", ["detect"]],
    ["elements in a list that is not indented", `${HEAD}  main:\n  - source\n  - |`, "", ["detect"]],
    ["elements in a map", `${HEAD}  main: [source, { de|`, "de", ["detect"]],
    ["elements of slots", "slots:\n  view:\n    chain: [{ from: frames }, enc|]", "enc", ["encode"]],
    ["elements to insert", "insert:\n  - before: detect\n    steps:\n      - enc|", "enc", ["encode"]],
    ["properties in brackets", `${HEAD}  main: [source, { detect: { conf|`, "conf", ["confidence", "model", "name"]],
    [
      "properties on lines",
      `${HEAD}  main:\n    - detect:\n        model: x\n        co|`,
      "co",
      ["confidence"],
      "encode",
    ],
    ["properties of `set`", "set:\n  detect: { m|", "m", ["model"]],
    ["properties of a node in a slot", "set:\n  video/encode: { c|", "c", ["codec"]],
    ["values", `${HEAD}  main: [{ encode: { intra: true, codec: h2|`, "h2", ["h264", "h265"]],
    ["choices of GStreamer elements", `${HEAD}  main:\n    - videoflip: { method: cl|`, "cl", ["clockwise"]],
    ["booleans", `${HEAD}  main:\n    - encode:\n        intra: |`, "", ["true", "false"]],
    ["params", `${HEAD}  main: [{ detect: { confidence: $co|`, "co", ["confidence", "codec", "inherited"], "height"],
    ["params in a text", `${HEAD}  main: [{ detect: { model: "a\${c|`, "c", ["codec"]],
    ["the params of a part", HEAD.replace("PATH", "$|"), "", ["path"], "codec"],
    ["parts", `${HEAD}  main: [source, { use: dr|`, "dr", ["draw", "record-it"]],
    ["parts with values", `${HEAD}  main:\n    - use: { part: |`, "", ["draw", "record-it"]],
    ["nodes", `${HEAD}  main: [source, { tee: { name: frames } }]\n  more:\n    - from: fr|`, "fr", ["frames"]],
    ["variables", `${HEAD}  main: [{ filter: { where: "age_s > 2 && cla|`, "cla", ["class_name", "age_s"]],
    ["variables of a main property", `${HEAD}  main:\n    - filter: "age|`, "age", ["age_s"]],
    [
      "values that the graph computes",
      `${HEAD}  main:\n    - map: { set: { area: width * height } }\n    - count: { as: people }\n    - filter: ar|`,
      "ar",
      ["area", "people", "age_s"],
    ],
  ];
  for (const [what, text, written, some, not] of CASES)
    test(what, async () => {
      const found = await at(text);
      assert.equal(found?.written, written);
      for (const label of some) assert.ok(found?.labels.includes(label), `${label} in ${found?.labels}`);
      if (not !== undefined) assert.ok(!found?.labels.includes(not), `${not} in ${found?.labels}`);
    });
});

describe("completes nothing", () => {
  for (const text of [
    "about: some te|",
    `${HEAD}  main: [{ unknown: { a|`,
    `${HEAD}  main: [{ detect: { model: def|`,
    "# det|",
    `${HEAD}  main: [{ detect: { model: [a, { b|`,
  ])
    test(text.slice(-30), async () => assert.equal(await at(text), null));
});
