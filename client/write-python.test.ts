import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenApi } from "./write-client.ts";
import { writePython } from "./write-python.ts";

const json = (schema: object) => ({ "application/json": { schema } });
const text = { type: "string" };

const DOCUMENT: OpenApi = {
  info: { version: "1.2.3" },
  components: {
    schemas: {
      Thing: {
        type: "object",
        description: "One.",
        required: ["name"],
        properties: {
          name: { ...text, description: "Shown." },
          size: { type: ["integer", "null"] },
          // Its class would have the name of another schema.
          part: { type: "object", properties: { kind: { enum: ["a", "b", null] } } },
          others: { type: "array", items: { $ref: "#/components/schemas/Thing" } },
        },
      },
      ThingPart: { anyOf: [{ type: "number" }, { const: true }] },
      Odd: { type: "object", properties: { from: text, "x-y": { type: "object", additionalProperties: text } } },
    },
  },
  paths: {
    "/thing/{thing_uuid}": {
      get: {
        operationId: "readThing",
        summary: "Reads one",
        parameters: [
          { name: "thing_uuid", in: "path", required: true, schema: text },
          { name: "from", in: "query", schema: text },
        ],
        responses: { "200": { content: json({ $ref: "#/components/schemas/Thing" }) } },
      },
      put: {
        operationId: "uploadThing",
        summary: "Uploads one",
        description: "As a form",
        parameters: [{ name: "thing_uuid", in: "path", required: true, schema: text }],
        requestBody: { required: true, content: { "multipart/form-data": {} } },
        responses: { "200": { content: { "image/png": {} } } },
      },
    },
  },
};

const source = writePython(DOCUMENT);
const has = (part: string) => assert.ok(source.includes(part), `${part}\nis not in\n${source}`);

test("objects are classes, with comments, and of different names", () => {
  has('class Thing(TypedDict):\n    r"""One."""\n    #: Shown.\n    name: str\n    size: NotRequired[int | None]\n');
  has('class ThingPart2(TypedDict):\n    kind: NotRequired[Literal["a", "b"] | None]\n');
  has("    part: NotRequired[ThingPart2]\n    others: NotRequired[list[Thing]]\n");
  has('ThingPart: TypeAlias = "float | Literal[True]"\n');
});

test("keys that are no names of Python are kept", () => {
  has('Odd = TypedDict("Odd", {"from": "NotRequired[str]", "x-y": "NotRequired[dict[str, str]]"})\n');
});

test("operations are methods, with and without async", () => {
  has(
    '    def read_thing(\n        self,\n        thing_uuid: str,\n        *,\n        from_: str | None = None,\n        timeout: float | None = None,\n    ) -> Thing:\n        r"""Reads one."""\n        return self._send(Route("GET", "/thing/{thing_uuid}", query=("from",)), {"thing_uuid": thing_uuid, "from": from_}, timeout)',
  );
  has("    async def upload_thing(\n        self,\n        thing_uuid: str,\n        *,\n        body: Form,\n");
  has(') -> Answer:\n        r"""Uploads one. As a form."""\n        return await self._send(');
});
