/** Loads the package `@postern/agents`. This is the only import of it in postern: the package is installed apart. */
import { messageOf, RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";
import type { AgentsPackage } from "./agents-port.ts";

/** As a variable, because TypeScript would look for the types of a literal: they are not there when postern is built. */
const specifier: string = "@postern/agents/command";
const load = (): Promise<AgentsPackage> => import(specifier) as Promise<AgentsPackage>; // command.test-d.ts of that package compares them

/**
 * @param what what needs the package, for the message
 * @throws RuntimeFault `dependency_missing` when it is not installed
 */
export async function agentsPackage(what: string, loaded = load): Promise<AgentsPackage> {
  const agents = await agentsIfInstalled(loaded);
  if (agents !== undefined) return agents;
  throw new RuntimeFault(
    "dependency_missing",
    `${what} needs the package \`@postern/agents\`: run \`npm install @postern/agents\`.`,
  );
}

/** Returns undefined when the package is not installed. */
export async function agentsIfInstalled(loaded = load): Promise<AgentsPackage | undefined> {
  try {
    return await loaded();
  } catch (error) {
    if (codeOf(error) === "ERR_MODULE_NOT_FOUND" && messageOf(error).includes("@postern/agents")) return undefined;
    throw error; // it is there, and cannot be loaded
  }
}
