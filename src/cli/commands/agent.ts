import { type Agent, type AgentResult, agentAt } from "../../agents/agent-run.ts";
import { checkDone, RunRecord } from "../../agents/run-record.ts";
import type { AgentScript } from "../../agents/script.ts";
import type { AgentRunId } from "../../core/agent-runs.ts";
import { newId, newTraceId } from "../../core/ids.ts";
import { ownAgents } from "../../core/own-agents.ts";
import { autonomies } from "../../core/risk.ts";
import { AgentProgressLines } from "../agent-progress.ts";
import { type AgentRunSettings, modelOf, settingsOf, settingsToJson } from "../agent-settings.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { interruption, tellRunInterrupted } from "../interrupted.ts";
import { readNamed } from "../named-files.ts";
import { remotePlace, remoteRuns, unless } from "../remote-place.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { visible, visibleLines } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { askingHere, showPending } from "./call.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface AgentFlags extends GlobalFlags {
  readonly maxSteps?: string;
  /** Seconds, or `true` until somebody decides. */
  readonly wait?: string | true;
}

export interface AgentRunFlags extends AgentFlags {
  readonly model?: string;
  readonly script?: string;
  readonly prompt?: string;
  readonly system?: string;
  readonly runId?: string;
  readonly skill?: readonly string[];
  readonly autonomy?: string;
  readonly scopes?: string;
}

/** The agent whose token a command has. */
export const principal: AgentRunId["principal"] = { tenant: "default", agent: ownAgents.folder };
const lookEveryMs = 500;

/** One command's part of a run. */
interface Going {
  readonly runId: string;
  readonly settings: AgentRunSettings;
  /** Of a run that begins, or is given its next one. */
  readonly prompt?: string;
}

export async function runAgent(host: Host, flags: AgentRunFlags): Promise<ExitCode> {
  const { model, runId = newId("run") } = flags;
  const script = await scriptOf(host, flags);
  const prompt = flags.prompt ?? script?.prompt ?? "";
  if (prompt.trim() === "")
    throw new UsageProblem(
      `Say what the agent is to do: \`--prompt TEXT\`${script === undefined ? "" : ", or `prompt` in the script"}.`,
    );
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(runId))
    throw new UsageProblem(`\`--run-id ${visible(runId)}\` is not 1 to 64 of A-Z a-z 0-9 _ -.`);
  const settings: AgentRunSettings = {
    ...{ model, skills: flags.skill, max_steps: stepsIn(flags) },
    system: flags.system === undefined ? undefined : await readNamed(flags.system, "The system prompt "),
    autonomy: flags.autonomy === undefined ? undefined : oneOf(flags.autonomy.toUpperCase(), autonomies, "--autonomy"),
    scopes: flags.scopes?.split(",").map((scope) => scope.trim()),
  };
  await modelOf({ ...settings, turns: script?.turns }); // what cannot be loaded is told before a run begins
  return goOn(host, flags, async (work) => {
    const earlier =
      flags.runId === undefined ? undefined : await RunRecord.load(remoteRuns(work), { principal, runId });
    if (earlier !== undefined) checkDone(earlier);
    // A script begins with what it is asked now, however many turns the run has had.
    const before = Array.from({ length: earlier?.steps ?? 0 }, () => ({ text: "" }));
    const turns = script && [...before, ...script.turns];
    return { runId, prompt, settings: { ...settings, turns } };
  });
}

async function scriptOf(host: Host, { model, script }: AgentRunFlags): Promise<AgentScript | undefined> {
  if ((model === undefined) === (script === undefined))
    throw new UsageProblem(
      model === undefined
        ? "Name what answers: `--model PROVIDER/MODEL`, or `--script FILE` for a script in its place."
        : "`--model` and `--script` do not go together: the script answers in the model's place.",
    );
  return script === undefined
    ? undefined
    : host.agentScript({ name: script, text: await readNamed(script, "The script ") });
}

export async function resumeAgent(host: Host, runId: string, flags: AgentFlags): Promise<ExitCode> {
  const maxSteps = stepsIn(flags);
  return goOn(host, flags, async (work) => {
    const { state } = await work.agent.agentRuns.show({ id: runId });
    const settings = settingsOf(runId, state);
    return { runId, settings: maxSteps === undefined ? settings : { ...settings, max_steps: maxSteps } };
  });
}

function stepsIn({ maxSteps }: AgentFlags): number | undefined {
  return maxSteps === undefined ? undefined : wholeNumber(maxSteps, "--max-steps");
}

