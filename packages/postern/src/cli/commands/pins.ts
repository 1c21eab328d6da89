import { RuntimeFault } from "@postern/core";
import type { DefinitionView, DifferenceView, ToolChangesView } from "@postern/core/contract";
import { reveal } from "../../mcp/client/reveal.ts";
import type { CommandGroup } from "../command.ts";
import { ago, type Work } from "../output/print.ts";
import { actorText, visible } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

/** So many digits of a digest are shown, and as many are enough to name it. */
const shownDigits = 12;
const needs = { tools: true } as const;

export function pinCommands(group: CommandGroup): void {
  group.answer("diff <name>", "how the definition of a server's tool differs from the one that is trusted", {
    needs,
    ask: ({ operator }, sent) => operator.tools.changes(sent),
    text: (changes, work) => diffText(changes, work) + howToApprove(changes, work.command),
  });
  group.answer("approve [name]", "trust the definition as it is now; the tool can be called again", {
    options: {
      "--definition <digest>": "what you looked at, as `tools diff` shows it: refused when it is another by now",
      "--all <server>": "every blocked tool of this server",
      "--reason <text>": "recorded with it",
    },
    needs,
    prepare: ({ sent: { name }, options: { definition, all, reason } }) => {
      if ((name === undefined) === (all === undefined))
        throw new UsageProblem("Name one tool, or all blocked tools of a server with `--all SERVER`.");
      if (definition !== undefined && (all !== undefined || !/^[0-9a-f]{12,64}$/.test(definition)))
        throw new UsageProblem("`--definition` takes the 12 or more hex digits that `tools diff` shows, of one tool.");
      return { name, server: all ?? "", definition, reason };
    },
    ask: async (work, { name, server, ...sent }) => {
      const approved: ToolChangesView[] = [];
      for (const tool of name === undefined ? await blockedOf(work, server) : [name])
        approved.push(await approve(work, tool, sent));
      return { approved };
    },
    text: ({ approved }, _, { server }) =>
      approved.length === 0 ? `No tool of server ${visible(server)} is blocked.\n` : "", // each was printed
  });
}

/** Approves what was fetched and shown here, never what the server offers meanwhile. */
async function approve(
  work: Work,
  name: string,
  { definition: seen = "", reason }: { readonly definition: string | undefined; readonly reason: string | undefined },
): Promise<ToolChangesView> {
  const { operator, json, terminal, paint } = work;
  const changes = await operator.tools.changes({ name });
  const { definition = "" } = changes.offered ?? changes.pinned ?? {};
  if (!definition.startsWith(seen))
    throw new RuntimeFault(
      "definition_differs",
      `\`${name}\` is now defined by ${definition.slice(0, shownDigits)}, not by ${seen.slice(0, shownDigits)}: look again with \`postern tools diff ${name}\`.`,
    );
  if (!json) terminal.out(diffText(changes, work));
  const approved = await operator.tools.approve({ name, definition, reason });
  if (!json) terminal.out(`${paint("green", "approved")} ${visible(name)}\n\n`);
  return approved;
}

async function blockedOf({ operator }: Work, server: string): Promise<readonly string[]> {
  const { tools } = await operator.tools.list();
  const known = (await operator.health.show()).servers.map(({ name }) => name);
  if (!known.includes(server))
    throw new UsageProblem(`There is no server \`${visible(server)}\`; there is ${known.join(", ") || "none"}.`);
  return tools.filter((tool) => tool.server === server && tool.blocked !== undefined).map(({ tool }) => tool);
}

const stateWords = { pinned: "as it is trusted", changed: "blocked: changed", new: "blocked: new" } as const;

function diffText(
  { tool, server, state, pinned, offered, differences, warnings = [] }: ToolChangesView,
  work: Work,
): string {
  const { paint } = work;
  const word = paint(state === "pinned" ? "green" : "red", stateWords[state]);
  const trustedBy = pinned?.by === undefined ? "as first seen" : `approved by ${actorText(pinned.by, pinned.via)}`;
  return [
    `${paint("bold", visible(tool))}   ${word}   from ${visible(server)}\n`,
    definitionLine(work, pinned, ["trusted", trustedBy]),
    definitionLine(work, offered, ["now", "seen"]),
    ...differences.map((difference) => differenceText(difference, work)),
    ...warnings.map(
      ({ field, path = "", at, what, text }) =>
        `${paint("red", "warning")} ${field}${visible(path)}, character ${at}: ${what}: ${visible(text)}\n`,
    ),
  ].join("");
}

function definitionLine(
  work: Work,
  found: DefinitionView | undefined,
  [label, by]: readonly [label: string, by: string],
): string {
  if (found === undefined) return "";
  const digits = found.definition.slice(0, shownDigits);
  return `  ${work.paint("dim", label.padEnd(8))} ${digits}  ${visible(by)} ${ago(found.at, work)}\n`;
}

function differenceText({ field, path, rows }: DifferenceView, { paint }: Work): string {
  const where = path === undefined ? field : `${field} ${reveal(path)}`;
  const lines = rows.map((row) => {
    const style = row.startsWith("+") ? "green" : row.startsWith("-") ? "red" : "dim";
    return `    ${paint(style, visible(row))}\n`;
  });
  return `\n  ${paint("cyan", where)}\n${lines.join("")}`;
}

function howToApprove({ tool, state, offered }: ToolChangesView, command: string): string {
  if (state === "pinned" || offered === undefined) return "";
  const digits = offered.definition.slice(0, shownDigits);
  return `\nTo trust exactly this: ${command} tools approve ${tool} --definition ${digits} --reason "…"\n`;
}
