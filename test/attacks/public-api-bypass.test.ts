/** Nothing that can be reached from a runtime runs a tool except through the gates. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { defineSkill } from "../../packages/postern/src/builtin/index.ts";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { Changing, read } from "../fakes/changing.ts";
import { asker } from "../fakes/runtime-fixture.ts";

const bodies = ["execute", "preview", "reconcile", "classifyRisk", "parse", "carryOut", "handleCall"];
const lists =
  /^(?:all|names|offer|offered|offers|visible|get|find|has|list|by|schemas|deferred|toJSON|health|describe)/;

const ran = vi.fn();
const own = {
  execute: () => ran("execute"),
  preview: async () => ran("preview") ?? { summary: "shown" },
  reconcile: async () => ran("reconcile") ?? { found: "unknown" as const },
  classifyRisk: () => ran("classifyRisk") ?? {},
};
const mail = defineTool({
  name: "mail",
  description: "Sends a mail.",
  risk: "high",
  effects: "write",
  idempotent: false,
  input: { type: "object", properties: { to: { type: "string" } } },
  outputSchema: { type: "object" },
  ...own,
});

let runtime: Runtime;
let server: Changing;
beforeEach(async () => {
  server = new Changing(read);
  const kept = { name: "letters", description: "Writes letters.", instructions: "Be kind." };
  runtime = await createRuntime({
    tools: [mail],
    servers: { files: server.config({}) },
    skills: { folders: [], skills: [defineSkill(kept)] },
    chains: {},
  });
});
afterEach(async () => {
  await runtime.close();
  server[Symbol.dispose]();
  ran.mockClear();
});

/** Returns every member, including those of the prototypes and the values of getters. */
function membersOf(value: object): readonly (readonly [string, unknown])[] {
  const members: (readonly [string, unknown])[] = [];
  for (let at: object | null = value; at !== null && !isOfTheLanguage(at); at = Object.getPrototypeOf(at))
    for (const key of Reflect.ownKeys(at)) {
      if (key === "constructor") continue;
      try {
        members.push([String(key), Reflect.get(at, key, value)]);
      } catch {
        // a getter that throws reveals nothing
      }
    }
  if (value instanceof Map || value instanceof Set) members.push(["values", [...value.values()]]);
  return members;
}

/** The members that every object, list or map has. */
function isOfTheLanguage(prototype: object): boolean {
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof maker === "function" && Function.prototype.toString.call(maker).includes("[native code]");
}

interface Seen {
  readonly objects: Set<unknown>;
  readonly functions: Map<string, unknown>;
}

async function walk(path: string, value: unknown, seen: Seen): Promise<void> {
  if (typeof value === "function") seen.functions.set(path, value);
  if (typeof value !== "object" || value === null || seen.objects.has(value)) return;
  seen.objects.add(value);
  for (const [name, member] of membersOf(value)) {
    await walk(`${path}.${name}`, member, seen);
    if (typeof member !== "function" || !lists.test(name)) continue;
    for (const given of [[], ["mail"], ["mail", "default"], ["safe"]]) {
      const listed: unknown = await Promise.resolve()
        .then(() => Reflect.apply(member, value, given))
        .catch(() => undefined);
      await walk(`${path}.${name}()`, listed, seen);
    }
  }
}

it("the public API reaches no function of a tool", async () => {
  const seen: Seen = { objects: new Set(), functions: new Map() };
  await walk("runtime", runtime, seen);
  expect(seen.functions.size).toBeGreaterThan(100); // it was walked
  expect([...seen.functions.keys()]).toContain("runtime.tools.offers");
  const named = [...seen.functions.keys()].filter((path) => bodies.includes(path.split(".").at(-1) ?? ""));
  expect(named).toEqual(["runtime.ledger.reconcile"]); // by a call's id: an operator's verb, and recorded
  const listed = [...seen.functions.keys()].filter((path) => /tools\.\w+\(\)|offered\(\)|visible\(\)/.test(path));
  expect(listed).toEqual([]);
  const theirs = new Set<unknown>(Object.values(own));
  expect([...seen.functions.values()].filter((one) => theirs.has(one))).toEqual([]);
  expect(ran.mock.calls).toEqual([]);
});

it("offers the data that servers and agent loops need, frozen, also for upstream tools", () => {
  const offers = runtime.offered(asker.principal);
  expect(offers.map(({ tool }) => tool)).toEqual(expect.arrayContaining(["mail", "files__read", "tool_chain"]));
  expect(offers.find(({ tool }) => tool === "mail")).toMatchObject({
    ...{ name: "default", description: "Sends a mail.", idempotent: false, previews: true },
    inputSchema: { type: "object" },
    outputSchema: { type: "object" },
    facts: { risk: "high", effects: "write" },
    definition: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  for (const offer of offers) {
    expect([offer.tool, thawedIn(offer)]).toEqual([offer.tool, []]);
    expect(() => structuredClone(offer)).not.toThrow(); // data, and nothing else
  }
});

/** Returns the paths at which an offer is not frozen. The gates read it, so it must be. */
function thawedIn(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, member]) => thawedIn(member, `${path}.${name}`));
  return Object.isFrozen(value) ? inner : [path, ...inner];
}
