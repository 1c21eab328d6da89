import { request as createRequest, createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { rawHttp } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime } from "../../index.ts";

/** Passes everything on to one server, and keeps what it was asked for. */
async function proxyTo(target: string): Promise<{ readonly url: string; readonly through: Set<string> }> {
  const through = new Set<string>();
  const { port } = new URL(target);
  const proxy = createServer((request, response) => {
    through.add(new URL(request.url ?? "").origin);
    const { method, headers } = request;
    request.pipe(
      createRequest({ port, path: "/mcp", method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  proxy.on("connect", (request, socket) => {
    through.add(`https://${request.url}`);
    const upstream = connect(Number(port), "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    upstream.on("error", () => socket.destroy());
    upstream.pipe(socket).pipe(upstream);
  });
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, through };
}

it("a server is reached through HTTPS_PROXY or HTTP_PROXY, unless it is on this machine", async () => {
  const far = await rawHttp(() => false);
  const near = await rawHttp(() => false);
  const { url: proxy, through } = await proxyTo(far.url);
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]) vi.stubEnv(name, proxy);
  for (const name of ["NO_PROXY", "no_proxy"]) vi.stubEnv(name, "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const runtime = await createRuntime({
    servers: {
      far: { url: "http://mcp.example.invalid/mcp", risk: "safe" },
      sealed: { url: "https://sealed.example.invalid/mcp", risk: "safe", startTimeoutMs: 2_000 },
      near: { url: near.url, risk: "safe" },
    },
  });
  onTestFinished(() => runtime.close(0));
  expect(await runtime.invoke({ tool: "far__t" })).toMatchObject({ status: "ok" });
  expect(await runtime.invoke({ tool: "near__t" })).toMatchObject({ status: "ok" });
  // The server behind the proxy speaks no TLS: that it was asked for is what counts.
  expect([...through].sort()).toEqual(["http://mcp.example.invalid", "https://sealed.example.invalid:443"]);
});
