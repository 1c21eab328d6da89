import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { Gateway } from "./gateway.ts";

const memoryServer = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-memory/dist/index.js");

/** Starts the sample gateway with a third server and one engine. */
export async function chainGateway(engine = "quickjs"): Promise<Gateway> {
  const gateway = new Gateway();
  const file = join(gateway.folder, "postern.yaml");
  const config = parse(readFileSync(file, "utf8"));
  config.servers.memory = {
    command: "node",
    args: [memoryServer],
    env: { MEMORY_FILE_PATH: join(gateway.folder, "memory.json") },
    tools: { create_entities: { risk: "safe", effects: "write" } },
  };
  config.chains = { engines: [engine] };
  writeFileSync(file, stringify(config));
  await gateway.start();
  return gateway;
}

/** Writes a script to the gateway's folder. */
export function script(gateway: Gateway, source: string, name = "script.js"): string {
  const path = join(gateway.folder, name);
  writeFileSync(path, source);
  return path;
}
