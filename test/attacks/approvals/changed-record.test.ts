import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../packages/core/src/json.ts";
import { mail } from "../../fakes/deciders.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { posting } from "../../fakes/probe.ts";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { approved } from "./approved.ts";

describe("a record edited in the store", () => {
  const folder = ownFolder();
  /** Each bound field of the stored request, and of its call. */
  const edits: readonly (readonly [string, (database: DatabaseSync) => unknown])[] = [
    ...(
      [
        ["arguments", { to: "evil" }],
        ["tool", "drop"],
        ["action", "other"],
        ["principal", { ...asker.principal, agent: "b" }],
        ["principal", { ...asker.principal, user: "boss" }],
        ["principal", { ...asker.principal, tenant: "other" }],
        ["expiresAt", Date.UTC(2099, 0)],
        ["binding", "0".repeat(64)],
        ["definition", "0".repeat(64)],
      ] as const
    ).map(
      ([field, value]) =>
        [
          `approval.${field} ${JSON.stringify(value)}`,
          (database: DatabaseSync) =>
            database
              .prepare("update approval set body = json_set(body, ?, json(?))")
              .run(`$.${field}`, JSON.stringify(value)),
        ] as const,
    ),
    ["call.tool", (database) => database.exec("update call set tool = 'drop'")],
    ["call.action", (database) => database.exec("update call set body = json_set(body, '$.call.action', 'other')")],
    [
      "call.authority",
      (database) => database.exec("update call set body = json_set(body, '$.call.authority.principal.agent', 'b')"),
    ],
  ];

  it.each(edits)("refuses and runs nothing when `%s` was edited", async (name, edit) => {
    const file = join(folder, `${edits.findIndex(([other]) => other === name)}.db`);
    const options = { store: `sqlite:${file}`, folder: `${file}.keys` };
    let id = "";
    {
      await using before = await runtimeFixture(options);
      id = await approved(before);
    }
    const database = new DatabaseSync(file);
    edit(database);
    database.close();
    await using h = await runtimeFixture(options);
    const outcome = await h.runtime.resume(id);
    expect(outcome?.status, outcome?.text).not.toBe("ok");
    await h.runtime.invoke(mail("x"), asker);
    expect(h.ran).toEqual([]);
  });

  it("runs what was shown when the call's own arguments were edited", async () => {
    const file = join(folder, "arguments.db");
    const options = { store: `sqlite:${file}`, folder: `${file}.keys` };
    let id = "";
    {
      await using before = await runtimeFixture(options);
      id = await approved(before);
    }
    const database = new DatabaseSync(file);
    database.exec(`update call set arguments = '{"to":"evil"}'`);
    database.close();
    await using h = await runtimeFixture(options);
    await h.runtime.resume(id);
    expect(h.ran).toEqual([{ to: "x" }]);
  });
});

describe("an artifact that an approved call names", () => {
  it("is bound by its digest: other bytes make another call; a missing or foreign one is refused", async () => {
    const ran: unknown[] = [];
    await using h = await runtimeFixture({}, posting(ran));
    const put = (text: string, owner: { tenant: string; agent: string } = asker.principal) =>
      h.runtime.artifacts.put(new TextEncoder().encode(text), "text/plain", owner);
    const good = (await put("good")).digest;
    const evil = (await put("evil")).digest;
    const foreign = (await put("foreign", { tenant: "default", agent: "b" })).digest;
    const post = (digest: string): { tool: string; arguments: JsonObject } => ({
      tool: "post",
      arguments: { body: { $artifact: digest } },
    });
    const id = await approved(h, post(good));
    expect((await h.runtime.invoke(post(evil), asker)).approvalId).not.toBe(id);
    expect((await h.runtime.invoke(post(foreign), asker)).refusal?.code).toBe("artifact_unavailable");
    expect((await h.runtime.invoke(post("0".repeat(64)), asker)).refusal?.code).toBe("artifact_unavailable");
    expect(
      (
        await h.runtime.approvals.decide(id, {
          decision: "modified",
          arguments: { body: { $artifact: foreign } },
          by: boss,
        })
      ).decided,
    ).toBe(false);
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(ran).toEqual([{ body: "good" }]);
  });

  it("does not run if its bytes were replaced in the folder after the approval", async () => {
    const folder = ownFolder();
    const ran: unknown[] = [];
    await using h = await runtimeFixture({ folder }, posting(ran));
    const { digest } = await h.runtime.artifacts.put(new TextEncoder().encode("good"), "text/plain", asker.principal);
    const id = await approved(h, { tool: "post", arguments: { body: { $artifact: digest } } });
    const files = readdirSync(join(folder, "artifacts"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => statSync(file).size === 4);
    expect(files).toHaveLength(1);
    for (const file of files) {
      chmodSync(file, 0o600);
      writeFileSync(file, "evil");
    }
    expect((await h.runtime.resume(id))?.status).not.toBe("ok");
    expect(ran).toEqual([]);
  });
});
