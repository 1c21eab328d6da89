import { describe, expect, it } from "vitest";
import { apiServer } from "../../../../test/fakes/api-server.ts";
import { call, runtimeWith, shop, shopAt, written } from "../../../../test/fakes/openapi-runtime.ts";

describe("the tools of a document", () => {
  it("are its operations, by operationId or by method and path", async () => {
    const runtime = await shopAt(await apiServer());
    expect(runtime.health().servers).toMatchObject([{ name: "api", status: "connected", refused: [] }]);
    const names = runtime.tools.offers().map(({ tool }) => tool);
    expect(names.toSorted()).toEqual(
      ["createOrder", "deleteOrder", "getOrder", "get_status", "listOrders", "replaceOrder", "upload"]
        .map((name) => `api__${name}`)
        .toSorted(),
    );
  });

  it("have one schema, with the place before a name that two parameters have", async () => {
    const runtime = await shopAt(await apiServer());
    const schemaOf = (name: string): unknown =>
      runtime.tools.offers().find(({ tool }) => tool === `api__${name}`)?.inputSchema;
    expect(schemaOf("getOrder")).toMatchObject({
      properties: { path_id: { type: "string" }, query_id: { type: "string" } },
      required: ["path_id"],
      additionalProperties: false,
    });
    expect(schemaOf("createOrder")).toEqual({
      type: "object",
      properties: { body: { $ref: "#/$defs/Order" } },
      required: ["body"],
      additionalProperties: false,
      $defs: {
        Order: {
          type: "object",
          required: ["item"],
          properties: {
            item: { type: "string", description: "What is ordered." },
            parts: { type: "array", items: { $ref: "#/$defs/Order" } },
          },
        },
      },
    });
  });

  it("have arguments with names that providers take, and none of another's", async () => {
    const query = (name: string): object => ({ name, in: "query", schema: { type: "string" } });
    const parameters = ["filter[name]", "$top", "body", "query_body", "__proto__", "a b", "a-b", "a_b"].map(query);
    const requestBody = { content: { "text/plain": {} } };
    const server = await apiServer();
    const openapi = written({ "/a": { post: { operationId: "odd", parameters, requestBody } } });
    const runtime = await runtimeWith({ openapi, baseUrl: server.origin });
    const [offer] = runtime.tools.offers();
    const names = Object.keys(offer?.inputSchema["properties"] ?? {});
    expect(names).toEqual([
      "filter_name",
      "top",
      "query_body_2",
      "query_body",
      "proto",
      "query_a_b",
      "a-b",
      "query_a_b_2",
      "body",
    ]);
    await call(runtime, "odd", {
      filter_name: "1",
      top: "2",
      query_body_2: "3",
      query_body: "4",
      proto: "5",
      body: "text",
    });
    expect(server.requests[0]).toMatchObject({
      url: "/a?filter%5Bname%5D=1&%24top=2&body=3&query_body=4&__proto__=5",
      body: "text",
    });
  });

  it("are high with a guess until the operator says otherwise", async () => {
    const runtime = await runtimeWith({
      openapi: shop,
      risk: undefined as never,
      tools: { listOrders: { risk: "safe", effects: "read" } },
    });
    const found = new Map(runtime.tools.offers().map(({ tool, facts }) => [tool, facts]));
    expect(found.get("api__listOrders")).toMatchObject({ risk: "safe", riskSource: "operator" });
    expect(found.get("api__getOrder")).toMatchObject({
      risk: "high",
      riskSource: "guess",
      guess: { risk: "safe", effects: "read" },
    });
    expect(found.get("api__deleteOrder")).toMatchObject({
      risk: "high",
      guess: { risk: "critical", effects: "destructive" },
    });
  });

  it("take the risk of the method if the operator trusts the document", async () => {
    const runtime = await runtimeWith({ openapi: shop, risk: undefined as never, trust: "annotations" });
    const risks = Object.fromEntries(
      runtime.tools.offers().map(({ tool, facts }) => [tool, `${facts.risk} ${facts.effects}`]),
    );
    expect(risks).toMatchObject({
      ...{ api__listOrders: "safe read", api__createOrder: "high write", api__replaceOrder: "high write" },
      api__deleteOrder: "critical destructive",
    });
  });

  it("are chosen by operationId, or method and path", async () => {
    const runtime = await shopAt(await apiServer(), {
      operations: { include: ["GET *", "create*"], exclude: ["GET /status", "getOrder"] },
      tools: { createOrder: { as: "order" }, listOrders: { enabled: false } },
    });
    expect(runtime.tools.offers().map(({ tool }) => tool)).toEqual(["api__order"]);
  });
});
