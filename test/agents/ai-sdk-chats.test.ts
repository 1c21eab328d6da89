/** Chats of the AI SDK whose messages are stored: turns, waiting calls, refusals and media, also in another process. */
import { join } from "node:path";
import { convertToModelMessages, generateText, isStepCount, type ModelMessage, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, describe, expect, it } from "vitest";
import { aiSdkTools } from "../../packages/agents/src/ai-sdk.ts";
import type { ApprovalRecord } from "../../packages/core/src/records.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { ownFolder, removeOwnFolders } from "../fakes/own-folder.ts";

afterAll(removeOwnFolders);

interface Asked {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

type Prompt = { readonly role: string; readonly content: unknown }[];

/** A model that answers the prompt with tool calls, or with a text. */
function modelOf(next: (prompt: Prompt, turn: number) => readonly Asked[] | string): MockLanguageModelV4 {
  let turn = 0;
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      turn += 1;
      const said = next(prompt, turn);
      const calls = typeof said === "string" ? [] : said;
      return {
        content:
          typeof said === "string"
            ? [{ type: "text", text: said }]
            : calls.map(({ id, name, input }) => ({
                ...{ type: "tool-call" as const, toolCallId: id, toolName: name, input: JSON.stringify(input) },
              })),
        finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: "" },
        usage: { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } },
        warnings: [],
      };
    },
  });
}

/** `send` and `look` of a shop; the runtime can be opened again on the same file. */
async function shop(store = "memory"): Promise<{ runtime: Runtime; ran: unknown[] }> {
  const ran: unknown[] = [];
  const runtime = await createRuntime({ store, approvals: { patience: "suspend" } });
  const inputSchema = { type: "object", properties: { to: { type: "string" } } } as const;
  runtime.tools.register({
    ...{ name: "send", description: "Sends.", risk: "high", effects: "write", idempotent: false, inputSchema },
    execute: (input) => {
      ran.push(input);
      return `sent ${ran.length}`;
    },
  });
  runtime.tools.register({
    ...{ name: "look", description: "Looks.", risk: "safe", effects: "read", idempotent: true, inputSchema },
    execute: () => {
      ran.push("look");
      return `look ${ran.length}`;
    },
  });
  return { runtime, ran };
}

/** One request of a chat server: reads the stored messages, lets the SDK go on, stores the new ones. */
async function turn(runtime: Runtime, model: MockLanguageModelV4, stored: ModelMessage[]): Promise<string> {
  await using agent = aiSdkTools(runtime, { runId: "chat-1" });
  const messages = structuredClone(stored);
  messages.push(...((await agent.responses(messages)) ?? []));
  const result = await generateText({ model, messages, stopWhen: isStepCount(5), ...agent.settings });
  messages.push(...result.responseMessages);
  stored.splice(0, Infinity, ...JSON.parse(JSON.stringify(messages)));
  return result.text;
}

const toUser = (content: string): ModelMessage => ({ role: "user", content });

function decide(runtime: Runtime, request: ApprovalRecord | undefined, decision: "approved" | "denied") {
  return runtime.approvals.decide(request?.id ?? "", { decision, by: { user: "grace" }, reason: "so it is" });
}

/** The results of the prompt, by call id. */
function resultsIn(prompt: Prompt): Record<string, unknown> {
  const parts = prompt
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content as { toolCallId: string }[]);
  return Object.fromEntries(
    parts.map(({ toolCallId, ...part }) => [toolCallId, (part as { output?: { value?: unknown } }).output]),
  );
}

