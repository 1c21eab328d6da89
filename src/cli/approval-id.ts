import { RuntimeFault } from "../core/fault.ts";
import type { Work } from "./print.ts";
import { visible } from "./text.ts";

/** As long as an id is, and how much of it says which one is meant. */
const whole = /^apr_[0-9a-f-]{36}/;
const part = /^apr_[0-9a-f-]{8,}$/;

/**
 * Nobody types forty characters: the beginning of an id is enough where it is only one's. What waits comes first, because
 * that is what people decide; what is no beginning of any stays as it was typed, and is refused by that name.
 *
 * @throws RuntimeFault `approval_ambiguous`
 */
export async function wholeApprovalId({ operator }: Pick<Work, "operator">, typed: string): Promise<string> {
  if (whole.test(typed) || !part.test(typed)) return typed;
  const waiting = await begunBy(operator, typed, { state: "pending" });
  const [id, other] = waiting.length > 0 ? waiting : await begunBy(operator, typed, {});
  if (other === undefined) return id ?? typed;
  throw new RuntimeFault(
    "approval_ambiguous",
    `\`${visible(typed)}\` is how \`${id}\` and \`${other}\` begin; type more of the one you mean.`,
  );
}

/** Two at most: more make it no more ambiguous. */
async function begunBy(
  operator: Work["operator"],
  typed: string,
  where: { readonly state?: "pending" },
): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await operator.approvals.list({ ...where, limit: 1000, ...(after !== undefined && { after }) });
    for (const { approval_id: id } of page.approvals) if (id.startsWith(typed)) found.push(id);
    after = page.next_after;
  } while (after !== undefined && found.length < 2);
  return found;
}
