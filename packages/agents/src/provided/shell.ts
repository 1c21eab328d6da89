/** Anthropic's `bash` and OpenAI's `shell` and `local_shell`: commands of a model, in a sandbox and nowhere else. */
import { readlinkSync, statSync } from "node:fs";
import { checkedLimits, type JsonObject, type LimitTable, RuntimeFault } from "@postern/core";
import { Locks } from "@postern/core/system";
import type { ToolAnswer, ToolContext } from "postern";
import { FileRejection, type Files, type FileToolOptions, openFiles, rejectionOf } from "postern/builtin";
import type { Suggestion } from "postern/policy";
import type { ProviderDefinedTool } from "postern/tools";
import { gitEntries, setAside } from "./git-entries.ts";
import { type ShellEnd, type ShellLimits, type ShellRun, ShellSandbox } from "./shell-sandbox.ts";
import { newState } from "./shell-state.ts";

/** Where commands run and what they may have. */
export interface ShellToolOptions
  extends Pick<FileToolOptions, "runs" | "roots" | "outOfReach" | "notWritable">,
    Partial<ShellLimits> {
  /** Which root commands work in; it must be writable. Default: `workspace` of the run, else the only root. */
  readonly root?: string | undefined;
  /** Commands may use the network of this machine, its own services too. Default: no. */
  readonly network?: boolean | undefined;
  /** Folders with further programs, absolute: commands may read them. */
  readonly readable?: readonly string[] | undefined;
  /** How the tool is declared to OpenAI. Default: `shell`. */
  readonly declare?: "shell" | "local_shell" | undefined;
}

interface ShellInput {
  /** Of `bash`. */
  readonly command?: string;
  readonly restart?: boolean;
  /** Of `shell` (`commands`) and `local_shell` (`command`). */
  readonly action?: ShellAction;
}

interface ShellAction {
  readonly commands?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly working_directory?: string | null;
  readonly timeout_ms?: number | null;
  readonly max_output_length?: number | null;
  readonly user?: string | null;
}

const megabyte = 1024 * 1024;
const shellLimits: LimitTable<keyof ShellLimits> = {
  timeoutMs: { usual: 120_000, most: 3_600_000 },
  maxOutputBytes: { usual: 16_000, most: 16 * megabyte },
  memoryBytes: { usual: 512 * megabyte, most: 2 ** 40 },
  processes: { usual: 64, most: 10_000 },
};
/** For the work of a call beside its commands. */
const graceMs = 10_000;
const mostSessions = 256;
/** A longer preview would be cut. */
const mostPreviewCharacters = 65_536;

/** Commands find their folder under the root's name, which must not hide a folder of the system. */
const systemFolders = new Set(["bin", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "tmp", "usr"]);

const wholeOrNull: JsonObject = { type: ["integer", "null"], minimum: 1 };
/** A NUL would end the command before its end. */
const withoutNul: JsonObject = { type: "string", pattern: "^[^\\u0000]*$" };
const words: JsonObject = { type: "array", items: withoutNul, minItems: 1, maxItems: 100 };
/** Each call has one of them, so a person sees all that runs. */
const inputSchema: JsonObject = {
  type: "object",
  properties: {
    command: {
      ...withoutNul,
      minLength: 1,
      description: "A command of bash. The folder and exported variables stay for the next.",
    },
    restart: { type: "boolean", description: "Begin a new session: forget the folder and variables." },
    action: {
      type: "object",
      properties: {
        ...{ commands: words, command: words, timeout_ms: wholeOrNull, max_output_length: wholeOrNull },
        env: { type: "object", additionalProperties: withoutNul },
        ...{ working_directory: { ...withoutNul, type: ["string", "null"] }, user: { type: ["string", "null"] } },
      },
      oneOf: [{ required: ["commands"] }, { required: ["command"] }],
    },
  },
  oneOf: [{ anyOf: [{ required: ["command"] }, { required: ["restart"] }] }, { required: ["action"] }],
};

