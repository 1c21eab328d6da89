import { createHost, runCommand } from "./command-host.ts";
import { processTerminal } from "./output/terminal.ts";

const terminal = processTerminal();
const host = createHost(terminal, async (flags) => (await import("./start/start.ts")).start(flags, terminal));

process.exitCode = await runCommand(host, process.argv.slice(2));
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))));
process.exit(); // a tool that ignores its end must not keep a finished command alive
