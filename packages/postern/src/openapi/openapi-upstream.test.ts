/** Where the requests of an OpenAPI document go: addresses, redirects, names, and documents behind an address. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { JsonObject } from "@postern/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ApiServer, apiServer } from "../../../../test/fakes/api-server.ts";
import { corpus } from "../../../../test/fakes/corpus.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { OpenApiAddress } from "../mcp/client/server-address.ts";
import type { UpstreamAnswer } from "../mcp/client/upstream.ts";
import { OpenApiUpstream, type OpenApiUpstreamOptions } from "./openapi-upstream.ts";

const shop = join(import.meta.dirname, "../../../../test/fakes/openapi/shop.yaml");
const text = readFileSync(shop, "utf8");

interface Scene {
  readonly upstream: OpenApiUpstream;
  readonly clock: FakeClock;
  readonly changes: () => number;
}

function sceneOf(address: Partial<OpenApiAddress>, resolve?: OpenApiUpstreamOptions["resolve"]): Scene {
  const clock = new FakeClock();
  const counted: string[] = [];
  const events = { onClose: () => undefined, onToolsChanged: () => void counted.push("changed") };
  const upstream = new OpenApiUpstream(
    {
      ...{ kind: "openapi", document: shop, baseUrl: undefined, headers: {}, auth: {}, operations: undefined },
      ...{ allowPrivate: true, ...address },
    },
    {
      events,
      clock,
      name: "api",
      startTimeoutMs: 60_000,
      answerBytes: undefined,
      ...(resolve !== undefined && { resolve }),
    },
  );
  onTestFinished(() => upstream.close());
  return { upstream, clock, changes: () => counted.length };
}

async function connected(
  address: Partial<OpenApiAddress>,
  resolve?: OpenApiUpstreamOptions["resolve"],
): Promise<Scene> {
  const scene = sceneOf(address, resolve);
  await scene.upstream.connect();
  await scene.upstream.listTools();
  return scene;
}

function call(
  { upstream }: Pick<Scene, "upstream">,
  tool = "get_status",
  given: JsonObject = {},
): Promise<UpstreamAnswer> {
  const more = { signal: new AbortController().signal, idempotencyKey: "k", onProgress: () => undefined };
  return upstream.callTool(tool, given, more) as Promise<UpstreamAnswer>; // no answer here is too large
}

const redirect =
  (to: string, status = 302): ApiServer["reply"] =>
  (_, response) =>
    void response.writeHead(status, { location: to }).end();
const textOf = ({ content }: UpstreamAnswer): string =>
  (content as { readonly text: string }[]).map((block) => block.text).join("\n");

describe("a private address", () => {
  it("is not connected to for a call, by address or by name, unless it is permitted", async () => {
    const server = await apiServer();
    const { port } = new URL(server.origin);
    const toLoopback = async (): Promise<{ address: string; family: number }[]> => [
      { address: "127.0.0.1", family: 4 },
    ];
    for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "rebinding.example"])
      for (const scheme of ["http", "https"]) {
        const scene = await connected(
          { baseUrl: new URL(`${scheme}://${host}:${port}`), allowPrivate: false },
          toLoopback,
        );
        await expect(call(scene), host).rejects.toMatchObject({ notExecuted: true });
      }
    expect(server.requests).toEqual([]);
  });

  it("gets no socket from a name that means another address at each question", async () => {
    let sockets = 0;
    const server = createServer((socket) => {
      sockets += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { readonly port: number }; // it listens on a port
    let questions = 0;
    const scene = await connected(
      { baseUrl: new URL(`https://turning.example:${port}`), allowPrivate: false },
      async () => {
        questions += 1;
        return [{ address: questions === 1 ? "203.0.113.9" : "127.0.0.1", family: 4 }];
      },
    );
    await expect(call(scene)).rejects.toThrow(); // the first answer is of a range for documentation
    await expect(call(scene)).rejects.toThrow("machine of this network");
    expect(sockets).toBe(0);
  });

  it("is not asked for a document", async () => {
    const server = await apiServer();
    const { upstream } = sceneOf({ document: new URL(`${server.origin}/openapi.json`), allowPrivate: false });
    await expect(upstream.connect()).rejects.toThrow("allow_private");
    expect(server.requests).toEqual([]);
  });

  const urls = corpus<{ readonly url: string }>("ssrf/urls.dev.json");
  it.runIf(urls.length > 0)("is not reached by any published address", async () => {
    const dead = async (): Promise<{ address: string; family: number }[]> => [{ address: "10.0.0.1", family: 4 }];
    const found = urls
      .flatMap(({ url }) => [url, url.replace(/^http:/, "https:")])
      .flatMap((url) => URL.parse(url) ?? []);
    expect(found.length).toBeGreaterThan(10);
    for (const url of found.filter(({ protocol }) => /^https?:$/.test(protocol))) {
      const { upstream } = sceneOf({ document: url, allowPrivate: false }, dead);
      await expect(upstream.connect(), url.href).rejects.toThrow(
        /machine of this network|not sent to|no address|user or a password/,
      );
    }
  });
});

describe("a redirect", () => {
  it("is followed by a request that reads, within the origin", async () => {
    const server = await apiServer();
    const scene = await connected({ baseUrl: new URL(server.origin) });
    const answer = server.reply;
    server.reply = (request, response) => (request.url === "/there" ? answer : redirect("/there"))(request, response);
    expect(await call(scene)).toMatchObject({ structured: { url: "/there" }, isError: false });
  });

  it.each([301, 302, 303, 307, 308])(
    "with %s is not followed to another origin, nor by a request that writes",
    async (status) => {
      const other = await apiServer();
      const server = await apiServer(redirect(`${other.origin}/stolen`, status));
      const scene = await connected({ baseUrl: new URL(server.origin), auth: { token: "t0ken" } });
      const answer = await call(scene);
      expect(answer.isError).toBe(true);
      expect(textOf(answer)).toContain("a redirect, which is not followed");
      server.reply = redirect("/elsewhere", status);
      expect(await call(scene, "deleteOrder", { id: "1" })).toMatchObject({ isError: true });
      expect(server.requests.map(({ url }) => url)).not.toContain("/elsewhere");
      expect(other.requests).toEqual([]);
    },
  );

  it("that never ends is given up", async () => {
    const server = await apiServer(redirect("/again"));
    const answer = await call(await connected({ baseUrl: new URL(server.origin) }));
    expect(textOf(answer)).toContain("HTTP 302");
    expect(server.requests).toHaveLength(6);
  });

  it("of a document to another host is named", async () => {
    const server = await apiServer(redirect("http://127.0.0.1:9/openapi.json"));
    const { upstream } = sceneOf({ document: new URL(server.origin) });
    await expect(upstream.connect()).rejects.toThrow("It redirects to `http://127.0.0.1:9`");
  });
});

describe("a document behind an address", () => {
  const serves =
    (document: string): ApiServer["reply"] =>
    (_, response) =>
      void response.end(document);
  const own = text.replace(/servers:[\s\S]*?security:/, 'servers: [{ url: "/v2/" }]\nsecurity:');

  it("gives requests its own origin, and gets no credential", async () => {
    const server = await apiServer(serves(own));
    const scene = await connected({
      document: new URL(`${server.origin}/api.yaml`),
      headers: { "x-secret": "s3cret" },
    });
    expect((await scene.upstream.listTools()).tools.find(({ name }) => name === "get_status")?.description).toBe(
      `Says how it is.\n\nGET ${server.origin}/v2/status`,
    );
    await call(scene);
    const [document, request] = server.requests;
    expect(document?.headers["x-secret"]).toBeUndefined();
    expect(request).toMatchObject({ url: "/v2/status", headers: { "x-secret": "s3cret" } });
  });

  it("does not choose another host for the operator's credentials", async () => {
    const server = await apiServer(serves(own.replace('"/v2/"', '"https://collects.example"')));
    const at = { document: new URL(server.origin), auth: { token: "t0ken" } };
    await expect(sceneOf(at).upstream.connect()).rejects.toThrow(
      /sends your credentials to `https:\/\/collects\.example`.*base_url/,
    );
    await expect(connected({ ...at, baseUrl: new URL("https://collects.example") })).resolves.toBeDefined();
  });

  it("is read again from time to time, and announces a change", async () => {
    const server = await apiServer(serves(own));
    const { upstream, clock, changes } = await connected({ document: new URL(server.origin) });
    server.reply = serves(own.replace("List orders", "List all orders"));
    await upstream.ping();
    expect(server.requests).toHaveLength(1);
    await clock.advance(300_000);
    await upstream.ping();
    expect(changes()).toBe(1);
    expect((await upstream.listTools()).tools.map(({ title }) => title)).toContain("List all orders");
    server.reply = (_, response) => void response.writeHead(500).end();
    await clock.advance(300_000);
    await upstream.ping();
    expect(changes()).toBe(1);
  });

  it.each([
    ["does not exist", redirect("", 404), "answered HTTP 404"],
    [
      "never ends",
      (_: unknown, response: { write(text: string): boolean }) => {
        for (let at = 0; at < 20; at += 1) response.write(" ".repeat(1024 * 1024));
      },
      "more than 16777216 bytes",
    ],
    [
      "is no text",
      (_: unknown, response: { end(bytes: Buffer): void }) => response.end(Buffer.from([0xff, 0xfe, 0x00])),
      "not UTF-8",
    ],
  ] as const)("that %s is refused with the reason", async (_, reply, problem) => {
    const server = await apiServer(reply as ApiServer["reply"]);
    await expect(sceneOf({ document: new URL(server.origin) }).upstream.connect()).rejects.toThrow(problem);
  });

  it("that does not come in time is refused", async () => {
    const asked = Promise.withResolvers<void>();
    const server = await apiServer(() => asked.resolve());
    const { upstream, clock } = sceneOf({ document: new URL(server.origin) });
    const connecting = upstream.connect();
    connecting.catch(() => undefined);
    await asked.promise;
    await clock.advance(60_000);
    await expect(connecting).rejects.toThrow("servers.api.start_timeout_ms");
  });
});

it.each([
  ["of a relative server in a file", "/v1"],
  ["with a variable without a default", "https://{region}.example.com"],
  ["of another protocol", "ftp://example.com"],
])("refuses an address %s", async (_, url) => {
  const server = await apiServer(
    (__, response) =>
      void response.end(text.replace(/servers:[\s\S]*?security:/, `servers: [{ url: "${url}" }]\nsecurity:`)),
  );
  const scene = sceneOf({ document: new URL(server.origin) });
  const connecting = scene.upstream.connect();
  if (url === "/v1") await expect(connecting).resolves.toBeDefined();
  else await expect(connecting).rejects.toThrow("base_url");
});
