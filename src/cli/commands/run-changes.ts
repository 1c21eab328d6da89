import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { readNamed } from "../named-files.ts";
import { printJson, withPostern } from "../session.ts";
import { runText } from "./runs.ts";

export interface AboutFlags extends GlobalFlags {
  readonly task?: string;
  readonly taskId?: string;
  readonly prompt?: string;
  readonly systemPrompt?: string;
  readonly transcript?: string;
  readonly deliverable?: readonly string[];
}

export async function sayOfRun(
  host: Host,
  { verb, id }: { readonly verb: "begin" | "describe"; readonly id: string },
  flags: AboutFlags,
): Promise<ExitCode> {
  const { task, taskId, deliverable } = flags;
  const [prompt, systemPrompt, transcript] = await Promise.all(
    [flags.prompt, flags.systemPrompt, flags.transcript].map(textOf),
  );
  const said = { task, task_id: taskId, prompt, system_prompt: systemPrompt, transcript, deliverables: deliverable };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const run = await work.operator.runs[verb]({ id, ...said });
    if (work.json) printJson(work, run);
    else work.terminal.out(runText(work, run));
    return exitCodes.ok;
  });
}

export interface FinishFlags extends GlobalFlags {
  readonly failed?: boolean;
  readonly reason?: string;
}

export async function finishRun(host: Host, id: string, flags: FinishFlags): Promise<ExitCode> {
  const { reason } = flags;
  const state = flags.failed === true ? "failed" : "completed";
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const run = await work.operator.runs.finish({ id, state, reason });
    if (work.json) printJson(work, run);
    else work.terminal.out(runText(work, run));
    return run.governance.result === "passed" ? exitCodes.ok : exitCodes.failed;
  });
}

async function textOf(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readNamed(file);
}
