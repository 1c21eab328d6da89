import { checkEverything, type DoctorFinding } from "../checks.ts";
import { asTypedHere, commandName } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson } from "../session.ts";
import { paintFor } from "../terminal.ts";
import { visible, visibleLines } from "../text.ts";

const styles = { ok: "green", warn: "yellow", fail: "red" } as const;

/** Every check as one line, each trouble with its fix; exit code 1 when something fails. */
export async function doctor(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  const paint = paintFor(host.terminal);
  const findings: DoctorFinding[] = [];
  const command = commandName(flags);
  for await (const found of checkEverything(host, flags)) {
    const finding = typedHere(found, command);
    findings.push(finding);
    if (flags.json !== true) host.terminal.out(lineOf(finding, (text) => paint(styles[finding.level], text)));
  }
  const healthy = findings.every(({ level }) => level !== "fail");
  if (flags.json === true) printJson(host, { healthy, findings });
  else
    host.terminal.out(
      healthy ? "\nNothing stands in the way.\n" : "\nPostern cannot work like this; the fixes are above.\n",
    );
  return healthy ? exitCodes.ok : exitCodes.failed;
}

function typedHere({ message, fix, ...finding }: DoctorFinding, command: string): DoctorFinding {
  return {
    ...finding,
    message: asTypedHere(message, command),
    ...(fix !== undefined && { fix: asTypedHere(fix, command) }),
  };
}

function lineOf({ level, check, message, fix }: DoctorFinding, paint: (text: string) => string): string {
  const [first = "", ...rest] = visibleLines(message);
  const more = [...rest, ...(fix === undefined ? [] : [`fix: ${visible(fix)}`])];
  return `${paint(level.padEnd(4))}  ${check.padEnd(14)} ${first}\n${more.map((line) => `${" ".repeat(21)}${line}\n`).join("")}`;
}
