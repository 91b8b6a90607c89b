/** The endpoints that describe the others, and themselves. */
import { Type } from "typebox";
import { docsFiles, docsPage } from "./docs.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { describeApi } from "./openapi.ts";

export function documentEndpoints(endpoints: readonly AnyEndpoint[]): readonly AnyEndpoint[] {
  let made: Readonly<Record<string, unknown>> | undefined;
  const document = defineEndpoint({
    method: "GET",
    path: "/openapi.json",
    tag: "Operations",
    id: "getOpenApi",
    summary: "This document.",
    access: "none",
    answers: { 200: { description: "OpenAPI 3.1.", schema: Type.Object({ openapi: Type.String() }) } },
    errors: [],
    handle: () => {
      made ??= describeApi([...endpoints, document as AnyEndpoint, docsPage]);
      return { status: 200, body: made };
    },
  });
  return [document, docsPage, ...docsFiles];
}
