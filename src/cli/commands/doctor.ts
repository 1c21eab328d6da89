import { checkEverything, type DoctorFinding } from "../checks.ts";
import type { CommandGroup } from "../command.ts";
import { asTypedHere, commandName } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { printJson } from "../print.ts";
import { paintFor } from "../terminal.ts";
import { visible, visibleLines } from "../text.ts";

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
      else
        terminal.out(
          healthy ? "\nNothing stands in the way.\n" : "\nPostern cannot work like this; the fixes are above.\n",
        );
      return healthy ? exitCodes.ok : exitCodes.failed;
    },
  });
}

function lineOf({ level, check, message, fix }: DoctorFinding, paint: (text: string) => string): string {
  const [first = "", ...rest] = visibleLines(message);
  const more = [...rest, ...(fix === undefined ? [] : [`fix: ${visible(fix)}`])];
  return `${paint(level.padEnd(4))}  ${check.padEnd(14)} ${first}\n${more.map((line) => `${" ".repeat(21)}${line}\n`).join("")}`;
}
