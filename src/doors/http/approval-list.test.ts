import { describe, expect, it } from "vitest";
import { approvalScene } from "../../../test/fakes/approval-scene.ts";

describe("the list", () => {
  it("is filtered by state, risk, tool and run, and cut into pages that leave nothing out", async () => {
    const { get, post, held } = await approvalScene();
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.push(await held(`m${i}`, { run_id: i < 4 ? "one" : "two" }));
    const critical = await held("d", { run_id: "one" }, "drop");
    await post(`/v1/approvals/${ids[0]}/deny`);
    const list = async (query: string): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let after = ""; ; ) {
        const [, page] = await get(`/v1/approvals?${query}&limit=2${after === "" ? "" : `&after=${after}`}`);
        found.push(...(page["approvals"] as { approval_id: string }[]).map((one) => one.approval_id));
        if (page["next_after"] === undefined) return found;
        after = String(page["next_after"]);
      }
    };
    expect(await list("state=pending")).toEqual([...ids.slice(1), critical]);
    expect(await list("state=pending&risk=critical")).toEqual([critical]);
    expect(await list("tool=mail&run_id=one")).toEqual(ids.slice(0, 4));
    expect(await list("state=denied")).toEqual([ids[0]]);
    expect(await list("tool=none")).toEqual([]);
    expect((await get("/v1/approvals?risk=huge"))[0]).toBe(422);
  });

  it("shows as mine what may be decided, and to an agent its own and no input schemas", async () => {
    const routes = [{ match: { tools: ["drop"] }, to: { users: ["ann"] } }];
    const { get, held } = await approvalScene({ approvals: { patience: "suspend", routes } });
    const id = await held("x");
    await held("x", {}, "drop");
    const [, mine] = await get("/v1/approvals?state=pending&mine=true");
    expect(mine).toMatchObject({ approvals: [{ approval_id: id }] });
    expect((mine["approvals"] as object[])[0]).not.toHaveProperty("input_schema");
    expect((await get("/v1/approvals", "agent"))[1]["approvals"]).toHaveLength(2);
    expect((await get("/v1/approvals?mine=true", "agent"))[1]["approvals"]).toHaveLength(0);
  });
});
