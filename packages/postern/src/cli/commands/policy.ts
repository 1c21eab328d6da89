import { defined, RuntimeFault } from "@postern/core";
import { policy } from "@postern/core/contract";
import { globMatcher } from "../../policy/rules/glob.ts";
import type { CommandGroup } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { flagsOf, ofRun, ofTool, wholeNumber } from "../flags.ts";
import { configurationText, tablesFor } from "../settings-here.ts";
import { UsageProblem } from "../usage-problem.ts";
import { argumentsFrom } from "./arguments.ts";
import { effectiveText, explanationText, reloadedText, simulationText, testText, warningsText } from "./policy-text.ts";

/** Rules are about tools, so servers are connected. */
const needs = { tools: true } as const;
const needsNoData = { ...needs, dataFolder: "optional" } as const;

const caller = {
  agent: { value: "name", help: "for this agent (default local-agent)" },
  user: { value: "name", help: "on behalf of this user" },
  run_id: { ...ofRun, help: "in this run, with the skills that are active there" },
  autonomy: { value: "level", help: "at this level instead of the one in force" },
} as const;
const edited = { "--policy <file>": "another configuration than the one here; only its policy is read" } as const;

export function commands(group: CommandGroup): void {
  group.answer("show [tool]", "what is so for each tool, and the rule that decides, with its line", {
    isDefault: true,
    words: { "[tool]": "only these; * stands for anything" },
    flags: flagsOf(policy.show.query, caller),
    needs,
    ask: async ({ operator }, { tool, ...asked }) => {
      const effective = await operator.policy.show(asked);
      const isWanted = tool === undefined ? () => true : globMatcher(tool);
      const lines = effective.lines?.filter((line) => isWanted(line.tool)) ?? null;
      return { ...effective, lines };
    },
    text: (effective, work, { tool, ...asked }) => {
      if (effective.lines === null) return "This policy is an own one and cannot tell what is so for each tool.\n";
      if (tool !== undefined && effective.lines.length === 0) throw new UsageProblem(`No tool is called \`${tool}\`.`);
      return effectiveText(work, effective, asked);
    },
  });
  explainCommand(group);
  testCommands(group);
  simulateCommand(group);
  inForceCommands(group);
}

function inForceCommands(group: CommandGroup): void {
  group.answer("reload", "put the configuration's policy in force in the running Postern, as it is on the disk now", {
    flags: flagsOf(policy.reload.body, { reason: { help: "why, for the audit log" } }),
    ask: ({ operator, running }, sent) => {
      if (running) return operator.policy.reload(sent);
      throw new RuntimeFault("request_invalid", "No Postern runs here; the next `postern start` reads the file.");
    },
    text: (reloaded, work) => reloadedText(work, reloaded),
  });
  group.answer("activate <file>", "make the policy of a file the active one of every gateway on a shared store", {
    flags: flagsOf(policy.activate.body, { configuration: "none", reason: { help: "why, for the audit log" } }),
    prepare: async ({ sent: { file, reason }, flags }) => ({
      configuration: await configurationText(flags, file),
      ...defined({ reason }),
    }),
    ask: ({ operator }, sent) => operator.policy.activate(sent),
    text: (reloaded, work) => reloadedText(work, reloaded),
  });
}

function explainCommand(group: CommandGroup): void {
  const flags = flagsOf(policy.explain.body, {
    ...caller,
    tool: "none",
    ...{ arguments: "none", text_arguments: "none" },
    action: { value: "name", help: "for tools with several actions" },
    scopes: { help: "granted scopes, separated by commas (default: all that it needs)" },
  });
  group.answer("explain [tool] [arguments...]", "what would become of one call, and every rule that shaped it", {
    words: { "[arguments...]": "as for `postern call`" },
    flags,
    options: {
      "--args <json>": "all arguments as one JSON object",
      "--call <id>": "a recorded call instead, with the authority it had",
    },
    needs,
    prepare: ({ sent: { tool = "", arguments: words, ...asked }, options: { args, call: id } }) => {
      if ((tool === "") === (id === undefined))
        throw new UsageProblem("Name a tool, or a recorded call with `--call ID`; not both.");
      return { tool, words, asked, args, id };
    },
    ask: async ({ operator }, { tool, words, asked, args, id }) => {
      if (id !== undefined) return operator.policy.explainCall({ id });
      return operator.policy.explain({ ...asked, tool, ...argumentsFrom(args, words) });
    },
    text: async (explanation, work, { tool, id }) => {
      const named = id === undefined ? tool : (await work.operator.calls.show({ id })).tool;
      return explanationText(work, named, explanation);
    },
    code: ({ decision }) => (decision === undefined ? exitCodes.failed : exitCodes.ok),
  });
}

function testCommands(group: CommandGroup): void {
  const testHelp = "ask the policy as it lies on the disk its expectations; exit code 1 when one does not hold";
  group.answer("test [table...]", testHelp, {
    words: { "[table...]": "files of expectations (default: `policy.tests` and *.policy-tests.yaml beside it)" },
    options: edited,
    needs: needsNoData,
    prepare: async ({ sent: { table }, options, flags }) => {
      const configuration = await configurationText(flags, options.policy);
      return { configuration, tables: await tablesFor(configuration, table) };
    },
    ask: ({ operator }, sent) => operator.policy.test(sent),
    text: (answer, work) => testText(work, answer),
    code: ({ passed }) => (passed ? exitCodes.ok : exitCodes.failed),
  });
  const warningsHelp = "rules that match nothing, never hold or contradict each other; exit code 1 when there are any";
  group.answer("warnings", warningsHelp, {
    options: edited,
    needs: needsNoData,
    prepare: async ({ options, flags }) => ({ configuration: await configurationText(flags, options.policy) }),
    ask: async ({ operator }, sent) => ({ warnings: (await operator.policy.test(sent)).warnings }),
    text: ({ warnings }, work) => warningsText(work, warnings),
    code: ({ warnings }) => (warnings.length === 0 ? exitCodes.ok : exitCodes.failed),
  });
}

function simulateCommand(group: CommandGroup): void {
  const flags = flagsOf(policy.simulate.body.partial(), {
    configuration: "none",
    tool: { ...ofTool, help: "only calls of this tool" },
    run_id: { ...ofRun, help: "only calls of this run" },
    limit: { name: "last", help: "so many calls (default 1000)", read: wholeNumber },
  });
  group.answer("simulate", "put recorded calls to the policy as it lies on the disk; tell whose verdict changes", {
    flags,
    options: edited,
    needs,
    prepare: async ({ sent: where, options, flags: global }) => {
      const { limit } = where;
      if (limit !== undefined && (limit < 1 || limit > 10_000))
        throw new UsageProblem(`\`--last ${limit}\`: at least 1 call and at most 10000 are replayed.`);
      return { ...where, configuration: await configurationText(global, options.policy) };
    },
    ask: ({ operator }, sent) => operator.policy.simulate(sent),
    text: (simulation, work) => simulationText(work, simulation),
  });
}
