import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadSigner } from "../../../packages/postern/src/audit/signer.ts";
import { createRuntime, defineTool, type Runtime } from "../../../packages/postern/src/index.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";

const postgres = testPostgres();
const echo = defineTool({
  ...{ name: "echo", description: "Answers.", risk: "safe", effects: "read", idempotent: true },
  ...{ inputSchema: { type: "object" }, execute: () => "it ran" },
});
const open = (store: string, folder: string): Promise<Runtime> =>
  createRuntime({ tools: [echo], autonomy: "A2", log: () => undefined, store, folder });

it("does not start a gateway whose audit key is not the log's, and starts it with the log's key", async () => {
  const store = postgres.newStore();
  const [first, second] = [ownFolder(), ownFolder()];
  const a = await open(store, first);
  await a.invoke({ tool: "echo", arguments: {} }, asker);
  await a.audit.checkpoint();
  const [mine, other] = [await loadSigner(first), await loadSigner(second)];
  const refusal = `signed by the key \`${mine.origin}\`, and this Postern's key is \`${other.origin}\`. Give it the log's key`;
  await expect(open(store, second)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining(refusal),
  });
  const third = join(ownFolder(), "data");
  mkdirSync(third, { mode: 0o700 });
  for (const file of ["audit.key", "audit.pub"]) cpSync(join(first, file), join(third, file));
  const b = await open(store, third);
  await b.invoke({ tool: "echo", arguments: {} }, asker);
  expect(await b.audit.verify()).toMatchObject({ intact: true });
  expect(await a.audit.verify()).toMatchObject({ intact: true });
  await Promise.all([a.close(), b.close()]);
});

it("does not start it either before the log has a checkpoint", async () => {
  const store = postgres.newStore();
  await using _first = await open(store, ownFolder());
  const refused = open(store, ownFolder());
  await expect(refused).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/is signed by the key `postern\/\w+`, and this Postern's key is `postern\/\w+`/),
  });
});
