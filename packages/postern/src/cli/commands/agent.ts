import { newId, newTraceId, ownAgents } from "@postern/core";
import { unless } from "@postern/core/contract";
import type { AgentScript } from "../../config/agent-script.ts";
import { principal, runRecord } from "../agent-place.ts";
import { type AgentRunSettings, modelOf, runSettings, settingsOf, settingsToJson } from "../agent-settings.ts";
import { agentsPackage } from "../agents-package.ts";
import type { AgentsPackage, RemoteAgent, RemoteResult } from "../agents-port.ts";
import type { CommandGroup } from "../command.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { flagsOf, scopeList, wholeNumber } from "../flags.ts";
import { howToResume, interruption, printInterruptedRun } from "../interrupted.ts";
import { readNamed } from "../named-files.ts";
import { AgentProgressLines } from "../output/agent-progress.ts";
import { type CommandInput, printJson, type Work, withPostern } from "../output/print.ts";
import { visible, visibleLines } from "../output/text.ts";
import { sleep } from "../start/server-file.ts";
import { UsageProblem } from "../usage-problem.ts";
import { agentRunCommands } from "./agent-runs.ts";
import { askingHere, printPending } from "./call.ts";

const lookEveryMs = 500;
const waitOption = { "--wait [seconds]": "wait for a person's decision instead of ending with code 4" } as const;
const maxSteps = { value: "number", read: wholeNumber } as const;

/** One command's part of a run. */
interface RunPart {
  readonly runId: string;
  readonly settings: AgentRunSettings;
  /** Only if a run begins, or gets its next prompt. */
  readonly prompt?: string;
}

export function commands(group: CommandGroup): void {
  group.run("run", "start a run: a model, or a script in its place, works on a prompt", {
    flags: flagsOf(runSettings.pick({ model: true, autonomy: true, scopes: true, max_steps: true }), {
      model: {
        value: "name",
        help: "anthropic/MODEL, openai/MODEL, google/MODEL, or PACKAGE#EXPORT/MODEL of the AI SDK",
      },
      autonomy: { value: "level", help: "a lower level for this run only" },
      scopes: scopeList,
      max_steps: { ...maxSteps, help: "turns of the model at most (default 50)" },
    }),
    options: {
      "--script <file>": "what the model says, turn by turn: YAML or JSON; needs no model and no network",
      "--prompt <text>": "what the agent is to do; a script may have its own",
      "--system <file>": "a file with the system prompt",
      "--run-id <id>": "a new id, or that of a run that is done: then this is its next prompt",
      "--skill <name...>": "hold the run to this skill from its start",
      ...waitOption,
    },
    run: ({ sent, options, ...typed }) => runAgent(typed, sent, options),
  });
  group.run("resume <id>", "go on with a run that waits or was cut off; nothing that has run is run again", {
    flags: flagsOf(runSettings.pick({ max_steps: true }), {
      max_steps: { ...maxSteps, help: "turns of the model at most, earlier ones counted" },
    }),
    options: waitOption,
    run: ({ sent: { id: runId, max_steps: steps }, options: { wait }, ...typed }) =>
      goOn(typed, wait, async (work) => {
        const settings = settingsOf(runId, (await work.agent.agentRuns.show({ id: runId })).state);
        return { runId, settings: steps === undefined ? settings : { ...settings, max_steps: steps } };
      }),
  });
  agentRunCommands(group);
}

interface AgentRunFlags {
  readonly script?: string;
  readonly prompt?: string;
  readonly system?: string;
  readonly runId?: string;
  readonly skill?: readonly string[];
  /** Seconds, or `true` until a person decides. */
  readonly wait?: string | true;
}

async function runAgent(
  typed: CommandInput,
  sent: Pick<AgentRunSettings, "model" | "autonomy" | "scopes" | "max_steps">,
  { runId: wanted, skill, system, wait, ...options }: AgentRunFlags,
): Promise<ExitCode> {
  const script = await scriptOf(sent.model, options.script);
  const runId = wanted ?? newId("run");
  const prompt = options.prompt ?? script?.prompt ?? "";
  if (prompt.trim() === "")
    throw new UsageProblem(
      `Say what the agent is to do: \`--prompt TEXT\`${script === undefined ? "" : ", or `prompt` in the script"}.`,
    );
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(runId))
    throw new UsageProblem(`\`--run-id ${visible(runId)}\` is not 1 to 64 of A-Z a-z 0-9 _ -.`);
  const systemText = system === undefined ? undefined : await readNamed(system, "The system prompt ");
  const settings: AgentRunSettings = { ...sent, skills: skill, system: systemText };
  const agents = await agentsPackage("`agent run`");
  await modelOf(agents, { ...settings, turns: script?.turns }); // a model that cannot be loaded is refused before a run begins
  return goOn(typed, wait, async (work) => {
    const earlier = wanted === undefined ? undefined : await runRecord(agents, work, runId);
    if (earlier !== undefined) agents.checkDone(earlier);
    // A script begins with this prompt, however many turns the run has had.
    const before = Array.from({ length: earlier?.steps ?? 0 }, () => ({ text: "" }));
    return { runId, prompt, settings: { ...settings, turns: script && [...before, ...script.turns] } };
  });
}

