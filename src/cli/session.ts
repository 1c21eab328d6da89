import { commandName } from "./command-name.ts";
import { type Connection, connect } from "./connect.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { GlobalFlags, Host, InsideNeeds } from "./host.ts";
import { type Paint, paintFor, type Terminal } from "./terminal.ts";

/** What one command works with. */
export interface Work extends Connection {
  readonly terminal: Terminal;
  readonly paint: Paint;
  readonly json: boolean;
  /** How the next command is typed, so that it asks the same Postern. */
  readonly command: string;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

/** Runs one command against a Postern and lets go of it, also when the command fails. */
export async function withPostern(
  { host, flags, needs }: { readonly host: Host; readonly flags: GlobalFlags; readonly needs: InsideNeeds },
  body: (work: Work) => Promise<ExitCode>,
): Promise<ExitCode> {
  const connection = await connect(host, flags, needs);
  const { terminal, clock } = host;
  try {
    return await body({
      ...connection,
      terminal,
      paint: paintFor(terminal),
      json: flags.json === true,
      command: commandName(flags),
      now: () => clock.now(),
    });
  } finally {
    await connection.close();
  }
}

/** The stable shape for scripts: exactly what HTTP answers, indented. */
export function printJson(work: Pick<Work, "terminal">, value: unknown): void {
  work.terminal.out(`${JSON.stringify(value, undefined, 2)}\n`);
}