describe("a stored chat", () => {
  it("has three turns with two waiting calls in one step, across a restart", async () => {
    const store = `sqlite:${join(ownFolder(), "postern.db")}`;
    const stored: ModelMessage[] = [toUser("look first, then write to ann and bob")];
    let prompt: Prompt = [];
    const said = (given: Prompt): readonly Asked[] | string => {
      prompt = given;
      const results = resultsIn(given);
      if (!("l1" in results)) return [{ id: "l1", name: "look", input: {} }];
      if (!("c1" in results)) return ["ann", "bob"].map((to, i) => ({ id: `c${i + 1}`, name: "send", input: { to } }));
      return "done";
    };
    const first = await shop(store);
    await turn(first.runtime, modelOf(said), stored);
    expect(first.ran).toEqual(["look"]);
    const [ann, bob] = await first.runtime.approvals.list({ state: "pending" });
    await decide(first.runtime, ann, "approved");
    await first.runtime.close();

    const second = await shop(store);
    await using agent = aiSdkTools(second.runtime, { runId: "chat-1" });
    expect(await agent.responses(stored)).toBeUndefined(); // bob still waits
    await decide(second.runtime, bob, "approved");
    expect(await turn(second.runtime, modelOf(said), stored)).toBe("done");
    expect(second.ran).toEqual([{ to: "ann" }, { to: "bob" }]);
    expect(await agent.responses(stored)).toEqual([]);
    stored.push(toUser("thank you"));
    expect(await turn(second.runtime, modelOf(said), stored)).toBe("done");
    expect(resultsIn(prompt)).toMatchObject({
      l1: { value: "look 1" },
      c1: { value: expect.stringMatching(/sent 1$/) },
      c2: { value: expect.stringMatching(/sent 2$/) },
    });
    expect(second.ran).toHaveLength(2);
    const rows = await second.runtime.calls.list({ tool: "send" });
    expect(rows.map(({ call, joined }) => [call.turn, joined])).toEqual([
      ["1", undefined],
      ["1", undefined],
    ]);
    await second.runtime.close();
  });

  it("sees every poll when the provider repeats its call ids", async () => {
    const { runtime } = await shop();
    const read: unknown[] = [];
    const model = modelOf((prompt, at) => {
      const last = prompt.at(-1);
      if (last?.role === "tool") read.push(Object.values(resultsIn([last])));
      return at > 3 ? "done" : [{ id: "call_0", name: "look", input: {} }];
    });
    await turn(runtime, model, [toUser("poll")]);
    expect(read).toMatchObject([[{ value: "look 1" }], [{ value: "look 2" }], [{ value: "look 3" }]]);
    await runtime.close();
  });

  it("asks twice for two equal calls of one step, and runs both", async () => {
    const { runtime, ran } = await shop();
    const stored = [toUser("two espressi")];
    let results = {};
    const model = modelOf((prompt) => {
      results = resultsIn(prompt);
      if ("c1" in results) return "done";
      return ["c1", "c2"].map((id) => ({ id, name: "send", input: { to: "espresso" } }));
    });
    await turn(runtime, model, stored);
    const requests = await runtime.approvals.list({ state: "pending" });
    expect(requests).toHaveLength(2);
    for (const request of requests) await decide(runtime, request, "approved");
    await turn(runtime, model, stored);
    expect(ran).toHaveLength(2);
    expect(results).toMatchObject({
      c1: { value: expect.stringMatching(/sent \d$/) },
      c2: { value: expect.stringMatching(/sent \d$/) },
    });
    expect(await runtime.approvals.list({ state: "pending" })).toEqual([]);
    await runtime.close();
  });

  it("joins the open request when the model asks for the same again in a later turn", async () => {
    const { runtime, ran } = await shop();
    const model = modelOf((_prompt, at) => [{ id: `c${at}`, name: "send", input: { to: "ann" } }]);
    const stored = [toUser("write to ann")];
    await turn(runtime, model, stored);
    const other = [toUser("write to ann"), { role: "assistant", content: "hm" } as const, toUser("do it")];
    await turn(runtime, model, other);
    expect(await runtime.approvals.list()).toHaveLength(1);
    expect(ran).toEqual([]);
    await runtime.close();
  });

  it("tells the model a denial as the library's own", async () => {
    const { runtime, ran } = await shop();
    const stored = [toUser("write to ann")];
    let results = {};
    const model = modelOf((prompt) => {
      results = resultsIn(prompt);
      return "c1" in results ? "done" : [{ id: "c1", name: "send", input: { to: "ann" } }];
    });
    await turn(runtime, model, stored);
    await decide(runtime, (await runtime.approvals.list())[0], "denied");
    expect(await turn(runtime, model, stored)).toBe("done");
    expect(results).toEqual({
      c1: expect.objectContaining({ type: "execution-denied", reason: expect.stringMatching(/denied.*so it is/) }),
    });
    expect(ran).toEqual([]);
    await runtime.close();
  });
});

