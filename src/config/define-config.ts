import type { AuditSettings } from "../audit/audit-config.ts";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { GuardrailSection } from "../policy/guardrails/guardrails-config.ts";
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
  /** Looks at arguments and at results; each only makes things stricter. */
  readonly guardrails?: readonly (Guardrail | GuardrailSection)[];
  /** Where people are told that they are wanted, and from where they may answer; channels of your own beside webhooks. */
  readonly channels?: ChannelsOptions;
  /** How the log is looked after. */
  readonly audit?: AuditSettings;
  /** Tools and sets of tools themselves, or paths of modules that export some and of folders that hold some. */
  readonly tools?: readonly (AnyTool | Toolset)[] | NonNullable<ConfigData["tools"]>;
  readonly hooks?: Hooks;
  /** A store of your own, or where Postern's own come from: docs/reference/secrets.md. */
  readonly secrets?: SecretStore | NonNullable<ConfigData["secrets"]>;
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
