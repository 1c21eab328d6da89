import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";

const postern = new CommandLine();
afterEach(() => postern[Symbol.dispose]());

it("a call whose process was killed between claim and end counts against a limit", async () => {
  writeFileSync(
    join(postern.folder, "postern.yaml"),
    [
      "tools:",
      "  modules: [./tools.ts]",
      "listen: { port: 0 }",
      "policy:",
      "  rules:",
      "    - { effect: deny, tool: slow, history: { within: principal, at_most: 1 } }",
    ].join("\n"),
  );
  const { child, end } = await postern.start("data");
  const calling = postern.run("call", "slow", "seconds=100", "--data", "data");
  await expect.poll(() => postern.runs).toEqual(["slow"]);
  child.kill("SIGKILL");
  await end;
  expect((await calling).code).not.toBe(0);
  const listed = await postern.run("calls", "--json", "--data", "data");
  expect(JSON.parse(listed.out).calls).toMatchObject([{ tool: "slow", state: "unknown" }]);
  const again = await postern.run("call", "slow", "seconds=0", "--data", "data");
  expect(again).toMatchObject({ code: 3, err: expect.stringContaining("at most 1 call") });
  expect(postern.runs).toEqual(["slow"]);
});
