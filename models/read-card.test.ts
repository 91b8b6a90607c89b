import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CardFault } from "./fault.ts";
import { parseCard, readCard } from "./read-card.ts";

const CARDS = fileURLToPath(new URL("cards/", import.meta.url));
const EXAMPLES = fileURLToPath(new URL("examples/", import.meta.url));

const MINIMAL = `model: mine
about: A model of mine.
licence: MIT
sources:
  - path: mine.onnx
sha256: ${"0a".repeat(32)}
input: { width: 416, height: 416 }
labels: coco
decoder: { family: yolox }
`;

const faultsOf = (text: string): readonly string[] => {
  try {
    parseCard(text, "card.yaml");
  } catch (error) {
    assert.ok(error instanceof CardFault, String(error));
    return error.message.split("\n");
  }
  return [];
};

test("accepts every card of Windhover, and each is named like its file", () => {
  for (const folder of [CARDS, EXAMPLES])
    for (const name of readdirSync(folder)) assert.equal(`${readCard(folder + name).model}.yaml`, name);
  assert.deepEqual(readdirSync(CARDS).sort(), ["aerial.yaml", "default.yaml", "quality.yaml"]);
});

test("fills in defaults", () => {
  const { input, thresholds } = parseCard(MINIMAL, "card.yaml");
  assert.deepEqual(input, {
    ...{ width: 416, height: 416, type: "float32", layout: "nchw", colours: "rgb" },
    ...{ fit: "letterbox", anchor: "centre", padding: 114 },
  });
  assert.deepEqual(thresholds, { confidence: 0.4, weak: 0.1, overlap: 0.6 });
});

