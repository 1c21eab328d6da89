import type { ToolCall } from "../calls/call.ts";
import type { Clock } from "../calls/clock.ts";
import type { CallEvent, NotedEvent } from "../calls/event.ts";
import { isJsonObject, type JsonObject } from "../calls/json.ts";
import type { Watcher } from "../watchers/watcher.ts";
import type { Alarm, AlarmBell } from "./alarms.ts";
import type { StoreAlarm } from "./broken.ts";

type Ended = Extract<CallEvent, { readonly moment: "ended" }>;

/** Failures of one tool in a row. */
const failuresFrom = 5;
/** A tool that is not let in needs no five tries to say so. */
const authFailuresFrom = 2;
/** Of which more than so many within so long are too many. */
interface Burst {
  readonly kind: string;
  readonly most: number;
  readonly withinMs: number;
}
const requests: Burst = { kind: "approval_storm", most: 50, withinMs: 600_000 };
const failedSignIns: Burst = { kind: "sign_in_failures", most: 10, withinMs: 300_000 };
/** What ends by being quiet is over after so long. */
const quietMs: ReadonlyMap<string, number> = new Map([
  ["notification_storm", 3_600_000],
  ["approval_storm", 600_000],
  ["sign_in_failures", 3_600_000],
]);
/** What is noted, and the alarm it raises: by the member of its data that names what it is about. */
const begins: ReadonlyMap<string, { readonly kind: string; readonly name: string }> = new Map([
  ["mcp.tool_changed", { kind: "tool_changed", name: "tool" }],
  ["channel.dead_letter", { kind: "channel_failed", name: "channel" }],
]);
const ends: ReadonlyMap<string, { readonly kind: string; readonly name: string; readonly reason: string }> = new Map([
  ["mcp.tool_restored", { kind: "tool_changed", name: "tool", reason: "the definition is again what is trusted" }],
  ["operator.action.tool_approved", { kind: "tool_changed", name: "tool", reason: "the definition was approved" }],
  ["mcp.connected", { kind: "auth_failed/server", name: "server", reason: "it is connected again" }],
  ["channel.recovered", { kind: "channel_failed", name: "channel", reason: "it delivers again" }],
]);
const signInFailed = "operator.action.sign_in_failed";
const sweepEveryMs = 60_000;
/** Beyond so many tools that fail the oldest is forgotten: its count begins again. */
const mostFailing = 1_000;

/** Words of servers and clients for "you are not let in". A guess, and only of an alarm. */
const authWords =
  /\b(?:401|403|unauthori[sz]ed|not authenticated|authentication (?:failed|required)|invalid[ _](?:api[ _]key|token|credentials|grant)|(?:token|key|credentials?|session) (?:has |have |is |are )?expired)\b/i;

export interface CauseOptions {
  readonly bell: AlarmBell;
  readonly clock: Clock;
  /** From before: those that end by being quiet must still end. */
  readonly raised: readonly Alarm[];
  readonly ofStore: StoreAlarm;
}

/** Sees causes of alarms in what happens (SPEC 14.9), and when they are over. */
export class Causes implements Disposable {
  readonly watcher: Watcher;
  readonly #bell: AlarmBell;
  readonly #clock: Clock;
  /** By tenant and tool: how often it failed since it last succeeded. */
  readonly #failing = new Map<string, number>();
  /** By kind and tenant: when, within the time that counts. */
  readonly #recent = new Map<string, number[]>();
  /** Raised ones that end by being quiet. */
  readonly #noisy = new Map<string, { readonly kind: string; readonly tenant: string; at: number }>();
  #cancel: (() => void) | undefined;
  readonly #ofStore: StoreAlarm;

  constructor({ bell, clock, raised, ofStore }: CauseOptions) {
    this.#bell = bell;
    this.#clock = clock;
    this.#ofStore = ofStore;
    for (const { kind, tenant, state } of raised)
      if (state !== "resolved" && quietMs.has(kind)) this.#noise(kind, tenant);
    this.watcher = (event) => this.#see(event);
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
  }

  #see(event: CallEvent): void {
    if (this.#ofStore.isRaised && isWritten(event)) this.#ofStore.works();
    if (event.moment === "ended") {
      if (event.as === "succeeded") this.#succeeded(event);
      else if (event.as === "failed") this.#failed(event);
      else if (event.as === "storm_blocked") this.#stormed(event);
    } else if (event.moment === "held") this.#held(event.call);
    else if (event.moment === "noted") this.#noted(event);
    else if (event.moment === "left") this.#left(event);
  }

