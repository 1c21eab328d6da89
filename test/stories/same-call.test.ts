/** The table of docs/reference/calls.md: what an equal call gets, by the state of the earlier call and by how it is named. */
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  type CallContext,
  createRuntime,
  type Runtime,
  suspend,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import { type ProbeTool, probe } from "../fakes/probe.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const principal = { tenant: "default", agent: "a" };
const earlier: CallContext = { principal, runId: "r1", toolCallId: "call_0", turn: "t1" };
const columns: Readonly<Record<string, CallContext>> = {
  "same id, same turn": earlier,
  "other id, same turn": { ...earlier, toolCallId: "call_1" },
  "same id, later turn": { ...earlier, turn: "t2" },
  "other id, later turn": { ...earlier, toolCallId: "call_9", turn: "t2" },
  "no turn": { principal },
};
const hourMs = 3_600_000;

interface Stage {
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  readonly ran: string[];
  readonly ends: PromiseWithResolvers<unknown>;
}

const opened: Runtime[] = [];
afterAll(async () => {
  for (const runtime of opened) await runtime.close();
});

/** One tool: `act` runs `execute`, which learns how often it ran. */
async function stage(
  kind: (typeof storeKinds)[number],
  more: Partial<ProbeTool>,
  execute: (n: number) => unknown,
): Promise<Stage> {
  const ran: string[] = [];
  const ends = Promise.withResolvers<unknown>();
  const clock = new FakeClock();
  const tools = probe({
    ...{ name: "act", risk: "safe", effects: "write", idempotent: false },
    ...more,
    execute: (_input: unknown, context: { readonly frozen?: unknown }) => {
      ran.push(context.frozen === undefined ? "run" : "thawed");
      return execute(ran.length);
    },
  });
  const runtime = await createRuntime({ clock, store: newStore(kind), approvals: { patience: "suspend" } });
  for (const tool of tools) runtime.tools.register(tool as never);
  opened.push(runtime);
  return { runtime, clock, ran, ends };
}

const call = (stage: Stage, context: CallContext) => stage.runtime.invoke({ tool: "act" }, context);
const decide = ({ runtime }: Stage, { approvalId = "" }: ToolOutcome, decision: "approved" | "denied" | "skipped") =>
  runtime.approvals.decide(approvalId, { decision, by: { user: "grace" } });

/** In one or two words, what the later call got. */
async function got(stage: Stage, first: ToolOutcome, context: CallContext): Promise<string> {
  const runs = stage.ran.length;
  const outcome = await call(stage, context);
  const ran = stage.ran.length > runs;
  if (outcome.status === "pending") return outcome.approvalId === first.approvalId ? "joins" : "new request";
  if (outcome.replayed === true) {
    const isResult = outcome.status === "ok" || outcome.refusal?.code === "tool_failed";
    expect(outcome.notes?.[0] ?? "").toMatch(isResult ? /did not run again/ : /^$/);
    return "replays";
  }
  if (stage.ran.at(-1) === "thawed") return "continues";
  return ran ? "runs" : (outcome.refusal?.code ?? outcome.status);
}

const high = { risk: "high" } as const;

