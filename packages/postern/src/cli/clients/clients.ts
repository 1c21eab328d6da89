/**
 * The programs that connect to MCP servers: where each keeps its list of servers, and what an entry for Postern looks like.
 *
 * Invariant: a new client is a row of this table, not code elsewhere. No entry holds a token: it says where the client
 * finds one, or starts `postern start --stdio`, which reads the token itself.
 * Next: client-format.ts (how a file is edited), client-file.ts (how it is read and written), imported-servers.ts.
 */

import { homedir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@postern/core";
import type { ClientEdit } from "./client-format.ts";

/** The name of Postern in the list of a client. */
export const ownServer = "postern";
/** The variable in which a client finds the token. */
export const tokenVariable = "POSTERN_AGENT_TOKEN";
const tokenInput = "postern-token";

/** The machine on which the client runs. */
export interface ClientMachine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of the project. */
  readonly folder: string;
}

export interface ClientKind {
  /** As it is typed. */
  readonly id: string;
  readonly title: string;
  /** The files in which it keeps servers. `connect` takes the first. */
  readonly files: (machine: ClientMachine) => readonly string[];
  readonly format: "json" | "toml";
  /** The member that holds the servers by name. */
  readonly key: "mcpServers" | "servers" | "mcp_servers";
  /** Its entry of a program. */
  readonly stdio: (command: string, args: readonly string[]) => JsonObject;
  /** Its entry of an address, with a reference to the token. Without it, the client only starts programs. */
  readonly http?: (url: string) => JsonObject;
  /** Where a client that speaks HTTP finds the token. */
  readonly token?: "variable" | "prompt";
  /** A member of the array `inputs` that the entry refers to. */
  readonly input?: JsonObject & { readonly id: string };
}

const program: ClientKind["stdio"] = (command, args) => ({ command, args });

export const clientKinds: readonly ClientKind[] = [
  {
    id: "claude",
    title: "Claude Code",
    files: ({ folder, home }) => [join(folder, ".mcp.json"), join(home, ".claude.json")],
    format: "json",
    key: "mcpServers",
    stdio: program,
    http: (url) => ({ type: "http", url, headers: { Authorization: `Bearer \${${tokenVariable}}` } }),
    token: "variable",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    files: (machine) => [join(applicationData(machine), "Claude", "claude_desktop_config.json")],
    format: "json",
    key: "mcpServers",
    stdio: program,
  },
  {
    id: "cursor",
    title: "Cursor",
    files: ({ folder, home }) => [join(folder, ".cursor", "mcp.json"), join(home, ".cursor", "mcp.json")],
    format: "json",
    key: "mcpServers",
    stdio: program,
    http: (url) => ({ url, headers: { Authorization: `Bearer \${env:${tokenVariable}}` } }),
    token: "variable",
  },
  {
    id: "vscode",
    title: "VS Code",
    files: (machine) => [
      join(machine.folder, ".vscode", "mcp.json"),
      join(applicationData(machine), "Code", "User", "mcp.json"),
    ],
    format: "json",
    key: "servers",
    stdio: (command, args) => ({ type: "stdio", command, args }),
    http: (url) => ({ type: "http", url, headers: { Authorization: `Bearer \${input:${tokenInput}}` } }),
    token: "prompt",
    input: { type: "promptString", id: tokenInput, description: "Token of Postern", password: true },
  },
  {
    id: "codex",
    title: "Codex",
    files: ({ home, environment }) => [join(environment["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
    format: "toml",
    key: "mcp_servers",
    stdio: program,
    http: (url) => ({ url, bearer_token_env_var: tokenVariable }),
    token: "variable",
  },
];

function applicationData({ platform, home, environment }: ClientMachine): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return environment["APPDATA"] ?? join(home, "AppData", "Roaming");
  return environment["XDG_CONFIG_HOME"] || join(home, ".config");
}

export function thisMachine(folder: string): ClientMachine {
  return { platform: process.platform, home: homedir(), environment: process.env, folder };
}

/** What an entry adds to the file of its client. */
export function editFor({ key, input }: ClientKind, entry: JsonObject): ClientEdit {
  const isAsked = input !== undefined && JSON.stringify(entry).includes(`\${input:${input.id}}`);
  return { servers: key, name: ownServer, entry, ...(isAsked && { input }) };
}
