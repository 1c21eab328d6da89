import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { Host } from "../../packages/postern/src/cli/host.ts";
import { createProgram, type Program } from "../../packages/postern/src/cli/program.ts";

/** Commands that must not reach a Postern, and all their output. */
export interface NoPostern {
  readonly program: Program;
  readonly out: string[];
  readonly err: string[];
}

export function noPostern(columns = 80): NoPostern {
  const out: string[] = [];
  const err: string[] = [];
  const unreachable = () => Promise.reject(new Error("a command looked for a Postern"));
  const host: Host = {
    terminal: {
      out: (text) => void out.push(String(text)),
      aside: (text) => void err.push(text),
      ...{ colour: false, columns, interactive: false, screen: false },
    },
    clock: new FakeClock(),
    dataFolder: unreachable,
    wantedPort: () => undefined,
    startInside: unreachable,
    start: unreachable,
  };
  return { program: createProgram(host, "1.2.3"), out, err };
}
