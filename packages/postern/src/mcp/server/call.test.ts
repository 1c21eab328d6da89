import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import { createRuntime } from "../../runtime/create.ts";
import { Windows } from "../../runtime/services/windows.ts";
import { callTool } from "./call.ts";
import { CallTasks } from "./tasks.ts";

/** One held call, with time that moves only here. */
async function hold(onprogress?: (message: string | undefined) => void) {
  const clock = new FakeClock();
  const tool = {
    name: "send",
    description: "Sends.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object" },
    execute: () => "sent",
  } as const;
  const runtime = await createRuntime({
    tools: [tool],
    autonomy: "A2",
    store: "memory",
    clock,
    approvals: { patience: "suspend" },
  });
  const windows = new Windows(runtime, clock);
  const parts = { runtime, windows, clock, approvalWaitMs: 20_000, console: undefined, tasks: new CallTasks(clock) };
  const source = {
    caller: { principal: { tenant: "t", agent: "ada" }, scopes: [] },
    server: undefined,
  };
  let answer: unknown;
  const held = Promise.withResolvers<void>();
  runtime.watch(({ moment }) => moment === "held" && held.resolve());
  const request = {
    ...{ id: 1, method: "tools/call", params: { name: "send", arguments: {} }, source, isOld: true, capabilities: {} },
    meta: onprogress === undefined ? {} : { progressToken: 1 },
    signal: new AbortController().signal,
    tell: (_method: string, { message }: JsonObject) => onprogress?.(String(message)),
  };
  void callTool(request, parts).then((result) => {
    answer = (result as CallToolResult).structuredContent;
  });
  await held.promise;
  await settled();
  return { clock, answered: () => answer, close: () => runtime.close(0) };
}

it("a held call is answered after 20 s with approval_pending", async () => {
  const { clock, answered, close } = await hold();
  await clock.advance(19_999);
  expect(answered()).toBeUndefined();
  await clock.advance(1);
  await settled();
  expect(answered()).toMatchObject({
    status: "approval_pending",
    how_to_approve: "A person decides in the Postern console.",
    retry: "send the same call again",
  });
  await close();
});

it("a client that listens to progress gets a sign of life every 10 s and waits 45 s", async () => {
  const told: (string | undefined)[] = [];
  const { clock, answered, close } = await hold((message) => told.push(message));
  await clock.advance(44_999);
  expect(told).toEqual(Array(4).fill("still waiting"));
  expect(answered()).toBeUndefined();
  await clock.advance(1);
  await settled();
  expect(answered()).toMatchObject({ status: "approval_pending" });
  await clock.advance(60_000);
  expect(told).toHaveLength(4);
  await close();
});
