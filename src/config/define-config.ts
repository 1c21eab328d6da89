import type { Autonomy } from "../calls/call.ts";
import type { Limits, Patience } from "../calls/session.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { ServerConfig } from "../tools/upstream/server-config.ts";
import type { Hooks } from "../watchers/hooks.ts";
import type { LogLevel } from "./config-schema.ts";

/**
 * `postern.yaml` in TypeScript, with what a file of data cannot hold: tools, hooks and a secret store.
 *
 * @public
 */
export interface PosternConfig {
  readonly version?: 1;
  readonly listen?: { readonly host?: "127.0.0.1" | "localhost" | "::1"; readonly port?: number };
  /** Relative to the configuration's folder. */
  readonly data?: string;
  readonly autonomy?: Autonomy;
  readonly agent?: { readonly scopes?: readonly string[] };
  readonly policy?: PolicyOptions;
  readonly limits?: Partial<Limits>;
  readonly approvals?: {
    readonly ttlSeconds?: number;
    readonly separateUser?: boolean;
    readonly patience?: Patience;
  };
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** Tools themselves, or paths of modules that export some. */
  readonly tools?: readonly AnyTool[] | { readonly modules?: readonly string[] };
  readonly hooks?: Hooks;
  readonly secrets?: SecretStore | { readonly backend?: "environment" };
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
