import { expect, it } from "vitest";
import type { Channel, Notice } from "../../../packages/postern/src/observe/notify/channel.ts";
import { notTaken, recordingChannel } from "../../fakes/channel-fixture.ts";
import { mail } from "../../fakes/deciders.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();

const wants: Channel["wants"] = ({ type }) => type === "approval.requested";
const idsOf = (notices: readonly Notice[]): readonly string[] => notices.map(({ id }) => id);

function scene(store = postgres.newStore()) {
  const channels = { a: recordingChannel({ wants }), b: recordingChannel({ wants }) };
  const gateways = twoGateways(store, (name) => ({
    channels: { also: [channels[name]] },
    approvals: { patience: "suspend" },
  }));
  return { ...channels, gateways };
}

it("sends each notice once while two gateways run, of the calls of both", async () => {
  const { a, b, gateways } = scene();
  await using g = await gateways;
  for (let n = 0; n < 5; n += 1) {
    await g.a.invoke(mail(`a${n}`), asker);
    await g.b.invoke(mail(`b${n}`), asker);
  }
  await expect.poll(() => a.notices.length).toBe(10);
  await expect.poll(() => g.b.channels?.list()[0]?.delivered).toBe(10);
  expect(b.notices).toEqual([]);
  expect(new Set(idsOf(a.notices)).size).toBe(10);
  expect(g.problems).toEqual([]);
});

it("sends by the next owner what the last one had not sent", async () => {
  const { a, b, gateways } = scene();
  await using g = await gateways;
  await g.a.invoke(mail("first"), asker);
  await expect.poll(() => g.b.channels?.list()[0]?.delivered).toBe(1);
  a.answers.push(notTaken);
  await g.a.invoke(mail("second"), asker);
  await expect.poll(() => a.notices.length).toBe(2);
  await g.a.close();
  await g.b.invoke(mail("third"), asker);
  await expect.poll(() => b.notices.length, { timeout: 20_000 }).toBe(2);
  expect(new Set(idsOf([...a.notices, ...b.notices])).size).toBe(3);
  expect(idsOf(b.notices)).toContain(idsOf(a.notices)[1]);
  expect(g.problems).toEqual([]);
});

it("tries again what was given up, whichever gateway is asked", async () => {
  const { a, b, gateways } = scene();
  await using g = await gateways;
  a.answers.push({ ...notTaken, final: true });
  await g.a.invoke(mail("first"), asker);
  await expect.poll(() => g.b.channels?.list()[0]?.dead.length).toBe(1);
  expect(await g.b.channels?.retry("mine")).toBe(1);
  await expect.poll(() => a.notices.length).toBe(2);
  await expect.poll(() => g.b.channels?.list()[0]).toMatchObject({ delivered: 1, dead: [], waiting: 0 });
  expect(b.notices).toEqual([]);
  expect(g.problems).toEqual([]);
});
