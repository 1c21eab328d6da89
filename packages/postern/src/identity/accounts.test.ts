import { describe, expect, it } from "vitest";
import { goodPassword, holder, people } from "../../../../test/fakes/people.ts";

describe("people", () => {
  it("are added once, found by their name in any case, and written down with who added them", async () => {
    const { accounts, add, acts } = await people();
    expect(accounts.exist).toBe(false);
    const ada = await add("Ada", ["approver", "viewer"]);
    expect(ada).toMatchObject({ name: "ada", displayName: "Ada", tenant: "default", roles: ["viewer", "approver"] });
    expect(accounts.exist).toBe(true);
    expect(await accounts.get("ADA", holder)).toEqual(ada);
    await expect(add("ada", ["viewer"])).rejects.toMatchObject({ code: "account_exists" });
    expect(await acts()).toEqual(["account_added"]);
  });

  it.each(["", "a b", "-x", "ada\n", "ａｄａ/..", "x".repeat(65), "operator", "ada\u202e"])(
    "cannot be called %j",
    async (name) => {
      const { add } = await people();
      await expect(add(name, [])).rejects.toMatchObject({
        code: "request_invalid",
        message: expect.stringContaining("`name` is "),
      });
    },
  );

  it("refuse and never show a password that is short, repetitive or holds the name", async () => {
    const { accounts } = await people();
    for (const password of ["short", "aaaaaaaaaaaaaaaa", "my name is ada!!", "x".repeat(257)]) {
      const asked = accounts.add({ name: "ada", roles: [], password }, holder);
      await expect(asked).rejects.toMatchObject({
        code: "request_invalid",
        message: expect.stringMatching(/^(?:A|This) password /),
      });
      await expect(asked).rejects.not.toThrow(password);
    }
  });

  it("of another tenant do not exist for an admin, who cannot add one there", async () => {
    const { accounts, add } = await people();
    await add("eve", ["admin"], "acme");
    const admin = { by: "root", via: "session:root", tenant: "default" };
    expect(await accounts.list(admin)).toEqual([]);
    for (const change of [
      () => accounts.get("eve", admin),
      () => accounts.change("eve", { roles: [] }, admin),
      () => accounts.setPassword("eve", goodPassword, admin),
      () => accounts.makeLink("eve", admin),
      () => accounts.endSessions("eve", admin),
    ])
      await expect(change()).rejects.toMatchObject({ code: "account_unknown" });
    await expect(accounts.add({ name: "spy", roles: [], tenant: "acme" }, admin)).rejects.toMatchObject({
      code: "tenant_refused",
    });
  });

  it("change roles by a write with its event, and nothing is written when nothing changes", async () => {
    const { accounts, add, acts } = await people();
    await add("ada", ["viewer"]);
    await Promise.all([
      accounts.change("ada", { roles: ["operator"] }, holder),
      accounts.change("ada", { groups: ["night shift"] }, holder),
    ]);
    expect(await accounts.get("ada", holder)).toMatchObject({ roles: ["operator"], groups: ["night shift"] });
    await accounts.change("ada", { roles: ["operator"] }, holder);
    expect(await acts()).toEqual(["account_added", "account_roles", "account_changed"]);
  });
});