  #left({ outcome: { refusal } }: Extract<CallEvent, { readonly moment: "left" }>): void {
    if (refusal?.code === "audit_unavailable") this.#ofStore.refused(refusal.message);
  }

  /** The way of nearly every call: nothing fails, and nothing is looked up. */
  #succeeded({ call }: Ended): void {
    if (this.#failing.size === 0 && this.#bell.isQuiet) return;
    const { tenant } = call.authority.principal;
    this.#failing.delete(`${tenant}\u0000${call.tool}`);
    for (const kind of ["tool_errors", "auth_failed"])
      if (this.#bell.isRaised(tenant, `${kind}/${call.tool}`))
        this.#bell.settle(tenant, `${kind}/${call.tool}`, "it succeeded again");
  }

  #failed({ call, outcome }: Ended): void {
    const { tenant } = call.authority.principal;
    const { tool } = call;
    const name = `${tenant}\u0000${tool}`;
    const times = (this.#failing.get(name) ?? 0) + 1;
    this.#failing.delete(name);
    this.#failing.set(name, times);
    if (this.#failing.size > mostFailing) this.#failing.delete([...this.#failing.keys()][0] ?? "");
    const data = { ...aboutCall(call), last_error: outcome.text.slice(0, 300) };
    if (times >= authFailuresFrom && authWords.test(outcome.text.slice(0, 2_000))) {
      const summary = `\`${tool}\` is not let in by what it calls; its credential may be wrong or over.`;
      this.#bell.raise({ kind: "auth_failed", key: `auth_failed/${tool}`, tenant, severity: "warning", summary, data });
    } else if (times >= failuresFrom) {
      const summary = `\`${tool}\` failed ${failuresFrom} times in a row.`;
      this.#bell.raise({ kind: "tool_errors", key: `tool_errors/${tool}`, tenant, severity: "warning", summary, data });
    }
  }

  #stormed({ call }: Ended): void {
    const { tenant } = call.authority.principal;
    const summary = "Notifications are blocked: too many in an hour";
    const data = aboutCall(call);
    this.#noise("notification_storm", tenant);
    const key = `notification_storm/${tenant}`;
    this.#bell.raise({ kind: "notification_storm", key, tenant, severity: "warning", summary, data });
  }

  #held(call: ToolCall): void {
    const { tenant } = call.authority.principal;
    if (!this.#tooMany(requests, tenant)) return;
    const { kind, most } = requests;
    const summary = `More than ${most} approvals were asked for within ten minutes; people stop reading.`;
    const data = aboutCall(call);
    this.#bell.raise({ kind, key: `${kind}/${tenant}`, tenant, severity: "warning", summary, data });
  }

  #noted(event: NotedEvent): void {
    const { type, summary, tenant = "default" } = event;
    const data = isJsonObject(event.data) ? event.data : {};
    const named = (name: string): string => String(data[name] ?? "");
    const begun = begins.get(type);
    const over = ends.get(type);
    if (begun !== undefined) {
      const key = `${begun.kind}/${named(begun.name)}`;
      this.#bell.raise({ kind: begun.kind, key, tenant, severity: "warning", summary, data });
    } else if (over !== undefined) {
      this.#bell.settle(tenant, `${over.kind}/${named(over.name)}`, over.reason);
    } else if (type === "mcp.disconnected") this.#disconnected(event, tenant, named("server"));
    else if (type === signInFailed) this.#signInFailed(tenant);
  }

  #disconnected({ summary }: NotedEvent, tenant: string, server: string): void {
    if (!authWords.test(summary)) return;
    const key = `auth_failed/server/${server}`;
    const said = `Server \`${server}\` does not let Postern in; its credential may be wrong or over.`;
    const data = { server, last_error: summary };
    this.#bell.raise({ kind: "auth_failed", key, tenant, severity: "warning", summary: said, data });
  }

  #signInFailed(tenant: string): void {
    if (!this.#tooMany(failedSignIns, tenant)) return;
    const { kind, most } = failedSignIns;
    const summary = `More than ${most} sign-ins failed within five minutes; somebody may be guessing.`;
    this.#bell.raise({ kind, key: `${kind}/${tenant}`, tenant, severity: "critical", summary });
  }

  #tooMany({ kind, most, withinMs }: Burst, tenant: string): boolean {
    const name = `${kind}\u0000${tenant}`;
    const now = this.#clock.now();
    const times = (this.#recent.get(name) ?? []).filter((at) => now - at < withinMs).slice(-most);
    times.push(now);
    this.#recent.set(name, times);
    if (times.length <= most) return false;
    this.#noise(kind, tenant);
    return true;
  }

  #noise(kind: string, tenant: string): void {
    this.#noisy.set(`${kind}/${tenant}`, { kind, tenant, at: this.#clock.now() });
    this.#cancel ??= this.#clock.in(sweepEveryMs, () => this.#sweep(), false);
  }

  #sweep(): void {
    this.#cancel = undefined;
    const now = this.#clock.now();
    for (const [key, { kind, tenant, at }] of this.#noisy) {
      if (now - at < (quietMs.get(kind) ?? 0)) continue;
      this.#noisy.delete(key);
      this.#bell.settle(tenant, key, "it has been quiet since");
    }
    if (this.#noisy.size > 0) this.#cancel = this.#clock.in(sweepEveryMs, () => this.#sweep(), false);
  }
}

/** Where to look: a storm is told by the call that was one too many. */
function aboutCall({ id, tool, authority: { runId, principal } }: ToolCall): JsonObject {
  return { tool, call: id, run: runId, agent: principal.agent };
}

/** Told by the store, after it was written there. */
function isWritten({ moment }: CallEvent): boolean {
  return moment !== "arrived" && moment !== "progressed" && moment !== "left";
}
