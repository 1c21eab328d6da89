import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import { ClientProblem } from "./client-problem.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serverThat(answers: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answers(response)).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return `http://127.0.0.1:${port}`;
}

async function problemAt(url: string): Promise<ClientProblem> {
  const problem: unknown = await createClient({ url, token: "x" })
    .health.show()
    .catch((error: unknown) => error);
  if (problem instanceof ClientProblem) return problem;
  throw new Error(`expected a ClientProblem, got ${String(problem)}`);
}

describe("a server that goes away", () => {
  it.each([
    ["before it answers", (response: ServerResponse) => void response.destroy()],
    [
      "in the middle of its answer",
      (response: ServerResponse) => void response.write('{"sta', () => response.destroy()),
    ],
  ])("%s is not reported as absent", async (_, answers) => {
    const { code, message } = await problemAt(await serverThat(answers));
    expect(code).toBe("cut_off");
    expect(message).not.toContain("No Postern answers");
    expect(message).toMatch(/may have run; `postern calls` shows/);
  });

  it("that was never there is reported as absent", async () => {
    const url = await serverThat(() => undefined);
    for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
    expect(await problemAt(url)).toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("No Postern answers"),
    });
  });
});

it("waits for an answer longer than `fetch` does", async () => {
  const symbol = Symbol.for("undici.globalDispatcher.1"); // what `fetch` uses, with its limit of 300 s
  const usual: unknown = Reflect.get(globalThis, symbol);
  if (usual === undefined) await fetch("http://127.0.0.1:1").catch(() => undefined);
  const Agent = (Reflect.get(globalThis, symbol) as object).constructor as new (limits: object) => object; // its class is not exported
  const before: unknown = Reflect.get(globalThis, symbol);
  Reflect.set(globalThis, symbol, new Agent({ headersTimeout: 10 }));
  try {
    const waiting: ServerResponse[] = [];
    const url = await serverThat((response) => void waiting.push(response));
    const asked = createClient({ url, token: "x" }).health.show();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    for (const response of waiting) response.end('{"status":"ok"}');
    expect(await asked).toEqual({ status: "ok" });
  } finally {
    Reflect.set(globalThis, symbol, before);
  }
});