async function goOn(host: Host, flags: AgentFlags, prepare: (work: Work) => Promise<Going>): Promise<ExitCode> {
  const { wait } = flags;
  const waitMs = wait === undefined ? 0 : wait === true ? Number.POSITIVE_INFINITY : wholeNumber(wait, "--wait") * 1000;
  const needs = wait === undefined ? { tools: true } : await askingHere(host);
  return withPostern({ host, flags, needs }, async (work) => {
    const going = await prepare(work);
    const { runId, prompt } = going;
    using interrupted = interruption();
    const { signal } = interrupted;
    const traceId = newTraceId();
    const progress = new AgentProgressLines(work);
    const agent = await agentFor(work, going, traceId);
    const more = { signal, onEvent: progress.heard };
    const told = async (result: Promise<AgentResult | undefined>): Promise<AgentResult | undefined> =>
      result.finally(() => progress.settled());
    try {
      if (prompt !== undefined) await begin(work, going, prompt);
      let result = await told(prompt === undefined ? agent.resume(runId, more) : agent.run({ prompt, runId }, more));
      const until = work.now() + waitMs;
      while (result?.status === "waiting" && (await isDecided(host, work, { ...result, until, signal })))
        result = await told(agent.resume(runId, more));
      if (result === undefined) throw new UsageProblem(`There is no run \`${visible(runId)}\`.`);
      return await tellEnd(work, result);
    } catch (error) {
      if (signal.aborted) return tellRunInterrupted(work, { run: { principal, runId }, traceId }, host.clock);
      if (!(error instanceof UsageProblem)) tellKept(work, runId);
      throw error;
    }
  });
}

async function agentFor(work: Work, { settings }: Going, traceId: string): Promise<Agent> {
  const { autonomy, scopes, system, skills, max_steps: maxSteps } = settings;
  const remembered = settingsToJson(settings);
  const place = remotePlace(work, {
    claims: { autonomy, scopes },
    traceId,
    skills: skills ?? [],
    settings: remembered,
  });
  return agentAt(place, {
    ...{ name: ownAgents.folder, principal, model: await modelOf(settings) },
    ...(system !== undefined && { instructions: system }),
    ...(maxSteps !== undefined && { maxSteps }),
  });
}

/** The run is there from its beginning, for who looks at runs. */
async function begin(work: Work, { runId, settings }: Going, prompt: string): Promise<void> {
  const said = { prompt, system_prompt: settings.system };
  const begun = await unless(
    "run_unknown",
    unless("runs_off", work.agent.runs.begin({ id: runId, ...said })).then(() => true),
  );
  if (begun === undefined)
    throw new UsageProblem(`The run \`${runId}\` is another agent's; name a new one with \`--run-id\`.`);
  const where = work.running ? `: ${work.url}/runs/${runId}` : "";
  if (!work.json) work.terminal.aside(`${work.paint("dim", `Run ${runId} of ${principal.agent}${where}`)}\n`);
}

interface WaitingRun {
  readonly runId: string;
  readonly approvalIds: readonly string[];
  /** Wall clock, milliseconds. */
  readonly until: number;
  readonly signal: AbortSignal;
}

/** Shows the requests; true when one of them was decided while we waited. Inside this command nobody else can decide. */
async function isDecided({ clock, terminal }: Host, work: Work, waiting: WaitingRun): Promise<boolean> {
  const { runId, approvalIds, until, signal } = waiting;
  const { agent, now, command, running } = work;
  const isWaited = now() < until && (running || terminal.interactive);
  const again = isWaited
    ? "This command waits for the decision, and goes on then."
    : `Then go on with \`${command} agent resume ${runId}\`: it runs once, exactly as shown.`;
  if (!work.json) for (const id of approvalIds) await showPending(work, id, again);
  while (isWaited && !signal.aborted && now() < until) {
    const requests = await Promise.all(approvalIds.map((id) => agent.approvals.show({ id })));
    if (requests.some(({ status }) => status !== "pending")) return true;
    await new Promise<void>((resolve) => void clock.in(lookEveryMs, resolve));
  }
  if (isWaited) tellKept(work, runId);
  return false;
}

async function tellEnd(work: Work, result: AgentResult): Promise<ExitCode> {
  const { runId, status, text, steps } = result;
  if (status !== "waiting") await finish(work, result);
  if (work.json) {
    const more =
      status === "waiting"
        ? { approval_ids: result.approvalIds }
        : status === "stopped"
          ? { reason: result.reason, message: result.message }
          : {};
    printJson(work, { run_id: runId, status, text, steps, ...more });
  } else if (status === "done") work.terminal.out(`${work.terminal.screen ? visibleLines(text).join("\n") : text}\n`);
  else if (status === "stopped")
    work.terminal.aside(`${work.paint("red", visible(result.message))} ${keptText(work, runId)}\n`);
  return status === "done" ? exitCodes.ok : status === "waiting" ? exitCodes.waiting : exitCodes.failed;
}

async function finish({ agent }: Work, result: AgentResult): Promise<void> {
  const ended =
    result.status === "stopped"
      ? ({ state: "failed", reason: result.message } as const)
      : ({ state: "completed" } as const);
  await unless("run_unknown", unless("runs_off", agent.runs.finish({ id: result.runId, ...ended })));
}

function keptText({ command }: Work, runId: string): string {
  return `The run is kept: \`${command} agent resume ${runId}\` goes on, and runs nothing again that has run.`;
}

function tellKept(work: Work, runId: string): void {
  if (!work.json) work.terminal.aside(`${keptText(work, runId)}\n`);
}
