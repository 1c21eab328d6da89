import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { autoApprover } from "../../packages/postern/src/approvals/index.ts";
import type { FileToolOptions } from "../../packages/postern/src/builtin/index.ts";
import {
  type AnyTool,
  createRuntime,
  type JsonObject,
  type Runtime,
  type RuntimeOptions,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import { openRunFolders } from "../../packages/postern/src/observe/index.ts";
import { ownFolder } from "./own-folder.ts";

export interface ProvidedFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  /** A temporary folder with the run's folders and a test's own files. */
  readonly base: string;
  readonly workspace: string;
  call(tool: string, given: JsonObject): Promise<ToolOutcome>;
  put(path: string, text: string): void;
  read(path: string): string | undefined;
}

export const agent = { principal: { tenant: "default", agent: "a" }, runId: "run_1" } as const;
/** The identity that may call `shell`. */
const allowed = { rules: [{ effect: "allow", tool: "shell" }] } as const;

/** Provider-defined tools on a real runtime over a temporary folder; everything is approved. */
export async function providedFixture(
  make: (options: FileToolOptions, base: string) => AnyTool | Promise<AnyTool>,
  options: RuntimeOptions = {},
): Promise<ProvidedFixture> {
  const base = realpathSync(ownFolder());
  const runs = openRunFolders(join(base, "runs"));
  const workspace = join(runs.open("default", "run_1"), "workspace");
  const tools = [await make({ runs }, base)];
  const limits = { maxInlineResultBytes: 4_000_000 };
  const approvals = { approver: autoApprover() };
  const runtime = await createRuntime({ tools, autonomy: "A4", policy: allowed, limits, approvals, ...options });
  return {
    ...{ runtime, base, workspace },
    call: (tool, given) => runtime.invoke({ tool, arguments: given }, agent),
    put(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path) => (existsSync(join(workspace, path)) ? readFileSync(join(workspace, path), "utf8") : undefined),
    [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose](),
  };
}
