/** Nobody looks at these scripts while they run: time stands still. What ends them is the kernel, and it is told as what it is. */
import { expect, it } from "vitest";
import { Groups } from "../../../src/chains/drivers/child/groups.ts";
import { CpythonDriver } from "../../../src/chains/drivers/python/cpython/cpython.ts";
import { house } from "../../fakes/house.ts";
import { resultOf } from "../../fakes/script-house.ts";

const missing = await new CpythonDriver().unavailable();
const hasGroups = ((): boolean => {
  using groups = Groups.open(`postern-test-${process.pid}`);
  return groups !== undefined;
})();

const grows = "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * 10_000_000))";
/** What the kernel keeps for it is no memory of its process: full folders and pipes, and then all it may have, which it catches. */
const keptForIt = `import fcntl, os
for folder in ["/tmp", "/workspace"]:
    with open(folder + "/full", "wb") as file:
        file.write(bytes(16_000_000))
try:
    while True:
        _, end = os.pipe()
        os.set_blocking(end, False)
        fcntl.fcntl(end, 1031, 1 << 20)
        os.write(end, bytes(1 << 20))
except OSError:
    pass
kept = []
try:
    while True:
        kept.append(bytearray(b"x" * 1_000_000))
except MemoryError:
    del kept
"went on"`;

const bounds: readonly (readonly [whose: string, is: boolean, code: string])[] = [
  ["its process's limit", missing === undefined, grows],
  ["its control group's limit", missing === undefined && hasGroups, keptForIt],
];

for (const [whose, is, code] of bounds)
  it.skipIf(!is)(
    `a CPython script that outgrows ${whose} ends as memory, with one trace of what it did`,
    async () => {
      await using h = await house({ chains: { engines: ["cpython"], memoryBytes: 64 << 20 } });
      const outcome = await h.runtime.runChain({ code: `tools.echo(to='x')\n${code}`, language: "python" });
      expect(resultOf(outcome)).toMatchObject({
        ...{ status: "error", error_kind: "memory", tool_calls: 1 },
        call_trace: [{ tool: "echo", status: "ok", line: 1 }],
      });
      const events = await h.runtime.audit.query({ tool: "tool_chain" });
      expect(events.map(({ type }) => type)).toEqual(["tool_call.attempted", "tool_call.failed"]);
    },
    60_000,
  );
