import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function runCommands(program: Command, host: Host, act: Act): void {
  const runs = program.command("runs").description("what agents did, a folder a run");
  lookCommands(runs, host, act);
  changeCommands(runs, host, act);
  folderCommands(runs, host, act);
}

function lookCommands(runs: Command, host: Host, act: Act): void {
  const list = runs
    .command("list", { isDefault: true })
    .description("the latest first")
    .option("--agent <name>", "only of this agent")
    .option("--limit <number>", "at most so many (default 20)");
  act(list, async (flags) => (await import("../commands/runs.ts")).listRuns(host, flags));
  const show = runs
    .command("show")
    .description("one run: how it stands, and its latest events")
    .argument("<id>")
    .option("--type <type>", "events of one type, or of all that begin so: tool.")
    .option("--after <sequence>", "events that follow it, instead of the latest")
    .option("--limit <number>", "at most so many events (default 20)");
  act(show, async (flags, [id = ""]) => (await import("../commands/runs.ts")).showRun(host, id, flags));
  act(runs.command("watch").description("what a run does, as it does it").argument("<id>"), async (flags, [id = ""]) =>
    (await import("../commands/watch.ts")).watchRun(host, { id }, flags),
  );
}

function changeCommands(runs: Command, host: Host, act: Act): void {
  const load = () => import("../commands/run-changes.ts");
  for (const [verb, words] of [
    ["begin", "begin a run and say what it is for; its first caller owns it"],
    ["describe", "add to what is known of a run"],
  ] as const) {
    const about = runs
      .command(verb)
      .description(words)
      .argument("<id>")
      .option("--task <text>", "what it is for")
      .option("--task-id <id>", "what your own system calls that task")
      .option("--prompt <file>", "a file with the prompt")
      .option("--system-prompt <file>", "a file with the system prompt")
      .option("--transcript <file>", "a file whose text is added to the transcript")
      .option(
        "--deliverable <path...>",
        "must lie in deliverables/ at the end; with a / a folder with something in it",
      );
    act(about, async (flags, [id = ""]) => (await load()).sayOfRun(host, { verb, id }, flags));
  }
  const finish = runs
    .command("finish")
    .description("end a run: look for its deliverables, seal it, say its result; exit code 1 unless it passed")
    .argument("<id>")
    .option("--failed", "it did not reach its end")
    .option("--reason <text>", "recorded with it");
  act(finish, async (flags, [id = ""]) => (await load()).finishRun(host, id, flags));
}

function folderCommands(runs: Command, host: Host, act: Act): void {
  act(
    runs
      .command("verify")
      .description("hold the folder against the audit log; exit code 1 when something was changed")
      .argument("<id>"),
    async (flags, [id = ""]) => (await import("../commands/runs.ts")).verifyRun(host, id, flags),
  );
  act(
    runs
      .command("export")
      .description("the folder as a tar archive; compressed when the file ends in .gz or .tgz")
      .argument("<id>")
      .argument("[file]", "default: ID.tar.gz here"),
    async (flags, [id = "", file]) => (await import("../commands/runs.ts")).exportRun(host, { id, file }, flags),
  );
}
