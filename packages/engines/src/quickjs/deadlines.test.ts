import { describe, expect, it } from "vitest";
import { Deadlines, EngineStopped } from "./deadlines.ts";

const cell = new Int32Array(new SharedArrayBuffer(4));
const sleep = (ms: number): unknown => Atomics.wait(cell, 0, 0, ms);

/** Processor time of this thread: how much of the machine others want changes nothing. */
function compute(ms: number): void {
  const spent = (): number => process.threadCpuUsage().user + process.threadCpuUsage().system;
  const end = spent() + ms * 1_000;
  while (spent() < end) Math.sqrt(end);
}

describe("the deadlines of an engine", () => {
  it("ends a turn after its processor time", () => {
    const deadlines = new Deadlines();
    deadlines.set(60, 10_000);
    compute(20);
    expect(deadlines.over).toBeUndefined();
    compute(60);
    expect(deadlines.over).toBe("cpu");
    expect(() => deadlines.check()).toThrow(EngineStopped);
  });

  it("counts sleep as wall time, not as processor time", () => {
    const deadlines = new Deadlines();
    deadlines.set(60, 10_000);
    sleep(120);
    expect(deadlines.over).toBeUndefined();
    deadlines.set(60, 100);
    sleep(120);
    expect(deadlines.over).toBe("wall");
  });

  it("lets the host read after the time is over", () => {
    const deadlines = new Deadlines();
    deadlines.set(0, 0);
    sleep(2);
    expect(deadlines.without(() => deadlines.over)).toBeUndefined();
    expect(deadlines.over).toBeDefined();
  });
});
