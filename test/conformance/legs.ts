/** Runs the conformance suite against Postern. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Revision } from "../../packages/postern/src/mcp/protocol/revisions.ts";
import { openGateway } from "./gateway.ts";
import { startReferenceServer } from "./reference-server.ts";

const here = import.meta.dirname;
const suite = join(here, "node_modules/@modelcontextprotocol/conformance");

/** The revisions that the suite has requirements for. */
export const suiteRevisions = ["2025-11-25", "2026-07-28"] as const satisfies readonly Revision[];
export type SuiteRevision = (typeof suiteRevisions)[number];

/** One thing that the suite looked at. */
interface Check {
  readonly id: string;
  readonly description: string;
  readonly status: string;
  readonly errorMessage?: string;
}

export interface LegResult {
  /** `server`: the suite is a client of Postern. `client`: Postern is a client of the suite. */
  readonly leg: "server" | "client";
  readonly revision: SuiteRevision;
  /** Scenarios, by what the suite found wrong in them: what a revision demands, and what it recommends. */
  readonly failed: ReadonlyMap<string, readonly string[]>;
  readonly warned: ReadonlyMap<string, readonly string[]>;
  readonly required: number;
}

/** The names of the scenarios that a revision requires. */
function requiredBy(revision: SuiteRevision, leg: LegResult["leg"]): readonly string[] {
  const requirements = parse(readFileSync(join(suite, "requirements", `${revision}.yaml`), "utf8"));
  return requirements[leg];
}

/** The suite as a client of `/mcp/<server>`, with the reference server behind it. */
export async function serverLeg(revision: SuiteRevision, upstream = revision): Promise<LegResult> {
  using reference = await startReferenceServer();
  await using gateway = await openGateway({
    servers: {
      reference: { url: reference.url, revision: upstream, risk: "safe", mayAsk: ["elicitation", "sampling", "roots"] },
    },
  });
  using results = new ResultFolder();
  const url = `${gateway.url}/mcp/reference`;
  await ended(run(["server", "--url", url, "--requirements", revision, "--output-dir", results.folder]));
  const leg = { leg: "server", revision } as const;
  return { ...leg, ...results.read(requiredBy(revision, "server"), (name) => `server-${name}-2*`) };
}

/** The suite's servers behind a gateway. One after the other, because some of them measure time. */
export async function clientLeg(revision: SuiteRevision): Promise<LegResult> {
  using results = new ResultFolder();
  const command = `${process.execPath} --conditions=postern-source ${join(here, "client.ts")}`;
  const required = requiredBy(revision, "client");
  for (const scenario of required) {
    const which = ["--scenario", scenario, "--spec-version", revision, "--force"];
    const env = { NODE_COMPILE_CACHE: join(results.folder, ".compiled") };
    await ended(run(["client", "--command", command, ...which, "--output-dir", results.folder], env));
  }
  return { leg: "client", revision, ...results.read(required, (name) => `${name}-2*`) };
}

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  return spawn(process.execPath, [join(suite, "dist/index.js"), ...words], {
    stdio: "ignore",
    env: { ...process.env, ...env },
  });
}

async function ended(child: ChildProcess): Promise<void> {
  await once(child, "exit");
}

/** Where the suite writes what it found. */
class ResultFolder implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-conformance-"));

  read(
    required: readonly string[],
    patternOf: (name: string) => string,
  ): Pick<LegResult, "failed" | "warned" | "required"> {
    const found = required.map((name) => [name, this.#checks(patternOf(name))] as const);
    return { failed: problemsIn(found, "FAILURE"), warned: problemsIn(found, "WARNING"), required: required.length };
  }

  #checks(pattern: string): readonly Check[] {
    const [file] = globSync(join(this.folder, pattern, "checks.json"));
    const checks: readonly Check[] = file === undefined ? [] : JSON.parse(readFileSync(file, "utf8"));
    if (checks.some(({ status }) => status === "SUCCESS" || status === "FAILURE")) return checks;
    return [{ id: "nothing-checked", description: "The suite checked nothing.", status: "FAILURE" }];
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

function problemsIn(
  found: readonly (readonly [string, readonly Check[]])[],
  wanted: "FAILURE" | "WARNING",
): LegResult["failed"] {
  return new Map(
    found.flatMap(([name, checks]): readonly [string, readonly string[]][] => {
      const problems = checks.filter(({ status }) => status === wanted);
      const texts = problems.map(({ id, description, errorMessage = description }) => `${id}: ${errorMessage}`);
      return texts.length === 0 ? [] : [[name, texts]];
    }),
  );
}
