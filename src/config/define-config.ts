import type { OpenIdSettings } from "../accounts/openid.ts";
import type { ApprovalRoute } from "../approvals/routes.ts";
import type { AuditSettings } from "../audit/audit-config.ts";
import type { Autonomy } from "../calls/call.ts";
import type { Limits, Patience } from "../calls/session.ts";
import type { ChainOptions } from "../chains/chain-options.ts";
import type { ChannelsOptions } from "../channels/open-channels.ts";
import type { CedarArguments } from "../policy/cedar/cedar-facts.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { BackendName } from "../secrets/open-secrets.ts";
import type { PatternMode, SecretStore } from "../secrets/secret-store.ts";
import type { FileToolOptions } from "../tools/builtin/files/files.ts";
import type { WriteMode } from "../tools/builtin/memory/memory.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { Toolset } from "../tools/sets/toolset.ts";
import type { ServerConfig } from "../tools/upstream/server-config.ts";
import type { Hooks } from "../watchers/hooks.ts";
import type { LogLevel } from "./config-schema.ts";

/**
 * `postern.yaml` in TypeScript, with what a file of data cannot hold: tools, hooks, guardrails, channels and a secret store.
 *
 * @public
 */
export interface PosternConfig {
  readonly version?: 1;
  readonly listen?: {
    readonly host?: "127.0.0.1" | "localhost" | "::1";
    readonly port?: number;
    /** How people reach it through a proxy with TLS: `https://HOST`. */
    readonly publicUrl?: string;
    /** Open connections of one client address; default 1000. */
    readonly maxConnectionsPerAddress?: number;
  };
  /** Relative to the configuration's folder. */
  readonly data?: string;
  readonly autonomy?: Autonomy;
  readonly agent?: { readonly scopes?: readonly string[] };
  readonly policy?: Omit<PolicyOptions, "also" | "runtime"> & {
    /** A Cedar policy set beside the rules; its files are relative to the configuration's folder. */
    readonly cedar?: { readonly policies: string; readonly schema?: string; readonly arguments?: CedarArguments };
  };
  /** Looks at arguments and at results; each only makes things stricter. */
  readonly guardrails?: readonly Guardrail[];
  /** Where people are told that they are wanted, and from where they may answer; channels of your own beside webhooks. */
  readonly channels?: ChannelsOptions;
  readonly limits?: Partial<Limits>;
  /** Who signs in to the console. */
  readonly accounts?: {
    readonly session?: { readonly idleMinutes?: number; readonly absoluteHours?: number };
    readonly openid?: Pick<OpenIdSettings, "issuer" | "clientId"> & Partial<OpenIdSettings>;
  };
  readonly approvals?: {
    readonly ttlSeconds?: number;
    readonly separateUser?: boolean;
    readonly patience?: Patience;
    /** Who is asked, and what a yes must bring; the first that matches applies. */
    readonly routes?: readonly (Omit<ApprovalRoute, "ttlMs" | "remindBeforeMs" | "escalateAfterMs"> & {
      readonly ttlSeconds?: number;
      readonly remindBeforeSeconds?: number;
      readonly escalateAfterSeconds?: number;
    })[];
  };
  /** How the log is looked after. */
  readonly audit?: AuditSettings;
  readonly results?: { readonly retentionDays?: number; readonly maxBytes?: number };
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** Tools and sets of tools themselves, or paths of modules that export some and of folders that hold some. */
  readonly tools?:
    | readonly (AnyTool | Toolset)[]
    | { readonly modules?: readonly string[]; readonly folders?: readonly string[] };
  /** Folders of skills (`FOLDER/NAME/SKILL.md`), relative to the configuration's folder. */
  readonly skills?: {
    readonly folders?: readonly string[];
    /** Skills that an agent is held to in each of its runs, by the agent's name. */
    readonly agents?: Readonly<Record<string, readonly string[]>>;
  };
  /** Tools for files; roots are relative to the configuration's folder. */
  readonly files?: { readonly enabled?: boolean } & Omit<FileToolOptions, "runs" | "outOfReach" | "notWritable">;
  readonly memory?: {
    readonly enabled?: boolean;
    readonly provider?: "embedded" | "external" | { readonly server: string };
    readonly writeMode?: WriteMode;
    readonly scopes?: readonly string[];
  };
  /** Scripts that call tools: on where an engine can run, unless it is switched off. */
  readonly chains?: { readonly enabled?: boolean } & Omit<ChainOptions, "drivers">;
  /** Folders of runs; relative to the configuration's folder, `runs` in the data folder when nothing is said. */
  readonly runs?: { readonly enabled?: boolean; readonly folder?: string };
  /** The pages that Postern serves; `editPolicy` lets them write the policy into a configuration that is a file of data. */
  readonly console?: { readonly editPolicy?: boolean };
  readonly hooks?: Hooks;
  /** A store of your own, or where Postern's own come from: docs/reference/secrets.md. */
  readonly secrets?:
    | SecretStore
    | {
        readonly backend?: BackendName | readonly BackendName[];
        readonly file?: string;
        readonly keyFile?: string;
        readonly command?: readonly string[];
        readonly timeoutMs?: number;
        readonly patterns?: PatternMode;
      };
  readonly log?: { readonly level?: LogLevel };
}

/**
 * Gives a configuration its type; what is in it is checked when Postern starts. The file is code: Postern runs it only
 * when it is named with `--config`, never because it found one.
 *
 * @example
 * export default defineConfig({ autonomy: "A2", tools: [sendEmail], policy: { rules: [{ effect: "deny", tool: "delete_*" }] } });
 *
 * @public
 */
export function defineConfig(config: PosternConfig): PosternConfig {
  return config;
}
