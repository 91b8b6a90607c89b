import assert from "node:assert/strict";
import { test } from "node:test";
import { levelTerrain, meetGround, type Terrain } from "./ground.ts";
import { sightOf } from "./sight.fixture.ts";
import { step, toGeodetic } from "./wgs84.ts";

const rayOf = (pitch: number) => {
  const { world } = sightOf({ pitch });
  assert.ok(world);
  return { from: world.from, along: world.axes.ahead };
};

const meet = (pitch: number, terrain: Terrain, limitM = 20_000) => meetGround(terrain, rayOf(pitch), limitM);

const look = (pitch: number, terrain: Terrain, limitM = 20_000) => {
  const ray = rayOf(pitch);
  const distanceM = meetGround(terrain, ray, limitM);
  assert.ok(typeof distanceM === "number" || distanceM === null);
  return distanceM === null ? null : { distanceM, ...toGeodetic(step(ray.from, ray.along, distanceM)) };
};

/** Metres north of the equator. */
const northM = (latitude: number): number => latitude * 110_574.3886;
const FLAT = levelTerrain(0);

test("search and computation agree on level ground", () => {
  for (const pitch of [-90, -45, -10, -2, -0.5]) {
    const reckoned = look(pitch, FLAT);
    const walked = look(pitch, { heightAt: () => 0 });
    assert.ok(reckoned && walked);
    assert.ok(Math.abs(reckoned.distanceM - walked.distanceM) < 1e-3, `${pitch}: ${walked.distanceM}`);
  }
});

test("finds the intersection with a slope", () => {
  // Rises 1 m every 2 m from where the camera is; the ray falls 1 m a metre: they meet 100 / 1.5 m on.
  const found = look(-45, { heightAt: (latitude) => northM(latitude) / 2 });
  assert.ok(found && Math.abs(northM(found.latitude) - 100 / 1.5) < 0.01, `${found && northM(found.latitude)}`);
  assert.ok(found && Math.abs(found.heightM - 100 / 3) < 0.01);
});

test("finds the first hill, not the ground behind it", () => {
  // 60 m high between 200 and 260 m north. The ray, 10 degrees down, is 64.7 m high at the one and 54.2 at the other.
  const hill: Terrain = { heightAt: (latitude) => (northM(latitude) > 200 && northM(latitude) < 260 ? 60 : 0) };
  const found = look(-10, hill);
  assert.ok(found && Math.abs(northM(found.latitude) - 40 / Math.tan((10 * Math.PI) / 180)) < 0.1);
  assert.ok(northM(look(-8, hill)?.latitude ?? 0) > 700);
});

test("finds a mountain above the horizon", () => {
  const found = look(3, { heightAt: (latitude) => Math.max(0, northM(latitude) - 1000) });
  // 100 + x tan 3° = x - 1000.
  assert.ok(found && Math.abs(northM(found.latitude) - 1100 / (1 - Math.tan((3 * Math.PI) / 180))) < 0.5);
});

test("finds no ground above the horizon, beyond the limit, and from below the ground", () => {
  for (const terrain of [FLAT, { heightAt: () => 0 }]) {
    assert.equal(look(0, terrain), null);
    assert.equal(look(45, terrain), null);
    assert.equal(look(-45, terrain, 141), null);
  }
  for (const terrain of [levelTerrain(200), { heightAt: () => 200 }]) assert.equal(look(-45, terrain), null);
});

test("reports how far the ground is known where a ray meets ground of unknown height", () => {
  assert.deepEqual(meet(-45, { heightAt: () => Number.NaN }), { knownM: 0 });
  const met = meet(-45, { heightAt: (latitude) => (northM(latitude) < 50 ? 0 : Number.NaN) });
  assert.ok(typeof met === "object" && met !== null && Math.abs(met.knownM - 50 * Math.SQRT2) < 0.01);
  // Met before.
  assert.equal(typeof meet(-70, { heightAt: (latitude) => (northM(latitude) < 50 ? 0 : Number.NaN) }), "number");
});
