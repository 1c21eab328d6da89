/** Asks a Postern and prints its answer: as JSON with `--json`, else as text. */
import { asTypedHere } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { GlobalFlags, Host, InsideNeeds } from "./host.ts";
import { tellOfMore, upTo } from "./pages.ts";
import { printJson, type Work, withPostern } from "./session.ts";
import { paintRisk } from "./terminal.ts";
import { type Cell, relative, table } from "./text.ts";

/** Where a command was typed, and what it needs of a Postern that is started inside. */
export interface CommandInput {
  readonly host: Host;
  readonly flags: GlobalFlags;
  /** Default: no tools. */
  readonly needs?: InsideNeeds;
}

export interface AnswerCommand<Answer> {
  readonly ask: (work: Work) => Promise<Answer>;
  readonly text: (answer: Answer, work: Work) => string;
  /** Default: ok. */
  readonly code?: (answer: Answer) => ExitCode;
}

export function printAnswer<Answer>(
  { needs = { tools: false }, ...typed }: CommandInput,
  { ask, text, code = () => exitCodes.ok }: AnswerCommand<Answer>,
): Promise<ExitCode> {
  return withPostern({ ...typed, needs }, async (work) => {
    const answer = await ask(work);
    if (work.json) printJson(work, answer);
    else work.terminal.out(text(answer, work));
    return code(answer);
  });
}

/** The columns of a table by their headings, in their order. */
export type Columns<Row> = Readonly<Record<string, (row: Row, work: Work) => string | Cell>>;

/** An answer with one list in it, and with the place where its next page begins. */
type ListAnswer<Name extends string, Row> = { readonly [Key in Name]: readonly Row[] } & {
  readonly next_after?: string;
};

export interface ListCommand<Name extends string, Row> {
  /** The field of the answer that holds the rows. */
  readonly rows: Name;
  /** How many rows at most. Default: all that one answer holds. */
  readonly limit?: number;
  readonly ask: (
    work: Work,
    page: { readonly limit: number; readonly after?: string },
  ) => Promise<ListAnswer<Name, Row>>;
  readonly columns: Columns<Row>;
  /** Printed where there are no rows. */
  readonly empty: string;
  /** Printed below the table. */
  readonly below?: (rows: readonly Row[], work: Work) => string;
}

export function printList<Name extends string, Row>(
  { needs = { tools: false }, ...typed }: CommandInput,
  { rows: name, limit = Number.POSITIVE_INFINITY, ask, columns, empty, below = () => "" }: ListCommand<Name, Row>,
): Promise<ExitCode> {
  return withPostern({ ...typed, needs }, async (work) => {
    const { rows, next } = await upTo(limit, async (most, after?: string) => {
      const page = await ask(work, { limit: most, ...(after !== undefined && { after }) });
      return { rows: page[name], next: page.next_after };
    });
    if (work.json) printJson(work, { [name]: rows, next_after: next });
    else if (rows.length === 0) work.terminal.out(`${asTypedHere(empty, work.command)}\n`);
    else work.terminal.out(`${tableOf(rows, columns, work)}${below(rows, work)}`);
    tellOfMore(work, next !== undefined);
    return exitCodes.ok;
  });
}

export function tableOf<Row>(rows: readonly Row[], columns: Columns<Row>, work: Work): string {
  const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row, work)));
  return table(Object.keys(columns), cells, work);
}

/** That a list which shows one state, or `all`, has no rows. */
export function noRows(what: string, state: string): string {
  return state === "all" ? `No ${what} yet.` : `No ${what} are ${state}.`;
}

/** What a list is asked for: without the field, for every state. */
export function inState<State extends string>(state: State | "all"): { readonly state?: Exclude<State, "all"> } {
  return state === "all" ? {} : { state: state as Exclude<State, "all"> }; // it is none of them now
}

export function riskCell(risk: string, { paint }: Work): Cell {
  return { text: risk, paint: (text) => text.replace(risk, paintRisk(paint, risk)) };
}

/** How long ago a time of an answer was, or how far off it is. */
export function ago(iso: string | undefined, { now }: Work): string {
  return iso === undefined ? "never" : relative(Date.parse(iso), now());
}
