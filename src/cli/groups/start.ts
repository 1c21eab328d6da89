import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function startCommand(program: Command, host: Host, act: Act): void {
  const start = program
    .command("start")
    .description("serve MCP at /mcp and HTTP at /v1 on 127.0.0.1")
    .option("--stdio", "speak MCP over standard input and output; joins the running Postern if there is one")
    .option("--host <address>", "a loopback address to listen on")
    .option("--autonomy <level>", "A0 to A4: what agents may do unasked (default A2)")
    .option("--log-level <level>", "error, warn, info or debug");
  act(start, (flags) => host.start(flags));
}
