import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { SystemClock } from "./clock.ts";

/** What a process prints that does so much with a clock and nothing else. */
function printed(body: string): string {
  const source = `import { SystemClock } from "./packages/core/src/clock.ts"; const clock = new SystemClock(); ${body}`;
  return execFileSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8", timeout: 50_000 });
}

describe("the system clock", () => {
  it("calls in the order of the ends, and never what was taken back", async () => {
    const clock = new SystemClock();
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      clock.in(10, () => order.push("b"));
      clock.in(1, () => order.push("a"));
      clock.in(1, () => order.push("never"))();
      const takeBack = clock.in(10, () => order.push("nor this"));
      clock.in(12, resolve);
      takeBack();
      takeBack();
    });
    expect(order).toEqual(["a", "b"]);
  });

  it("keeps the process alive for who waits, also when an earlier wait of that length was taken back", () => {
    expect(printed(`clock.in(60, () => console.log("over")); `)).toBe("over\n");
    expect(printed(`clock.in(60, () => {})(); clock.in(60, () => console.log("over"));`)).toBe("over\n");
  });

  it("does not keep it alive for housekeeping, nor for what was taken back", () => {
    expect(printed(`clock.in(5_000, () => console.log("over"), false);`)).toBe("");
    expect(printed(`clock.in(5_000, () => console.log("over"))();`)).toBe("");
  });
});
