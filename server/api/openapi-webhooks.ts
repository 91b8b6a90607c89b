/** What we send, in the OpenAPI document: signed as Standard Webhooks has it. */
import type { AnyEndpoint } from "./endpoint.ts";
import type { SharedSchemas } from "./shared-schemas.ts";

const HEADERS = {
  "webhook-id": "The same in every copy of a notification.",
  "webhook-timestamp": "When this copy was sent: Unix time in seconds.",
  "webhook-signature":
    "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`; the key is what stands behind `whsec_` of the secret, as base64.",
};

export function describeSent(endpoints: readonly AnyEndpoint[], shared: SharedSchemas): object {
  const parameters = Object.entries(HEADERS).map(([name, description]) => ({
    ...{ name, in: "header", required: true, description, schema: { type: "string" } },
  }));
  const sent = endpoints.flatMap(({ tag, sends = {} }) =>
    Object.entries(sends).map(([name, { description, schema }]) => {
      const requestBody = { required: true, content: { "application/json": { schema: shared.refer(schema) } } };
      const responses = {
        "2XX": { description: "Taken. Anything else is tried again, but for 410: nothing more comes." },
      };
      return [name, { post: { tags: [tag], summary: name, description, parameters, requestBody, responses } }];
    }),
  );
  return sent.length === 0 ? {} : { webhooks: Object.fromEntries(sent) };
}
