import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function agentCommands(program: Command, host: Host, act: Act): void {
  const agent = program.command("agent").description("an agent that works with the tools here");
  const load = () => import("../commands/agent.ts");
  const run = agent
    .command("run")
    .description("start a run: a model, or a script in its place, works on a prompt")
    .option("--model <name>", "anthropic/MODEL, openai/MODEL, google/MODEL, or PACKAGE#EXPORT/MODEL of the AI SDK")
    .option("--script <file>", "what the model says, turn by turn: YAML or JSON; needs no model and no network")
    .option("--prompt <text>", "what the agent is to do; a script may have its own")
    .option("--system <file>", "a file with the system prompt")
    .option("--run-id <id>", "a new id, or that of a run that is done: then this is its next prompt")
    .option("--skill <name...>", "hold the run to this skill from its start")
    .option("--autonomy <level>", "a lower level for this run only")
    .option("--scopes <list>", "scopes to call with, separated by commas")
    .option("--max-steps <number>", "turns of the model at most (default 50)")
    .option("--wait [seconds]", "wait for a person's decision instead of ending with code 4");
  act(run, async (flags) => (await load()).runAgent(host, flags));
  const resume = agent
    .command("resume")
    .description("go on with a run that waits or was cut off; nothing that has run is run again")
    .argument("<id>")
    .option("--max-steps <number>", "turns of the model at most, those before counted")
    .option("--wait [seconds]", "wait for a person's decision instead of ending with code 4");
  act(resume, async (flags, [id = ""]) => (await load()).resumeAgent(host, id, flags));
  const list = agent
    .command("list", { isDefault: true })
    .description("runs that were started here: which are done, and which wait")
    .option("--limit <number>", "at most so many (default 20)");
  act(list, async (flags) => (await import("../commands/agent-runs.ts")).listAgentRuns(host, flags));
  act(
    agent.command("show").description("one run: what was said, called and answered").argument("<id>"),
    async (flags, [id = ""]) => (await import("../commands/agent-runs.ts")).showAgentRun(host, id, flags),
  );
}