/** How the earlier call comes into its state, and what each column gives. */
const rows: readonly {
  readonly state: string;
  readonly tool?: Partial<ProbeTool>;
  readonly execute?: (n: number) => unknown;
  readonly bring: (stage: Stage) => Promise<ToolOutcome>;
  readonly gets: readonly [string, string, string, string];
}[] = [
  {
    ...{ state: "held, waiting", tool: high, gets: ["joins", "new request", "joins", "joins"] },
    bring: (stage) => call(stage, earlier),
  },
  {
    ...{ state: "held, approved, not used", tool: high, gets: ["runs", "new request", "runs", "runs"] },
    bring: async (stage) => {
      const asked = await call(stage, earlier);
      await decide(stage, asked, "approved");
      return asked;
    },
  },
  {
    ...{ state: "suspended", tool: { suspends: true }, gets: ["continues", "runs", "continues", "continues"] },
    execute: (n) => (n === 1 ? suspend("image", "apr_child") : "done"),
    bring: (stage) => call(stage, earlier),
  },
  ...(["denied", "skipped"] as const).map((decision) => ({
    ...{ state: decision, tool: high },
    gets: ["replays", "new request", "replays", "replays"] as const,
    bring: async (stage: Stage) => {
      const asked = await call(stage, earlier);
      await decide(stage, asked, decision);
      return asked;
    },
  })),
  {
    ...{ state: "approved and ok", tool: high, gets: ["replays", "new request", "new request", "replays"] },
    bring: approvedAndRun,
  },
  {
    ...{ state: "approved and ok, a read", tool: { risk: "high", effects: "read" } },
    ...{ gets: ["replays", "new request", "new request", "new request"], bring: approvedAndRun },
  },
  {
    ...{ state: "approved and ok, after the approval's lifetime", tool: high },
    gets: ["replays", "new request", "new request", "new request"],
    bring: async (stage) => {
      const asked = await approvedAndRun(stage);
      await stage.clock.advance(hourMs + 1);
      return asked;
    },
  },
  { ...{ state: "ok", gets: ["replays", "runs", "runs", "runs"] }, bring: (stage) => call(stage, earlier) },
  {
    ...{ state: "failed, final", gets: ["replays", "runs", "runs", "runs"] },
    execute: (n) => {
      if (n === 1) throw new Error("no");
      return "done";
    },
    bring: (stage) => call(stage, earlier),
  },
  {
    ...{ state: "failed, may be retried", gets: ["runs", "runs", "runs", "runs"] },
    execute: (n) => {
      if (n === 1) throw Object.assign(new Error("busy"), { retryable: true });
      return "done";
    },
    bring: (stage) => call(stage, earlier),
  },
  {
    ...{ state: "unknown, an effect" },
    gets: ["outcome_unknown", "outcome_unknown", "outcome_unknown", "outcome_unknown"],
    execute: lost,
    bring: (stage) => call(stage, earlier),
  },
];

async function approvedAndRun(stage: Stage): Promise<ToolOutcome> {
  const asked = await call(stage, earlier);
  await decide(stage, asked, "approved");
  expect((await call(stage, earlier)).status).toBe("ok");
  return asked;
}

function lost(): never {
  throw Object.assign(new Error("gone"), { unknown: true });
}

