import { type RunEventView, type RunView, runs } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { flagsOf, rowLimit, wholeNumber } from "../flags.ts";
import { readNamed } from "../named-files.ts";
import { ago, allPages, type Columns, tableOf, type Work } from "../output/print.ts";
import type { Paint } from "../output/terminal.ts";
import { labelled, visible, whose } from "../output/text.ts";

export function commands(group: CommandGroup): void {
  group.list("list", "the latest first", {
    isDefault: true,
    flags: flagsOf(runs.list.query, {
      agent: { value: "name", help: "only of this agent" },
      after: "page",
      limit: rowLimit(20),
    }),
    rows: "runs",
    ask: ({ operator }, sent) => operator.runs.list(sent),
    columns,
    empty: "No runs.",
  });
  group.answer("show <id>", "one run: its state, and its latest events", {
    flags: flagsOf(runs.events.query, {
      type: { value: "type", help: "events of one type, or of all that begin so: tool." },
      after: { value: "sequence", help: "events that follow it, instead of the latest", read: wholeNumber },
      limit: { ...rowLimit(20), help: "at most so many events" },
    }),
    ask: async (work, { id, ...asked }) => {
      const run = await work.operator.runs.show({ id });
      return { run, events: await eventsOf(work, run, asked) };
    },
    text: ({ run, events }, work) =>
      runText(run, work) + (events.length === 0 ? "No events.\n" : tableOf(events, eventColumns, work)),
  });
  changeCommands(group);
}

const columns: Columns<RunView> = {
  RUN: ({ run_id }) => run_id,
  STATE: ({ state }) => state,
  RESULT: ({ governance: { result } }, { paint }) => ({
    text: result,
    paint: (text) => paintResult(paint, result, text),
  }),
  CALLS: ({ counts }) => String(counts.started),
  FAILED: ({ counts }) => String(counts.failed),
  BLOCKED: ({ counts }) => String(counts.blocked),
  LAST: ({ last_event_at }, work) => ago(last_event_at, work),
  AGENT: callerOf,
};

const eventColumns: Columns<RunEventView> = {
  SEQ: ({ sequence }) => String(sequence),
  WHEN: ({ timestamp }, work) => ago(timestamp, work),
  EVENT: ({ type }) => type,
  BY: ({ actor }) => actor,
  "WHAT HAPPENED": ({ summary }) => summary,
};

function callerOf({ principal }: RunView): string {
  return principal === undefined ? "no caller yet" : whose(principal);
}

function paintResult(paint: Paint, result: RunView["governance"]["result"], text: string = result): string {
  return paint(result === "passed" ? "green" : result === "incomplete" ? "yellow" : "red", text);
}

interface EventsAsked {
  readonly type: string | undefined;
  readonly after: number | undefined;
  readonly limit: number;
}

/** Without `after`: the latest. Sequences have no gaps, so the first of the latest is known unless a type is wanted. */
async function eventsOf(
  { operator }: Work,
  { run_id: id, counts }: RunView,
  { type, after, limit }: EventsAsked,
): Promise<readonly RunEventView[]> {
  if (limit === 0) return [];
  const isEverything = after === undefined && type !== undefined;
  const from = after ?? (isEverything ? 0 : Math.max(0, counts.events - limit));
  const asked = { id, type, after: from, limit: isEverything ? Number.POSITIVE_INFINITY : limit };
  const { events } = await allPages(asked, "events", (page) => operator.runs.events(page));
  return after === undefined ? events.slice(-limit) : events;
}

function runText(run: RunView, work: Work): string {
  const { paint, command } = work;
  const { governance, deliverables } = run;
  const line = labelled(paint, 12);
  return [
    `${paint("bold", visible(run.run_id))}   ${run.state}, ${paintResult(paint, governance.result)}\n`,
    line("agent", callerOf(run)),
    line("task", run.task_id),
    line("began", ago(run.created_at, work)),
    line("last event", ago(run.last_event_at, work)),
    line("reason", run.reason),
    line("calls", callsText(run.counts)),
    line("deliverables", deliverables.expected.join(", ")),
    line("missing", deliverables.missing?.join(", ")),
    ...governance.reasons.map(({ result, message }) =>
      line(result, asTypedHere(message, command)).replace(result, paintResult(paint, result)),
    ),
    "\n",
  ].join("");
}

/** Calls that ran and how they ended, then the arrivals of which nothing ran. */
function callsText(counts: RunView["counts"]): string {
  const { started, completed, failed, unknown = 0, blocked, previewed, waiting, replayed } = counts;
  const ended = `${completed} completed, ${failed - unknown} failed${unknown > 0 ? `, ${unknown} unknown` : ""}`;
  return [
    `${started} ran: ${ended}; ${blocked} blocked, ${waiting} waiting`,
    ...(previewed > 0 ? [`${previewed} previewed`] : []),
    ...(replayed > 0 ? [`${replayed} sent again and not run again`] : []),
  ].join(", ");
}

function changeCommands(group: CommandGroup): void {
  for (const [verb, help] of [
    ["begin", "begin a run and say what it is for; its first caller owns it"],
    ["describe", "add to what is known of a run"],
  ] as const)
    group.answer(`${verb} <id>`, help, {
      options: {
        "--task <text>": "what it is for",
        "--task-id <id>": "what your own system calls that task",
        "--prompt <file>": "a file with the prompt",
        "--system-prompt <file>": "a file with the system prompt",
        "--transcript <file>": "a file whose text is added to the transcript",
        "--deliverable <path...>": "must lie in deliverables/ at the end; with a / a folder with something in it",
      },
      prepare: async ({ sent: { id }, options: { task, taskId, deliverable, ...files } }) => {
        const [prompt, systemPrompt, transcript] = await Promise.all(
          [files.prompt, files.systemPrompt, files.transcript].map((file) => file && readNamed(file)),
        );
        const about = { prompt, system_prompt: systemPrompt, transcript, task, task_id: taskId };
        return { id, ...about, deliverables: deliverable };
      },
      ask: ({ operator }, sent) => operator.runs[verb](sent),
      text: runText,
    });
  const finishHelp = "end a run: look for its deliverables, say its result; exit code 1 unless it passed";
  group.answer("finish <id>", finishHelp, {
    options: { "--failed": "it did not reach its end", "--reason <text>": "recorded with it" },
    prepare: ({ sent: { id }, options: { failed, reason } }) =>
      ({ id, state: failed === true ? "failed" : "completed", reason }) as const,
    ask: ({ operator }, sent) => operator.runs.finish(sent),
    text: runText,
    code: ({ governance }) => (governance.result === "passed" ? exitCodes.ok : exitCodes.failed),
  });
}
