import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RuntimeFault, type RuntimeSession } from "../../packages/postern/src/index.ts";
import { actor } from "../fakes/actors.ts";
import { runsFolder } from "../fakes/run-folder.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

/**
 * Calls every function of the public API with nonsense. A new function must get its nonsense here, or the reason why it
 * has none; the test compares the list with the API.
 */
const by = actor("operator");
const run = { runId: "run_1" };
const noObject = [[5], [null], ["x"], [Number.NaN]] as const;
const noId = [[5], [null], [undefined], [{}]] as const;
const filters = [
  ...noObject,
  [{ nonsense: 1 }],
  [{ limit: -1 }],
  [{ limit: 1.5 }],
  [{ limit: Number.NaN }],
  [{ limit: "9" }],
] as const;
const echo = { tool: "echo", arguments: { to: "x" } };
const me = { tenant: "default", agent: "a" };
const nobody = [5, null, undefined, "anna", {}, { tenant: 5, agent: "a" }] as const;
const digest = "0".repeat(64);
const uses = [...[5, null, undefined, {}].map((odd) => [odd, me]), ...nobody.map((who) => [digest, who])];
const ignore = (): void => {};
const reader = { take: () => true, reset: ignore, beat: ignore, end: ignore };
const feedOfNobody = { tenant: "t", also: "nothing" };

type Nonsense = readonly (readonly unknown[])[];
const lookUp = "a look-up: what is no name is nobody's";
const path = "of the path of a call: nobody outside has what it is handed";
const ofTheHouse = "of the runtime itself";
const nothing = "is told nothing";
const apart = "has a test of its own: bad-options.test.ts, test/attacks/approvals and accounts";

