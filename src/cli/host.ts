/**
 * What commands need of the process around them. The command line is a door: it knows neither configuration nor how a
 * runtime is wired, so main.ts hands both in.
 *
 * Invariant: a command works the same on a running Postern and on one started inside for it; it sees only the API.
 * Next: program.ts (commands and their flags), connect.ts (which Postern), commands/ (one file each).
 */
import type { AgentScript } from "../agents/script.ts";
import type { ApprovalSettings } from "../approvals/approvals-config.ts";
import type { Approver } from "../approvals/approver.ts";
import type { Clock } from "../core/clock.ts";
import type { Limits } from "../core/session.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { SecretSettings } from "../secrets/open-secrets.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { NamedText } from "../server/policy-reader.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { SecretUse, ServerTexts } from "./secret-checks.ts";
import type { Terminal } from "./terminal.ts";

/** Flags every command has. */
export interface GlobalFlags {
  readonly config?: string;
  readonly data?: string;
  readonly port?: string;
  readonly host?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

export interface StartFlags extends GlobalFlags {
  readonly stdio?: boolean;
  readonly autonomy?: string;
  readonly logLevel?: string;
}

/** Carries a request straight into a door of this process. */
export type Send = (request: Request) => Promise<Response>;

/** A Postern without a listening door, for the length of one command. */
export interface Inside {
  readonly url: string;
  readonly send: Send;
  close(): Promise<void>;
}

export interface InsideNeeds {
  /** Connect the configured servers and load the tools: needed to call and to list, not to read the books. */
  readonly tools?: boolean;
  /** Serve at once: what servers have comes when they are connected. Default: wait for them, as a command needs. */
  readonly servesAtOnce?: boolean;
  /** `"any"`: it looks at the configuration alone, and does so where nothing was ever started too. */
  readonly books?: "any";
  readonly approver?: Approver;
  /** Tell people where they want to be told: not for the length of one command. */
  readonly channels?: boolean;
  /** Told what was wrong and is gone round, a sentence each. Default: beside the answer. */
  readonly problem?: (message: string) => void;
  /** How it is typed here, for agents to pass on: `commandName`. */
  readonly command?: string;
}

/** What `doctor` looks at. */
export interface Inspected {
  /** The configuration, when there is one. */
  readonly file: string | undefined;
  /** A configuration in code that was found and, not being named, not run. */
  readonly codeNearby: string | undefined;
  /** Variables of the environment that nobody reads. */
  readonly mistyped: readonly { readonly name: string; readonly meant: string }[];
  readonly dataFolder: string;
  readonly policy: PolicyOptions;
  readonly limits?: Partial<Limits>;
  /** Absolute. */
  readonly skillFolders: readonly string[];
  readonly toolFolders: readonly string[];
  readonly toolModules: readonly string[];
  readonly files: { readonly roots?: Readonly<Record<string, { readonly path: string }>> | undefined } | undefined;
  readonly runs: { readonly folder: string };
  readonly console: { readonly editPolicy: boolean };
  readonly listen: { readonly host: string; readonly port: number };
  readonly servers: Readonly<Record<string, ServerTexts & { readonly cwd?: string }>>;
  readonly secretSettings: SecretSettings;
  readonly approvals: Pick<ApprovalSettings, "routes" | "ttlMs">;
  readonly accounts: SecretUse["accounts"];
  readonly channels?: SecretUse["channels"];
  readonly chains?: SecretUse["chains"];
  /** A store given in code takes their place. */
  readonly secrets: SecretStore | undefined;
}

export interface Host {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Where its books, tokens and server.json are; by flags and environment, else as configured. */
  dataFolder(flags: GlobalFlags): Promise<string>;
  /** The port asked for by flag or environment, before any configuration. */
  wantedPort(flags: GlobalFlags): number | undefined;
  startInside(flags: GlobalFlags, needs: InsideNeeds): Promise<Inside>;
  /** Serves until it is told to stop. */
  start(flags: StartFlags): Promise<ExitCode>;
  /** For `doctor`. Throws with every mistake of the configuration, a line each. */
  inspect(flags: GlobalFlags): Promise<Inspected>;
  /** The turns in a script of `agent run`. Throws with every mistake, a line each. */
  agentScript(named: NamedText): Promise<AgentScript>;
  /** The configuration as it lies on the disk now: the one that is used here, or another file. */
  configurationText(flags: GlobalFlags, file?: string): Promise<NamedText>;
}
