/** Against the signature of a real request of the service, and of the Standard Webhooks specification. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isFromWindhover } from "./webhooks.ts";

// The example of the specification of Standard Webhooks.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TIME = 1614265330;
const BODY = '{"test": 2432232314}';
const HEADERS = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": String(TIME),
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const later = (seconds: number) => ({ now: TIME + seconds });
const signed = (body: string) => {
  const key = Buffer.from(SECRET.slice(6), "base64");
  const { "webhook-id": id } = HEADERS;
  return `v1,${createHmac("sha256", key).update(`${id}.${TIME}.${body}`).digest("base64")}`;
};

interface Case {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly secret?: string;
  readonly now: number;
}

const CASES: Readonly<Record<string, readonly [Case, boolean]>> = {
  "a signed request": [{ headers: HEADERS, body: BODY, ...later(0) }, true],
  "five minutes later": [{ headers: HEADERS, body: BODY, ...later(300) }, true],
  "an old request": [{ headers: HEADERS, body: BODY, ...later(301) }, false],
  "a request from the future": [{ headers: HEADERS, body: BODY, ...later(-301) }, false],
  "another body": [{ headers: HEADERS, body: `${BODY} `, ...later(0) }, false],
  "another secret": [{ headers: HEADERS, body: BODY, secret: `${SECRET.slice(0, -2)}Ax`, ...later(0) }, false],
  "another id": [{ headers: { ...HEADERS, "webhook-id": "msg_2" }, body: BODY, ...later(0) }, false],
  "one of two signatures": [
    { headers: { ...HEADERS, "webhook-signature": `v1,AAAA ${signed("ü")}` }, body: "ü", ...later(0) },
    true,
  ],
  "a signature of another version": [
    { headers: { ...HEADERS, "webhook-signature": signed(BODY).replace("v1", "v2") }, body: BODY, ...later(0) },
    false,
  ],
  "a signature that is not base64": [
    { headers: { ...HEADERS, "webhook-signature": "v1,*" }, body: BODY, ...later(0) },
    false,
  ],
  "a time that is none": [{ headers: { ...HEADERS, "webhook-timestamp": "soon" }, body: BODY, ...later(0) }, false],
  "no headers": [{ headers: {}, body: BODY, ...later(0) }, false],
};

for (const [name, [{ headers, body, secret = SECRET, now }, expected]] of Object.entries(CASES))
  test(`TypeScript: ${name}`, async () => {
    assert.equal(await isFromWindhover(headers, body, secret, now), expected);
    assert.equal(await isFromWindhover(new Headers(headers), new TextEncoder().encode(body), secret, now), expected);
  });

test("Python: all of them", () => {
  const program = `import json, sys, importlib.util
spec = importlib.util.spec_from_file_location("webhooks", "windhover/webhooks.py")
webhooks = importlib.util.module_from_spec(spec); spec.loader.exec_module(webhooks)
print(json.dumps({name: webhooks.is_from_windhover(c["headers"], c["body"], c.get("secret", ${JSON.stringify(SECRET)}), now=c["now"])
    for name, (c, _) in json.load(sys.stdin).items()}))`;
  const cwd = fileURLToPath(new URL("python", import.meta.url));
  const { stdout, stderr } = spawnSync("python3", ["-B", "-c", program], {
    cwd,
    input: JSON.stringify(CASES),
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  assert.deepEqual(JSON.parse(stdout), Object.fromEntries(Object.entries(CASES).map(([name, [, is]]) => [name, is])));
});
