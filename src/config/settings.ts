import type { ApprovalSettings } from "../approvals/approvals-config.ts";
import type { AuditSettings } from "../audit/audit-config.ts";
import type { FileSettings } from "../builtin/files/files-config.ts";
import type { MemorySettings } from "../builtin/memory/memory-config.ts";
import type { ProvidedSettings } from "../builtin/provided/provided-config.ts";
import type { ChainOptions } from "../code-mode/chain-options.ts";
import type { Autonomy } from "../core/call.ts";
import type { Limits } from "../core/session.ts";
import type { AccountSettings } from "../identity/accounts-config.ts";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { ResultSettings } from "../results/results-config.ts";
import type { SecretSettings } from "../secrets/open-secrets.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { Toolset } from "../tools/toolsets/toolset.ts";
import type { LogLevel } from "./config-schema.ts";

/** A configuration, complete: defaults filled in, paths absolute, environment and flags applied. */
export interface Settings {
  /** Undefined: none was found, and everything is default. */
  readonly file: string | undefined;
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly publicUrl?: string | undefined;
    readonly maxConnectionsPerAddress?: number | undefined;
  };
  /** Absolute. */
  readonly dataFolder: string;
  readonly autonomy: Autonomy;
  readonly agentScopes: readonly string[];
  readonly policy: PolicyOptions;
  readonly guardrails: readonly Guardrail[];
  readonly limits: Partial<Limits>;
  readonly accounts: AccountSettings;
  readonly approvals: ApprovalSettings;
  readonly audit: AuditSettings;
  readonly results: ResultSettings;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  /** Absolute paths of modules that export tools; loaded only when tools are needed. */
  readonly toolModules: readonly string[];
  /** Absolute paths of catalogues: `FOLDER/NAME/tool.ts`. */
  readonly toolFolders: readonly string[];
  /** Absolute. */
  readonly skillFolders: readonly string[];
  /** Skills that an agent is held to in each of its runs. */
  readonly skillAgents: Readonly<Record<string, readonly string[]>>;
  /** Undefined: off. Paths are absolute. */
  readonly files: FileSettings | undefined;
  /** Tools that providers define and that run here; `files`: what they may touch, also where the file tools are off. */
  readonly provided: ProvidedSettings & { readonly files: FileSettings };
  /** Undefined: off. */
  readonly memory: MemorySettings | undefined;
  /** Given as objects, by a TypeScript configuration. */
  readonly tools: readonly (AnyTool | Toolset)[];
  /** Where the folders of runs lie, absolute. */
  readonly runs: { readonly enabled: boolean; readonly folder: string };
  /** Undefined: off. */
  readonly chains: ChainOptions | undefined;
  readonly hooks: Hooks | undefined;
  /** Given as an object, by a TypeScript configuration. */
  readonly secrets: SecretStore | undefined;
  /** Where values come from when no object was given. */
  readonly secretSettings: SecretSettings;
  readonly console: { readonly editPolicy: boolean };
  /** Where people are told that they are wanted. Undefined: nowhere. */
  readonly channels: ChannelsOptions | undefined;
  readonly logLevel: LogLevel;
}
