import type { StoreWrite } from "../../../packages/core/src/records.ts";
import type { FakeClock } from "../../../packages/core/src/testing/clock.ts";
import type { CallContext, CallRequest, Limits, RuntimeOptions } from "../../../packages/postern/src/index.ts";
import type { ClaimedCall } from "../../../packages/postern/src/pipeline/gates/stages.ts";
import type { Decision, Policy } from "../../../packages/postern/src/policy/index.ts";
import type { Failing } from "../../fakes/faulty-store.ts";
import { type ProbeTool, probe } from "../../fakes/probe.ts";
import { asker, boss, type RuntimeFixture, type runtimeFixture } from "../../fakes/runtime-fixture.ts";

/** The gates come from the type of a claimed call, so a new gate without a row does not compile. */
export type Gate = keyof ClaimedCall[Extract<keyof ClaimedCall, symbol>];
export type Step =
  | Exclude<Gate, "approval">
  | `${Extract<Gate, "approval">}: ${"preview" | "ask" | "wait" | "decided"}`
  | "execute"
  | "shape"
  | "settle";
export type Way = "throw" | "timeout" | "cancel" | "deny" | "malformed" | "storage";

/** An injected failure, or a text that says why it cannot happen. */
export interface Fault {
  readonly options?: RuntimeOptions;
  readonly tools?: NonNullable<Parameters<typeof runtimeFixture>[1]>;
  readonly limits?: Partial<Limits>;
  readonly context?: CallContext;
  readonly call?: CallRequest;
  /** Runs before the call, then beside it while it runs. */
  readonly before?: (scene: Scene) => unknown;
  readonly during?: (scene: Scene) => unknown;
  /** Milliseconds that pass while the call runs. */
  readonly passes?: number;
  /** How the call ends: a refusal's code, or a status. `thrown: CODE` if the caller's cancellation is rethrown. */
  readonly ends: string;
  /** The log cannot be written, so the call has no final event. */
  readonly unlogged?: true;
  readonly ran?: number;
}
export type Cell = Fault | string;
/** Every way to fail at one step. */
export type Row = Readonly<Record<Way, Cell>>;

export interface Scene {
  readonly h: RuntimeFixture;
  readonly clock: FakeClock;
  readonly stop: AbortController;
  readonly failing: Failing;
  readonly folder: string;
  pending(): Promise<string>;
}

export const mail = { tool: "mail", arguments: { to: "x" } } as const;
export const echo = { tool: "echo", arguments: { to: "x" } } as const;
export const bad = { tool: "bad", arguments: {} } as const;
export const forEver = (): Promise<never> => new Promise(() => {});
export const throws = (): never => {
  throw new Error("broken");
};
export const tool = (more: Partial<ProbeTool>): readonly [ProbeTool] =>
  probe({ name: "bad", description: "Bad.", ...more });
export const risky = (more: Partial<ProbeTool>): readonly [ProbeTool] =>
  tool({ risk: "high", effects: "write", idempotent: false, ...more });
export const schema = (validate: (value: unknown) => unknown): Partial<ProbeTool> => ({
  input: { "~standard": { version: 1, vendor: "test", validate } } as never,
  inputSchema: { type: "object" },
});
export const fails =
  (kind: StoreWrite["write"] | "read", times: number = Number.POSITIVE_INFINITY) =>
  ({ failing }: Scene): unknown =>
    failing.set(kind, times);
export const policy = (decide: () => Decision): Policy => ({
  version: "test",
  decide,
  offers: () => true,
});
export const decision = (more: object): Decision =>
  ({
    verdict: "ALLOW",
    risk: "safe",
    reasons: [{ rule: "test", effect: "ALLOW" }],
    policyVersion: "test",
    ...more,
  }) as Decision; // or what a broken policy might give in its place
export const abort = ({ stop }: Scene): void => stop.abort(new Error("gone"));
export const decide =
  (as: "approved" | "denied") =>
  async (scene: Scene): Promise<unknown> =>
    scene.h.runtime.approvals.decide(await scene.pending(), { decision: as, by: boss });
export const wait: CallContext = { ...asker, patience: "wait" };
/** Holds and approves the same call before the test. */
export const approvedBefore =
  (then: (scene: Scene) => unknown = () => {}) =>
  async (scene: Scene): Promise<void> => {
    await scene.h.runtime.invoke(scene.h.runtime.tools.get("bad") === null ? mail : bad, asker);
    await decide("approved")(scene);
    await then(scene);
  };
export const synchronous = "nothing is waited for";
export const atClaim = "the signal is looked at by who waits, and last by the claim";

export function failsSecondTime(then: () => unknown): NonNullable<ProbeTool["preview"]> {
  let times = 0;
  return (() => {
    times += 1;
    return times === 1 ? "as shown" : then();
  }) as never;
}