const verbs: Readonly<Record<string, Nonsense | string>> = {
  invoke: [[5], [null], [{}, null], [{}, 5]],
  call: "refused as an unknown tool, with the value: bad-options.test.ts",
  resume: noId,
  explain: [[5], [null], [{}, 5]],
  runChain: "its script is the arguments of a call, refused as such",
  openSession: [...noObject, [{ nonsense: 1 }], [{ maxToolCalls: -1 }], [{}, 5]],
  offered: [[5], [null], [{ tenant: 5, agent: "a" }], [undefined, 5], [undefined, undefined, 5]],
  watch: [...noObject, [{}], [undefined]],
  note: [[5], [null, "x"], ["own.word", 5], ["own.word", "x", null], ["own.word", "x", { by: 5 }]],
  health: nothing,
  checkHealth: nothing,
  reconnectServer: noId,
  close: [[Number.NaN], [-1], ["x"], [null], [{}]],
  drain: [[Number.NaN], [-1], ["x"], [null], [{}]],
  statistics: [[5], ["x"], [{ from: "x" }], [{ from: 5, to: 1 }], [{ every: "week" }], [{ nonsense: 1 }]],
  "calls.list": [...filters, [{ state: "x" }]],
  "calls.get": noId,
  "ledger.settle": [
    [5, "failed", "x", by],
    ["id", "x", "x", by],
    ["id", "failed", 5, by],
    ["id", "failed", "x", 5],
  ],
  "ledger.reconcile": noId,
  "audit.start": ofTheHouse,
  "audit.head": nothing,
  "audit.checkpoint": nothing,
  "audit.verify": noObject.filter(([note]) => note !== "x"),
  "audit.query": filters,
  "audit.latest": filters,
  "audit.prove": lookUp,
  "audit.export": nothing,
  "pins.approve": [[5], [null, null], [{}, 5]],
  "controls.pause": [[5], [null], [{}], [by, 5]],
  "controls.resume": [[5], [null], [{}]],
  "controls.pauseOne": [
    [{ kind: "agent", name: "a" }, 5],
    [null, by],
    [{ kind: "team", name: "a" }, by],
    [{ kind: "run", name: "a b" }, by],
  ],
  "controls.resumeOne": [
    [{ kind: "agent", name: "a" }, null],
    [{}, by],
  ],
  "controls.setAutonomy": [
    ["A9", by],
    [5, by],
    ["A1", 5],
  ],
  "controls.setTool": [
    [5, true, by],
    ["echo", 5, by],
    ["echo", true, 5],
  ],
  "controls.setServer": [
    [5, true, by],
    ["one", 5, by],
    ["one", true, 5],
  ],
  "controls.history": nothing,
  "policy.effective": [...noObject, [{ nonsense: 1 }], [{ principal: 5 }], [{ runId: 5 }], [{ autonomy: "A9" }]],
  "policy.warnings": noObject,
  "policy.compare": noObject,
  "policy.replace": [...noObject, [{}, 5], [{ nonsense: 1 }, by], [{ policy: 5 }, by], [{ policy: {} }, {}]],
  "policy.explainCall": noId,
  "policy.simulate": [...noObject, [{}, 5], [{}, { nonsense: 1 }], [{}, { limit: -1 }], [{}, { limit: Number.NaN }]],
  "policy.test": [...noObject, [{}, 5], [{}, [5]], [{}, null]],
  "skills.activate": [
    [5, "polite"],
    [null, "polite"],
    [{ tenant: "default" }, "polite"],
    [{ tenant: 5, runId: "r" }, 5],
  ],
  "skills.activateByAgent": [
    [5, "polite"],
    [null, "polite"],
    [{ tenant: "default" }, "polite"],
    [{ tenant: 5, runId: "r" }, 5],
  ],
  "skills.deactivate": [
    [5, "polite"],
    [null, "polite"],
    [{ tenant: "default", runId: "r" }, 5],
  ],
  "skills.active": noObject,
  "skills.instructions": noObject,
  "skills.requests": noObject,
  "skills.load": noId,
  "skills.read": [
    [5, "x"],
    [null, "x"],
  ],
  "skills.list": nothing,
  "skills.roster": nothing,
  "skills.find": lookUp,
  "skills.activeFor": path,
  "skills.activeWith": [
    [5, ["polite"]],
    [{ tenant: "default", runId: "r" }, 5],
  ],
  "skills.unknownTools": path,
  "runs.begin": [
    ...noObject,
    [{}],
    [{ runId: "a/b" }],
    [run, 5],
    [run, null],
    [run, { nonsense: 1 }],
    [run, { task: 5 }],
    [run, { prompt: 5 }],
    [run, { deliverables: "x" }],
    [run, { by: 5 }],
    [run, { principal: 5 }],
  ],
  "runs.describe": [
    ...noObject,
    [run],
    [run, 5],
    [run, { deliverable: ["x"] }],
    [run, { transcript: {} }],
    [run, { by: {} }],
  ],
  "runs.finish": [...noObject, [run, 5], [run, { state: "over" }], [run, { reason: 5 }], [run, { by: { by: "ann" } }]],
  "runs.list": filters,
  "runs.page": [...filters, [{ after: 5 }], [{ after: "x" }], [{ after: "live@x@r" }]],
  "runs.get": [...noObject, [{}], [{ runId: "a/b" }], [{ runId: "r", tenant: 5 }]],
  "runs.events": [...noObject, ...filters.map(([where]) => [run, where])],
  "runs.calls": [...noObject, [run, -1], [run, Number.NaN], [run, "9"], [run, null]],
  "runs.flush": nothing,
  "chains.warm": nothing,
  "chains.engines": nothing,
  "chains.list": filters,
  "chains.resume": noId,
  "chains.described": path,
  "chains.stop": ofTheHouse,
  "alarms.list": [...filters, [{ state: "x" }]],
  "alarms.page": [...filters, [{ after: 5 }], [{ after: "x" }], [{ after: "open@1" }]],
  "alarms.get": noId,
  "alarms.acknowledge": [
    ["alm_1", 5],
    ["alm_1", {}],
  ],
  "alarms.resolve": [
    ["alm_1", 5],
    ["alm_1", {}],
  ],
  "alarms.isRaised": ofTheHouse,
  "alarms.raise": ofTheHouse,
  "alarms.settle": ofTheHouse,
  "session.invoke": [[5], [null], [echo, 5], [echo, null], [echo, { scopes: 5 }], [echo, { deadline: "x" }]],
  "session.invokeAll": [...noObject, [[5]], [[echo, null]], [[echo], 5], [[echo], null], [[echo], { patience: 5 }]],
  "session.explain": [[5], [null], [echo, 5], [echo, null], [echo, { scopes: 5 }]],
  "session.openSession": [...noObject, [{ nonsense: 1 }], [{ maxToolCalls: -1 }], [{}, 5], [{}, { tools: 5 }]],
  "session.close": nothing,
  "session.spend": nothing,
  "approvals.*": apart,
  "accounts.*": apart,
  "tools.*": "a registry of its own, with tests of its own: test/attacks/bad-tools.test.ts",
  readArtifact: uses,
  "artifacts.put": [
    ...[5, null, undefined, "text", {}].map((bytes) => [bytes, "text/plain", me]),
    [Buffer.from("x"), 5, me],
    ...nobody.map((owner) => [Buffer.from("x"), "text/plain", owner]),
  ],
  "artifacts.putStream": [5, null, undefined, "text", {}].map((chunks) => [chunks, "text/plain", me]),
  "artifacts.judge": [...uses, ...[5, null, undefined].map((judgement) => [digest, me, judgement])],
  "artifacts.mayUse": uses,
  "artifacts.meta": uses,
  "artifacts.open": uses,
  "artifacts.openStream": uses,
  "artifacts.release": uses,
  "artifacts.pin": noId,
  "artifacts.unpin": noId,
  "artifacts.sweep": [[5], [null], [undefined]],
  "pins.changes": lookUp,
  "pins.list": lookUp,
  "pins.get": lookUp,
  "pins.trusts": ofTheHouse,
  "pins.read": ofTheHouse,
  "pins.follow": ofTheHouse,
  "pins.recordSeen": ofTheHouse,
  "feed.open": [
    ...noObject,
    ...[{}, { tenant: 5, also: "nothing" }, { tenant: "t", also: "all" }].map((filter) => [filter, undefined, reader]),
    ...[{ types: "gate." }, { types: [5] }, { principal: 5 }, { nonsense: 1 }].map((more) => [
      { tenant: "t", also: "nothing", ...more },
      undefined,
      reader,
    ]),
    ...[5, null, {}].map((after) => [feedOfNobody, after, reader]),
    ...[5, null, undefined, {}, { ...reader, take: 5 }].map((one) => [feedOfNobody, undefined, one]),
  ],
  "channels.list": nothing,
  "channels.test": lookUp,
  "channels.retry": lookUp,
  "channels.receive": "of the doors: test/attacks/channels",
  "channels.receiveFromSlack": "of the doors: test/stories/slack-thread.test.ts",
  "channels.urgent": ofTheHouse,
};

