import { risks } from "@postern/core";
import { z } from "zod";
import type { KeyPath } from "../../checks/schema-problems.ts";
import { askable } from "./questions.ts";
import { revisions } from "./revision.ts";
import { leastIdleStopMs, serverKinds } from "./server-config.ts";

/** `ServerConfig` as a file states it: snake_case, unknown keys refused. Only packages/postern/src/config reads it, so a library user does not load it. */
export const serverSchema: z.ZodType = server();

function server() {
  return z
    .strictObject({ ...addressMembers(), ...openApiMembers(), ...trustMembers() })
    .refine(
      (given) => serverKinds.filter((kind) => given[kind] !== undefined).length === 1,
      "Give either `command` or `url`, or `openapi` for the document of an HTTP API.",
    )
    .refine(
      ({ command, args, env, cwd }) => command !== undefined || (args ?? env ?? cwd) === undefined,
      "`args`, `env` and `cwd` go with `command`, not with `url` or `openapi`.",
    )
    .refine(
      ({ command, headers, transport, oauth: given }) =>
        command === undefined || (headers ?? transport ?? given) === undefined,
      "`headers`, `oauth` and `transport` go with `url`, not with `command`.",
    )
    .refine(
      ({ openapi, transport, revision, oauth: given }) =>
        openapi === undefined || (transport ?? revision ?? given) === undefined,
      "`transport`, `revision` and `oauth` go with an MCP server, not with `openapi`.",
    )
    .refine(
      ({ openapi, base_url, auth, operations }) =>
        openapi !== undefined || (base_url ?? auth ?? operations) === undefined,
      "`base_url`, `auth` and `operations` go with `openapi`.",
    )
    .refine(
      ({ start, idle_stop_ms }) => idle_stop_ms === undefined || start === "on_demand",
      "`idle_stop_ms` goes with `start: on_demand`.",
    )
    .refine(
      ({ openapi, start }) => openapi === undefined || start === undefined,
      "`start` goes with `command` or `url`, not with `openapi`.",
    )
    .refine(
      ({ openapi, oauth: given, allow_private }) => (openapi ?? given) !== undefined || allow_private === undefined,
      "`allow_private` goes with `openapi` or `oauth`.",
    );
}

function openApiMembers() {
  const patterns = z.array(z.string().min(1)).min(1);
  return {
    openapi: z
      .string()
      .min(1)
      .exactOptional()
      .describe("File or address of an OpenAPI document; each operation is a tool: docs/reference/openapi.md."),
    base_url: z.string().min(1).exactOptional().describe("Where requests go; the document's first server by default."),
    auth: z
      .record(z.string().min(1), z.string().min(1))
      .exactOptional()
      .describe(
        "Values by the names of the document's security schemes: `secret://connector/key`; `user:password` for `basic`.",
      ),
    operations: z
      .strictObject({ include: patterns.exactOptional(), exclude: patterns.exactOptional() })
      .exactOptional()
      .describe("Operations by `operationId` or `METHOD /path`, with `*` for any characters."),
    allow_private: z
      .boolean()
      .exactOptional()
      .describe(
        "Whether it, or with `oauth` its authorization server, may be a machine of this network, over http too.",
      ),
  };
}

function addressMembers() {
  const texts = z.record(z.string().min(1), z.string());
  return {
    command: z
      .string(
        "Write the program alone, and what follows it under `args`: `command: npx` and `args: [-y, some-server]`.",
      )
      .min(1)
      .exactOptional()
      .describe("The program to start; it is spoken to over its pipes. Either this or `url`."),
    args: z.array(z.string()).exactOptional(),
    env: texts
      .exactOptional()
      .describe(
        "What the program sees beside PATH, HOME and the like. Values may be `secret://connector/key` and name variables of Postern's own environment: docs/reference/mcp.md.",
      ),
    cwd: z.string().min(1).exactOptional(),
    url: z.string().min(1).exactOptional().describe("Address of a server that speaks Streamable HTTP or HTTP+SSE."),
    transport: z
      .enum(["http", "sse"])
      .exactOptional()
      .describe(
        "`http`: Streamable HTTP. `sse`: HTTP+SSE of revision 2024-11-05. Without it both are tried, `sse` first when the path of `url` ends in `/sse`.",
      ),
    oauth: oauth().exactOptional(),
    headers: texts
      .exactOptional()
      .describe(
        "Sent with every request. Values may be `secret://connector/key`, `secret://person/key` for a key that each person enters, and name variables of Postern's own environment: docs/reference/mcp.md.",
      ),
  };
}

function oauth() {
  return z
    .strictObject({
      client_id: z
        .string()
        .min(1)
        .exactOptional()
        .describe("Of a client registered by hand; else Postern registers itself."),
      client_secret: z.string().min(1).exactOptional().describe("`secret://connector/key`."),
      scopes: z.array(z.string().min(1)).min(1).exactOptional().describe("Those the server asks for by default."),
      per: z
        .enum(["user", "server"])
        .exactOptional()
        .describe(
          "`user` (default): each person signs in, and only its own calls use that. `server`: one sign-in for all.",
        ),
      grant: z
        .enum(["authorization_code", "client_credentials"])
        .exactOptional()
        .describe("`client_credentials`: no person signs in. Default: `authorization_code`."),
    })
    .describe("The server asks for OAuth: docs/reference/connections.md.");
}

