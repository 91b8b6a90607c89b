import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stopBuilding } from "./build.ts";
import { ExpandFault } from "./element.ts";
import { loadElement, loadElements } from "./index.ts";
import { elementText, writeFiles } from "./outside.fixture.ts";
import { findOutside, storeOutside } from "./outside.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-outside-"));
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stopBuilding();
});

writeFiles(folder, {
  "elements/good/good.ts": elementText("good", {
    above: `import { ExpandFault } from "@windhover/element";
import Types, { Type as Same } from "typebox";
import { readFileSync } from "node:fs";
import { twice } from "../../lib/twice.ts";
import { shout } from "some-package";
const text = readFileSync(new URL("words.txt", import.meta.${"url"}), "utf8");
export const found = { twice: twice(21), shout: shout("hi"), text, fault: new ExpandFault(null, ""), isSame: Types.Object === Same.Object };`,
  }),
  "elements/good/words.txt": "beside the source",
  "lib/twice.ts": "export const twice = (n: number): number => 2 * n;\n",
  "node_modules/some-package/package.json": '{ "name": "some-package", "type": "module", "exports": "./main.js" }',
  "node_modules/some-package/main.js": "export const shout = (text) => text.toUpperCase() + '!';\n",
  "elements/syntax/syntax.ts": "export default {\n  name: 3 4\n};\n",
  "elements/unresolved/unresolved.ts": 'import "./none.ts";\n',
  "elements/thrown/thrown.ts": "const mine: string[] = [];\n\nmine.at(0).trim();\nexport default {};\n",
  "elements/late/late.ts": "await Promise.resolve();\nexport default {};\n",
  "elements/empty/README.md": "",
  "elements/taken/taken.ts": elementText("taken"),
  "elements/My Own/My Own.ts": elementText("My Own"),
  "elements/other/other.ts": elementText("another"),
  "package.json": '{ "devDependencies": { "windhover-element-absent": "1", "left-pad": "1" } }',
  "node_modules/windhover-element-packed/package.json": '{ "main": "src/main.ts" }',
  "node_modules/windhover-element-packed/src/main.ts": elementText("packed"),
  "node_modules/@team/windhover-element-scoped/package.json": "{}",
  "node_modules/@team/windhover-element-scoped/index.js": elementText("scoped"),
});
const folders = { graphs: [], elements: [join(folder, "elements")], models: [], built: null, isWatched: false };
const own = [{ name: "taken", file: "elements/taken/taken.ts", load: async () => ({ default: OWN }) }];
const OWN = {
  ...{ name: "taken", about: "Own.", example: "", kind: "sink", caps: "ANY" },
  properties: { properties: {} },
  create: () => ({}),
};

const PLACES = [
  ["syntax", "elements/syntax/syntax.ts:2:11", /^Expected "\}" but found "4"$/],
  ["unresolved", "elements/unresolved/unresolved.ts:1:8", /^Could not resolve ".\/none.ts"$/],
  ["thrown", "elements/thrown/thrown.ts:3:10", /^throws while loading: Cannot read properties of undefined/],
  ["late", "elements/late/late.ts:1:1", /^Top-level await is currently not supported/],
  ["empty", "elements/empty/empty.ts", /^there is no such file$/],
  ["other", "elements/other/other.ts", /is named "another"; expected .*name: "other"/],
  ["My Own", "elements/My Own/My Own.ts", /^"My Own" is not a name of an element; expected kebab-case/],
  ["taken", "elements/taken/taken.ts:5:9", /^the name "taken" is taken by Windhover's own elements\/taken\/taken\.ts/],
  ["absent", "package.json", /^imports the package "windhover-element-absent", which does not exist$/],
] as const;

for (const how of ["built when they are loaded", "built by the service"])
  test(`elements of a folder are loaded, and a broken one costs itself alone (${how})`, async () => {
    const built = join(folder, "built.json");
    const isStored = how === "built by the service";
    if (isStored) await storeOutside(await findOutside(folders), built);
    const loaded = await loadElements(own, await findOutside(isStored ? { ...folders, built } : folders));
    assert.deepEqual([...loaded.keys()].sort(), ["good", "packed", "scoped", "taken"]);
    assert.equal(loaded.get("taken")?.about, "Own.");
    assert.deepEqual([...loaded.broken.keys()].sort(), PLACES.map(([name]) => name).sort());
    for (const [name, place, reason] of PLACES) {
      const fault = loaded.broken.get(name);
      assert.equal(fault?.place, join(folder, place), name);
      assert.match(fault?.reason ?? "", reason);
    }
  });

test("an element imports files, packages, and the modules of Windhover itself", async () => {
  const good = (await findOutside(folders)).find(({ name }) => name === "good") ?? assert.fail();
  const { found } = (await good.load()) as { found: Record<string, unknown> };
  assert.ok(found.fault instanceof ExpandFault);
  assert.deepEqual(
    { ...found, fault: null },
    { twice: 42, shout: "HI!", text: "beside the source", isSame: true, fault: null },
  );
  assert.deepEqual(
    [...good.files()].sort(),
    ["elements/good", "elements/good/good.ts", "lib/twice.ts"].map((path) => join(folder, path)),
  );
});

test("an element that is loaded again has its new code, and that of the files it imports", async () => {
  const good = (await findOutside(folders)).find(({ name }) => name === "good") ?? assert.fail();
  writeFileSync(join(folder, "lib/twice.ts"), "export const twice = (n: number): number => 3 * n;\n");
  const { found } = (await good.load()) as { found: Record<string, unknown> };
  assert.equal(found.twice, 63);
  const again = await loadElement(good);
  assert.equal("create" in again && again.name, "good");
});
