import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, RuntimeFault } from "../../../calls/fault.ts";
import { commandName } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson } from "../session.ts";

const configuration = `# yaml-language-server: $schema=./node_modules/postern/schema/postern.schema.json
# What is served here, and what agents may do unasked. Paths are relative to this file.
version: 1

data: .postern # books, keys and tokens: out of every tool's reach, and out of git
autonomy: A2 # safe calls run, medium and high ones ask a person, critical ones are blocked

approvals:
  patience: suspend # a call that needs a person stays open, and is sent again

tools:
  modules: [./tools.mts]

# Any MCP server. Its tools are \`high\` until you say otherwise, tool by tool:
# servers:
#   files:
#     command: npx
#     args: [-y, "@modelcontextprotocol/server-filesystem", workspace]
#     tools:
#       read_text_file: { risk: safe, effects: read, idempotent: true }
`;

const tools = `import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { defineTool } from "postern";

/** Safe, so it runs at once. */
export const clock = defineTool({
  name: "clock",
  description: "Tells the current time, UTC.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  execute: () => new Date().toISOString(),
});

/** Writes, so a person is asked first and sees the preview. */
export const note = defineTool({
  name: "note",
  description: "Appends one line to notes.md.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: {
    type: "object",
    properties: { text: { type: "string", minLength: 1, maxLength: 2000 } },
    required: ["text"],
    additionalProperties: false,
  },
  preview: async ({ text }) => ({ summary: "Appends one line to notes.md", diff: \`+\${text}\` }),
  execute: async ({ text }) => {
    await appendFile(join(import.meta.dirname, "notes.md"), \`\${text}\\n\`);
    return "Appended.";
  },
});
`;

const ignored = ".postern/";
/** Beside any of them a new configuration would not be read, or not alone. */
const configurations = ["postern.yaml", "postern.yml", "postern.json"];

/** Asks nothing, and writes into a folder without a configuration only. */
export async function init(host: Host, named: string | undefined, flags: GlobalFlags): Promise<ExitCode> {
  const folder = resolve(named ?? ".");
  const there = [...configurations, "tools.mts"].find((name) => existsSync(join(folder, name)));
  if (there !== undefined)
    throw new RuntimeFault(
      "file_unwritable",
      `\`${join(folder, there)}\` is there already, so nothing was written. Keep it, or name another folder: \`postern init FOLDER\`.`,
    );
  const files = ["tools.mts", "postern.yaml"];
  await written(folder, "tools.mts", tools);
  await written(folder, "postern.yaml", configuration);
  const ignore = await ignoredIn(folder);
  if (ignore === undefined) {
    await written(folder, ".gitignore", `${ignored}\n`);
    files.push(".gitignore");
  }
  if (flags.json === true) printJson(host, { folder, files });
  else host.terminal.out(nextSteps(folder, { files, isIgnored: ignore !== false, command: commandName(flags) }));
  return exitCodes.ok;
}

/** Undefined: there is no `.gitignore`. One that is there is its owner's, and only looked at. */
async function ignoredIn(folder: string): Promise<boolean | undefined> {
  const file = join(folder, ".gitignore");
  if (!existsSync(file)) return undefined;
  const lines = (await readFile(file, "utf8")).split(/\r?\n/).map((line) => line.trim());
  return lines.some((line) => /^\/?\.postern\/?$/.test(line));
}

async function written(folder: string, name: string, text: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), text, { flag: "wx" });
  } catch (error) {
    throw new RuntimeFault("file_unwritable", `\`${join(folder, name)}\` cannot be made: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

function nextSteps(
  folder: string,
  said: { readonly files: readonly string[]; readonly isIgnored: boolean; readonly command: string },
): string {
  const add = said.isIgnored ? "" : `Add \`${ignored}\` to .gitignore: keys and tokens lie there.\n`;
  const there = folder === process.cwd() ? "" : `cd ${folder} && `;
  return `Wrote ${said.files.join(", ")} in ${folder}.\n${add}Next: ${there}${said.command} start\n`;
}
