import { agentRuns } from "@postern/core/contract";
import { principal } from "../agent-place.ts";
import { agentsPackage } from "../agents-package.ts";
import type { StoredMessage } from "../agents-port.ts";
import type { CommandGroup } from "../command.ts";
import { flagsOf, rowLimit } from "../flags.ts";
import { type Columns, tableOf, type Work } from "../output/print.ts";
import { visible, visibleLines } from "../output/text.ts";

/** An agent's own run, as `agent list` shows it. */
interface ListedRun {
  readonly run_id: string;
  /** `open`: it goes on with `agent resume`, and no request waits. */
  readonly status: "done" | "waiting" | "open";
  readonly steps: number;
  readonly prompt: string;
}

export function agentRunCommands(group: CommandGroup): void {
  const flags = flagsOf(agentRuns.list.query, { limit: rowLimit(20) });
  group.answer("list", "runs that were started here: which are done, and which wait", {
    isDefault: true,
    flags,
    ask: async (work, { limit = 0 }) => {
      const { run_ids: ids } = await work.agent.agentRuns.list({ limit: Math.min(Math.max(limit, 1), 1000) });
      const runs: ListedRun[] = [];
      for (const id of ids.slice(0, limit)) runs.push((await readRun(work, id)).run);
      return { runs };
    },
    text: ({ runs }, work) => (runs.length === 0 ? "No runs.\n" : tableOf(runs, columns, work)),
  });
  group.answer("show <id>", "one run: its messages, calls and answers", {
    ask: async (work, { id }) => {
      const { run, messages } = await readRun(work, id);
      return { ...run, messages };
    },
    text: ({ messages, ...run }, work) => {
      const { terminal, command } = work;
      terminal.out(`${tableOf([run], columns, work)}\n${messages.flatMap(messageLines).join("\n")}\n`);
      if (run.status !== "done") terminal.aside(`\`${command} agent resume ${run.run_id}\` goes on.\n`);
      return "";
    },
  });
  group.answer("remove <id>", "delete one run: its messages, not its calls", {
    ask: async (work, { id }) => {
      await work.agent.agentRuns.remove({ id });
      return { run_id: id };
    },
    text: ({ run_id }) => `Deleted ${run_id}.\n`,
  });
}

const columns: Columns<ListedRun> = {
  RUN: ({ run_id }) => run_id,
  STATUS: ({ status }) => status,
  TURNS: ({ steps }) => String(steps),
  PROMPT: ({ prompt }) => prompt,
};

async function readRun(
  work: Work,
  id: string,
): Promise<{ readonly run: ListedRun; readonly messages: readonly StoredMessage[] }> {
  const { agent } = work;
  const agents = await agentsPackage("`agent`");
  const record = agents.readRecord({ principal, runId: id }, await agent.agentRuns.show({ id }));
  const { approvals } = await agent.approvals.list({ state: "pending", run_id: id, limit: 1 });
  const status = record.isDone ? "done" : approvals.length > 0 ? "waiting" : "open";
  const last = record.messages.findLast((message) => message.role === "user");
  const prompt = last?.role === "user" ? last.text : "";
  return { run: { run_id: record.runId, status, steps: record.steps, prompt }, messages: record.messages };
}

function messageLines(message: StoredMessage): readonly string[] {
  switch (message.role) {
    case "user":
      return ["person", ...indented(message.text)];
    case "assistant": {
      const calls = message.uses.map(({ name, arguments: given = {} }) => {
        const text = typeof given === "string" ? given : JSON.stringify(given);
        return `  → ${visible(name)} ${visible(text)}`;
      });
      return ["agent", ...(message.text === "" ? [] : indented(message.text)), ...calls];
    }
    case "tool":
      return message.answers.flatMap(({ use, text }) => [`← ${visible(use.name)}`, ...indented(text)]);
  }
  return message satisfies never;
}

function indented(text: string): readonly string[] {
  return visibleLines(text).map((line) => `  ${line}`);
}
