import {
  type CallEvent,
  type Clock,
  endEvents,
  isJsonObject,
  type JsonObject,
  momentNames,
  type Watcher,
} from "@postern/core";
import type { Alarm, AlarmRaiser, AlarmSeverity } from "./alarms.ts";
import type { StoreAlarm } from "./store-alarm.ts";

/** What the rules read of an event. */
interface Fact {
  /** As the audit log calls it. */
  readonly type: string;
  readonly tenant: string;
  readonly tool: string;
  readonly summary: string;
  /** What a failed tool answered. */
  readonly text: string;
  /** How often the tool has failed since it last succeeded. */
  readonly failures: number;
  readonly data: JsonObject;
}

interface AlarmRule {
  readonly kind: string;
  readonly severity: AlarmSeverity;
  /** The event that opens the alarm, if `when` holds. */
  readonly opens: string;
  readonly when?: (fact: Fact) => boolean;
  /** The alarm opens if more than `most` such events come within the time. */
  readonly burst?: { readonly most: number; readonly withinMs: number };
  /** What the alarm is about. The dedupe key is `kind/about`. */
  readonly about: (fact: Fact) => string;
  /** Without it, the event's own summary. */
  readonly summary?: (fact: Fact) => string;
  readonly data?: (fact: Fact) => JsonObject;
  /** The events that close it, and why. */
  readonly closes?: Readonly<Record<string, string>>;
  /** It closes if nothing opens it again for so long. */
  readonly quietMs?: number;
}

const toolFailed = endEvents.failed.audit;
const toolSucceeded = endEvents.succeeded.audit;
const failuresFrom = 5;
/** A wrong credential does not become right by trying. */
const authFailuresFrom = 2;
/** Words of servers and clients for a refused credential. A guess, so it only opens an alarm. */
const authWords =
  /\b(?:401|403|unauthori[sz]ed|not authenticated|authentication (?:failed|required)|invalid[ _](?:api[ _]key|token|credentials|grant)|(?:token|key|credentials?|session) (?:has |have |is |are )?expired)\b/i;

const isAuth = ({ text, failures }: Fact): boolean => failures >= authFailuresFrom && authWords.test(text);
const lastError = ({ data, text }: Fact): JsonObject => ({ ...data, last_error: text.slice(0, 300) });
const named =
  (name: string) =>
  ({ data }: Fact): string =>
    String(data[name] ?? "");

/** Every alarm that an event opens or closes. */
const rules: readonly AlarmRule[] = [
  {
    ...{ kind: "tool_errors", severity: "warning", opens: toolFailed, data: lastError },
    when: (fact) => fact.failures >= failuresFrom && !isAuth(fact),
    about: ({ tool }) => tool,
    summary: ({ tool }) => `\`${tool}\` failed ${failuresFrom} times in a row.`,
    closes: { [toolSucceeded]: "it succeeded again" },
  },
  {
    ...{ kind: "auth_failed", severity: "warning", opens: toolFailed, when: isAuth, data: lastError },
    about: ({ tool }) => tool,
    summary: ({ tool }) => `\`${tool}\` was refused by the service it calls; check its credential.`,
    closes: { [toolSucceeded]: "it succeeded again" },
  },
  {
    ...{ kind: "auth_failed", severity: "warning", opens: "mcp.disconnected" },
    when: ({ summary }) => authWords.test(summary),
    about: (fact) => `server/${named("server")(fact)}`,
    summary: (fact) => `Server \`${named("server")(fact)}\` refuses Postern; check its credential.`,
    data: ({ data, summary }) => ({ server: data["server"] ?? "", last_error: summary }),
    closes: { "mcp.connected": "it is connected again" },
  },
  {
    ...{ kind: "server_down", severity: "warning", opens: "mcp.down", about: named("server") },
    data: ({ data }) => ({ server: data["server"] ?? "", last_error: data["problem"] ?? "" }),
    closes: { "mcp.connected": "it is connected again" },
  },
  {
    ...{ kind: "notification_storm", severity: "warning", opens: endEvents.storm_blocked.audit, quietMs: 3_600_000 },
    about: ({ tenant }) => tenant,
    summary: () => "Notifications are blocked: too many in an hour",
  },
  {
    ...{ kind: "approval_storm", severity: "warning", opens: momentNames.held.audit, quietMs: 600_000 },
    burst: { most: 50, withinMs: 600_000 },
    about: ({ tenant }) => tenant,
    summary: () => "More than 50 approvals were asked for within ten minutes; people stop reading.",
  },
  {
    ...{ kind: "sign_in_failures", severity: "critical", opens: "operator.action.sign_in_failed", quietMs: 3_600_000 },
    burst: { most: 10, withinMs: 300_000 },
    about: ({ tenant }) => tenant,
    summary: () => "More than 10 sign-ins failed within five minutes; a password may be under attack.",
    data: () => ({}),
  },
  {
    ...{ kind: "tool_changed", severity: "warning", opens: "mcp.tool_changed", about: named("tool") },
    closes: {
      "mcp.tool_restored": "the definition is again what is trusted",
      "operator.action.tool_approved": "the definition was approved",
    },
  },
  {
    ...{ kind: "channel_failed", severity: "warning", opens: "channel.dead_letter", about: named("channel") },
    closes: { "channel.recovered": "it delivers again" },
  },
];

const sweepEveryMs = 60_000;
/** Beyond so many failing tools the oldest is forgotten: its count begins again. */
const mostFailing = 1_000;

