import type { Approver } from "../approvals/approver.ts";
import type { ApprovalRoute } from "../approvals/routes.ts";
import type { AuditSettings } from "../audit/audit-config.ts";
import { paceOf } from "../audit/recheck.ts";
import type { SkillsOptions } from "../builtin/skills/library.ts";
import type { Skills } from "../builtin/skills/skills.ts";
import type { ChainOptions } from "../code-mode/chain-options.ts";
import type { Autonomy } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { RuntimeFault } from "../core/fault.ts";
import { isPatience, type Limits, type Patience } from "../core/session.ts";
import { shown } from "../core/shown.ts";
import type { PasswordCost } from "../identity/password.ts";
import type { SessionLimits } from "../identity/session-repository.ts";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { Policy } from "../policy/policy.ts";
import type { OwnArtifactStore } from "../results/artifact-store.ts";
import { answerBytesRange } from "../results/raw-result.ts";
import { type PatternMode, patternModes, type Redactor, type SecretStore } from "../secrets/secret-store.ts";
import type { OpenStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import type { ToolsInput } from "../tools/toolsets/toolset.ts";
import { checkKinds } from "./option-kinds.ts";

/** @public */
export interface RuntimeOptions {
  /** Tools, sets of tools (`filtered`, `prefixed`, `combined`, a `Toolbox`), or both in one list. What a box gets later is registered then. */
  readonly tools?: ToolsInput;
  readonly policy?: PolicyOptions | Policy;
  /** Looks at arguments and at results; each only makes things stricter. */
  readonly guardrails?: readonly Guardrail[];
  /** `memory` (default: gone with the process), `sqlite:FILE`, or a store of your own: opened, or how to open it (`StoreHouse` has what it needs). */
  readonly store?: string | Store | OpenStore;
  readonly secrets?: SecretStore;
  readonly redactor?: Redactor;
  /** What becomes of text that merely looks like a secret. Default `mark`. */
  readonly secretPatterns?: PatternMode;
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
    /** Whom a request is sent to, and what their yes must bring; the first that matches applies. */
    readonly routes?: readonly ApprovalRoute[];
    /** Whether people have accounts here: then `critical` needs one of them signed in, and the operator's token is not enough. */
    readonly accountsExist?: () => boolean;
  };
  readonly accounts?: {
    /** When a session in the console ends: unused, and however much it is used. Default 12 hours, 7 days. */
    readonly sessions?: SessionLimits | undefined;
    /** What one try of a password costs. Default: about 0.2 s and 32 MiB. */
    readonly passwordCost?: PasswordCost | undefined;
  };
  /** `recheck`: the log is verified in the background while this runs. */
  readonly audit?: AuditSettings;
  readonly results?: {
    /** How long an artifact stays when nobody can be answered with it any more. Default 30; 0: until its session ends. */
    readonly retentionDays?: number;
    /** What one structured answer of a tool may have, as JSON text. What is larger is not taken. Default 32 MiB. */
    readonly maxBytes?: number;
    /** What one artifact may have that a tool answers with as text, bytes or a stream. Default 2 GiB. */
    readonly maxArtifactBytes?: number;
  };
  /** A store of your own for what is too large to go inline; `false`: there is none, and everything goes inline. Default: the data folder, else memory. */
  readonly artifacts?: OwnArtifactStore | false;
  /** Folders of skills: what is active is then kept over restarts. Or skills that were opened already. */
  readonly skills?: SkillsOptions | Skills;
  /** Code mode: scripts that call tools. Left out: off. */
  readonly chains?: ChainOptions;
  /** Where people are told that they are wanted, and from where they may answer. */
  readonly channels?: ChannelsOptions;
  /** Upstream MCP servers by name. */
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** How long `createRuntime` waits for them at most. Default 8 s. What is not connected by then comes in the background. */
  readonly serverWaitMs?: number;
  /** Where keys, artifacts and anchors of the audit log are kept. Default: `FILE-files` beside a file, else memory. */
  readonly folder?: string;
  /** A folder a run, for people to read: `runtime.runs`. `config`: the effective configuration as YAML, kept with each run. */
  readonly archive?: { readonly folder: string; readonly config?: string };
  /** `strict`: an outcome is on the disk before it is told. Default: only claims are. */
  readonly durability?: "strict";
  readonly log?: (problem: string) => void;
}

