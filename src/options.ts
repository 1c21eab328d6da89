import type { Approver } from "./approvals/approver.ts";
import type { Autonomy } from "./calls/call.ts";
import type { Clock } from "./calls/clock.ts";
import { RuntimeFault } from "./calls/fault.ts";
import { isPatience, type Limits, type Patience } from "./calls/session.ts";
import type { PolicyOptions } from "./policy/decide.ts";
import type { Policy } from "./policy/policy.ts";
import type { Redactor, SecretStore } from "./secrets/secret-store.ts";
import type { Store } from "./stores/store.ts";
import type { AnyTool } from "./tools/kinds.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import type { ServerConfig } from "./tools/upstream/server-config.ts";
import type { Hooks } from "./watchers/hooks.ts";

/** @public */
export interface RuntimeOptions {
  readonly tools?: readonly AnyTool[] | Toolbox;
  readonly policy?: PolicyOptions | Policy;
  /** `sqlite::memory:` (default), `sqlite:FILE`, `memory` (Maps and no log: tests and throw-away runs), or a store of your own. */
  readonly store?: string | Store;
  readonly secrets?: SecretStore;
  readonly redactor?: Redactor;
  readonly hooks?: Hooks;
  readonly clock?: Clock;
  /** With a level the matrix decides; without one the threshold does (SPEC 6.6). */
  readonly autonomy?: Autonomy;
  /** The ceiling for every session. */
  readonly limits?: Partial<Limits>;
  readonly approvals?: {
    /** What to do when a person is needed. Default: `wait` with an approver, else `deny`. A caller may narrow it. */
    readonly patience?: Patience;
    readonly approver?: Approver;
    /** Default one hour (D9). */
    readonly ttlMs?: number;
    /** The deciding user must not be the asking one. */
    readonly separateUser?: boolean;
  };
  /** Upstream MCP servers by name. */
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** Where keys, artifacts and anchors of the audit log are kept. Default: `FILE-files` beside a file, else memory. */
  readonly folder?: string;
  /** `strict`: an outcome is on the disk before it is told. Default: only claims are. */
  readonly durability?: "strict";
  readonly log?: (problem: string) => void;
}

const optionNames: ReadonlySet<string> = new Set([
  ...["tools", "policy", "store", "secrets", "redactor", "hooks", "clock", "autonomy", "limits"],
  ...["approvals", "servers", "folder", "durability", "log"],
]);
const approvalNames: ReadonlySet<string> = new Set(["patience", "approver", "ttlMs", "separateUser"]);

/**
 * What is checked where it is used (policy, limits, tools, servers, the store) is not checked here.
 *
 * @throws RuntimeFault `options_invalid` that names the member and the value
 */
export function checkOptions(options: RuntimeOptions): void {
  known("", options, optionNames);
  const { approvals = {}, durability, hooks, folder, log } = options;
  known("approvals.", approvals, approvalNames);
  const { patience, ttlMs, separateUser } = approvals;
  if (patience !== undefined && !isPatience(patience))
    throw invalid("approvals.patience", patience, "deny, wait or suspend");
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
    throw invalid("approvals.ttlMs", ttlMs, "a whole number of milliseconds from 1");
  }
  if (separateUser !== undefined && typeof separateUser !== "boolean") {
    throw invalid("approvals.separateUser", separateUser, "true or false");
  }
  if (durability !== undefined && durability !== "strict")
    throw invalid("durability", durability, "strict, or left out");
  if (hooks !== undefined) known("hooks.", hooks, new Set(["toolStart", "toolEnd"]));
  if (folder !== undefined && (typeof folder !== "string" || folder === "")) throw invalid("folder", folder, "a path");
  if (log !== undefined && typeof log !== "function") throw invalid("log", log, "a function");
}

function known(prefix: string, given: object, names: ReadonlySet<string>): void {
  if (typeof given !== "object" || given === null) throw invalid(prefix.slice(0, -1), given, "an object");
  for (const name of Object.keys(given)) {
    if (names.has(name)) continue;
    throw new RuntimeFault("options_invalid", `\`${prefix}${name}\` is no option; there are ${[...names].join(", ")}.`);
  }
}

function invalid(member: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault(
    "options_invalid",
    `\`${member}\` is ${JSON.stringify(value) ?? String(value)}; it must be ${wanted}.`,
  );
}
