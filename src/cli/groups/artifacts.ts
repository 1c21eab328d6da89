import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function artifactCommands(program: Command, host: Host, act: Act): void {
  const artifacts = program.command("artifacts").description("results that were too large to be shown whole");
  const get = artifacts
    .command("get")
    .description("print an artifact of your own agent token, or write it to a file")
    .argument("<digest>", "as an outcome names it")
    .argument("[file]", "standard output if left out")
    .option("--agent <name>", "whose it is, as the operator")
    .option("--user <name>", "of which user of that agent");
  act(get, async (flags, [digest = "", file]) =>
    (await import("../commands/artifacts.ts")).getArtifact(host, { digest, file }, flags),
  );
}
