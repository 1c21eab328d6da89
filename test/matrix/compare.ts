import { isJsonObject, type Json } from "../../packages/core/src/json.ts";
import type { SandboxDriver, ScriptStep } from "../../packages/core/src/sandbox/sandbox.ts";
import { type Ending, plainPython } from "./plain-python.ts";
import type { MatrixProgram } from "./programs.ts";

export interface Row {
  readonly engine: string;
  readonly program: string;
  readonly result: string;
  readonly expected: string;
  readonly same: boolean;
}

const limits = { cpuMs: 20_000, memoryBytes: 128 * 1024 * 1024, outputBytes: 4_000_000, wallMs: 60_000 };

/** Returns for each program the engine's result and that of the local Python. */
export async function compared(driver: SandboxDriver, programs: readonly MatrixProgram[]): Promise<readonly Row[]> {
  const expected = plainPython(programs).map((ending) => JSON.stringify(ending));
  const rows: Row[] = [];
  for (const [at, { name, source }] of programs.entries()) {
    await using session = await driver.start({ language: "python", source, tools: [], chainId: name }, limits);
    const result = JSON.stringify(endingOf(await session.next()));
    const wanted = expected[at] ?? "";
    const same = result === wanted || (driver.name !== "cpython" && isAlike(JSON.parse(result), JSON.parse(wanted)));
    rows.push({ engine: driver.name, program: name, result, expected: wanted, same });
  }
  return rows;
}

/** Another version of Python may support an operation that this one refuses; results of both must be equal. */
function isAlike(one: Json, other: Json): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isAlike(item, other[at] ?? null));
  if (isJsonObject(one) && isJsonObject(other)) return isAlike(Object.values(one), Object.values(other));
  return one === other || isError(one) || isError(other);
}

function isError(value: Json): boolean {
  return typeof value === "string" && value.startsWith("error ");
}

function endingOf(step: ScriptStep): Ending {
  const printed = (step.printed ?? [])
    .filter(({ stream }) => stream === "out")
    .map(({ text }) => text)
    .join("");
  if (step.step === "done") return { value: step.value ?? null, printed };
  if (step.step === "failed")
    return { error: step.why === "script" ? (/^\w+/.exec(step.message)?.[0] ?? "") : step.why };
  return { error: "Called" };
}