async function scriptOf(model: string | undefined, script: string | undefined): Promise<AgentScript | undefined> {
  if ((model === undefined) === (script === undefined))
    throw new UsageProblem(
      model === undefined
        ? "Name what answers: `--model PROVIDER/MODEL`, or `--script FILE` for a script in its place."
        : "`--model` and `--script` do not go together: the script answers in the model's place.",
    );
  return script === undefined
    ? undefined
    : (await import("../../config/agent-script.ts")).readAgentScript({
        name: script,
        text: await readNamed(script, "The script "),
      });
}

function goOn(
  typed: CommandInput,
  wait: AgentRunFlags["wait"],
  prepare: (work: Work) => Promise<RunPart>,
): Promise<ExitCode> {
  const waitMs = wait === undefined ? 0 : wait === true ? Number.POSITIVE_INFINITY : wholeNumber(wait, "--wait") * 1000;
  return withPostern(typed, wait === undefined ? { tools: true } : askingHere(typed.host), async (work) => {
    const part = await prepare(work);
    const agents = await agentsPackage("`agent`");
    const { runId, prompt } = part;
    using interrupted = interruption();
    const { signal } = interrupted;
    const traceId = newTraceId();
    const progress = new AgentProgressLines(work);
    const agent = await agentFor(agents, work, { ...part, traceId });
    const more = { signal, onEvent: progress.onEvent };
    const printed = (result: Promise<RemoteResult | undefined>) => result.finally(() => progress.settled());
    try {
      if (prompt !== undefined) await begin(work, part, prompt);
      let result = await printed(prompt === undefined ? agent.resume(runId, more) : agent.run({ prompt, runId }, more));
      const until = work.now() + waitMs;
      while (result?.status === "waiting" && (await isDecided(work, result, until, signal)))
        result = await printed(agent.resume(runId, more));
      if (result === undefined) throw new UsageProblem(`There is no run \`${visible(runId)}\`.`);
      const code = await printEnd(work, result);
      return signal.aborted ? exitCodes.interrupted : code;
    } catch (error) {
      if (signal.aborted) return printInterruptedRun(agents, work, { runId, traceId });
      if (!(error instanceof UsageProblem)) printHowToResume(work, runId);
      throw error;
    }
  });
}

async function agentFor(
  agents: AgentsPackage,
  work: Work,
  { settings, traceId }: RunPart & { readonly traceId: string },
): Promise<RemoteAgent> {
  const { autonomy, scopes, system, skills = [], max_steps: most } = settings;
  return agents.openRemoteAgent(work, {
    ...{ name: ownAgents.folder, principal, model: await modelOf(agents, settings) },
    ...{ claims: { autonomy, scopes }, traceId, skills, settings: settingsToJson(settings) },
    ...(system !== undefined && { instructions: system }),
    ...(most !== undefined && { maxSteps: most }),
  });
}

/** The run is listed from its beginning. */
async function begin(work: Work, { runId, settings }: RunPart, prompt: string): Promise<void> {
  const about = { prompt, system_prompt: settings.system };
  const begun = await unless(
    "run_unknown",
    unless("runs_off", work.agent.runs.begin({ id: runId, ...about })).then(() => true),
  );
  if (begun === undefined)
    throw new UsageProblem(`The run \`${runId}\` is another agent's; name a new one with \`--run-id\`.`);
  const where = work.running ? `: ${work.url}/runs/${runId}` : "";
  if (!work.json) work.terminal.aside(`${work.paint("dim", `Run ${runId} of ${principal.agent}${where}`)}\n`);
}

/** Shows the requests. Returns true when one of them was decided before `until` (wall clock, milliseconds). Inside this command only its own terminal can decide. */
async function isDecided(
  work: Work,
  { runId, approvalIds }: { readonly runId: string; readonly approvalIds: readonly string[] },
  until: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { host, agent, now, command, running, json } = work;
  const mayWait = now() < until && (running || host.terminal.interactive);
  const next = mayWait
    ? "This command waits for the decision, and then goes on."
    : `Then go on with \`${command} agent resume ${runId}\`: it runs once, exactly as shown.`;
  if (!json) for (const id of approvalIds) await printPending(work, id, next);
  while (mayWait && !signal.aborted && now() < until) {
    const requests = await Promise.all(approvalIds.map((id) => agent.approvals.show({ id })));
    if (requests.some(({ status }) => status !== "pending")) return true;
    await sleep(host.clock, lookEveryMs);
  }
  if (mayWait) printHowToResume(work, runId);
  return false;
}

async function printEnd(work: Work, result: RemoteResult): Promise<ExitCode> {
  const { runId, status, text, steps } = result;
  const { agent, terminal, paint } = work;
  if (status !== "waiting") {
    const end =
      status === "stopped" ? ({ state: "failed", reason: result.message } as const) : ({ state: "completed" } as const);
    await unless("run_unknown", unless("runs_off", agent.runs.finish({ id: runId, ...end })));
  }
  if (work.json)
    printJson(work, {
      ...{ run_id: runId, status, text, steps },
      ...(status === "waiting" && { approval_ids: result.approvalIds }),
      ...(status === "stopped" && { reason: result.reason, message: result.message }),
    });
  else if (status === "done") terminal.out(`${terminal.screen ? visibleLines(text).join("\n") : text}\n`);
  else if (status === "stopped")
    terminal.aside(`${paint("red", visible(result.message))} ${howToResume(work.command, runId)}\n`);
  return status === "done" ? exitCodes.ok : status === "waiting" ? exitCodes.waiting : exitCodes.failed;
}

function printHowToResume({ json, terminal, command }: Work, runId: string): void {
  if (!json) terminal.aside(`${howToResume(command, runId)}\n`);
}
