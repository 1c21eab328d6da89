import type { Autonomy } from "../calls/call.ts";
import type { Limits, Patience } from "../calls/session.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { ServerConfig } from "../tools/upstream/server-config.ts";
import type { Hooks } from "../watchers/hooks.ts";
import type { LogLevel } from "./config-schema.ts";

/** A configuration, complete: defaults filled in, paths absolute, environment and flags applied. */
export interface Settings {
  /** Undefined: none was found, and everything is default. */
  readonly file: string | undefined;
  readonly listen: { readonly host: string; readonly port: number };
  /** Absolute. */
  readonly dataFolder: string;
  readonly autonomy: Autonomy;
  readonly agentScopes: readonly string[];
  readonly policy: PolicyOptions;
  readonly limits: Partial<Limits>;
  readonly approvals: {
    readonly patience: Patience;
    readonly ttlMs?: number;
    readonly separateUser?: boolean;
  };
  readonly servers: Readonly<Record<string, ServerConfig>>;
  /** Absolute paths of modules that export tools; loaded only when tools are needed. */
  readonly toolModules: readonly string[];
  /** Given as objects, by a TypeScript configuration. */
  readonly tools: readonly AnyTool[];
  readonly hooks: Hooks | undefined;
  readonly secrets: SecretStore | undefined;
  readonly logLevel: LogLevel;
}
