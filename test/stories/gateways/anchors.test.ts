import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadSigner } from "../../../packages/postern/src/audit/signer.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();

it("verifies on both gateways when each has an anchor file, and finds what is removed from one", async () => {
  const folders = { a: ownFolder(), b: ownFolder() };
  await loadSigner(folders.a);
  for (const file of ["audit.key", "audit.pub"]) cpSync(join(folders.a, file), join(folders.b, file));
  const store = postgres.newStore();
  const open = () => twoGateways(store, (name) => ({ folder: folders[name] }));
  {
    await using g = await open();
    for (const one of [g.a, g.b, g.a]) {
      await one.invoke({ tool: "echo", arguments: {} });
      await one.audit.checkpoint();
    }
    for (const one of [g.a, g.b]) expect(await one.audit.verify()).toMatchObject({ outcome: "ok" });
  }
  const file = join(folders.a, "audit.anchors");
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(1);
  writeFileSync(file, `${lines.slice(1).join("\n")}\n`);
  await using g = await open();
  expect(await g.a.audit.verify()).toMatchObject({
    outcome: "failed",
    problems: [expect.stringContaining("was shortened or changed: 1 of")],
  });
  expect(await g.b.audit.verify()).toMatchObject({ outcome: "ok" });
});
