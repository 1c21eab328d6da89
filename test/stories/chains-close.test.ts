import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ended } from "../fakes/postern-process.ts";

const index = join(import.meta.dirname, "../../packages/postern/src/index.ts");

it("a program that has run a script closes its runtime and exits", async () => {
  const program = `import { createRuntime } from ${JSON.stringify(index)};
    const runtime = await createRuntime({ tools: [], chains: { engines: ["quickjs"] } });
    const { status } = await runtime.runChain({ code: "1", language: "javascript" });
    await runtime.close();
    console.log(status);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "pipe"] });
  expect(await ended(child)).toMatchObject({ code: 0, out: "ok\n" });
}, 60_000);
