import { expect, it } from "vitest";
import { httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import { mcpPath } from "./mcp-entry.ts";
import { loopbackHosts } from "./own-hosts.ts";
import { listen } from "./serve.ts";

it.each(["GET", "POST"])("passes on that a client left a stream of %s", async (method) => {
  await using opened = new AsyncDisposableStack();
  const left = Promise.withResolvers<void>();
  let port = 0;
  const { server, tokens } = opened.use(
    await httpFixture(stubRuntime().runtime, {
      hosts: () => loopbackHosts(port),
      mcp: (exchange) => {
        exchange.onGone(left.resolve);
        exchange.begin({ "content-type": "text/event-stream" });
        exchange.write(":\n");
      },
    }),
  );
  const listening = await listen({ handler: server, port });
  opened.defer(() => listening.close(100));
  port = listening.port;
  const leaving = new AbortController();
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
    ...{ method, signal: leaving.signal, headers: { authorization: `Bearer ${tokens.agent}` } },
    ...(method === "POST" && { body: "{}" }),
  });
  await answer.body?.getReader().read();
  leaving.abort();
  await left.promise;
});

it.each([
  ["/mcp", {}],
  ["/mcp/", {}],
  ["/mcp?mode=search", { mode: "search" }],
  ["/mcp/files", { server: "files" }],
  ["/mcp/files/?mode=code&other=1", { server: "files", mode: "code" }],
  ["/mcp/a%2Fb", { server: "a/b" }],
  ["/mcp/%", { server: "%" }],
])("finds the endpoint in the address %s", (address, path) => {
  expect(mcpPath(address)).toEqual(path);
});

it.each(["/mcpx", "/v1/mcp", "/", "/mcp/a/b"])("leaves %s to the other routes", (path) => {
  expect(mcpPath(path)).toBeUndefined();
});
