import { describe, expect, it } from "vitest";
import {
  type ChannelFixture,
  fixtureWith,
  notTaken,
  recordingChannel,
} from "../../../../../test/fakes/channel-fixture.ts";
import { mail } from "../../../../../test/fakes/deciders.ts";
import { asker, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import { serializeWith } from "../../audit/entry.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import { Outbox } from "./outbox.ts";

const files = sqliteFiles();

/** One store, and processes on it that die without a word: their clocks stand still. */
function room() {
  const spell = serializeWith((text) => text);
  const store = new MemoryStore({ clock: new FakeClock(), serialize: spell });
  let size = 0;
  const note = async (type: string): Promise<void> => {
    const words = {
      type,
      summary: "it happened",
      traceId: "0".repeat(32),
      policyVersion: "p1",
      outcome: "info",
    } as const;
    await store.commit({ write: "note", event: { moment: "noted", at: 0, ...words } }, "committed");
    size += 1;
  };
  return {
    alarm: () => note("alarm.tool_errors"),
    open: async (channel: ChannelFixture) => {
      const clock = new FakeClock();
      const parts = { approval: async () => undefined, console: () => undefined, note: async () => {}, log: () => {} };
      const outbox = new Outbox({ ...parts, store, clock, channel, size: () => size, random: () => 0.5 });
      return { outbox, clock, channel };
    },
  };
}

describe("a channel", () => {
  it("loses nothing if the process dies, and sends again under the same id", async () => {
    const channel = recordingChannel();
    channel.answers.push(notTaken);
    const store = `sqlite:${files.at("outbox.db")}`;
    const first = await fixtureWith(channel, { store });
    await first.runtime.invoke(mail("x"), asker);
    await settled(20);
    await first.runtime.close();
    const second = await fixtureWith(channel, { store });
    await settled(20);
    await second.clock.advance(60_000);
    expect(channel.notices).toHaveLength(2);
    expect(channel.notices[0]?.id).toBe(channel.notices[1]?.id);
    await second.runtime.close();
    const third = await fixtureWith(channel, { store });
    await settled(20);
    await third.clock.advance(60_000);
    expect(channel.notices).toHaveLength(2);
    await third.runtime.close();
  });

  it("gets what came between a death right after its opening and the next start", async () => {
    const r = room();
    await (await r.open(recordingChannel())).outbox.start();
    await r.alarm();
    const channel = recordingChannel();
    await (await r.open(channel)).outbox.start();
    await settled(20);
    expect(channel.notices.map(({ type }) => type)).toEqual(["alarm.opened"]);
  });

  it("does not get again what was delivered 200 ms before its process died", async () => {
    const r = room();
    const first = await r.open(recordingChannel());
    await first.outbox.start();
    await r.alarm();
    await settled(20);
    expect(first.channel.notices).toHaveLength(1);
    await first.clock.advance(200);
    const channel = recordingChannel();
    await (await r.open(channel)).outbox.start();
    await settled(20);
    expect(channel.notices).toEqual([]);
  });

  it("gets nothing from before it was added", async () => {
    const store = `sqlite:${files.at("new.db")}`;
    const first = await runtimeFixture({ store });
    await first.runtime.invoke(mail("x"), asker);
    await first.runtime.close();
    const channel = recordingChannel();
    await using second = await fixtureWith(channel, { store });
    await settled(20);
    expect(channel.notices).toEqual([]);
    await second.runtime.invoke(mail("y"), asker);
    await settled(20);
    expect(channel.notices).toHaveLength(1);
  });

  it("gets what is committed at any moment of a read", async () => {
    for (let moments = 0; moments < 16; moments += 1) {
      const r = room();
      let asked = 0;
      const channel = recordingChannel({
        wants: () => {
          asked += 1;
          return asked > 1;
        },
      }); // the first one begins a reading, and is not wanted
      await (await r.open(channel)).outbox.start();
      void r.alarm();
      for (let i = 0; i < moments; i += 1) await Promise.resolve();
      void r.alarm();
      await settled(20);
      expect([moments, channel.notices.length]).toEqual([moments, 1]);
    }
  });
});
