/** Asks a Postern and prints its answer: as JSON with `--json`, else as text. */
import { asTypedHere, commandName } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host, InsideNeeds } from "../host.ts";
import type { Connection } from "../start/connect.ts";
import { type Paint, paintFor, paintRisk, type Terminal } from "./terminal.ts";
import { type Cell, relative, table } from "./text.ts";

/** Where a command was typed. */
export interface CommandInput {
  readonly host: Host;
  readonly flags: GlobalFlags;
}

/** What one command works with. */
export interface Work extends Connection, CommandInput {
  readonly terminal: Terminal;
  readonly paint: Paint;
  readonly json: boolean;
  /** How the next command is typed, so that it asks the same Postern. */
  readonly command: string;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

/** Runs one command against a Postern and closes the connection, also when the command fails. */
export async function withPostern<Result>(
  { host, flags }: CommandInput,
  needs: InsideNeeds,
  body: (work: Work) => Promise<Result>,
): Promise<Result> {
  const { connect } = await import("../start/connect.ts");
  const connection = await connect(host, flags, needs);
  const { terminal, clock } = host;
  try {
    return await body({
      ...connection,
      ...{ host, flags, terminal, paint: paintFor(terminal), json: flags.json === true, command: commandName(flags) },
      now: () => clock.now(),
    });
  } finally {
    await connection.close();
  }
}

/** The stable shape for scripts: exactly what HTTP answers, indented. */
export function printJson({ terminal }: Pick<Work, "terminal">, value: unknown): void {
  terminal.out(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** The answer of a command that asks no Postern. */
export function print({ host, flags }: CommandInput, answer: unknown, text: string): void {
  if (flags.json === true) printJson(host, answer);
  else host.terminal.out(text);
}

/** One request. `Sent`: the words and the flags that were typed. */
export interface AnswerCommand<Sent, Answer> {
  /** What a Postern that is started inside must have. Default: no tools. */
  readonly needs?: InsideNeeds;
  readonly ask: (work: Work, sent: Sent) => Promise<Answer>;
  readonly text: (answer: Answer, work: Work, sent: Sent) => string | Promise<string>;
  /** Default: ok. */
  readonly code?: (answer: Answer) => ExitCode;
}

export function printAnswer<Sent, Answer>(
  { sent, ...typed }: CommandInput & { readonly sent: Sent },
  { needs = {}, ask, text, code = () => exitCodes.ok }: AnswerCommand<Sent, Answer>,
): Promise<ExitCode> {
  return withPostern(typed, needs, async (work) => {
    const answer = await ask(work, sent);
    if (work.json) printJson(work, answer);
    else work.terminal.out(await text(answer, work, sent));
    return code(answer);
  });
}

/** The columns of a table by their headings, in their order. */
export type Columns<Row> = Readonly<Record<string, (row: Row, work: Work) => string | Cell | undefined>>;

/** An answer with one list in it, and with the place where its next page begins. */
export type ListAnswer<Name extends string, Row> = { readonly [Key in Name]: readonly Row[] } & {
  readonly next_after?: string | number;
  readonly next_before?: string | number;
};

interface Limited {
  readonly limit?: number | undefined;
}

export interface ListCommand<Sent, Name extends string, Row, Page extends ListAnswer<Name, Row>> {
  readonly needs?: InsideNeeds;
  /** The field of the answer that holds the rows. */
  readonly rows: Name;
  readonly ask: (work: Work, sent: Sent) => Promise<Page>;
  readonly columns: Columns<Row>;
  /** Printed when there are no rows. */
  readonly empty: string | ((sent: Sent) => string);
  /** Printed below the table. */
  readonly below?: (page: Page, work: Work) => string;
}

/** Prints as many rows as `sent.limit` allows, from as many pages as that takes. Without it: what one answer holds. */
export function printList<Sent extends object, Name extends string, Row, Page extends ListAnswer<Name, Row>>(
  { sent, ...typed }: CommandInput & { readonly sent: Sent },
  { needs = {}, rows: name, ask, columns, empty, below = () => "" }: ListCommand<Sent, Name, Row, Page>,
): Promise<ExitCode> {
  return withPostern(typed, needs, async (work) => {
    const page = await allPages(sent, name, (asked) => ask(work, asked));
    if (work.json) printJson(work, page);
    else {
      const none = typeof empty === "string" ? empty : empty(sent);
      const text =
        page[name].length === 0 ? `${asTypedHere(none, work.command)}\n` : tableOf(page[name], columns, work);
      work.terminal.out(text + below(page, work));
      if (isMore(page)) work.terminal.aside("There are more; `--limit` shows them.\n");
    }
    return exitCodes.ok;
  });
}

/** What a route answers at most. */
const largestPage = 1_000;

/** The last page, with the rows of all pages that `limit` takes. A page may be short although there are more. */
export async function allPages<Sent extends object, Name extends string, Page extends ListAnswer<Name, unknown>>(
  sent: Sent,
  name: Name,
  pageOf: (sent: Sent) => Promise<Page>,
): Promise<Page> {
  const { limit }: Limited = sent as Limited; // without such a field it is undefined
  let asked = sent;
  for (let rows: readonly unknown[] = []; ; ) {
    const most = limit === undefined ? {} : { limit: Math.min(largestPage, limit - rows.length) };
    const page = await pageOf({ ...asked, ...most });
    rows = [...rows, ...page[name]];
    if (limit === undefined || rows.length >= limit || !isMore(page)) return { ...page, [name]: rows };
    asked = {
      ...asked,
      ...(page.next_after === undefined ? { before: page.next_before } : { after: page.next_after }),
    };
  }
}

function isMore({ next_after, next_before }: ListAnswer<never, unknown>): boolean {
  return next_after !== undefined || next_before !== undefined;
}

export function tableOf<Row>(rows: readonly Row[], columns: Columns<Row>, work: Work): string {
  const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row, work) ?? ""));
  return table(Object.keys(columns), cells, work);
}

/** Says that a list of one state, or of `all`, has no rows. */
export function noRows(what: string, state: string): string {
  return state === "all" ? `No ${what} yet.` : `No ${what} are ${state}.`;
}

/** The filter of a list: no field for `all`. */
export function inState<State extends string>(state: State | "all"): { readonly state?: Exclude<State, "all"> } {
  return state === "all" ? {} : { state: state as Exclude<State, "all"> }; // it is not `all` here
}

export function riskCell(risk: string, { paint }: Work): Cell {
  return { text: risk, paint: (text) => text.replace(risk, paintRisk(paint, risk)) };
}

/** How long ago a time of an answer was, or how far off it is. */
export function ago(iso: string | undefined, { now }: Pick<Work, "now">): string {
  return iso === undefined ? "never" : relative(Date.parse(iso), now());
}
