import { z } from "zod";
import { type AccountsFile, accountsSchema } from "../accounts/accounts-config.ts";
import { type ApprovalsFile, approvalsSchema } from "../approvals/approvals-config.ts";
import { type AuditFile, auditSchema } from "../audit/audit-config.ts";
import type { Autonomy } from "../calls/call.ts";
import { type OpaqueFields, opaqueFields } from "../calls/case.ts";
import type { LimitsFile } from "../calls/limits-file.ts";
import { autonomies } from "../calls/risk.ts";
import { type JsonSchemaKeys, keysOf } from "../calls/schema-problems.ts";
import { type ChainsFile, chainsSchema } from "../chains/chains-config.ts";
import { type ChannelsFile, channelsSchema } from "../channels/channels-config.ts";
import { type GuardrailFile, guardrailsSchema } from "../policy/guardrails/guardrails-config.ts";
import { type PolicyFile, policyOpaque, policySchemas } from "../policy/schema.ts";
import { type ResultsFile, resultsSchema } from "../results/results-config.ts";
import { type SecretsFile, secretsSchema } from "../secrets/secrets-config.ts";
import { type FilesFile, filesSchema } from "../tools/builtin/files/files-config.ts";
import { type MemoryFile, memorySchema } from "../tools/builtin/memory/memory-config.ts";
import { type ProvidedFile, providedShape } from "../tools/builtin/provided/provided-config.ts";
import { type SkillsFile, skillsSchema } from "../tools/builtin/skills/skills-config.ts";
import { serverNamePattern } from "../tools/upstream/names.ts";
import { serverSchema } from "../tools/upstream/server-config-schema.ts";
import { type RunsFile, runsSchema } from "../watchers/archive/runs-config.ts";

/** `postern.yaml` and `postern.json` as they are written; `postern.config.ts` says the same in camelCase. */
export interface ConfigFile {
  readonly version?: 1 | undefined;
  readonly listen?: ListenFile | undefined;
  readonly accounts?: AccountsFile | undefined;
  readonly data?: string | undefined;
  readonly autonomy?: Autonomy | undefined;
  readonly agent?: { readonly scopes?: readonly string[] | undefined } | undefined;
  readonly policy?: PolicyFile | undefined;
  readonly guardrails?: readonly GuardrailFile[] | undefined;
  readonly limits?: LimitsFile | undefined;
  readonly approvals?: ApprovalsFile | undefined;
  readonly audit?: AuditFile | undefined;
  readonly results?: ResultsFile | undefined;
  readonly servers?: Readonly<Record<string, unknown>> | undefined;
  readonly tools?:
    | (ProvidedFile & {
        readonly modules?: readonly string[] | undefined;
        readonly folders?: readonly string[] | undefined;
      })
    | undefined;
  readonly files?: FilesFile | undefined;
  readonly memory?: MemoryFile | undefined;
  readonly skills?: SkillsFile | undefined;
  readonly secrets?: SecretsFile | undefined;
  readonly runs?: RunsFile | undefined;
  readonly chains?: ChainsFile | undefined;
  readonly console?: { readonly edit_policy?: boolean | undefined } | undefined;
  readonly channels?: ChannelsFile | undefined;
  readonly log?: { readonly level?: LogLevel | undefined } | undefined;
}

export interface ListenFile {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly public_url?: string | undefined;
  readonly max_connections_per_address?: number | undefined;
}

export type LogLevel = "error" | "warn" | "info" | "debug";
/** `https://HOST` or `https://HOST:PORT`: what stands in a browser's `Origin`. */
export const publicUrlPattern: RegExp = /^https:\/\/[a-z0-9.-]+(?::\d{1,5})?$/;
export const logLevels: readonly LogLevel[] = ["error", "warn", "info", "debug"];
export const loopbackHosts: readonly string[] = ["127.0.0.1", "localhost", "::1"];

const dayMs = 86_400_000;
const path = z.string().min(1);
const serverName = z
  .string()
  .regex(serverNamePattern, "Use 1 to 32 letters, digits, - and single _ inside: it is part of its tools' names.");

function ms(max: number, what: string): z.ZodType<number | undefined> {
  return z.int().min(1).max(max).optional().describe(`${what}, in milliseconds.`);
}

const limits = z.strictObject({
  max_tool_calls: z.int().min(0).optional().describe("Calls of one session; 10000 when nothing is said."),
  call_timeout_ms: ms(dayMs, "How long one tool may run"),
  approval_wait_ms: ms(dayMs, "How long a call holds the line for a person"),
  total_timeout_ms: ms(7 * dayMs, "All calls of one session together"),
  max_inline_result_bytes: z
    .int()
    .min(64)
    .max(16 * 1024 * 1024)
    .optional()
    .describe("Larger results are kept as artifacts; 65536 (64 KiB) if left out."),
  max_risk_unapproved: z
    .enum(["safe", "medium", "high"])
    .optional()
    .describe("Above it a person is asked, whatever the autonomy level says."),
});

