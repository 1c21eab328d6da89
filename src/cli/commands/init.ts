import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, RuntimeFault } from "../../core/fault.ts";
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

/** The configuration is the last: a folder that has it has all of it, and one that was left half goes on where it stopped. */
const project: readonly (readonly [name: string, text: string])[] = [
  ["tools.mts", tools],
  [".gitignore", `${ignored}\n`],
  ["postern.yaml", configuration],
];

/** Asks nothing, and writes into a folder without a configuration only: all of it, or nothing that stays. */
export async function init(host: Host, named: string | undefined, flags: GlobalFlags): Promise<ExitCode> {
  const folder = resolve(named ?? ".");
  const there = configurations.find((name) => existsSync(join(folder, name))) ?? (await othersTools(folder));
  if (there !== undefined)
    throw new RuntimeFault(
      "file_unwritable",
      `\`${join(folder, there)}\` is there already, so nothing was written. Keep it, or name another folder: \`postern init FOLDER\`.`,
    );
  const ignore = await ignoredIn(folder);
  const files = await written(
    folder,
    project.filter(([name]) => !existsSync(join(folder, name))),
  );
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

/** Tools that are not the ones written here, whose rest may be missing. */
async function othersTools(folder: string): Promise<string | undefined> {
  const file = join(folder, "tools.mts");
  const isOther = existsSync(file) && (await readFile(file, "utf8").catch(() => "")) !== tools;
  return isOther ? "tools.mts" : undefined;
}

/** All of them, or none: what was made before one that cannot be is taken away. */
async function written(folder: string, files: typeof project): Promise<readonly string[]> {
  const made: string[] = [];
  for (const [name, text] of files) {
    const file = join(folder, name);
    try {
      await mkdir(folder, { recursive: true });
      await using handle = await open(file, "wx"); // nobody else's is written over
      made.push(name);
      await handle.writeFile(text);
    } catch (error) {
      const left = await takenAway(folder, made);
      const rest = left.length === 0 ? "Nothing was written" : `Take ${left.join(", ")} away by hand`;
      throw new RuntimeFault("file_unwritable", `\`${file}\` cannot be made: ${messageOf(error)}. ${rest}.`, {
        cause: error,
      });
    }
  }
  return made;
}

/** Answers what is left. */
async function takenAway(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const gone = await Promise.allSettled(names.map((name) => rm(join(folder, name))));
  return names.filter((_, i) => gone[i]?.status === "rejected");
}

function nextSteps(
  folder: string,
  said: { readonly files: readonly string[]; readonly isIgnored: boolean; readonly command: string },
): string {
  const add = said.isIgnored ? "" : `Add \`${ignored}\` to .gitignore: keys and tokens lie there.\n`;
  const there = folder === process.cwd() ? "" : `cd ${folder} && `;
  return `Wrote ${said.files.join(", ")} in ${folder}.\n${add}Next: ${there}${said.command} start\n`;
}
