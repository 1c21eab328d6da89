import type { AgentMessage } from "../../agents/model.ts";
import { RunRecord } from "../../agents/run-record.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { remoteRuns } from "../remote-place.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { table, visible, visibleLines } from "../text.ts";
import { principal } from "./agent.ts";
import { wholeNumber } from "./typed.ts";

export interface AgentRunListFlags extends GlobalFlags {
  readonly limit?: string;
}

type Status = "done" | "waiting" | "open";

/** An agent's own run, as `agent list` shows it. */
interface ShownRun {
  readonly run_id: string;
  /** `open`: it goes on with `agent resume`, and waits for nobody. */
  readonly status: Status;
  readonly steps: number;
  readonly prompt: string;
}

export async function listAgentRuns(host: Host, flags: AgentRunListFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit ?? "20", "--limit");
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { run_ids: ids } = await work.agent.agentRuns.list({ limit: Math.min(Math.max(limit, 1), 1000) });
    const runs: ShownRun[] = [];
    for (const id of ids.slice(0, limit)) runs.push(shown(await recordOf(work, id), await waits(work, id)));
    if (work.json) printJson(work, { runs });
    else work.terminal.out(runs.length === 0 ? "No runs.\n" : runTable(work, runs));
    return exitCodes.ok;
  });
}

export async function showAgentRun(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const record = await recordOf(work, id);
    const run = shown(record, await waits(work, id));
    if (work.json) printJson(work, { ...run, messages: record.messages });
    else {
      const said = record.messages.flatMap(messageLines).join("\n");
      work.terminal.out(`${runTable(work, [run])}\n${said}\n`);
      if (run.status !== "done") work.terminal.aside(`\`${work.command} agent resume ${id}\` goes on.\n`);
    }
    return exitCodes.ok;
  });
}

async function recordOf(work: Work, id: string): Promise<RunRecord> {
  const found = await work.agent.agentRuns.show({ id });
  return RunRecord.from(remoteRuns(work), { principal, runId: id }, found);
}

async function waits({ agent }: Work, runId: string): Promise<boolean> {
  return (await agent.approvals.list({ state: "pending", run_id: runId, limit: 1 })).approvals.length > 0;
}

function shown(record: RunRecord, isWaiting: boolean): ShownRun {
  const status = record.isDone ? "done" : isWaiting ? "waiting" : "open";
  const prompt = record.messages.findLast((message) => message.role === "user");
  return { run_id: record.runId, status, steps: record.steps, prompt: prompt?.role === "user" ? prompt.text : "" };
}

function runTable({ paint, terminal }: Work, runs: readonly ShownRun[]): string {
  const rows = runs.map(({ run_id, status, steps, prompt }) => [run_id, status, String(steps), prompt]);
  return table(["RUN", "STATUS", "TURNS", "PROMPT"], rows, { terminal, paint });
}

function messageLines(message: AgentMessage): readonly string[] {
  switch (message.role) {
    case "user":
      return ["person", ...indented(message.text)];
    case "assistant": {
      const calls = message.uses.map(
        ({ name, arguments: given = {} }) => `  → ${visible(name)} ${visible(asText(given))}`,
      );
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

function asText(given: unknown): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}
