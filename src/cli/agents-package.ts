/** Loads the package `@postern/agents`. This is the only import of it in postern: the package is installed apart. */
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { codeOf } from "../core/system/error-code.ts";
import type { AgentsPackage } from "./agents-port.ts";

const load = (): Promise<AgentsPackage> => import("../agents/command.ts");

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
