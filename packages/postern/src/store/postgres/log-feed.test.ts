import { expect, it } from "vitest";
import { Followers } from "../followers.ts";
import type { DatabaseLink } from "./database-link.ts";
import { LogFeed } from "./log-feed.ts";

it("says that entries could not be read to those who wait for them", async () => {
  const problems: string[] = [];
  const log = (problem: string): void => void problems.push(problem);
  const followers = new Followers(log);
  const feed = new LogFeed({
    opening: { number: 1, incarnation: "inc" },
    followers,
    log,
    stop: ({ message }) => log(message),
  });
  const tooLong = Object.assign(new Error("canceling statement due to statement timeout"), {
    ...{ code: "57014", severity: "ERROR" },
  });
  const link = { run: () => Promise.reject(tooLong) } as unknown as DatabaseLink;
  const client = { query: async () => ({ rows: [{ seq: "0", changed: "0" }] }) };
  await feed.start(client as unknown as Parameters<LogFeed["start"]>[0], link);
  await expect(feed.reach(0)).rejects.toBe(tooLong);
  expect(problems).toEqual([expect.stringContaining("statement timeout")]);
});
