import { existsSync, readFileSync } from "node:fs";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, RuntimeFault } from "@postern/core";
import type { CommandGroup } from "../command.ts";
import { commandName } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { print } from "../output/print.ts";

const ignored = ".postern/";
/** A new configuration beside one of them would not be read, or not alone. */
const configurations = ["postern.yaml", "postern.yml", "postern.json"];

type ProjectFiles = readonly (readonly [name: string, text: string])[];

/** The configuration comes last: a folder that has it has all files, and a second try goes on where the first stopped. */
const project: ProjectFiles = [
  ["tools.mts", template("tools.mts")],
  [".gitignore", `${ignored}\n`],
  ["postern.yaml", template("postern.yaml")],
];

function template(name: string): string {
  return readFileSync(new URL(`../../../starter/${name}`, import.meta.url), "utf8");
}

/** Asks only whether to store secrets. Writes only into a folder without a configuration: all files, or none. */
export function commands(group: CommandGroup): void {
  group.own("[folder]", {
    words: { "[folder]": "where (default: here)" },
    options: {
      "--from [file]": "take over the MCP servers of a client's file; without a file: list those that are here",
    },
    run: async ({ sent: { folder: named = "." }, options: { from }, host, flags }) => {
      const folder = resolve(named);
      const typed = { host, flags };
      if (from === true) return (await import("../clients/import-command.ts")).listClientFiles(typed, folder);
      const inTheWay = configurations.find((name) => existsSync(join(folder, name)));
      const isTaken = inTheWay ?? (from === undefined ? await otherTools(folder) : undefined);
      if (isTaken !== undefined)
        throw new RuntimeFault(
          "request_invalid",
          `\`${join(folder, isTaken)}\` is there already, so nothing was written. Keep it, or name another folder: \`postern init FOLDER\`.`,
        );
      if (from !== undefined) {
        const { importFrom } = await import("../clients/import-command.ts");
        const write = (text: string): Promise<WrittenFiles> => writeProject(folder, importedProject(text));
        return importFrom(typed, { file: from, folder, start: template("postern.yaml"), write });
      }
      const { files, advice } = await writeProject(folder, project);
      const there = folder === process.cwd() ? "" : `cd ${folder} && `;
      const next = `${advice}Next: ${there}${commandName(flags)} start\n`;
      print(typed, { folder, files }, `Wrote ${files.join(", ")} in ${folder}.\n${next}`);
      return exitCodes.ok;
    },
  });
}

/** Imported servers bring the tools, so there is no example. */
function importedProject(text: string): ProjectFiles {
  return [
    [".gitignore", `${ignored}\n`],
    ["postern.yaml", text],
  ];
}

export interface WrittenFiles {
  readonly files: readonly string[];
  /** A line for the person, or none. */
  readonly advice: string;
}

async function writeProject(folder: string, files: ProjectFiles): Promise<WrittenFiles> {
  const isIgnored = await ignoresData(folder);
  const missing = files.filter(([name]) => !existsSync(join(folder, name)));
  const written = await write(folder, missing);
  return { files: written, advice: isIgnored ? "" : `Add \`${ignored}\` to .gitignore: it holds keys and tokens.\n` };
}

/** A `.gitignore` that exists is only read. */
async function ignoresData(folder: string): Promise<boolean> {
  const file = join(folder, ".gitignore");
  if (!existsSync(file)) return true;
  return (await readFile(file, "utf8")).split(/\r?\n/).some((line) => /^\/?\.postern\/?$/.test(line.trim()));
}

/** Returns the name of a file of tools that `init` did not write. */
async function otherTools(folder: string): Promise<string | undefined> {
  const file = join(folder, "tools.mts");
  const isOther = existsSync(file) && (await readFile(file, "utf8").catch(() => "")) !== template("tools.mts");
  return isOther ? "tools.mts" : undefined;
}

/** All of them, or none. */
async function write(folder: string, files: ProjectFiles): Promise<readonly string[]> {
  const made: string[] = [];
  for (const [name, text] of files) {
    const file = join(folder, name);
    try {
      await mkdir(folder, { recursive: true });
      await using handle = await open(file, "wx"); // never overwrites
      made.push(name);
      await handle.writeFile(text);
    } catch (error) {
      const removed = await Promise.allSettled(made.map((one) => rm(join(folder, one))));
      const left = made.filter((_, i) => removed[i]?.status === "rejected");
      const rest = left.length === 0 ? "Nothing was written" : `Remove ${left.join(", ")} by hand`;
      throw new RuntimeFault("request_invalid", `\`${file}\` cannot be made: ${messageOf(error)}. ${rest}.`, {
        cause: error,
      });
    }
  }
  return made;
}