describe.each(storeKinds)("in %s, an equal call", (kind) => {
  const cells = rows.flatMap((row) =>
    Object.entries(columns).map(([column, context], at) => {
      const expected = row.gets[at < 2 ? at : at === 4 ? 3 : 2] ?? "";
      return { ...row, column, context, expected };
    }),
  );

  it.each(cells)(
    "$state; $column: $expected",
    async ({ tool = {}, execute = () => "done", bring, context, expected }) => {
      const made = await stage(kind, tool, execute);
      const first = await bring(made);
      expect(await got(made, first, context)).toBe(expected);
    },
  );

  it.each([
    ["an effect", false, ["in_progress", "runs", "in_progress", "in_progress", "in_progress"]],
    ["an idempotent one", true, ["in_progress", "runs", "runs", "runs", "runs"]],
  ] as const)("attempted, %s", async (_what, idempotent, gets) => {
    for (const [at, context] of Object.values(columns).entries()) {
      const made = await stage(kind, { idempotent }, (n) => (n === 1 ? made.ends.promise : "done"));
      const first = call(made, earlier);
      await expect.poll(() => made.ran.length).toBe(1);
      expect(await got(made, {} as ToolOutcome, context)).toBe(gets[at]);
      made.ends.resolve("done");
      expect((await first).status).toBe("ok");
    }
  });

  it("joins different requests when a later turn makes both equal calls again", async () => {
    const made = await stage(kind, high, () => "done");
    const asked = [await call(made, earlier), await call(made, { ...earlier, toolCallId: "call_1" })];
    const again = ["call_7", "call_8", "call_9"].map((toolCallId) =>
      call(made, { ...earlier, toolCallId, turn: "t2" }),
    );
    const ids = (await Promise.all(again)).map(({ approvalId }) => approvalId);
    expect(new Set(ids).size).toBe(3);
    expect(ids).toEqual(expect.arrayContaining(asked.map(({ approvalId }) => approvalId)));
    for (const first of asked) await decide(made, first, "approved");
    await Promise.all(["u", "v"].map((toolCallId) => call(made, { ...earlier, toolCallId, turn: "t3" })));
    expect(made.ran).toHaveLength(2);
  });

  it("finds its row again by the id and turn with which it joined", async () => {
    const made = await stage(kind, high, () => "done");
    const asked = await call(made, earlier);
    const joined = { ...earlier, toolCallId: "call_4", turn: "t2" };
    await call(made, joined);
    await decide(made, asked, "approved");
    expect((await call(made, earlier)).status).toBe("ok");
    expect(await call(made, joined)).toMatchObject({ status: "ok", replayed: true });
    expect(made.ran).toHaveLength(1);
  });

  it("has a request, a yes, a no and a result of its own in another stated run", async () => {
    const made = await stage(kind, high, () => "done");
    const other: CallContext = { ...earlier, runId: "r2" };
    const [one, two] = [await call(made, earlier), await call(made, other)];
    expect(two.approvalId).not.toBe(one.approvalId);
    await decide(made, one, "approved");
    expect(await got(made, two, other)).toBe("joins");
    await decide(made, two, "denied");
    expect(await got(made, one, earlier)).toBe("runs");
    expect(await got(made, two, { ...other, turn: "t2" })).toBe("replays");
  });

  it("does not run in another stated run while the outcome of an effect is unknown", async () => {
    const made = await stage(kind, {}, lost);
    await call(made, earlier);
    expect(await got(made, {} as ToolOutcome, { ...earlier, runId: "r2" })).toBe("outcome_unknown");
    const harmless = await stage(kind, { idempotent: true }, lost);
    await call(harmless, earlier);
    expect(await got(harmless, {} as ToolOutcome, { ...earlier, runId: "r2" })).toBe("runs");
  });

  it("without a stated run, waits across midnight and with an id of the model", async () => {
    const made = await stage(kind, { ...high, approvalTtlMs: 30 * hourMs }, () => "done");
    const context: CallContext = { principal, toolCallId: "call_0", turn: "t1" };
    const asked = await call(made, context);
    await made.clock.advance(26 * hourMs);
    expect(await got(made, asked, context)).toBe("joins");
    await decide(made, asked, "approved");
    expect(await got(made, asked, { ...context, turn: "t2" })).toBe("runs");
  });

  it("takes an id without a turn for a turn of its own", async () => {
    const made = await stage(kind, high, () => "done");
    const asked = await call(made, { principal, toolCallId: "x" });
    expect(await got(made, asked, { principal, toolCallId: "x" })).toBe("joins");
    expect(await got(made, asked, { principal, toolCallId: "y" })).toBe("joins");
    await expect(call(made, { principal, turn: "t1" })).rejects.toThrow("`toolCallId`");
  });
});

describe("the note of an approved call", () => {
  let made: Stage;
  beforeEach(async () => {
    made = await stage("memory", { ...high, input: { type: "object" } }, () => "sent");
  });

  it("says what a person changed, and why", async () => {
    const { approvalId = "" } = await call(made, earlier);
    const decision = { decision: "modified", arguments: { to: "bob" }, reason: "ann left; bob now" } as const;
    await made.runtime.approvals.decide(approvalId, { ...decision, by: { user: "grace" } });
    const outcome = await call(made, earlier);
    const note = 'A person (grace) changed the arguments to {"to":"bob"} before it ran. Reason: ann left; bob now.';
    expect(outcome).toMatchObject({ status: "ok", text: "sent", notes: [note] });
  });

  it("says the reason of a yes, and nothing when there is none", async () => {
    const first = await call(made, earlier);
    await made.runtime.approvals.decide(first.approvalId ?? "", {
      ...{ decision: "approved", reason: "Only today!", by: { user: "grace" } },
    });
    const later = { ...earlier, turn: "t2" };
    expect((await call(made, later)).notes).toEqual(["A person (grace) approved this call. Reason: Only today!"]);
    const second = await call(made, { ...earlier, turn: "t3" });
    await decide(made, second, "approved");
    expect((await call(made, { ...earlier, turn: "t4" })).notes).toBeUndefined();
  });
});