const CASES: readonly [what: string, text: string, expected: readonly RegExp[]][] = [
  [
    "a misspelt key has its position and a suggestion",
    MINIMAL.replace("width: 416", "widht: 416"),
    [
      /^card\.yaml:7:8: input\.width is missing; expected a whole number from 32/,
      /^card\.yaml:7:10: input\.widht is not known here; width, height, .* are; did you mean "width"\?/,
    ],
  ],
  [
    "all faults are reported at once, in the order of the text",
    MINIMAL.replace("licence: MIT\n", "").replace("width: 416", "width: big").replace("yolox", "yolo-x"),
    [
      /^card\.yaml:1:1: licence is missing; expected text of .*200 characters/,
      /^card\.yaml:6:17: input\.width is "big"; expected a whole number from 32 to 8192/,
      /^card\.yaml:8:20: decoder\.family is "yolo-x"; expected "efficientdet".*did you mean "yolox"\?/,
    ],
  ],
  [
    "only the intended kind of source is explained",
    MINIMAL.replace("path: mine.onnx", "url: http://example.org/mine.onnx"),
    [
      /^card\.yaml:5:10: sources\[0\]\.url is "http:\/\/example\.org\/mine\.onnx"; expected text: URL of the file: https:/,
    ],
  ],
  [
    "an unknown kind of source lists all kinds",
    MINIMAL.replace("path: mine.onnx", "ftp: mine.onnx"),
    [
      /^card\.yaml:5:5: sources\[0\] is an object; expected an object with npm, integrity, member, an object with url or an object with path/,
    ],
  ],
  [
    "a package without an exact version",
    MINIMAL.replace(
      "path: mine.onnx",
      `{ npm: some@^1.0.0, integrity: "sha512-${"A".repeat(86)}==", member: package/a }`,
    ),
    [/^card\.yaml:5:12: sources\[0\]\.npm is "some@\^1\.0\.0"; expected text: A package with its exact version/],
  ],
  [
    "an invalid checksum",
    MINIMAL.replace(/sha256: 0/, "sha256: g"),
    [/^card\.yaml:6:9: sha256 is "ga0a.*`sha256sum FILE`/],
  ],
  [
    "a list instead of a map",
    "- model: mine\n",
    [/^card\.yaml:1:1: this is not a card; expected a map that begins with `model: NAME`/],
  ],
  ["an empty file", "", [/^card\.yaml:1:1: this is not a card/]],
  ["broken YAML has its position", "model: [mine\nabout: x\n", [/^card\.yaml:2:1: YAML: /]],
  [
    "a duplicate key",
    MINIMAL.replace("licence: MIT", "licence: MIT\nlicence: MIT"),
    [/^card\.yaml:4:1: YAML: Map keys must be unique/],
  ],
  [
    "weak above confidence",
    `${MINIMAL}thresholds: { confidence: 0.2, weak: 0.3 }\n`,
    [/^card\.yaml:10:38: thresholds\.weak is 0\.3, above/],
  ],
  [
    "a mean for bytes",
    MINIMAL.replace("height: 416", "height: 416, type: uint8, mean: [1, 2, 3]"),
    [/^card\.yaml:7:48: input\.mean does not apply to uint8/],
  ],
  [
    "a mean for two colours",
    MINIMAL.replace("height: 416", "height: 416, mean: [1, 2]"),
    [/input\.mean is a list of 2; expected a list of 3/],
  ],
  [
    "a duplicate label",
    MINIMAL.replace("labels: coco", "labels: [cat, dog, cat]"),
    [/^card\.yaml:8:20: "cat" is in the labels twice/],
  ],
  [
    "a class that is not among the labels",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace(
      "efficientdet-tflite }",
      "efficientdet-tflite, classes: [persn] }",
    ),
    [/: "persn" is not one of the 80 labels; did you mean "person"\?/],
  ],
  [
    "own labels for a converted model are accepted",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace("labels: coco", "labels: [bolt, nut, washer]"),
    [],
  ],
  [
    "an input that the conversion does not produce",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace("nhwc", "nchw"),
    [/: input\.layout is nchw \(expected nhwc, the result of `convert`\)/],
  ],
  ...(["mean: [.nan, 0, 0]", "mean: [0, .inf, 0]", "std: [1, 1, .inf]"] as const).map(
    (line): (typeof CASES)[number] => [
      `no number in ${line}`,
      MINIMAL.replace("height: 416", `height: 416, ${line}`),
      [/^card\.yaml:7:\d+: input\.(mean|std)\[\d\] is (NaN|too large a number); expected a number/],
    ],
  ),
  [
    "an infinite size",
    `${MINIMAL}bytes: .inf\n`,
    [/^card\.yaml:10:8: bytes is too large a number; expected a whole number/],
  ],
  [
    "more aliases than a card needs",
    `${MINIMAL}notes: &a [1, 2, 3]\nmore: [${"*a, ".repeat(150)}]\n`,
    [/^card\.yaml:1:1: YAML: .*alias.* \(expected a card without aliases/],
  ],
  ["an undefined alias", `${MINIMAL}bytes: *nothing\n`, [/^card\.yaml:\d+:\d+: YAML: .*alias.*nothing/]],
  [
    "a list that contains itself",
    MINIMAL.replace("labels: coco", "labels: &all [cat, *all]"),
    [/^card\.yaml:8:\d+: labels\[1\] is a list of 2; expected text/],
  ],
  [
    "a name that is too long states the limit and how to set another",
    MINIMAL.replace("mine\n", `${"n".repeat(65)}\n`),
    [
      /^card\.yaml:1:8: model is "n+…; expected text: Name of the model: .*--name` sets another one, of .*64 characters/,
    ],
  ],
  [
    "a very long text",
    MINIMAL.replace("A model of mine.", "x".repeat(201)),
    [/^card\.yaml:2:8: about is "x+…; expected text of .*200 characters/],
  ],
  ["deep nesting", `model: ${"[".repeat(20_000)}`, [/^card\.yaml: nested deeper than/]],
  ["deep nesting, in blocks", `${"- ".repeat(20_000)}x`, [/^card\.yaml: nested deeper than/]],
  [
    "a member outside its package",
    MINIMAL.replace("path: mine.onnx", `{ npm: some@1.0.0, integrity: "sha512-${"A".repeat(86)}==", member: ../a }`),
    [/member is outside of the package/],
  ],
];

for (const [what, text, expected] of CASES) {
  test(what, () => {
    const faults = faultsOf(text);
    assert.equal(faults.length, expected.length, faults.join("\n"));
    for (const [i, pattern] of expected.entries()) assert.match(faults[i] ?? "", pattern);
  });
}

test("explains a missing card, a folder, and a model instead of a card", () => {
  assert.throws(
    () => readCard("/nowhere/card.yaml"),
    /^CardFault: \/nowhere\/card\.yaml: the card cannot be read: no such file$/,
  );
  assert.throws(() => readCard(CARDS), /it is a folder/);
});
