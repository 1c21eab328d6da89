/** An agent, people in two tabs and the clock act on requests in random order; the test checks the end state. */
import { expect, it } from "vitest";
import { canonical } from "../../../packages/core/src/json.ts";
import { sha256 } from "../../../packages/core/src/system/digest.ts";
import { type Decider, shownDigest } from "../../../packages/postern/src/approvals/index.ts";
import type { AuditEvent } from "../../../packages/postern/src/audit/index.ts";
import type { JsonObject } from "../../../packages/postern/src/index.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const people = ["ann", "bob", "cal", "dan"] as const;
const agent = { principal: { tenant: "default", agent: "a", via: "token:agent" }, runId: "one" } as const;
const ends = /^gate\.(?:approved|modified|denied|skipped|expired)$/;
const yeses = /^gate\.(?:approved|modified)$/;
const states = ["pending", "approved", "denied", "skipped", "expired", "withdrawn", "used"] as const;

/** Returns the same random numbers for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = (seed * 7919 + 13) >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

interface Stage {
  readonly h: RuntimeFixture;
  readonly ran: JsonObject[];
  readonly quorum: number;
  /** Registers a new definition of the tool. */
  define(): Promise<void>;
}

async function stage(roll: (sides: number) => number): Promise<Stage> {
  const ran: JsonObject[] = [];
  let version = 0;
  const pay = () => ({
    ...({ name: "pay", description: `Pays, ${version}.`, risk: "high", effects: "write", idempotent: false } as const),
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const,
    preview: async (given: unknown) => ({ summary: `pays ${JSON.stringify(given)}` }),
    execute: async (given: unknown) => {
      ran.push(given as JsonObject); // the schema says so
      const failed = { content: [], text: "later", isError: true, retryable: true };
      return Number(Object(given).n) % 5 === 4 ? (failed as never) : "paid";
    },
  });
  const quorum = 1 + roll(2);
  const approvals = { patience: "suspend", ttlMs: 10_000, routes: [{ quorum }] } as const;
  const h = await runtimeFixture({ approvals, accounts: { passwordCost: cheap } }, [pay()]);
  for (const name of people) await h.runtime.accounts.add({ name, roles: ["approver"] }, holder);
  const define = async (): Promise<void> => {
    version += 1;
    h.runtime.tools.register(pay() as never, { replace: true });
    await h.runtime.tools.ready();
  };
  return { h, ran, quorum, define };
}

/** Makes one random act. */
async function act({ h, define }: Stage, ids: string[], roll: (sides: number) => number): Promise<void> {
  const { approvals, accounts } = h.runtime;
  const user = people[roll(4)] ?? "ann";
  const by: Decider = { user, via: `session:${user}`, tenant: "default", roles: ["approver"], signedIn: true };
  const [kind, id = ""] = [roll(14), ids[roll(ids.length)]];
  const record = id === "" ? undefined : await approvals.get(id);
  const seen = record !== undefined && roll(3) > 0 ? { expectedDigest: shownDigest(record) } : {};
  if (kind < 3 || record === undefined) {
    const n = roll(6);
    const context = roll(2) === 0 ? agent : { ...agent, idempotencyKey: `k${n}` };
    const { approvalId } = await h.runtime.invoke({ tool: "pay", arguments: { n } }, context);
    if (approvalId !== undefined && !ids.includes(approvalId)) ids.push(approvalId);
  } else if (kind < 6) {
    const remember = { for: "run", reason: "few", scope: { arguments: { "$.n": { atMost: 2 } } } } as const;
    await approvals.decide(id, { decision: "approved", by, ...seen, ...(roll(3) === 0 && { remember }) });
  } else if (kind < 7) await approvals.decide(id, { decision: roll(2) === 0 ? "denied" : "skipped", by, ...seen });
  else if (kind < 9) await approvals.decide(id, { decision: "modified", arguments: { n: 10 + roll(4) }, by, ...seen });
  else if (kind < 11) await h.runtime.resume(id);
  else if (kind === 11) await h.clock.advance(roll(2) === 0 ? 1_000 : 10_000);
  else if (kind === 12) await accounts.change(user, { disabled: roll(2) === 0 }, holder);
  else if (roll(3) === 0) await define();
  else await (roll(2) === 0 ? approvals.revoke(id, by) : approvals.withdraw(id, by));
}

/** Each run has enough votes or a grant; each request has one end; the lists show the true state. */
async function check({ h, ran, quorum }: Stage, ids: readonly string[]): Promise<void> {
  const { approvals, audit } = h.runtime;
  const events = await audit.query({ limit: 10_000 });
  const of = (id: string | undefined, type: RegExp): readonly AuditEvent[] =>
    events.filter((event) => event.refs.approval === id && type.test(event.type));
  const attempts = events.filter(({ type }) => type === "tool_call.attempted");
  expect(attempts.map((one) => one.request_hash).sort()).toEqual(ran.map((one) => sha256(canonical(one))).sort());
  const asked = attempts.filter(({ refs }) => refs.grant === undefined);
  expect(new Set(asked.map(({ refs }) => refs.approval)).size).toBe(asked.length); // each yes is used once
  for (const { refs, request_hash } of asked) {
    const [yes] = of(refs.approval, yeses);
    const { approved_hash: approved = yes?.request_hash } = Object(yes?.data);
    expect(approved).toBe(request_hash);
    const record = await approvals.get(refs.approval ?? "");
    const votes = record?.votes?.filter(({ as }) => as === "approved") ?? [];
    expect(new Set(votes.map(({ by }) => by)).size).toBeGreaterThanOrEqual(quorum);
    expect(record?.state).toBe("used");
  }
  const grants = approvals.grants.list();
  expect(events.filter(({ type }) => type === "grant.made")).toHaveLength(grants.length);
  for (const { approvalId } of grants) expect(of(approvalId, yeses)).toHaveLength(1);
  for (const id of ids) expect(of(id, ends).length).toBeLessThanOrEqual(1);
  const listed = (await Promise.all(states.map((state) => approvals.list({ state })))).flat();
  expect(listed.map(({ id }) => id).sort()).toEqual((await approvals.list()).map(({ id }) => id).sort());
  for (const { id, state } of listed) expect((await approvals.get(id))?.state).toBe(state);
  expect(events.filter(({ code }) => code === "internal")).toEqual([]);
}

it.each(Array.from({ length: 60 }, (_, seed) => seed))(
  "only what people approved runs, as often as they approved it, in any order of acts (%i)",
  async (seed) => {
    const roll = dice(seed);
    const set = await stage(roll);
    await using _ = set.h;
    const ids: string[] = [];
    for (let acts = 0; acts < 40; acts += 1) {
      const atOnce = roll(3) === 0 ? 3 : 1;
      await Promise.all(Array.from({ length: atOnce }, () => act(set, ids, roll)));
    }
    await check(set, ids);
  },
);
