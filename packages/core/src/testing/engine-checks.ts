/** What every engine must do, and a try of it. engine-contract.ts makes tests of them. */
import { messageOf } from "../fault.ts";
import type { Json } from "../json.ts";
import type { SandboxDriver, SandboxLimits, ScriptStep } from "../sandbox/sandbox.ts";
import { driven, echoTools } from "./driven.ts";

/** One thing that every engine must do, in each of its languages. */
export interface EngineCheck {
  readonly says: string;
  /** Undefined when the language has no such feature. */
  readonly python?: string;
  readonly javascript?: string;
  readonly holds: (end: ScriptStep) => boolean;
  /** The wall time limit in milliseconds, if it differs from the default. */
  readonly wallMs?: number;
  /** The number of scripts at once. */
  readonly times?: number;
  /** Calls that are open together are answered one by one. Only for engines that have `parallel`. */
  readonly oneByOne?: true;
}

const isDone =
  (value: Json) =>
  (end: ScriptStep): boolean =>
    end.step === "done" && JSON.stringify(end.value) === JSON.stringify(value);
const isFailed = (end: ScriptStep): boolean => end.step === "failed";
const failedFor =
  (...whys: readonly string[]) =>
  (end: ScriptStep): boolean =>
    end.step === "failed" && whys.includes(end.why);
/** The script could not do it, or was ended for the attempt. */
const foundNothing = (end: ScriptStep): boolean => isDone("no")(end) || isFailed(end);

const tries = (what: string): string =>
  `found = "no"\ntry:\n    ${what}\n    found = "yes"\nexcept BaseException:\n    pass\nfound`;

export const engineChecks: readonly EngineCheck[] = [
  {
    says: "calls tools and pipes their results",
    python: 'a = tools.echo(to="x")\nb = tools.echo(to=a.text + "y")\nb.text',
    javascript:
      'const a = await tools.echo({ to: "x" }); const b = await tools.echo({ to: a.text + "y" }); return b.text;',
    holds: isDone("xy"),
  },
  {
    says: "makes fifty calls in a row",
    python: "n = 0\nfor i in range(50):\n    n += len(tools.echo(to=str(i)).text)\nn",
    javascript:
      "let n = 0; for (let i = 0; i < 50; i++) n += (await tools.echo({ to: String(i) })).text.length; return n;",
    holds: isDone(90),
  },
  {
    says: "makes calls together",
    python:
      'import asyncio\n\nasync def main():\n    found = await asyncio.gather(*[tools.echo(to=str(i)) for i in range(5)])\n    return "".join([one.text for one in found])\n\nasyncio.run(main())',
    javascript:
      'const found = await Promise.all([0, 1, 2, 3, 4].map((i) => tools.echo({ to: String(i) }))); return found.map((one) => one.text).join("");',
    holds: (end) => isDone("01234")(end) || failedFor("unsupported")(end),
  },
  {
    says: "goes on after each answer while other calls are open",
    python:
      'import asyncio\n\nfound = []\n\nasync def one(to):\n    found.append((await tools.echo(to=to)).text)\n\nasync def main():\n    await asyncio.gather(*[one(to) for to in "abc"])\n    return "".join(found)\n\nasyncio.run(main())',
    javascript:
      'const found = []; await Promise.all(["a", "b", "c"].map(async (to) => found.push((await tools.echo({ to })).text))); return found.join("");',
    oneByOne: true,
    holds: isDone("abc"),
  },
  {
    says: "carries a mebibyte of text both ways, whole",
    python: 't = "é" * 500000\ntools.echo(to=t).text == t',
    javascript: 'const t = "é".repeat(500000); return (await tools.echo({ to: t })).text === t;',
    holds: isDone(true),
  },
  {
    says: "tells a script's own error, with its line",
    python: "a = 1\nb = 0\na / b",
    javascript: 'const a = 1;\nconst b = 0;\nthrow new Error("x");',
    holds: (end) => end.step === "failed" && end.why === "script" && end.line === 3,
  },
  {
    says: "reaches no network",
    python: tries('__import__("socket").create_connection(("1.1.1.1", 53), 2)'),
    javascript: 'return typeof fetch === "undefined" && typeof WebSocket === "undefined" ? "no" : "yes";',
    holds: foundNothing,
  },
  {
    says: "reaches no cloud's metadata",
    python: tries('__import__("socket").create_connection(("169.254.169.254", 80), 2)'),
    holds: foundNothing,
  },
  {
    says: "resolves no name",
    python: tries('__import__("socket").getaddrinfo("example.com", 80)'),
    holds: foundNothing,
  },
  {
    says: "reads no file of the host",
    python: tries('open("/etc/shadow").read()'),
    javascript: 'return typeof require === "undefined" && typeof process === "undefined" ? "no" : "yes";',
    holds: foundNothing,
  },
  {
    says: "holds no token of a cluster",
    python: tries('open("/var/run/secrets/kubernetes.io/serviceaccount/token").read()'),
    holds: foundNothing,
  },
  { says: "writes nothing beside its libraries", python: tries('open("/usr/lib/x", "w")'), holds: foundNothing },
  {
    says: "is not root",
    python: 'import os\n"yes" if os.getuid() == 0 else "no"',
    holds: foundNothing,
  },
  { says: "cannot become root", python: tries('__import__("os").setuid(0)'), holds: foundNothing },
  {
    says: "an endless loop is ended",
    python: "while True:\n    pass",
    javascript: "for (;;) {}",
    holds: failedFor("cpu", "wall"),
  },
  {
    says: "an endless loop that swallows everything is ended",
    python: "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    javascript: "for (;;) { try { for (;;) {} } catch {} }",
    holds: isFailed,
  },
  {
    says: "sleeping is ended with its time",
    python: "import time\ntime.sleep(1000)",
    javascript: "await sleep(1e6)",
    wallMs: 2_000,
    holds: (end) => failedFor("wall", "cpu", "unsupported")(end),
  },
  {
    says: "memory has an end",
    python: "x = []\nwhile True:\n    x.append('x' * 10_000_000)",
    javascript: "const x = []; for (;;) x.push(new Uint8Array(1e7).fill(1));",
    holds: isFailed,
  },
  {
    says: "a huge number is contained",
    python: "n = 10 ** 10 ** 9\nlen(str(n))",
    javascript: "let n = 2n; for (;;) n = n * n;",
    holds: isFailed,
  },
  {
    says: "endless recursion is contained",
    python: "def f():\n    return f() + 1\n\nf()",
    javascript: "const f = () => f() + 1; f();",
    holds: isFailed,
  },
  {
    says: "a flood of output is cut, or ended",
    python: "for _ in range(100):\n    print('x' * 100_000)\n'out'",
    javascript: 'for (let i = 0; i < 100; i++) console.log("x".repeat(1e5)); return "out";',
    holds: (end) => isDone("out")(end) || failedFor("output")(end),
  },
  {
    says: "a result that is nested too deeply is refused",
    python: "x = []\nfor _ in range(20000):\n    x = [x]\nx",
    javascript: "let x = []; for (let i = 0; i < 20000; i++) x = [x]; return x;",
    holds: isFailed,
  },
  {
    says: "a fork bomb is contained",
    python:
      "import os\nfor _ in range(100000):\n    try:\n        os.fork()\n    except OSError:\n        pass\nwhile True:\n    pass",
    wallMs: 6_000,
    holds: isFailed,
  },
  {
    says: "no second process can be had, and so no second budget",
    python: `import os
said = 0
for _ in range(12):
    try:
        if os.fork() == 0:
            os._exit(0)
        said += 1
    except OSError:
        pass
said`,
    holds: (end) => isDone(0)(end) || failedFor("script", "unsupported")(end),
  },
  {
    says: "a forged frame ends it",
    python:
      "import os\nfor fd in range(1, 20):\n    try:\n        os.write(fd, bytes([0, 0, 0, 2]) + b'{}')\n    except OSError:\n        pass\ntools.echo(to='x').text",
    // If the script cannot reach the connection at all, it continues.
    holds: (end) => failedFor("protocol", "script", "crash", "unsupported")(end) || isDone("x")(end),
  },
  {
    says: "an engine that ends itself is an honest end",
    python: "import os\nos._exit(0)",
    holds: isFailed,
  },
  {
    says: "the next script finds nothing of the last",
    python: "import builtins\nfound = getattr(builtins, 'left', 'no')\nbuiltins.left = 'yes'\nfound",
    javascript: 'const found = globalThis.left ?? "no"; globalThis.left = "yes"; return found;',
    times: 2,
    holds: foundNothing,
  },
  {
    says: "eight scripts at once keep to themselves",
    python: "sum([int(tools.echo(to=str(i)).text) for i in range(10)])",
    javascript:
      "let n = 0; for (let i = 0; i < 10; i++) n += Number((await tools.echo({ to: String(i) })).text); return n;",
    times: 8,
    holds: isDone(45),
  },
];

