/** Ann, who remembers her yes to a mail. */

import type { Decider, Remember } from "../../src/approvals/index.ts";
import type { CallRequest } from "../../src/index.ts";
import { asker, type House } from "./house.ts";

export const ann: Decider = { user: "ann", via: "session:1", tenant: "default", signedIn: true };
export const mail = (to: string): CallRequest => ({ tool: "mail", arguments: { to } });
export const forRun: Remember = { for: "run", reason: "they are all to the team" };

export const ask = async (h: House, to = "x", more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).approvalId ?? "";
export const remember = (
  h: House,
  id: string,
  what: Remember = forRun,
  more = {},
): ReturnType<House["runtime"]["approvals"]["decide"]> =>
  h.runtime.approvals.decide(id, { decision: "approved", by: ann, remember: what, ...more });
export const status = async (h: House, to: string, more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).status;
