import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeUser, openApp } from "./app.fixture.ts";
import { demoEndpoints } from "./demo.ts";

test("the demo is for who runs the service, not for any master key", async () => {
  const never = async () => assert.fail("asked for without the right to it");
  const app = await openApp(demoEndpoints({ start: never, stop: never, describe: never }), {
    authenticate: async () => makeUser("customer"),
  });
  after(() => app.close(0));
  for (const method of ["GET", "POST", "DELETE"]) {
    const refused = await app.call("/demo", { method, headers: { api_key: "customer" } });
    assert.equal(refused.status, 403, method);
    assert.equal(((await refused.json()) as { code: string }).code, "operator_key_needed");
  }
});
