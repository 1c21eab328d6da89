import { expect, it } from "vitest";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";

interface Stage {
  readonly runtime: Runtime;
  readonly ran: string[];
  /** Ends the tool's wait. */
  readonly end: () => void;
}

async function stage(risk: "safe" | "high", waits = false): Promise<Stage> {
  const ran: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  runtime.tools.register({
    ...{ name: "send", description: "Sends.", risk, effects: "write", idempotent: false },
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    execute: async (input) => {
      ran.push((input as { to: string }).to);
      if (waits) await promise;
      return `sent ${ran.length}`;
    },
  });
  return { runtime, ran, end: resolve };
}

const toAda = { tool: "send", arguments: { to: "ada" } };

it("runs a call once for each id of the provider, in its run", async () => {
  const { runtime, ran } = await stage("safe");
  const texts: string[] = [];
  for (const [toolCallId, runId] of [
    ["a", "r1"],
    ["a", "r1"],
    ["b", "r1"],
    ["a", "r2"],
  ] as const)
    texts.push((await runtime.invoke(toAda, { toolCallId, runId })).text);
  expect(texts).toEqual(["sent 1", "sent 1", "sent 2", "sent 3"]);
  expect((await runtime.invoke({ ...toAda, arguments: { to: "eve" } }, { toolCallId: "a", runId: "r1" })).text).toBe(
    "sent 4",
  );
  expect(ran).toEqual(["ada", "ada", "ada", "eve"]);
  await runtime.close();
});

it("runs two equal calls of one turn, and refuses the same id while it runs", async () => {
  const { runtime, ran, end } = await stage("safe", true);
  const both = ["a", "b"].map((toolCallId) => runtime.invoke(toAda, { toolCallId, turn: "t" }));
  await expect.poll(() => ran.length).toBe(2);
  expect((await runtime.invoke(toAda, { toolCallId: "a", turn: "t" })).refusal?.code).toBe("in_progress");
  end();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual(["ok", "ok"]);
  await runtime.close();
});

it("lets a new id join a waiting request, and treats one after the result as a new call", async () => {
  const { runtime, ran } = await stage("high");
  const first = await runtime.invoke(toAda, { toolCallId: "a" });
  expect((await runtime.invoke(toAda, { toolCallId: "b" })).approvalId).toBe(first.approvalId);
  await runtime.approvals.decide(first.approvalId ?? "", { decision: "approved", by: { user: "grace" } });
  expect((await runtime.invoke(toAda, { toolCallId: "c" })).text).toBe("sent 1");
  expect((await runtime.invoke(toAda, { toolCallId: "d" })).status).toBe("pending");
  expect(ran).toEqual(["ada"]);
  await runtime.close();
});

it("accepts only text as an id", async () => {
  const { runtime } = await stage("safe");
  for (const toolCallId of ["", 5, "\ud800"] as never[])
    await expect(runtime.invoke(toAda, { toolCallId })).rejects.toThrow("`toolCallId`");
  await runtime.close();
});
