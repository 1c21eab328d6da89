/** The options of `createRuntime` and their check. Nothing in them is copied or changed. */

import { type Autonomy, autonomies, type Clock } from "@postern/core";
import { z } from "zod";
import type { Approver } from "../../approvals/approver.ts";
import type { ApprovalRoute } from "../../approvals/routes.ts";
import { type AuditSettings, auditOptions } from "../../audit/audit-config.ts";
import type { SkillsOptions } from "../../builtin/skills/library.ts";
import type { Skills } from "../../builtin/skills/skills.ts";
import { type Limits, type Patience, patiences } from "../../call/session.ts";
import { checkOptionsBy } from "../../checks/schema-problems.ts";
import { functionIn, objectIn, optionsIn, valueIn } from "../../checks/zod.ts";
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
import { isStore, type OpenStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import type { ToolsInput } from "../../tools/toolsets/toolset.ts";
import type { WorkersOptions } from "../../workers/options.ts";
import type { Retention } from "../services/retention.ts";

/** @public */
export interface RuntimeOptions {
  /** Tools, sets of tools (`filtered`, `prefixed`, `combined`, a `Toolbox`), or a list of both. Tools added to a box later are registered then. */
  readonly tools?: ToolsInput;
  readonly policy?: PolicyOptions | Policy;
  /** They check arguments and results, and can only make the decision stricter. */
  readonly guardrails?: readonly Guardrail[];
  /** `memory` (default: ends with the process), `sqlite:FILE`, `postgres://USER:PASSWORD@HOST/DATABASE` (package `pg`), a store of your own, or a function that opens one (it gets a `StoreContext`). */
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
    /** Folder of large results that several gateways on one PostgreSQL store share. Default: `artifacts` in `folder`. */
    readonly folder?: string;
  };
  /** After how many days what has ended is erased from the store, by kind. Default: nothing is. */
  readonly retention?: Retention;
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
  /**
   * People's sign-ins at servers: the address of the page where they connect, and the key that seals what they have in the
   * store (default: `secrets.key` in `folder`). Without a key or a folder they end with the process.
   */
  readonly connections?: { readonly consoleUrl?: () => string | undefined; readonly keyFile?: string };
  /** Tools that run on other machines, over NATS JetStream. */
  readonly workers?: WorkersOptions;
  /** How long `createRuntime` waits for servers, in milliseconds. Default 8,000. Others connect in the background. */
  readonly serverWaitMs?: number;
  /** Folder for keys, artifacts and anchors of the audit log; made with mode 0700 if it is missing. Default: `FILE-files` beside the store file, else memory. */
  readonly folder?: string;
  /** Run folders for people to read (`runtime.runs`). `config` is the effective configuration as YAML, kept with each run. */
  readonly archive?: { readonly folder: string; readonly config?: string };
  /** Counts calls for Prometheus (`runtime.metrics`). Off if left out. */
  readonly metrics?: true;
  /** `strict`: an outcome is on disk before the caller gets it. Default: claims are, and in PostgreSQL outcomes of calls with an effect. */
  readonly durability?: "strict";
  readonly log?: (problem: string) => void;
}

const text = z.string().min(1);
const verb = functionIn(z);
const { from, to } = answerBytesRange;

type Given<Name extends keyof RuntimeOptions> = NonNullable<RuntimeOptions[Name]>;

/** What is checked where it is used (policy, limits, tools, routes, servers) is only an object or a list here. */
const optionsSchema = optionsIn<RuntimeOptions>(z, {
  tools: valueIn(z, "a list or a set of tools", (value) => typeof value === "object" && value !== null).optional(),
  policy: objectIn<PolicyOptions | Policy>(z).optional(),
  guardrails: valueIn(z, "a list", Array.isArray).optional(),
  store: valueIn(
    z,
    "`memory`, `sqlite:FILE`, `postgres://…`, a store, or a function that opens one",
    (value) => (typeof value === "string" && value !== "") || typeof value === "function" || isStore(value),
  ).optional(),
  secrets: objectIn<SecretStore>(z, { get: verb }).optional(),
  redactor: objectIn<Redactor>(z, { learn: verb, redact: verb, finds: verb }).optional(),
  secretPatterns: z.enum(patternModes).optional(),
  hooks: optionsIn<Hooks>(z, { toolStart: verb.optional(), toolEnd: verb.optional() }).optional(),
  clock: objectIn<Clock>(z, { now: verb, monotonic: verb, in: verb }).optional(),
  autonomy: z.enum(autonomies).optional(),
  limits: objectIn<Partial<Limits>>(z).optional(),
  approvals: optionsIn<Given<"approvals">>(z, {
    patience: z.enum(patiences).optional(),
    approver: objectIn<Approver>(z, { name: text, ask: verb }).optional(),
    ttlMs: z.int().min(1).optional(),
    maxOpenPerAgent: z.int().min(1).optional(),
    separateUser: z.boolean().optional(),
    routes: valueIn(z, "a list", Array.isArray).optional(),
    accountsExist: verb.optional(),
  }).optional(),
  accounts: optionsIn<Given<"accounts">>(z, {
    sessions: objectIn<SessionLimits>(z).optional(),
    passwordCost: objectIn<PasswordCost>(z).optional(),
  }).optional(),
  audit: auditOptions.optional(),
  results: optionsIn<Given<"results">>(z, {
    retentionDays: z.number().min(0).optional(),
    maxBytes: z.int().min(from).max(to).optional(),
    maxArtifactBytes: z.int().min(from).optional(),
    folder: z.string().min(1).optional(),
  }).optional(),
  retention: optionsIn<Given<"retention">>(z, {
    callsDays: z.number().min(1).optional(),
    approvalsDays: z.number().min(1).optional(),
    eventsDays: z.number().min(1).optional(),
  }).optional(),
  artifacts: valueIn(
    z,
    "a store with `put`, `open`, `pin` and `unpin`, or false",
    (value) =>
      value === false || ["put", "open", "pin", "unpin"].every((name) => typeof Object(value)[name] === "function"),
  ).optional(),
  skills: objectIn<SkillsOptions | Skills>(z).optional(),
  chains: objectIn<ChainOptions>(z).optional(),
  channels: objectIn<ChannelsOptions>(z).optional(),
  servers: objectIn<Readonly<Record<string, ServerConfig>>>(z).optional(),
  connections: optionsIn<Given<"connections">>(z, {
    consoleUrl: verb.optional(),
    keyFile: text.optional(),
  }).optional(),
  workers: optionsIn<WorkersOptions>(z, {
    nats: objectIn<WorkersOptions["nats"]>(z, { url: text }),
    keys: objectIn<WorkersOptions["keys"]>(z),
    groups: objectIn<WorkersOptions["groups"]>(z),
    url: verb.optional(),
    leaseMs: z.int().min(1_000).optional(),
    maxWaiting: z.int().min(0).optional(),
  }).optional(),
  serverWaitMs: z.number().optional(),
  folder: text.optional(),
  archive: optionsIn<Given<"archive">>(z, { folder: text, config: z.string().optional() }).optional(),
  metrics: z.literal(true).optional(),
  durability: z.literal("strict").optional(),
  log: verb.optional(),
});

/** @throws RuntimeFault `options_invalid` with every mistake, a line each */
export function checkOptions(options: RuntimeOptions): void {
  checkOptionsBy(optionsSchema, options, (key) => `\`${key === "" ? "options" : key}\``);
}
