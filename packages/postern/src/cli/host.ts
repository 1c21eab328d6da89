/**
 * What commands need of the process around them. Tests give their own.
 *
 * Invariant: a command works the same on a running Postern and on one started inside for it; it sees only the API.
 * Next: program.ts (all commands), command.ts (what a command is), start/connect.ts (which Postern), commands/ (one file each).
 */

import type { Clock } from "@postern/core";
import type { Approver } from "../approvals/approver.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./output/terminal.ts";

/** Flags every command has. */
export interface GlobalFlags {
  readonly config?: string;
  readonly data?: string;
  readonly port?: string;
  /** A Postern on another host. */
  readonly url?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

export interface StartFlags extends GlobalFlags {
  readonly host?: string;
  readonly stdio?: boolean;
  readonly autonomy?: string;
  readonly logLevel?: string;
}

/** A Postern that does not listen, for the length of one command. */
export interface Inside {
  readonly url: string;
  readonly send: (request: Request) => Promise<Response>;
  close(): Promise<void>;
}

export interface InsideNeeds {
  /** Connect the configured servers and load the tools: to call and to list them. */
  readonly tools?: boolean;
  /** Serve at once; the tools of a server come when it is connected. Default: wait for the servers. */
  readonly servesAtOnce?: boolean;
  /** `"optional"`: the command needs only the configuration. */
  readonly dataFolder?: "optional";
  readonly approver?: Approver;
  /** Deliver notifications. */
  readonly channels?: boolean;
  /** Receives each problem that did not stop the start. Default: printed beside the answer. */
  readonly problem?: (message: string) => void;
  /** How the command is typed here, for agents to pass on: `commandName`. */
  readonly command?: string;
}

export interface Host {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** The folder of the store, the tokens and server.json; by flags and environment, else as configured. */
  dataFolder(flags: GlobalFlags): Promise<string>;
  /** The port asked for by flag or environment, before any configuration. */
  wantedPort(flags: GlobalFlags): number | undefined;
  startInside(flags: GlobalFlags, needs: InsideNeeds): Promise<Inside>;
  /** Serves until it is stopped. */
  start(flags: StartFlags): Promise<ExitCode>;
}