/**
 * A shell for models. It is `critical`, and off until a policy rule names it. Each command runs in its own sandbox. The
 * folder and exported variables of `bash` stay for the run's next command.
 *
 * @throws RuntimeFault `dependency_missing` if there is no sandbox, `options_invalid` for an unusable root
 *
 * @example
 * const tools = [await shellTool({ roots: { work: { path: "work", writable: true } } })];
 *
 * @public
 */
export async function shellTool(options: ShellToolOptions): Promise<ProviderDefinedTool> {
  const { network = false, readable = [], declare = "shell" } = options;
  const limits = checkedLimits(options, shellLimits, "options_invalid");
  const files = openFiles({ ...options, write: true });
  const root = rootOf(files, options.root);
  const sandbox = await ShellSandbox.open({ ...limits, network, readable });
  if ("missing" in sandbox)
    throw new RuntimeFault("dependency_missing", `The tool \`shell\` cannot be offered: ${sandbox.missing}.`);
  const shell = new Shell({ files, root, sandbox, limits });
  return Object.freeze({
    ...({ name: "shell", risk: "critical", effects: "write", openWorld: network, idempotent: false } as const),
    description: `Runs commands of bash in a sandbox, in the folder /${root}. ${network ? "The network can be reached." : "There is no network."} What a command leaves in the background ends with it.`,
    permissions: ["shell"],
    timeoutMs: limits.timeoutMs + graceMs,
    providerSpecs: {
      anthropic: { type: "bash_20250124", name: "bash" },
      openai: declare === "shell" ? { type: "shell", environment: { type: "local" } } : { type: "local_shell" },
    },
    callTypes: ["bash", "shell_call", "local_shell_call"],
    input: inputSchema,
    classifyRisk: (): Suggestion => ({ target: root }),
    preview: (given: unknown) => files.preview("", () => shown(given as ShellInput)), // the schema says so
    handleCall: (call: { readonly arguments: JsonObject }, context: ToolContext) =>
      files.answer("", context, () => shell.run(call.arguments as ShellInput, context)), // the schema says so
  });
}

function rootOf(files: Files, root = ""): string {
  try {
    const [name = ""] = files.pathToChange(root === "" ? "x" : `${root}/x`).split("/");
    if (!systemFolders.has(name) && (root === "" || name === root)) return name;
    throw new FileRejection("root_unknown", "is none of its roots, or has the name of a folder of the system.");
  } catch (error) {
    const why = rejectionOf(error)?.message;
    if (why === undefined) throw error;
    throw new RuntimeFault("options_invalid", `The shell cannot work in the root \`${root}\`: it ${why}`);
  }
}

/** The preview of a call: exactly the command that runs. The arguments also show a command that is too long for a preview. */
async function shown({ command = "", restart, action }: ShellInput): Promise<JsonObject> {
  const lines = action === undefined ? [command] : linesOf(action);
  const summary = [restart === true ? "begin a new session" : "", ...lines].filter((line) => line !== "").join("\n");
  if (summary.length <= mostPreviewCharacters) return { summary };
  return { supported: false, problem: "the command is too long for a preview; the arguments show all of it" };
}

interface ShellParts {
  readonly files: Files;
  readonly root: string;
  readonly sandbox: ShellSandbox;
  readonly limits: ShellLimits;
}

class Shell {
  readonly #parts: ShellParts;
  /** The state after the last command, by agent and run. The oldest is forgotten first. */
  readonly #sessions = new Map<string, Buffer>();
  readonly #locks = new Locks();

  constructor(parts: ShellParts) {
    this.#parts = parts;
  }

