import { autonomies, type CamelCased, type OpaqueFields, opaqueFields, type SnakeCased } from "@postern/core";
import { z } from "zod";
import { approvalsSchema } from "../approvals/approvals-config.ts";
import { auditSchema } from "../audit/audit-config.ts";
import { filesSchema } from "../builtin/files/files-config.ts";
import { memorySchema } from "../builtin/memory/memory-config.ts";
import { skillsSchema } from "../builtin/skills/skills-config.ts";
import { type JsonSchemaKeys, keysOf } from "../checks/schema-problems.ts";
import { chainsSchema } from "../code-mode/chains-config.ts";
import { accountsSchema } from "../identity/accounts-config.ts";
import { oauthSchema } from "../identity/oauth-config.ts";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import { serverSchema } from "../mcp/client/server-config-schema.ts";
import { channelsSchema } from "../observe/notify/channels-config.ts";
import { runsSchema } from "../observe/runs/runs-config.ts";
import { guardrailsSchema } from "../policy/guardrails/guardrails-config.ts";
import { policyOpaque, policySchemas } from "../policy/schema.ts";
import { resultsSchema } from "../results/results-config.ts";
import { secretsSchema } from "../secrets/secrets-config.ts";
import { serverNamePattern } from "../tools/upstream-names.ts";
import { workersSchema } from "../workers/workers-config.ts";
import { listenSchema } from "./listen-config.ts";
import { logLevels } from "./overrides.ts";
import { providedShape } from "./provided-config.ts";

/** The embedded store is the default and has no address. */
export const storePattern: RegExp = /^(?:postgres(?:ql)?|secret):\/\//;
const dayMs = 86_400_000;
const path = z.string().min(1);
const serverName = z
  .string()
  .regex(serverNamePattern, "Use 1 to 32 letters, digits, - and single _ inside: it is part of its tools' names.");

function ms(max: number, what: string) {
  return z.int().min(1).max(max).exactOptional().describe(`${what}, in milliseconds.`);
}

function days(what: string) {
  return z.int().min(1).max(36_500).exactOptional().describe(`${what} are erased after so many days.`);
}

const limits = z.strictObject({
  max_tool_calls: z.int().min(0).exactOptional().describe("Calls of one session; 10000 by default."),
  call_timeout_ms: ms(dayMs, "How long one tool may run"),
  approval_wait_ms: ms(dayMs, "How long a call holds the line for a person"),
  total_timeout_ms: ms(7 * dayMs, "All calls of one session together"),
  max_inline_result_bytes: z
    .int()
    .min(64)
    .max(16 * 1024 * 1024)
    .exactOptional()
    .describe("Larger results are kept as artifacts; 65536 (64 KiB) if left out."),
  max_risk_unapproved: z
    .enum(["safe", "medium", "high"])
    .exactOptional()
    .describe("Above it a person is asked, whatever the autonomy level says."),
});