const members = [
  "calls",
  "ledger",
  "audit",
  "tools",
  "pins",
  "artifacts",
  "controls",
  "accounts",
  "policy",
  "skills",
  "runs",
  "chains",
  "feed",
  "alarms",
  "channels",
  "approvals",
] as const;

let h: RuntimeFixture;
let session: RuntimeSession;
beforeAll(async () => {
  const folder = runsFolder();
  h = await runtimeFixture({
    archive: { folder: join(folder, "runs") },
    skills: { folders: [] },
    chains: {},
    channels: {},
  });
  await h.runtime.runs?.begin(run);
  session = h.runtime.openSession();
});
afterAll(() => h.runtime.close());

function functionsOf(holder: object): readonly string[] {
  const names = new Set<string>();
  for (let at = holder; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === "function" && name !== "constructor") names.add(name);
  return [...names];
}

/** The objects of the runtime, by name. */
function held(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(members.map((member) => [member, h.runtime[member]]));
}

/** Returns the fault of a call with these arguments, or what the call did instead. */
async function faultOf(verb: string, given: readonly unknown[]): Promise<unknown> {
  const [member = "", name] = verb.split(".");
  const at: unknown = name === undefined ? h.runtime : Reflect.get({ ...held(), session }, member);
  try {
    const answer: unknown = await Reflect.apply(Reflect.get(Object(at), name ?? member), at, given);
    return `answered ${JSON.stringify(answer)}`;
  } catch (error) {
    return error instanceof RuntimeFault ? error : `threw ${String(error)}`;
  }
}

describe("every function of the public API", () => {
  it("is listed here, and nothing else is", () => {
    const own = functionsOf(h.runtime);
    const inside = Object.entries({ ...held(), session }).flatMap(([member, holder]) => {
      if (typeof holder !== "object" || holder === null) throw new Error(`the runtime has no ${member}`);
      return functionsOf(holder).map((name) => `${member}.${name}`);
    });
    const isListed = (verb: string): boolean =>
      Object.hasOwn(verbs, verb) || Object.hasOwn(verbs, verb.replace(/\..*/, ".*"));
    expect([...own, ...inside].filter((verb) => !isListed(verb))).toEqual([]);
    const there = new Set([...own, ...inside, ...members.map((member) => `${member}.*`)]);
    expect(Object.keys(verbs).filter((verb) => !there.has(verb))).toEqual([]);
  });

  const nonsense = Object.entries(verbs).filter((entry): entry is [string, Nonsense] => typeof entry[1] !== "string");
  it.each(nonsense)("%s names the input it cannot accept, and the next call works", async (verb, lists) => {
    for (const given of lists) {
      const fault = await faultOf(verb, given);
      expect(fault, `${verb}(${JSON.stringify(given)})`).toBeInstanceOf(RuntimeFault);
      expect((fault as RuntimeFault).message, `${verb}(${JSON.stringify(given)})`).toMatch(/[.!]$/); // a fault was just seen
    }
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: verb } })).status).toBe("ok");
  });
});
