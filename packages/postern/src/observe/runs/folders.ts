import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf, RuntimeFault } from "@postern/core";
import { codeOf, makeOwnFolder, plainName } from "@postern/core/system";
import type { RunFolders } from "../../system/run-folders.ts";

/** The parts of every run's folder. Tools may write only to the first two. */
export const runParts = ["workspace", "deliverables", "archive", "logs"] as const;

const runIdPattern = /^[A-Za-z0-9_-]{1,64}$/;
const ownerOnly = 0o700;

/**
 * Run folders beneath `base`, which is made when it is missing: `<base>/<run-id>` for the tenant `default`,
 * `<base>/<tenant>~<run-id>` for others. Folders are the owner's alone, and a link in the place of one is refused.
 *
 * @example
 * const folders = openRunFolders(".postern/runs");
 * folders.open("default", "run_1"); // …/.postern/runs/run_1, with workspace/ deliverables/ archive/ logs/
 *
 * @throws RuntimeFault `config_invalid` when `base` cannot be a folder
 * @public
 */
export function openRunFolders(base: string): RunFolders {
  const root = madeRoot(base);
  return {
    open: (tenant, runId) => {
      const folder = join(root, folderName(tenant, runId));
      makeFolder(folder, runId);
      for (const part of runParts) makeFolder(join(folder, part), runId);
      return folder;
    },
    find: (tenant, runId) => {
      const folder = join(root, folderName(tenant, runId));
      if (!isFolder(folder, runId)) return undefined;
      for (const part of runParts) isFolder(join(folder, part), runId);
      return folder;
    },
  };
}

/**
 * One name for one run: no run id holds a `~`, and a tenant that is no plain word is named by its digest.
 *
 * @throws RuntimeFault `request_invalid`
 */
export function folderName(tenant: string, runId: string): string {
  if (typeof runId !== "string" || !runIdPattern.test(runId)) {
    const shown = JSON.stringify(typeof runId === "string" ? runId.slice(0, 100) : runId) ?? "missing";
    throw new RuntimeFault("request_invalid", `\`${shown}\` is no run's id; it must be 1 to 64 of A-Z a-z 0-9 _ -.`);
  }
  if (tenant === "default") return runId;
  return `${plainName(tenant)}~${runId}`;
}

/** Links on the way to `base` are allowed. Below it there are none. */
function madeRoot(base: string): string {
  try {
    makeOwnFolder(base);
    const root = realpathSync(resolve(base));
    if (!lstatSync(root).isDirectory()) throw new Error("it is no folder");
    return root;
  } catch (error) {
    throw new RuntimeFault(
      "config_invalid",
      `\`${base}\` cannot hold the folders of runs: ${messageOf(error)}. Name a folder that can be written.`,
      { cause: error },
    );
  }
}

/** `mkdir` follows no link at the end of its path. An existing folder must be a real one. */
function makeFolder(path: string, runId: string): void {
  try {
    mkdirSync(path, { mode: ownerOnly });
    return;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  isFolder(path, runId);
}

/** @throws RuntimeFault `request_invalid` if something else is there, for example a link */
function isFolder(path: string, runId: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return found !== undefined;
  throw new RuntimeFault(
    "request_invalid",
    `The run \`${runId}\` cannot be stored: \`${path}\` is not a folder. Move it away.`,
  );
}
