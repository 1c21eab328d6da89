/** `approvals watch` and `runs watch`: events as they happen. Next: inbox.ts (what a key does), inbox-screen.ts. */
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { ClientProblem } from "../server/client/client.ts";
import { type FeedMessage, followEvents } from "../server/client/event-client.ts";
import type { FeedEventView } from "../server/contract/events.ts";
import { asTypedHere } from "./command-name.ts";
import { actionText, decisionText } from "./decision-text.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { HiddenInput } from "./hidden-input.ts";
import type { GlobalFlags, Host } from "./host.ts";
import { emptyInbox, type Inbox, type InboxRequest, press, readingOf, type Sight, withRequests } from "./inbox.ts";
import { inboxScreen } from "./inbox-screen.ts";
import { interruption } from "./interrupted.ts";
import { readKeys } from "./keys.ts";
import { type Work, withPostern } from "./print.ts";
import { sleep } from "./server-file.ts";
import { timeOfDay, visible } from "./text.ts";

const mostRequests = 1_000;
const clearScreen = "\u001b[H\u001b[2J\u001b[3J";
/** Counts the time left down, and shows when a request has been on the screen long enough to be decided. */
const drawEveryMs = 500;
const approvalEvents = { type: "gate.,approval." };

interface WatchOptions {
  /** Default: this process's keyboard. */
  readonly input?: HiddenInput;
  /** Default: until Ctrl-C or SIGTERM. */
  readonly until?: AbortSignal;
}

type EventFilter = { readonly type: string } | { readonly run_id: string };

/** At a terminal a list to decide from. Else one line an event, and nothing prompts. */
export async function watchApprovals(
  host: Host,
  flags: GlobalFlags,
  { input = process.stdin, until = interruption().signal }: WatchOptions = {},
): Promise<ExitCode> {
  return withPostern({ host, flags }, {}, async (work) => {
    requireRunning(work);
    if (work.json || !host.terminal.interactive) await printEvents(work, approvalEvents, until);
    else await new InboxSession(work, until).run(input);
    return exitCodes.ok;
  });
}

/** Prints a line for each event of a run. */
export async function watchRun(
  host: Host,
  { id, until = interruption().signal }: Pick<WatchOptions, "until"> & { readonly id: string },
  flags: GlobalFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags }, {}, async (work) => {
    requireRunning(work);
    await warnOfUnknownRun(work, id);
    await printEvents(work, { run_id: id }, until);
    return exitCodes.ok;
  });
}

/** The run may begin later, or its name was mistyped and no event will come. */
async function warnOfUnknownRun({ operator, terminal, command }: Work, id: string): Promise<void> {
  try {
    await operator.runs.show({ id });
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    if (error.status !== 404) return; // without run folders, no run is known
    terminal.aside(
      `There is no run \`${visible(id)}\` yet; waiting for it. \`${command} runs\` lists those that are there.\n`,
    );
  }
}

function requireRunning({ running }: Work): void {
  if (running) return;
  throw new RuntimeFault(
    "request_invalid",
    "No Postern runs on this data folder, so there is nothing to watch; start one with `postern start`, or name its folder with `--data`.",
  );
}

function follow({ host, operator }: Work, where: EventFilter, signal: AbortSignal): AsyncIterable<FeedMessage> {
  return followEvents(operator.events, where, { signal, wait: (ms) => sleep(host.clock, ms) });
}

async function printEvents(work: Work, where: EventFilter, signal: AbortSignal): Promise<void> {
  const { command, terminal, json, operator } = work;
  let isListed = "run_id" in where;
  for await (const message of follow(work, where, signal)) {
    if (message.kind === "live" && !isListed) {
      isListed = true;
      const { approvals } = await operator.approvals.list({ state: "pending", limit: mostRequests });
      for (const approval of approvals) {
        const { approval_id: id, risk_level: risk, what } = approval;
        const line = `pending  ${id}  ${risk}  ${visible(actionText(what))}`;
        terminal.out(`${json ? JSON.stringify({ type: "pending", approval }) : line}\n`);
      }
    }
    if (message.kind === "event") terminal.out(`${json ? JSON.stringify(message.event) : lineOf(message.event)}\n`);
    else if (message.kind === "reset")
      terminal.aside(
        `Some events are missing here; \`${command} approvals\` and \`${command} audit show\` have them.\n`,
      );
    else if (message.kind === "lost") terminal.aside("The connection broke; trying again.\n");
  }
}

