import type { SandboxDriver, Step } from "../../src/chains/sandbox.ts";
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

/** What the engine makes of each program, beside what the Python of this machine makes of it. */
export async function compared(driver: SandboxDriver, programs: readonly MatrixProgram[]): Promise<readonly Row[]> {
  const expected = plainPython(programs).map((ending) => JSON.stringify(ending));
  const rows: Row[] = [];
  for (const [at, { name, source }] of programs.entries()) {
    await using session = await driver.start({ language: "python", source, tools: [], chainId: name }, limits);
    const result = JSON.stringify(endingOf(await session.next()));
    const wanted = expected[at] ?? "";
    rows.push({ engine: driver.name, program: name, result, expected: wanted, same: result === wanted });
  }
  return rows;
}

function endingOf(step: Step): Ending {
  const printed = (step.printed ?? [])
    .filter(({ stream }) => stream === "out")
    .map(({ text }) => text)
    .join("");
  if (step.step === "done") return { value: step.value ?? null, printed };
  if (step.step === "failed")
    return { error: step.why === "script" ? (/^\w+/.exec(step.message)?.[0] ?? "") : step.why };
  return { error: "Called" };
}
