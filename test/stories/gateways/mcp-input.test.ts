/** A call asks its client at one gateway, and the client answers at another one of the same store. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { type ServedRuntime, serveRuntime } from "../../fakes/served-runtime.ts";

const postgres = testPostgres();

interface Answer {
  readonly result?: { readonly resultType: string; readonly requestState?: string };
  readonly error?: { readonly code: number };
}

async function call({ url, token }: ServedRuntime, more: object = {}, signal?: AbortSignal): Promise<Answer> {
  const headers = {
    ...{ authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
    ...{ "mcp-method": "tools/call", "mcp-name": "one__name" },
  };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  const params = { name: "one__name", arguments: {}, _meta: meta, ...more };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const answer = await fetch(new URL("/mcp", url), { method: "POST", headers, body, ...(signal && { signal }) });
  return (await answer.json()) as Answer; // JSON-RPC
}

const inputResponses = {
  q: { action: "accept", content: { name: "Ada" } },
  only: { action: "accept", content: { name: "Ada" } },
};

it.each(["2025-11-25", "2026-07-28"] as const)("a server of %s gets the answer, and runs once", async (revision) => {
  const file = join(ownFolder(), "ran");
  const store = postgres.newStore();
  const open = (): Promise<ServedRuntime> =>
    serveRuntime({
      store,
      servers: {
        one: {
          ...{ command: process.execPath, args: ["test/fakes/asking-server.ts", file], revision, risk: "safe" },
          mayAsk: ["elicitation"],
        },
      },
    });
  const [a, b, c] = [await open(), await open(), await open()];
  const { result } = await call(a);
  expect(result).toMatchObject({ resultType: "input_required" });
  const requestState = result?.requestState ?? "";
  const [holder, ...signed] = requestState.split(".");
  const forged = [holder, ...signed].join(".").slice(0, -2);
  expect(await call(b, { inputResponses, requestState: `${forged}AA` })).toMatchObject({ error: { code: -32_602 } });
  expect(await call(b, { inputResponses: {}, requestState })).toMatchObject({
    result: { resultType: "input_required", requestState: expect.stringContaining(`${holder}.`) },
  });
  expect(await call(b, { inputResponses, requestState })).toMatchObject({
    result: { content: [{ text: "accept Ada" }] },
  });
  expect(await call(c, { inputResponses, requestState })).toMatchObject({ error: { code: -32_602 } });
  expect(readFileSync(file, "utf8").trim().split("\n")).toEqual(["accept Ada"]);
});

it("the answer to a gateway that is gone is refused, and nothing runs", async () => {
  const file = join(ownFolder(), "ran");
  const store = postgres.newStore();
  const args = ["test/fakes/asking-server.ts", file];
  const servers = { one: { command: process.execPath, args, risk: "safe", mayAsk: ["elicitation"] } } as const;
  const a = await serveRuntime({ store, servers });
  const b = await serveRuntime({ store, servers });
  const { result } = await call(a);
  await a.runtime.close(0);
  const requestState = result?.requestState ?? "";
  expect(await call(b, { inputResponses, requestState })).toMatchObject({ error: { code: -32_602 } });
  expect(() => readFileSync(file)).toThrow("ENOENT");
});