function trustMembers() {
  return {
    enabled: z.boolean().exactOptional().describe("False: the server is not connected."),
    trust: z
      .enum(["none", "annotations"])
      .exactOptional()
      .describe("`annotations`: believe the hints this server gives on its tools."),
    pin: z
      .enum(["first_seen", "strict"])
      .exactOptional()
      .describe(
        "When a tool's definition is trusted: as it is first seen (the default), or `strict`: when an operator has approved it. A changed one waits for an operator in both.",
      ),
    mode: z
      .enum(["observe", "enforce"])
      .exactOptional()
      .describe("`observe`: its calls are decided and recorded, and only what always holds is enforced."),
    risk: risk().exactOptional().describe("For all of its tools that have none of their own; `high` by default."),
    open_world: z
      .boolean()
      .exactOptional()
      .describe("False: its results are as trusted as your own, for tools for which nothing else is stated."),
    defer: z
      .boolean()
      .exactOptional()
      .describe(
        "True: `/mcp` lists `tool_search` instead of its tools, and each tool that a client has found with it.",
      ),
    call_timeout_ms: timeoutMs().exactOptional(),
    limits: z
      .strictObject({
        concurrent: z.int().min(1).exactOptional().describe("So many calls run at a time; others wait for their turn."),
        per_minute: z.int().min(1).exactOptional().describe("So many calls begin within 60 s; others are refused."),
      })
      .exactOptional()
      .describe("Limits of its calls, over all callers."),
    start_timeout_ms: timeoutMs()
      .exactOptional()
      .describe("How long it may take until it is connected and has listed its tools; 60000 by default."),
    start: z
      .enum(["at_start", "on_demand"])
      .exactOptional()
      .describe(
        "`on_demand`: started by the first call that needs it, once its tools are known, and stopped when idle. `at_start` by default.",
      ),
    idle_stop_ms: z
      .int()
      .min(leastIdleStopMs)
      .max(86_400_000)
      .exactOptional()
      .describe("With `start: on_demand`: stopped when no call needed it for this long; 300000 by default."),
    may_ask: z
      .array(z.enum(askable))
      .exactOptional()
      .describe(
        "What it may ask the clients of its calls: a person's answer (`elicitation`), their model (`sampling`), their folders (`roots`). Nothing by default.",
      ),
    revision: z
      .enum(revisions)
      .exactOptional()
      .describe("The revision of the protocol that it speaks. Without it the server is asked."),
    tools: z.record(z.string().min(1), tool()).exactOptional().describe("Settings by the server's own tool names."),
  };
}

function tool() {
  return z.strictObject({
    enabled: z.boolean().exactOptional().describe("False: the tool is not offered at all."),
    as: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, "Use 1 to 64 letters, digits, `-` and `_`.")
      .exactOptional()
      .describe("Its name here, instead of the server's own: when two names look alike."),
    description: z
      .string()
      .min(1)
      .exactOptional()
      .describe("What models read, instead of the server's own description."),
    risk: risk().exactOptional(),
    effects: z
      .enum(["read", "write", "destructive"])
      .exactOptional()
      .describe("What it does to the world; `write` by default."),
    open_world: z.boolean().exactOptional().describe("Whether its results may hold untrusted text; true by default."),
    idempotent: z.boolean().exactOptional().describe("True: running it twice does no more than running it once."),
    scopes: z.array(z.string().min(1)).exactOptional().describe("Scopes a caller needs for it."),
    timeout_ms: timeoutMs().exactOptional(),
    preview: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        "Another tool of the server, read-only, that is called with the same arguments to show what a call would do.",
      ),
    defer: z.boolean().exactOptional().describe("Whether it is found by search, instead of the server's `defer`."),
    optional: z.boolean().exactOptional().describe("True: no warning if the server has no such tool."),
  });
}

function risk() {
  return z.enum(risks);
}

function timeoutMs() {
  return z.int().min(1).max(86_400_000);
}

const environment = "Write the variables under `env`, where values may name variables of Postern's own environment.";
const unasked = "Write `tools: { NAME: { risk: safe } }` for each tool that may run unasked.";
const off = "Write `tools: { NAME: { enabled: false } }` for each of them.";

/** Keys of a server in the `mcp.json` of other clients, with what to write here. */
const otherKeys: Readonly<Record<string, string>> = {
  type: "Remove it: `command` means stdio, and `url` HTTP. For HTTP+SSE add `transport: sse`.",
  disabled: "Write `enabled: false` instead of `disabled: true`.",
  timeout: "Write `call_timeout_ms`, in milliseconds.",
  serverUrl: "Write `url`.",
  httpUrl: "Write `url`.",
  autoApprove: unasked,
  alwaysAllow: unasked,
  disabledTools: off,
  excludeTools: off,
  envFile: environment,
};

/** What to write instead of a key or a value of another client's `mcp.json`. */
export function fixForOtherClients(
  [section, server, key, ...rest]: KeyPath,
  part: "key" | "value",
): string | undefined {
  if (section === "mcpServers" && server === undefined)
    return "Write `servers`, and under it each server by its name: docs/reference/mcp.md says which keys it has.";
  if (section !== "servers" || typeof key !== "string" || rest.length > 0) return undefined;
  if (part === "key") return Object.hasOwn(otherKeys, key) ? otherKeys[key] : undefined;
  if (key !== "transport") return undefined;
  return "Write `http` for Streamable HTTP or `sse` for HTTP+SSE, or remove it: then both are tried. With `command` there is none.";
}