function lineOf({ at, type, tool, approval_id, summary }: FeedEventView): string {
  const about = approval_id ?? tool ?? "";
  return `${timeOfDay(at)}  ${type.padEnd(22)} ${visible(about)}  ${visible(summary)}`;
}

/** One person at one terminal. */
class InboxSession {
  readonly #work: Work;
  readonly #ending = new AbortController();
  #inbox: Inbox = emptyInbox;
  /** What is on the screen. */
  #sight: Omit<Sight, "at"> = { columns: 0, lines: 0, height: 0 };
  /** The read in progress, and whether another must follow. */
  #reading: Promise<void> | undefined;
  #isStale = false;
  #cancelDraw: (() => void) | undefined;

  constructor(work: Work, until: AbortSignal) {
    this.#work = work;
    until.addEventListener("abort", () => this.#ending.abort(), { once: true });
    if (until.aborted) this.#ending.abort();
  }

  async run(input: HiddenInput): Promise<void> {
    const { signal } = this.#ending;
    this.#tick();
    try {
      await Promise.all([
        readKeys(input, signal, (key) => {
          const { inbox, request } = press(this.#inbox, key, { ...this.#sight, at: this.#work.now() });
          this.#show(inbox);
          if (request !== undefined) void this.#carryOut(request);
        }).finally(() => this.#ending.abort()),
        this.#follow(signal).finally(() => this.#ending.abort()),
      ]);
    } finally {
      this.#cancelDraw?.();
      await this.#reading;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const { kind } of follow(this.#work, approvalEvents, signal)) {
      this.#show({ ...this.#inbox, live: kind !== "lost" });
      if (kind !== "lost") this.#read();
    }
  }

  /** Reads the list. An event that comes during a read causes one more. */
  #read(): void {
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readAll(): Promise<void> {
    while (this.#isStale && !this.#ending.signal.aborted) {
      this.#isStale = false;
      try {
        const page = await this.#work.operator.approvals.list({ state: "pending", limit: mostRequests });
        const { approvals: requests, waiting } = page;
        const count = Object.values<number>(waiting ?? {}).reduce((sum, one) => sum + one, 0);
        this.#show(withRequests(this.#inbox, { requests, waiting: count }, this.#work.now()));
      } catch (error) {
        this.#show({ ...this.#inbox, message: messageOf(error) });
      }
    }
  }

  async #carryOut(asked: InboxRequest): Promise<void> {
    if (asked.verb === "leave") return this.#ending.abort();
    const { approval_id: id, shown_digest: expected_digest } = asked.approval;
    const { operator, command } = this.#work;
    try {
      const body = { id, expected_digest };
      const decided =
        asked.verb === "approve"
          ? await operator.approvals.approve({ ...body, confirmation: asked.confirmation })
          : await operator.approvals.deny({ ...body, ...(asked.reason !== "" && { reason: asked.reason }) });
      this.#show({ ...this.#inbox, message: visible(decisionText(asked.verb, decided)) });
    } catch (error) {
      this.#show({ ...this.#inbox, message: visible(asTypedHere(messageOf(error), command)) });
    }
    this.#read();
  }

  #show(inbox: Inbox): void {
    this.#inbox = inbox;
    if (this.#ending.signal.aborted) return;
    const { text, sight } = inboxScreen(inbox, this.#work.now(), this.#work);
    this.#inbox = { ...inbox, reading: readingOf(inbox, sight) };
    this.#sight = sight;
    this.#work.terminal.out(clearScreen + text);
  }

  #tick(): void {
    this.#show(this.#inbox);
    this.#cancelDraw = this.#work.host.clock.in(drawEveryMs, () => this.#tick(), false);
  }
}