export interface AlarmRulesOptions {
  readonly alarms: AlarmRaiser;
  readonly clock: Clock;
  /** From before: those that close after a quiet time must still close. */
  readonly raised: readonly Alarm[];
  readonly storeAlarm: StoreAlarm;
}

/** The subscriber that applies the rules to the event stream. */
export class AlarmRules implements Disposable {
  readonly watcher: Watcher;
  readonly #options: AlarmRulesOptions;
  /** Failures in a row, by tenant and tool. */
  readonly #failing = new Map<string, number>();
  /** When events of a burst came, by kind and tenant. */
  readonly #recent = new Map<string, number[]>();
  /** Open alarms that close after a quiet time, by key. */
  readonly #noisy = new Map<string, { readonly quietMs: number; readonly tenant: string; readonly at: number }>();
  #cancel: (() => void) | undefined;

  constructor(options: AlarmRulesOptions) {
    this.#options = options;
    for (const { kind, key, tenant, state } of options.raised) {
      const quietMs = rules.find((rule) => rule.kind === kind)?.quietMs;
      if (state !== "resolved" && quietMs !== undefined) this.#noise(key, tenant, quietMs);
    }
    this.watcher = (event) => this.#see(event);
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
  }

  #see(event: CallEvent): void {
    const { alarms, storeAlarm } = this.#options;
    if (event.moment === "left") {
      const { refusal } = event.outcome;
      if (refusal?.code === "audit_unavailable" || refusal?.code === "store_lost") storeAlarm.refused(refusal.message);
      return;
    }
    if (event.moment === "arrived" || event.moment === "progressed") return;
    if (storeAlarm.isRaised) storeAlarm.works(); // every other event comes after a write
    if (event.moment !== "ended" && event.moment !== "held" && event.moment !== "noted") return;
    const isSuccess = event.moment === "ended" && event.as === "succeeded";
    if (isSuccess && this.#failing.size === 0 && alarms.isQuiet) return; // nearly every call
    this.#apply(this.#factOf(event));
  }

  #apply(fact: Fact): void {
    for (const rule of rules) {
      const reason = rule.closes?.[fact.type];
      if (reason !== undefined) this.#close(rule, fact, reason);
      if (rule.opens !== fact.type || rule.when?.(fact) === false || !this.#isTooMuch(rule, fact)) continue;
      const { kind, severity, summary = () => fact.summary, data = () => fact.data } = rule;
      const key = `${kind}/${rule.about(fact)}`;
      if (rule.quietMs !== undefined) this.#noise(key, fact.tenant, rule.quietMs);
      this.#options.alarms.raise({
        kind,
        key,
        tenant: fact.tenant,
        severity,
        summary: summary(fact),
        data: data(fact),
      });
    }
  }

  #close({ kind, about }: AlarmRule, fact: Fact, reason: string): void {
    const { alarms } = this.#options;
    const key = `${kind}/${about(fact)}`;
    // One that is being written is not raised yet, and a tool succeeds far more often than an alarm closes.
    if (fact.type !== toolSucceeded || alarms.isRaised(fact.tenant, key)) alarms.settle(fact.tenant, key, reason);
  }

  #factOf(event: Extract<CallEvent, { readonly moment: "ended" | "held" | "noted" }>): Fact {
    if (event.moment === "noted") {
      const { type, summary, tenant = "default", data } = event;
      return { type, tenant, tool: "", summary, text: "", failures: 0, data: isJsonObject(data) ? data : {} };
    }
    const { id, tool, authority } = event.call;
    const { tenant, agent } = authority.principal;
    const data = { tool, call: id, run: authority.runId, agent };
    const call = { tenant, tool, summary: "", data };
    if (event.moment === "held") return { ...call, type: momentNames.held.audit, text: "", failures: 0 };
    const text = event.outcome.text.slice(0, 2_000);
    return {
      ...call,
      type: endEvents[event.as].audit,
      text,
      failures: this.#countFailure(`${tenant}\0${tool}`, event.as),
    };
  }

  #countFailure(name: string, as: keyof typeof endEvents): number {
    const failures = (this.#failing.get(name) ?? 0) + 1;
    if (as !== "failed" && as !== "succeeded") return 0;
    this.#failing.delete(name);
    if (as === "succeeded") return 0;
    this.#failing.set(name, failures);
    if (this.#failing.size > mostFailing) this.#failing.delete([...this.#failing.keys()][0] ?? "");
    return failures;
  }

  #isTooMuch({ kind, burst }: AlarmRule, { tenant }: Fact): boolean {
    if (burst === undefined) return true;
    const name = `${kind}\0${tenant}`;
    const now = this.#options.clock.now();
    const times = (this.#recent.get(name) ?? []).filter((at) => now - at < burst.withinMs).slice(-burst.most);
    times.push(now);
    this.#recent.set(name, times);
    return times.length > burst.most;
  }

  #noise(key: string, tenant: string, quietMs: number): void {
    this.#noisy.set(key, { quietMs, tenant, at: this.#options.clock.now() });
    this.#cancel ??= this.#options.clock.in(sweepEveryMs, () => this.#sweep(), false);
  }

  #sweep(): void {
    const { clock, alarms } = this.#options;
    this.#cancel = undefined;
    for (const [key, { quietMs, tenant, at }] of this.#noisy) {
      if (clock.now() - at < quietMs) continue;
      this.#noisy.delete(key);
      alarms.settle(tenant, key, "it has been quiet since");
    }
    if (this.#noisy.size > 0) this.#cancel = clock.in(sweepEveryMs, () => this.#sweep(), false);
  }
}