describe("a user's no in the library", () => {
  async function refused(answer: (messages: ModelMessage[], runtime: Runtime) => Promise<void>): Promise<void> {
    const { runtime, ran } = await shop();
    const model = modelOf((prompt) =>
      prompt.at(-1)?.role === "tool" ? "well" : [{ id: "c1", name: "send", input: {} }],
    );
    await using agent = aiSdkTools(runtime, { runId: "chat-1" });
    const messages = [toUser("send")];
    const held = await generateText({ model, messages, ...agent.settings });
    const [request] = await runtime.approvals.list();
    const { approvalId = "" } = held.content.find((part) => part.type === "tool-approval-request") ?? {};
    const no = { type: "tool-approval-response" as const, approvalId, approved: false, reason: "not now" };
    messages.push(...held.responseMessages, { role: "tool", content: [no] });
    await answer(messages, runtime);
    expect(await runtime.approvals.get(request?.id ?? "")).toMatchObject({
      state: "withdrawn",
      decision: { via: "agent-library", reason: expect.stringMatching(/not now/) },
    });
    expect(await decide(runtime, request, "approved")).toMatchObject({ decided: false });
    await generateText({ model, messages: [toUser("send")], ...agent.settings });
    expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(1); // it asks again
    expect(ran).toEqual([]);
    await runtime.close();
  }

  it("withdraws Postern's request when the messages are sent", () =>
    refused(async (messages, runtime) => {
      await using agent = aiSdkTools(runtime, { runId: "chat-1" });
      const model = modelOf(() => "well");
      await generateText({ model, messages, ...agent.settings });
    }));

  it("withdraws it when the responses are asked for, and stays a no", () =>
    refused(async (messages, runtime) => {
      await using agent = aiSdkTools(runtime, { runId: "chat-1" });
      expect(await agent.responses(messages)).toMatchObject([{ content: [{ approved: false, reason: "not now" }] }]);
    }));
});

describe("results that are not text", () => {
  const png = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");
  const blocks = {
    orders: {
      type: "file",
      mediaType: "text/csv",
      name: "orders.csv",
      data: Buffer.from("id;total\n").toString("base64"),
    },
    say: { type: "audio", mediaType: "audio/wav", data: "UklGRg==" },
    scan: { type: "resource", uri: "scan://1", mediaType: "application/x-scan", data: "AAEC" },
    plot: { type: "image", mediaType: "image/png", data: png },
  } as const;

  async function withFiles(store: string): Promise<Runtime> {
    const runtime = await createRuntime({ store });
    for (const [name, block] of Object.entries(blocks))
      runtime.tools.register({
        ...{ name, description: name, risk: "safe", effects: "read", idempotent: true },
        execute: () => ({ content: [block] }),
      });
    return runtime;
  }

  it("are never an empty text", async () => {
    const runtime = await withFiles("memory");
    await using agent = aiSdkTools(runtime, { runId: "chat-1" });
    for (const name of Object.keys(blocks)) {
      const tool = agent.settings.tools[name];
      const output = await tool?.execute({}, { toolCallId: name });
      expect(JSON.stringify(await tool?.toModelOutput({ output }))).toMatch(/csv|wav|scan|png/);
    }
    await runtime.close();
  });

  it("keep their image when the stored chat is loaded in another process", async () => {
    const store = `sqlite:${join(ownFolder(), "postern.db")}`;
    const first = await withFiles(store);
    await using before = aiSdkTools(first, { runId: "chat-1" });
    const output = await before.settings.tools["plot"]?.execute({}, { toolCallId: "c1", messages: [] });
    await first.close();
    const part = { type: "tool-plot", toolCallId: "c1", state: "output-available", input: {}, output } as const;
    const chat: UIMessage[] = JSON.parse(JSON.stringify([{ id: "m", role: "assistant", parts: [part] }]));
    const second = await withFiles(store);
    await using after = aiSdkTools(second, { runId: "chat-1" });
    const messages = await convertToModelMessages(chat, { tools: after.settings.tools });
    expect(JSON.stringify(messages)).toContain(png);
    await second.close();
  });
});
