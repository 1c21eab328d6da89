/** A task belongs to the stored call, so each gateway answers for it. */
import { expect, it } from "vitest";
import { defineTool } from "../../../packages/postern/src/index.ts";
import { sendRaw } from "../../fakes/approval-clients.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { type ServedRuntime, serveRuntime } from "../../fakes/served-runtime.ts";

const postgres = testPostgres();

async function ask(at: ServedRuntime, method: string, given: object): Promise<Readonly<Record<string, unknown>>> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const { result, error } = await sendRaw(at, { method, params: { ...given, _meta } });
  return result ?? { ...error };
}

it("cancels at one gateway a task that runs at another", async () => {
  const store = postgres.newStore();
  const ran: string[] = [];
  const send = defineTool({
    ...{ name: "send", description: "Sends until it is cancelled.", risk: "high", effects: "write", idempotent: false },
    inputSchema: { type: "object" },
    execute: async (_given: unknown, { signal }) => {
      ran.push("begun");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      ran.push("cancelled");
      throw signal.reason;
    },
  });
  const open = (): Promise<ServedRuntime> => serveRuntime({ store, tools: [send], autonomy: "A2" });
  const [a, b] = [await open(), await open()];
  const { taskId } = await ask(a, "tools/call", { name: "send", arguments: {} });
  await b.operator.approvals.approve({ id: String(taskId) });
  expect(await ask(a, "tasks/get", { taskId })).toMatchObject({ status: "working" });
  await expect.poll(() => ran).toEqual(["begun"]);
  expect(await ask(b, "tasks/get", { taskId })).toMatchObject({ status: "working" });
  expect(await ask(b, "tasks/cancel", { taskId })).not.toHaveProperty("code");
  expect(ran).toEqual(["begun", "cancelled"]);
  for (const gateway of [a, b])
    expect(await ask(gateway, "tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
});