/** The one schema: file, TypeScript and the published JSON Schema are all made from it. */
export const configSchema: z.ZodType<ConfigFile> = z.strictObject({
  version: z.literal(1).optional().describe("Of this format."),
  listen: z
    .strictObject({
      host: z
        .enum(["127.0.0.1", "localhost", "::1"])
        .optional()
        .describe("Postern listens on this machine only; put a proxy with TLS in front to reach it from elsewhere."),
      port: z.int().min(0).max(65_535).optional().describe("7420 when nothing is said; 0 takes a free one."),
      public_url: z
        .string()
        .regex(publicUrlPattern, "must be `https://HOST` or `https://HOST:PORT`, without a path")
        .optional()
        .describe(
          "How people reach it through the proxy in front, which keeps the `Host` header; `channels.console_url` when nothing is said.",
        ),
      max_connections_per_address: z
        .int()
        .min(1)
        .max(100_000)
        .optional()
        .describe("Open connections of one client address, loopback and a proxy's included; default 1000."),
    })
    .optional(),
  data: path
    .optional()
    .describe(
      "Folder of books, keys, tokens and artifacts, relative to this file; .postern when nothing is said. Keep it out of every tool's reach.",
    ),
  autonomy: z
    .enum(autonomies)
    .optional()
    .describe(
      "What agents may do unasked, A0 (suggest only) to A4 (full); A2 when nothing is said. An operator's later switch wins.",
    ),
  agent: z
    .strictObject({
      scopes: z
        .array(z.string().min(1))
        .optional()
        .describe("Scopes the agent's token grants; none when nothing is said."),
    })
    .optional(),
  policy: policySchemas().section.optional().describe("Rules, thresholds and matrix: docs/reference/policy.md."),
  guardrails: guardrailsSchema.optional().describe("Looks at arguments and at results: docs/reference/risk.md."),
  limits: limits.optional().describe("The ceiling for every session; a caller may ask for less."),
  accounts: accountsSchema.optional().describe("Who signs in to the console: docs/reference/accounts.md."),
  approvals: approvalsSchema
    .optional()
    .describe("How long requests stay open, who decides: docs/reference/approvals.md."),
  audit: auditSchema.optional().describe("How the log is looked after: docs/reference/audit.md."),
  results: resultsSchema.optional().describe("What is kept of large results: docs/reference/results.md."),
  servers: z
    .record(serverName, serverSchema)
    .optional()
    .describe("Upstream MCP servers by name: docs/reference/mcp.md."),
  tools: z
    .strictObject({
      modules: z
        .array(path)
        .optional()
        .describe(
          "Modules whose exported tools are offered, relative to this file. They are code and run inside Postern.",
        ),
      folders: z
        .array(path)
        .optional()
        .describe("Folders with a tool in each `NAME/tool.ts`, relative to this file. They are code as modules are."),
      ...providedShape,
    })
    .optional(),
  skills: skillsSchema.optional().describe("Prompt packages from disk: docs/reference/skills.md."),
  files: filesSchema.optional().describe("Tools for files beneath roots: docs/reference/files.md."),
  memory: memorySchema.optional().describe("What agents may remember: docs/reference/memory.md."),
  secrets: secretsSchema.optional().describe("Where values come from: docs/reference/secrets.md."),
  chains: chainsSchema.optional().describe("Scripts that call tools: docs/reference/chains.md."),
  runs: runsSchema.optional().describe("Folders of runs: docs/reference/runs.md."),
  console: z
    .strictObject({
      edit_policy: z
        .boolean()
        .optional()
        .describe("Whether the console may write the policy into this file; off when nothing is said."),
    })
    .optional()
    .describe("The pages that Postern serves: docs/guide/console.md."),
  channels: channelsSchema
    .optional()
    .describe("Where people are told that they are wanted: docs/reference/channels.md."),
  log: z.strictObject({ level: z.enum(["error", "warn", "info", "debug"]).optional() }).optional(),
});

/** Of the published `schema/postern.schema.json`; editors check a file against it while it is written. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: "input" });
  return {
    $schema,
    $id: "https://postern.dev/schema/postern.schema.json",
    title: "Postern configuration",
    ...rest,
  };
}

/** Which keys are known where. */
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
    "servers.*.tools.*",
    "skills.agents.*",
    "files.roots.*",
    "webhooks.users.*",
  ] as never[]), // types know no paths
]);
