/**
 * The optional pack: quiet hours, anti-flap, notification storm. Each is off unless configured.
 *
 * Invariant: the pack only adds questions and blocks. If the past cannot be seen, it blocks.
 */
import { canonical } from "@postern/core";
import type { Facts, PastCall, Reads, ToolFacts } from "../policy.ts";
import { invalid } from "../problem.ts";
import { globMatcher } from "../rules/glob.ts";
import type { PackOptions, QuietHours } from "../schema.ts";

/** Why a call is blocked, and under which name. */
export interface PackBlock {
  readonly by: "antiflap" | "storm";
  readonly rule: string;
}

export interface Pack {
  readonly isQuiet: ((now: number) => boolean) | undefined;
  /** Names the quiet hours. */
  readonly quietRule: string;
  readonly blocks: readonly ((facts: Facts) => PackBlock | undefined)[];
  readonly reads: readonly { readonly reads: Reads }[];
  readonly readsFor: (tool: ToolFacts) => readonly { readonly reads: Reads }[];
  /** For reports: what could block a call of this tool. */
  readonly dependsOn: (tool: ToolFacts) => readonly string[];
}

const hourMs = 3_600_000;
/** A failed call has changed nothing, so a second try is no flapping. */
const effective: ReadonlySet<PastCall["state"]> = new Set(["attempted", "ok", "unknown"]);

interface PackCheck {
  readonly name: string;
  readonly speaksOf: (tool: ToolFacts) => boolean;
  readonly reads: Reads;
  readonly judge: (facts: Facts) => PackBlock | undefined;
}

/** @throws RuntimeFault `policy_invalid` for quiet hours that cannot be */
export function compilePack(options: PackOptions): Pack {
  const watches: PackCheck[] = [];
  if (options.antiFlap !== undefined) watches.push(antiFlap(options.antiFlap));
  if (options.notifications !== undefined) watches.push(storm(options.notifications));
  const { quietHours: hours } = options;
  return {
    isQuiet: hours && quietHours(hours),
    quietRule: `pack: quiet hours${hours === undefined ? "" : ` (${hours.from} to ${hours.to}, ${hours.timeZone})`}`,
    blocks: watches.map(
      ({ speaksOf, judge }) =>
        (facts) =>
          speaksOf(facts.tool) ? judge(facts) : undefined,
    ),
    reads: watches,
    readsFor: (tool) => watches.filter(({ speaksOf }) => speaksOf(tool)),
    dependsOn: (tool) => watches.filter(({ speaksOf }) => speaksOf(tool)).map(({ name }) => name),
  };
}

function antiFlap(settings: NonNullable<PackOptions["antiFlap"]>): PackCheck {
  const { cooldownSeconds, tools, within: scope = "principal" } = settings;
  const windowMs = cooldownSeconds * 1000;
  return {
    name: `pack: anti-flap, ${cooldownSeconds} s`,
    speaksOf: tools === undefined ? ({ effects }) => effects !== "read" : anyOf(tools),
    reads: { [scope]: windowMs },
    judge: (facts) => {
      const history = facts.history[scope];
      if (history === undefined) return { by: "antiflap", rule: "pack: anti-flap, the past cannot be seen" };
      const target = targetOf(facts.suggestion?.target, facts);
      const last = history.calls.findLast(
        (past) =>
          isOther(past, facts) &&
          past.at > facts.now - windowMs &&
          effective.has(past.state) &&
          isSame(past, facts.tool) &&
          targetOf(past.target, past) === target,
      );
      if (last === undefined) return undefined;
      const leftSeconds = Math.max(1, Math.ceil((last.at + windowMs - facts.now) / 1000));
      const rule = `pack: anti-flap cooldown, the same call within ${cooldownSeconds} s; it may run again in ${leftSeconds} s`;
      return { by: "antiflap", rule };
    },
  };
}

/** Whether it is another call than this one. This one may be sent again, or continue. */
function isOther({ key, waits }: PastCall, facts: Facts): boolean {
  return waits !== true && (key === undefined || key !== facts.key);
}

function isSame(past: PastCall, { tool, action }: ToolFacts): boolean {
  return past.tool === tool && past.action === action;
}

/** Without a target, the arguments tell calls apart. */
function targetOf(named: string | undefined, { arguments: args }: Pick<Facts, "arguments">): string {
  return named === undefined ? `arguments ${canonical(args)}` : `target ${named}`;
}

function storm({ tools, maxPerHour, within: scope = "tenant" }: NonNullable<PackOptions["notifications"]>): PackCheck {
  const isNotice = anyOf(tools);
  return {
    name: `pack: notification storm, more than ${maxPerHour} in an hour`,
    speaksOf: isNotice,
    reads: { [scope]: hourMs },
    judge: (facts) => {
      const { history, now } = facts;
      const past = history[scope];
      if (past === undefined) return { by: "storm", rule: "pack: notification storm, the past cannot be seen" };
      let sent = 0;
      for (const one of past.calls)
        if (isOther(one, facts) && one.at > now - hourMs && effective.has(one.state) && isNotice(one)) sent += 1;
      return sent >= maxPerHour
        ? { by: "storm", rule: `pack: notification storm, ${sent} sent in the last hour, at most ${maxPerHour}` }
        : undefined;
    },
  };
}

function anyOf(tools: readonly string[]): (one: { readonly tool: string }) => boolean {
  const fits = tools.map(globMatcher);
  return ({ tool }) => fits.some((matches) => matches(tool));
}

/**
 * Returns whether a time (wall clock, milliseconds) is in the quiet hours. NaN is not.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function quietHours(hours: QuietHours): (now: number) => boolean {
  const [from, to] = [minutesOf(hours.from), minutesOf(hours.to)];
  if (from === to) throw invalid(`\`quietHours\` begin and end at \`${hours.to}\`; give a span, or leave them out.`);
  const local = formatFor(hours.timeZone);
  return (now) => {
    if (!Number.isFinite(now)) return false;
    const time = minutesOf(local.format(now));
    return from < to ? time >= from && time < to : time >= from || time < to;
  };
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  } catch {
    // The engine does not know the zone, and its message names no fix.
    throw invalid(`\`quietHours.timeZone\` is \`${timeZone}\`; write a name like \`Europe/Berlin\` or \`UTC\`.`);
  }
}