/** The one definition of a configuration: its file, its TypeScript form and the published JSON Schema come from it. */
const schema = z.strictObject({
  version: z.literal(1).exactOptional().describe("Of this format."),
  listen: listenSchema.exactOptional(),
  data: path
    .exactOptional()
    .describe(
      "Folder of the store, keys, tokens and artifacts, relative to this file; .postern by default. Keep it out of every tool's reach.",
    ),
  store: z
    .string()
    .regex(
      storePattern,
      "Write `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, or a secret that holds it: `secret://…`.",
    )
    .exactOptional()
    .describe("A PostgreSQL database that several Posterns share; a file in the data folder by default."),
  autonomy: z
    .enum(autonomies)
    .exactOptional()
    .describe(
      "What agents may do unasked, A0 (suggest only) to A4 (full); A2 by default. An operator's later switch wins.",
    ),
  agent: z
    .strictObject({
      scopes: z.array(z.string().min(1)).exactOptional().describe("Scopes the agent's token grants; none by default."),
    })
    .exactOptional(),
  policy: policySchemas().section.exactOptional().describe("Rules, thresholds and matrix: docs/reference/policy.md."),
  guardrails: guardrailsSchema.exactOptional().describe("Examine arguments and results: docs/reference/risk.md."),
  limits: limits.exactOptional().describe("The ceiling for every session; a caller may ask for less."),
  accounts: accountsSchema.exactOptional().describe("Who signs in to the console: docs/reference/accounts.md."),
  oauth: oauthSchema
    .exactOptional()
    .describe("Whose tokens `/mcp` takes beside those of Postern: docs/reference/accounts.md."),
  approvals: approvalsSchema
    .exactOptional()
    .describe("How long requests stay open, who decides: docs/reference/approvals.md."),
  audit: auditSchema.exactOptional().describe("How the log is looked after: docs/reference/audit.md."),
  results: resultsSchema.exactOptional().describe("What is kept of large results: docs/reference/results.md."),
  retention: z
    .strictObject({
      calls_days: days("Arguments and outcomes of calls that have ended"),
      approvals_days: days("Requests that were decided or have expired"),
      events_days: days("Entries of the audit log about calls, except for their digests"),
    })
    .exactOptional()
    .describe("What is erased from the store, by kind; what is left out stays: docs/reference/stores.md."),
  servers: z
    .record(serverName, serverSchema as z.ZodType<SnakeCased<ServerConfig>>)
    .exactOptional()
    .describe(
      "Upstream MCP servers, and HTTP APIs by their OpenAPI document, by name: docs/reference/mcp.md, openapi.md.",
    ),
  tools: z
    .strictObject({
      modules: z
        .array(path)
        .exactOptional()
        .describe(
          "Modules whose exported tools are offered, relative to this file. They are code and run inside Postern.",
        ),
      folders: z
        .array(path)
        .exactOptional()
        .describe("Folders with a tool in each `NAME/tool.ts`, relative to this file. They are code as modules are."),
      ...providedShape,
    })
    .exactOptional(),
  skills: skillsSchema.exactOptional().describe("Prompt packages from disk: docs/reference/skills.md."),
  files: filesSchema.exactOptional().describe("Tools for files beneath roots: docs/reference/files.md."),
  memory: memorySchema.exactOptional().describe("What agents may remember: docs/reference/memory.md."),
  secrets: secretsSchema.exactOptional().describe("Where values come from: docs/reference/secrets.md."),
  chains: chainsSchema.exactOptional().describe("Scripts that call tools: docs/reference/chains.md."),
  runs: runsSchema.exactOptional().describe("Folders of runs: docs/reference/runs.md."),
  console: z
    .strictObject({
      edit_policy: z
        .boolean()
        .exactOptional()
        .describe("Whether the console may write the policy into this file; off by default."),
    })
    .exactOptional()
    .describe("The pages that Postern serves: docs/guide/console.md."),
  channels: channelsSchema.exactOptional().describe("Where approvers are notified: docs/reference/channels.md."),
  workers: workersSchema.exactOptional().describe("Tools that run on other machines: docs/reference/workers.md."),
  log: z.strictObject({ level: z.enum(logLevels).exactOptional() }).exactOptional(),
});

/** A checked configuration in the form of its file. */
export type ConfigFile = z.output<typeof schema>;
export const configSchema: z.ZodType<ConfigFile> = schema;
/** The same in TypeScript. */
export type ConfigData = CamelCased<ConfigFile, "equals" | "one_of">;

/** Of the published `packages/postern/schema/postern.schema.json`; editors check a file against it while it is written. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: "input" });
  return {
    $schema,
    $id: "https://postern.dev/schema/postern.schema.json",
    title: "Postern configuration",
    ...rest,
  };
}

/** The keys that are known at each place. */
export function configKeys(): JsonSchemaKeys {
  return keysOf(configSchema);
}

/** Fields whose keys are data: paths, names and values that people chose. */
export const configOpaque: OpaqueFields<"equals" | "one_of"> = opaqueFields([
  ...policyOpaque.fields,
  ...([
    "openid.roles.*",
    "servers.*",
    "servers.*.env",
    "servers.*.headers",
    "servers.*.auth",
    "servers.*.tools.*",
    "skills.agents.*",
    "files.roots.*",
    "webhooks.users.*",
    "workers.keys.*",
    "workers.groups.*",
  ] as never[]), // types know no paths
]);