const usualLimits: SandboxLimits = {
  ...{ cpuMs: 3_000, memoryBytes: 192 * 1024 * 1024, outputBytes: 100_000, wallMs: 15_000 },
};
/** The promised time: the limit and one second. */
const graceMs = 1_000;

/** How a check ended. */
export interface EngineCheckResult {
  readonly says: string;
  readonly holds: boolean;
  /** Milliseconds of the slowest script, between its calls. */
  readonly ms: number;
  readonly end: ScriptStep | { readonly refused: string };
}

/** @returns undefined when the engine or its language has no such feature */
export async function tryEngine(driver: SandboxDriver, check: EngineCheck): Promise<EngineCheckResult | undefined> {
  const { says, holds, times = 1, wallMs = usualLimits.wallMs, oneByOne } = check;
  const { language, parallel } = driver.capabilities;
  const source = check[language];
  if (source === undefined || (oneByOne && !parallel)) return undefined;
  const refused = await driver.check?.({ language, source, tools: echoTools, chainId: "chain_1" });
  if (refused !== undefined) return { says, holds: true, ms: 0, end: { refused: Object.values(refused).join() } };
  const watched = timed(driver);
  const once = (): Promise<ScriptStep> => driven(watched, source, { ...usualLimits, wallMs }, oneByOne);
  try {
    const ends = await Promise.all(Array.from({ length: times }, once));
    const bad = ends.find((end) => !holds(end));
    const isInTime = watched.slowestMs <= wallMs + graceMs;
    const end = bad ?? ends[0] ?? { refused: "nothing" };
    return { says, holds: bad === undefined && isInTime, ms: Math.round(watched.slowestMs), end };
  } catch (error) {
    return { says, holds: false, ms: Math.round(watched.slowestMs), end: { refused: messageOf(error) } };
  }
}

interface TimedDriver extends Pick<SandboxDriver, "start" | "capabilities"> {
  readonly slowestMs: number;
}

/** The same engine, with the time from the start of each script to each of its ends. */
function timed(driver: SandboxDriver): TimedDriver {
  let slowestMs = 0;
  return {
    capabilities: driver.capabilities,
    get slowestMs() {
      return slowestMs;
    },
    start: async (...given) => {
      const session = await driver.start(...given);
      const begun = performance.now();
      const next = session.next.bind(session);
      session.next = async () => {
        const step = await next();
        if (step.step !== "calls") slowestMs = Math.max(slowestMs, performance.now() - begun);
        return step;
      };
      return session;
    },
  };
}
