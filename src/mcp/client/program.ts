import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { RuntimeFault } from "../../core/fault.ts";
import type { ServerAddress } from "./server-config.ts";

type Started = Pick<Extract<ServerAddress, { readonly kind: "stdio" }>, "command" | "env" | "cwd">;

/**
 * A word that was mistyped says so: what starts the server would name itself, and the client only that nobody answered.
 *
 * @throws RuntimeFault `server_invalid`
 */
export function checkProgram(server: string, { command, env, cwd = process.cwd() }: Started): void {
  if (process.platform === "win32") return; // there a name has endings that the system adds
  const path = env["PATH"] ?? process.env["PATH"] ?? "";
  const isPath = command.includes("/");
  const places = isPath
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((folder) => resolve(cwd, folder, command));
  if (places.some(isProgram)) return;
  const where = isPath ? "is no program" : "is not to be found on the path";
  throw new RuntimeFault("server_invalid", `\`${command}\` ${where}: correct \`servers.${server}.command\`.`);
}

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}
