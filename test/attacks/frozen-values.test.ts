/** Whatever crosses a boundary is frozen or a copy: writing to it changes neither what runs nor what is kept. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { settled } from "../../packages/core/src/testing/clock.ts";
import {
  type CallEvent,
  createRuntime,
  defineTool,
  type Runtime,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import type { Guardrail } from "../../packages/postern/src/policy/index.ts";
import { ask as askMail, remember, statusOf } from "../fakes/granting.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { type ProbeTool, posting } from "../fakes/probe.ts";
import { runtimeFixture } from "../fakes/runtime-fixture.ts";

const folder = ownFolder();
let files = 0;
const stores = ["memory", "sqlite:FILE"] as const;
const asker = { principal: { tenant: "default", agent: "a", user: "ann" }, scopes: ["mail:send"] } as const;
const boss = { user: "boss", via: "token:operator" } as const;
const post = { tool: "post", arguments: { body: "hello", list: [{ to: "bob" }] } };

/** Sets, adds and removes members of everything in it, as a hostile or careless receiver does. */
function vandalise(value: unknown, seen: Set<unknown> = new Set()): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  for (const inner of Object.values(value)) vandalise(inner, seen);
  const changes: Record<string, unknown> = {
    ...{ state: "approved", body: "evil", to: "eve", agent: "root", text: "evil", retryable: true },
    ...{ arguments: { body: "evil" }, scopes: ["*"], status: "ok", expiresAt: 9e15, added: true },
  };
  for (const [name, to] of Object.entries(changes)) {
    if (Array.isArray(value)) Reflect.set(value, 0, "evil");
    else if (name in value || name === "added") Reflect.set(value, name, to);
  }
}

interface Scene extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly ran: unknown[];
}

async function scene(store: string, more: Partial<ProbeTool> = {}, options: object = {}): Promise<Scene> {
  files += 1;
  const ran: unknown[] = [];
  const execute = (given: unknown): string => {
    ran.push(structuredClone(given));
    return "posted";
  };
  const runtime = await createRuntime({
    tools: posting([], { execute, ...more }).map((tool) => defineTool(tool)),
    store: store.replace("FILE", join(folder, `${files}.db`)),
    approvals: { patience: "suspend" },
    log: () => {},
    ...options,
  });
  return { runtime, ran, [Symbol.asyncDispose]: () => runtime.close() };
}

const ask = async ({ runtime }: Scene): Promise<string> => (await runtime.invoke(post, asker)).approvalId ?? "";

