import { type Autonomy, type Clock, RuntimeFault, shown } from "@postern/core";
import type { Approver } from "../../approvals/approver.ts";
import type { ApprovalRoute } from "../../approvals/routes.ts";
import type { AuditSettings } from "../../audit/audit-config.ts";
import { paceOf } from "../../audit/recheck.ts";
import type { SkillsOptions } from "../../builtin/skills/library.ts";
import type { Skills } from "../../builtin/skills/skills.ts";
import { isPatience, type Limits, type Patience } from "../../call/session.ts";
import type { ChainOptions } from "../../code-mode/chain-options.ts";
import type { PasswordCost } from "../../identity/password.ts";
import type { SessionLimits } from "../../identity/session-repository.ts";
import type { ServerConfig } from "../../mcp/client/server-config.ts";
import type { Hooks } from "../../observe/hooks.ts";
import type { ChannelsOptions } from "../../observe/notify/open-channels.ts";
import type { PolicyOptions } from "../../policy/decide.ts";
import type { Guardrail } from "../../policy/guardrails/guardrails.ts";
import type { Policy } from "../../policy/policy.ts";
import type { OwnArtifactStore } from "../../results/artifact-store.ts";
import { answerBytesRange } from "../../results/raw-result.ts";
import { type PatternMode, patternModes, type Redactor, type SecretStore } from "../../secrets/secret-store.ts";
import type { OpenStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import type { ToolsInput } from "../../tools/toolsets/toolset.ts";
import { checkKinds } from "./option-kinds.ts";

/** @public */
export interface RuntimeOptions {
  /** Tools, sets of tools (`filtered`, `prefixed`, `combined`, a `Toolbox`), or a list of both. Tools added to a box later are registered then. */
  readonly tools?: ToolsInput;
  readonly policy?: PolicyOptions | Policy;
  /** They check arguments and results, and can only make the decision stricter. */
  readonly guardrails?: readonly Guardrail[];
  /** `memory` (default: ends with the process), `sqlite:FILE`, a store of your own, or a function that opens one (it gets a `StoreContext`). */
  readonly store?: string | Store | OpenStore;
  readonly secrets?: SecretStore;
  readonly redactor?: Redactor;
  /** What to do with text that looks like a secret. Default `mark`. */
  readonly secretPatterns?: PatternMode;
  readonly hooks?: Hooks;
  readonly clock?: Clock;
  /** With a level, the autonomy matrix decides; without one, `limits.maxRiskUnapproved`. */
  readonly autonomy?: Autonomy;
  /** Upper limits for every session. */
  readonly limits?: Partial<Limits>;
  readonly approvals?: {
    /** What to do if a call needs approval. Default: `wait` with an approver, else `deny`. A caller may narrow it. */
    readonly patience?: Patience;
    readonly approver?: Approver;
    /** How long a request waits, in milliseconds. Default one hour. */
    readonly ttlMs?: number;
    /** So many requests of one agent may be open at once. Default 2,000. */
    readonly maxOpenPerAgent?: number;
    /** The user who asks may not decide. */
    readonly separateUser?: boolean;
    /** Who decides which requests, and under which conditions. The first matching route applies. */
    readonly routes?: readonly ApprovalRoute[];
    /** Whether people have accounts: `critical` then needs a signed-in person, not the operator's token. */
    readonly accountsExist?: () => boolean;
  };
  readonly accounts?: {
    /** When a console session ends: unused, and in any case. Default 12 hours and 7 days. */
    readonly sessions?: SessionLimits | undefined;
    /** Cost of one password check. Default: about 0.2 s and 32 MiB. */
    readonly passwordCost?: PasswordCost | undefined;
  };
  /** `recheck` verifies the log in the background. */
  readonly audit?: AuditSettings;
  readonly results?: {
    /** Days that an artifact is kept after no call can return it any more. Default 30; 0: until its session ends. */
    readonly retentionDays?: number;
    /** Largest structured answer of a tool, in bytes of JSON. A larger one is refused. Default 32 MiB. */
    readonly maxBytes?: number;
    /** Largest artifact from a text, bytes or stream of a tool, in bytes. Default 2 GiB. */
    readonly maxArtifactBytes?: number;
  };
  /** A store of your own for large results; `false`: all results are inline. Default: files in `folder`, else memory. */
  readonly artifacts?: OwnArtifactStore | false;
  /** Folders of skills (active skills survive a restart), or skills that are already open. */
  readonly skills?: SkillsOptions | Skills;
  /** Code mode: scripts that call tools. Off if left out. */
  readonly chains?: ChainOptions;
  /** Where people are notified, and from where they may answer. */
  readonly channels?: ChannelsOptions;
  /** Upstream MCP servers by name. */
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** How long `createRuntime` waits for servers, in milliseconds. Default 8,000. Others connect in the background. */
  readonly serverWaitMs?: number;
  /** Folder for keys, artifacts and anchors of the audit log; made with mode 0700 if it is missing. Default: `FILE-files` beside the store file, else memory. */
  readonly folder?: string;
  /** Run folders for people to read (`runtime.runs`). `config` is the effective configuration as YAML, kept with each run. */
  readonly archive?: { readonly folder: string; readonly config?: string };
  /** `strict`: an outcome is on disk before the caller gets it. Default: only claims are. */
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
  ...["patience", "approver", "ttlMs", "maxOpenPerAgent", "separateUser", "routes", "accountsExist"],
]);

/**
 * Checks the options that are not checked where they are used (as policy, limits, tools, servers and store are).
 *
 * @throws RuntimeFault `options_invalid` that names the member and the value
 */
export function checkOptions(options: RuntimeOptions): void {
  checkKinds(options);
  known("", options, optionNames);
  const { approvals = {}, results = {}, durability, hooks, archive } = options;
  known("approvals.", approvals, approvalNames);
  const { patience, ttlMs, maxOpenPerAgent: mostOpen } = approvals;
  if (patience !== undefined && !isPatience(patience))
    throw invalid("approvals.patience", patience, "deny, wait or suspend");
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
    throw invalid("approvals.ttlMs", ttlMs, "a whole number of milliseconds from 1");
  }
  if (mostOpen !== undefined && !(Number.isSafeInteger(mostOpen) && mostOpen > 0))
    throw invalid("approvals.maxOpenPerAgent", mostOpen, "a whole number from 1");
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
    throw new RuntimeFault(
      "options_invalid",
      `\`${prefix}${name}\` is not an option; use one of ${[...names].join(", ")}.`,
    );
  }
}

function invalid(member: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault("options_invalid", `\`${member}\` is ${shown(value)}; it must be ${wanted}.`);
}