const optionNames: ReadonlySet<string> = new Set([
  ...["tools", "policy", "store", "secrets", "redactor", "hooks", "clock", "autonomy", "limits"],
  ...[
    "accounts",
    "artifacts",
    "approvals",
    "audit",
    "results",
    "skills",
    "servers",
    "serverWaitMs",
    "folder",
    "archive",
    "durability",
    "log",
    "secretPatterns",
    "guardrails",
    "chains",
    "channels",
  ],
]);
const approvalNames: ReadonlySet<string> = new Set([
  ...["patience", "approver", "ttlMs", "separateUser", "routes", "accountsExist"],
]);

/**
 * What is checked where it is used (policy, limits, tools, servers, the store) is not checked here.
 *
 * @throws RuntimeFault `options_invalid` that names the member and the value
 */
export function checkOptions(options: RuntimeOptions): void {
  checkKinds(options);
  known("", options, optionNames);
  const { approvals = {}, results = {}, durability, hooks, archive } = options;
  known("approvals.", approvals, approvalNames);
  const { patience, ttlMs } = approvals;
  if (patience !== undefined && !isPatience(patience))
    throw invalid("approvals.patience", patience, "deny, wait or suspend");
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
    throw invalid("approvals.ttlMs", ttlMs, "a whole number of milliseconds from 1");
  }
  known("accounts.", options.accounts ?? {}, new Set(["sessions", "passwordCost"]));
  known("audit.", options.audit ?? {}, new Set(["recheck", "witness"]));
  known("audit.recheck.", options.audit?.recheck ?? {}, new Set(["enabled", "entriesPerSecond"]));
  paceOf(options.audit?.recheck ?? {}, true);
  known("results.", results, new Set(["retentionDays", "maxBytes", "maxArtifactBytes"]));
  const { retentionDays, maxBytes, maxArtifactBytes } = results;
  if (retentionDays !== undefined && !(Number.isFinite(retentionDays) && retentionDays >= 0)) {
    throw invalid("results.retentionDays", retentionDays, "a number of days from 0");
  }
  const { from, to } = answerBytesRange;
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes >= from && maxBytes <= to))
    throw invalid("results.maxBytes", maxBytes, `a whole number of bytes from ${from} to ${to}`);
  if (maxArtifactBytes !== undefined && !(Number.isSafeInteger(maxArtifactBytes) && maxArtifactBytes >= from))
    throw invalid("results.maxArtifactBytes", maxArtifactBytes, `a whole number of bytes from ${from}`);
  checkStore(options.artifacts);
  if (durability !== undefined && durability !== "strict")
    throw invalid("durability", durability, "strict, or left out");
  const { secretPatterns: patterns } = options;
  if (patterns !== undefined && !patternModes.includes(patterns))
    throw invalid("secretPatterns", patterns, "off, mark or mask");
  if (hooks !== undefined) known("hooks.", hooks, new Set(["toolStart", "toolEnd"]));
  if (archive !== undefined) known("archive.", archive, new Set(["folder", "config"]));
}

function checkStore(artifacts: unknown): void {
  if (artifacts === undefined || artifacts === false) return;
  const isStore =
    typeof artifacts === "object" &&
    artifacts !== null &&
    ["put", "open", "pin", "unpin"].every((verb) => typeof Reflect.get(artifacts, verb) === "function");
  if (!isStore) throw invalid("artifacts", artifacts, "a store with `put`, `open`, `pin` and `unpin`, or false");
}

function known(prefix: string, given: object, names: ReadonlySet<string>): void {
  for (const name of Object.keys(given)) {
    if (names.has(name)) continue;
    throw new RuntimeFault("options_invalid", `\`${prefix}${name}\` is no option; there are ${[...names].join(", ")}.`);
  }
}

function invalid(member: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault("options_invalid", `\`${member}\` is ${shown(value)}; it must be ${wanted}.`);
}