describe.each(stores)("in %s", (store) => {
  it("writing to a request approves nothing", async () => {
    await using s = await scene(store);
    const id = await ask(s);
    const { runtime } = s;
    vandalise(await runtime.approvals.get(id));
    vandalise(await runtime.approvals.list({}));
    vandalise(await runtime.approvals.page({ state: "pending" }));
    expect(await runtime.resume(id)).toMatchObject({ status: "pending" });
    expect(await runtime.approvals.get(id)).toMatchObject({ state: "pending", arguments: post.arguments });
    expect(s.ran).toEqual([]);
  });

  it("writing to a decision's answer changes nothing of what runs", async () => {
    await using s = await scene(store);
    const id = await ask(s);
    const arguments_ = { body: "edited", list: [{ to: "bob" }] };
    const by = { user: "boss", via: "token:operator", roles: ["approver"] };
    const decided = await s.runtime.approvals.decide(id, { decision: "modified", arguments: arguments_, by });
    vandalise(decided);
    vandalise([arguments_, by]);
    expect((await s.runtime.resume(id))?.status).toBe("ok");
    expect(s.ran).toEqual([{ body: "edited", list: [{ to: "bob" }] }]);
  });

  it("writing to a recorded call changes neither it nor whether it runs", async () => {
    await using s = await scene(store);
    const id = await ask(s);
    const [held] = await s.runtime.calls.list({});
    vandalise([held, await s.runtime.calls.list({}), await s.runtime.calls.get(held?.key ?? "")]);
    expect(await s.runtime.resume(id)).toMatchObject({ status: "pending" });
    const now = await s.runtime.calls.get(held?.key ?? "");
    expect(now).toMatchObject({ state: "held", retryable: false, call: { arguments: post.arguments } });
    expect(now?.call.authority).toMatchObject({ principal: asker.principal, scopes: asker.scopes });
    await s.runtime.approvals.decide(id, { decision: "approved", by: boss });
    await s.runtime.resume(id);
    expect(s.ran).toEqual([post.arguments]);
  });

  it("a receiver of an outcome changes no replay", async () => {
    const answer = { structured: { n: [1, 2] } };
    await using s = await scene(store, { execute: () => answer, risk: "safe" });
    const keyed = { ...asker, idempotencyKey: "k" };
    const outcomes: ToolOutcome[] = [];
    for (let n = 0; n < 3; n += 1) {
      outcomes.push(structuredClone(await s.runtime.invoke(post, keyed)));
      vandalise(await s.runtime.invoke(post, keyed));
    }
    for (const { status, structured, text } of outcomes)
      expect({ status, structured, text }).toEqual({ status: "ok", structured: { n: [1, 2] }, text: '{"n":[1,2]}' });
    answer.structured.n.push(3); // the tool's own object stays its own
    expect((await s.runtime.invoke(post, keyed)).structured).toEqual({ n: [1, 2] });
  });

  it("a watcher changes nothing that runs, of any moment, nor what other watchers get", async () => {
    const told: string[] = [];
    await using s = await scene(store, { risk: "safe" });
    const first = s.runtime.watch((event) => vandalise(event));
    const second = s.runtime.watch((event: CallEvent) => {
      if (event.moment !== "noted") told.push(`${event.moment} ${JSON.stringify(event.call.arguments)}`);
    });
    const outcome = await s.runtime.invoke(post, { ...asker, onProgress: (progress) => vandalise(progress) });
    await settled();
    for (const watching of [first, second]) watching[Symbol.dispose]();
    expect(outcome).toMatchObject({ status: "ok", text: "posted" });
    expect(s.ran).toEqual([post.arguments]);
    const text = JSON.stringify(post.arguments);
    expect(told).toEqual(["arrived", "attempted", "ended", "left"].map((moment) => `${moment} ${text}`));
    expect(await s.runtime.calls.list({})).toMatchObject([{ call: { arguments: post.arguments }, outcome }]);
  });

  it("a tool's own looks change nothing that is shown, approved or run", async () => {
    const look = (given: unknown): void => vandalise(given);
    const guard: Guardrail = {
      ...{ name: "careless", on: "arguments" },
      check: (call: unknown) => {
        look(call);
        return [];
      },
    };
    await using s = await scene(
      store,
      {
        preview: async (given, context) => {
          look(given);
          look([context.principal, context.grantedScopes]);
          return { summary: "posts" };
        },
        classifyRisk: (given) => {
          look(given);
          return "high";
        },
      },
      { guardrails: [guard], approvals: { patience: "wait", approver: approving } },
    );
    expect((await s.runtime.invoke(post, asker)).status).toBe("ok");
    expect(s.ran).toEqual([post.arguments]);
    const [approval] = await s.runtime.approvals.list({});
    expect(approval).toMatchObject({ arguments: post.arguments, principal: asker.principal, risk: "high" });
  });

  it.each([
    ["a JSON Schema", { type: "object" }],
    ["zod, which passes what it does not know", z.object({ body: z.string(), list: z.unknown() })],
  ])("a tool with %s may change its arguments, and no record does", async (_, input) => {
    const execute = (given: unknown): string => {
      vandalise(given);
      return JSON.stringify(given);
    };
    await using s = await scene(store, { risk: "safe", input, execute });
    const outcome = await s.runtime.invoke(post, asker);
    expect(JSON.parse(outcome.text)).toMatchObject({ body: "evil" });
    expect(await s.runtime.calls.list({})).toMatchObject([{ call: { arguments: post.arguments } }]);
  });

  it("writing to the switches switches no tool on", async () => {
    await using s = await scene(store, { risk: "safe" });
    await s.runtime.controls.setTool("post", false, { by: "boss", via: "token:operator" });
    vandalise(s.runtime.controls.state);
    Reflect.set(s.runtime.controls.state.offTools, "length", 0);
    expect((await s.runtime.invoke(post, asker)).refusal?.code).toBe("tool_unavailable");
  });
});

it("writing to a grant changes neither it nor what it answers", async () => {
  await using h = await runtimeFixture({ store: "memory" });
  await remember(h, await askMail(h));
  const { grants } = h.runtime.approvals;
  const before = structuredClone(grants.list());
  vandalise(grants.list());
  vandalise(grants.get(before[0]?.id ?? ""));
  expect(grants.list()).toEqual(before);
  expect(await statusOf(h, "y")).toBe("ok");
});

const approving = {
  name: "careless",
  ask: async (approval: object) => {
    vandalise(approval);
    return { decision: "approved", by: "boss" } as const;
  },
};
