import { messageOf, RuntimeFault } from "../core/fault.ts";
import { ClientProblem } from "../server/client/client.ts";
import type { FeedMessage } from "../server/client/event-client.ts";
import { followEvents } from "../server/client/event-client.ts";
import type { FeedEventView } from "../server/contract/events.ts";
import { asTypedHere } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { HiddenInput } from "./hidden-input.ts";
import type { GlobalFlags, Host } from "./host.ts";
import { emptyInbox, type Inbox, press, readingOf, type Sight, type Wish, withRequests } from "./inbox.ts";
import { inboxScreen } from "./inbox-screen.ts";
import { readKeys } from "./keys.ts";
import { type Work, withPostern } from "./print.ts";
import { actionText, saidOf } from "./said.ts";
import { timeOfDay, visible } from "./text.ts";

const mostRequests = 1_000;
const clearScreen = "\u001b[H\u001b[2J\u001b[3J";
/** Times left are counted down, and what has just appeared is told as such for a second. */
const drawEveryMs = 500;

/** At which keyboard, and how long: at this one until somebody ends it. */
interface Watched {
  readonly input?: HiddenInput;
  readonly until?: AbortSignal;
}

type Where = { readonly type: string } | { readonly run_id: string };

/**
 * What waits for a person, live: a list to decide from where somebody is at the keyboard, else one line an event, and
 * then nothing prompts.
 */
export async function watchApprovals(
  host: Host,
  flags: GlobalFlags,
  { input = process.stdin, until = untilInterrupted() }: Watched = {},
): Promise<ExitCode> {
  return withPostern({ host, flags }, {}, async (work) => {
    needRunning(work);
    if (work.json || !host.terminal.interactive)
      await tellLines(host, work, { where: { type: "gate.,approval." }, until });
    else await new InboxSession(host, work, until).run(input);
    return exitCodes.ok;
  });
}

/** Everything a run does, a line an event, until somebody ends it. */
export async function watchRun(
  host: Host,
  { id, until = untilInterrupted() }: Pick<Watched, "until"> & { readonly id: string },
  flags: GlobalFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags }, {}, async (work) => {
    needRunning(work);
    await sayUnknown(work, id);
    await tellLines(host, work, { where: { run_id: id }, until });
    return exitCodes.ok;
  });
}

/** It may begin yet; or its name is typed wrong, and nothing would ever be told. */
async function sayUnknown({ operator, terminal, command }: Work, id: string): Promise<void> {
  try {
    await operator.runs.show({ id });
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    if (error.status !== 404) return; // where no folders of runs are kept, nobody can say
    terminal.aside(
      `There is no run \`${visible(id)}\` yet; waiting for it. \`${command} runs\` lists those that are there.\n`,
    );
  }
}

function needRunning({ running }: Work): void {
  if (running) return;
  throw new RuntimeFault(
    "not_running",
    "No Postern runs on this data folder, so nothing happens that could be watched; start one with `postern start`, or name its folder with `--data`.",
  );
}

function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

function waitOn({ clock }: Host): (ms: number) => Promise<void> {
  return (ms) => new Promise((resolve) => void clock.in(ms, resolve));
}

async function tellLines(
  host: Host,
  work: Work,
  { where, until: signal }: { readonly where: Where; readonly until: AbortSignal },
): Promise<void> {
  const { command, terminal, json } = work;
  let isOpen = false;
  for await (const heard of followEvents(work.operator.events, where, { signal, wait: waitOn(host) })) {
    if (heard.heard === "live" && !isOpen && "type" in where) {
      isOpen = true;
      for (const request of (await work.operator.approvals.list({ state: "pending", limit: mostRequests })).approvals)
        terminal.out(
          json
            ? `${JSON.stringify({ type: "pending", approval: request })}\n`
            : `pending  ${request.approval_id}  ${request.risk_level}  ${visible(actionText(request.what))}\n`,
        );
    }
    if (heard.heard === "event") terminal.out(json ? `${JSON.stringify(heard.event)}\n` : lineOf(heard.event));
    else if (heard.heard === "reset")
      terminal.aside(
        `Some of what happened is not told here; \`${command} approvals\` and \`${command} audit show\` have it.\n`,
      );
    else if (heard.heard === "lost") terminal.aside("The line broke; trying again.\n");
  }
}

function lineOf({ at, type, tool, approval_id, summary }: FeedEventView): string {
  const about = approval_id ?? tool ?? "";
  return `${timeOfDay(at)}  ${type.padEnd(22)} ${visible(about)}  ${visible(summary)}\n`;
}

/** One person at one terminal. */
class InboxSession {
  readonly #host: Host;
  readonly #work: Work;
  readonly #ending = new AbortController();
  #inbox: Inbox = emptyInbox;
  /** What the person saw last. */
  #sight: Omit<Sight, "at"> = { columns: 0, lines: 0, height: 0 };
  /** A read that is under way, and whether another one is wanted after it. */
  #reading: Promise<void> | undefined;
  #isStale = false;
  #cancelDraw: (() => void) | undefined;

  constructor(host: Host, work: Work, until: AbortSignal) {
    this.#host = host;
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
          const { inbox, wish } = press(this.#inbox, key, { ...this.#sight, at: this.#work.now() });
          this.#show(inbox);
          if (wish !== undefined) void this.#grant(wish);
        }).finally(() => this.#ending.abort()),
        this.#follow(signal).finally(() => this.#ending.abort()),
      ]);
    } finally {
      this.#cancelDraw?.();
      await this.#reading;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const where = { type: "gate.,approval." };
    for await (const heard of followEvents(this.#work.operator.events, where, { signal, wait: waitOn(this.#host) }))
      this.#hear(heard);
  }

  #hear({ heard }: FeedMessage): void {
    this.#show({ ...this.#inbox, live: heard !== "lost" });
    if (heard !== "lost") this.#read();
  }

  /** The list as the server has it; what comes meanwhile is read after it. */
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

  async #grant(wish: Wish): Promise<void> {
    if (wish.wish === "leave") return this.#ending.abort();
    const { approval_id: id, shown_digest: expected_digest } = wish.request;
    try {
      const body = { id, expected_digest };
      const { approvals } = this.#work.operator;
      const decided =
        wish.wish === "approve"
          ? await approvals.approve({ ...body, confirmation: wish.confirmation })
          : await approvals.deny({ ...body, ...(wish.reason !== "" && { reason: wish.reason }) });
      this.#show({ ...this.#inbox, message: visible(saidOf(wish.wish, decided)) });
    } catch (error) {
      const said = asTypedHere(messageOf(error), this.#work.command);
      this.#show({ ...this.#inbox, message: visible(said) });
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
    this.#cancelDraw = this.#host.clock.in(drawEveryMs, () => this.#tick(), false);
  }
}
