/** Ann approves a mail and remembers it as a grant. */

import type { Remember } from "../../packages/postern/src/approvals/index.ts";
import { ann, mail } from "./deciders.ts";
import { asker, type RuntimeFixture } from "./runtime-fixture.ts";

export const forRun: Remember = { for: "run", reason: "they are all to the team" };

export const ask = async (h: RuntimeFixture, to = "x", more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).approvalId ?? "";
export const remember = (
  h: RuntimeFixture,
  id: string,
  what: Remember = forRun,
  more = {},
): ReturnType<RuntimeFixture["runtime"]["approvals"]["decide"]> =>
  h.runtime.approvals.decide(id, { decision: "approved", by: ann, remember: what, ...more });
export const statusOf = async (h: RuntimeFixture, to: string, more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).status;
