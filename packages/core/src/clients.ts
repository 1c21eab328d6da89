/**
 * What the programs that connect to MCP servers are configured with. `postern connect` writes it, the console shows it.
 *
 * Invariant: no entry holds a token: it says where the client finds one, or starts a program that reads it.
 */
import type { JsonObject } from "./json.ts";

/** The name of Postern in the list of a client. */
export const ownServer = "postern";
/** The variable in which a client finds the token. */
export const tokenVariable = "POSTERN_AGENT_TOKEN";
const tokenInput = "postern-token";

export interface ClientServer {
  /** As it is typed. */
  readonly id: string;
  readonly title: string;
  /** The file with its servers: in the folder of the project, or in that of the user. */
  readonly file: string;
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

const program: ClientServer["stdio"] = (command, args) => ({ command, args });

export const clientServers = [
  {
    ...({ id: "claude", title: "Claude Code", file: ".mcp.json", format: "json", key: "mcpServers" } as const),
    stdio: program,
    http: (url) => ({ type: "http", url, headers: { Authorization: `Bearer \${${tokenVariable}}` } }),
    token: "variable",
  },
  {
    ...({ id: "claude-desktop", title: "Claude Desktop", file: "claude_desktop_config.json" } as const),
    ...({ format: "json", key: "mcpServers" } as const),
    stdio: program,
  },
  {
    ...({ id: "cursor", title: "Cursor", file: ".cursor/mcp.json", format: "json", key: "mcpServers" } as const),
    stdio: program,
    http: (url) => ({ url, headers: { Authorization: `Bearer \${env:${tokenVariable}}` } }),
    token: "variable",
  },
  {
    ...({ id: "vscode", title: "VS Code", file: ".vscode/mcp.json", format: "json", key: "servers" } as const),
    stdio: (command, args) => ({ type: "stdio", command, args }),
    http: (url) => ({ type: "http", url, headers: { Authorization: `Bearer \${input:${tokenInput}}` } }),
    token: "prompt",
    input: { type: "promptString", id: tokenInput, description: "Token of Postern", password: true },
  },
  {
    ...({ id: "codex", title: "Codex", file: "~/.codex/config.toml", format: "toml", key: "mcp_servers" } as const),
    stdio: program,
    http: (url) => ({ url, bearer_token_env_var: tokenVariable }),
    token: "variable",
  },
] as const satisfies readonly ClientServer[];

/** One server in the file of a client. */
export interface ClientEdit {
  /** The member that holds the servers. */
  readonly servers: string;
  readonly name: string;
  readonly entry: JsonObject;
  /** A member of the array `inputs` that the entry refers to. */
  readonly input?: JsonObject & { readonly id: string };
}

/** What an entry adds to the file of its client. */
export function editFor({ key, input }: ClientServer, entry: JsonObject): ClientEdit {
  const isAsked = input !== undefined && JSON.stringify(entry).includes(`\${input:${input.id}}`);
  return { servers: key, name: ownServer, entry, ...(isAsked && { input }) };
}

/** A file that holds this server alone. */
export function clientFileText({ format }: Pick<ClientServer, "format">, edit: ClientEdit): string {
  const { servers, name, entry, input } = edit;
  if (format === "json") {
    const document = { [servers]: { [name]: entry }, ...(input !== undefined && { inputs: [input] }) };
    return `${JSON.stringify(document, undefined, 2)}\n`;
  }
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`); // texts and lists are alike in TOML
  return `[${servers}.${name}]\n${lines.join("\n")}\n`;
}
