import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function memoryCommands(program: Command, host: Host, act: Act): void {
  const memory = program.command("memory").description("what agents may remember");
  const candidates = memory.command("candidates").description("what agents proposed to remember, for you to decide");
  const load = () => import("../commands/memory.ts");
  const inRun = (command: Command): Command => command.option("--run <id>", "of this run; all runs when left out");
  const list = inRun(candidates.command("list", { isDefault: true }).description("what is open, of all runs"))
    .option("--state <state>", "open (default), accepted, rejected, waiting, unknown, all")
    .option("--limit <number>", "at most so many");
  act(list, async (flags) => (await load()).listCandidates(host, flags));
  const accept = inRun(
    candidates.command("accept").argument("<id>").description("write it to the memory provider, once"),
  )
    .option("--reason <text>", "recorded with the decision")
    .option("--again", "also when an earlier acceptance may have written it: you have looked");
  act(accept, async (flags, [id = ""]) => (await load()).decideCandidate(host, { verb: "accept", id }, flags));
  const reject = inRun(candidates.command("reject").argument("<id>").description("it is not remembered"));
  act(reject.option("--reason <text>", "recorded with the decision"), async (flags, [id = ""]) =>
    (await load()).decideCandidate(host, { verb: "reject", id }, flags),
  );
}
