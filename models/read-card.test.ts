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

test("every card that comes with Windhover is right, and named like its file", () => {
  for (const folder of [CARDS, EXAMPLES])
    for (const name of readdirSync(folder)) assert.equal(`${readCard(folder + name).model}.yaml`, name);
  assert.deepEqual(readdirSync(CARDS).sort(), ["aerial.yaml", "default.yaml", "quality.yaml"]);
});

test("what a card leaves out is filled in", () => {
  const { input, thresholds } = parseCard(MINIMAL, "card.yaml");
  assert.deepEqual(input, {
    ...{ width: 416, height: 416, type: "float32", layout: "nchw", colours: "rgb" },
    ...{ fit: "letterbox", anchor: "centre", padding: 114 },
  });
  assert.deepEqual(thresholds, { confidence: 0.4, weak: 0.1, overlap: 0.6 });
});

const CASES: readonly [what: string, text: string, expected: readonly RegExp[]][] = [
  [
    "a misspelt key is shown where it stands, with the nearest",
    MINIMAL.replace("width: 416", "widht: 416"),
    [
      /^card\.yaml:7:8: input has no `width` \(expected a whole number from 32/,
      /^card\.yaml:7:10: there is no `widht` in input \(expected width, height, .*did you mean "width"\?\)/,
    ],
  ],
  [
    "every fault is told at once, in the order of the text",
    MINIMAL.replace("licence: MIT\n", "").replace("width: 416", "width: big").replace("yolox", "yolo-x"),
    [
      /^card\.yaml:1:1: the card has no `licence` \(expected text: SPDX name where there is one, at most 200 characters\)/,
      /^card\.yaml:6:17: input\.width is "big" \(expected a whole number from 32 to 8192\)/,
      /^card\.yaml:8:20: decoder\.family is "yolo-x" \(expected "efficientdet" or .*did you mean "yolox"\?/,
    ],
  ],
  [
    "of the kinds of source only the one that was meant is spoken of",
    MINIMAL.replace("path: mine.onnx", "url: http://example.org/mine.onnx"),
    [
      /^card\.yaml:5:10: sources\[0\]\.url is "http:\/\/example\.org\/mine\.onnx" \(expected text: Where to fetch the file: https:/,
    ],
  ],
  [
    "a source of no known kind is told all of them",
    MINIMAL.replace("path: mine.onnx", "ftp: mine.onnx"),
    [
      /^card\.yaml:5:5: sources\[0\] is a map with ftp \(expected a map with npm, integrity, member or a map with url or a map with path/,
    ],
  ],
  [
    "a package without an exact version is refused",
    MINIMAL.replace(
      "path: mine.onnx",
      `{ npm: some@^1.0.0, integrity: "sha512-${"A".repeat(86)}==", member: package/a }`,
    ),
    [/^card\.yaml:5:12: sources\[0\]\.npm is "some@\^1\.0\.0" \(expected text: A package with its exact version/],
  ],
  [
    "a digest that is none",
    MINIMAL.replace(/sha256: 0/, "sha256: g"),
    [/^card\.yaml:6:9: sha256 is "ga0a.*`sha256sum FILE`/],
  ],
  [
    "a list where a map belongs",
    "- model: mine\n",
    [/^card\.yaml:1:1: this is no card; expected a map that begins with `model: NAME`/],
  ],
  ["an empty file", "", [/^card\.yaml:1:1: this is no card/]],
  ["broken YAML has its place", "model: [mine\nabout: x\n", [/^card\.yaml:2:1: YAML: /]],
  [
    "a key that comes twice",
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
    [/^card\.yaml:7:48: input\.mean has no meaning for uint8/],
  ],
  [
    "a mean of two colours",
    MINIMAL.replace("height: 416", "height: 416, mean: [1, 2]"),
    [/input\.mean is a list of 2 \(expected a list of 3 numbers/],
  ],
  [
    "a label that comes twice",
    MINIMAL.replace("labels: coco", "labels: [cat, dog, cat]"),
    [/^card\.yaml:8:20: "cat" is in the labels twice/],
  ],
  [
    "a class that the weights do not know",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace(
      "efficientdet-tflite }",
      "efficientdet-tflite, classes: [persn] }",
    ),
    [/: "persn" is none of the 80 labels; did you mean "person"\?/],
  ],
  [
    "labels of its own for a model that is converted are no fault",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace("labels: coco", "labels: [bolt, nut, washer]"),
    [],
  ],
  [
    "an input that the conversion does not make",
    readFileSync(`${CARDS}default.yaml`, "utf8").replace("nhwc", "nchw"),
    [/: input\.layout is nchw \(expected nhwc: that is what `convert` makes\)/],
  ],
  ...(["mean: [.nan, 0, 0]", "mean: [0, .inf, 0]", "std: [1, 1, .inf]"] as const).map(
    (line): (typeof CASES)[number] => [
      `no number in ${line}`,
      MINIMAL.replace("height: 416", `height: 416, ${line}`),
      [/^card\.yaml:7:\d+: input\.(mean|std)\[\d\] is (NaN|Infinity) \(expected a number/],
    ],
  ),
  ["a size without end", `${MINIMAL}bytes: .inf\n`, [/^card\.yaml:10:8: bytes is Infinity \(expected a whole number/]],
  [
    "more aliases than a card needs",
    `${MINIMAL}notes: &a [1, 2, 3]\nmore: [${"*a, ".repeat(150)}]\n`,
    [/^card\.yaml:1:1: YAML: .*alias.* \(expected a card without aliases/],
  ],
  ["an alias of nothing", `${MINIMAL}bytes: *nothing\n`, [/^card\.yaml:\d+:\d+: YAML: .*alias.*nothing/]],
  [
    "a list that holds itself",
    MINIMAL.replace("labels: coco", "labels: &all [cat, *all]"),
    [/^card\.yaml:8:\d+: labels\[1\] is a list of 2 \(expected text/],
  ],
  [
    "a name that is too long is told the limit and how to give another",
    MINIMAL.replace("mine\n", `${"n".repeat(65)}\n`),
    [/^card\.yaml:1:8: model is "n+… \(expected text: The name .*--name, at most 64 characters\)/],
  ],
  [
    "a text without end",
    MINIMAL.replace("A model of mine.", "x".repeat(201)),
    [/^card\.yaml:2:8: about is "x+… \(expected text, at most 200 characters\)/],
  ],
  ["nesting without end", `model: ${"[".repeat(100_000)}`, [/^card\.yaml: nests too deeply/]],
  ["nesting without end, in blocks", `${"- ".repeat(100_000)}x`, [/^card\.yaml: nests too deeply/]],
  [
    "a member outside its package",
    MINIMAL.replace("path: mine.onnx", `{ npm: some@1.0.0, integrity: "sha512-${"A".repeat(86)}==", member: ../a }`),
    [/leads out of the package/],
  ],
];

for (const [what, text, expected] of CASES) {
  test(what, () => {
    const faults = faultsOf(text);
    assert.equal(faults.length, expected.length, faults.join("\n"));
    for (const [i, pattern] of expected.entries()) assert.match(faults[i] ?? "", pattern);
  });
}

test("a card that is not there, is a folder or is the model itself is said to be", () => {
  assert.throws(
    () => readCard("/nowhere/card.yaml"),
    /^CardFault: \/nowhere\/card\.yaml: the card cannot be read: there is no such file$/,
  );
  assert.throws(() => readCard(CARDS), /it is a folder/);
});
