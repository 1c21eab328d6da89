/** The fake clock stands still while these scripts run, so only the kernel ends them, and the refusal says that. */
import { expect, it } from "vitest";
import { CpythonDriver } from "../../../packages/engines/src/cpython/cpython.ts";
import { runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf } from "../../fakes/script-fixture.ts";

const missing = await new CpythonDriver().unavailable();
const grows = "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * 10_000_000))";
/** Full folders and pipes do not count as the process's memory, so the script takes all it may have and catches the error. */
const keptForIt = `import os
for folder in ["/tmp", "/workspace"]:
    with open(folder + "/full", "wb") as file:
        file.write(bytes(16_000_000))
try:
    os.pipe()
    said = "a pipe"
except PermissionError:
    said = "no pipe"
kept = []
try:
    while True:
        kept.append(bytearray(b"x" * 1_000_000))
except MemoryError:
    del kept
said`;

it.skipIf(missing !== undefined)(
  "a CPython script reaches its own limit first, because no memory escapes the count",
  async () => {
    await using h = await runtimeFixture({ chains: { engines: ["cpython"], memoryBytes: 64 << 20 } });
    const outcome = await h.runtime.runChain({ code: keptForIt, language: "python" });
    expect(resultOf(outcome)).toMatchObject({ status: "ok", output_text: "no pipe" });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "a CPython script that outgrows its process's limit ends as memory, with one trace",
  async () => {
    await using h = await runtimeFixture({ chains: { engines: ["cpython"], memoryBytes: 64 << 20 } });
    const outcome = await h.runtime.runChain({ code: `tools.echo(to='x')\n${grows}`, language: "python" });
    expect(resultOf(outcome)).toMatchObject({
      ...{ status: "error", error_kind: "memory", tool_calls: 1 },
      call_trace: [{ tool: "echo", status: "ok", line: 1 }],
    });
    const events = await h.runtime.audit.query({ tool: "tool_chain" });
    expect(events.map(({ type }) => type)).toEqual(["tool_call.attempted", "tool_call.failed"]);
  },
  60_000,
);
