import { describe, expect, it } from "vitest";
import { apiServer } from "../../../../test/fakes/api-server.ts";
import { call, pets, refusedBy, runtimeWith, shop, shopAt, values } from "../../../../test/fakes/openapi-runtime.ts";
import { asker } from "../../../../test/fakes/runtime-fixture.ts";

describe("a call of an operation", () => {
  it("sends parameters in their places and styles, with the credential of its scheme", async () => {
    const server = await apiServer();
    const runtime = await shopAt(server, { headers: { "X-Client": "desk" } });
    const given = {
      status: ["a b", "c&d"],
      ids: [1, 2],
      filter: { size: { gt: 3 } },
      where: { a: [1] },
      "X-Trace": "t1",
      theme: "dark mode",
    };
    expect(await call(runtime, "listOrders", given)).toMatchObject({ status: "ok", structured: { method: "GET" } });
    expect(server.requests[0]).toMatchObject({
      url: `/v1/orders?status=a%20b&status=c%26d&ids=1%7C2&filter%5Bsize%5D%5Bgt%5D=3&where=${encodeURIComponent('{"a":[1]}')}`,
      headers: {
        authorization: `Bearer ${values["shop/token"]}`,
        "x-trace": "t1",
        "x-client": "desk",
        cookie: "theme=dark%20mode",
      },
    });
  });

  it("sends a JSON body and the key of the call, if the operation takes one", async () => {
    const server = await apiServer();
    const runtime = await shopAt(server);
    const context = { ...asker, idempotencyKey: "order-7" };
    await runtime.invoke({ tool: "api__createOrder", arguments: { body: { item: "tea" } } }, context);
    expect(server.requests[0]).toMatchObject({
      body: '{"item":"tea"}',
      headers: { "content-type": "application/json", "idempotency-key": expect.stringMatching(/./) },
    });
  });

  it("sends forms, files and an API key in the query, and no credential where none is needed", async () => {
    const server = await apiServer();
    const runtime = await shopAt(server);
    await call(runtime, "replaceOrder", { id: "a/b", body: { item: "tea & milk", tags: ["x", "y"] } });
    await call(runtime, "deleteOrder", { id: "7" });
    await call(runtime, "upload", {
      id: "7",
      path: ["x", "y"],
      body: { note: "hi", file: Buffer.from("bytes").toString("base64") },
    });
    const [form, gone, upload] = server.requests;
    expect(form).toMatchObject({ method: "PUT", url: "/v1/orders/a%2Fb", body: "item=tea%20%26%20milk&tags=x&tags=y" });
    expect(gone).toMatchObject({ method: "DELETE", url: `/v1/orders/7?api_key=${values["shop/key"]}` });
    expect(gone?.headers.authorization).toBeUndefined();
    expect(upload).toMatchObject({ url: "/v1/orders/7/files/;path=x,y" });
    expect(upload?.headers).toMatchObject({
      "content-type": expect.stringContaining("multipart/form-data; boundary="),
    });
    expect(upload?.headers.authorization).toBeUndefined();
    expect(upload?.body).toMatch(/name="note"\r\n\r\nhi\r\n/);
    expect(upload?.body).toMatch(/name="file"; filename="file"[\s\S]*\r\n\r\nbytes\r\n/);
  });

  it("works with Swagger 2.0: parameters, a shared body, a file, and two schemes at once", async () => {
    const server = await apiServer();
    const auth = { login: "secret://pets/login", key: "secret://pets/key" };
    const runtime = await runtimeWith({ openapi: pets, baseUrl: `${server.origin}/api`, auth });
    expect(refusedBy(runtime)).toEqual([]);
    await call(runtime, "pets_list", { tags: ["a", "b"] });
    expect(
      await call(runtime, "pets_add", { body: { name: "Rex", nick: null, mother: { name: "Ada" } } }),
    ).toMatchObject({ status: "ok" });
    expect(await call(runtime, "pets_add", { body: { mother: {} } })).toMatchObject({
      status: "error",
      refusal: { code: "arguments_invalid" },
    });
    await call(runtime, "put_pets_id_photo", { id: 3, body: { photo: "AAAA" } });
    const [list, add, photo] = server.requests;
    expect(list?.url).toBe("/api/pets?tags=a,b");
    expect(add?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from("ann:pass-of-ann-1").toString("base64")}`,
      "x-key": "key-in-the-header",
    });
    expect(photo).toMatchObject({
      method: "PUT",
      url: "/api/pets/3/photo",
      headers: { "content-type": expect.stringContaining("multipart/") },
    });
  });

  it("never shows a credential that the API sends back", async () => {
    const server = await apiServer();
    const runtime = await shopAt(server);
    const outcomes = [await call(runtime, "listOrders"), await call(runtime, "deleteOrder", { id: "1" })];
    expect(JSON.stringify(server.requests)).toContain(values["shop/token"]);
    expect(JSON.stringify(outcomes)).not.toMatch(/t0ken-of-the-shop|key-in-the-query/);
  });

  it("returns text, media and empty answers as what they are", async () => {
    const server = await apiServer((_, response) => void response.writeHead(204).end());
    const runtime = await shopAt(server);
    expect(await call(runtime, "get_status")).toMatchObject({ status: "ok", text: "HTTP 204, without content." });
    server.reply = (_, response) =>
      void response.setHeader("content-type", "text/plain").setHeader("link", '</2>; rel="next"').end("fine");
    expect(await call(runtime, "get_status", {})).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/fine[\s\S]*link: <\/2>; rel="next"/),
    });
    server.reply = (_, response) => void response.setHeader("content-type", "image/png").end(Buffer.from([137, 80]));
    expect((await call(runtime, "get_status")).content).toMatchObject([{ type: "image", mediaType: "image/png" }]);
  });

  it("refuses an answer above the limit, and keeps a large one as an artifact", async () => {
    const server = await apiServer(
      (_, response) => void response.setHeader("content-type", "text/plain").end("a".repeat(100_000)),
    );
    const kept = await shopAt(server);
    expect((await call(kept, "get_status")).artifact).toBeDefined();
    const small = await shopAt(server, {});
    const bounded = await runtimeWith(
      { openapi: shop, baseUrl: `${server.origin}/v1` },
      { results: { maxBytes: 65_536 } },
    );
    expect(small.health().servers[0]?.status).toBe("connected");
    expect(await call(bounded, "get_status")).toMatchObject({
      status: "error",
      refusal: { code: "result_unavailable" },
    });
  });
});

describe("an operation that fails", () => {
  it.each([400, 404, 500])("with HTTP %s is failed, with the beginning of what the API says", async (status) => {
    const server = await apiServer(
      (_, response) =>
        void response.writeHead(status, { "content-type": "text/plain" }).end(`no such order ${"x".repeat(50_000)}`),
    );
    const outcome = await call(await shopAt(server), "createOrder", { body: { item: "tea" } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(outcome.text).toContain(`HTTP ${status}.\nno such order xxx`);
    expect(outcome.text.length).toBeLessThan(12_000);
  });

  it("with HTTP 429 was not run, and tells until when the API takes no calls", async () => {
    const server = await apiServer((_, response) => void response.writeHead(429, { "retry-after": "60" }).end());
    const outcome = await call(await shopAt(server), "createOrder", { body: { item: "tea" } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed", retry: "later" } });
    expect(outcome.text).toContain("was not run");
  });

  it.each([
    ["is lost after it was sent", (response: { destroy(): void }) => response.destroy()],
    [
      "is answered by a proxy",
      (response: { writeHead(status: number): { end(): void } }) => response.writeHead(502).end(),
    ],
  ])("and %s is unknown, unless it only reads", async (_, fail) => {
    const server = await apiServer((__, response) => void fail(response));
    const runtime = await shopAt(server);
    expect(await call(runtime, "createOrder", { body: { item: "tea" } })).toMatchObject({
      status: "error",
      refusal: { code: "outcome_unknown" },
    });
    expect(await call(runtime, "get_status")).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
  });

  it.each([
    ["a port that is closed", 65_533],
    ["a port that HTTP never uses", 1],
  ])("and goes to %s was not run", async (_, port) => {
    const runtime = await runtimeWith({ openapi: shop, baseUrl: `http://127.0.0.1:${port}` });
    const outcome = await call(runtime, "createOrder", { body: { item: "tea" } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(outcome.text).toContain("could not be reached");
  });

  it("and is cancelled ends its request", async () => {
    const ended = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const server = await apiServer((_, response) => {
      response.on("close", () => ended.resolve());
      arrived.resolve();
    });
    const runtime = await shopAt(server);
    const controller = new AbortController();
    const running = runtime.invoke({ tool: "api__get_status", arguments: {} }, { ...asker, signal: controller.signal });
    running.catch(() => undefined);
    await arrived.promise;
    controller.abort();
    await ended.promise;
    await expect(running).rejects.toThrow();
  });

  it.each([["."], [".."], [""]])("refuses %j as a part of the path", async (id) => {
    const server = await apiServer();
    const outcome = await call(await shopAt(server), "deleteOrder", { id });
    expect(outcome).toMatchObject({ status: "error" });
    expect(outcome.text).toContain("was not run");
    expect(server.requests).toEqual([]);
  });

  it("refuses a header value with a line break", async () => {
    const server = await apiServer();
    const outcome = await call(await shopAt(server), "listOrders", { "X-Trace": "a\r\nx-admin: yes" });
    expect(outcome.text).toContain("characters that a header cannot have");
    expect(server.requests).toEqual([]);
  });
});
