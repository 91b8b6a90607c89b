/** The bill of materials is complete and valid, and all licences are allowed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv } from "ajv";
import { RUN_PACKAGES } from "../setup/packages.mjs";
import { readAudit } from "./audit.ts";
import { isAllowed, listThirdParty } from "./licences.ts";
import { listNpmPackages, listWithDependencies } from "./packages.ts";
import { describeRelease } from "./sbom.ts";

const bom = describeRelease(new Date("2026-01-02T03:04:05Z"));
const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** The parts of the CycloneDX 1.5 schema that are used. */
const text = { type: "string", minLength: 1 };
const hash = {
  type: "object",
  required: ["alg", "content"],
  oneOf: [
    { properties: { alg: { const: "SHA-256" }, content: { pattern: "^[0-9a-f]{64}$" } } },
    { properties: { alg: { const: "SHA-512" }, content: { pattern: "^[0-9a-f]{128}$" } } },
  ],
};
const licence = {
  oneOf: [
    { required: ["license"], properties: { license: { required: ["id"], properties: { id: text } } } },
    { required: ["expression"], properties: { expression: text } },
  ],
};
const component = {
  type: "object",
  required: ["type", "name", "version", "bom-ref"],
  properties: {
    type: { enum: ["application", "library", "machine-learning-model", "container"] },
    ...{ "bom-ref": text, name: text, version: text, purl: { type: "string", pattern: "^pkg:(npm|deb)/.+@.+" } },
    hashes: { type: "array", minItems: 1, items: hash },
    licenses: { type: "array", minItems: 1, items: licence },
  },
  additionalProperties: false,
};
const schema = {
  type: "object",
  required: ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"],
  properties: {
    ...{ $schema: text, bomFormat: { const: "CycloneDX" }, specVersion: { const: "1.5" }, version: { const: 1 } },
    serialNumber: { pattern: "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" },
    metadata: { required: ["timestamp", "component"], properties: { timestamp: text, component } },
    components: { type: "array", items: component, uniqueItems: true },
    dependencies: {
      type: "array",
      items: {
        required: ["ref", "dependsOn"],
        properties: { ref: text, dependsOn: { type: "array", items: text, uniqueItems: true } },
      },
    },
  },
  additionalProperties: false,
};

test("is valid CycloneDX, with references that resolve", () => {
  const check = new Ajv({ allErrors: true, strict: false }).compile(schema);
  assert.ok(check(bom), JSON.stringify(check.errors?.slice(0, 5)));
  const refs = [bom.metadata.component, ...bom.components].map((one) => one["bom-ref"]);
  assert.equal(new Set(refs).size, refs.length);
  const known = new Set(refs);
  for (const { ref, dependsOn } of bom.dependencies)
    for (const each of [ref, ...dependsOn]) assert.ok(known.has(each), each);
  assert.equal(new Set(bom.dependencies.map(({ ref }) => ref)).size, bom.dependencies.length);
  assert.equal(describeRelease(new Date()).serialNumber, bom.serialNumber);
});

test("contains every production dependency with its digest, and no development dependency", () => {
  const byRef = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set<string>();
  const visit = (ref: string): void => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const next of byRef.get(ref) ?? []) visit(next);
  };
  visit("windhover");
  const npm = bom.components.filter(({ purl }) => purl?.startsWith("pkg:npm/"));
  for (const [name, version] of Object.entries(dependencies))
    assert.ok(
      npm.some((one) => one.name === name && one.version === version),
      name,
    );
  for (const one of npm) {
    assert.equal(one.hashes?.[0]?.alg, "SHA-512", one.name);
    assert.ok(reached.has(one["bom-ref"]), `${one["bom-ref"]} is not reachable`);
  }
  assert.equal(npm.length, listNpmPackages().length - 1);
  assert.ok(!npm.some(({ name }) => ["typescript", "@biomejs/biome", "fast-check"].includes(name)));
});

test("contains Debian packages, model weights with their digests, and the base image", () => {
  const names = new Set(bom.components.filter(({ purl }) => purl?.startsWith("pkg:deb/")).map(({ name }) => name));
  for (const name of [...Object.keys(RUN_PACKAGES), "libgstreamer1.0-0", "libc6"]) assert.ok(names.has(name), name);
  const models = bom.components.filter(({ type }) => type === "machine-learning-model");
  assert.deepEqual(models.map(({ name }) => name).sort(), [
    "aerial",
    "default",
    "plates-finder",
    "plates-reader",
    "quality",
  ]);
  for (const { name, hashes } of models) assert.equal(hashes?.[0]?.alg, "SHA-256", name);
  assert.equal(bom.components.find(({ type }) => type === "container")?.name, "node");
});

test("follows dependencies of Debian packages through alternatives and virtual packages, as far as installed", () => {
  const line = (name: string, needs: string, provides = "", state = "ii ") =>
    [name, "1", "amd64", "", needs, provides, state].join("\t");
  const lines = [
    line("top", "a (>= 1), b | c:any, virtual"),
    ...[
      line("a", "top"),
      line("c", ""),
      line("real", "", "virtual (= 1)"),
      line("other", "a"),
      line("b", "", "", "rc "),
    ],
  ];
  const found = listWithDependencies(lines.join("\n"), ["top", "missing"]);
  assert.deepEqual(
    found.map(({ name, dependencies }) => [name, dependencies]),
    [
      ["a", ["top"]],
      ["c", []],
      ["real", []],
      ["top", ["a", "c", "real"]],
    ],
  );
});

test("every package of a release has an allowed licence", () => {
  const packages = listThirdParty();
  assert.ok(packages.length > 100);
  const rejected = packages.filter((one) => !isAllowed(one)).map(({ name, licence }) => `${name}: ${licence}`);
  assert.deepEqual(rejected, [], "see supply/licences.ts before you allow one");
});

for (const [licence, name, expected] of [
  ["MIT", "a", true],
  ["(GPL-3.0 OR MIT)", "a", true],
  ["(MIT AND GPL-3.0)", "a", false],
  ["GPL-3.0", "a", false],
  ["MPL-2.0", "mediabunny", true],
  ["MPL-2.0", "another", false],
  ["SEE LICENSE IN LICENSE", "a", false],
  [null, "a", false],
] as const)
  test(`${licence} of ${name} is ${expected ? "" : "not "}allowed`, () => {
    assert.equal(isAllowed({ name, licence }), expected);
  });

for (const [title, code, words, expected] of [
  ["signatures", 0, "182 packages have verified registry signatures", "good"],
  ["signatures", 1, "1 package has an invalid registry signature:", "bad"],
  ["signatures", 1, "2 packages have missing registry signatures but the registry is providing signing keys", "bad"],
  ["signatures", 1, "npm error code ENOTFOUND", "unknown"],
  ["signatures", 1, "found no dependencies to audit that were installed from a supported registry", "unknown"],
  ["signatures", null, "", "unknown"],
  ["vulnerabilities", 0, "found 0 vulnerabilities", "good"],
  ["vulnerabilities", 1, "3 high severity vulnerabilities", "bad"],
  ["vulnerabilities", 1, "npm error audit endpoint returned an error", "unknown"],
] as const)
  test(`an audit of ${title} with exit code ${code} and "${words.slice(0, 30)}" is ${expected}`, () => {
    assert.equal(readAudit(title, code, words), expected);
  });
