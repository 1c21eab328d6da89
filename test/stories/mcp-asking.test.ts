import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

type Era = "2025-11-25" | "2026-07-28";
const eras = ["2025-11-25", "2026-07-28"] as const;

interface Scene {
  readonly served: ServedRuntime;
  readonly runtime: Runtime;
  /** What ran to its end at the server. */
  readonly ran: () => readonly string[];
}

async function open(server: Era, mayAsk: readonly ("elicitation" | "sampling" | "roots")[]): Promise<Scene> {
  const file = join(ownFolder(), "ran");
  const args = ["test/fakes/asking-server.ts", file];
  const served = await serveRuntime({
    servers: { one: { command: process.execPath, args, revision: server, risk: "safe", mayAsk } },
  });
  const ran = (): readonly string[] => {
    try {
      return readFileSync(file, "utf8").trim().split("\n");
    } catch {
      return []; // nothing has run
    }
  };
  return { served, runtime: served.runtime, ran };
}

async function connect({ url, token }: ServedRuntime, era: Era, capabilities: object): Promise<Client> {
  const mode = era === "2025-11-25" ? "legacy" : { pin: era };
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode }, capabilities });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

const everything = { elicitation: { form: {} }, sampling: {}, roots: {} };
const all = ["elicitation", "sampling", "roots"] as const;

describe.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  "a client of %s and a server of %s",
  (clientEra, serverEra) => {
    it("reach each other: a form, the client's model and its folders, and each tool runs once", async () => {
      const { served, ran } = await open(serverEra, all);
      const client = await connect(served, clientEra, everything);
      client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
      client.setRequestHandler("sampling/createMessage", () => ({
        ...{ role: "assistant", model: "m", content: { type: "text", text: "hello" } },
      }));
      client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work" }] }));
      const answers = [];
      for (const name of ["one__name", "one__model", "one__folders"])
        answers.push((await client.callTool({ name, arguments: {} })).content);
      const texts = ["accept Ada", '{"type":"text","text":"hello"}', "file:///work"];
      expect(answers).toEqual(texts.map((text) => [{ type: "text", text }]));
      expect(ran()).toEqual(texts);
    });

    it("are kept apart unless the operator allows the server to ask", async () => {
      const { served, ran } = await open(serverEra, []);
      const client = await connect(served, clientEra, everything);
      let asked = 0;
      client.setRequestHandler("elicitation/create", () => {
        asked += 1;
        return { action: "accept", content: { name: "Ada" } };
      });
      const answer = await client.callTool({ name: "one__name", arguments: {} });
      // A server of 2025 was never told that clients can be asked, and says so in its own words.
      const reason = serverEra === "2026-07-28" ? "servers.one.may_ask" : "does not support";
      expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(reason) }] });
      expect([asked, ran()]).toEqual([0, []]);
    });
  },
);

describe("a client of 2026-07-28 that is asked", () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": everything,
  };

  interface Asked {
    readonly result?: { readonly resultType: string; readonly requestState?: string; readonly content?: unknown };
    readonly error?: { readonly code: number };
  }

  function call({ url, token }: ServedRuntime, more: object = {}, tool = "one__name"): Promise<Asked> {
    const headers = {
      ...{ authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
      ...{ "mcp-method": "tools/call", "mcp-name": tool },
    };
    const params = { name: tool, arguments: {}, _meta: meta, ...more };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return fetch(new URL("/mcp", url), { method: "POST", headers, body }).then(
      (answer) => answer.json() as Promise<Asked>, // JSON-RPC
    );
  }

  const inputResponses = {
    q: { action: "accept", content: { name: "Ada" } },
    only: { action: "accept", content: { name: "Ada" } },
  };

  it("never sees the state of the server, and its own is used once, by itself, for the same call", async () => {
    const { served, ran } = await open("2026-07-28", all);
    const { result } = await call(served);
    expect(result).toMatchObject({ resultType: "input_required" });
    const requestState = result?.requestState ?? "";
    expect(Buffer.from(requestState.split(".")[1] ?? "", "base64url").toString()).not.toContain("of the server alone");
    const forged = `${requestState.slice(0, -2)}AA`;
    for (const [more, tool] of [
      [{ inputResponses, requestState: forged }, "one__name"],
      [{ inputResponses, requestState, arguments: { other: true } }, "one__name"],
      [{ inputResponses, requestState }, "one__model"],
      [{ inputResponses, requestState: "" }, "one__name"],
    ] as const)
      expect(await call(served, more, tool)).toMatchObject({ error: { code: -32_602 } });
    expect(await call(served, { inputResponses: {}, requestState })).toMatchObject({
      result: { resultType: "input_required" },
    });
    expect(await call(served, { inputResponses, requestState })).toMatchObject({
      result: { content: [{ text: "accept Ada" }] },
    });
    expect(await call(served, { inputResponses, requestState })).toMatchObject({ error: { code: -32_602 } });
    expect(ran()).toEqual(["accept Ada"]);
  });

  it("leaves a record of what it was asked and that it answered, without its answer", async () => {
    const { served, runtime } = await open("2026-07-28", all);
    const { result } = await call(served);
    await call(served, { inputResponses, requestState: result?.requestState ?? "" });
    const events = await runtime.audit.query({ limit: 100 });
    const noted = events.filter(({ type }) => /^mcp\.(asked|answered)$/.test(type));
    expect(noted).toMatchObject([
      {
        type: "mcp.asked",
        data: { server: "one", questions: [{ method: "elicitation/create", message: "Who are you?" }] },
      },
      { type: "mcp.answered", data: { server: "one", tool: "name", answers: [{ action: "accept" }] } },
    ]);
    expect(JSON.stringify(noted)).not.toContain("Ada");
  });

  it("may begin anew: a call that only waited for input has failed, and is not in the way", async () => {
    const { served, runtime, ran } = await open("2026-07-28", all);
    await call(served);
    const { result } = await call(served);
    expect(result).toMatchObject({ resultType: "input_required" });
    const requestState = result?.requestState ?? "";
    expect(await call(served, { inputResponses, requestState })).toMatchObject({
      result: { content: [{ text: "accept Ada" }] },
    });
    expect((await runtime.calls.list()).map(({ state }) => state).sort()).toEqual(["failed", "ok"]);
    expect(ran()).toEqual(["accept Ada"]);
  });

  it("gets its question again from a server of 2025, where the call has begun", async () => {
    const { served, runtime, ran } = await open("2025-11-25", all);
    await call(served);
    const { result } = await call(served);
    expect(result).toMatchObject({ resultType: "input_required" });
    const requestState = result?.requestState ?? "";
    expect(await call(served, { inputResponses, requestState })).toMatchObject({
      result: { content: [{ text: "accept Ada" }] },
    });
    expect(await runtime.calls.list()).toHaveLength(1);
    expect(ran()).toEqual(["accept Ada"]);
  });

  it("is told which capability it lacks", async () => {
    const { served, ran } = await open("2026-07-28", all);
    const client = await connect(served, "2026-07-28", {});
    const failure = await client.callTool({ name: "one__name", arguments: {} }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: -32_021, data: { requiredCapabilities: { elicitation: {} } } });
    expect(ran()).toEqual([]);
  });
});
