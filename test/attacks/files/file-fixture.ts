import { mkdirSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FileToolOptions, fileTools } from "../../../packages/postern/src/builtin/index.ts";
import {
  createRuntime,
  type JsonObject,
  type LocalTool,
  type Runtime,
  type RuntimeOptions,
  type RuntimeSession,
  type ToolContext,
  type ToolOutcome,
} from "../../../packages/postern/src/index.ts";
import { openRunFolders } from "../../../packages/postern/src/observe/index.ts";
import { ownFolder } from "../../fakes/own-folder.ts";

export interface Emitted {
  readonly type: string;
  readonly summary: string;
  readonly data: JsonObject | undefined;
}

export interface FileFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: RuntimeSession;
  /** A temporary folder with `runs/`, which has the run's folders, and a test's own files. */
  readonly base: string;
  /** The run's `workspace/`. */
  readonly workspace: string;
  readonly run: string;
  readonly emitted: readonly Emitted[];
  call(tool: string, given: JsonObject): Promise<ToolOutcome>;
}

export interface FileFixtureOptions {
  readonly files?: FileToolOptions | ((base: string) => FileToolOptions);
  readonly runtime?: RuntimeOptions;
  readonly tools?: (options: FileToolOptions) => readonly LocalTool[];
}

const caller = { principal: { tenant: "default", agent: "a", via: "test" }, runId: "run_1" } as const;
/** High limits, so that no test ends because of its number of calls. */
const limits = { maxToolCalls: 10_000_000, totalTimeoutMs: 7 * 86_400_000, maxInlineResultBytes: 4_000_000 } as const;
const deletesAllowed = { rules: [{ effect: "allow", tool: "delete_file" }] } as const;

/** The real tools on a real runtime over a temporary folder; every call runs unasked unless it is critical. */
export async function fileFixture(options: FileFixtureOptions = {}): Promise<FileFixture> {
  const base = realpathSync(ownFolder());
  const runs = openRunFolders(join(base, "runs"));
  const run = runs.open("default", "run_1");
  const more = typeof options.files === "function" ? options.files(base) : (options.files ?? {});
  const emitted: Emitted[] = [];
  const tools = (options.tools ?? fileTools)({ runs, write: true, delete: true, ...more }).map((tool) =>
    spied(tool, emitted),
  );
  const runtime = await createRuntime({ tools, autonomy: "A4", policy: deletesAllowed, limits, ...options.runtime });
  const session = runtime.openSession({}, caller);
  return {
    runtime,
    session,
    base,
    run,
    workspace: join(run, "workspace"),
    emitted,
    call: async (tool, given) => {
      const outcome = await session.invoke({ tool, arguments: given });
      if (outcome.refusal?.code === "budget_exhausted") throw new Error(outcome.text); // then nothing was tested
      return outcome;
    },
    [Symbol.asyncDispose]: async () => {
      await runtime.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Wraps a tool and records its events. */
function spied(tool: LocalTool, emitted: Emitted[]): LocalTool {
  const execute = (input: unknown, context: ToolContext, action: string): unknown => {
    const emit = context.emit.bind(context);
    Object.defineProperty(context, "emit", {
      value: (type: string, summary: string, data?: JsonObject) => {
        emitted.push({ type, summary, data });
        emit(type, summary, data);
      },
    });
    return tool.execute?.(input, context, action);
  };
  return { ...tool, execute };
}

/** Returns this process's open descriptors of files and folders, without those of threads and sockets. */
export function descriptors(): number {
  return readdirSync("/proc/self/fd").filter((fd) => targetOf(fd).startsWith("/")).length;
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ""; // the one that listed them
  }
}

export function put(path: string, content: string | Uint8Array = "content"): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
