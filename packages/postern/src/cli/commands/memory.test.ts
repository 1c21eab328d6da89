import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../../../../../test/fakes/command-line.ts";
import type { PosternProcess } from "../../../../../test/fakes/postern-process.ts";

let postern: PosternProcess;
beforeAll(() => {
  postern = new CommandLine();
  appendFileSync(join(postern.folder, "postern.yaml"), "memory:\n  enabled: true\n");
});
afterAll(() => postern[Symbol.dispose]());

const archive = (name: string): string =>
  readFileSync(join(postern.folder, ".postern/runs/run_1/archive", name), "utf8");

async function json(...words: readonly string[]): Promise<Record<string, unknown>> {
  const { out, err } = await postern.run(...words, "--json");
  if (out === "") throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>;
}

async function propose(content: string): Promise<string> {
  const outcome = await json("call", "write_memory", "--args", JSON.stringify({ content }), "--run", "run_1");
  return (outcome["structured"] as { candidate_id: string }).candidate_id;
}

it("lists, accepts and rejects what an agent proposed; only what was accepted is recalled (case 256)", async () => {
  const yes = await propose("tea at five");
  const no = await propose("\u001b[31mtea at nine");
  const listed = await postern.run("memory", "candidates", "list");
  expect(listed.code).toBe(0);
  expect(listed.out).toContain("tea at five");
  expect(listed.out).toContain("␛[31mtea at nine");
  const accepted = await postern.run("memory", "candidates", "accept", yes, "--reason", "true");
  expect(accepted).toMatchObject({ code: 0, out: expect.stringContaining("Accepted: it is remembered.") });
  expect(await json("memory", "candidates", "reject", no, "--run", "run_1")).toMatchObject({ state: "rejected" });
  const found = await json("call", "recall_memory", "query=tea");
  expect(found["structured"]).toMatchObject({ memories: [{ content: "tea at five" }] });
  expect(await json("memory", "candidates", "--state", "all")).toMatchObject({
    candidates: [{ state: "rejected" }, { state: "accepted", decided_by: "operator" }],
  });
  expect((await postern.run("memory", "candidates")).out).toBe("No candidates are open.\n");
  expect(archive("memory-candidates.jsonl").trimEnd().split("\n")).toHaveLength(2);
  expect(archive("memory-decisions.jsonl").trimEnd().split("\n")).toHaveLength(3);
}, 60_000);

it("fails in a sentence for a candidate that is decided, unknown, or of a memory that is off", async () => {
  const id = await propose("milk");
  await postern.run("memory", "candidates", "reject", id);
  const again = await postern.run("memory", "candidates", "accept", id);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining(`\`${id}\` is rejected already.`) });
  const unknown = await postern.run("memory", "candidates", "accept", "mem_0");
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("no memory candidate `mem_0`") });
  using bare = new CommandLine();
  const off = await bare.run("memory", "candidates");
  expect(off).toMatchObject({ code: 1, err: expect.stringContaining("Memory is off; set `memory.enabled`") });
}, 60_000);
