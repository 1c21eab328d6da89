import { describe, expect, it } from "vitest";
import { cheap } from "../../../../test/fakes/people.ts";
import { checkPassword, Passwords } from "./password.ts";

describe("a password", () => {
  it("is stored as salted scrypt with its parameters, and verified by them", async () => {
    const passwords = new Passwords(cheap);
    const [one, two] = [await passwords.make("correct horse battery"), await passwords.make("correct horse battery")];
    expect(one.hash).not.toBe(two.hash);
    expect(one).toMatchObject({ scheme: "scrypt", ...cheap });
    expect(await passwords.verify("correct horse battery", one)).toBe(true);
    expect(await new Passwords({ cost: 4, blockSize: 8, parallel: 1 }).verify("correct horse battery", one)).toBe(true);
    for (const wrong of ["", "correct horse batter", "correct horse battery ", "Correct horse battery"])
      expect(await passwords.verify(wrong, one), wrong).toBe(false);
  });

  it("is the same however its accents are typed", async () => {
    const passwords = new Passwords(cheap);
    const composed = await passwords.make("caf\u00e9 caf\u00e9 caf\u00e9");
    expect(await passwords.verify("cafe\u0301 cafe\u0301 cafe\u0301", composed)).toBe(true);
  });

  it("of 256 characters opens, whatever they are, and of them cut short does not", async () => {
    const passwords = new Passwords(cheap);
    const longest = "\u{1f600}\u{1f601}\u{1f602}\u{1f603}".repeat(64);
    checkPassword(`${longest.slice(0, -2)}e`, "ada");
    const kept = await passwords.make(longest);
    expect(await passwords.verify(longest, kept)).toBe(true);
    expect(await passwords.verify(longest.slice(0, 256), kept)).toBe(false);
  });

  it("of an unknown account takes as long to refuse as a wrong one, at real cost", async () => {
    const passwords = new Passwords();
    const kept = await passwords.make("correct horse battery");
    const timed = async (against: typeof kept | undefined): Promise<number> => {
      const before = performance.now();
      expect(await passwords.verify("wrong horse battery", against)).toBe(false);
      return performance.now() - before;
    };
    let [wrong, nobody] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < 3; round += 1) {
      wrong = Math.min(wrong, await timed(kept));
      nobody = Math.min(nobody, await timed(undefined));
    }
    expect(wrong).toBeGreaterThan(30);
    expect(nobody).toBeGreaterThan(wrong / 4); // other work on the machine blurs it; an answer at once would be 1000 times faster
  });

  it("is tried two at a time; behind 64 that wait it is refused to wait", async () => {
    const passwords = new Passwords(cheap);
    const kept = await passwords.make("correct horse battery");
    const tried = Array.from({ length: 66 }, () => passwords.verify("wrong horse battery", kept));
    await Promise.resolve();
    expect(passwords.isBusy).toBe(true);
    expect(await Promise.all(tried)).toEqual(Array.from({ length: 66 }, () => false));
    expect(passwords.isBusy).toBe(false);
  });

  it.each([
    ["short pass", /12 to 256.*this one has 10/],
    ["aaaaaaaaaaaaaaaa", /fewer than 5/],
    ["i am Ada Lovelace", /login name/],
    ["\u{1f600}\u{1f601}\u{1f602}", /this one has 3/],
  ])("like %j is refused", (password, why) => {
    expect(() => checkPassword(password, "ada")).toThrow(why);
  });
});
