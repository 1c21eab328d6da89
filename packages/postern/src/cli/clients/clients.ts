/**
 * The programs that connect to MCP servers: where each keeps its list of servers. What an entry for Postern looks like is
 * in core/src/clients.ts.
 *
 * Invariant: a new client is a row of that table and a row of this one, not code elsewhere.
 * Next: client-format.ts (how a file is edited), client-file.ts (how it is read and written), imported-servers.ts.
 */

import { homedir } from "node:os";
import { join } from "node:path";
import { type ClientServer, clientServers } from "@postern/core";

/** The machine on which the client runs. */
export interface ClientMachine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of the project. */
  readonly folder: string;
}

export interface ClientKind extends ClientServer {
  /** The files in which it keeps servers. `connect` takes the first. */
  readonly files: (machine: ClientMachine) => readonly string[];
}

const files: Readonly<Record<(typeof clientServers)[number]["id"], ClientKind["files"]>> = {
  claude: ({ folder, home }) => [join(folder, ".mcp.json"), join(home, ".claude.json")],
  "claude-desktop": (machine) => [join(applicationData(machine), "Claude", "claude_desktop_config.json")],
  cursor: ({ folder, home }) => [join(folder, ".cursor", "mcp.json"), join(home, ".cursor", "mcp.json")],
  vscode: (machine) => [
    join(machine.folder, ".vscode", "mcp.json"),
    join(applicationData(machine), "Code", "User", "mcp.json"),
  ],
  codex: ({ home, environment }) => [join(environment["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
};

export const clientKinds: readonly ClientKind[] = clientServers.map((one) => ({ ...one, files: files[one.id] }));

function applicationData({ platform, home, environment }: ClientMachine): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return environment["APPDATA"] ?? join(home, "AppData", "Roaming");
  return environment["XDG_CONFIG_HOME"] || join(home, ".config");
}

export function thisMachine(folder: string): ClientMachine {
  return { platform: process.platform, home: homedir(), environment: process.env, folder };
}
