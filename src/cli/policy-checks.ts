import { messageOf } from "../core/fault.ts";
import { counted } from "../core/shown.ts";
import type { PosternClient } from "../server/client/client.ts";
import type { EffectivePolicyView, PolicyTest, TestResult } from "../server/contract/policy.ts";
import type { NamedText } from "../server/policy-reader.ts";
import type { DoctorFinding } from "./checks.ts";
import { tablesFor } from "./policy-tables.ts";

/** @param read the configuration as it lies on the disk; undefined: there is none */
export async function* policyChecks(
  { policy }: Pick<PosternClient, "policy">,
  read: (() => Promise<NamedText>) | undefined,
): AsyncGenerator<DoctorFinding> {
  yield* policyFindings(await policy.show());
  if (read === undefined) return;
  try {
    const configuration = await read();
    yield* testFindings(await policy.test({ configuration, tables: await tablesFor(configuration) }));
  } catch (error) {
    yield { level: "fail", check: "policy tests", message: messageOf(error) };
  }
}

/** What in the policy nobody can have meant, each with its line. */
function* policyFindings({ lines, warnings, policy_version: version }: EffectivePolicyView): Generator<DoctorFinding> {
  const check = "policy";
  if (warnings.length === 0)
    yield {
      level: "ok",
      check,
      message: `${version}; ${counted(lines?.length ?? 0, "action")}, \`postern policy show\` says what holds for each`,
    };
  for (const { code, message, where } of warnings)
    yield {
      level: "warn",
      check,
      message: where === undefined ? message : `${where}: ${message}`,
      fix:
        code === "matches_no_tool"
          ? "Correct the name, take it out, or write `optional: true` beside it; `postern policy warnings` checks again."
          : "Correct the rule, or take it out; `postern policy warnings` checks again.",
    };
}

/** What the policy was expected to answer and does not. Of a tool that nobody offers now it cannot be told. */
export function* testFindings({ results }: Pick<PolicyTest, "results">): Generator<DoctorFinding> {
  const check = "policy tests";
  const passed = results.filter((one) => one.passed).length;
  if (results.length === 0)
    yield { level: "ok", check, message: "none: `policy.tests` can say what the policy is to answer" };
  else if (passed > 0)
    yield { level: "ok", check, message: `${passed} of ${counted(results.length, "expectation")} hold` };
  for (const result of results) if (!result.passed) yield failedTest(result);
}

function failedTest({ name, where, decision, problem }: TestResult): DoctorFinding {
  const place = where === undefined ? "" : `${where}: `;
  return {
    level: decision === undefined ? "warn" : "fail",
    check: "policy tests",
    message: `${place}\`${name}\` does not hold. ${problem ?? ""}`.trimEnd(),
    fix: "Correct the rule, or what is expected; `postern policy test` says which rules took part.",
  };
}
