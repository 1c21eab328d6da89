import { counted, messageOf } from "@postern/core";
import type { Settings } from "../../config/settings.ts";
import type { CommandGroup } from "../command.ts";
import { asTypedHere, commandName } from "../command-name.ts";
import { type DoctorFinding, fail, portChecks, runningChecks } from "../doctor/checks.ts";
import { exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson } from "../output/print.ts";
import { paintFor } from "../output/terminal.ts";
import { visible, visibleLines } from "../output/text.ts";
import { settingsFor } from "../settings-here.ts";
import { connect } from "../start/connect.ts";
import { findServer } from "../start/server-file.ts";

const styles = { ok: "green", warn: "yellow", fail: "red" } as const;

/** Prints a line a check, each problem with its fix; exit code 1 when something fails. */
export function commands(group: CommandGroup): void {
  group.own("", {
    run: async ({ host, flags }) => {
      const { terminal } = host;
      const paint = paintFor(terminal);
      const command = commandName(flags);
      const findings: DoctorFinding[] = [];
      for await (const { message, fix, ...found } of checkEverything(host, flags)) {
        const finding = {
          ...found,
          message: asTypedHere(message, command),
          ...(fix !== undefined && { fix: asTypedHere(fix, command) }),
        };
        findings.push(finding);
        if (flags.json !== true) terminal.out(lineOf(finding, (text) => paint(styles[finding.level], text)));
      }
      const healthy = findings.every(({ level }) => level !== "fail");
      if (flags.json === true) printJson(host, { healthy, findings });
      else terminal.out(`\n${summaryOf(findings)}\n`);
      return healthy ? exitCodes.ok : exitCodes.failed;
    },
  });
}

function summaryOf(findings: readonly DoctorFinding[]): string {
  const warnings = findings.filter(({ level }) => level === "warn").length;
  if (findings.some(({ level }) => level === "fail")) return "Postern cannot work like this; the fixes are above.";
  if (warnings > 0) return `Postern works, with ${counted(warnings, "warning")}; see above.`;
  return "No problem was found.";
}

function lineOf({ level, check, message, fix }: DoctorFinding, paint: (text: string) => string): string {
  const [first = "", ...rest] = visibleLines(message);
  const more = [...rest, ...(fix === undefined ? [] : [`fix: ${visible(fix)}`])];
  return `${paint(level.padEnd(4))}  ${check.padEnd(14)} ${first}\n${more.map((line) => `${" ".repeat(21)}${line}\n`).join("")}`;
}

/** Nothing is checked with a configuration that `start` refuses. */
async function* checkEverything(host: Host, flags: GlobalFlags): AsyncGenerator<DoctorFinding> {
  let settings: Settings;
  try {
    settings = await settingsFor(flags);
  } catch (error) {
    yield fail("configuration", messageOf(error));
    return;
  }
  yield* portChecks(settings, await findServer(settings.dataFolder, host.clock));
  yield* startChecks(host, flags, settings);
}

/** Starts the store, the servers and the tools, or asks the running Postern. */
async function* startChecks(host: Host, flags: GlobalFlags, settings: Settings): AsyncGenerator<DoctorFinding> {
  const problems: string[] = [];
  const problem = (message: string): void => void problems.push(message);
  try {
    const { operator, close } = await connect(host, flags, { tools: true, dataFolder: "optional", problem });
    try {
      yield* runningChecks(operator, settings, problems);
    } finally {
      await close();
    }
  } catch (error) {
    yield fail("start", messageOf(error));
  }
  yield* problems.map((message): DoctorFinding => ({ level: "warn", check: "start", message }));
}