  async run(given: ShellInput, context: ToolContext): Promise<ToolAnswer> {
    const { tenant, agent, user = "" } = context.principal;
    const session = JSON.stringify([tenant, agent, user, context.runId]);
    return this.#locks.with([session], async () => {
      context.check(); // it may have waited for another command
      if (given.action !== undefined) return this.#act(given.action, context);
      if (given.restart === true) this.#sessions.delete(session);
      if (given.command === undefined) return { content: [{ type: "text", text: "A new session has begun." }] };
      const state = this.#sessions.get(session) ?? newState;
      const end = await this.#command(given.command, { state }, context);
      this.#remember(session, end.state ?? state);
      return answerOf([end]);
    });
  }

  /** The commands of one item share its time. Each begins in the folder and without state of the one before. */
  async #act(action: ShellAction, context: ToolContext): Promise<ToolAnswer> {
    const { timeout_ms: asked, max_output_length: most, user } = action;
    if (typeof user === "string" && user !== "")
      throw new FileRejection(
        "no_permission",
        `cannot be used: commands run as the user \`nobody\`, and not as \`${user}\`.`,
      );
    const lines = linesOf(action);
    const until = performance.now() + Math.min(asked ?? Number.POSITIVE_INFINITY, this.#parts.limits.timeoutMs);
    const ends: ShellEnd[] = [];
    for (const line of lines) {
      const timeoutMs = Math.max(1, until - performance.now());
      ends.push(await this.#command(line, { timeoutMs, ...(typeof most === "number" && { most }) }, context));
      if (ends.at(-1)?.outcome.type === "timeout") break;
    }
    return answerOf(ends, most ?? undefined);
  }

  async #command(
    command: string,
    { state, timeoutMs, most }: Pick<ShellRun, "state"> & { readonly timeoutMs?: number; readonly most?: number },
    context: ToolContext,
  ): Promise<ShellEnd> {
    const { files, root, sandbox, limits } = this.#parts;
    using folder = await files.openFolder(root, context);
    const { dev, ino } = statSync(`${folder.self}/.`, { bigint: true });
    const git = await gitEntries(files, folder, context.signal);
    const ended = sandbox.run({
      ...{ folder: readlinkSync(folder.self), at: `/${root}`, identity: `${dev}:${ino}` },
      ...{ git: git.filter(({ isLink }) => !isLink), command, state },
      maxOutputBytes: Math.min(most ?? limits.maxOutputBytes, limits.maxOutputBytes),
      ...{ timeoutMs: Math.min(timeoutMs ?? limits.timeoutMs, limits.timeoutMs), signal: context.signal },
    });
    await Promise.allSettled([ended]); // the folder closes after it, and what a failed command made is renamed too
    const renamed = await setAside(files, folder, git);
    const end = await ended;
    return renamed === undefined ? end : { ...end, note: end.note === undefined ? renamed : `${end.note} ${renamed}` };
  }

  #remember(session: string, state: Buffer): void {
    this.#sessions.delete(session);
    this.#sessions.set(session, state);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > mostSessions && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

/**
 * What bash runs, one text a command: with the variables and the folder that `local_shell` asks for.
 *
 * @throws FileRejection
 */
function linesOf({ commands, command = [], env = {}, working_directory: folder }: ShellAction): readonly string[] {
  const odd = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd !== undefined)
    throw new FileRejection("content_invalid", `sets a variable with the name \`${odd.slice(0, 60)}\`.`);
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  const enter = typeof folder === "string" && folder !== "" ? `cd -- ${quoted(folder)} || exit 1\n` : "";
  return (commands ?? [command.map(quoted).join(" ")]).map((line) => exports.join("") + enter + line);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The item of OpenAI's `shell`, and the same as text. A command that fails has run, so it is no error. */
function answerOf(ends: readonly ShellEnd[], max_output_length?: number): ToolAnswer {
  const output = ends.map(({ stdout, stderr, outcome, note }) => ({
    stdout,
    stderr: note === undefined ? stderr : `${stderr}${stderr === "" ? "" : "\n"}${note}`,
    outcome,
  }));
  const text = output.map(({ stdout, stderr, outcome }) => {
    const end = outcome.type === "timeout" ? "[It took too long and was ended.]" : `[exit code ${outcome.exit_code}]`;
    const shown = [stdout, stderr].map((one) => one.replace(/\n$/, "")).filter((one) => one !== "");
    return [...shown, ...(outcome.type === "exit" && outcome.exit_code === 0 && shown.length > 0 ? [] : [end])].join(
      "\n",
    );
  });
  return {
    content: [{ type: "text", text: text.join("\n") }],
    structured: { type: "shell_call_output", output, ...(max_output_length !== undefined && { max_output_length }) },
  };
}
