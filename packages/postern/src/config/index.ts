/**
 * `postern/config`: a configuration file in TypeScript.
 *
 * @packageDocumentation
 */
import type { AuditSettings } from "../audit/audit-config.ts";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { Toolset } from "../tools/toolsets/toolset.ts";
import type { ConfigData } from "./config-schema.ts";

/**
 * `postern.yaml` in TypeScript, with what a file of data cannot hold: tools, hooks, guardrails, channels and a secret store.
 *
 * @public
 */
export interface PosternConfig extends Omit<ConfigData, "guardrails" | "channels" | "audit" | "tools" | "secrets"> {
  /** Check arguments and results. Each only makes a decision stricter. */
  readonly guardrails?: readonly (Guardrail | NonNullable<ConfigData["guardrails"]>[number])[];
  /** Where approvers are notified and from where they may answer: webhooks, and channels of your own. */
  readonly channels?: ChannelsOptions;
  /** How Postern checks and publishes the audit log. */
  readonly audit?: AuditSettings;
  /** Tools and toolsets, or the paths of modules and folders that hold some. */
  readonly tools?: readonly (AnyTool | Toolset)[] | NonNullable<ConfigData["tools"]>;
  readonly hooks?: Hooks;
  /** A store of your own, or where Postern's own secrets come from: docs/reference/secrets.md. */
  readonly secrets?: SecretStore | NonNullable<ConfigData["secrets"]>;
}

/**
 * Gives a configuration its type. Postern checks the content when it starts. The file is code, so Postern runs it only
 * when `--config` names it.
 *
 * @example
 * export default defineConfig({ autonomy: "A2", tools: [sendEmail], policy: { rules: [{ effect: "deny", tool: "delete_*" }] } });
 *
 * @public
 */
export function defineConfig(config: PosternConfig): PosternConfig {
  return config;
}
